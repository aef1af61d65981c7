"""Which models take the fast way, and that it is transformers' own forward to rounding."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import transformers

from guerdon.blocks import stack
from guerdon.blocks.layout import lay_out
from guerdon.collate import collate
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.models import lora
from guerdon.models.heads import ValueHead, trunk_in
from guerdon.samplers.decoder import Decoder
from guerdon.samplers.local import LocalSampler
from guerdon.types import Episode, Score, Span, Task
from tests.samplers.conftest import SIZES, SPECIAL, tiny_model

WIDE = {**SIZES, **SPECIAL, "intermediate_size": 64, "max_position_embeddings": 128, "num_key_value_heads": 2}


def mistral():
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(transformers.MistralConfig(**WIDE, sliding_window=None))


def scaled():
    rope = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0}
    rope |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**WIDE, rope_parameters=rope))


KNOWN = {
    "llama": lambda: copy.deepcopy(tiny_model("llama")),
    "llama, scaled positions": scaled,
    "mistral": mistral,
    "qwen2": lambda: copy.deepcopy(tiny_model("qwen2")),
    "qwen3": lambda: copy.deepcopy(tiny_model("qwen3")),
}
known = pytest.mark.parametrize("name", KNOWN)


def batch(*lengths: int, prompts=(5, 2)):
    """Two groups of completions of these lengths, and one sequence by itself."""
    numbers = np.random.default_rng(0)
    groups = [[episode(numbers, number, size, n) for n in lengths] for number, size in enumerate(prompts)]
    return collate([*groups, [episode(numbers, 9, 3, 4)]])


def episode(numbers, prompt: int, size: int, length: int) -> Episode:
    given = np.random.default_rng(prompt).integers(3, 300, size)
    spans = [Span(given), Span(numbers.integers(3, 300, length), np.full(length, -1.0, np.float32), parent=0)]
    return Episode(Task(str(prompt), ""), spans, {"r": Score(1.0)})


def gradients(module, given) -> dict[str, torch.Tensor]:
    out = Autoregressive()(module, given, ("logp",))["logp"]
    wanted = {n: p for n, p in module.named_parameters() if p.requires_grad}
    found = torch.autograd.grad((out * torch.linspace(-1, 1, len(out))).sum(), list(wanted.values()))
    return dict(zip(wanted, found, strict=True))


def without(monkeypatch, call):
    with monkeypatch.context() as patched:
        patched.setattr(stack, "find", lambda trunk: None)
        return call()


@known
@pytest.mark.parametrize("form", ["plain", "adapters"])
def test_values_and_gradients_are_those_of_transformers(name, form, monkeypatch):
    module = KNOWN[name]().eval()
    if form == "adapters":
        module = lora.apply(module, lora.Lora(rank=2, alpha=4))
        for part, weight in module.named_parameters():
            if "lora_B" in part:
                torch.nn.init.normal_(weight, std=0.1)
    given = batch(1, 4, 9, 9)
    assert stack.find(trunk_in(module)) is not None
    fast, slow = gradients(module, given), without(monkeypatch, lambda: gradients(module, given))
    assert fast.keys() == slow.keys()
    for part, gradient in slow.items():
        scale = float(gradient.abs().max()) + 1e-3
        torch.testing.assert_close(fast[part] / scale, gradient / scale, atol=1e-4, rtol=0, msg=part)


@known
def test_a_step_of_decoding_is_that_of_transformers(name, monkeypatch):
    module = KNOWN[name]().eval()
    prompts = [np.array([5, 6, 7, 8]), np.array([9, 10])]

    def logits():
        decoder = Decoder(module)
        with torch.inference_mode():
            for index, prefilled in decoder.prefill(prompts):
                decoder.cache.put([index], prefilled.states)
            ragged = decoder.step([11, 12], [4, 2])
            return ragged, decoder.step([13, 14], [5, 3])

    for fast, slow in zip(logits(), without(monkeypatch, logits), strict=True):
        torch.testing.assert_close(fast, slow, atol=1e-4, rtol=1e-4)


def test_rows_of_one_length_are_written_as_a_slice_with_the_same_outcome():
    module = KNOWN["llama"]().eval()
    decoder, ragged = Decoder(module), Decoder(module)
    with torch.inference_mode():
        for _, prefilled in decoder.prefill([np.array([5, 6, 7])]):
            decoder.cache.put([0, 1], prefilled.states)
            ragged.cache.put([0, 1], prefilled.states)
        level, uneven = decoder.step([11, 12], [3, 3]), ragged.step([11, 12], [3, 2])
    torch.testing.assert_close(level[0], uneven[0], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(level[1], uneven[1], atol=1e-3)
    assert decoder.cache.slots[0].step.level
    assert not ragged.cache.slots[0].step.level


def test_the_output_layer_follows_the_weights_of_a_sampler():
    """An optimiser step changes weights in place, and leaves no mark on them: `load` is the mark."""
    module = KNOWN["llama"]().eval()
    sampler = LocalSampler(module, None)
    with torch.inference_mode():
        for _, prefilled in sampler._decoder.prefill([np.array([5, 6, 7])]):
            sampler._decoder.cache.put([0], prefilled.states)
        before = sampler._decoder.step([8], [3])
    with torch.no_grad():
        module.get_output_embeddings().weight.mul_(2)
    sampler.load(None, 1)
    with torch.inference_mode():
        torch.testing.assert_close(sampler._decoder.step([8], [3]), 2 * before, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["gemma3", "gpt2", "gpt_neox", "qwen2_sliding"])
def test_other_families_keep_their_own_forward(family):
    assert stack.find(trunk_in(tiny_model(family))) is None


def test_gradient_checkpointing_keeps_the_models_own_forward():
    module = KNOWN["llama"]()
    module.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
    assert stack.find(trunk_in(module.train())) is None


def test_a_window_half_precision_and_hooks_keep_the_models_own_forward():
    assert stack.find(trunk_in(tiny_model("mistral"))) is None  # its window is 6
    assert stack.find(trunk_in(KNOWN["llama"]().bfloat16())) is None
    watched = KNOWN["llama"]()
    handle = watched.model.layers[1].mlp.register_forward_hook(lambda *_: None)
    assert stack.find(watched.model) is None
    handle.remove()
    assert stack.find(watched.model) is not None
    watched.model.norm.weight.register_hook(lambda gradient: gradient)
    assert stack.find(watched.model) is None


def test_a_subclass_is_not_taken_for_its_parent():
    module = KNOWN["llama"]()
    module.model.__class__ = type("LlamaModel", (type(module.model),), {})
    assert stack.find(module.model) is None


def test_a_value_models_trunk_is_found():
    assert stack.find(trunk_in(ValueHead(KNOWN["llama"]()))) is not None


def test_each_distinct_token_is_laid_out_once():
    given = batch(1, 4, 9)
    row = lay_out(given)
    assert len(row.tokens) == (5 + 14) + (2 + 14) + 7
    torch.testing.assert_close(row.tokens[row.slot[row.inverse]], given.inputs["tokens"])
    own = torch.cat([bucket.own for bucket in row.buckets])
    kept = own if row.back is None else own[row.back]
    torch.testing.assert_close(kept, torch.arange(len(row.tokens)))


def test_stretches_of_unlike_length_do_not_share_a_bucket():
    row = lay_out(batch(40, 39, 4, 4, prompts=(5, 5)))
    lengths = sorted(len(bucket.own) // bucket.rows for bucket in row.buckets if bucket.hidden is not None)
    assert lengths == [4, 40]
