"""Cases of tokens, templates and masks (D): pad and end ids, what is cut off, tool results, tools, begins and ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon import cli
from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.filters import not_truncated
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.likelihoods.packing import layout
from guerdon.models.load import default_stop_tokens
from guerdon.recipes.data import demonstration, preference
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.types import Episode, Score, Span, Task
from tests.models.small import model
from tests.models.small import tokenizer as small_tokenizer
from tests.test_chat import BOS_TEMPLATE, CHATML, TOOLS, assistant, call, tokenizer, tool, user

# --- C31: pad and end --------------------------------------------------------------------------------------------


def episode(prompt: list[int], reply: list[int]) -> Episode:
    spans = [Span(np.array(prompt)), Span(np.array(reply), np.zeros(len(reply), np.float32), parent=0)]
    return Episode(Task("t", prompt), spans, scores={"r": Score(1.0)})


def test_c31_an_end_keeps_its_label_and_its_attention_when_it_is_the_pad_too():
    prompt = [8, 2, 9]
    batch = collate([[episode(prompt, [4, 5, 2]), episode(prompt, [4, 5, 6, 7, 8])]])
    masks = [batch.mask[batch.seq == seq].tolist() for seq in (0, 1)]
    assert masks == [[False] * 3 + [True] * 3, [False] * 3 + [True] * 5]
    ends, zeros = layout(batch, pad=2), layout(batch, pad=0)
    assert torch.equal(ends.place, zeros.place)
    assert (ends.visible is None) == (zeros.visible is None)
    if ends.visible is not None:
        assert torch.equal(ends.visible, zeros.visible)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=1, max_size=5), min_size=1, max_size=3))
def test_c31_no_mask_depends_on_which_ids_there_are(replies: list[list[int]]):
    """Ids 0, 1 and 2 are pad, end and begin somewhere: every sampled one counts, and padding changes no likelihood."""
    module = model("llama")
    batch = collate([[episode([0, 1, 2], reply) for reply in replies]])
    assert batch.mask.tolist() == [place >= 3 for reply in replies for place in range(3 + len(reply))]
    with torch.no_grad():
        together = Autoregressive()(module, batch, ["logp"])["logp"]
        alone = [
            Autoregressive()(module, collate([[episode([0, 1, 2], reply)]]), ["logp"])["logp"] for reply in replies
        ]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=0)


# --- C33: what is cut off ----------------------------------------------------------------------------------------


def scripted(ids: list[int], limit: int, stop: tuple[int, ...]) -> Any:
    """A completion of the policy that says exactly these ids, for as long as it is allowed to."""

    def force(logits: torch.Tensor, so_far: np.ndarray) -> torch.Tensor:
        forced = torch.full_like(logits, -torch.inf)
        forced[ids[len(so_far) - 3]] = 0.0
        return forced

    sampler = LocalSampler(model("llama", max_position_embeddings=128), small_tokenizer())
    how = Sampling(max_tokens=limit, stop_tokens=stop, logits_hook=force)
    (sample,) = asyncio.run(sampler.sample([5, 6, 7], how, [0]))
    return sample


TURN_END, END = 3, 1


@pytest.mark.parametrize(
    ("ids", "stop", "kept"),
    [
        ([9, 9, TURN_END], "stop", True),
        ([9, 9, END], "stop", True),
        ([9] * 64, "length", False),
        ([9] * 63 + [TURN_END], "stop", True),
        ([9] * 63 + [END], "stop", True),
        ([TURN_END], "stop", True),
    ],
)
def test_c33_what_ended_it_says_whether_it_was_cut_off(ids: list[int], stop: str, kept: bool):
    ends = default_stop_tokens(tokenizer(CHATML))
    assert ends == (END, TURN_END)
    sample = scripted(ids, 64, ends)
    assert (sample.stop, sum(len(span.tokens) for span in sample.spans)) == (stop, len(ids))
    whole = not_truncated([Episode(Task("t", "q"), sample.spans, stop=sample.stop)])
    assert (whole is not None) is kept


def test_c33_an_id_that_ends_nothing_here_does_not_end_it():
    assert scripted([9, TURN_END, 9, END], 4, (END,)).stop == "stop"
    assert scripted([9, TURN_END, 9, TURN_END], 4, (END,)).stop == "length"


# --- C35: tool results -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("rounds", [1, 2])
def test_c35_results_in_a_row_are_one_turn_as_sampled_and_as_rendered(n: int, rounds: int):
    chat = Chat(tokenizer(TOOLS))
    messages: list[Any] = [user("q")]
    ids = chat.prompt(messages)
    own = ""
    for k in range(rounds):
        calls = [call(x=i) for i in range(n)]
        said = "".join(f'<call>{{"x": {i}}}</call>' for i in range(n)) + "<|e|>"
        own += said
        results = [tool(f"r{k}{i}") for i in range(n)]
        ids = np.concatenate([ids, chat.encode(said)])
        ids = np.concatenate([ids, chat.extend(ids, results, history=[*messages, assistant("", tool_calls=calls)])])
        messages += [assistant("", tool_calls=calls), *results]
        assert ids.tolist() == chat.prompt(messages).tolist()
    whole, owner = chat.conversation([*messages, assistant("done")])
    assert chat.decode_all(whole[owner]) == own + "done<|e|>"
    assert chat.decode_all(whole).count("<|s|>user") == 1 + rounds


# --- C37: tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["tools is defined", "tools is not none", "tools", "tools is not defined or tools"])
@pytest.mark.parametrize("empty", [None, [], ()])
def test_c37_no_tools_in_what_is_learned_and_in_what_is_sampled(test: str, empty: Any):
    """A header for tools appears neither in the rows that are learned nor in prompts, or (last test) in both alike."""
    chat = Chat(tokenizer("{% if " + test + " %}<environment>{% endif %}" + CHATML))
    (learned,) = demonstration({"prompt": "a", "completion": "b"}, chat, "x/1")
    given = learned.spans[0].tokens.tolist()
    assert given == chat.prompt("a", tools=empty).tolist() == chat.prompt("a").tolist()
    assert ("environment" in chat.decode_all(given)) is (test == "tools is not defined or tools")


# --- C39: begins and ends ----------------------------------------------------------------------------------------


def count(spans: list[Span], token: int) -> int:
    return sum(int((span.tokens == token).sum()) for span in spans)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("template", [BOS_TEMPLATE, None])
def test_c39_one_begin_and_one_end_in_every_row_that_is_learned(template: str | None, bos: bool):
    chat = Chat(tokenizer(template, bos=bos))
    begins = 1 if template or bos else 0
    pair = preference({"prompt": "a", "chosen": "b", "rejected": "c"}, chat, "x/1")
    talk = [user("a"), assistant("b")]
    rows = [{"prompt": "a", "completion": "b"}, {"messages": talk}, {"prompt": [user("a")], "completion": talk[1:]}]
    for one in (*pair, *(demonstration(row, chat, "x/1")[0] for row in rows)):
        assert (count(one.spans, 4), count(one.spans, 1)) == (begins, 1)
        assert one.spans[-1].tokens[-1] == 1 or template is not None
        assert count([span for span in one.spans if span.sampled], 1) == 1
    (text,) = demonstration({"text": "a b"}, chat, "x/1")
    assert (count(text.spans, 4), count(text.spans, 1)) == (1 if bos else 0, 1)


def test_c39_an_end_or_a_begin_that_the_row_has_already_is_not_written_twice():
    chat = Chat(tokenizer(bos=True))
    (one,) = demonstration({"prompt": "<|b|>a", "completion": "b<|end|>"}, chat, "x/1")
    (text,) = demonstration({"text": "<|b|>ab<|end|>"}, chat, "x/1")
    for spans in (one.spans, text.spans):
        assert (count(spans, 4), count(spans, 1)) == (1, 1)


def test_c39_the_check_before_a_run_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model("llama", vocab_size=120).save_pretrained(tmp_path)
    for template, status in ((BOS_TEMPLATE, 0), (BOS_TEMPLATE.replace("<|b|>", "<|b|><|b|>"), 1)):
        tokenizer(template, bos=True).save_pretrained(tmp_path)
        assert cli.run(["model", "check", str(tmp_path), "--json"]) == status
        found = json.loads(capsys.readouterr().out)
        assert (found["template"]["begins"], found["template"]["ends"]) == (1 + status, 1)
    assert "2 begin tokens open a conversation" in found["problems"][0]
