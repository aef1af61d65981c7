"""The terms by hand, the estimate enumerated, and its gradient where either the model or the reference is right."""

import asyncio
import itertools
import math

import pytest
import torch

from guerdon.losses.auxiliary import bradley_terry
from guerdon.losses.divergence import k3
from guerdon.marks import mark
from guerdon.methods import drpo as file
from guerdon.methods.drpo import ByReward, DoublyRobust, LoggedResidual, doubly_robust, drpo, ratio, toss_up
from guerdon.metrics import values
from guerdon.rewards.base import PerEpisode
from guerdon.rollouts.logged import beside_logged
from guerdon.rollouts.single import single_turn
from guerdon.types import Episode, Span, Task
from tests.batches import make_batch
from tests.invariants.world import build


def loss(name, out, batch, method=None):
    method = method or drpo()
    (term,) = (term for term in method.terms if term.name == name)
    return term.scale * (term.reduce(batch, batch.stream(term.mask)) * term.objective(out, batch)).sum()


def batch(returns, logged, ref, **settings):
    """Replies of one token."""
    one = make_batch(returns, masks=[[1]] * len(returns), ref=[[r] for r in ref], logged=[[x] for x in logged])
    return drpo(**settings).estimator(one)


def test_the_residual_term_by_hand():
    ready = batch([1 - 0.7], [1.0], [-3.5])
    assert float(loss("residual", {"logp": torch.tensor([-3.0])}, ready)) == pytest.approx(1.4838491, abs=1e-6)


@pytest.mark.parametrize(
    ("log_w", "clip", "expected"), [(0.5, 2.5, 1.648721), (5.0, 2.5, 2.5), (-5.0, 2.5, 0.4), (5.0, 0.0, math.exp(5))]
)
def test_ratios_are_clipped_on_both_sides_or_not_at_all(log_w, clip, expected):
    assert float(ratio(torch.tensor(log_w), clip)) == pytest.approx(expected, rel=1e-5)


def test_the_ratio_is_that_of_the_whole_reply_and_has_no_gradient():
    one = make_batch([0.5], masks=[[0, 1, 1]], ref=[[-9.0, -1.0, -1.0]], logged=[[1.0] * 3])
    ready = drpo().estimator(one)
    logp = torch.tensor([-7.0, -0.9, -0.8], requires_grad=True)
    LoggedResidual()({"logp": logp}, ready).sum().backward()
    assert logp.grad.tolist() == pytest.approx([0.0, -0.5 * math.exp(0.3), -0.5 * math.exp(0.3)], abs=1e-6)


def test_the_direct_term_by_hand_with_and_without_the_baseline():
    out = {"logp": torch.tensor([-2.0, -4.0])}
    plain = batch([0.9, 0.3], [0.0, 0.0], [0.0, 0.0], baseline=0.0)
    assert float(loss("direct", out, plain)) == pytest.approx(1.5)
    assert float(loss("direct", out, batch([0.9, 0.3], [0.0, 0.0], [0.0, 0.0]))) == pytest.approx(0.0, abs=1e-6)


def test_the_kl_is_of_samples_only_by_hand():
    assert float(k3(torch.tensor(0.2))) == pytest.approx(0.0187308, abs=1e-7)
    ready = batch([0.5, 1.0], [0.0, 1.0], [-1.2, -9.0])
    found = loss("kl", {"logp": torch.tensor([-1.0, -1.0])}, ready)
    assert float(found) == pytest.approx(0.04 * 0.0187308, abs=1e-7)


def test_switches_leave_one_half_of_it():
    assert [term.name for term in drpo(direct=0.0).terms] == ["residual", "kl"]
    assert [term.name for term in drpo(residual=0.0, beta=0.0).terms] == ["direct"]
    with pytest.raises(ValueError, match="1 or more"):
        drpo(ratio_clip=0.5)


# --- the estimate, over all pairs and replies ------------------------------------------------------------------------

REWARDS = torch.tensor([1.0, -0.5, 0.2, 0.0], dtype=torch.float64)
WINS = bradley_terry(REWARDS[:, None], REWARDS[None])
REF = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
POLICY = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
UNIFORM = torch.full((4,), 0.25, dtype=torch.float64)


def expected_psi(policy, g, supposed, direct=True):
    """E of psi over y1, y2 from REF and over labels."""
    value = 0.0
    for a, b, first in itertools.product(range(4), range(4), (True, False)):
        chance = REF[a] * REF[b] * (WINS[a, b] if first else 1 - WINS[a, b])
        y = torch.tensor([a, b])
        z = torch.tensor([1.0, 0.0] if first else [0.0, 1.0]).double()
        own = (policy @ g)[y.flip(0)] if direct else torch.zeros(2).double()
        value += chance * doubly_robust(own, (policy / supposed)[y], z, g[y, y.flip(0)])
    return float(value)


TRUTH = float(POLICY @ WINS @ REF)


@pytest.mark.parametrize(
    ("g", "supposed", "right"),
    [(WINS, REF, True), (WINS, UNIFORM, True), (1 - WINS, REF, True), (1 - WINS, UNIFORM, False)],
    ids=["both right", "model right", "reference right", "both wrong"],
)
def test_the_estimate_is_right_if_either_is(g, supposed, right):
    assert (abs(expected_psi(POLICY, g, supposed) - TRUTH) < 1e-12) is right


