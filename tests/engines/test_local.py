"""The engine: steps, schedules, guards against NaN, and saving that continues exactly."""

from __future__ import annotations

import math

import pytest
import torch

from guerdon.collate import collate, unique_tokens
from guerdon.engines.base import NotFinite
from guerdon.engines.local import LocalEngine, Optim
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.method import Term
from guerdon.methods import grpo
from guerdon.metrics import values
from tests.invariants.world import build, gradients, llama


class Broken:
    """An objective that is NaN on the actions."""

    needs, wants, unit, inert_without_advantage = (), ("logp",), "sequence", False

    def __call__(self, out, batch):
        return torch.where(batch.mask, out["logp"] * math.nan, 0.0)


def batch_of(world):
    return world.learner.prepare("policy", collate(world.groups()))


def test_a_loss_that_is_not_finite_stops_before_the_weights_change():
    world = build(grpo)
    engine = world.learner.engines["policy"]
    before = {n: p.clone() for n, p in engine.module.named_parameters()}
    with pytest.raises(NotFinite, match="the loss is not finite"):
        engine.forward_backward(batch_of(world), (Term(Broken()),))
    assert all(torch.equal(before[n], p) for n, p in engine.module.named_parameters())


def test_a_stream_that_is_not_finite_is_named():
    world = build(grpo)
    batch = batch_of(world)
    batch = batch.put(behavior=torch.where(batch.mask, -math.inf, batch.behavior))
    with pytest.raises(NotFinite, match="behavior: "):
        world.learner.engines["policy"].forward_backward(
            batch.put(advantage=torch.where(batch.mask, math.nan, 0.0)), world.method.terms
        )


def test_a_gradient_that_is_not_finite_stops_before_the_weights_change():
    world = build(grpo)
    engine = world.learner.engines["policy"]
    engine.forward_backward(batch_of(world), world.method.terms)
    before = {n: p.clone() for n, p in engine.module.named_parameters()}
    next(p for p in engine.module.parameters() if p.grad is not None).grad.fill_(math.inf)
    with pytest.raises(NotFinite, match="gradient norm"):
        engine.step()
    assert all(torch.equal(before[n], p) for n, p in engine.module.named_parameters())


def test_clipping_bounds_the_step_and_reports_the_norm_before_it():
    world = build(grpo)
    engine = world.learner.engines["policy"]
    engine.optim = Optim(lr=0.0, max_grad_norm=1e-3)
    engine.forward_backward(batch_of(world), world.method.terms)
    norm = math.sqrt(sum(float(g.square().sum()) for g in gradients(engine).values()))
    engine.forward_backward(batch_of(world), world.method.terms)
    assert values(engine.step())["grad_norm"] == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize(
    ("optim", "expected"),
    [
        (Optim(schedule="constant", warmup=2), [0.5, 1.0, 1.0, 1.0]),
        (Optim(schedule="linear", total=4), [1.0, 0.75, 0.5, 0.25]),
        (Optim(schedule="cosine", total=4), [1.0, 0.853553, 0.5, 0.146447]),
    ],
)
def test_schedules(optim, expected):
    assert [optim.factor(step) for step in range(4)] == pytest.approx(expected, abs=1e-5)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="needs the total"):
        Optim(schedule="linear")
    with pytest.raises(ValueError, match="lr is -1"):
        Optim(lr=-1)
    with pytest.raises(ValueError, match="max_grad_norm is -1"):
        Optim(max_grad_norm=-1)
    frozen = llama().requires_grad_(False)
    with pytest.raises(ValueError, match="no trainable parameter"):
        LocalEngine(frozen, Autoregressive(), Optim())
    with pytest.raises(RuntimeError, match="frozen"):
        LocalEngine(frozen, Autoregressive()).step()


def test_dropout_is_off_so_that_the_trainer_gives_the_samplers_numbers():
    import transformers as hf

    config = hf.GPT2Config(vocab_size=16, n_embd=16, n_layer=1, n_head=2, n_positions=32)
    module = hf.AutoModelForCausalLM.from_config(config).train()
    engine = LocalEngine(module, Autoregressive(), Optim())
    batch = collate(build(grpo).groups())
    first, second = (engine.forward(batch, ("logp",))["logp"] for _ in range(2))
    assert torch.equal(first, second)


def test_saved_and_restored_engines_go_on_alike(tmp_path):
    one, other = build(grpo), build(grpo)
    groups = [one.groups(seed=s) for s in range(3)]
    one.update(groups[0])
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    for world in (one, other):
        world.update(groups[1])
        world.update(groups[2])
    a, b = (w.learner.engines["policy"].module.state_dict() for w in (one, other))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert other.learner.version == 3


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    import transformers as hf

    world = build(grpo)
    world.learner.save(tmp_path)
    config = hf.LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2
    )
    engine = LocalEngine(hf.AutoModelForCausalLM.from_config(config), Autoregressive(), Optim())
    with pytest.raises((ValueError, RuntimeError), match=r"another model|size mismatch"):
        engine.restore(tmp_path / "policy")


def test_memory_of_log_probabilities_does_not_hold_all_logits(monkeypatch):
    """Chunks are formed one at a time: beyond what is kept, nothing of positions x vocabulary exists in either pass."""
    from guerdon.likelihoods import vocabulary

    seen = []
    formed = vocabulary._log_probabilities

    def watched(hidden, *rest):
        seen.append(len(hidden))
        return formed(hidden, *rest)

    monkeypatch.setattr(vocabulary, "_log_probabilities", watched)
    monkeypatch.setattr(vocabulary, "KEPT_ELEMENTS", 5 * 16)
    world = build(grpo)
    engine = world.learner.engines["policy"]
    engine.likelihood = Autoregressive(chunk_elements=5 * 16)
    engine.tokens_per_micro_batch = 10_000
    batch = batch_of(world)
    engine.forward_backward(batch, world.method.terms)
    assert max(seen) == 5
    assert sum(seen) == 2 * len(unique_tokens(batch.select(batch.mask))[0])  # again in the backward pass


def test_a_restored_engine_goes_on_with_the_settings_of_now(tmp_path):
    world = build(grpo)
    world.update(world.groups())
    world.learner.engines["policy"].save(tmp_path)
    engine = LocalEngine(llama(), Autoregressive(), Optim(weight_decay=0.5, betas=(0.5, 0.6), eps=1e-4))
    engine.restore(tmp_path)
    group = engine.optimizer.param_groups[0]
    assert (group["weight_decay"], group["betas"], group["eps"]) == (0.5, (0.5, 0.6), 1e-4)
