"""Draws from logits: the inverse CDF at its edges, truncation without sorting, and what is recorded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.samplers.base import Sampling
from guerdon.samplers.draw import Rule, draw

BELOW_ONE = float(np.nextafter(1.0, 0.0))


def by_hand(probs, uniforms, **how):
    logits = torch.tensor(probs, dtype=torch.float64).log().float()
    return draw(logits.expand(len(uniforms), -1), Rule.of(Sampling(**how)), uniforms)


def test_a_uniform_picks_the_token_whose_stretch_it_falls_in():
    drawn = by_hand([0.2, 0.0, 0.5, 0.3], [0.0, 0.19, 0.21, 0.69, 0.71, BELOW_ONE])
    assert drawn.tokens == [0, 0, 2, 2, 3, 3]
    np.testing.assert_allclose(np.exp(drawn.logprobs), [0.2, 0.2, 0.5, 0.5, 0.3, 0.3], rtol=1e-6)


def test_tokens_of_zero_probability_at_either_end_are_never_drawn():
    for vocab in (3, 255, 256, 257, 1000, 2048):
        probs = np.zeros(vocab)
        probs[vocab // 2] = 1
        assert by_hand(probs, [0.0, 0.5, BELOW_ONE]).tokens == [vocab // 2] * 3


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    vocab=st.sampled_from([5, 256, 300, 1024, 5000]),
    top_k=st.sampled_from([0, 1, 3, 400]),
    top_p=st.sampled_from([1.0, 0.05, 0.5, 0.95, 0.9999]),
    min_p=st.sampled_from([0.0, 0.01, 0.5]),
    spread=st.sampled_from([0.01, 1.0, 8.0, 60.0]),
)
def test_truncation_agrees_with_sorting_everything(seed, vocab, top_k, top_p, min_p, spread):
    random = np.random.default_rng(seed)
    logits = torch.from_numpy(random.normal(0, spread, (4, vocab)).astype(np.float32))
    uniforms = [0.0, random.random(), random.random(), BELOW_ONE]
    how = Sampling(top_k=top_k, top_p=top_p, min_p=min_p, entropy=True)
    drawn = draw(logits, Rule.of(how), uniforms)
    for row, token in enumerate(drawn.tokens):
        probs = torch.softmax(logits[row].double(), -1).numpy()
        kept = probs >= np.sort(probs)[::-1][min(top_k or vocab, vocab) - 1]
        probs = np.where(kept, probs, 0) / probs[kept].sum()
        order = np.argsort(-probs, kind="stable")
        ahead = np.cumsum(probs[order]) - probs[order]
        if np.abs(ahead - top_p).min() < 1e-5:
            continue  # which side of top_p a sum falls on is rounding's choice
        probs[order[ahead >= top_p]] = 0
        probs[probs < min_p * probs.max()] = 0
        probs /= probs.sum()
        assert probs[token] > 0
        assert drawn.logprobs[row] == pytest.approx(np.log(probs[token]), abs=1e-4)
        nonzero = probs[probs > 0]
        assert drawn.entropy[row] == pytest.approx(-(nonzero * np.log(nonzero)).sum(), abs=1e-3)
        if how.truncated:
            assert token in drawn.support[row]
            assert set(np.flatnonzero(probs > 1e-30)) <= set(drawn.support[row]) <= set(np.flatnonzero(probs))


def test_a_row_draws_the_same_alone_and_among_others():
    logits = torch.randn(8, 3000, generator=torch.Generator().manual_seed(0))
    uniforms = np.random.default_rng(0).random(8).tolist()
    rule = Rule.of(Sampling(top_p=0.9, temperature=0.7))
    together = draw(logits, rule, uniforms)
    for i in range(8):
        alone = draw(logits[i : i + 1], rule, uniforms[i : i + 1])
        assert (alone.tokens[0], alone.logprobs[0]) == (together.tokens[i], together.logprobs[i])


def test_frequencies_follow_the_probabilities_over_many_blocks():
    vocab, n = 1000, 20000
    probs = np.random.default_rng(1).dirichlet(np.full(vocab, 0.3))
    uniforms = ((np.arange(n) + 0.5) / n).tolist()
    count = np.bincount(by_hand(probs, uniforms).tokens, minlength=vocab)
    assert np.abs(count - n * probs).max() <= 2  # evenly spaced uniforms: a stretch of length p holds n p of them


def test_ties_at_the_cut_are_kept_together():
    drawn = by_hand([0.4, 0.2, 0.2, 0.2], [0.5], top_k=2)
    assert drawn.support[0].tolist() == [0, 1, 2, 3]


def test_rows_without_a_distribution_have_no_log_probability():
    logits = torch.stack([torch.full((300,), -torch.inf), torch.full((300,), torch.nan), torch.zeros(300)])
    for temperature in (0.0, 1.0):
        drawn = draw(logits, Rule.of(Sampling(temperature=temperature)), [0.5] * 3)
        assert np.isnan(drawn.logprobs).tolist() == [True, True, False]
