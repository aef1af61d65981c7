"""The base methods side by side: the same gradient on fresh data, the exact one in expectation where promised."""

import importlib
import itertools
import math
import pkgutil

import pytest
import torch

import guerdon.methods
from guerdon.advantages.correction import per_sequence
from guerdon.losses.policy import Capped, Clip, Corrected, DualClip, MeanRatioClip, PolicyGradient
from guerdon.losses.value import PlainValueLoss, ValueLoss
from guerdon.method import Card, Method, Term
from guerdon.methods.cispo import cispo
from guerdon.methods.dapo import dapo
from guerdon.methods.dpo import dpo
from guerdon.methods.dr_grpo import dr_grpo
from guerdon.methods.grpo import grpo
from guerdon.methods.gspo import gspo
from guerdon.methods.ppo import ppo
from guerdon.methods.reinforce import reinforce
from guerdon.methods.reinforce_pp import reinforce_pp, reinforce_pp_baseline
from guerdon.methods.rloo import rloo, rloo_clipped
from guerdon.methods.sft import sft
from guerdon.methods.tis import tis, truncated_importance
from guerdon.reduce import group_mean, sequence_mean, token_mean
from tests.batches import make_batch, total

POLICY = {
    "reinforce": reinforce(),
    "rloo": rloo(beta=0.1),
    "rloo_clipped": rloo_clipped(),
    "grpo": grpo(beta=0.1),
    "dr_grpo": dr_grpo(max_new_tokens=4),
    "dapo": dapo(max_new_tokens=16, overlong_buffer=4),
    "reinforce_pp": reinforce_pp(),
    "reinforce_pp_baseline": reinforce_pp_baseline(),
    "ppo": ppo(),
    "gspo": gspo(),
    "cispo": cispo(),
    "tis": tis(),
}
ALL = {**POLICY, "dpo": dpo(), "sft": sft()}
LAST_TOKENS = [[0, 2, 1], [1, 1, 0, 2], [2], [0, 0]]


class Table:
    """A softmax per position as the likelihood: position t of every sequence draws from row t."""

    def __init__(self, requires_grad=True):
        self.logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).double()
        self.logits.requires_grad_(requires_grad)

    def logp(self, tokens):
        rows = self.logits.log_softmax(-1)
        return torch.cat([rows[torch.arange(len(t)), torch.tensor(t)] for t in tokens]).float()


def fresh_batch(table, returns, **streams):
    logp = table.logp(LAST_TOKENS).detach()
    behavior = [x.tolist() for x in logp.split([len(t) for t in LAST_TOKENS])]
    ref = [[-1.0] * len(t) for t in LAST_TOKENS]
    value = [[0.1] * len(t) for t in LAST_TOKENS]
    batch = make_batch(returns, tokens=LAST_TOKENS, behavior=behavior, ref=ref, value=value, **streams)
    return batch.put(old=batch.behavior)


def gradient(method, table, batch, terms=None):
    table.logits.grad = None
    out = {"logp": table.logp(LAST_TOKENS)}
    sum(total(term, out, batch) for term in terms or method.terms).backward()
    return table.logits.grad.clone()


def test_every_method_file_has_a_card_of_its_own():
    modules = [
        importlib.import_module(f"guerdon.methods.{m.name}") for m in pkgutil.iter_modules(guerdon.methods.__path__)
    ]
    cards = [module.CARD for module in modules if hasattr(module, "CARD")]
    assert all(isinstance(card, Card) for card in cards)
    assert len({card.slug for card in cards}) == len(cards)
    assert {"grpo", "ppo", "rloo", "dpo", "sft"} <= {card.slug for card in cards}


@pytest.mark.parametrize("name", ALL)
def test_every_method_records_what_it_was_made_with(name):
    assert isinstance(ALL[name], Method)
    assert ALL[name].settings


def test_settings_are_the_arguments_as_given():
    assert grpo(beta=0.3, epochs=2).settings == {
        "clip_low": 0.2,
        "clip_high": 0.2,
        "beta": 0.3,
        "eps": 1e-6,
        "reduce": sequence_mean,
        "epochs": 2,
        "minibatches": 1,
    }
    assert tis(cap=3.0).settings["correction_cap"] == 3.0


