"""One point of the memory curve: python -m speed.alone.memory_point '{"way": ..., "length": ..., "vocab": ...}'"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from guerdon.collate import collate
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.types import Batch, Episode, Span, Task
from speed.folders import characters, llama
from speed.turns import peak_mb

WANTS = ("logp", "entropy", "mean_logp")


def main() -> None:
    told = json.loads(sys.argv[1])
    torch.manual_seed(0)
    vocab, length = told["vocab"], told["length"]
    config = llama(characters(), width=64, layers=1, vocab=vocab, positions=length + 1)
    module = LlamaForCausalLM(config)
    run = {"chunked": chunked, "full logits": full}[told["way"]]
    run(module, tokens(vocab, 8))  # gradients are there from here on, and kernels are loaded
    before = peak_mb("cpu")
    begin = time.perf_counter()
    run(module, tokens(vocab, length))
    seconds, peak = time.perf_counter() - begin, peak_mb("cpu")
    point = {
        "length": length,
        "peak_mb": round(peak),
        "grown_mb": round(peak - before, 1),
        "seconds": round(seconds, 2),
    }
    print(json.dumps(point))


def tokens(vocab: int, length: int) -> Any:
    return np.random.default_rng(length).integers(0, vocab, length + 1)


def chunked(module: Any, ids: Any) -> None:
    """As guerdon does: the statistics of every token but the first, from logits that are never all there."""
    prompt, reply = Span(ids[:1]), Span(ids[1:], np.zeros(len(ids) - 1, np.float32), parent=0)
    batch: Batch = collate([[Episode(Task("", ""), [prompt, reply])]])
    torch.stack([values.sum() for values in Autoregressive()(module, batch, WANTS).values()]).sum().backward()


def full(module: Any, ids: Any) -> None:
    """As it is written down: all logits, their log-softmax, and statistics of that."""
    given = torch.from_numpy(ids)[None]
    logprobs: Tensor = module(input_ids=given).logits[0, :-1].float().log_softmax(-1)
    logp = logprobs.gather(1, given[0, 1:, None]).sum()
    entropy = -(logprobs.exp() * logprobs).sum()
    (logp + entropy + logprobs.mean(-1).sum()).backward()


if __name__ == "__main__":
    main()
