"""What teaches a language model to judge: rows of prompt and completion in which the completion is the verdict.

The prompts are the very ones that judges are asked with, so a model that was trained on such rows (`guerdon train sft
--data lessons.jsonl`) judges with `judge:score?model=...&by=labels` or `judge:compare?model=...`.
"""

from __future__ import annotations

from typing import Any

from guerdon.judges.prompts import GUIDE, as_text, grade_prompt, pair_prompt

Lesson = dict[str, str]
"""A row: `prompt` and `completion`."""


def grade_lesson(prompt: Any, reply: str, grade: int, guide: str = GUIDE, low: int = 1, high: int = 10) -> Lesson:
    """The grade of a reply, a whole number from low to high, as the whole answer. ValueError outside of that."""
    if not low <= grade <= high:
        raise ValueError(f"the grade is {grade}; expected a whole number from {low} to {high}")
    asked = grade_prompt(_question(prompt), reply, guide, low, high, label=True)
    return {"prompt": asked, "completion": str(grade)}


def choice_lessons(prompt: Any, chosen: str, rejected: str, guide: str = GUIDE) -> tuple[Lesson, Lesson]:
    """The better of two replies shown first, and shown second, so that the order teaches nothing."""
    question = _question(prompt)
    first = {"prompt": pair_prompt(question, chosen, rejected, guide), "completion": "CHOICE: A"}
    return first, {"prompt": pair_prompt(question, rejected, chosen, guide), "completion": "CHOICE: B"}


def _question(prompt: Any) -> str:
    question = as_text(prompt)
    if question is None:
        raise ValueError("the prompt is a list of ids; expected text or messages")
    return question
