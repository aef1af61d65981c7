"""The small transformer: decoding, the likelihood and the plain forward pass say the same."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.models.heads import check_head
from guerdon.rollouts.single import episode_of
from guerdon.samplers.base import Sampling
from guerdon.testbeds.sampler import StepSampler
from guerdon.testbeds.small import SmallPolicy
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import taught
from guerdon.types import Span, Task

LETTERS = Symbols("abcdefgh=.", end=".")


def policy(seed=0):
    return SmallPolicy(LETTERS, seed, width=16, layers=2, heads=2)


def test_decoding_goes_on_as_the_whole_text_would():
    model = policy()
    texts = ["abc=", "b=", "abc=", "hgfed="]
    decoding = model.decoding([np.array(LETTERS.encode(text)) for text in texts])

    def same():
        for row, text in enumerate(texts):
            whole = model(torch.tensor([LETTERS.encode(text)])).logits[0, -1]
            assert torch.allclose(decoding.logits[row], whole, atol=1e-5)

    same()
    decoding.step(torch.tensor(LETTERS.encode("abcd")), None)
    texts = [text + more for text, more in zip(texts, "abcd", strict=True)]
    same()
    decoding.step(torch.tensor(LETTERS.encode("ef")), torch.tensor([1, 3]))
    texts = [texts[1] + "e", texts[3] + "f"]
    same()
    for _ in range(10):
        decoding.step(torch.tensor(LETTERS.encode("gh")), None)
        texts = [texts[0] + "g", texts[1] + "h"]
    same()


def test_sampler_and_likelihood_agree_on_packed_groups():
    model, prompts = policy(), ["abc=", "b="]
    sampler, how = StepSampler(model), Sampling(max_tokens=6, stop_tokens=LETTERS.stop_tokens)

    async def go():
        return await asyncio.gather(*(sampler.sample(LETTERS.encode(p), how, range(9)) for p in prompts))

    groups = [
        [episode_of(Task(p, p), Span(LETTERS.encode(p)), one) for one in many]
        for p, many in zip(prompts, asyncio.run(go()), strict=True)
    ]
    batch = collate(groups)
    logp = Autoregressive()(model, batch, ("logp",))["logp"].detach()
    assert torch.allclose(logp, batch.behavior, atol=1e-5)
    value = model.values()
    assert float(Values()(value, batch, ("value",))["value"].detach().abs().max()) == 0.0


def test_a_seed_gives_the_same_weights_and_leaves_other_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = policy(1), policy(1), policy(2)
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.trunk.embed, other.trunk.embed)


def test_a_value_model_has_weights_of_its_own():
    model = policy()
    value = model.values()
    with torch.no_grad():
        value.trunk.embed.zero_()
    assert float(model.trunk.embed.detach().abs().max()) > 0


def test_teaching_teaches_and_leaves_the_begin_as_it_was():
    begin = policy()
    before = begin.trunk.embed.detach().clone()
    rows = [(f"{a}=", a * 2) for a in "abcdefgh"] * 8
    model = taught(begin, rows, 60, 0, batch=32, lr=1e-2)
    assert torch.equal(begin.trunk.embed, before)
    greedy = Sampling(max_tokens=4, stop_tokens=LETTERS.stop_tokens, temperature=0)

    async def go():
        return [(await StepSampler(model).sample(LETTERS.encode(f"{a}="), greedy, [0]))[0] for a in "abcdefgh"]

    said = asyncio.run(go())
    assert [one.text for one in said] == [a * 2 for a in "abcdefgh"]
    assert {one.stop for one in said} == {"stop"}
    again = taught(begin, rows, 60, 0, batch=32, lr=1e-2)
    assert torch.equal(again.head.weight, model.head.weight)


def test_prompts_with_ids_of_their_own_are_for_tables():
    with pytest.raises(ValueError, match="expected prompts of symbols"):
        SmallPolicy(Symbols("ab", prompts=3), 0)


def test_its_halves_are_its_whole():
    model = policy()
    model.get_input_embeddings = lambda: torch.nn.Embedding(LETTERS.size, 16, _weight=model.trunk.embed.detach())
    check_head(model)
