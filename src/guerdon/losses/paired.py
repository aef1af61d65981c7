"""The losses of `losses.preference` on batches: of groups of two completions, and of single ones with a label.

The better of two is the sequence with the higher return; a tied pair has loss 0 and no gradient. Each loss stands on
every action of its pair (or sequence), so that a mean over groups (or sequences) counts it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.advantages.base import Reads
from guerdon.advantages.segments import paths
from guerdon.losses.base import PerGroup, PerToken, reads
from guerdon.losses.policy import on_mask
from guerdon.losses.preference import (
    Level,
    contrast,
    ipo,
    kto,
    kto_anchor,
    log_odds_ratio,
    log_ratios,
    simpo,
    token_average,
    token_sum,
)
from guerdon.marks import marked
from guerdon.types import Batch


@dataclass(frozen=True)
class IPO(PerGroup):
    """The loss of `ipo`. level: `token_sum` (the paper) or `token_average` (TRL)."""

    beta: float = 0.1
    level: Level = token_sum
    needs = reads("ref")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        pairs = contrast(batch)
        return pairs.tell(ipo(pairs.margin(self.level(pairs.found, batch, log_ratios(out, batch))), self.beta), batch)


@dataclass(frozen=True)
class SimPO(PerGroup):
    """The loss of `simpo`: mean log-probabilities, no reference."""

    beta: float = 2.0
    margin: float = 1.0
    level = staticmethod(token_average)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        pairs = contrast(batch)
        means = token_average(pairs.found, batch, on_mask(out["logp"], batch))  # [S]
        return pairs.tell(simpo(pairs.chosen(means), pairs.rejected(means), self.beta, self.margin), batch)


@dataclass(frozen=True)
class OddsRatio(PerGroup):
    """-log sigmoid of the log odds ratio of `orpo`, over the tokens of the stream `reply`, which `Chosen` marks."""

    needs = reads("reply")
    level = staticmethod(token_average)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        pairs = contrast(batch)
        means = pairs.found.sequences.masked_mean(on_mask(out["logp"], batch), batch.stream("reply"))  # [S]
        return pairs.tell(-logsigmoid(log_odds_ratio(pairs.chosen(means), pairs.rejected(means))), batch)


@dataclass(frozen=True)
class Chosen(Reads):
    """Marks the actions (`reply`) and those of the better sequence of each pair (`chosen`), both bool streams.

    prompts: prompts are learned too, from their second token on; `mask` and `chosen` then hold them, `reply` does not.
    """

    prompts: bool = False

    def __call__(self, batch: Batch) -> Batch:
        pairs = contrast(batch)
        reply = batch.mask
        if self.prompts:
            batch = batch.put(mask=_predicted(batch))
        better = pairs.found.sequences.spread(pairs.sign > 0)
        return batch.put(reply=reply, chosen=batch.mask & better)


def _predicted(batch: Batch) -> Tensor:
    """[N] bool: every token but the first of its sequence."""
    first = torch.ones_like(batch.mask)
    first[1:] = batch.seq[1:] != batch.seq[:-1]
    return ~first


@dataclass(frozen=True)
class KTO(PerToken):
    """The loss of `kto` on each action of a completion, desirable where its return is above 0; z is stream `anchor`."""

    beta: float = 0.1
    good: float = 1.0
    bad: float = 1.0
    level: Level = token_sum
    needs = reads("ref", "anchor")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        rho = self.level(found, batch, log_ratios(out, batch))  # [S]
        anchor = found.sequences.masked_mean(batch.stream("anchor"), batch.mask)
        loss = kto(rho, found.returns > 0, anchor, self.beta, self.good, self.bad)
        return on_mask(found.sequences.spread(loss), batch)  # [N]


@dataclass(frozen=True)
class Anchor(Reads):
    """z of `kto_anchor` over the whole batch, as stream `anchor`, and which actions are no mismatched ones (`own`).

    Mismatched are sequences with the mark `mismatched`, as `methods.kto.with_mismatched` makes them. z is taken before
    the first gradient step on a batch, and is a constant of it however the batch is cut.
    """

    level: Level = token_sum
    needs = reads("ref", "old")

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        stray = marked(found, batch, "mismatched") > 0  # [S]
        if not bool(stray.any()):
            raise ValueError(
                "no completion of the batch is put after another prompt, so nothing anchors the loss: make the groups "
                "with `methods.kto.with_mismatched`"
            )
        rho = self.level(found, batch, log_ratios({"logp": batch.stream("old")}, batch))
        anchor = torch.full_like(batch.reward, float(kto_anchor(rho[stray])))
        return batch.put(anchor=anchor, own=batch.mask & ~found.sequences.spread(stray))
