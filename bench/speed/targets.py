"""What each workload must reach, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """A number of a result, by the keys that lead to it, and its bound: `least` or `most`."""

    name: str
    path: tuple[str, ...]
    least: float | None = None
    most: float | None = None

    def judge(self, result: Mapping[str, Any]) -> dict[str, Any] | None:
        """What was found beside the bound; None where the result does not have the number."""
        found: Any = result
        for key in self.path:
            if not isinstance(found, Mapping) or key not in found:
                return None
            found = found[key]
        met = (self.least is None or found >= self.least) and (self.most is None or found <= self.most)
        bound = {"least": self.least} if self.least is not None else {"most": self.most}
        return {"name": self.name, "found": found, **bound, "met": met}


def _faster(least: float) -> Target:
    return Target("times as fast as the peer", ("ratios", "step"), least=least)


TARGETS: dict[str, tuple[Target, ...]] = {
    "S": (_faster(1.8), Target("share of the peer's peak memory", ("ratios", "memory"), most=0.333)),
    "T": (_faster(1.3),),
    "L": (_faster(4.0),),
    "V": (_faster(2.5),),
    "DPO": (_faster(1.5),),
    "RM": (_faster(1.5),),
    "gen": (Target("tokens/s", ("contestants", "guerdon", "sampled_tokens_per_second"), least=200.0),),
    "Z": (
        Target("share of the time with no dead group", ("share",), most=0.6),
        Target("relative difference of the gradient", ("gradient_difference",), most=1e-6),
    ),
    "memory": (
        Target("growth per token in rows of logits, 49k", ("vocabularies", "49152", "rows_per_token"), most=0.1),
        Target("growth per token in rows of logits, 150k", ("vocabularies", "151936", "rows_per_token"), most=0.1),
    ),
    "scaling": (Target("slopes above 1.1 where counting says at most 1", ("too_steep",), most=0),),
    "overhead-S": (Target("share of a step outside the model", ("outside",), most=0.01),),
    "overhead-T": (Target("share of a step outside the model", ("outside",), most=0.05),),
    "startup": (
        Target("seconds of --help", ("seconds", "help"), most=0.5),
        Target("seconds of train --dry-run", ("seconds", "dry-run"), most=3.0),
    ),
}


def judged(name: str, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The targets of a workload that its result says something about."""
    found = (target.judge(result) for target in TARGETS.get(name, ()))
    return [one for one in found if one is not None]
