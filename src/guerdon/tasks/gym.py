"""Every data set of reasoning-gym as a task set: problems without end, scored by the data set's own scorer.

A scorer is taken with its weaknesses: `puzzle24`, for one, does not check that the numbers are those of the problem.
Problems depend on the seed and the index alone, with one reservation: `isomorphic_strings`, `ransom_note` and
`polynomial_multiplication` iterate over Python sets, so their problems also depend on PYTHONHASHSEED.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from guerdon.names import nearest
from guerdon.pool.outcome import Limits
from guerdon.pool.pool import shared
from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.extract import boxed, tagged
from guerdon.rewards.verify.number import last_number
from guerdon.rewards.worth import Worth
from guerdon.rollouts.base import derive
from guerdon.tasks.base import Endless, TaskSet, held_out, within
from guerdon.tasks.gym_guard import refusal
from guerdon.types import Task, Verdict

if TYPE_CHECKING:
    from guerdon.types import Episode

Extract = Literal["marked", "last_number"]

CHUNK = 500
"""Problems per reasoning-gym data set; the next chunk has another seed, since some sets cannot be endless."""

SCORING_SECONDS = 10.0
"""After this long a scorer is given up on and the verdict is 'timed_out'."""

OFFICIAL = f"{__name__}:official_score"
"""What workers call."""

GYM_WORTH = Worth(partial=True, timed_out=None)
"""The scorers give partial credit; one that takes too long is their own fault."""

UNAVAILABLE = {
    "composite": "it mixes other data sets; name one of those instead",
    "game_of_life_halting": "its scorer takes every answer that is not empty as right (reasoning-gym 0.1)",
}
"""Registered data sets that cannot be a task set, and why."""


def gym_tasks(name: str, heldout: int = 100, extract: Extract = "marked", **options: Any) -> TaskSet:
    """The reasoning-gym data set `name` with its own options (`min_terms=2`, ...).

    heldout: how many different held-out problems there are, made when the first task is asked for (which takes
    minutes for the slowest sets), fixed for a set and its options and never drawn in training; where the set has fewer
    problems than that, a tenth of them. extract: where the answer stands in a reply, see `GymScore`.
    ValueError for unknown names and options.
    """
    if heldout < 1:
        raise ValueError(f"heldout is {heldout}; expected at least 1 problem")
    if extract not in get_args(Extract):
        raise ValueError(f"extract is {extract!r}; expected one of {', '.join(get_args(Extract))}")
    _check(name, options)
    source = _Source(name, _hashable(options), heldout)
    settings = "".join(f" {key}={value}" for key, value in source.options)
    reward = GymScore(dataset=name, options=source.options, extract=extract)
    describe = f"reasoning-gym {name}{settings}; scored by its own scorer on the {extract.replace('_', ' ')} answer."
    return TaskSet(f"rg:{name}", Endless(source.train), _Heldout(source), reward, describe)


def gym_names() -> list[str]:
    """Names of the data sets that `gym_tasks` accepts."""
    return sorted(name for name in _registry() if name not in UNAVAILABLE)


@dataclass(frozen=True)
class GymScore(Verifier):
    """The data set's own score in [0, 1] of the extracted answer; 'right' from 1 on, partial credit is 'wrong'.

    The answer is what stands in the last <answer>...</answer>, else in the last box, else the whole reply, stripped.
    extract='last_number' takes, where nothing is marked, the last number of the reply instead of all of it, for
    models that chat around a numeric answer. A scorer that raises gives the verdict 'failed', one that takes longer
    than 10 s 'timed_out', both without a value. Nine scorers evaluate the answer as code; there, an answer that is
    more than plain data is 'wrong' unseen (see `gym_guard`).
    """

    name: str = "reasoning_gym"
    worth: Worth = GYM_WORTH
    dataset: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    extract: Extract = "marked"

    async def verify(self, episode: Episode) -> Verdict:
        answer, entry = self.answer(episode.reply), episode.task.data["entry"]
        if not answer:
            return Verdict("no_answer", "the reply holds no answer", stage="extract")
        reason = refusal(self.dataset, answer)
        if reason is not None:
            return Verdict("wrong", f"not passed to the scorer: {reason}", answer, stage="guard")
        limits = Limits(seconds=SCORING_SECONDS)
        outcome = await shared().run(OFFICIAL, self.dataset, self.options, answer, entry, limits=limits)
        if outcome.status == "timed_out":
            return Verdict("timed_out", f"scorer of {self.dataset}: {outcome.reason}", answer, stage="scorer")
        if not outcome.ok:
            how = "raised " if outcome.status == "raised" else ""
            return Verdict("failed", f"scorer of {self.dataset} {how}{outcome.reason}", answer, stage="scorer")
        value = float(outcome.value)
        if not math.isfinite(value):
            return Verdict("failed", f"scorer of {self.dataset} returned {value}", answer, stage="scorer")
        share = min(1.0, max(0.0, value))
        return Verdict("right" if value >= 1 else "wrong", f"scored {value:g}", answer, stage="scorer", share=share)

    def answer(self, reply: str) -> str:
        """The answer in a reply; '' when there is none."""
        for find in (tagged, boxed):
            found = find(reply)
            if found is not None:
                return found
        if self.extract == "marked":
            return reply.strip()
        number = last_number(reply)
        return "" if number is None else number.text.replace(",", "").lstrip("+")


def official_score(name: str, options: tuple[tuple[str, Any], ...], answer: str, entry: Any) -> float:
    """What the data set's own scorer says; called in a worker, since some scorers can be made to compute for ever."""
    return float(_dataset(name, options, 0).score_answer(answer, entry))


