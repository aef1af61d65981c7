"""What a reply says about itself: that it does not answer, and how sure it is.

Shared by the evaluation protocol and by rewards that pay for honesty. Phrases are compared as text, never as patterns.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from guerdon.rewards.verify.extract import marked
from guerdon.rewards.written import after_thought

PHRASES = (
    "i don't know",
    "i do not know",
    "i'm not sure",
    "i am not sure",
    "cannot be determined",
    "can't be determined",
    "not enough information",
    "i can't answer",
    "i cannot answer",
    "i'm unable to answer",
    "i am unable to answer",
)
"""What declines to answer wherever it stands in a reply that marks no answer."""

WHOLE = ("?", "idk", "unknown", "n/a", "[abstain]")
"""What declines to answer where it is all that the reply, or its marked answer, says."""

_EDGES = string.whitespace + ".!,;:\"'`*_$"
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%|/\s*\d+)?")
_BETWEEN = re.compile(r"[\s:=*_>()-]{0,8}(?:(?:is|of|about)\b)?[\s:=*_>()-]{0,8}")


@dataclass(frozen=True)
class Stance:
    """refused: it declines to answer. confidence: what it states, in [0, 1]; None where it states none."""

    refused: bool
    confidence: float | None = None


@dataclass(frozen=True)
class Reading:
    """How replies are read. What counts as an attempt depends on it, so it belongs to the protocol.

    phrases, whole: see `PHRASES` and `WHOLE`; letters of any case. confidence: the word that a stated confidence
    follows, as in 'Confidence: 80%'. scale: what full confidence is where the number has no unit: 1, or 9 for a digit.
    """

    phrases: tuple[str, ...] = PHRASES
    whole: tuple[str, ...] = WHOLE
    confidence: str = "confidence"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ValueError(f"scale is {self.scale}; expected what full confidence is written as, more than 0")
        if not self.confidence.strip():
            raise ValueError("confidence is empty; expected the word that a stated confidence follows")

    def stance(self, reply: str) -> Stance:
        """What a reply says about itself, after its reasoning (</think>)."""
        said = after_thought(reply)
        return Stance(self.refuses(said), self.states(said))

    def refuses(self, said: str) -> bool:
        """'I don't know.', '?', '\\boxed{unknown}': yes. 'I don't know, but \\boxed{7}': no, it marks an answer."""
        answer = marked(said)
        if _bare(said if answer is None else answer) in map(_bare, self.whole):
            return True
        folded = _folded(said if answer is None else answer)
        return any(_folded(phrase) in folded for phrase in self.phrases)

    def states(self, said: str) -> float | None:
        """The last confidence that is stated: 'confidence: 0.8', 'Confidence is 80%', 'confidence 8/10' are 0.8.

        A number above `scale` without a unit is per cent where scale is 1, else nothing; so is what is out of range.
        """
        folded, word = said.casefold(), self.confidence.casefold()
        at = folded.rfind(word)
        while at >= 0:
            start = _BETWEEN.match(folded, at + len(word))
            found = _NUMBER.match(folded, start.end()) if start else None
            if found is not None:
                return self._share(float(found[1]), found[2] or "")
            at = folded.rfind(word, 0, at)
        return None

    def _share(self, number: float, unit: str) -> float | None:
        if unit == "%":
            whole = 100.0
        elif unit:
            whole = float(unit[1:])
        else:
            whole = 100.0 if self.scale == 1 and number > 1 else self.scale
        return number / whole if whole and number <= whole else None


def _folded(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").casefold().split())


def _bare(text: str) -> str:
    """Without what may surround an answer; a text of nothing else stays as it is."""
    folded = _folded(text)
    return folded.strip(_EDGES) or folded
