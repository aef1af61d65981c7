"""One way to evaluate, for training and for `guerdon eval`: the same prompts, sampling, limits and scorer.

Seeds are a function of the task alone, so that two policies (or one before and after training) meet the same tasks
with the same random numbers, and their difference can be paired.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.chat import Chat
from guerdon.evaluation.intervals import Interval, rate_over_tasks
from guerdon.evaluation.pass_at_k import pass_at_k_over_tasks
from guerdon.rewards.base import Reward
from guerdon.rewards.scoring import Fault, score_group
from guerdon.rollouts.base import Context, derive
from guerdon.rollouts.single import single_turn
from guerdon.samplers.base import Sampler, Sampling
from guerdon.types import Episode, Group, Task

RIGHT = 0.5
"""A completion without a verdict counts as right from this value on."""


@dataclass(frozen=True)
class Evaluation:
    """accuracy: mean@n. pass_at_k by k. truncated, no_answer: shares of all completions. length in tokens."""

    accuracy: Interval
    pass_at_k: Mapping[int, Interval]
    truncated: Interval
    no_answer: Interval
    length: float
    samples: int
    groups: list[Group]
    faults: list[Fault]

    def as_dict(self) -> dict[str, Any]:
        return {
            "accuracy": as_dict(self.accuracy),
            "pass_at_k": {str(k): as_dict(interval) for k, interval in self.pass_at_k.items()},
            "truncated": as_dict(self.truncated),
            "no_answer": as_dict(self.no_answer),
            "length": self.length,
            "samples": self.samples,
            "faults": len(self.faults),
        }


def as_dict(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "n": interval.n}


async def evaluate(
    tasks: Sequence[Task],
    reward: Reward,
    samplers: Mapping[str, Sampler],
    chat: Chat,
    how: Sampling,
    samples: int = 1,
    ks: Sequence[int] = (1,),
) -> Evaluation:
    """`samples` completions of every task, scored. Every k must be at most `samples`; no task twice."""
    wrong = [k for k in ks if not 1 <= k <= samples]
    if wrong:
        raise ValueError(f"pass@{wrong[0]} needs at least {wrong[0]} samples per task; there are {samples}")
    if not tasks:
        raise ValueError("there are no tasks to evaluate on")
    done = await asyncio.gather(*(_attempt(task, reward, samplers, chat, how, samples) for task in tasks))
    groups = [group for group, _ in done]
    right = {group[0].task.id: [float(is_right(e)) for e in group] for group in groups}
    counts = {name: (len(values), int(sum(values))) for name, values in right.items()}
    episodes = [episode for group in groups for episode in group]
    accuracy = rate_over_tasks(right)
    return Evaluation(
        accuracy=accuracy,
        # pass@1 is the accuracy, so its interval is the same one.
        pass_at_k={k: accuracy if k == 1 else pass_at_k_over_tasks(counts, k) for k in ks},
        truncated=_share(groups, lambda e: e.stop == "length"),
        no_answer=_share(groups, _unanswered),
        length=sum(e.sampled_tokens for e in episodes) / len(episodes),
        samples=samples,
        groups=groups,
        faults=[fault for _, faults in done for fault in faults],
    )


async def _attempt(
    task: Task, reward: Reward, samplers: Mapping[str, Sampler], chat: Chat, how: Sampling, samples: int
) -> tuple[Group, list[Fault]]:
    context = Context(samplers, chat, how, samples, derive("evaluation", task.id))
    try:
        group = await single_turn(task, context)
    except ValueError as error:
        raise ValueError(f"held-out task {task.id}: {error}") from error
    return group, await score_group(group, [reward], context)


def is_right(episode: Episode) -> bool:
    """What the verdict of its score says; without a verdict, a value of at least 0.5."""
    for score in episode.scores.values():
        if score.verdict is not None:
            return score.verdict.status == "right"
        return (score.value or 0.0) >= RIGHT
    return False


def _unanswered(episode: Episode) -> bool:
    return any(s.verdict is not None and s.verdict.status == "no_answer" for s in episode.scores.values())


def _share(groups: Sequence[Group], what: Any) -> Interval:
    return rate_over_tasks({group[0].task.id: [float(what(e)) for e in group] for group in groups})
