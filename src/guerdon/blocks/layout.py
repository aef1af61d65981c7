"""Where the distinct tokens of a batch stand for a pass that pads nothing: in one row, cut into stretches.

Sequences that share a beginning (a group's prompt, the trunk of a tree) have it once. A stretch is what the same ones
hold; for attention its queries meet the keys of its whole path, which are gathered from the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.collate import position, unique_tokens
from guerdon.types import Batch

ALIKE = 0.7
"""Stretches share a call of attention when none is shorter than this share of the longest, in queries or in keys."""


@dataclass(frozen=True)
class Bucket:
    """Stretches of tokens whose attention is computed together, R of them, each padded at its end to L of K tokens.

    own [R * L]: where each query is among the flat tokens. seen [R * K]: where the keys of its path are. hidden:
    [R or 1, 1, L, K], -inf where a query does not see a key; None where plain causal attention says it (L = K).
    """

    own: Tensor
    seen: Tensor
    hidden: Tensor | None
    rows: int


@dataclass(frozen=True)
class Flat:
    """The U distinct tokens of a batch in a row. tokens, place [U]. back [U]: where attention left each; None: there.

    first [U]: a batch row that holds the token. inverse [N]: the distinct token of each batch row. before [U]: the
    flat token that precedes it on its path, -1 for none. slot [U]: where it is in the row.
    """

    tokens: Tensor
    place: Tensor
    buckets: tuple[Bucket, ...]
    back: Tensor | None
    first: Tensor
    inverse: Tensor
    before: Tensor
    slot: Tensor


def lay_out(batch: Batch) -> Flat:
    """Cut the paths of a batch where they branch: a stretch is what the same sequences hold, hence computed once."""
    place = position(batch)
    first, inverse = unique_tokens(batch)
    holders = torch.bincount(inverse)[inverse]  # [N] sequences that hold the token
    owner = first[inverse] == torch.arange(len(batch))
    edge = owner & ((place == 0) | (holders != holders.roll(1)) | ~owner.roll(1))
    begin = edge.nonzero().squeeze(1)  # [S] batch row at which each stretch begins
    length = torch.bincount(torch.cumsum(edge, 0)[owner] - 1)
    root = begin - place[begin]
    order, buckets = _buckets(length, place[begin])
    slot = torch.empty(len(first), dtype=torch.long)
    rows = torch.cat([torch.arange(int(b), int(b + n)) for b, n in zip(begin[order], length[order], strict=True)])
    slot[inverse[rows]] = torch.arange(len(rows))
    path = slot[inverse]  # [N] where the token of each batch row is
    made = tuple(_bucket(path, begin[b], length[b], root[b]) for b in buckets)
    ends = torch.cat([_kept(length[b]) for b in buckets])
    return Flat(
        tokens=batch.inputs["tokens"][rows],
        place=place[rows],
        buckets=made,
        back=None if bool(ends.all()) else ends.nonzero().squeeze(1),
        first=first,
        inverse=inverse,
        before=torch.where(place[first] > 0, path[(first - 1).clamp(min=0)], -1),
        slot=slot,
    )


def _buckets(length: Tensor, before: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Stretches in the order of their buckets, and each bucket's: alike in queries and keys, roots by themselves."""
    sized = sorted(range(len(length)), key=lambda s: (bool(before[s]), int(length[s]), int(before[s])), reverse=True)
    found: list[list[int]] = []
    most = (0, 0, False)
    for s in sized:
        queries, keys, inner = int(length[s]), int(length[s] + before[s]), bool(before[s])
        if not found or queries < ALIKE * most[0] or not ALIKE <= keys / most[1] <= 1 / ALIKE or inner != most[2]:
            found.append([])
            most = (queries, keys, inner)
        found[-1].append(s)
    parts = [torch.tensor(sorted(part)) for part in found]
    return torch.cat(parts), parts


def _bucket(path: Tensor, begin: Tensor, length: Tensor, root: Tensor) -> Bucket:
    last = begin + length - 1
    longest, keys = int(length.max()), int((last - root).max()) + 1
    own = torch.minimum(begin[:, None] + torch.arange(longest), last[:, None])  # [R, L]
    seen = torch.minimum(root[:, None] + torch.arange(keys), last[:, None])  # [R, K]
    before = begin - root
    hidden = None
    if bool(before.any()):
        if bool((before == before[0]).all()):
            before = before[:1]
        reach = before[:, None] + torch.arange(longest)  # [R or 1, L] the last key that a query sees
        hidden = torch.zeros(len(before), 1, longest, keys)
        hidden.masked_fill_(torch.arange(keys) > reach[:, None, :, None], float("-inf"))
    return Bucket(path[own].flatten(), path[seen].flatten(), hidden, len(begin))


def _kept(length: Tensor) -> Tensor:
    """Which of the padded places of a bucket hold a token, row by row."""
    return (torch.arange(int(length.max())) < length[:, None]).flatten()
