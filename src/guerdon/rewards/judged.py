"""Rewards by a judge: a grade, the share of a rubric's criteria, or how often a reply wins over others.

Each asks a `Voice` (the run's own sampler, a server, a function). An episode about which the judge could not be heard
gets a verdict `failed` or `timed_out` with the cause, and by default no value: a judge's failure is not a zero. An
episode without a reply is `no_answer`, and the judge is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from guerdon.judges.base import Voice, together
from guerdon.judges.outcome import Failure, Labels, Preference
from guerdon.judges.prompts import GUIDE, as_text, grade_prompt
from guerdon.judges.read import read_grade
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.worth import Worth
from guerdon.types import Episode, Group, Score, Task, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context

JUDGED = Worth(cannot_tell=None, timed_out=None, partial=True)
"""What a judge's verdicts are worth: nothing is concluded from a judge that could not be heard."""


@dataclass(frozen=True)
class JudgeScore:
    """A grade from `low` to `high` for each reply, as a value from 0 to 1: (grade - low) / (high - low).

    guide: what makes a reply good. reference: the key of the task's data that holds a good answer, if any. votes: asked
    so often, the mean of the readable answers. by_labels: not the grade that is written but the expected one under the
    probabilities of the whole numbers from `low` to `high`, which is finer; min_mass: the share of the probability
    that these must have, or it is a failure.
    """

    voice: Voice
    guide: str = GUIDE
    low: float = 1
    high: float = 10
    reference: str | None = None
    votes: int = 1
    by_labels: bool = False
    min_mass: float = 0.1
    worth: Worth = JUDGED
    name: str = "judge_score"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"the scale is {self.low} to {self.high}; expected low < high")
        if self.votes < 1:
            raise ValueError(f"votes is {self.votes}; expected at least 1")
        if not 0 <= self.min_mass <= 1:
            raise ValueError(f"min_mass is {self.min_mass}; expected 0 to 1")
        if self.by_labels and (self.low != int(self.low) or self.high != int(self.high) or self.high - self.low > 19):
            raise ValueError(f"the scale is {self.low} to {self.high}; grades by labels need at most 20 whole numbers")
        if self.by_labels:
            self.voice.check_labels(self._labels)
            if self.votes > 1:
                raise ValueError(f"votes is {self.votes}; grades by labels are exact, expected 1")

    @property
    def needs_context(self) -> bool:
        return self.voice.needs_context

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        voice, question = self.voice.within(context), question_of(group[0].task, self.name, context)
        return await together([self._score(voice, question, episode) for episode in group])

    async def _score(self, voice: Voice, question: str, episode: Episode) -> Score:
        if not episode.reply.strip():
            return self.worth.score(NO_ANSWER)
        reference = None if self.reference is None else str(_data(episode.task, self.reference, self.name))
        prompt = grade_prompt(question, episode.reply, self.guide, self.low, self.high, reference, self.by_labels)
        if self.by_labels:
            said = [self._expected(await voice.labels(prompt, self._labels))]
        else:
            read = partial(read_grade, low=self.low, high=self.high)
            said = await together([voice.ask(prompt, read, vote) for vote in range(self.votes)])
        grades = [grade for grade in said if not isinstance(grade, Failure)]
        if not grades:
            return _failed(self.worth, said)
        grade = sum(grades) / len(grades)
        value = (grade - self.low) / (self.high - self.low)
        return Score(value, parts={"grade": grade, "votes": float(len(grades))})

    @property
    def _labels(self) -> list[str]:
        return [str(grade) for grade in range(int(self.low), int(self.high) + 1)]

    def _expected(self, said: Labels | Failure) -> float | Failure:
        if isinstance(said, Failure):
            return said
        if said.mass < self.min_mass:
            return Failure("format", f"the grades have {said.mass:.2g} of the probability; expected {self.min_mass:g}")
        return sum(float(label) * probability for label, probability in said.probabilities.items())


@dataclass(frozen=True)
class JudgeRubric:
    """The share, by weight, of the task's criteria that a reply meets; with all of them it is right.

    rubric: the key of the task's data that lists them: texts, or mappings of `criterion` and `weight` (> 0, 1 where
    none is given). A criterion that the judge cannot decide is left out of the share and counted (`undecided`).
    """

    voice: Voice
    rubric: str = "rubric"
    worth: Worth = JUDGED
    name: str = "judge_rubric"
    weight: float = 1.0

    @property
    def needs_context(self) -> bool:
        return self.voice.needs_context

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        voice, question = self.voice.within(context), question_of(group[0].task, self.name, context)
        return await together([self._score(voice, question, episode) for episode in group])

    async def _score(self, voice: Voice, question: str, episode: Episode) -> Score:
        criteria = criteria_of(episode.task, self.rubric, self.name)
        if not episode.reply.strip():
            return self.worth.score(NO_ANSWER)
        said = await voice.criteria(question, episode.reply, [text for text, _ in criteria])
        if isinstance(said, Failure):
            return _failed(self.worth, [said])
        parts = {f"criterion/{i}": float(met) for i, met in enumerate(said, 1) if met is not None}
        parts["undecided"] = float(sum(met is None for met in said))
        decided = [(weight, met) for (_, weight), met in zip(criteria, said, strict=True) if met is not None]
        if not decided:
            verdict = Verdict("cannot_tell", f"the judge is unsure about all of {len(said)} criteria", stage="judge")
        else:
            share = math.fsum(weight for weight, met in decided if met) / math.fsum(weight for weight, _ in decided)
            unmet = "; ".join(text for (text, _), met in zip(criteria, said, strict=True) if met is False)
            verdict = Verdict("wrong" if unmet else "right", f"not met: {unmet}" if unmet else "", "", "judge", share)
        return Score(self.worth.value(verdict), verdict=verdict, parts=parts)


