"""Whether a model knows problems by heart: given only the start of a problem, does it go on as the problem does?

The partial-prompt probe: of each problem the first 80, 60 and 40 % of its words are given and the rest is decoded
greedily. A model that has not seen a problem can hardly reproduce the hidden end, or answer a question that it was not
asked; high numbers on an old set beside low ones on a fresh one mark the old one as contaminated.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from guerdon.data.contamination import words
from guerdon.samplers.base import Sampling

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.samplers.base import Sampler
    from guerdon.types import IntArray

SHARES = (80, 60, 40)
"""Per cent of a problem's words that are given."""

Right = Callable[[int, str], Awaitable[bool]]
"""(position of the problem, what the model wrote) -> whether its final answer is right."""


@dataclass(frozen=True)
class Recall:
    """Of n problems of which `share` per cent were given: mean of each measure, 0 to 1.

    exact: the hidden end word for word, up to white space. rouge_l: F-measure of the longest common subsequence with
    the hidden end. right: the answer to the whole problem; None where nobody could say.
    """

    share: int
    n: int
    exact: float
    rouge_l: float
    right: float | None


async def probe(
    problems: Sequence[str],
    sampler: Sampler,
    chat: Chat,
    right: Right | None = None,
    shares: Sequence[int] = SHARES,
    answer_tokens: int = 128,
    stop_tokens: tuple[int, ...] = (),
) -> list[Recall]:
    """Greedy continuations of the start of each problem, written as plain text without a chat template.

    answer_tokens: room for an answer after the hidden end. Problems of one word are left out. ValueError when no
    problem is left, or a share is not between 0 and 100.
    """
    if not all(0 < share < 100 for share in shares):
        raise ValueError(f"shares are {list(shares)}; expected per cent between 0 and 100")
    usable = [(i, text) for i, text in enumerate(problems) if len(text.split()) > 1]
    if not usable:
        raise ValueError("no problem has two words or more, so none has an end to hide")
    return [await _recall(usable, share, sampler, chat, right, answer_tokens, stop_tokens) for share in shares]


async def _recall(
    problems: Sequence[tuple[int, str]],
    share: int,
    sampler: Sampler,
    chat: Chat,
    right: Right | None,
    answer_tokens: int,
    stop_tokens: tuple[int, ...],
) -> Recall:
    parts = [cut(text, share) for _, text in problems]
    written = await asyncio.gather(
        *(_continued(start, end, sampler, chat, answer_tokens, stop_tokens) for start, end in parts)
    )
    found = [(end, text) for (_, end), text in zip(parts, written, strict=True)]
    answered = None
    if right is not None:
        numbered = zip(problems, written, strict=True)
        answered = _mean(await asyncio.gather(*(right(i, text) for (i, _), text in numbered)))
    exact = _mean([reproduces(text, end) for end, text in found])
    return Recall(share, len(found), exact, _mean([rouge_l(_as_long(text, end), end) for end, text in found]), answered)


async def _continued(
    start: str, end: str, sampler: Sampler, chat: Chat, answer_tokens: int, stop_tokens: tuple[int, ...]
) -> str:
    room = len(chat.encode(end)) + answer_tokens
    how = Sampling(max_tokens=room, temperature=0.0, stop_tokens=stop_tokens)
    (sample,) = await sampler.sample(_opened(start, chat), how, [0])
    return sample.text


def _opened(text: str, chat: Chat) -> IntArray:
    ids = chat.encode(text)
    return ids if chat.begin is None else np.insert(ids, 0, chat.begin)


def cut(text: str, share: int) -> tuple[str, str]:
    """(start, end): the first `share` per cent of the words, at least one, and the rest, at least one.

    White space between the two belongs to the end.
    """
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    given = min(len(ends) - 1, max(1, math.floor(len(ends) * share / 100)))
    return text[: ends[given - 1]], text[ends[given - 1] :]


def reproduces(written: str, end: str) -> bool:
    """Whether a text begins with the hidden end, white space aside."""
    hidden, found = end.split(), written.split()
    if not hidden or found[: len(hidden) - 1] != hidden[:-1] or len(found) < len(hidden):
        return False
    last = found[len(hidden) - 1]
    # What follows may adhere to the last word: "apples?Answer" reproduces "apples?", "apples" does not "apple".
    rest = last.removeprefix(hidden[-1])
    return last.startswith(hidden[-1]) and not (rest[:1].isalnum() and hidden[-1][-1].isalnum())


def rouge_l(written: str, reference: str) -> float:
    """F-measure of the longest common subsequence of words, 0 to 1."""
    found, wanted = words(written), words(reference)
    common = _common(found, wanted)
    return 2 * common / (len(found) + len(wanted)) if common else 0.0


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for j, other in enumerate(b, 1):
            diagonal, row[j] = row[j], diagonal + 1 if word == other else max(row[j], row[j - 1])
    return row[-1]


def _as_long(written: str, end: str) -> str:
    """The first words of what was written, as many as the hidden end has: what follows is the answer."""
    return " ".join(written.split()[: len(end.split())])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
