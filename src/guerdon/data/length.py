"""Rows that are longer than a model, or a limit, allows: refused, cut or dropped as was declared, and counted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from guerdon.types import Episode, Group, Span

OnLong = Literal["error", "cut", "drop"]
"""What becomes of a row that is too long."""


def shortened(groups: Sequence[Group], limit: int, on_long: OnLong, where: str) -> list[Group]:
    """Groups of episodes of one path, none of more than `limit` tokens.

    'error': ValueError names the first that is longer. 'cut': its episodes lose what is beyond the limit, at the end;
    one of whose reply nothing is left is dropped with its whole group, and so are two that were told apart by what was
    cut. 'drop': the whole group. A warning counts both. where: the file, for messages.
    """
    kept: list[Group] = []
    cut = dropped = 0
    for group in groups:
        longest = max(_length(episode) for episode in group)
        if longest <= limit:
            kept.append(group)
            continue
        if on_long == "error":
            raise ValueError(
                f"{where}: {group[0].task.id} has {longest} tokens; expected at most {limit}. Cut or drop long rows "
                "with on_long, or raise max_tokens as far as the model allows"
            )
        short = [_cut(episode, limit) for episode in group] if on_long == "cut" else []
        if short and all(episode.sampled_tokens for episode in short) and _differ(short):
            cut += 1
            kept.append(short)
        else:
            dropped += 1
    if not kept:
        raise ValueError(f"{where}: every row has more than {limit} tokens; expected some that have fewer: max_tokens")
    if cut or dropped:
        warnings.warn(
            f"{where}: of {len(groups)} rows {cut} were cut to {limit} tokens, {dropped} dropped", stacklevel=2
        )
    return kept


def _length(episode: Episode) -> int:
    return sum(len(span.tokens) for span in episode.spans)


def _cut(episode: Episode, limit: int) -> Episode:
    spans: list[Span] = []
    for span in episode.spans:
        left = limit - sum(len(one.tokens) for one in spans)
        if left > 0:
            logprobs = None if span.logprobs is None else span.logprobs[:left]
            spans.append(replace(span, tokens=span.tokens[:left], logprobs=logprobs))
    return replace(episode, spans=spans, stop="length")


def _differ(group: Group) -> bool:
    """Whether the episodes of a group still say different things."""
    said = [tuple(int(token) for span in episode.spans for token in span.tokens) for episode in group]
    return len(set(said)) == len(said)
