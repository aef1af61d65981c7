"""Replies of several parts: two different responses, the prompt repeated before the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from guerdon.rewards.verify.constraints.counts import Check, one_text
from guerdon.rewards.words import phrase_pattern, spelled, words

_SIX_STARS = re.compile(r"(?<!\*)\*{6}(?!\*)")


def two_responses(text: str) -> str:
    """Exactly two responses divided by ******, and different in their words; ****** may also open or close the text."""
    parts = _SIX_STARS.split(text)
    if any(not part.strip() for part in parts[1:-1]):
        return "an empty response between two ******"
    said = [words(spelled(part)) for part in parts if words(part)]
    if len(said) != 2:
        return f"{len(said)} responses divided by ******, expected 2"
    return "the two responses are the same" if said[0] == said[1] else ""


def repeat_prompt(text: str, prompt_to_repeat: str) -> str:
    """The text starts with the prompt, caseless and whatever white space divides its words, and goes on after it."""
    prompt = one_text(prompt_to_repeat, "prompt_to_repeat")
    wanted, found = (" ".join(spelled(part).split()) for part in (prompt, text))
    repeated = phrase_pattern(wanted).match(found)
    if repeated is None:
        return "does not start with the prompt"
    return "" if words(found[repeated.end() :]) else "nothing after the repeated prompt"


KINDS: Mapping[str, Check] = {
    "combination:two_responses": two_responses,
    "combination:repeat_prompt": repeat_prompt,
}
