"""`guerdon grade`: what a verifier says about one text, and why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.keys import UsageError

if TYPE_CHECKING:
    from guerdon.types import Score

ALIASES = {"text": "exact"}
"""What a kind is called among rewards, where the names differ."""

COLUMNS = {"code": "tests", "instructions": "constraints"}
"""Where a task keeps what the kind checks against, and not under 'answer'; given as JSON."""


def grade(kind: str, gold: list[str], text: str, unsafe_local_code: bool = False) -> dict[str, Any]:
    """Grade TEXT against GOLD, print the verdict, and return it. '@FILE' stands for what is in a file."""
    from guerdon.rewards.load import Grading, load_reward

    spec = ALIASES.get(kind, kind)
    reward = load_reward(spec, grading=Grading(unsafe_local_code=unsafe_local_code))
    name = spec.partition("?")[0]
    data = _data(name, [read(one) for one in gold])
    score = asyncio.run(_score(reward, read(text), data))
    verdict = score.verdict
    if verdict is None:
        found: dict[str, Any] = {"value": score.value, "parts": dict(score.parts)}
    else:
        found = {"kind": kind, **asdict(verdict), "value": score.value}
    _show(found)
    return found


def read(text: str) -> str:
    """The text, or what is in the file that '@FILE' names."""
    if not text.startswith("@"):
        return text
    path = Path(text[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{text}: the file cannot be read: {error}") from error


def _data(name: str, golds: list[str]) -> dict[str, Any]:
    if name not in COLUMNS:
        return {"answer": golds if len(golds) > 1 else golds[0]}
    if len(golds) > 1:
        raise UsageError(f"{name} takes one --gold: JSON of its {COLUMNS[name]}; found {len(golds)}")
    try:
        return {COLUMNS[name]: json.loads(golds[0])}
    except json.JSONDecodeError as error:
        raise UsageError(
            f"--gold of {name} must be JSON of its {COLUMNS[name]}, in text or as @FILE: {error}"
        ) from error


async def _score(reward: Any, text: str, data: dict[str, Any]) -> Score:
    from guerdon.rewards.rehearsal import made_up
    from guerdon.rewards.scoring import score_group
    from guerdon.types import Task

    episode = made_up(Task("text", "", data), text)
    await score_group([episode], [reward], None)  # type: ignore[arg-type]
    return episode.scores[reward.name]


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for name, value in found.items():
        if value not in (None, "", {}):
            console.print(f"{name:<10} {value}", markup=False)
