"""Exact match of the whole reply with the answer, after a small documented normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.extract import golds, plain
from guerdon.types import Verdict

if TYPE_CHECKING:
    from guerdon.types import Episode


@dataclass(frozen=True)
class ExactMatch(Verifier):
    """'right' when the reply is the answer (`task.data["answer"]`, one or a list of alternatives).

    Both sides are brought to Unicode NFKC with one minus sign and stripped of surrounding white space; inner white
    space counts. Letters keep their case unless `case_sensitive` is False. An empty reply is 'no_answer'.
    """

    name: str = "exact"
    case_sensitive: bool = True

    async def verify(self, episode: Episode) -> Verdict:
        return self.check(episode.reply, [str(gold) for gold in golds(episode.task, self.name)])

    def check(self, reply: str, answers: list[str]) -> Verdict:
        found = self._normal(reply)
        if not found and "" not in map(self._normal, answers):
            return Verdict("no_answer", "the reply is empty", stage="extract")
        if found in map(self._normal, answers):
            return Verdict("right", "equal to the answer", found, stage="text")
        return Verdict("wrong", f"expected {' or '.join(map(repr, answers))}", found, stage="text")

    def _normal(self, text: str) -> str:
        text = plain(text).strip()
        return text if self.case_sensitive else text.casefold()
