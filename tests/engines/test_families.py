"""Every supported family learns in every supported form: plain, with adapters, checkpointed, in bfloat16."""

from __future__ import annotations

import asyncio
import copy

import numpy as np
import pytest
import torch

from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.methods.grpo import grpo
from guerdon.models import lora
from guerdon.rollouts.single import episode_of
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.types import Score, Span, Task
from tests.samplers.conftest import LetterTokenizer, tiny_model

FAMILIES = ("llama", "qwen2", "qwen3", "gemma3", "gpt2", "gpt_neox")


def form(module, name: str):
    if name == "adapters":
        return lora.apply(module, lora.Lora(rank=2, alpha=4))
    if name == "checkpointed":
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return module.train()
    return module.bfloat16() if name == "bfloat16" else module


@pytest.mark.parametrize("kind", ["plain", "adapters", "checkpointed", "bfloat16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_update_moves_what_is_trained_and_starts_without_a_gap(family, kind):
    module = form(copy.deepcopy(tiny_model(family)).eval(), kind)
    sampler = LocalSampler(module, LetterTokenizer())
    samples = asyncio.run(sampler.sample([5, 6, 7], Sampling(max_tokens=8), seeds=range(6)))
    group = [episode_of(Task("t", ""), Span(np.array([5, 6, 7])), sample) for sample in samples]
    for i, episode in enumerate(group):
        episode.scores["r"] = Score(float(i % 2))
    engine = LocalEngine(module, Autoregressive(), Optim(lr=1e-2))
    before = {n: p.detach().clone() for n, p in module.named_parameters()}
    stats = asyncio.run(Learner(grpo(), {"policy": engine}, max_gap=10.0).update([group]))
    assert stats["gap/mean"].value < (0.05 if kind == "bfloat16" else 1e-4)
    moved = {n for n, p in module.named_parameters() if not torch.equal(before[n], p)}
    trainable = {n for n, p in module.named_parameters() if p.requires_grad}
    assert moved
    assert moved <= trainable
    if kind == "adapters":
        assert all("lora_" in name for name in moved)