@dataclass(frozen=True)
class JudgeCompare:
    """How often a reply wins, from 0 to 1 (a tie is half a win), every comparison made in both orders.

    against: the key of the task's data that holds the reply to compare with; None: each reply with every other of its
    group, which is n(n - 1) x votes calls. Equal replies tie, and a reply wins over none, without a call. An episode
    with nothing to compare with gets no score. parts: `flipped`, the share of votes in which the choice followed the
    order; `compared`, the number of comparisons that came to something.
    """

    voice: Voice
    guide: str = GUIDE
    against: str | None = None
    votes: int = 1
    worth: Worth = JUDGED
    name: str = "judge_compare"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.votes < 1:
            raise ValueError(f"votes is {self.votes}; expected at least 1")

    @property
    def needs_context(self) -> bool:
        return self.voice.needs_context

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        voice, question = self.voice.within(context), question_of(group[0].task, self.name, context)
        replies = [episode.reply for episode in group]
        if self.against is not None:
            others = [str(_data(episode.task, self.against, self.name)) for episode in group]
            found = await together([self._compare(voice, question, *two) for two in zip(replies, others, strict=True)])
            return [self._score(reply, [one]) for reply, one in zip(replies, found, strict=True)]
        pairs = list(combinations(range(len(group)), 2))
        found = await together([self._compare(voice, question, replies[i], replies[j]) for i, j in pairs])
        met: list[list[Preference | Failure]] = [[] for _ in group]
        for (i, j), one in zip(pairs, found, strict=True):
            met[i].append(one)
            met[j].append(one if isinstance(one, Failure) else Preference(1 - one.first, one.flipped, one.votes))
        return [self._score(reply, said) for reply, said in zip(replies, met, strict=True)]

    async def _compare(self, voice: Voice, question: str, a: str, b: str) -> Preference | Failure:
        empty = (not a.strip(), not b.strip())
        if a == b or any(empty):
            return Preference(0.5 + 0.5 * (empty[1] - empty[0]), 0.0, 0)
        return await voice.compare(question, a, b, self.votes, self.guide)

    def _score(self, reply: str, said: Sequence[Preference | Failure]) -> Score:
        if not reply.strip():
            return self.worth.score(NO_ANSWER)
        heard = [one for one in said if not isinstance(one, Failure)]
        if not heard:
            return _failed(self.worth, said) if said else Score()
        parts = {"compared": float(len(heard))}
        votes = sum(one.votes for one in heard)
        if votes:
            parts["flipped"] = sum(one.flipped * one.votes for one in heard) / votes
        return Score(sum(one.first for one in heard) / len(heard), parts=parts)


NO_ANSWER = Verdict("no_answer", "the reply is empty", stage="judge")


def question_of(task: Task, reward: str, context: Context | None) -> str:
    """The task's prompt as text to show a judge. RewardFault for token ids that nobody is there to decode."""
    text = as_text(task.prompt)
    if text is not None:
        return text
    if context is None:
        raise RewardFault(reward, task.id, "its prompt is token ids", "text or messages, which a judge can read")
    return context.chat.decode(task.prompt)


def criteria_of(task: Task, key: str, reward: str) -> list[tuple[str, float]]:
    """The criteria of a task with their weights. RewardFault where they are missing or malformed."""
    rubric, form = _data(task, key, reward), "a list of texts, or of mappings with 'criterion' and 'weight'"
    if not isinstance(rubric, list | tuple) or not rubric:
        raise RewardFault(reward, task.id, f"its {key!r} is {_shown(rubric)}", form)
    return [_criterion(one, i, task, key, reward, form) for i, one in enumerate(rubric, 1)]


def _criterion(one: Any, i: int, task: Task, key: str, reward: str, form: str) -> tuple[str, float]:
    text, weight = (one.get("criterion"), one.get("weight", 1.0)) if isinstance(one, Mapping) else (one, 1.0)
    if not isinstance(text, str) or not text.strip() or (isinstance(one, Mapping) and one.keys() - _CRITERION_KEYS):
        raise RewardFault(reward, task.id, f"criterion {i} of its {key!r} is {_shown(one)}", form)
    if not isinstance(weight, int | float) or not 0 < weight < math.inf:
        found = f"criterion {i} of its {key!r} has the weight {weight!r}"
        raise RewardFault(reward, task.id, found, "a number above 0 (say what is wanted, not what is to be avoided)")
    return text, float(weight)


_CRITERION_KEYS = {"criterion", "weight"}


def _data(task: Task, key: str, reward: str) -> Any:
    value = task.data.get(key)
    if value is None:
        raise RewardFault(reward, task.id, f"its data has no {key!r} (it has {sorted(task.data)})", "one to judge by")
    return value


def _failed(worth: Worth, said: Sequence[object]) -> Score:
    """The score of an episode about which nothing was heard: the verdict on the first failure."""
    failures = [one for one in said if isinstance(one, Failure)]
    return worth.score(failures[0].verdict)


def _shown(value: Any, most: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


def voices(rewards: Iterable[Any]) -> dict[str, Voice]:
    """The voices of judge rewards by the reward's name, parts of other rewards (`sum/part`) included."""
    found: dict[str, Voice] = {}
    for reward in rewards:
        if isinstance(voice := getattr(reward, "voice", None), Voice):
            found[reward.name] = voice
        inner = voices(getattr(reward, "parts", ()))
        found |= {f"{reward.name}/{name}": voice for name, voice in inner.items()}
    return found
