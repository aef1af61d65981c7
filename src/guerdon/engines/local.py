"""The engine of one process: one module, one optimiser, gradients that do not depend on how a batch is cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from guerdon.blocks import stack
from guerdon.blocks.kernels import gathering
from guerdon.collate import micro_batches
from guerdon.engines.base import Engine, NotFinite
from guerdon.likelihoods.autoregressive import Likelihood
from guerdon.method import Term, Unit
from guerdon.metrics import Stats, Total, merge, over, peak
from guerdon.models.heads import trunk_in
from guerdon.models.size import USUAL_TOKENS, tokens_at_once
from guerdon.types import Batch

FOLLOWED = "followed.pt"
"""Weights that a frozen model took over from the one it follows."""


@dataclass(frozen=True)
class Optim:
    """AdamW and its schedule. warmup and total are in optimiser steps; total is needed by linear and cosine decay."""

    lr: float = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: int = 0
    total: int = 0
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        if self.lr < 0:
            raise ValueError(f"lr is {self.lr}; expected 0 or more")
        if self.max_grad_norm < 0:
            raise ValueError(f"max_grad_norm is {self.max_grad_norm}; expected 0 (no clipping) or more")
        if self.schedule != "constant" and self.total <= 0:
            raise ValueError(f"a {self.schedule} schedule needs the total number of steps")

    def factor(self, step: int) -> float:
        """What the learning rate is multiplied by at optimiser step `step`, from 0."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - self.warmup) / max(1, self.total - self.warmup))
        return 1.0 - done if self.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))


