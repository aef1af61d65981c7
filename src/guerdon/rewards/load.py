"""Rewards by name: those that ship with the library, judges, and functions of users' files.

A spec is `name`, `name?key=value&key=value` with the reward's own settings, `judge:KIND?...`, or
`path/to/file.py:function`. Every verifier takes `worth`, such as `math?worth=cannot_tell=none` (see `Worth`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter
from typing import TYPE_CHECKING, Any, get_type_hints

from guerdon.keys import Key, key_of
from guerdon.names import nearest
from guerdon.rewards.calling import TIMEOUT
from guerdon.rewards.spec import parse_rewards
from guerdon.specs import split_spec

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

CATALOG: Mapping[str, str] = {
    "exact": "guerdon.rewards.verify.text:ExactMatch",
    "numeric": "guerdon.rewards.verify.number:NumericMatch",
    "math": "guerdon.rewards.verify.math.match:MathMatch",
    "code": "guerdon.rewards.verify.code.verifier:CodeTests",
    "instructions": "guerdon.rewards.verify.instructions:Instructions",
    "f1": "guerdon.rewards.overlap:TokenF1",
    "rouge": "guerdon.rewards.overlap:Rouge",
    "bleu": "guerdon.rewards.overlap:Bleu",
    "chrf": "guerdon.rewards.overlap:ChrF",
    "think_format": "guerdon.rewards.form:ThinkFormat",
    "tag_format": "guerdon.rewards.form:TagFormat",
    "pattern": "guerdon.rewards.form:MatchesPattern",
    "repetition": "guerdon.rewards.shape:Repetition",
    "length": "guerdon.rewards.shape:LengthPenalty",
    "overlong": "guerdon.rewards.shape:Overlong",
    "gold:requests": "guerdon.rewards.gold:GoldRequests",
    "gold:sums": "guerdon.rewards.gold:GoldSums",
}
"""Names and where they live; imported when asked for, since some stand on optional libraries."""

JUDGE = "judge:"
MODEL = "model:"


@dataclass(frozen=True)
class Grading:
    """What a run says about all of its rewards.

    timeout: seconds per call of a user's function. worth: what verdicts are worth, see `Worth.but`.
    unsafe_local_code: run programs that models wrote without isolation where there is no sandbox.
    """

    timeout: float = TIMEOUT
    worth: str = ""
    unsafe_local_code: bool = False

    def apply(self, reward: Reward) -> Reward:
        """The reward with what this says, where it takes it."""
        known: set[str] = {f.name for f in fields(reward)} if is_dataclass(reward) else set()  # type: ignore[arg-type]
        changes: dict[str, Any] = {}
        if self.worth and "worth" in known:
            changes["worth"] = reward.worth.but(self.worth)  # type: ignore[attr-defined]
        if self.unsafe_local_code and "unsafe_local" in known:
            changes["unsafe_local"] = True
        return replace(reward, **changes) if changes else reward  # type: ignore[type-var]


GRADING = Grading()


def load_rewards(text: str, grading: Grading = GRADING) -> tuple[Reward, ...]:
    """The rewards of a line such as 'numeric,0.2*think_format' (`rewards.spec`); the first decides what is right."""
    return tuple(load_reward(spec, weight, grading) for weight, spec in parse_rewards(text))


def load_reward(spec: str, weight: float = 1.0, grading: Grading = GRADING) -> Reward:
    """The reward that a spec names. ValueError for an unknown name or setting, a missing or broken file, a missing or
    unfit function; ImportError, with what to install, where an optional library is missing."""
    if spec.startswith(JUDGE):
        from guerdon.rewards.judge_spec import load_judge_reward

        return grading.apply(load_judge_reward(spec, weight))
    if spec.startswith(MODEL):
        from guerdon.rewards.model import load_model_reward

        return load_model_reward(spec, weight)
    place = spec.partition("?")[0].rpartition(":")[0]
    if place.endswith(".py"):
        return _from_file(spec, weight, grading)
    name, texts = split_spec(spec, "reward")
    if name not in CATALOG:
        raise ValueError(
            f"there is no reward {name!r}{nearest(name, CATALOG)}; "
            "or name a function of a Python file as path/to/file.py:function"
        )
    return grading.apply(_made(name, texts, weight))


def list_rewards() -> dict[str, str]:
    """Reward names that `load_reward` accepts beside files, with the first sentence of what they do."""
    from guerdon.rewards.judge_spec import list_judge_rewards

    own = {name: " ".join((inspect.getdoc(_class(name)) or "").split("\n\n")[0].split()) for name in CATALOG}
    return own | list_judge_rewards()


def _from_file(spec: str, weight: float, grading: Grading) -> Reward:
    from guerdon.rewards.user import user_reward

    return user_reward(spec, grading.timeout, weight)


def _made(name: str, texts: Mapping[str, str], weight: float) -> Reward:
    make = _class(name)
    keys = _settings(make)
    given: dict[str, Any] = {}
    for key, text in texts.items():
        if key == "worth" and "worth" in {f.name for f in fields(make)}:
            given[key] = next(f.default for f in fields(make) if f.name == "worth").but(text)  # type: ignore[union-attr]
        elif key in keys:
            given[key] = keys[key].read(text)
        else:
            raise ValueError(f"reward {name!r} has no setting {key!r}{nearest(key, [*keys, 'worth'])}")
    try:
        return make(weight=weight, **given)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise ValueError(f"reward {name!r}: {error}") from error


def _class(name: str) -> Any:
    module, _, attribute = CATALOG[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _settings(make: Callable[..., Reward]) -> dict[str, Key]:
    """The settings of a reward's class that a line of text can give, but its weight."""
    hints = get_type_hints(make)
    found = (key_of(Parameter(f.name, Parameter.KEYWORD_ONLY, annotation=hints[f.name])) for f in fields(make))  # type: ignore[arg-type]
    return {key.name: key for key in found if key is not None and key.name != "weight"}
