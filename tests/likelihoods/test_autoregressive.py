"""Packed trees against plain forwards: the same log-probabilities, one computation per distinct token."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.likelihoods.packing import layout
from guerdon.models.heads import ValueHead
from guerdon.types import Episode, Span, Task
from tests.samplers.conftest import tiny_model

FAMILIES = ("llama", "qwen2", "qwen3", "gemma3", "gpt2", "gpt_neox", "qwen2_sliding", "mistral")


def sampled(tokens, parent=0, **extra) -> Span:
    return Span(np.array(tokens), np.zeros(len(tokens)), parent=parent, extra=extra)


def flat(prompt, *completions, **extra):
    return [Episode(Task("t", ""), [Span(np.array(prompt)), sampled(c, **extra)]) for c in completions]


def tree(prompt, trunk, *branches):
    spans = [Span(np.array(prompt)), sampled(trunk), *(sampled(b, parent=1) for b in branches)]
    return [Episode(Task("t", ""), spans)]


GROUPS = [
    flat([5, 6, 7, 8, 9, 10, 11], [12, 13, 14], [15], [16, 17, 18, 19, 20]),
    tree([30, 31, 32], [33, 34, 35, 36, 37], [40, 41], [42], [43, 44, 45]),
    flat([50, 51], [52, 53, 54, 55, 56, 57, 58, 59, 60]),
]


def plain(module, batch, temperature=1.0):
    """log p and entropy of every token by one unpadded forward per sequence."""
    logp, entropy = torch.zeros(len(batch)), torch.zeros(len(batch))
    for seq in batch.seq.unique():
        rows = (batch.seq == seq).nonzero().squeeze(1)
        ids = batch.inputs["tokens"][rows]
        logprobs = torch.log_softmax(module(input_ids=ids[None]).logits[0].float() / temperature, -1)
        logp = logp.index_put((rows[1:],), logprobs[:-1].gather(1, ids[1:, None]).squeeze(1))
        entropy = entropy.index_put((rows[1:],), -(logprobs.exp() * logprobs).sum(-1)[:-1])
    zero = torch.zeros(len(batch))
    return torch.where(batch.mask, logp, zero), torch.where(batch.mask, entropy, zero)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_packed_equals_plain_in_values_and_gradients(family, attention):
    module = copy.deepcopy(tiny_model(family, attention)).eval()
    batch = collate(GROUPS)
    out = Autoregressive(chunk_elements=600)(module, batch, ("logp", "entropy"))
    logp, entropy = plain(module, batch)
    torch.testing.assert_close(out["logp"], logp, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(out["entropy"], entropy, atol=2e-5, rtol=1e-5)
    weights = torch.linspace(-1, 1, len(batch)) * batch.share
    ours = torch.autograd.grad((weights * out["logp"]).sum(), list(module.parameters()), allow_unused=True)
    theirs = torch.autograd.grad((weights * logp).sum(), list(module.parameters()), allow_unused=True)
    for a, b in zip(ours, theirs, strict=True):
        if b is not None:
            torch.testing.assert_close(a, b, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_one_path_per_row_needs_no_mask_and_agrees(family):
    module = tiny_model(family).eval()
    batch = collate([GROUPS[2], flat([61, 62, 63], [64])])
    assert layout(batch).visible is None
    with torch.no_grad():
        torch.testing.assert_close(
            Autoregressive()(module, batch, ("logp",))["logp"], plain(module, batch)[0], atol=2e-5, rtol=1e-5
        )


def test_shared_tokens_are_laid_out_once_and_long_groups_are_split():
    batch = collate(GROUPS)
    plan = layout(batch)
    assert plan.tokens.shape[0] == 3
    assert len(plan.first) == (7 + 9) + (3 + 5 + 6) + (2 + 9)
    split = layout(batch, row_tokens=16)
    assert split.tokens.shape[0] > 3
    with torch.no_grad():
        module = tiny_model("llama").eval()
        whole = Autoregressive()(module, batch, ("logp",))["logp"]
    torch.testing.assert_close(whole, plain(module, batch)[0].detach(), atol=2e-5, rtol=1e-5)


def test_temperature_is_the_one_that_was_sampled_with():
    module = tiny_model("llama").eval()
    batch = collate([flat([5, 6, 7], [8, 9], [10, 11, 12], temperature=0.7)])
    with torch.no_grad():
        out = Autoregressive()(module, batch, ("logp",))["logp"]
        expected = plain(module, batch, temperature=0.7)[0]
    torch.testing.assert_close(out, expected, atol=2e-5, rtol=1e-5)


def test_support_restricts_the_distribution_and_id_zero_is_handled():
    module = tiny_model("llama").eval()
    support = [np.array([0, 8, 9]), np.array([9])]
    batch = collate([flat([5, 6, 7], [8, 9], support=support)])
    with torch.no_grad():
        out = Autoregressive()(module, batch, ("logp", "mean_logp", "entropy"))
        logits = module(input_ids=batch.inputs["tokens"][None]).logits[0, 2]
    kept = torch.log_softmax(logits[[0, 8, 9]], 0)
    torch.testing.assert_close(out["logp"][3:], torch.stack([kept[1], torch.tensor(0.0)]), atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(out["mean_logp"][3], kept.mean(), atol=2e-5, rtol=1e-5)
    assert float(out["entropy"][4]) == pytest.approx(0.0, abs=1e-6)


def test_what_cannot_be_scored_is_refused():
    module = tiny_model("llama").eval()
    with pytest.raises(KeyError, match="no statistic"):
        Autoregressive()(module, collate(GROUPS), ("temper",))
    rootless = [Episode(Task("t", ""), [sampled([3, 4], parent=-1)])]
    with pytest.raises(ValueError, match="needs a prompt"):
        Autoregressive()(module, collate([rootless]), ("logp",))


def test_values_are_those_of_the_state_before_the_action():
    head = ValueHead(copy.deepcopy(tiny_model("llama")).eval())
    torch.nn.init.normal_(head.head.weight)
    batch = collate([GROUPS[0]])
    out = Values()(head, batch, ("value",))["value"]
    first = batch.inputs["tokens"][batch.seq == 0]
    states = head.trunk(input_ids=first[None]).last_hidden_state[0]
    expected = head.head(states).squeeze(-1)[6:9]
    torch.testing.assert_close(out[batch.seq == 0][7:], expected, atol=2e-5, rtol=1e-5)
    assert out[~batch.mask].abs().max() == 0


def test_without_adapters_is_the_model_they_were_put_on():
    from guerdon.likelihoods.autoregressive import WithoutAdapters
    from guerdon.models import lora

    module = copy.deepcopy(tiny_model("llama")).eval()
    batch = collate(GROUPS)
    with torch.no_grad():
        before = Autoregressive()(module, batch, ("logp",))["logp"]
        adapted = lora.apply(module, lora.Lora(rank=2))
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.normal_(0, 0.5)
        assert (Autoregressive()(adapted, batch, ("logp",))["logp"] - before).abs().max() > 0.1
        torch.testing.assert_close(WithoutAdapters()(adapted, batch, ("logp",))["logp"], before)
