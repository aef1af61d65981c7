"""Process and outcome reward models: how probable it is that a step, or a whole solution, is right.

    L = mean over labelled steps of -y log p - (1 - y) log(1 - p),    p = sigmoid(r at the step's last token)

An outcome reward model is one whose only step is the whole reply, read at its end token.
"""

from __future__ import annotations

from guerdon.losses.reward_model import StepCrossEntropy
from guerdon.method import Card, Heads, Method, Term
from guerdon.reduce import token_mean

CARD = Card(
    slug="process-rm",
    name="Process reward model",
    family="reward",
    paper="Lightman et al. 2023, Let's verify step by step, arXiv:2305.20050",
    summary="A head on a language model that says after each step of a solution how probable it is that it is right.",
    differs="Labels are right or wrong, or a probability; there is no third, neutral one.",
)


def process_rm(frozen_trunk: bool = False, epochs: int = 1, minibatches: int = 1) -> Method:
    """Rows have `prompt`, `completions` (the steps) and `labels` (whether each is right)."""
    return _method(dict(locals()))


def outcome_rm(frozen_trunk: bool = False, epochs: int = 1, minibatches: int = 1) -> Method:
    """Rows have `prompt`, `completion` and `label` (whether it is right); the label is read at the end alone."""
    return _method(dict(locals()))


def _method(settings: dict[str, bool | int]) -> Method:
    return Method(
        terms=(Term(StepCrossEntropy(), token_mean, name="steps"),),
        scores=Heads(frozen_trunk=bool(settings["frozen_trunk"])),
        epochs=int(settings["epochs"]),
        minibatches=int(settings["minibatches"]),
        settings=settings,
    )
