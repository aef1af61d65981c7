"""TRL's GRPO steps: one trainer, held before every step until a line comes in on standard input.

Tuned: float32 (or the job's type) without gradient checkpointing, and all completions at once where memory allows it.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from speed.contestants.exact import ExactLengths
from speed.contestants.held import Held, common, go
from speed.job import Job
from speed.turns import MOST
from speed.workloads import SMOL, Rollouts, lengths, prompts, score


class Timed(GRPOTrainer):
    """Counts seconds of generation, and the tokens that were generated and trained on, into its `held`."""

    held: Held
    exact: ExactLengths
    work: Rollouts
    generations = 0

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        wanted = lengths(self.work, self.generations)
        self.generations += 1
        self.exact.next([length for group in wanted for length in group])
        generate: Any = super()._generate_single_turn
        out = generate(prompt_ids, *args, **kwargs)
        self.held.sample += time.perf_counter() - begin
        self.held.count("tokens", sum(len(completion) for completion in out[0]))
        self.held.count("prompt_tokens", sum(len(ids) for ids in prompt_ids[:: self.work.group]))
        return out

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        self.held.count("trained", int(inputs["completion_mask"].sum()))
        compute: Any = super()._compute_loss
        return compute(model, inputs)


def reward(completions: list[Any], **columns: Any) -> list[float | None]:
    return [score(c if isinstance(c, str) else c[0]["content"]) for c in completions]


def main() -> None:
    job = Job.given()
    work = job.rollouts()
    folder = job.folders[work.model]
    texts = [text for step in range(MOST) for text in prompts(work, step)]
    rows = [{"prompt": [{"role": "user", "content": text}] if work.model == SMOL else text} for text in texts]
    total = work.prompts * work.group
    micro = work.peer_micro or total
    config = GRPOConfig(
        **common(job),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=total // micro,
        num_generations=work.group,
        max_completion_length=work.length,
        beta=0.0,
        shuffle_dataset=False,
    )
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, job.dtype))
    held = Held(job.device)
    trainer = Timed(
        model=module,
        processing_class=AutoTokenizer.from_pretrained(folder, padding_side="left"),
        reward_funcs=reward,
        args=config,
        train_dataset=Dataset.from_list(rows),
        callbacks=[held],
    )
    trainer.held, trainer.work = held, work
    trainer.exact = ExactLengths(module, trainer.eos_token_ids, work.length)
    go(trainer)


main()
