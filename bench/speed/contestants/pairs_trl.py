"""TRL's steps on preference pairs: its DPO or its reward trainer, with the rows of `speed.workloads` in their order."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer

from speed.contestants.held import Held, common, go
from speed.job import Job
from speed.shown import shown
from speed.turns import MOST
from speed.workloads import written_pairs


def main() -> None:
    job = Job.given()
    work = job.pairs()
    folder, dtype = job.folders[work.model], getattr(torch, job.dtype)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = shown(tokenizer)
    rows = [asdict(pair) for step in range(MOST) for pair in written_pairs(work, step, *text)]
    held = Held(job.device)
    settings = {**common(job), "per_device_train_batch_size": work.pairs, "max_length": None}
    given: Any = {"processing_class": tokenizer, "train_dataset": Dataset.from_list(rows), "callbacks": [held]}
    trainer: Any
    if job.workload == "DPO":
        model, reference = (AutoModelForCausalLM.from_pretrained(folder, dtype=dtype) for _ in range(2))
        config = DPOConfig(**settings, precompute_ref_log_probs=False)
        trainer = DPOTrainer(model=model, ref_model=reference, args=config, **given)
    else:
        model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, dtype=dtype)
        model.config.pad_token_id = tokenizer.pad_token_id
        trainer = RewardTrainer(model=model, args=RewardConfig(**settings), **given)
    computed = trainer.compute_loss

    def counted(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        held.count("given", int(inputs["attention_mask"].sum()))
        return computed(model, inputs, *args, **kwargs)

    trainer.compute_loss = counted
    go(trainer)


main()
