"""guerdon's GRPO steps: python -m speed.contestants.grpo_guerdon JOB, then a line on standard input for each step."""

from __future__ import annotations

import asyncio

from guerdon.models.load import load_policy
from speed.job import Job
from speed.ours import put_together, take_step, tasks
from speed.turns import turns


async def main() -> None:
    job = Job.given()
    work = job.rollouts()
    policy = load_policy(job.folders[work.model], dtype=job.dtype, device=job.device)
    ours = put_together(policy.module, policy.tokenizer, tasks(work), work)
    async with ours.source:
        for turn in turns(job.device):
            step = await take_step(ours)
            turn.answer(step.sample, tokens=step.tokens, trained=step.trained, prompt_tokens=step.prompt_tokens)


asyncio.run(main())
