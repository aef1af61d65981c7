"""TRL's side of `step.py`: one trainer, held before every step until a line comes in on standard input."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from workloads import WORKLOADS, model_folder, prompts, score  # noqa: E402

MOST = 100


class Held(TrainerCallback):
    """Waits for a line before each step, and prints what the step took after it."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.generated = 0.0
        self.tokens = 0

    def wait(self) -> None:
        if not sys.stdin.readline():
            os._exit(0)
        self.begin, self.generated = time.perf_counter(), 0.0

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        if not self.begin:
            self.wait()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        seconds = time.perf_counter() - self.begin
        print(
            json.dumps(
                {
                    "step": seconds,
                    "sample": self.generated,
                    "learn": seconds - self.generated,
                    "tokens": self.tokens,
                    "threads": torch.get_num_threads(),
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                }
            ),
            flush=True,
        )
        self.wait()


class Timed(GRPOTrainer):
    held: Held

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        out = super()._generate_single_turn(*args, **kwargs)
        self.held.generated += time.perf_counter() - begin
        self.held.tokens = sum(len(completion) for completion in out[0])
        return out


def main() -> None:
    work = WORKLOADS[sys.argv[1]]
    folder = model_folder(work, Path(sys.argv[2]))
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    texts = [text for step in range(MOST) for text in prompts(work, step)]
    rows = [{"prompt": t if work.model == "random" else [{"role": "user", "content": t}]} for t in texts]

    def reward(completions: list[Any], **columns: Any) -> list[float]:
        return [score(c if isinstance(c, str) else c[0]["content"]) for c in completions]

    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=work.prompts * work.group,
            num_generations=work.group,
            max_completion_length=work.length,
            generation_kwargs={"min_new_tokens": work.length},
            max_steps=MOST,
            beta=0.0,
            learning_rate=1e-6,
            lr_scheduler_type="constant",
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        module = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        held = Held()
        trainer = Timed(
            model=module,
            processing_class=tokenizer,
            reward_funcs=reward,
            args=config,
            train_dataset=Dataset.from_list(rows),
            callbacks=[held],
        )
        trainer.held = held
        trainer.log = lambda *args, **kwargs: None
        trainer.train()


main()
