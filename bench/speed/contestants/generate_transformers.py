"""transformers' `generate` on the prompts of S: every completion is a row of its own, drawn from all tokens."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from speed.job import Job
from speed.shown import shown
from speed.turns import turns
from speed.workloads import prompts


def main() -> None:
    job = Job.given()
    work = job.rollouts("S")
    folder = job.folders[work.model]
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    module: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, job.dtype))
    module.to(job.device).eval()
    show = shown(tokenizer)[0]
    for number, turn in enumerate(turns(job.device)):
        texts = [show(text) for text in prompts(work, number) for _ in range(work.group)]
        given = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(job.device)
        with torch.inference_mode():
            out = module.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                do_sample=True,
                top_k=0,
                top_p=1.0,
                max_new_tokens=work.length,
                min_new_tokens=work.length,
                pad_token_id=tokenizer.pad_token_id,
            )
        turn.answer(tokens=(out.shape[1] - given["input_ids"].shape[1]) * len(out))


main()
