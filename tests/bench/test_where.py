from __future__ import annotations

import inspect
import threading
import time

import torch
import transformers.models.llama.modeling_llama as llama
from speed.where import MODEL, OUTSIDE, Where, place

from guerdon import collate, sources
from guerdon.likelihoods import autoregressive, packing
from guerdon.samplers import draw, local


def test_files_of_the_model_and_files_beside_it_are_told_apart() -> None:
    kinds = {module: place(inspect.getfile(module)) for module in (autoregressive, draw, packing, local, collate)}
    assert [kinds[module] for module in (autoregressive, draw)] == [
        (MODEL, "guerdon/likelihoods/autoregressive.py"),
        (MODEL, "guerdon/samplers/draw.py"),
    ]
    assert [kinds[module][0] for module in (packing, local, collate)] == [OUTSIDE] * 3  # type: ignore[index]
    assert place(inspect.getfile(llama)) == (MODEL, "transformers")
    assert place(inspect.getfile(torch.autograd.graph)) == (MODEL, "torch/autograd")


def test_what_says_nothing_by_itself_counts_as_its_caller() -> None:
    assert place(inspect.getfile(torch.nn.Module)) is None
    assert place(inspect.getfile(threading)) is None
    assert place(inspect.getfile(transformers_tokenizer())) is None


def transformers_tokenizer() -> type:
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    return PreTrainedTokenizerBase


def test_time_is_put_down_to_whoever_was_at_work() -> None:
    with Where(interval=0.001) as where:
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.15:
            sources._account(sources._Attempt(0, 0), [], 0, 1)
        took = time.perf_counter() - begin
        found = where.read()
    assert sum(found.values()) <= took + 0.01
    assert found[OUTSIDE, "guerdon/sources.py"] > 0.3 * took
    assert where.read() == {} or sum(where.read().values()) < 0.05
