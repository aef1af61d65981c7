"""Rows that reward models learn from beside pairs, each with how well held-out ones are told: see `READINGS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from guerdon.data.episodes import dialogue, written
from guerdon.data.layouts import UNPAIRED
from guerdon.data.row import Row
from guerdon.data.steps import in_steps
from guerdon.evaluation.fit import FitOf, ranking_fit, scores_fit, steps_fit
from guerdon.recipes.data import Read
from guerdon.types import Group, Score

if TYPE_CHECKING:
    from guerdon.chat import Chat


@dataclass(frozen=True)
class Reading:
    """How rows are read, and how well a model tells those that are held out."""

    read: Read
    fit: FitOf


def _scored(row: Row, chat: Chat, name: str) -> Group:
    return [written(name, dialogue(row.prompt, row.completion, chat), chat)]


def _stepwise(row: Row, chat: Chat, name: str) -> Group:
    texts, labels = zip(*(row.steps or ()), strict=True)
    return [in_steps(name, row.prompt, texts, chat, [float(label) for label in labels])]


def _outcome(row: Row, chat: Chat, name: str) -> Group:
    if not isinstance(row.completion, str):
        raise ValueError("the completion is a list of messages; expected text")
    return [in_steps(name, row.prompt, [row.completion], chat, [float(bool(row.label))])]


def _ranked(row: Row, chat: Chat, name: str) -> Group:
    replies: Any = row.data.get("ranked")
    if not isinstance(replies, list) or len(replies) < 2:
        raise ValueError(f"ranked is {replies!r:.80}; expected a list of two replies or more, the best first")
    if any(one in replies[:i] for i, one in enumerate(replies)):
        raise ValueError("ranked has the same reply twice; expected different ones")
    episodes = [written(name, dialogue(row.prompt, reply, chat), chat) for reply in replies]
    return [replace(one, scores={"rank": Score(float(-place))}) for place, one in enumerate(episodes)]


READINGS: Mapping[str, Reading] = {
    "regression_rm": Reading(Read(("prompt-completion",), _scored), scores_fit),
    "process_rm": Reading(Read(("stepwise",), _stepwise), steps_fit),
    "outcome_rm": Reading(Read(UNPAIRED, _outcome), steps_fit),
    "ranked_rm": Reading(Read(("prompt-only",), _ranked), ranking_fit),
}
"""What is read for reward models that learn from something else than pairs, by the name of the recipe."""
