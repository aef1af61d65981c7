"""Exact match of the whole reply with the answer, after a small documented normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.rewards.base import PerEpisode
from guerdon.rewards.verify.extract import golds, plain
from guerdon.types import Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group


@dataclass(frozen=True)
class ExactMatch:
    """1.0 when the reply is the answer (`task.data["answer"]`, one or a list of alternatives), else 0.0.

    Both sides are brought to Unicode NFKC with one minus sign and stripped of surrounding white space; inner white
    space counts. Letters keep their case unless `case_sensitive` is False. An empty reply is 'no_answer'.
    """

    name: str = "exact"
    weight: float = 1.0
    case_sensitive: bool = True

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return await PerEpisode(self.name, self.score, self.weight)(group, context)

    def score(self, episode: Episode) -> Score:
        verdict = self.check(episode.reply, [str(gold) for gold in golds(episode.task, self.name)])
        return Score(float(verdict.status == "right"), verdict=verdict)

    def check(self, reply: str, answers: list[str]) -> Verdict:
        found = self._normal(reply)
        if not found and "" not in map(self._normal, answers):
            return Verdict("no_answer", "the reply is empty")
        if found in map(self._normal, answers):
            return Verdict("right", "equal to the answer", found)
        return Verdict("wrong", f"expected {' or '.join(map(repr, answers))}", found)

    def _normal(self, text: str) -> str:
        text = plain(text).strip()
        return text if self.case_sensitive else text.casefold()
