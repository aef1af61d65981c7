"""Decoding every item under a protocol.

Seeds depend on protocol and item alone, so that all models meet the same random numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from guerdon.evaluation.evaluate import is_right
from guerdon.evaluation.protocol.base import Decode, Evaluated, Protocol, fingerprint
from guerdon.rewards.scoring import score_group
from guerdon.rollouts.base import Context, derive
from guerdon.rollouts.single import single_turn

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.rewards.base import Reward
    from guerdon.samplers.base import Sampler
    from guerdon.types import Episode, Task


async def collect(
    protocol: Protocol,
    tasks: Sequence[Task],
    reward: Reward,
    samplers: Mapping[str, Sampler],
    chat: Chat,
    stop_tokens: tuple[int, ...] = (),
) -> Evaluated:
    """All decodes of all items. ValueError when the tasks are not those of the protocol."""
    if fingerprint([[task.id, task.prompt, dict(task.data)] for task in tasks]) != protocol.version:
        raise ValueError(f"the {len(tasks)} tasks are not those of the protocol ({protocol.items} of {protocol.tasks})")
    how = protocol.decoding.but(stop_tokens=stop_tokens, entropy=True)

    async def attempt(task: Task) -> tuple[list[Decode], list[str]]:
        context = Context(samplers, chat, how, protocol.decodes, derive("protocol", protocol.seed, task.id))
        group = await single_turn(task, context)
        faults = await score_group(group, [reward], context)
        seeds = context.seeds(context.n)
        return [decode_of(e, i, seeds[i], protocol) for i, e in enumerate(group)], [str(fault) for fault in faults]

    done = await asyncio.gather(*(attempt(task) for task in tasks))
    faults = [fault for _, found in done for fault in found]
    return Evaluated(protocol, [one for decodes, _ in done for one in decodes], faults)


def decode_of(episode: Episode, number: int, seed: int, protocol: Protocol) -> Decode:
    """What is kept of a scored episode."""
    verdict = next((score.verdict for score in episode.scores.values() if score.verdict is not None), None)
    stance, text = protocol.reading.stance(episode.reply), episode.reply
    answer = text.strip() or None
    if verdict is not None:
        answer = None if verdict.status == "no_answer" else verdict.extracted or answer
    entropies = [np.ravel(span.extra["entropy"]) for span in episode.spans if span.sampled and "entropy" in span.extra]
    flat = np.concatenate(entropies) if entropies else np.empty(0)
    return Decode(
        item=episode.task.id,
        number=number,
        seed=seed,
        text=text,
        answer=answer,
        status=verdict.status if verdict else None,
        refused=stance.refused,
        confidence=stance.confidence,
        tokens=episode.sampled_tokens,
        truncated=episode.stop == "length",
        correct=is_right(episode),
        answerable=bool(episode.task.data.get("answerable", True)),
        entropy=float(flat.mean()) if flat.size else None,
    )