def test_without_a_model_it_is_importance_sampling_and_half_for_the_reference_itself():
    assert expected_psi(POLICY, torch.zeros(4, 4).double(), REF, direct=False) == pytest.approx(TRUTH)
    assert expected_psi(REF, 1 - WINS, REF) == pytest.approx(0.5)


@pytest.mark.parametrize("baseline", [0.0, 0.5])
@pytest.mark.parametrize(
    ("g", "supposed", "right"),
    [(WINS, UNIFORM, True), (1 - WINS, REF, True), (1 - WINS, UNIFORM, False)],
    ids=["model right", "reference right", "both wrong"],
)
def test_the_expected_gradient_of_the_loss_is_that_of_the_chance_to_win(g, supposed, right, baseline):
    """Over every pair, label and sample; ratios unclipped, no KL. The loss counts logged replies by their mean."""
    method = drpo(beta=0.0, ratio_clip=0.0, baseline=baseline)
    logits = POLICY.log().clone().requires_grad_()
    exact = torch.autograd.grad(-(logits.softmax(0) @ WINS @ REF), logits)[0]
    logp = logits.log_softmax(0)
    total = torch.zeros((), dtype=torch.float64)
    for a, b, first, y in itertools.product(range(4), range(4), (True, False), range(4)):
        chance = float(REF[a] * REF[b] * (WINS[a, b] if first else 1 - WINS[a, b]) * POLICY[y])
        z = 1.0 if first else 0.0
        weights = [z - float(g[a, b]), 1 - z - float(g[b, a]), float(g[y, a] + g[y, b]) / 2]
        one = make_batch(weights, masks=[[1]] * 3, logged=[[1.0], [1.0], [0.0]])
        one = method.estimator(one.put(ref=supposed.log()[[a, b, y]]))
        total = total + chance * sum(loss(term.name, {"logp": logp[[a, b, y]]}, one, method) for term in method.terms)
    found = torch.autograd.grad(total, logits)[0]
    assert bool((found - exact).abs().max() < 1e-6) is right


# --- scores and rollouts ---------------------------------------------------------------------------------------------


def episode(text, logged=None):
    spans = [Span([1]), Span([3], [0.0], parent=0, message={"role": "assistant", "content": text})]
    return Episode(Task("t", "q"), spans, notes={"logged": logged} if logged else {})


GROUP = [episode("aaa", "chosen"), episode("aa", "rejected"), episode("a"), episode("aaaa")]
LENGTH = PerEpisode("length", lambda one: float(len(one.reply)))


def scores(prefer, group=GROUP):
    return [score.value for score in asyncio.run(DoublyRobust(prefer)(group, None))]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_scores_are_residuals_of_the_logged_and_opinions_of_the_drawn():
    found = scores(ByReward(LENGTH, scale=2.0))
    surprise = 1 - sigmoid(0.5)
    drawn = [(sigmoid(-1.0) + sigmoid(-0.5)) / 2, (sigmoid(0.5) + sigmoid(1.0)) / 2]
    assert found == pytest.approx([surprise, -surprise, *drawn], abs=1e-6)
    assert scores(toss_up) == [0.5, -0.5, 0.5, 0.5]


def test_where_the_model_says_nothing_there_is_no_score():
    silent = PerEpisode("silent", lambda one: None if one.reply == "aa" else 1.0)
    assert scores(ByReward(silent)) == [None, None, None, None]
    silent = PerEpisode("silent", lambda one: None if one.reply == "a" else 1.0)
    assert scores(ByReward(silent)) == [0.5, -0.5, None, 0.5]


def test_a_group_without_its_logged_pair_is_refused():
    with pytest.raises(ValueError, match="logged"):
        scores(toss_up, GROUP[1:])


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(ValueError, match="more than 0"):
        ByReward(LENGTH, scale)


def test_it_trains_on_rollouts_beside_logged_pairs_and_counts_only_what_was_sampled():
    world = build(file, drpo(prefer=ByReward(PerEpisode("h", lambda one: one.reply.count("h")))))
    tasks = {"tasks": lambda i: Task(str(i), [1, 3 + i % 5, 4], {"chosen": "hh", "rejected": "dd"})}
    source = world.source([], rollout=logged_letters, n=2, **tasks)
    for step in world.train(source, 2):
        assert step["sampled/rollouts"] == 8
        assert step["gap/mean"] < 1e-4
        assert {"loss/direct", "loss/residual", "loss/kl"} <= step.keys()


async def logged_letters(task, context):
    """As `beside_logged`, for a vocabulary whose tokenizer cannot write."""

    def written(label):
        tokens = [ord(x) - 97 for x in task.data[label]] + [2]
        message = {"role": "assistant", "content": task.data[label]}
        spans = [Span(context.chat.prompt(task.prompt)), Span(tokens, [0.0] * len(tokens), 0, message=message)]
        return mark(Episode(task, spans, notes={"logged": label}), logged=1.0, temperature=context.how.temperature)

    return [written("chosen"), written("rejected"), *await single_turn(task, context)]


def test_the_method_rolls_out_beside_logged_pairs():
    assert drpo().rollout is beside_logged


def test_without_marks_it_says_what_is_missing():
    with pytest.raises(ValueError, match="beside_logged"):
        drpo().estimator(make_batch([1.0, 0.0]))


def test_statistics_of_a_step_name_the_terms():
    world = build(file)
    assert {"loss/direct", "loss/residual", "loss/kl"} <= values(world.update(world.groups())).keys()
