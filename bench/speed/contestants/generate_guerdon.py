"""guerdon's sampler alone, on the prompts of S: what it prepares after an update of the weights is in the time."""

from __future__ import annotations

import asyncio

from guerdon.chat import Chat
from guerdon.models.load import load_policy
from guerdon.rollouts.base import derive
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from speed.job import Job
from speed.turns import turns
from speed.workloads import prompts


async def main() -> None:
    job = Job.given()
    work = job.rollouts("S")
    policy = load_policy(job.folders[work.model], dtype=job.dtype, device=job.device)
    sampler = LocalSampler(policy.module, policy.tokenizer, slots=work.prompts * work.group)
    chat, how = Chat(policy.tokenizer), Sampling(max_tokens=work.length)
    for number, turn in enumerate(turns(job.device)):
        sampler.load(None, number)
        asked = [chat.prompt(text) for text in prompts(work, number)]
        seeds = [[derive(number, i, k) for k in range(work.group)] for i in range(work.prompts)]
        groups = await asyncio.gather(*(sampler.sample(ids, how, s) for ids, s in zip(asked, seeds, strict=True)))
        tokens = sum(len(span.tokens) for group in groups for sample in group for span in sample.spans)
        turn.answer(tokens=tokens, prompt_tokens=sum(len(ids) for ids in asked))


asyncio.run(main())
