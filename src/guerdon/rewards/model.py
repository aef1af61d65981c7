"""Saved reward models as rewards: `--reward 'model:PATH?head=quality'`, several joined by '+' as an ensemble.

An episode is written out anew by the reward model's own tokenizer and chat template, from the messages of its task and
of its spans. One that was cut short is read as if it had ended there.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import numpy as np

from guerdon.data.steps import SEPARATOR, split_steps
from guerdon.keys import Key, key_of
from guerdon.names import nearest
from guerdon.rewards.scorer import Scorer, TooLong, load_scorer
from guerdon.rewards.steps import Aggregate, aggregate
from guerdon.specs import split_spec
from guerdon.types import Episode, FloatArray, Group, Message, Score, Verdict

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.rollouts.base import Context

PREFIX = "model:"

EACH = "each"
"""Every step's own probability lands where that step ends, instead of one number at the end."""


@dataclass(frozen=True)
class ModelReward:
    """The score that trained reward models give to a reply.

    path: a model's folder, its run's folder or a hub name; several joined by '+'. how: 'mean' of the ensemble less
    `penalty` times its deviation, or its 'min'. aggregate: None takes the score itself, at the end of the reply; else
    the models are process reward models, the reply is cut into steps at each `separator`, and its value is the min,
    product, last or mean of the probabilities that a step is right, or 'each' of them where its step ends. device:
    None is the GPU where there is one. name: by default that of the first model and of the head.
    """

    path: str
    head: str = "score"
    how: Literal["mean", "min"] = "mean"
    penalty: float = 0.0
    aggregate: Literal["min", "product", "last", "mean", "each"] | None = None
    separator: str = SEPARATOR
    device: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    name: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not all(self.paths):
            raise ValueError(f"the path is {self.path!r}; expected a folder, or several joined by '+'")
        if self.penalty and self.how == "min":
            raise ValueError(f"penalty is {self.penalty:g} and how is 'min'; a penalty belongs to how=mean")
        if self.penalty < 0:
            raise ValueError(f"penalty is {self.penalty:g}; expected 0 or more")
        if not self.separator:
            raise ValueError("the separator of steps is empty; expected some text, such as a new line (%0A)")
        if not self.name:
            head = "" if self.head == "score" else f":{self.head}"
            object.__setattr__(self, "name", f"{PREFIX}{Path(self.paths[0]).name}{head}")

    @property
    def paths(self) -> list[str]:
        return [path.strip() for path in self.path.split("+")]

    @property
    def needs_context(self) -> bool:
        """Where the steps of a reply end is told by the tokens that were sampled."""
        return self.aggregate == EACH

    @cached_property
    def scorers(self) -> list[Scorer]:
        """The models, loaded when they are first asked for. ValueError when one of them has no such head."""
        found = [load_scorer(path, self.device, self.dtype) for path in self.paths]
        for scorer in found:
            scorer.check(self.head)
        return found

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        chat = context.chat if context is not None else self.scorers[0].chat
        return [score for episode in _alike(group) for score in self._score(episode, chat)]

    def _score(self, group: Group, chat: Chat) -> list[Score]:
        try:
            if self.aggregate is None:
                said = [_conversation(episode, chat) for episode in group]
                return [
                    self._joined(found) for found in zip(*(s.score(said, self.head) for s in self.scorers), strict=True)
                ]
            return self._in_steps(group, chat)
        except TooLong as error:
            if len(group) > 1:  # the others may be short enough
                return [score for episode in group for score in self._score([episode], chat)]
            return [Score(verdict=Verdict("failed", str(error), stage="length"))]

    def _in_steps(self, group: Group, chat: Chat) -> list[Score]:
        prompt = _conversation(group[0], chat)[:-1]
        cut = [split_steps(episode.reply, self.separator) for episode in group]
        steps = [[text for text, _ in one] for one in cut]
        members = [scorer.score_steps(prompt, steps, self.head, self.separator) for scorer in self.scorers]
        found = [list(zip(*one, strict=True)) for one in zip(*members, strict=True)]  # reply, step, member
        if self.aggregate == EACH:
            return [self._landed(*one, chat) for one in zip(group, cut, found, strict=True)]
        return [self._aggregated(one) for one in found]

    def _aggregated(self, steps: Sequence[Sequence[float]]) -> Score:
        how: Aggregate = self.aggregate  # type: ignore[assignment]
        score = self._joined([aggregate(member, how) for member in zip(*steps, strict=True)])
        parts = {f"step/{i}": self._one(step) for i, step in enumerate(steps, 1)}
        return Score(score.value, parts={**score.parts, **parts})

    def _landed(
        self, episode: Episode, cut: Sequence[tuple[str, int]], steps: Sequence[Sequence[float]], chat: Chat
    ) -> Score:
        place = max(i for i, span in enumerate(episode.spans) if span.sampled)
        tokens = episode.spans[place].tokens
        values: FloatArray = np.zeros(len(tokens), np.float32)
        for (_, end), members in zip(cut, steps, strict=True):
            values[_token_at(tokens, end, chat)] += self._one(members)
        return Score(tokens={place: values})

    def _joined(self, members: Sequence[float]) -> Score:
        parts = {f"member/{i}": one for i, one in enumerate(members, 1)} if len(members) > 1 else {}
        return Score(self._one(members), parts=parts)

    def _one(self, members: Sequence[float]) -> float:
        """What an ensemble says."""
        return min(members) if self.how == "min" else fmean(members) - self.penalty * pstdev(members)


def _alike(group: Group) -> list[Group]:
    """The group as groups of one prompt, which is what a group usually is; consecutive, so that order is kept."""
    return [group] if all(e.task is group[0].task for e in group) else [[episode] for episode in group]


def _conversation(episode: Episode, chat: Chat) -> list[Message]:
    """What was asked and what was said, up to the last reply; '' where there is none. chat: of who was asked."""
    said = [span.message for span in episode.spans[1:] if span.message is not None]
    messages = [*chat.messages(episode.task.prompt), *said]
    return messages if said and messages[-1]["role"] == "assistant" else [*messages, _SILENCE]


_SILENCE: Message = {"role": "assistant", "content": ""}


def _token_at(tokens: Any, end: int, chat: Chat) -> int:
    """Index of the token with which a text of `end` characters is complete, by halving."""
    low, high = 0, len(tokens) - 1
    while low < high:
        middle = (low + high) // 2
        if len(chat.decode(tokens[: middle + 1])) >= end:
            high = middle
        else:
            low = middle + 1
    return low


def load_model_reward(spec: str, weight: float = 1.0) -> ModelReward:
    """The reward of 'model:PATH[+PATH...][?option=value&...]', its models loaded, so that what is missing shows early.

    ValueError for an unknown option, value or head, or for what is no reward model; FileNotFoundError.
    """
    name, texts = split_spec(spec, "reward")
    keys = _keys()
    unknown = next((key for key in texts if key not in keys), None)
    if unknown:
        raise ValueError(f"reward {name!r} has no option {unknown!r}{nearest(unknown, keys)}")
    given = {key: keys[key].read(text) for key, text in texts.items()}
    reward = ModelReward(name.removeprefix(PREFIX), weight=weight, **given)
    _ = reward.scorers
    return reward


def _keys() -> dict[str, Key]:
    """The options that a line of text can give."""
    hints = get_type_hints(ModelReward)
    named = [f.name for f in fields(ModelReward) if f.name not in ("path", "weight")]
    kind = inspect.Parameter.KEYWORD_ONLY
    found = [key_of(inspect.Parameter(name, kind, annotation=hints[name])) for name in named]
    return {key.name: key for key in found if key is not None}