@pytest.mark.parametrize("reduce", [token_mean, sequence_mean])
def test_on_fresh_data_all_ratios_are_one_and_all_gradients_reinforce(reduce):
    """Equal advantages and aggregation: PPO, GRPO, GSPO, CISPO and REINFORCE take the same first step."""
    table = Table()
    batch = grpo().estimator(fresh_batch(table, [1.0, 0.0, 0.0, 0.5]))
    expected = gradient(None, table, batch, [Term(PolicyGradient(), reduce)])
    assert expected.abs().sum() > 0.1
    for objective in (Clip(), Capped(), Corrected(Clip())):
        assert torch.allclose(gradient(None, table, batch, [Term(objective, reduce)]), expected, atol=1e-7)


def test_the_sequence_ratio_takes_the_same_first_step_under_the_sequence_mean():
    table = Table()
    batch = grpo().estimator(fresh_batch(table, [1.0, 0.0, 0.0, 0.5]))
    expected = gradient(None, table, batch, [Term(PolicyGradient(), sequence_mean)])
    assert torch.allclose(gradient(None, table, batch, [Term(MeanRatioClip(), sequence_mean)]), expected, atol=1e-7)


def test_rloo_with_a_clipped_sequence_ratio_starts_as_rloo():
    table = Table()
    batch = rloo().estimator(fresh_batch(table, [1.0, 0.0, 0.0, 0.5]))
    assert torch.allclose(gradient(rloo_clipped(), table, batch), gradient(rloo(), table, batch), atol=1e-7)


@pytest.mark.parametrize(
    "name", [n for n in POLICY if n not in ("reinforce_pp", "reinforce_pp_baseline", "ppo", "rloo", "rloo_clipped")]
)
@pytest.mark.parametrize("returns", [[0.7] * 4, [0.7, 0.7, 0.7, 0.70000005]], ids=str)
def test_without_signal_only_the_kl_term_trains(name, returns):
    method, table = POLICY[name], Table()
    batch = method.estimator(fresh_batch(table, returns))
    policy = [term for term in method.terms if term.name == "policy"]
    assert gradient(method, table, batch, policy).abs().max() <= 1e-7
    others = [term for term in method.terms if term.name == "kl"]
    if others:
        assert gradient(method, table, batch, others).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "gspo", "cispo", "tis", "rloo", "rloo_clipped"])
def test_group_baselines_ignore_a_shift_and_refuse_groups_of_one(name):
    method, table = POLICY[name], Table()
    plain = gradient(method, table, method.estimator(fresh_batch(table, [1.0, 0.0, 0.0, 0.5])))
    shifted = gradient(method, table, method.estimator(fresh_batch(table, [11.0, 10.0, 10.0, 10.5])))
    assert torch.allclose(plain, shifted, atol=1e-5)
    assert method.estimator.min_group == 2


@pytest.mark.parametrize("name", POLICY)
def test_every_policy_method_has_a_finite_gradient_on_stale_data(name):
    method, table = POLICY[name], Table()
    batch = fresh_batch(table, [1.0, 0.0, 0.0, 0.5])
    batch = method.estimator(batch.put(behavior=batch.behavior - 0.3, old=batch.behavior - 0.2))
    found = gradient(method, table, batch)
    assert torch.isfinite(found).all()
    assert found.abs().sum() > 0 or name == "gspo"


def test_reinforce_pp_normalises_token_returns_over_the_batch():
    batch = make_batch([1.0, 0.0], groups=[0, 1])
    advantage = reinforce_pp(beta=0.0).estimator(batch).advantage
    assert advantage.tolist() == pytest.approx([0.8660, 0.8660, -0.8660, -0.8660], abs=1e-4)


def test_the_baseline_form_compares_within_groups_before_it_normalises():
    batch = make_batch([1.0, 0.0, 11.0, 10.0], groups=[0, 0, 1, 1])
    plain = reinforce_pp(beta=0.0).estimator(batch).advantage.view(-1, 2)[:, 0]
    based = reinforce_pp_baseline(beta=0.0).estimator(batch).advantage.view(-1, 2)[:, 0]
    assert plain[0] < 0
    assert based.tolist() == pytest.approx([0.9354, -0.9354, 0.9354, -0.9354], abs=1e-4)  # sqrt(7/8)


def test_a_penalty_on_the_kl_brings_the_reference_and_none_does_without():
    for make in (grpo, rloo, rloo_clipped, reinforce_pp, reinforce_pp_baseline, ppo):
        assert "ref" in make(beta=0.1).roles
        assert make(beta=0.1).roles["ref"].frozen
        assert "ref" not in make(beta=0.0).roles
        estimator = make(beta=0.0).estimator
        assert "ref" not in estimator.needs


