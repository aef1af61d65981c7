"""guerdon's steps on preference pairs, DPO or a reward model. Every step is given rows it has not seen."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import numpy as np

from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.likelihoods.scores import Scores
from guerdon.method import Heads
from guerdon.methods.bradley_terry import bradley_terry
from guerdon.methods.dpo import dpo
from guerdon.models.load import Policy, load_policy
from guerdon.models.reward import with_heads
from guerdon.types import Episode, Group, Pair, Span, Task
from speed.job import Job
from speed.ours import LR
from speed.shown import shown
from speed.turns import turns
from speed.workloads import WrittenPair, written_pairs


async def main() -> None:
    job = Job.given()
    work = job.pairs()
    policy = load_policy(job.folders[work.model], dtype=job.dtype, device=job.device)
    learner = _dpo(policy) if job.workload == "DPO" else _reward_model(policy)
    text = shown(policy.tokenizer)
    for number, turn in enumerate(turns(job.device)):
        pairs = written_pairs(work, number, *text)
        groups = [_group(pair, f"{number}/{i}", policy.tokenizer) for i, pair in enumerate(pairs)]
        await learner.update(groups)
        asked = sum(len(group[0].spans[0].tokens) for group in groups)
        turn.answer(given=len(learner.last["policy"]), prompt_tokens=asked)


def _dpo(policy: Policy) -> Learner:
    reference = copy.deepcopy(policy.module).requires_grad_(False)
    engines = {
        "policy": LocalEngine(policy.module, Autoregressive(), Optim(lr=LR)),
        "ref": LocalEngine(reference, Autoregressive()),
    }
    return Learner(dpo(), engines)


def _reward_model(policy: Policy) -> Learner:
    heads = Heads()
    model = with_heads(policy, heads)
    return Learner(bradley_terry(), {"policy": LocalEngine(model.module, Scores(heads), Optim(lr=LR))})


def _group(pair: WrittenPair, name: str, tokenizer: Any) -> Group:
    prompt = Span(_ids(tokenizer, pair.prompt))
    chosen, rejected = (_ids(tokenizer, text + tokenizer.eos_token) for text in (pair.chosen, pair.rejected))
    return Pair(_episode(name, prompt, chosen), _episode(name, prompt, rejected)).group()


def _episode(name: str, prompt: Span, reply: Any) -> Episode:
    return Episode(Task(name, ""), [prompt, Span(reply, np.zeros(len(reply), np.float32), parent=0)])


def _ids(tokenizer: Any, text: str) -> Any:
    return np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


asyncio.run(main())
