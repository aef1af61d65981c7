"""Scoring a group: every reward asked, every answer checked, every fault recorded instead of swallowed or spread.

Used by training and by evaluation alike. A reward that raises, or gives a wrong number of scores, leaves its group
without that score; one that fails for a sample, gives NaN, or values for spans that are not there, leaves that sample
without it. Cancellation passes through.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from guerdon.judges.base import together
from guerdon.judges.outcome import JudgeStopped
from guerdon.metrics import Busy
from guerdon.rewards.base import Reward
from guerdon.rewards.fault import RewardFault
from guerdon.rollouts.base import Context
from guerdon.types import Episode, Group, Score, Status, Verdict


@dataclass(frozen=True)
class Fault:
    """Something that went wrong with one task: where, what, and for how many of its samples."""

    task: str
    where: str
    what: str
    samples: int = 1

    def __str__(self) -> str:
        return f"task {self.task}: {self.where}: {self.what}"


OWN_FAULTS: tuple[Status, ...] = ("failed", "timed_out")
"""Verdicts that, without a value, say that the reward is at fault and not the completion."""


async def score_group(
    group: Group, rewards: Sequence[Reward], context: Context, busy: Busy | None = None
) -> list[Fault]:
    """Put each reward's scores into the episodes (those that have one keep it); return what went wrong.

    busy: a stopwatch that runs while a reward is at work.
    """
    watch = busy or Busy()
    asked = [reward for reward in rewards if any(reward.name not in episode.scores for episode in group)]
    answers = await together([_ask(reward, group, context, watch) for reward in asked])
    faults: list[Fault] = []
    for reward, scores in zip(asked, answers, strict=True):
        where = f"reward {reward.name!r}"
        for score, episode in zip(scores, group, strict=True):
            episode.scores.setdefault(reward.name, _sound(score, episode))
        given = [episode.scores[reward.name] for episode in group]
        whys = Counter(why for score in given if (why := _fault(score)) is not None)
        faults += [Fault(group[0].task.id, where, why, samples) for why, samples in whys.items()]
    return faults


async def dry_run(reward: Reward, group: Group, context: Context | None = None) -> list[Score]:
    """Score a group once before a run, and hold the reward to its contract: one finite score, or None, per episode.

    RewardFault when it breaks it, if only for one episode. context: None suffices for user functions and verifiers.
    """
    fresh = [replace(episode, scores={}) for episode in group]
    faults = await score_group(fresh, [reward], context)  # type: ignore[arg-type]
    if faults:
        raise RewardFault(reward.name, faults[0].task, faults[0].what, "a score for every sample")
    return [episode.scores[reward.name] for episode in fresh]


def _fault(score: Score) -> str | None:
    """Why a reward could not score, where that is its own fault."""
    verdict = score.verdict
    return verdict.reason if verdict and not score.applies and verdict.status in OWN_FAULTS else None


async def _ask(reward: Reward, group: Group, context: Context, busy: Busy) -> list[Score]:
    try:
        with busy:
            scores = list(await reward(group, context))
        if len(scores) != len(group):
            raise ValueError(f"{len(scores)} scores for {len(group)} episodes; expected one each")
        strange = [type(score).__name__ for score in scores if not isinstance(score, Score)]
        if strange:
            raise TypeError(f"it returned {strange[0]} values; expected a `Score` for each episode")
        return scores
    except JudgeStopped:  # about the judge and its budget, not about this group: the run has to end
        raise
    except Exception as error:
        why = error.what if isinstance(error, RewardFault) else f"{type(error).__name__}: {error}"
        return [Score(verdict=Verdict("failed", why, stage="call")) for _ in group]


def _sound(score: Score, episode: Episode) -> Score:
    """The score; without its values, and with the verdict 'failed', where they cannot be used."""
    why = _misplaced(score, episode) or _not_finite(score)
    if not why:
        return score
    return replace(score, value=None, spans={}, tokens={}, verdict=Verdict("failed", why, stage="value"))


def _misplaced(score: Score, episode: Episode) -> str:
    sizes = [len(span.tokens) for span in episode.spans]
    for index in (*score.spans, *score.tokens):
        if not 0 <= index < len(sizes):
            return f"it scores span {index} of an episode of {len(sizes)} spans"
    for index in score.spans:
        if not (episode.spans[index].sampled and sizes[index]):
            return f"it scores span {index}, which the policy did not sample"
    for index, values in score.tokens.items():
        if len(values) != sizes[index]:
            return f"it gives {len(values)} token values for span {index} of {sizes[index]} tokens"
    return ""


def _not_finite(score: Score) -> str:
    values = [*([] if score.value is None else [score.value]), *score.spans.values()]
    values += [float(v) for stream in score.tokens.values() for v in stream]
    if all(math.isfinite(value) for value in values):
        return ""
    return f"value {score.value} is not finite" if score.value is not None else "a span or token value is not finite"


def scored(group: Group, rewards: Sequence[Reward]) -> Group:
    """Episodes that say something about the policy: it sampled, at least one counting reward applies, and none of them
    failed. A failure is neither a zero nor an abstention, and a return without what failed is no return.

    The others must not dilute the group.
    """
    counting = {reward.name for reward in rewards if reward.weight}
    return [episode for episode in group if episode.sampled_tokens and _known(episode, counting)]


def _known(episode: Episode, counting: Collection[str]) -> bool:
    given = [score for name, score in episode.scores.items() if name in counting]
    return any(score.applies for score in given) and all(_fault(score) is None for score in given)