@dataclass(frozen=True)
class _Source:
    name: str
    options: tuple[tuple[str, Any], ...]
    heldout: int

    def train(self, i: int, seed: int) -> Task:
        for attempt in range(100):
            task = self._make("train", seed, i, attempt)
            if task.prompt not in self.heldout_prompts:
                return task
        raise ValueError(
            f"rg:{self.name}: 100 draws in a row are held-out problems, it has too few different ones; "
            "lower heldout, or widen its options"
        )

    @cached_property
    def heldout_tasks(self) -> tuple[Task, ...]:
        found: dict[str, Task] = {}
        for i in range(20 * self.heldout):
            task = self._make("heldout", 0, i, 0)
            found.setdefault(task.prompt, task)
            if len(found) == self.heldout:
                return tuple(found.values())
        # So few problems exist that holding out all of these would leave nothing to train on.
        return tuple(task for task in found.values() if held_out(task.prompt)) or tuple(found.values())[:1]

    @cached_property
    def heldout_prompts(self) -> frozenset[str]:
        return frozenset(task.prompt for task in self.heldout_tasks)

    def _make(self, part: str, seed: int, i: int, attempt: int) -> Task:
        chunk, index = divmod(i, CHUNK)
        key = (seed, chunk, attempt) if attempt else (seed, chunk)
        dataset = _dataset(self.name, self.options, derive("reasoning-gym", self.name, part, *key) % 2**31)
        entry = dataset[index]
        task_id = f"rg:{self.name}/{part}/" + (f"{seed}/{i}" if part == "train" else str(i))
        data = {"answer": entry["answer"], "entry": entry}
        return Task(task_id + (f"/{attempt}" if attempt else ""), entry["question"], data)


@dataclass(frozen=True)
class _Heldout:
    """Held-out problems, made when first asked for: some data sets take a second per problem."""

    source: _Source

    @property
    def size(self) -> int:
        return len(self.source.heldout_tasks)

    def task(self, i: int, seed: int = 0) -> Task:
        return self.source.heldout_tasks[within(i, self.size)]


@lru_cache(maxsize=16)
def _dataset(name: str, options: tuple[tuple[str, Any], ...], seed: int) -> Any:
    from reasoning_gym.factory import create_dataset

    return create_dataset(name, seed=seed, size=CHUNK, **dict(options))


def _registry() -> Mapping[str, Any]:
    try:
        import reasoning_gym  # registers its data sets
        from reasoning_gym.factory import DATASETS
    except ImportError as error:
        raise ImportError("tasks 'rg:...' need the package reasoning-gym: pip install 'guerdon[gym]'") from error
    assert reasoning_gym
    return DATASETS  # type: ignore[no-any-return]


def _check(name: str, options: Mapping[str, Any]) -> None:
    registry = _registry()
    if name in UNAVAILABLE:
        raise ValueError(f"rg:{name} cannot be a task set: {UNAVAILABLE[name]}")
    if name not in registry:
        raise ValueError(f"reasoning-gym has no data set {name!r}{nearest(name, gym_names())}")
    accepted = gym_options(name)
    for key in options:
        if key not in accepted:
            own = nearest(key, [*accepted, "heldout", "extract"])
            raise ValueError(f"rg:{name} has no option {key!r}{own}")
    try:
        _dataset(name, _hashable(options), 0)
    except (AssertionError, TypeError, ValueError) as error:
        shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(f"rg:{name} refuses {shown or 'its defaults'}: {error or type(error).__name__}") from error


def gym_options(name: str) -> list[str]:
    """Names of the options of a data set."""
    return sorted(field.name for field in fields(_registry()[name][1]) if field.name not in ("seed", "size"))


def _hashable(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value

    return tuple((key, frozen(options[key])) for key in sorted(options))
