"""Our losses, gradients and advantages against those of TRL's own trainers, on the same frozen batch and model.

Nothing of TRL is replaced but the sampling: its trainers build the batch, score it and compute their loss as they do
in training. Ours runs every sequence alone through an unpatched copy of the model. Where conventions differ (epsilon of
the deviation, bounds of clips, constant lengths) they are set equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from guerdon.advantages.group import GroupNorm
from guerdon.losses.policy import ImportanceWeighted
from guerdon.method import Method
from guerdon.methods.cispo import cispo
from guerdon.methods.dapo import dapo
from guerdon.methods.dr_grpo import dr_grpo
from guerdon.methods.grpo import grpo
from guerdon.methods.gspo import gspo
from guerdon.methods.rloo import rloo_clipped
from guerdon.types import Batch
from tests.batches import make_batch, total

trl = pytest.importorskip("trl", reason="TRL is not installed; `pip install guerdon[peers]` brings it")
pytestmark = pytest.mark.peer

WORDS = ["<pad>", "<eos>", *"abcdefghijklmnopqrstuvwxyz"]
PROMPTS = ["a b c d", "e f"]
GROUP = 3
LIMIT = 6
COMPLETIONS = [[5, 6, 7, 1], [9, 4, 11, 12, 13, 14], [3, 1], [20, 21, 22], [8, 8, 1], [15, 16, 17, 18, 1]]
REWARDS = [1.0, 0.25, -0.5, 0.0, 0.0, 2.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("llama")
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        initializer_range=0.3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def load(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def make_trainer(kind: str, folder, tmp_path, **settings):
    """A TRL trainer that 'samples' COMPLETIONS for PROMPTS and scores them with REWARDS."""
    from datasets import Dataset
    from transformers import AutoTokenizer

    config = getattr(trl, f"{kind}Config")(
        output_dir=str(tmp_path),
        per_device_train_batch_size=len(COMPLETIONS),
        num_generations=GROUP,
        max_completion_length=LIMIT,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        **settings,
    )
    trainer = getattr(trl, f"{kind}Trainer")(
        model=load(folder),
        reward_funcs=lambda completions, **columns: REWARDS,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": PROMPTS}),
        processing_class=AutoTokenizer.from_pretrained(folder),
    )
    canned = (COMPLETIONS, None) if kind == "GRPO" else COMPLETIONS
    trainer._generate_single_turn = lambda *args, **kwargs: canned
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return trainer


def trl_batch(trainer):
    rows = [{"prompt": prompt} for prompt in PROMPTS for _ in range(GROUP)]
    return trainer._generate_and_score_completions(rows)


def drift(like: torch.Tensor, size: float) -> torch.Tensor:
    """How far the policy is taken to have moved since the completions were drawn, as log-ratios."""
    return size * torch.randn(like.shape, generator=torch.Generator().manual_seed(1))


def our_batch(inputs, **padded: torch.Tensor) -> Batch:
    """TRL's padded rows laid end to end; streams are given [B, T] over the completion."""
    rows = range(len(COMPLETIONS))
    prompts = [ids[mask.bool()].tolist() for ids, mask in zip(inputs["prompt_ids"], inputs["prompt_mask"], strict=True)]

    def flat(stream):
        return [[0.0] * len(prompts[i]) + stream[i, : len(COMPLETIONS[i])].tolist() for i in rows]

    return make_batch(
        returns=REWARDS,
        groups=[i // GROUP for i in rows],
        masks=[[0] * len(prompts[i]) + [1] * len(COMPLETIONS[i]) for i in rows],
        tokens=[prompts[i] + COMPLETIONS[i] for i in rows],
        **{name: flat(stream) for name, stream in padded.items()},
    )


def log_probs(model, batch: Batch) -> torch.Tensor:
    """log pi of each token given those before it in its sequence, one sequence at a time; 0 for the first. [N]"""
    pieces = []
    for seq in batch.seq.unique():
        tokens = batch.inputs["tokens"][batch.seq == seq]
        rows = model(tokens[None]).logits[0, :-1].log_softmax(-1)
        pieces.append(torch.cat([torch.zeros(1), rows.gather(-1, tokens[1:, None])[:, 0]]))
    return torch.cat(pieces)


def compare(trainer, inputs, model, method: Method, batch: Batch, advantage: torch.Tensor) -> None:
    """Advantages, loss and the gradient of every parameter agree to 1e-5."""
    batch = method.estimator(batch)
    ours_per_sequence = torch.stack([batch.advantage[batch.seq == i][-1] for i in range(len(COMPLETIONS))])
    torch.testing.assert_close(ours_per_sequence, advantage, atol=1e-5, rtol=1e-5)

    compare_losses(trainer, inputs, model, method, batch)


def compare_losses(trainer, inputs, model, method: Method, batch: Batch) -> None:
    theirs = trainer.compute_loss(trainer.model, inputs)
    theirs.backward()
    ours = sum(total(term, {"logp": log_probs(model, batch)}, batch) for term in method.terms)
    ours.backward()

    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    gradients = {name: p.grad for name, p in trainer.model.named_parameters()}
    assert max(g.abs().max() for g in gradients.values()) > 1e-2
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(
            parameter.grad, gradients[name], atol=1e-5, rtol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


def trl_eps(method: Method) -> Method:
    return replace(method, estimator=GroupNorm(eps=1e-4))


def weighted_kl() -> Method:
    method = grpo(beta=0.2)
    policy, kl = method.terms
    return replace(method, terms=(policy, replace(kl, objective=ImportanceWeighted(kl.objective))))


CASES: dict[str, tuple[Callable[[], Method], dict, float]] = {
    "grpo": (lambda: trl_eps(grpo()), {"loss_type": "grpo"}, 0.3),
    "grpo, asymmetric clip": (
        lambda: trl_eps(grpo(0.1, 0.4)),
        {"loss_type": "grpo", "epsilon": 0.1, "epsilon_high": 0.4},
        0.3,
    ),
    "grpo, kl": (
        lambda: trl_eps(grpo(beta=0.2)),
        {"loss_type": "grpo", "beta": 0.2, "use_bias_correction_kl": False},
        0.3,
    ),
    "grpo, importance-weighted kl": (
        lambda: trl_eps(weighted_kl()),
        {"loss_type": "grpo", "beta": 0.2, "use_bias_correction_kl": True},
        0.3,
    ),
    "dr grpo": (lambda: dr_grpo(LIMIT), {"loss_type": "dr_grpo", "scale_rewards": "none"}, 0.3),
    "dapo": (lambda: trl_eps(dapo()), {"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28}, 0.3),
    "gspo": (
        lambda: trl_eps(gspo()),
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4},
        2e-3,  # far enough that two of the six sequences are clipped
    ),
    "cispo": (lambda: trl_eps(cispo(high=1.2)), {"loss_type": "cispo", "epsilon_high": 1.2}, 0.3),
}


@pytest.mark.parametrize("name", CASES)
def test_the_grpo_family_equals_trl(name, folder, tmp_path):
    make, settings, moved = CASES[name]
    trainer = make_trainer("GRPO", folder, tmp_path, **settings)
    inputs = trl_batch(trainer)
    with torch.no_grad():
        model = load(folder)
        batch = our_batch(inputs)
        now = _padded(log_probs(model, batch), batch, inputs["completion_ids"].shape)
    old = now - drift(now, moved)
    ref = now + drift(now, 0.5) ** 2
    inputs["old_per_token_logps"] = old
    if "ref_per_token_logps" in inputs:
        torch.testing.assert_close(inputs["ref_per_token_logps"] * inputs["completion_mask"], now, atol=1e-5, rtol=1e-5)
        inputs["ref_per_token_logps"] = ref
    compare(trainer, inputs, model, make(), our_batch(inputs, behavior=old, ref=ref), inputs["advantages"])


@pytest.mark.parametrize("beta", [0.0, 0.1], ids=str)
def test_rloo_with_the_sequence_ratio_equals_trl(beta, folder, tmp_path):
    trainer = make_trainer("RLOO", folder, tmp_path, beta=beta)
    if beta:  # a reference that differs, as it does after the first step
        with torch.no_grad():
            for number, parameter in enumerate(trainer.ref_model.parameters()):
                parameter.add_(drift(parameter, 0.02 + 0.001 * number))
    inputs = trl_batch(trainer)
    model, reference = load(folder), load(folder)
    if beta:
        reference.load_state_dict(trainer.ref_model.state_dict())
    with torch.no_grad():
        batch = our_batch(inputs)
        shape = inputs["completion_ids"].shape
        now = _padded(log_probs(model, batch), batch, shape)
        ref = _padded(log_probs(reference, batch), batch, shape)
    method = rloo_clipped(beta=beta)
    batch = our_batch(inputs, behavior=now, ref=ref)
    advantaged = method.estimator(batch)  # TRL takes the penalty at the moment of sampling, so it does not drift
    moved = drift(now, 0.1) * inputs["completion_mask"]
    inputs["old_logps"] = inputs["old_logps"] - moved.sum(1)
    stale = our_batch(inputs, behavior=now - moved).put(advantage=advantaged.advantage)
    kept = replace(method, estimator=lambda unchanged: unchanged)
    assert any(abs(x) > 0.2 for x in moved.sum(1).tolist())
    compare(trainer, inputs, model, kept, stale, inputs["advantages"])


def _padded(logp: torch.Tensor, batch: Batch, shape: torch.Size) -> torch.Tensor:
    """Log-probabilities of the actions as TRL lays them out, 0 in the padding. [N] -> [B, T]"""
    table = torch.zeros(shape)
    for i, completion in enumerate(COMPLETIONS):
        table[i, : len(completion)] = logp[(batch.seq == i) & batch.mask]
    return table
