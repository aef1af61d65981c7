"""A judge that can learn: it speaks as a role of the run, and its generations travel with the score.

What it is asked and how it is read are functions of its user. For judges that only judge, see `judged`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from guerdon.judges.base import together
from guerdon.rollouts.base import Context
from guerdon.rollouts.single import episode_of
from guerdon.types import Episode, Group, Score, Span, Task, Verdict

Ask = Callable[[Episode], Any]
"""The judge's prompt (text, messages or ids) about an episode."""
Read = Callable[[Episode], float | None]
"""The value a judge's own episode states; None when it states none."""
Check = Callable[[Episode, float | None], float | None]
"""What the judge earns for having said that value about that episode; None: nothing is known about it."""


@dataclass(frozen=True)
class Judge:
    """The mean of `votes` readable judgements of each episode, sampled by `role`.

    An episode on which no vote could be read gets no score: a judge's failure is not a zero. With `check` the votes are
    scored themselves and become trainable episodes of the judge's role.
    """

    ask: Ask
    read: Read
    check: Check | None = None
    votes: int = 1
    max_tokens: int = 16
    role: str = "judge"
    name: str = "judge"
    weight: float = 1.0
    needs_context = True

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return await together([self._judge(episode, context, i) for i, episode in enumerate(group)])

    async def _judge(self, episode: Episode, context: Context, number: int) -> Score:
        task = Task(f"{episode.task.id}/{self.name}/{number}", self.ask(episode))
        prompt = Span(context.chat.prompt(task.prompt))
        how = context.how.but(max_tokens=self.max_tokens)
        seeds = context.seeds(self.votes, self.name, number)
        samples = await context.samplers[self.role].sample(prompt.tokens, how, seeds)
        said = [episode_of(task, prompt, sample, role=self.role) for sample in samples]
        values = [self.read(one) for one in said]
        readable = [value for value in values if value is not None]
        trained = tuple(self._earn(one, episode, value) for one, value in zip(said, values, strict=True))
        own = tuple(one for one in trained if one is not None)
        if not readable:
            # It is learning to answer: what it cannot say yet is no fault of the run, and still no zero.
            return Score(verdict=Verdict("cannot_tell", f"none of {self.votes} votes could be read"), episodes=own)
        return Score(sum(readable) / len(readable), parts={"votes": float(len(readable))}, episodes=own)

    def _earn(self, said: Episode, about: Episode, value: float | None) -> Episode | None:
        earned = self.check(about, value) if self.check else None
        return None if earned is None else replace(said, scores={"check": Score(earned)})
