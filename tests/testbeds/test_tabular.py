"""Tables as policies: rows, what the likelihood reads, and that sampler, likelihood and listing agree."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.rollouts.single import append, episode_of
from guerdon.samplers.base import Sampling
from guerdon.testbeds.exact import replies
from guerdon.testbeds.sampler import StepSampler, swapped, uniforms
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.tabular import TabularPolicy
from guerdon.types import Episode, Span, Task

ENDING = Symbols("abc.", end=".", prompts=2)


def random_policy(symbols=ENDING, length=3, order=None, seed=0):
    policy = TabularPolicy(symbols, length, order)
    with torch.no_grad():
        policy.table.normal_(generator=torch.Generator().manual_seed(seed))
    return policy


def drawn(policy, how, n=50, prompts=(0, 1), noise=None):
    sampler = StepSampler(policy, noise)

    async def go():
        asked = (sampler.sample(policy.symbols.prompt(p), how, range(100 * p, 100 * p + n)) for p in prompts)
        return await asyncio.gather(*asked)

    samples = asyncio.run(go())
    groups = [
        [episode_of(Task(str(p), policy.symbols.prompt(p)), Span(policy.symbols.prompt(p)), one) for one in many]
        for p, many in zip(prompts, samples, strict=True)
    ]
    return groups, sampler


def test_rows_of_prefixes_are_all_different_and_those_of_like_ends_are_one():
    whole = TabularPolicy(ENDING, 3).trunk
    prefixes = ["", *"abc.", *(x + y for x in "abc." for y in "abc.")]
    rows = [whole.row(p, prefix) for p in (0, 1) for prefix in prefixes]
    assert sorted(rows) == list(range(2 * 21)) == list(range(len(whole.table)))
    last = TabularPolicy(ENDING, 4, order=1).trunk
    assert last.row(0, "abc") == last.row(0, "bac") != last.row(0, "ab")
    assert last.row(0, "bac") != last.row(0, "bc"), "the place counts too"
    none = TabularPolicy(ENDING, 3, order=0).trunk
    assert [none.row(1, prefix) for prefix in ("", "a", "ab")] == [3, 4, 5]


@pytest.mark.parametrize("order", [None, 0, 1, 2])
def test_whoever_reads_a_prefix_finds_its_row(order):
    policy = random_policy(length=4, order=order)
    ids = torch.tensor([[*ENDING.prompt(p), *ENDING.encode(text)] for p in (0, 1) for text in ("abc", "cab")])
    logits = policy(ids).logits
    for row, (p, text) in enumerate((p, text) for p in (0, 1) for text in ("abc", "cab")):
        for n in range(4):
            assert torch.equal(logits[row, n], policy.table[policy.trunk.row(p, text[:n])])
    decoding = policy.decoding([np.array([*ENDING.prompt(1), *ENDING.encode("c")])])
    decoding.step(torch.tensor(ENDING.encode("a")), None)
    assert torch.equal(decoding.logits[0], policy.table[policy.trunk.row(1, "ca")])


@pytest.mark.parametrize("order", [None, 1])
@pytest.mark.parametrize("how", [{}, {"temperature": 0.7}, {"top_k": 2}, {"prefix": (0,)}])
def test_sampler_and_likelihood_agree(order, how):
    policy = random_policy(order=order)
    groups, sampler = drawn(policy, Sampling(**{"max_tokens": 2, "stop_tokens": ENDING.stop_tokens, **how}))
    batch = collate(groups)
    out = Autoregressive()(policy, batch, ("logp", "entropy"))
    assert torch.allclose(out["logp"].detach(), batch.behavior, atol=1e-5)
    assert float(out["entropy"].detach()[batch.mask].min()) >= 0
    assert sampler.sampled_tokens == int(batch.mask.sum())


def test_trees_of_spans_are_read_path_by_path():
    policy = random_policy()
    prompt = Span(ENDING.prompt(0))
    spans = [prompt]
    trunk = append(spans, [Span([0], np.zeros(1))], 0)
    append(spans, [Span([1, 3], np.zeros(2))], trunk)
    append(spans, [Span([2], np.zeros(1))], trunk)
    batch = collate([[Episode(Task("t", [4]), spans)]])
    logp = Autoregressive()(policy, batch, ("logp",))["logp"].detach()
    table = policy.table.log_softmax(-1)
    after_a = table[policy.trunk.row(0, "a")]
    wanted = [0, table[policy.trunk.row(0), 0], after_a[1], table[policy.trunk.row(0, "ab"), 3]]
    wanted += [0, table[policy.trunk.row(0), 0], after_a[2]]
    assert logp.tolist() == pytest.approx([float(torch.as_tensor(one).detach()) for one in wanted], abs=1e-6)


def test_values_are_a_table_of_their_own():
    policy = random_policy()
    values = policy.values()
    with torch.no_grad():
        values.trunk.table.copy_(torch.arange(len(values.trunk.table))[:, None])
    batch = collate(drawn(policy, Sampling(max_tokens=3, stop_tokens=ENDING.stop_tokens), n=4)[0])
    found = Values()(values, batch, ("value",))["value"]
    first = [row for row in range(len(batch)) if batch.mask[row] and not batch.mask[row - 1]]
    assert {float(found[row].detach()) for row in first} == {0.0, 21.0}
    assert float(found[~batch.mask].detach().abs().max()) == 0.0


def test_samples_come_as_often_as_they_are_likely():
    policy = random_policy()
    groups, _ = drawn(policy, Sampling(max_tokens=3, stop_tokens=ENDING.stop_tokens), n=4000, prompts=(1,))
    listed = replies(ENDING, 3)
    rows = torch.cat([torch.tensor(ENDING.prompt(1)).expand(len(listed.texts), 1), listed.tokens], 1)
    each = policy(rows).logits[:, :-1].log_softmax(-1).gather(2, listed.tokens[..., None])[..., 0]
    p = torch.where(listed.mask, each, 0.0).sum(1).exp().detach()
    assert float(p.sum()) == pytest.approx(1.0, abs=1e-5)
    counts: dict[tuple[int, ...], int] = {}
    for episode in groups[0]:
        key = tuple(episode.spans[1].tokens.tolist())
        counts[key] = counts.get(key, 0) + 1
    for row in range(len(p)):
        key = tuple(listed.tokens[row, listed.mask[row]].tolist())
        expected = 4000 * float(p[row])
        assert abs(counts.get(key, 0) - expected) < 5 * max(expected, 1) ** 0.5


def test_what_a_seed_draws_depends_on_nothing_else():
    policy = random_policy()
    how = Sampling(max_tokens=3, stop_tokens=ENDING.stop_tokens)
    many = [e.reply for e in drawn(policy, how, n=20)[0][1]]
    few = [e.reply for e in drawn(policy, how, n=7, prompts=(1,))[0][0]]
    assert many[:7] == few
    assert len(set(many)) > 3


def test_uniforms_are_uniform_and_go_on():
    numbers = uniforms(np.arange(2000, dtype=np.uint64), 5)
    assert np.array_equal(numbers[:, :3], uniforms(np.arange(2000, dtype=np.uint64), 3))
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert np.allclose(numbers.mean(0), 0.5, atol=0.03)
    assert np.allclose(numbers.var(0), 1 / 12, atol=0.01)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(5)).max() < 0.1


def test_greedy_takes_the_likeliest_and_noise_swaps_it_with_the_second():
    policy = random_policy()
    how = Sampling(max_tokens=1, temperature=0.0)
    best = policy.table[policy.trunk.row(0)].argsort(descending=True)
    assert drawn(policy, how, n=1)[0][0][0].spans[1].tokens.tolist() == [int(best[0])]
    assert drawn(policy, how, n=1, noise=swapped(1.0))[0][0][0].spans[1].tokens.tolist() == [int(best[1])]


def test_a_noisy_sampler_records_what_it_really_drew_from():
    policy = random_policy()
    how = Sampling(max_tokens=3, stop_tokens=ENDING.stop_tokens)
    batch = collate(drawn(policy, how, n=200, noise=swapped(0.3))[0])
    logp = Autoregressive()(policy, batch, ("logp",))["logp"].detach()
    off = (logp - batch.behavior)[batch.mask].abs() > 1e-4
    assert 0.2 < float(off.float().mean()) < 0.4


def test_what_cannot_be_done_is_refused():
    policy, sampler = random_policy(), StepSampler(random_policy())
    with pytest.raises(ValueError, match="stop_strings"):
        asyncio.run(sampler.sample([4], Sampling(stop_strings=("a",)), [0]))
    with pytest.raises(ValueError, match="empty"):
        asyncio.run(sampler.sample([], Sampling(), [0]))
    with pytest.raises(ValueError, match="prompt 2"):
        ENDING.prompt(2)
    with pytest.raises(ValueError, match="alphabet"):
        policy.set(0, "xy", {"a": 1.0})
