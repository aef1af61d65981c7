"""Alarms: silence on healthy runs of many seeds, one alarm for each disease within the window, nothing forgotten."""

import json
from dataclasses import replace

import numpy as np
import pytest

from guerdon.alarms import Limits, check
from guerdon.types import Episode, Score, Span, Task
from guerdon.watch import Watch, condense
from tests.streams import LIMIT, WEIGHTS, run

WATCHED = Limits(watch_metric="exact")
ONSET = 60
"""Step at which a disease begins, in a run of 120."""


def alarms(stream, weights=WEIGHTS, limits=WATCHED):
    watch = Watch(weights, limits)
    return [alarm for step in stream for alarm in watch.see(*step)]


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_run_is_silent(seed):
    assert alarms(run(seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [(8, 4), (2, 8)])
def test_two_hundred_healthy_runs_are_silent(size):
    groups, n = size
    assert [seed for seed in range(200) if alarms(run(1000 + seed, groups=groups, n=n))] == []


# --- diseases, each from ONSET on -------------------------------------------------------------------------------------


def after(change):
    """A change of single episodes as a disease that begins at ONSET."""

    def disease(step, groups, dice):
        for one in (one for group in groups for one in group):
            if step >= ONSET:
                change(one, step, dice)

    return disease


def stuck(one, step, dice):
    one.form = False


def huge_penalty(one, step, dice):
    one.penalty = -20.0 * float(dice.random())


def longer_is_better(one, step, dice):
    one.right = dice.random() < 1 / (1 + np.exp((120 - one.length) / 15))
    one.status = "right" if one.right else "wrong"


def shorter_is_better(one, step, dice):
    one.right = dice.random() < 1 / (1 + np.exp((one.length - 90) / 15))
    one.status = "right" if one.right else "wrong"


def pleases(one, step, dice):
    one.exact = float(dice.random() < max(0.0, 0.5 - 0.5 * (step - ONSET) / 25))


def breaks(one, step, dice):
    one.status = "failed" if dice.random() < 0.4 else one.status


def rambles(one, step, dice):
    one.length = LIMIT if dice.random() < 0.8 else one.length


def solved(one, step, dice):
    one.right, one.form, one.status, one.penalty = True, True, "right", 0.0


def evades(status):
    def change(one, step, dice):
        one.status = status if one.status != "right" and dice.random() < 0.8 else one.status
        one.right = one.status == "right" and dice.random() < 0.3
        one.status = "right" if one.right else status

    return change


DISEASES = {
    "constant": (stuck, "think_format", "was 0 in all"),
    "dominant": (huge_penalty, "overlong", "of the differences in return within groups"),
    "length": (longer_is_better, "numeric", "goes with more tokens"),
    "length-": (shorter_is_better, "numeric", "goes with fewer tokens"),
    "diverging": (pleases, "exact", "rose by"),
    "failed": (breaks, "numeric", "failures of the verifier itself"),
    "unscored": (breaks, "unscored", "got no score"),
    "truncated": (rambles, "truncated", "were cut by the length limit"),
    "no_signal": (solved, "groups/no_signal", "taught nothing"),
    "jump": (evades("cannot_tell"), "numeric/cannot_tell", "rose from"),
    "jump-": (evades("no_answer"), "numeric/no_answer", "rose from"),
}


@pytest.mark.parametrize("name", DISEASES)
@pytest.mark.parametrize("seed", range(3))
def test_each_disease_is_called_by_its_name_within_the_window_and_once(name, seed):
    change, about, says = DISEASES[name]
    found = alarms(run(seed, steps=120, disease=after(change)))
    mine = [alarm for alarm in found if (alarm.kind, alarm.about) == (name.rstrip("-"), about)]
    late = WATCHED.trend if name == "diverging" else WATCHED.window
    assert len(mine) == 1
    assert ONSET <= mine[0].step <= ONSET + late
    assert says in mine[0].sentence
    assert all(isinstance(value, int | float) and np.isfinite(value) for value in mine[0].evidence.values())
    assert all(alarm.step >= ONSET for alarm in found)


# --- by hand ----------------------------------------------------------------------------------------------------------


def group(*told, lengths=None, task="t"):
    """Episodes with these values of rewards a, b, ... each."""
    made = []
    for values, length in zip(told, [3] * len(told) if lengths is None else lengths, strict=True):
        spans = [Span(np.array([1])), Span(np.zeros(length), np.zeros(length), parent=0)]
        scores = {name: Score(value) for name, value in zip("abc", values, strict=False)}
        made.append(Episode(Task(task, "q"), spans, scores))
    return made


def test_a_record_by_hand():
    """Returns 2a + b are (2, 1) and (0, 2, -); within groups (0.5, -0.5) and (-2/3, 4/3, -2/3)."""
    groups = [group((1.0, 0.0), (0.0, 1.0), lengths=[5, 9]), group((0.0, None), (1.0, None), (None, None))]
    record = condense(7, groups, {"truncated": 0.25, "loss": 3.0}, {"a": 2.0, "b": 1.0})
    assert (record["step"], record["groups"], record["episodes"]) == (7, 2, 5)
    assert record["mean"] == 1.0
    assert record["variance"] == pytest.approx(0.5 + 24 / 9)
    assert record["shares"] == {"truncated": 0.25}
    a, b = record["rewards"]["a"], record["rewards"]["b"]
    assert (a["n"], a["low"], a["high"]) == (4, 0.0, 1.0)
    assert a["covariance"] == pytest.approx(2 * 0.5 + 2 * 4 / 3)
    assert b["covariance"] == pytest.approx(-0.5)
    assert a["covariance"] + b["covariance"] == pytest.approx(record["variance"])
    assert (a["xx"], a["xy"], a["yy"], a["free"]) == (0.5, -0.5, 0.5, 1)  # lengths vary in the first group only


def test_ranks_share_ties():
    record = condense(1, [group((1.0,), (1.0,), (5.0,), (9.0,), lengths=[4, 3, 3, 2])], {}, {"a": 1.0})
    a = record["rewards"]["a"]
    assert (a["xx"], a["xy"], a["yy"]) == (4.5, -3.75, 4.5)  # ranks (1.5, 1.5, 3, 4) and (4, 2.5, 2.5, 1) about 2.5


def test_scores_of_spans_and_tokens_count_by_their_sum():
    episodes = group((0.0,), (0.0,))
    episodes[0].scores["a"] = Score(spans={1: 2.0}, tokens={1: np.ones(3)})
    assert condense(1, [episodes], {}, {"a": 1.0})["rewards"]["a"]["high"] == 5.0


def test_difficulty_is_no_correlation_with_length():
    """Easy tasks have short replies that are right, hard ones long replies that are wrong; within a task nothing."""
    dice = np.random.default_rng(0)

    def step(number):
        groups = []
        for easy in (True, False) * 4:
            lengths = (10 if easy else 100) + dice.integers(0, 9, 6)
            groups.append(group(*((float(dice.random() < (0.9 if easy else 0.1)),) for _ in lengths), lengths=lengths))
        return number, groups, {}

    assert alarms((step(number) for number in range(1, 60)), {"a": 1.0}) == []


def constant(values, steps=20):
    return [(step, [group(*((value,) for value in values))], {}) for step in range(1, steps + 1)]


@pytest.mark.parametrize("values", [[0.7] * 8, [0.7] * 7 + [0.7 + 5e-8], [-1e6] * 7 + [-1e6 + 0.5], [0.0, 0.0]])
def test_rounding_is_no_variation(values):
    found = alarms(constant(values), {"a": 1.0})
    assert [(alarm.kind, alarm.about, alarm.step) for alarm in found] == [("constant", "a", 20)]


@pytest.mark.parametrize("values", [[0.0, 1e-3], [0.0] * 7 + [1.0], [1e6, 1e6 + 2]])
def test_small_variation_is_variation(values):
    assert alarms(constant(values), {"a": 1.0}) == []


def test_a_reward_that_never_applies_is_called_absent():
    found = alarms(constant([None, None]), {"a": 1.0})
    assert [(alarm.kind, alarm.evidence["episodes"]) for alarm in found] == [("absent", 40)]


@pytest.mark.parametrize(
    ("before", "then", "weight", "alarmed"),
    [
        ([0.0, 1.0], 1.0, 1.0, False),  # learned
        ([0.0, 1.0], 0.0, 1.0, True),  # lost, or broken
        ([0.0, 1.0], 0.0, -1.0, False),  # a penalty that is avoided
        ([0.0, 1.0], 1.0, -1.0, True),
        ([0.0, 0.0], 0.0, 1.0, True),  # never worked
        ([0.0, 1.0], 0.5, 1.0, True),
    ],
)
def test_a_reward_that_came_to_stay_at_its_best_is_learned_and_not_broken(before, then, weight, alarmed):
    stream = [*constant(before, 25), *((step, *rest) for step, *rest in constant([then, then], 25))]
    found = alarms(stream, {"a": weight, "b": 1.0}, Limits(may_be_constant=("b",)))
    assert [alarm.about for alarm in found if alarm.kind == "constant"] == ["a"] * alarmed


def test_watched_rewards_and_those_that_may_be_constant_are_left_alone():
    assert alarms(constant([0.0, 0.0]), {"a": 0.0}) == []
    assert alarms(constant([0.0, 0.0]), {"a": 1.0}, Limits(may_be_constant=("a",))) == []


def test_the_first_reward_may_decide_unless_its_scale_drowns_the_others():
    dice = np.random.default_rng(0)
    draws = [(dice.integers(0, 2, 8), dice.integers(0, 2, 8)) for _ in range(20)]

    def stream(scale):
        return [
            (step, [group(*((scale * float(x), float(y)) for x, y in zip(*draw, strict=True)))], {})
            for step, draw in enumerate(draws, 1)
        ]

    assert alarms(stream(1), {"a": 1.0, "b": 0.1}) == []
    assert [(a.kind, a.about) for a in alarms(stream(100), {"a": 1.0, "b": 0.1})] == [("dominant", "a")]
    assert [(a.kind, a.about) for a in alarms(stream(1), {"b": 0.1, "a": 1.0})] == [("dominant", "a")]


def test_an_alarm_comes_once_and_again_only_after_it_was_over():
    shares = [0.9] * 40 + [0.45] * 40 + [0.9] * 40 + [0.1] * 40 + [0.9] * 40
    stream = [(step, [group((0.0,), (1.0,))] * 4, {"truncated": share}) for step, share in enumerate(shares, 1)]
    found = alarms(stream, {"a": 1.0})
    assert [alarm.kind for alarm in found] == ["truncated", "truncated"]  # 0.45 is below the limit but not clearly
    assert found[0].step == 10
    assert 160 < found[1].step <= 180


def test_a_metric_measured_now_and_then_is_compared_with_the_return_in_between():
    def stream(slope):
        for step in range(1, 301):
            metrics = {"eval/accuracy": 0.5 + slope * step / 300} if step % 25 == 0 else {}
            yield step, [group((step / 300,), (step / 300 + 0.1,))], metrics

    limits = Limits(watch_metric="eval/accuracy")
    (found,) = alarms(stream(-0.3), {"a": 1.0}, limits)
    assert (found.kind, found.step) == ("diverging", 250)  # the tenth time it is measured
    assert found.evidence["fall"] == pytest.approx(0.3 * 225 / 300)
    assert found.evidence["rise"] == pytest.approx(225 / 300)
    assert alarms(stream(0.1), {"a": 1.0}, limits) == []
    assert alarms(stream(-0.3), {"a": 1.0}, Limits()) == []


def falls(seed, likeness, steps=150):
    """Whether a metric whose neighbours are alike by this correlation is ever said to fall while the return rises."""
    dice, limits, drift = np.random.default_rng(seed), Limits(watch_metric="m"), 0.0
    points = []
    for step in range(1, steps + 1):
        drift = likeness * drift + dice.normal()
        points.append((step, step / steps, 0.6 + 0.03 * drift))
        if step % 4 == 0 and any(found.seen for found in check([], points[-limits.trend :], limits)):
            return True
    return False


@pytest.mark.parametrize(("likeness", "most"), [(0.0, 1), (0.5, 2), (0.8, 4)])
def test_a_metric_that_drifts_about_seldom_passes_for_one_that_falls(likeness, most):
    assert sum(falls(seed, likeness) for seed in range(25)) <= most


@pytest.mark.parametrize("cut", [1, 20, 63, 64, 100])
def test_a_restored_watch_goes_on_as_if_nothing_had_been(cut):
    stream = list(run(0, steps=120, disease=after(breaks)))
    whole, first, second = Watch(WEIGHTS, WATCHED), Watch(WEIGHTS, WATCHED), Watch(WEIGHTS, WATCHED)
    expected = [alarm for step in stream for alarm in whole.see(*step)]
    found = [alarm for step in stream[:cut] for alarm in first.see(*step)]
    second.restore(json.loads(json.dumps(first.state())))  # plain data, whatever it is written with
    found += [alarm for step in stream[cut:] for alarm in second.see(*step)]
    assert found == expected
    assert second.state() == whole.state()


def test_a_shorter_window_cuts_what_is_restored():
    first, second = Watch({"a": 1.0}), Watch({"a": 1.0}, Limits(window=10))
    for step in constant([0.0, 1.0], 30):
        first.see(*step)
    second.restore(first.state())
    assert [record["step"] for record in second.state()["records"]] == list(range(21, 31))


@pytest.mark.parametrize(
    ("groups", "metrics"),
    [
        ([], {}),
        ([[]], {"truncated": float("nan")}),
        ([group((1.0,))], {"truncated": 2.0, "verdict/a/failed": -1.0, "verdict/": 1.0, "verdict/x": 1.0}),
        ([group((1e300,), (-1e300,)), group((None,), (None,)), []], {"watched": float("inf")}),
        ([group(()), group((), ())], {"watched": 1.0, "groups/no_signal": 1.0}),
    ],
)
@pytest.mark.parametrize("weights", [{}, {"a": 1.0}, {"a": -2.0, "b": 1e-9, "gone": 1.0}])
def test_it_never_raises(groups, metrics, weights):
    watch = Watch(weights, Limits(watch_metric="watched"))
    for step in range(1, 45):
        assert all(alarm.sentence for alarm in watch.see(min(step, 40), groups, metrics))


@pytest.mark.parametrize(
    "wrong",
    [{"window": 8}, {"recent": 0}, {"trend": 5}, {"failed": 0.0}, {"truncated": 1.5}, {"correlation_floor": 0.6}],
)
def test_limits_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong)).replace('window', 'recent')} is"):
        replace(Limits(), **wrong)