def test_ppo_whitens_after_it_has_set_the_value_targets():
    table = Table()
    method = ppo(beta=0.0, lam=1.0)
    batch = method.estimator(fresh_batch(table, [1.0, 0.0, 0.0, 0.5]))
    assert batch.stream("return").tolist() == pytest.approx([1.0] * 3 + [0.0] * 5 + [0.5] * 2)
    assert batch.advantage.mean().item() == pytest.approx(0.0, abs=1e-6)
    assert batch.advantage.std().item() == pytest.approx(1.0, abs=1e-4)
    value = method.roles["value"]
    loss = total(value.terms[0], {"value": torch.full((10,), 0.1)}, batch)
    assert loss.item() == pytest.approx((3 * 0.81 + 5 * 0.01 + 2 * 0.16) / 20)
    assert value.head == "value"
    assert not value.frozen


def test_ppo_takes_its_variants_as_values():
    method = ppo(dual_clip=3.0, value_clip=None)
    assert method.terms[0].objective == DualClip(0.2, 0.2, 3.0)
    assert method.roles["value"].terms[0].objective == PlainValueLoss()
    assert ppo().roles["value"].terms[0].objective == ValueLoss(0.2)


def test_the_overlong_reward_of_dapo_does_not_make_a_group_informative():
    method = dapo(max_new_tokens=16, overlong_buffer=4)
    assert [reward.name for reward in method.rewards] == ["overlong"]
    assert method.filters[0].ignore == ("overlong",)
    assert dapo().rewards == ()


def test_importance_weights_apply_to_policy_terms_of_any_method_and_to_nothing_else():
    method = truncated_importance(grpo(beta=0.1), cap=1.5, level=per_sequence)
    assert [type(term.objective).__name__ for term in method.terms] == ["Corrected", "KLToReference"]
    assert "old" in method.estimator.needs
    table = Table()
    batch = fresh_batch(table, [1.0, 0.0, 0.0, 0.5])
    batch = method.estimator(batch.put(behavior=batch.behavior - math.log(4)))
    corrected = gradient(method, table, batch, method.terms[:1])
    assert torch.allclose(corrected, 1.5 * gradient(method, table, batch, grpo().terms), atol=1e-6)


def test_dpo_trains_on_pairs_and_keeps_groups_whole():
    method = dpo()
    objective = method.terms[0].objective
    assert objective.unit == "group"
    assert not objective.inert_without_advantage
    assert method.terms[0].reduce is group_mean
    assert method.estimator is None


# --- in expectation --------------------------------------------------------------------------------------------------

REWARDS = [1.0, 0.0, 0.3]


def expected_gradient(method, n=3):
    """Gradient of a one-token, three-answer policy expected over every possible group of n, and the exact one."""
    logits = torch.tensor([0.2, -0.4, 0.5], dtype=torch.float64, requires_grad=True)
    probabilities = logits.softmax(0)
    exact = torch.autograd.grad(-(probabilities * torch.tensor(REWARDS).double()).sum(), logits, retain_graph=True)[0]
    expected = torch.zeros(3, dtype=torch.float64)
    for picks in itertools.product(range(3), repeat=n):
        logp = logits.log_softmax(0)[list(picks)]
        batch = make_batch([REWARDS[p] for p in picks], masks=[[1]] * n, behavior=[[x] for x in logp.tolist()])
        loss = sum(total(term, {"logp": logp}, method.estimator(batch)) for term in method.terms)
        weight = math.prod(probabilities[p].item() for p in picks)
        expected += weight * torch.autograd.grad(loss, logits, retain_graph=True)[0]
    return expected, exact


def test_rloo_is_unbiased():
    expected, exact = expected_gradient(rloo())
    assert torch.allclose(expected, exact, atol=1e-6)


def test_dr_grpo_is_the_exact_gradient_times_n_minus_one_over_n():
    expected, exact = expected_gradient(dr_grpo(max_new_tokens=1))
    assert torch.allclose(expected, exact * 2 / 3, atol=1e-6)


def test_reinforce_with_the_mean_of_the_batch_is_the_exact_gradient_times_n_minus_one_over_n():
    expected, exact = expected_gradient(reinforce())
    assert torch.allclose(expected, exact * 2 / 3, atol=1e-6)


def test_grpo_points_elsewhere():
    expected, exact = expected_gradient(grpo())
    assert torch.cosine_similarity(expected, exact, dim=0) < 0.999
