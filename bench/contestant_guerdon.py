"""guerdon's side of `step.py`: takes one step for every line on standard input, and prints its seconds."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

import torch
from workloads import WORKLOADS, model_folder, prompts, score

from guerdon.chat import Chat
from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.methods.grpo import grpo
from guerdon.models.load import load_policy
from guerdon.rewards.base import PerEpisode
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Rollouts
from guerdon.types import Task


async def main() -> None:
    work = WORKLOADS[sys.argv[1]]
    policy = load_policy(str(model_folder(work, Path(sys.argv[2]))))
    sampler = LocalSampler(policy.module, policy.tokenizer, slots=work.prompts * work.group)
    learner = Learner(grpo(), {"policy": LocalEngine(policy.module, Autoregressive(), Optim(lr=1e-6))})
    source = Rollouts(
        tasks=lambda i: Task(str(i), prompts(work, i // work.prompts)[i % work.prompts]),
        samplers={"policy": sampler},
        chat=Chat(policy.tokenizer),
        how=Sampling(max_tokens=work.length),
        rewards=[PerEpisode("score", lambda episode: score(episode.reply))],
        batch=work.prompts,
        n=work.group,
    )
    async with source:
        for _ in sys.stdin:
            begin = time.perf_counter()
            data = await source.take(learner.version)
            sampled = time.perf_counter()
            await learner.update(data.groups)
            await source.publish(learner)
            done = time.perf_counter()
            tokens = sum(episode.sampled_tokens for group in data.groups for episode in group)
            print(
                json.dumps(
                    {
                        "step": done - begin,
                        "sample": sampled - begin,
                        "learn": done - sampled,
                        "tokens": tokens,
                        "threads": torch.get_num_threads(),
                        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    }
                ),
                flush=True,
            )


asyncio.run(main())
