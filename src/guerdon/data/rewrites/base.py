"""What a rewrite is, and how one is applied to a prompt and all of its replies at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from guerdon.data.row import Text
from guerdon.rollouts.base import derive

Family = Literal["controlled", "noise", "code", "maths"]
Change = Callable[[str, random.Random], str]
"""A text, rewritten with these random numbers."""


@dataclass(frozen=True)
class Rewrite:
    """reply, prompt: what becomes of each, None: it stays. keeps: 'meaning', or at least the 'ranking' of replies.

    Only those that keep the meaning are fit to train for equal scores. Where it changes none of the replies and not the
    prompt, it does not apply.
    """

    name: str
    family: Family
    keeps: Literal["meaning", "ranking"]
    reply: Change | None = None
    prompt: Change | None = None


def rewritten(
    rewrite: Rewrite, prompt: Text | None, replies: tuple[Text, ...], seed: int, row: int
) -> tuple[Text | None, tuple[Text, ...]] | None:
    """The prompt and all replies, rewritten alike; None where it does not apply to every one of the replies.

    Equal (seed, row) give equal texts. All replies of a row meet the same random numbers: the same address is added to
    each. Of messages the last one's text is rewritten.
    """
    changed = tuple(_applied(rewrite.reply, reply, rewrite.name, seed, row) for reply in replies)
    asked = None if prompt is None else _applied(rewrite.prompt, prompt, f"{rewrite.name} prompt", seed, row)
    if rewrite.reply is not None and any(new == old for new, old in zip(changed, replies, strict=True)):
        return None
    if rewrite.reply is None and asked == prompt:
        return None
    return asked, changed


def _applied(change: Change | None, text: Text, name: str, seed: int, row: int) -> Text:
    if change is None:
        return text
    numbers = random.Random(derive("rewrite", name, seed, row))
    if isinstance(text, str):
        return change(text, numbers)
    content = text[-1].get("content")
    if not isinstance(content, str):
        return text
    return [*text[:-1], {**text[-1], "content": change(content, numbers)}]
