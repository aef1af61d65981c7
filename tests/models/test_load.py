"""Loading: every way in ends in the same state, and every way to go wrong is told with how to mend it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from guerdon.models import tiny
from guerdon.models.load import default_stop_tokens, load_policy, resolve, save_policy

from .small import ids, model, saved, tokenizer


def test_a_folder_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    module = model("llama")
    folder = save_policy(module, tokenizer(), tmp_path / "a" / "b")
    policy = load_policy(str(folder))
    assert policy.source == folder
    assert policy.name == str(folder)
    assert torch.equal(policy.module(input_ids=ids()).logits, module(input_ids=ids()).logits)
    assert policy.tokenizer("12+7=")["input_ids"] == tokenizer()("12+7=")["input_ids"]
    assert policy.stop_tokens == (1,)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_dtype_and_mode(tmp_path: Path, dtype: str) -> None:
    policy = load_policy(str(saved(tmp_path)), dtype=dtype)
    assert {parameter.dtype for parameter in policy.module.parameters()} == {getattr(torch, dtype)}
    assert not policy.module.training
    with pytest.raises(ValueError, match="dtype is 'int8'"):
        load_policy(str(tmp_path), dtype="int8")


def test_dropout_is_off_so_that_train_mode_changes_nothing(tmp_path: Path) -> None:
    saved(tmp_path, "gpt2", resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    module = load_policy(str(tmp_path)).module
    calm = module(input_ids=ids()).logits
    assert torch.equal(module.train()(input_ids=ids()).logits, calm)


def test_checkpointing_gives_the_same_gradient(tmp_path: Path) -> None:
    saved(tmp_path)
    gradients = []
    for checkpointing in (False, True):
        module = load_policy(str(tmp_path), gradient_checkpointing=checkpointing).module
        assert module.is_activation_checkpointing == checkpointing
        module(input_ids=ids()).logits.square().mean().backward()
        gradients.append(module.model.layers[0].mlp.up_proj.weight.grad)
    torch.testing.assert_close(gradients[0], gradients[1])


def test_the_end_token_learns_though_it_is_the_pad_token_too(tmp_path: Path) -> None:
    """transformers leaves the pad token's embedding without gradient, so the end token's must not be it."""
    saved(tmp_path, pad_token_id=1, tie_word_embeddings=False)
    module = load_policy(str(tmp_path)).module
    module(input_ids=torch.tensor([[5, 1, 6]])).logits.square().mean().backward()
    assert module.get_input_embeddings().weight.grad[1].abs().sum() > 0


def test_stop_tokens_are_all_that_end_a_turn() -> None:
    config = model("llama").generation_config
    config.eos_token_id = [1, 7]
    assert default_stop_tokens(tokenizer(), config) == (1, 7)
    config.eos_token_id = None
    assert default_stop_tokens(tokenizer(), config) == (1,)


def test_a_tokenizer_without_an_end_token(tmp_path: Path) -> None:
    saved(tmp_path)
    tokenizer(eos_token=None).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"names no end token.*end_token='\.\.\.'"):
        load_policy(str(tmp_path))
    with pytest.raises(ValueError, match="'<nope>' is not one token"):
        load_policy(str(tmp_path), end_token="<nope>")
    assert load_policy(str(tmp_path), end_token="<end>").stop_tokens == (1,)


# --- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c", "has space"])
def test_names_that_can_be_nothing(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*expected 'tiny'"):
        resolve(name)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"):
        resolve(str(tmp_path / "model.gguf"))


def test_a_folder_without_config(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(FileNotFoundError, match=r"no config.json \(it holds notes.txt\)"):
        load_policy(str(tmp_path))


def test_a_folder_without_tokenizer(tmp_path: Path) -> None:
    model("llama").save_pretrained(tmp_path)
    with pytest.raises(FileNotFoundError, match="no tokenizer"):
        load_policy(str(tmp_path))


def rewrite_config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_family_nobody_knows(tmp_path: Path) -> None:
    rewrite_config(saved(tmp_path), model_type="martian")
    with pytest.raises(ValueError, match="family that the installed transformers does not know"):
        load_policy(str(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [{"model_type": "t5", "architectures": ["T5Model"]}, {"architectures": ["LlamaForSequenceClassification"]}],
)
def test_a_model_that_is_no_causal_language_model(tmp_path: Path, changes: dict[str, Any]) -> None:
    rewrite_config(saved(tmp_path), **changes)
    with pytest.raises(ValueError, match="not a causal language model"):
        load_policy(str(tmp_path))


def test_missing_weights_are_not_made_up(tmp_path: Path) -> None:
    rewrite_config(saved(tmp_path), num_hidden_layers=3)
    with pytest.raises(ValueError, match=r"lack \d+ tensors of a LlamaForCausalLM"):
        load_policy(str(tmp_path))


def test_an_unreachable_hub_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoConfig

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("We couldn't connect to the hub.\nmore")

    monkeypatch.setattr(AutoConfig, "from_pretrained", fail)
    with pytest.raises(OSError, match=r"no folder 'some/model'.*couldn't connect.*hf download some/model --local-dir"):
        load_policy("some/model")


# --- names -------------------------------------------------------------------------------------------------------


def test_resolve_names_places() -> None:
    assert resolve("tiny") == tiny.FOLDER
    assert resolve("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"


def test_resolving_loads_no_torch() -> None:
    code = "import sys; from guerdon.models.load import resolve; resolve('tiny'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
