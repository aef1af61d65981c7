import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.evaluation.best_of_n import best_of, best_of_n, kl_of_best, weights


def by_hand(proxy, gold, k):
    """The mean over all subsets of k, a tie broken evenly."""
    found = []
    for chosen in itertools.combinations(range(len(proxy)), k):
        top = max(proxy[i] for i in chosen)
        tied = [gold[i] for i in chosen if proxy[i] == top]
        found.append(sum(tied) / len(tied))
    return sum(found) / len(found)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), min_size=1, max_size=7))
def test_it_is_the_mean_over_all_subsets(samples):
    proxy, gold = [float(p) for p, _ in samples], [float(g) for _, g in samples]
    expected = [by_hand(proxy, gold, k) for k in range(1, len(samples) + 1)]
    assert best_of(proxy, gold) == pytest.approx(expected)


def test_weights_are_the_formula_of_binomials():
    for n, k in ((1, 1), (5, 1), (5, 3), (5, 5), (40, 7)):
        exact = [math.comb(i - 1, k - 1) / math.comb(n, k) for i in range(1, n + 1)]
        assert weights(n, k) == pytest.approx(exact)
    assert weights(2000, 300).sum() == pytest.approx(1)


def test_kl_of_the_best_of_four():
    assert kl_of_best(4) == pytest.approx(0.6362944, abs=1e-7)
    assert kl_of_best(1) == 0


def test_an_over_optimised_proxy_turns_where_it_should():
    """Gold grows with proxy up to a point and then falls: best of n passes that point."""
    numbers = np.random.default_rng(0)
    samples = {}
    for prompt in range(60):
        proxy = numbers.normal(size=64)
        samples[str(prompt)] = (proxy.tolist(), (-((proxy - 1) ** 2)).tolist())
    found = best_of_n(samples)
    assert found.prompts == 60
    assert [one.n for one in found.points] == list(range(1, 65))
    assert found.peak_low <= found.peak <= found.peak_high
    assert 2 <= found.peak <= 16
    assert found.gain.low > 0 > found.loss.high
    assert all(a.proxy.mean < b.proxy.mean for a, b in itertools.pairwise(found.points))
    assert best_of_n(samples) == found


def test_a_proxy_that_is_the_gold_never_turns():
    found = best_of_n({str(i): ([1.0, 2.0, i], [1.0, 2.0, i]) for i in range(5)})
    assert found.peak == 3
    assert found.loss.mean == 0


def test_prompts_with_more_samples_are_used_up_to_the_fewest():
    found = best_of_n({"a": ([0, 1], [1, 0]), "b": ([0, 1, 2], [0, 1, 2])})
    assert len(found.points) == 2
    assert found.points[1].gold.mean == pytest.approx((0 + (1 + 2 + 2) / 3) / 2)


@pytest.mark.parametrize("proxy", [[], [1, 2], [math.nan]])
def test_what_is_no_set_of_samples_is_refused(proxy):
    with pytest.raises(ValueError, match=r"expected one|not finite"):
        best_of(proxy, [1.0])