class LocalEngine:
    """A module and its likelihood, with an optimiser unless `optim` is None (frozen).

    tokens_per_micro_batch: distinct tokens that go through the model at once, padding included where there is some; 0
    for as many as `models.size` finds room for. Dropout is switched off: the trainer has to give the
    log-probabilities that the sampler gave.
    """

    def __init__(
        self,
        module: Any,
        likelihood: Likelihood,
        optim: Optim | None = None,
        tokens_per_micro_batch: int = 0,
    ) -> None:
        self.module = module
        self.likelihood = likelihood
        self.optim = optim
        self.tokens_per_micro_batch = tokens_per_micro_batch or _tokens_at_once(module)
        self.steps = 0
        self.trained_tokens = 0
        self.moved = False
        _without_dropout(module)
        trainable = [p for p in module.parameters() if p.requires_grad]
        if optim is None:
            self.optimizer = None
            return
        if not trainable:
            raise ValueError("the model has no trainable parameter, but was given an optimiser")
        self.optimizer = torch.optim.AdamW(
            trainable, lr=optim.lr, betas=optim.betas, eps=optim.eps, weight_decay=optim.weight_decay, fused=True
        )

    @torch.no_grad()
    def forward(self, batch: Batch, wants: Sequence[str]) -> dict[str, Tensor]:
        found = {name: torch.zeros(len(batch)) for name in wants}
        for rows in self._cut(batch):
            out = self.likelihood(self.module, batch.select(rows), wants)
            for name, values in out.items():
                found[name][rows] = values.float().cpu()
        return found

    def forward_backward(self, batch: Batch, terms: Sequence[Term]) -> Stats:
        batch = weigh(batch, terms)
        active = batch.select(_active(batch, terms))
        stats: list[Stats] = [{"skipped": over(1.0 - _kept(batch, active))}] if len(batch) else []
        unit = _coarsest(terms)
        for rows in self._cut(active, unit) if len(active) else []:
            stats.append(self._micro_batch(active.select(rows), terms))
        self.trained_tokens += int((active.mask * active.share).sum().round())
        return merge(stats)

    def _cut(self, batch: Batch, unit: Unit = "sequence") -> list[Tensor]:
        padded = stack.find(trunk_in(self.module)) is None
        return micro_batches(batch, self.tokens_per_micro_batch, unit, padded)

    def _micro_batch(self, batch: Batch, terms: Sequence[Term]) -> Stats:
        wants = sorted({name for term in terms for name in term.objective.wants})
        out = self.likelihood(self.module, batch, wants)
        batch = batch.to(next(iter(out.values())).device)
        stats: Stats = {}
        losses = []
        for i, term in enumerate(terms):
            weight = batch.extra[f"weight{i}"]
            loss = term.objective(out, batch)  # [N]
            losses.append(torch.where(weight != 0, weight * loss, 0.0).sum())
            stats[f"loss/{term.name}"] = Total(float(losses[-1].detach()))
            stats.update(_diagnostics(term, out, batch))
        total = torch.stack(losses).sum()
        if not torch.isfinite(total):
            raise NotFinite(_not_finite("loss", out, batch))
        if total.requires_grad:
            with gathering():
                total.backward()
        return stats

    def step(self) -> Stats:
        if self.optimizer is None or self.optim is None:
            raise RuntimeError("a frozen model cannot take a step")
        parameters = [p for p in self.module.parameters() if p.grad is not None]
        if not parameters:
            self.steps += 1
            return {"grad_norm": over(torch.zeros(1))}
        norm = nn.utils.get_total_norm([p.grad for p in parameters])
        if not torch.isfinite(norm):
            self.optimizer.zero_grad(set_to_none=True)
            raise NotFinite(f"the gradient norm is {float(norm)}. {_CAUSES}")
        if 0 < self.optim.max_grad_norm < norm:  # only then: scaling by 1 reads and writes every gradient too
            nn.utils.clip_grads_with_norm_(parameters, self.optim.max_grad_norm, norm)
        lr = self.optim.lr * self.optim.factor(self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        return {"grad_norm": over(norm.detach()[None]), "lr": over(torch.tensor([lr]))}

    def weights(self) -> Any:
        """None: the sampler of this process shares the module."""
        return None

    def follow(self, other: Engine) -> None:
        if not isinstance(other, LocalEngine):
            raise TypeError(f"a model of this process can follow another of this process; found {type(other).__name__}")
        if other.module is self.module:
            raise ValueError("a model cannot follow itself: a role with `refresh` needs a copy of the policy")
        self.module.load_state_dict(other.module.state_dict())
        self.moved = True

    def save(self, folder: Path) -> None:
        """`model/` (a Hugging Face folder) where the module can write one, and `engine.pt` with all the rest.

        A frozen model is not written unless it has moved: it is what it was when the run started.
        """
        if self.optimizer is None:
            if self.moved:
                folder.mkdir(parents=True, exist_ok=True)
                torch.save(self.module.state_dict(), folder / FOLLOWED)
            return
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "steps": self.steps,
            "trained_tokens": self.trained_tokens,
            "optimizer": self.optimizer.state_dict(),
        }
        if _writes_folder(self.module):
            self.module.save_pretrained(folder / "model")
        else:
            state["tensors"] = self._trained_tensors()
        torch.save(state, folder / "engine.pt")

    def restore(self, folder: Path) -> None:
        if self.optimizer is None or self.optim is None:
            self.moved = (folder / FOLLOWED).is_file()
            if self.moved:
                self.module.load_state_dict(torch.load(folder / FOLLOWED, weights_only=True, map_location="cpu"))
            return
        state = torch.load(folder / "engine.pt", weights_only=True, map_location="cpu")
        if _writes_folder(self.module):
            saved = type(self.module).from_pretrained(folder / "model", dtype=self.module.dtype, local_files_only=True)
            state["tensors"] = saved.state_dict()
        absent = set(self._trained_tensors()) - set(state["tensors"])
        unexpected = self.module.load_state_dict(state["tensors"], strict=False).unexpected_keys
        if unexpected or absent:
            raise ValueError(
                f"{folder} is of another model: it lacks {sorted(absent)[:3]} and has {unexpected[:3]} besides"
            )
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:  # the moments go on; the settings are those of now
            group.update(betas=self.optim.betas, eps=self.optim.eps, weight_decay=self.optim.weight_decay)
        self.steps, self.trained_tokens = state["steps"], state["trained_tokens"]

    def _trained_tensors(self) -> dict[str, Tensor]:
        """With adapters only what is trained; the base stays where it came from."""
        names = {name for name, parameter in self.module.named_parameters() if parameter.requires_grad}
        return {name: tensor for name, tensor in self.module.state_dict().items() if name in names}


