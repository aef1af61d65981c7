"""Our preference losses and their gradients against those of TRL's own trainers, on the same frozen batch and model.

TRL's trainers tokenise and pad the rows and compute their loss as they do in training; ours runs every sequence alone
through an unpatched copy of the model. The policy has moved away from its reference.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from guerdon.losses.paired import SimPO
from guerdon.losses.supervised import NegativeLogLikelihood
from guerdon.methods.dpo import dpo
from guerdon.methods.ipo import ipo
from guerdon.methods.kto import kto
from guerdon.methods.orpo import orpo
from guerdon.methods.simpo import simpo
from tests.batches import make_batch
from tests.methods import test_trl as peers
from tests.methods.test_trl import PROMPTS, compare_losses, drift, load, log_probs

trl = pytest.importorskip("trl", reason="TRL is not installed; `pip install guerdon[peers]` brings it")
pytestmark = pytest.mark.peer

folder = peers.folder
PAIRS = {"prompt": PROMPTS, "chosen": ["c g h", "z x"], "rejected": ["k", "m n o p q"]}
LABELLED = {
    "prompt": ["a b c d", "e f", "g h i", "j"],
    "completion": ["c g h", "z x", "k", "m n o p q"],
    "label": [True, False, True, True],
}


def make_trainer(trainer, config, folder, tmp_path, rows, **settings):
    """A TRL trainer on these rows, its policy moved away from where it (and its reference) started."""
    from datasets import Dataset
    from transformers import AutoTokenizer

    arguments = config(
        output_dir=str(tmp_path),
        per_device_train_batch_size=len(rows["prompt"]),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        **settings,
    )
    data, tokenizer = Dataset.from_dict(rows), AutoTokenizer.from_pretrained(folder)
    made = trainer(model=load(folder), args=arguments, train_dataset=data, processing_class=tokenizer)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.add_(drift(parameter, 0.05))
    made.model.train()
    return made, made.data_collator([made.train_dataset[i] for i in range(len(rows["prompt"]))])


def unpadded(ids, attended, learned):
    """(tokens, mask) of each row without its padding."""
    rows = [(i[a.bool()].tolist(), m[a.bool()].tolist()) for i, a, m in zip(ids, attended, learned, strict=True)]
    return [tokens for tokens, _ in rows], [[int(m) for m in mask] for _, mask in rows]


def with_reference(folder, trainer, batch):
    """(our model with the trainer's weights, the batch with the reference's and the policy's log-probabilities)."""
    model = load(folder)
    with torch.no_grad():
        batch = batch.put(ref=log_probs(model, batch))
        model.load_state_dict(trainer.model.state_dict())
        batch = batch.put(old=log_probs(model, batch))
    return model, batch


def pairs_of(tokens, masks):
    n = len(tokens) // 2
    return make_batch(returns=[1.0] * n + [-1.0] * n, groups=[*range(n), *range(n)], masks=masks, tokens=tokens)


@pytest.mark.parametrize(
    ("loss", "method"),
    [
        ("sigmoid", dpo(beta=0.3)),
        ("sigmoid_norm", dpo(beta=0.3, level="mean")),
        ("ipo", ipo(beta=0.3, level="mean")),
    ],
    ids=["dpo", "dpo, mean", "ipo, mean"],
)
def test_losses_with_a_reference_equal_trls(loss, method, folder, tmp_path):
    trainer, inputs = make_trainer(trl.DPOTrainer, trl.DPOConfig, folder, tmp_path, PAIRS, loss_type=[loss], beta=0.3)
    batch = pairs_of(*unpadded(inputs["input_ids"], inputs["attention_mask"], inputs["completion_mask"]))
    model, batch = with_reference(folder, trainer, batch)
    compare_losses(trainer, inputs, model, method, batch)


def concatenated(trainer, inputs):
    """The pairs of a trainer that lays chosen and rejected out by itself."""
    both = trainer.concatenated_inputs(inputs, padding_value=0)
    labels = both["concatenated_labels"]
    return pairs_of(*unpadded(both["concatenated_input_ids"], both["concatenated_attention_mask"], labels != -100))


def test_simpo_equals_trls(folder, tmp_path):
    """TRL's `alphapo` is another method; its SimPO is the CPO trainer without the likelihood term."""
    from trl.experimental.cpo import CPOConfig, CPOTrainer

    settings = {"loss_type": "simpo", "cpo_alpha": 0.0, "beta": 2.0, "simpo_gamma": 0.7}
    trainer, inputs = make_trainer(CPOTrainer, CPOConfig, folder, tmp_path, PAIRS, **settings)
    model, batch = with_reference(folder, trainer, concatenated(trainer, inputs))
    method = simpo(beta=2.0, margin=0.7)
    assert isinstance(method.terms[0].objective, SimPO)
    compare_losses(trainer, inputs, model, method, batch)


def test_orpo_equals_trls(folder, tmp_path):
    """TRL's likelihood covers the prompt too, token by token over the batch."""
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer

    trainer, inputs = make_trainer(ORPOTrainer, ORPOConfig, folder, tmp_path, PAIRS, beta=0.4)
    model, batch = with_reference(folder, trainer, concatenated(trainer, inputs))
    method = orpo(beta=0.4, nll="all")
    assert isinstance(method.terms[0].objective, NegativeLogLikelihood)
    batch = replace(batch, share=torch.ones_like(batch.share))  # a prompt lies on one path of each episode
    compare_losses(trainer, inputs, model, method, method.estimator(batch))


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive anchor", "anchor cut at 0"])
def test_kto_equals_trls(sign, folder, tmp_path):
    settings = {"beta": 0.3, "desirable_weight": 1.0, "undesirable_weight": 1.5}
    trainer, inputs = make_trainer(trl.KTOTrainer, trl.KTOConfig, folder, tmp_path, LABELLED, **settings)
    _until_mismatched_drift(trainer, inputs, sign)
    own = unpadded(inputs["input_ids"], inputs["attention_mask"], inputs["completion_mask"])
    stray = unpadded(inputs["KL_input_ids"], inputs["KL_attention_mask"], inputs["KL_completion_mask"])
    n = len(LABELLED["label"])
    tokens, masks = own[0] + stray[0], own[1] + stray[1]
    batch = make_batch(
        returns=[1.0 if label else -1.0 for label in inputs["label"]] + [0.0] * n,
        groups=[*range(n), *range(n)],
        masks=masks,
        tokens=tokens,
        mismatched=[[float(m and i >= n) for m in mask] for i, mask in enumerate(masks)],
    )
    model, batch = with_reference(folder, trainer, batch)
    method = kto(beta=0.3, desirable=1.0, undesirable=1.5)
    batch = method.estimator(batch)
    assert (float(batch.stream("anchor")[0]) > 0) == (sign > 0)
    compare_losses(trainer, inputs, model, method, batch)


def _until_mismatched_drift(trainer, inputs, sign):
    """Move the policy so that its log-ratios of mismatched completions are of this sign on average."""
    stray = unpadded(inputs["KL_input_ids"], inputs["KL_attention_mask"], inputs["KL_completion_mask"])
    batch = make_batch(masks=stray[1], tokens=stray[0])
    for _ in range(3):
        logp = torch.where(batch.mask, log_probs(trainer.model, batch), 0.0).sum()
        gradients = torch.autograd.grad(logp, list(trainer.model.parameters()), allow_unused=True)
        with torch.no_grad():
            for parameter, gradient in zip(trainer.model.parameters(), gradients, strict=True):
                if gradient is not None:
                    parameter.add_(sign * 0.002 * gradient)
