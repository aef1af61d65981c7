"""Whether the answers in the data can be graded at all: a right reply that is never right teaches nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.data.row import Row, plain
from guerdon.types import Score, Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

_MATH = re.compile(r"####|\\boxed|\\d?frac|\\sqrt|\$|\^")
_NUMBER = re.compile(r"\s*[-+]?[\d.,/]*\d\s*%?\s*")


@dataclass(frozen=True)
class Unfit:
    """An answer that would not be graded as right, by the number of its row."""

    row: int
    reason: str


def mathematical(rows: Sequence[Row]) -> bool:
    """Whether at least half of the answers are numbers, formulas, or worked solutions that mark their result."""
    answers = [row.answer for row in rows if row.answer is not None]
    return bool(answers) and sum(_looks(answer) for answer in answers) * 2 >= len(answers)


def fails_math(rows: Sequence[Row]) -> list[Unfit]:
    """The answers that the math grader cannot find, read, or call equal to themselves.

    They are read in the pool's processes, which can be killed; each different answer once.
    """
    from guerdon.rewards.verify.math.match import MathMatch

    grader = MathMatch()
    different = list(dict.fromkeys(answer for row in rows for answer in _alternatives(row.answer)))

    async def tried() -> list[str]:
        return await asyncio.gather(*(grader.fits(Task("row", "", {"answer": answer})) for answer in different))

    why = dict(zip(different, asyncio.run(tried()), strict=True))
    bad = ((row.number, next((why[a] for a in _alternatives(row.answer) if why[a]), "")) for row in rows)
    return [Unfit(number, reason.strip()) for number, reason in bad if reason]


def fails_reward(rows: Sequence[Row], reward: Reward) -> list[Unfit]:
    """The answers that a reward does not call right, or gives no value above 0, when they are the whole reply."""

    async def tried() -> list[Unfit]:
        return [Unfit(row.number, await _says(row, _alternatives(row.answer)[0], reward)) for row in rows]

    return [one for one in asyncio.run(tried()) if one.reason]


async def judged(row: Row, reply: str, reward: Reward) -> bool:
    """Whether a reward calls this reply to this row right."""
    return not await _says(row, reply, reward)


async def _says(row: Row, reply: str, reward: Reward) -> str:
    """'' when the reply gets what a right one gets, else why not."""
    from guerdon.rewards.rehearsal import made_up
    from guerdon.rewards.scoring import score_group
    from guerdon.tasks.rows import task_of

    episode = made_up(task_of(row, "row"), reply)
    faults = await score_group([episode], [reward], None)  # type: ignore[arg-type]  # there is no policy here
    return faults[0].what if faults else _why(episode.scores[reward.name])


def _why(score: Score) -> str:
    """'' when this is what a right reply gets."""
    verdict = score.verdict
    if verdict is not None:
        return "" if verdict.status == "right" else f"{verdict.status}: {verdict.reason}"
    return "" if score.value is not None and score.value > 0 else f"its value is {score.value}"


def _alternatives(answer: Any) -> list[str]:
    several = answer if isinstance(answer, list) and answer else [answer]
    return [plain(one) for one in several if one is not None]


def _looks(answer: Any) -> bool:
    if isinstance(answer, list):
        return bool(answer) and all(_looks(one) for one in answer)
    if isinstance(answer, str):
        return bool(_MATH.search(answer) or _NUMBER.fullmatch(answer))
    return isinstance(answer, int | float) and not isinstance(answer, bool)
