"""RLSF: does preferring what one is sure of make answers better, and confidence truer?

300 prompts, each with 10 ways to reason and 5 answers; the policy is a softmax over ways and, after each, one over
answers. 35% of the ways are sound: they lift the right answer's logit by 2.5, which the policy does not know, as it
slightly prefers the others (by 0.5). A share of the others is deceptive: it lifts a wrong answer as much. Every way
with its likeliest answer is a beam, whose confidence is p(likeliest) - p(second). RLSF takes the beam of highest
confidence against another at random, 300 steps of DPO with beta 0.1 on all prompts; `random pairs` takes any two, and
`gold pairs` a right beam against a wrong one, where there are both. `accuracy` is of the likeliest answer after the
likeliest way; `error` the expected calibration error of its probability, in ten bins. In the arms with a number that is
the share of deceptive ways among those that are not sound; the threshold tau is off, as no answer is that sure here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.evaluation.calibration import calibration
from guerdon.losses.preference import dpo
from guerdon.rewards.intrinsic import disparity

PROMPTS, WAYS, ANSWERS = 300, 10, 5
SOUND, LIFT, PREFERRED, NOISE = 0.35, 2.5, 0.5, 0.5
BETA, STEPS, LR, BINS = 0.1, 300, 0.05, 10

BEFORE, RLSF, RANDOM, GOLD = "before", "RLSF", "random pairs", "gold pairs"
SHARES = (0.0, 0.2, 0.35, 0.6)


@dataclass(frozen=True)
class Policy:
    """ways: logits [Q, 10]. answers: logits after each way [Q, 10, 5]. right: the right answer [Q]."""

    ways: Tensor
    answers: Tensor
    right: Tensor

    def logp(self) -> Tensor:
        """log-probability of every way with every answer. [Q, 10, 5]"""
        return self.ways.log_softmax(-1)[..., None] + self.answers.log_softmax(-1)

    def beams(self) -> tuple[Tensor, Tensor]:
        """(likeliest answer of each way, how sure it is), [Q, 10] each."""
        best = self.answers.softmax(-1).topk(2, -1)
        return best.indices[..., 0], best.values[..., 0] - best.values[..., 1]


def policy(deceptive: float, seed: int) -> Policy:
    numbers = torch.Generator().manual_seed(seed)
    right = torch.randint(ANSWERS, (PROMPTS,), generator=numbers)
    wrong = (right + torch.randint(1, ANSWERS, (PROMPTS,), generator=numbers)) % ANSWERS
    sound = torch.rand(PROMPTS, WAYS, generator=numbers) < SOUND
    deceives = ~sound & (torch.rand(PROMPTS, WAYS, generator=numbers) < deceptive)
    ways = torch.randn(PROMPTS, WAYS, generator=numbers) + PREFERRED * ~sound
    answers = NOISE * torch.randn(PROMPTS, WAYS, ANSWERS, generator=numbers)
    for lifted, answer in ((sound, right), (deceives, wrong)):
        place = answer[:, None, None].expand(-1, WAYS, 1)
        answers = answers.scatter_add(2, place, LIFT * lifted[..., None].float())
    return Policy(ways, answers, right)


def measure(name: str, seed: int, quick: bool) -> Measured:
    kind, _, share = name.partition(", ")
    start, steps = policy(float(share), seed), 30 if quick else STEPS
    if kind == BEFORE:
        return Measured(judged(start), {"gradient_steps": 0})
    made = trained(start, kind, steps, seed)
    labels = {"labels": PROMPTS} if kind == GOLD else {}
    return Measured(judged(made), {"gradient_steps": steps, "rollouts": PROMPTS * WAYS, **labels})


def trained(start: Policy, kind: str, steps: int, seed: int) -> Policy:
    """Pairs are drawn anew at every step, from the beams that the policy had at the start."""
    numbers = torch.Generator().manual_seed(10**6 + seed)
    ways, answers = (one.clone().requires_grad_() for one in (start.ways, start.answers))
    made, ref = Policy(ways, answers, start.right), start.logp()
    optimizer = torch.optim.Adam([ways, answers], lr=LR)
    for _ in range(steps):
        better, worse, there = drawn(start, kind, numbers)
        ratios = made.logp() - ref
        said = start.beams()[0]
        h = _of(ratios, better, said) - _of(ratios, worse, said)
        loss = (dpo(h, BETA) * there).sum() / there.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return Policy(ways.detach(), answers.detach(), start.right)


def drawn(start: Policy, kind: str, numbers: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(way of the better beam, of the worse, whether there is such a pair), [Q] each."""
    said, sure = start.beams()
    chance = torch.rand(PROMPTS, WAYS, generator=numbers)
    if kind == GOLD:
        right = said == start.right[:, None]
        better, worse = (torch.where(one, chance, -1).argmax(1) for one in (right, ~right))
        return better, worse, (right.any(1) & ~right.all(1)).float()
    first = sure.argmax(1) if kind == RLSF else chance.argmax(1)
    rest = chance.scatter(1, first[:, None], -1.0) if kind == RLSF else -chance
    return first, rest.argmax(1), torch.ones(PROMPTS)


def _of(values: Tensor, way: Tensor, said: Tensor) -> Tensor:
    """The value of each prompt's beam. values: [Q, 10, 5]; way: [Q]; said: [Q, 10] -> [Q]"""
    rows = torch.arange(PROMPTS)
    return values[rows, way, said[rows, way]]


def judged(made: Policy) -> dict[str, float]:
    rows, way = torch.arange(PROMPTS), made.ways.argmax(1)
    chances = made.answers[rows, way].softmax(-1)
    best = chances.topk(2, -1)
    right = best.indices[:, 0] == made.right
    told = calibration(best.values[:, 0].tolist(), right.tolist(), BINS)
    gap = sum(disparity(*pair) for pair in best.values.tolist()) / PROMPTS
    return {"accuracy": float(right.float().mean()), "error": told.error, "disparity": gap}


def _arm(kind: str, share: float) -> str:
    return f"{kind}, {share:g}"


CLAIM = Claim(
    slug="rlsf",
    claim="Preferring beams with confident answers makes a policy more accurate, and better calibrated where confident"
    " mistakes are rare.",
    arms=tuple(_arm(kind, share) for share in SHARES for kind in (BEFORE, RLSF, RANDOM, GOLD)),
    run=measure,
    expect=(
        *(Expect("accuracy", _arm(RLSF, share), _arm(BEFORE, share), least=0.1) for share in SHARES),
        *(Expect("accuracy", _arm(RLSF, share), _arm(RANDOM, share)) for share in SHARES),
        Expect("error", _arm(RLSF, 0.0), _arm(BEFORE, 0.0), "lower"),
        Expect("error", _arm(RLSF, 0.6), _arm(BEFORE, 0.6)),
        *(Expect("accuracy", _arm(GOLD, share), _arm(RLSF, share), control=True) for share in SHARES),
    ),
    source=("guerdon.losses.preference", "guerdon.rewards.intrinsic", "guerdon.evaluation.calibration"),
)
