"""Teaching a small policy by demonstrations, so that it begins with some skill: the method `sft` through the loop."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.method import Method
from guerdon.methods.sft import sft
from guerdon.sources import Dataset
from guerdon.testbeds.drive import drive
from guerdon.testbeds.model import Model
from guerdon.testbeds.symbols import Symbols
from guerdon.types import Episode, Span, Task

Demonstration = tuple[str, str]
"""A prompt and a reply to it, without the end."""

TOGETHER = 16
"""Demonstrations that make one group, which says nothing to `sft`: a batch of few groups is cut sooner than of many."""


def taught(
    begin: Model,
    rows: Sequence[Demonstration],
    steps: int,
    seed: int,
    *,
    batch: int = 64,
    lr: float = 3e-3,
    method: Method | None = None,
) -> Model:
    """A copy of the policy that imitated the demonstrations, shuffled by the seed; lr falls to 0 along a line.

    method: another way to learn from them than `sft`.
    """
    model = copy.deepcopy(begin)
    optim = Optim(lr=lr, schedule="linear", warmup=min(10, steps), total=steps)
    engine = LocalEngine(model, Autoregressive(), optim, 1 << 20)
    episodes = [demonstrated(model.symbols, i, *row) for i, row in enumerate(rows)]
    groups = [episodes[i : i + TOGETHER] for i in range(0, len(episodes), TOGETHER)]
    drive(
        Dataset(groups, max(1, batch // TOGETHER), seed), Learner(method or sft(), {"policy": engine}, seed=seed), steps
    )
    return model


def demonstrated(symbols: Symbols, number: int, prompt: str, reply: str) -> Episode:
    """A reply that somebody else wrote, its end included."""
    ids = symbols.encode(reply + symbols.end)
    message = {"role": "assistant", "content": reply}
    said = Span(np.asarray(ids), np.zeros(len(ids), np.float32), parent=0, message=message)
    return Episode(Task(f"demonstration/{number}", prompt), [Span(np.asarray(symbols.encode(prompt))), said])
