"""Does a reply follow its instructions? Each is a checkable constraint; the verdict says which ones are broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.constraints import Constraint, ConstraintError, constraint
from guerdon.rewards.written import after_thought, reply_of
from guerdon.types import Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group, Task

STAGE = "instructions"


@dataclass(frozen=True)
class Instructions(Verifier):
    """'right' when the reply follows every constraint of its task; `share` is how many it follows.

    Constraints stand in the task's data as `constraints`, a list of {"kind": ..., argument: value}, or in IFEval's own
    columns, `instruction_id_list` and `kwargs`; either may be JSON text. Read is what follows the reasoning
    (</think>); if that is blank, 'no_answer', for an empty text breaks few rules. With an empty list of constraints
    there is nothing to follow and nothing is known about the reply: 'cannot_tell', without a share. loose: a constraint
    counts as followed if it is without the first line, the last line, or the stars of markdown (IFEval's loose
    accuracy); strict otherwise. RewardFault for a task without constraints or with one that is written wrongly;
    ImportError where a language is asked for and langdetect is absent.
    """

    name: str = "instructions"
    loose: bool = False

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        replies = [(episode.task, reply_of(episode, context)) for episode in group]
        verdicts = await asyncio.to_thread(lambda: [self._check(task, reply) for task, reply in replies])
        return [self.worth.score(verdict) for verdict in verdicts]

    async def verify(self, episode: Episode) -> Verdict:
        return self._check(episode.task, episode.reply)

    def _check(self, task: Task, reply: str) -> Verdict:
        try:
            return check_instructions(constraints_of(task.data), reply, self.loose)
        except ConstraintError as error:
            expected = "'constraints', a list of {'kind': ...}, or 'instruction_id_list' and 'kwargs' as in IFEval"
            raise RewardFault(self.name, task.id, str(error), expected) from error


def check_instructions(constraints: Sequence[Mapping[str, Any]], text: str, loose: bool = False) -> Verdict:
    """What `Instructions` finds for one reply. constraints: [{"kind": "number_words", "num_words": 20}, ...].

    ConstraintError (a ValueError) for a constraint that is not known or written wrongly.
    """
    wanted = [_read(entry) for entry in constraints]
    if not wanted:
        return Verdict("cannot_tell", "no constraints", stage=STAGE)
    answer = after_thought(text)
    if not answer.strip():
        return Verdict("no_answer", "the reply is empty" if not text.strip() else "nothing after <think>", stage=STAGE)
    broken = [(one.kind, why) for one in wanted if (why := _broken(one, answer, loose))]
    followed = len(wanted) - len(broken)
    if not broken:
        return Verdict("right", f"follows all {followed}", stage=STAGE, share=1.0)
    reasons = "; ".join(f"{kind}: {why}" for kind, why in broken)
    return Verdict(
        "wrong", f"follows {followed} of {len(wanted)}; {reasons}", stage=STAGE, share=followed / len(wanted)
    )


def constraints_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A task's constraints as [{"kind": ..., argument: value}, ...], from either layout. ConstraintError if neither."""
    if data.get("constraints") is not None:
        return _listed(data["constraints"], "constraints")
    if data.get("instruction_id_list") is None:
        raise ConstraintError(f"no constraints in the task's data, which has {sorted(map(str, data))}")
    kinds = _listed(data["instruction_id_list"], "instruction_id_list")
    kwargs = _listed(data["kwargs"], "kwargs") if data.get("kwargs") is not None else [{}] * len(kinds)
    if len(kinds) != len(kwargs):
        raise ConstraintError(f"{len(kinds)} entries in instruction_id_list, but {len(kwargs)} in kwargs")
    return [{**_arguments(given), "kind": kind} for kind, given in zip(kinds, kwargs, strict=True)]


def variants(text: str) -> list[str]:
    """The readings of a text that loose accuracy accepts: without first line, last line, both; each without stars."""
    lines = text.split("\n")
    cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [text, *(one for one in [*cut[1:], *(part.replace("*", "") for part in cut)] if one.strip())]


def _broken(one: Constraint, text: str, loose: bool) -> str:
    """Why the text breaks a constraint; '' as soon as one reading of it does not."""
    reasons = (one.broken(reading) for reading in (variants(text) if loose else [text]))
    first = next(reasons)
    return first if first and all(reasons) else ""


def _read(entry: Any) -> Constraint:
    given = _arguments(entry)
    if not isinstance(given.get("kind"), str):
        raise ConstraintError(f"a constraint is {entry!r:.200}; expected {{'kind': ..., argument: value}}")
    return constraint(given["kind"], {key: value for key, value in given.items() if key != "kind"})


def _arguments(given: Any) -> dict[str, Any]:
    given = _unpacked({} if given is None else given)
    if not isinstance(given, Mapping):
        raise ConstraintError(f"the arguments of a constraint are {given!r:.200}; expected a mapping")
    return dict(given)


def _listed(value: Any, key: str) -> list[Any]:
    value = _unpacked(value)
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise ConstraintError(f"{key} is {value!r:.200}; expected a list")
    return list(value)


def _unpacked(value: Any) -> Any:
    """Lists and mappings as they are; JSON text (as tables store them) read."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
