"""The same answer in another dress: in a box, or under a heading."""

from __future__ import annotations

import random
import re

from guerdon.data.rewrites.base import Rewrite
from guerdon.rewards.verify.extract import boxed

_HEADED = re.compile(r"\s*^#+[ \t]*Answer:?[ \t]*\n+(?P<answer>.+?)\s*\Z", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_BOX = "\\boxed{"


def redressed(text: str, numbers: random.Random) -> str:
    """An answer in a box goes under the heading '# Answer', and one that stands under it goes into a box."""
    headed = _HEADED.search(text)
    if headed is not None:
        return f"{text[: headed.start()]}\n\nThe answer is ${_BOX}{headed['answer'].strip('$ ')}}}$."
    answer = boxed(text)
    if not answer:
        return text
    start = text.rfind(_BOX)
    end = text.find("}", text.find(answer, start) + len(answer)) if start >= 0 else -1
    if end < 0:
        return text
    return f"{text[:start]}{answer}{text[end + 1 :]}\n\n# Answer\n\n{answer}"


MATHS = (Rewrite("answer_format", "maths", "meaning", redressed),)
