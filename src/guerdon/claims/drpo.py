"""DRPO: is the estimate right if either the preference model or the reference is, and does the policy follow?

Six replies to one prompt; preferences are Bradley-Terry in rewards of N(0, 1); replies of logged pairs are drawn by the
reference, a softmax of N(0, 1). The preference model is the true one or reversed; the reference is taken to be what it
is or uniform. `bias_` and `rmse_` are of the estimated chance of a policy, a softmax of N(0, 1), to beat the reference,
over 200 draws of 2000 pairs, without clipping; `win_` is that chance, exactly, of the policy that was trained on 2000
pairs: 600 steps of Adam at 0.05, 64 pairs and two samples for each, from the supposed reference. Names end in what is
wrong: `none`, `reference`, `model`, `both`. DPO has no preference model, `direct` no use for the labels, `importance`
none for the preference model. The last arm is no method but a bound: the better of DPO and direct, seed by seed, less
0.02; a method that stays above it matches the better of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from guerdon.claims.base import Claim, Expect, Figures, Measured
from guerdon.losses.auxiliary import bradley_terry
from guerdon.method import Method
from guerdon.methods.dpo import dpo
from guerdon.methods.drpo import doubly_robust, drpo
from guerdon.types import Batch

REPLIES, PAIRS, PER_STEP, DRAWN = 6, 2000, 64, 2
ROBUST, DIRECT, IMPORTANCE, DPO = "doubly robust", "direct", "importance", "DPO"
BOUND, MARGIN = "better of DPO and direct, less 0.02", 0.02
CELLS = {"none": (False, False), "reference": (False, True), "model": (True, False), "both": (True, True)}
"""Whether model and reference are wrong."""


@dataclass(frozen=True)
class World:
    """wins: [6, 6] that the row beats the column. reference, target: [6] policies. g, supposed: what is believed."""

    wins: Tensor
    reference: Tensor
    target: Tensor
    g: Tensor
    supposed: Tensor

    def chance(self, policy: Tensor) -> float:
        """That a reply of the policy beats one of the reference."""
        return float(policy @ self.wins @ self.reference)


def world(seed: int, cell: str) -> World:
    numbers = np.random.default_rng(seed)
    rewards, reference, target = (torch.from_numpy(numbers.normal(size=REPLIES)) for _ in range(3))
    wins = bradley_terry(rewards[:, None], rewards[None])
    wrong_model, wrong_reference = CELLS[cell]
    true = reference.softmax(0)
    supposed = torch.full_like(true, 1 / REPLIES) if wrong_reference else true
    return World(wins, true, target.softmax(0), 1 - wins if wrong_model else wins, supposed)


def logged(one: World, numbers: np.random.Generator, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """(replies [..., 2], z of each [..., 2])."""
    replies = torch.from_numpy(numbers.choice(REPLIES, size=(*shape, 2), p=one.reference.numpy()))
    first = torch.from_numpy(numbers.random(shape)) < one.wins[replies[..., 0], replies[..., 1]]
    return replies, torch.stack([first, ~first], -1).double()


def measure(arm: str, seed: int, quick: bool) -> Measured:
    if arm == BOUND:
        both = [measure(other, seed, quick).figures for other in (DPO, DIRECT)]
        return Measured({f"win_{cell}": max(one[f"win_{cell}"] for one in both) - MARGIN for cell in CELLS}, {})
    figures: dict[str, float] = {}
    for cell in CELLS:
        figures |= {f"{name}_{cell}": value for name, value in _estimate(arm, seed, cell, quick).items()}
        figures[f"win_{cell}"] = _trained(arm, seed, cell, 20 if quick else 600)
    return Measured(figures, {"labels": PAIRS, "gradient_steps": 20 if quick else 600})


def _estimate(arm: str, seed: int, cell: str, quick: bool) -> Figures:
    if arm == DPO:
        return {}
    one = world(seed, cell)
    replies, z = logged(one, np.random.default_rng([seed, 1]), (20 if quick else 200, PAIRS))
    w = (one.target / one.supposed)[replies] if arm != DIRECT else torch.zeros_like(z)
    direct = (one.target @ one.g)[replies].flip(-1) if arm != IMPORTANCE else torch.zeros_like(z)
    g = one.g[replies, replies.flip(-1)] if arm != IMPORTANCE else torch.zeros_like(z)
    error = doubly_robust(direct, w, z, g).mean(-1) - one.chance(one.target)  # [repeats]
    return {"bias": abs(float(error.mean())), "rmse": float(error.square().mean().sqrt())}


METHODS = {
    ROBUST: drpo(),
    DIRECT: drpo(residual=0.0),
    IMPORTANCE: drpo(direct=0.0),
    DPO: dpo(),
}


@lru_cache(maxsize=64)
def _trained(arm: str, seed: int, cell: str, steps: int) -> float:
    """The chance to win of the policy that an arm ends with."""
    one, numbers = world(seed, cell), np.random.default_rng([seed, 2])
    replies, z = logged(one, numbers, (PAIRS,))
    logits = one.supposed.log().clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.05)
    for _ in range(steps):
        rows = torch.from_numpy(numbers.integers(PAIRS, size=PER_STEP))
        policy = logits.detach().softmax(0).numpy()
        samples = torch.from_numpy(numbers.choice(REPLIES, size=(PER_STEP, DRAWN), p=policy))
        batch = _batch(one, replies[rows], z[rows], samples, arm)
        optimizer.zero_grad()
        _loss(METHODS[arm], logits.log_softmax(0), batch).backward()
        optimizer.step()
    return one.chance(logits.detach().softmax(0))


def _loss(method: Method, logp: Tensor, batch: Batch) -> Tensor:
    batch = method.estimator(batch) if method.estimator else batch
    out = {"logp": logp[batch.inputs["tokens"]]}
    terms = [
        term.scale * (term.reduce(batch, batch.stream(term.mask)) * term.objective(out, batch)).sum()
        for term in method.terms
    ]
    return torch.stack(terms).sum()


def _batch(one: World, replies: Tensor, z: Tensor, samples: Tensor, arm: str) -> Batch:
    """Replies of one token: of each pair the two logged ones and, but for DPO, its samples, with what each weighs."""
    believed = one.g[replies, replies.flip(-1)] if arm in (ROBUST, DIRECT) else torch.full_like(z, 0.5)
    opinion = (
        (one.g[samples[..., None], replies[:, None]]).mean(-1)
        if arm != IMPORTANCE
        else torch.full(samples.shape, 0.5, dtype=z.dtype)
    )
    tokens = replies if arm == DPO else torch.cat([replies, samples], 1)  # [P, 2 or 4]
    weight = z - 0.5 if arm == DPO else torch.cat([z - believed, opinion], 1)
    count = tokens.numel()
    ids = torch.arange(count)
    none = torch.zeros(count)
    return Batch(
        inputs={"tokens": tokens.reshape(-1)},
        mask=torch.ones(count, dtype=torch.bool),
        seq=ids,
        episode=ids,
        group=torch.arange(len(tokens)).repeat_interleave(tokens.shape[1]),
        span=ids,
        behavior=none,
        version=none.long(),
        reward=weight.reshape(-1),
        share=torch.ones(count),
        extra={
            "ref": one.supposed.log()[tokens.reshape(-1)],
            "logged": (torch.arange(tokens.shape[1]) < 2).double().repeat(len(tokens)),
        },
    )


CLAIM = Claim(
    slug="drpo",
    claim="The estimate is right if the preference model or the reference is, and so is the policy that follows it.",
    arms=(ROBUST, DIRECT, IMPORTANCE, DPO, BOUND),
    run=measure,
    expect=(
        Expect("bias_model", ROBUST, DIRECT, "lower"),
        Expect("bias_reference", ROBUST, IMPORTANCE, "lower"),
        Expect("rmse_none", ROBUST, IMPORTANCE, "lower"),
        Expect("win_none", ROBUST, BOUND, "higher"),
        Expect("win_reference", ROBUST, BOUND, "higher"),
        Expect("win_model", ROBUST, BOUND, "higher"),
        Expect("win_both", ROBUST, BOUND, "higher", control=True),
        Expect("bias_both", ROBUST, DIRECT, "lower", control=True),
    ),
    seeds=10,
    source=("guerdon.losses.auxiliary", "guerdon.losses.preference", "guerdon.methods.dpo"),
)