def _tokens_at_once(module: Any) -> int:
    known = stack.find(trunk_in(module))
    return tokens_at_once(len(known.layers), len(known.norm)) if known else USUAL_TOKENS


def _writes_folder(module: Any) -> bool:
    """Whether the module is a plain transformers model, whose own folder format holds all of its weights."""
    return hasattr(module, "save_pretrained") and not hasattr(module, "peft_config")


def weigh(batch: Batch, terms: Sequence[Term]) -> Batch:
    """The batch with each term's weights as streams `weight0`, ...; a part of such a batch keeps the whole's weights.

    A batch is weighed before it is dealt out to ranks, so that their gradients add up to that of the whole.
    """
    if "weight0" in batch.extra:
        return batch
    weights = [term.scale * term.reduce(batch, batch.stream(term.mask)) for term in terms]
    return batch.put(**{f"weight{i}": weight for i, weight in enumerate(weights)})


_CAUSES = (
    "Likely causes: a learning rate that is too high, rewards or advantages of extreme size, "
    "log-probabilities of -inf (a sampled token that the model now rules out), or half precision."
)


def _not_finite(what: str, out: Mapping[str, Tensor], batch: Batch) -> str:
    bad = [f"{name}: {int((~v.isfinite()).sum())} of {v.numel()}" for name, v in out.items() if not v.isfinite().all()]
    streams = {name: batch.stream(name) for name in ("advantage", "behavior", "reward") if batch.has(name)}
    bad += [
        f"{name}: {int((~v.isfinite()).sum())} of {v.numel()}" for name, v in streams.items() if not v.isfinite().all()
    ]
    return (
        f"the {what} is not finite (not finite in {', '.join(bad) or 'no input: the loss itself overflows'}). {_CAUSES}"
    )


def _active(batch: Batch, terms: Sequence[Term]) -> Tensor:
    """[N] bool: tokens of sequences on which some term has a gradient; a group that is one unit is kept whole."""
    needed = torch.zeros(len(batch), dtype=torch.bool)
    for i, term in enumerate(terms):
        live = batch.extra[f"weight{i}"] != 0
        if term.objective.inert_without_advantage and batch.advantage is not None:
            live = live & (batch.advantage != 0)
        if term.objective.unit == "batch" and bool(live.any()):
            return torch.ones_like(needed)
        ids = batch.seq if term.objective.unit == "sequence" else batch.group
        needed |= torch.isin(ids, torch.unique(ids[live]))
    return needed


def _kept(batch: Batch, active: Batch) -> Tensor:
    """[sequences] 1 where a sequence is trained on."""
    return torch.isin(torch.unique(batch.seq), torch.unique(active.seq)).float()


def _coarsest(terms: Sequence[Term]) -> Unit:
    units = {term.objective.unit for term in terms}
    return "batch" if "batch" in units else "group" if "group" in units else "sequence"


def _diagnostics(term: Term, out: Mapping[str, Tensor], batch: Batch) -> Stats:
    """What an objective reports about itself, and how far the policy is from the one that sampled."""
    stats: Stats = {}
    report = getattr(term.objective, "diagnostics", None)
    if report is not None:
        found = report({k: v.detach() for k, v in out.items()}, batch)
        stats.update({f"{term.name}/{k}": over(v, batch.mask) for k, v in found.items()})
    if "entropy" in out:
        stats["entropy"] = over(out["entropy"].detach(), batch.mask)
    if "fresh" in batch.extra and "logp" in out:
        stats.update(gap(out["logp"], batch))
    return stats


def _without_dropout(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        for name in ("attention_dropout", "dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)


def gap(logp: Tensor, batch: Batch) -> Stats:
    """How far the engine's log-probabilities are from the sampler's, on the tokens of the stream `fresh`.

    `fresh` marks what these very weights sampled, so that gap/mean and gap/max, |log p_engine - log p_sampler| in nats,
    are noise of the kernels when all is well.
    """
    fresh = batch.mask & batch.extra["fresh"]
    difference = (logp.detach() - batch.behavior).abs()
    return {"gap/mean": over(difference, fresh), "gap/max": peak(difference, fresh)}
