"""Where in a reply the answer stands: after ####, between answer tags, in a box, or the whole of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from guerdon.rewards.fault import RewardFault

if TYPE_CHECKING:
    from guerdon.types import Task

_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_BRACE = re.compile(r"\\(?:boxed|fbox)\s?\{|\\?[{}]")
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2010": "-", "\u2011": "-", "\u2044": "/"})


def golds(task: Task, reward: str) -> list[Any]:
    """The accepted answers of a task: `data["answer"]`, which is one answer or a list of alternatives.

    RewardFault when there is none.
    """
    answer = task.data.get("answer")
    answers = list(answer) if isinstance(answer, Sequence) and not isinstance(answer, str | bytes) else [answer]
    if not answers or None in answers:
        found = f"no answer in the task's data, which has {sorted(map(str, task.data))}"
        raise RewardFault(reward, task.id, found, "an 'answer' (name its column when loading the tasks)")
    return answers


def marked(text: str) -> str | None:
    """The answer a reply marks: after its last ####, else its last answer tag, else its last box; None if unmarked."""
    for find in (after_hashes, tagged, boxed):
        found = find(text)
        if found is not None:
            return found
    return None


def after_hashes(text: str) -> str | None:
    """What follows the last #### on its line."""
    if "####" not in text:
        return None
    lines = text.rsplit("####", 1)[1].strip().splitlines()
    return lines[0].strip() if lines else ""


def tagged(text: str) -> str | None:
    """What stands in the last <answer>...</answer>."""
    tags = list(_TAG.finditer(text))
    for opening, closing in reversed(list(pairwise(tags))):
        if closing.group(1) and not opening.group(1):
            return text[opening.end() : closing.start()].strip()
    return None


def boxed(text: str) -> str | None:
    """What stands in the last closed \\boxed{...}, braces inside it balanced. Of nested boxes, the innermost."""
    found: tuple[int, int] | None = None
    open_braces: list[tuple[int, bool]] = []
    for brace in _BRACE.finditer(text):
        if brace.group().endswith("{") and brace.group() != "\\{":
            open_braces.append((brace.end(), len(brace.group()) > 1))
        elif brace.group() == "}" and open_braces:
            start, is_box = open_braces.pop()
            if is_box and (found is None or start > found[0]):
                found = start, brace.start()
    return None if found is None else text[found[0] : found[1]].strip()


def plain(text: str) -> str:
    """Text in one spelling: NFKC (full-width digits become digits), every minus and hyphen a '-'."""
    return unicodedata.normalize("NFKC", text).translate(_MINUS)
