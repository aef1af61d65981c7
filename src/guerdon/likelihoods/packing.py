"""How the paths of a batch are laid out for a transformer: each distinct token once.

Sequences of one group that share tokens (the prompt, the trunk of a tree) go into one row; an attention mask lets each
token see the tokens of its own path and nothing else. The layout is the only place in guerdon that pads.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.collate import position, unique_tokens
from guerdon.types import Batch

ROW_TOKENS = 1024
"""A row takes further sequences of its group until it holds this many distinct tokens: attention is quadratic in it."""


@dataclass(frozen=True)
class Layout:
    """Where each of the U distinct tokens of a batch sits in [R, L] padded rows.

    tokens, place: [R, L] ids and positions. visible: [R, 1, L, L] bool, or None where every row is one path, padded on
    the right (then plain causal attention is exact). slot: [U] flat index into R * L. first: [U] a batch row that holds
    the token. inverse: [N] distinct token of each batch row. before: [U] slot of the token's predecessor, -1 for none.
    """

    tokens: Tensor
    place: Tensor
    visible: Tensor | None
    slot: Tensor
    first: Tensor
    inverse: Tensor
    before: Tensor


def layout(batch: Batch, pad: int = 0, row_tokens: int = ROW_TOKENS) -> Layout:
    """Pack a batch. Sequences that are split over two rows have their shared tokens computed in each."""
    place = position(batch)
    row_of_seq = _rows(batch, row_tokens)  # [N]
    # A shared token that is needed in two rows counts as two distinct tokens.
    first, inverse = unique_tokens(batch.put(span=batch.span * (int(row_of_seq.max()) + 1) + row_of_seq))
    row = row_of_seq[first]  # [U]
    order = torch.argsort(row * len(batch) + first)  # by row, then by first appearance
    sizes = torch.bincount(row)
    begin = torch.cumsum(sizes, 0) - sizes
    column = torch.empty_like(first)
    column[order] = torch.arange(len(first)) - torch.repeat_interleave(begin, sizes)
    rows, length = len(sizes), int(sizes.max())
    slot = row * length + column
    tokens = torch.full((rows * length,), pad, dtype=torch.long)
    tokens[slot] = batch.inputs["tokens"][first]
    before = torch.where(place[first] > 0, slot[inverse[(first - 1).clamp(min=0)]], -1)
    visible = _visible(batch, place, inverse, first, row, column, rows, length)
    places = torch.arange(length).repeat(rows) if visible is None else torch.zeros(rows * length, dtype=torch.long)
    places[slot] = place[first]
    return Layout(tokens.view(rows, length), places.view(rows, length), visible, slot, first, inverse, before)


def _rows(batch: Batch, row_tokens: int) -> Tensor:
    """[N] row of each token: sequences that share a group and a root share a row until it is full."""
    sequences = torch.unique_consecutive(batch.seq, return_counts=True)[1].tolist()
    rows, row, size, begin = [], -1, 0, 0
    group: int | None = None
    root: int | None = None
    for length in sequences:
        same = int(batch.group[begin]) == group and int(batch.span[begin]) == root
        if not same or size + length > row_tokens:
            row, size = row + 1, 0
            group, root = int(batch.group[begin]), int(batch.span[begin])
        rows.append(row)
        size += length
        begin += length
    return torch.repeat_interleave(torch.tensor(rows), torch.tensor(sequences))


def _visible(
    batch: Batch, place: Tensor, inverse: Tensor, first: Tensor, row: Tensor, column: Tensor, rows: int, length: int
) -> Tensor | None:
    sequences, dense = torch.unique_consecutive(batch.seq, return_inverse=True)
    if rows == len(sequences):
        return None
    # on_path[u, s]: distinct token u lies on sequence s, with s numbered within its row
    starts = torch.zeros(len(sequences), dtype=torch.long).scatter_(0, dense, row[inverse])
    local = torch.arange(len(sequences)) - torch.searchsorted(starts, starts)
    on_path = torch.zeros(rows, length, int(local.max()) + 1, dtype=torch.bool)
    on_path[row[inverse], column[inverse], local[dense]] = True
    own = torch.zeros(rows, length, dtype=torch.long)
    own[row, column] = local[dense[first]]
    depth = torch.full((rows, length), -1, dtype=torch.long)
    depth[row, column] = place[first]
    mine = torch.gather(on_path, 2, own[:, None, :].expand(rows, length, length))  # [R, key, query]
    seen = mine.transpose(1, 2) & (depth[:, None, :] <= depth[:, :, None]) & (depth >= 0)[:, None, :]
    # Padding attends to itself: a row of the mask without any key makes the softmax NaN.
    seen |= (depth < 0)[:, :, None] & torch.eye(length, dtype=torch.bool)
    return seen[:, None]
