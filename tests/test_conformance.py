"""What the report on a template says, on templates and tokenizers made here."""

from __future__ import annotations

import pytest
from transformers import GenerationConfig

from guerdon.chat import Chat
from guerdon.conformance import examine
from tests.test_chat import BOS_TEMPLATE, CHATML, REWRITING, TOOLS, tokenizer


def facts(template: str | None, **made: bool):
    return examine(Chat(tokenizer(template, **made)))


def test_a_good_template_has_no_findings():
    report = facts(CHATML)
    assert (report.fit, report.faults, report.findings) == (True, (), ())
    assert (report.tool_turns, report.empty_tools, report.system, report.adds_begin) == (True, True, "kept", False)


def test_two_tool_results_in_one_turn_can_be_trained_as_sampled():
    report = facts(TOOLS)
    assert (report.parallel_tools, report.tool_turns, report.findings) == ("one turn", True, ())


def test_calls_that_later_turns_rewrite_are_named():
    rewriting = TOOLS.replace(
        "{% for call in m.tool_calls or [] %}", "{% for call in (m.tool_calls or []) if loop.last %}"
    )
    last = "{% set tail = loop.last %}{% for call in (m.tool_calls or []) if tail %}"
    report = facts(TOOLS.replace("{% for call in m.tool_calls or [] %}", last))
    assert rewriting != TOOLS
    assert not report.tool_turns
    assert report.append_only
    assert "rewrites turns with tool calls" in " ".join(report.findings)


@pytest.mark.parametrize(
    ("test", "same"),
    [("tools", True), ("tools is defined and tools", True), ("tools is not none", False), ("tools is defined", False)],
)
def test_c37_whether_an_empty_list_of_tools_is_no_tools(test: str, same: bool):
    report = facts("{% if " + test + " %}<environment>{{ tools | length }}{% endif %}" + CHATML)
    assert report.empty_tools is same
    assert report.fit
    assert any("empty list of tools" in text for text in report.findings) is not same


@pytest.mark.parametrize(
    ("change", "system"),
    [
        ("", "kept"),
        ("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}", "refused"),
        ("{% if messages[0].role == 'system' %}{% set messages = messages[1:] %}{% endif %}", "dropped"),
    ],
)
def test_what_becomes_of_a_system_message(change: str, system: str):
    report = facts(change + CHATML)
    assert report.system == system
    assert report.fit
    assert any("system message" in text for text in report.findings) is (system != "kept")


def test_c39_how_many_begins_and_ends():
    twice = BOS_TEMPLATE.replace("<|end|>", "<|end|><|end|>")
    assert (facts(twice).ends, facts(twice).fit) == (2, False)
    assert "2 end tokens close a reply" in facts(twice).faults[0]
    assert (facts(BOS_TEMPLATE, bos=True).begins, facts(BOS_TEMPLATE, bos=True).ends) == (1, 1)
    none = facts(CHATML, bos=True)
    assert (none.begins, none.adds_begin, none.fit) == (0, True, True)
    assert "the template writes none" in none.findings[0]


def test_c33_every_id_that_ends_a_completion():
    report = examine(Chat(tokenizer(CHATML)), GenerationConfig(eos_token_id=[1, 2]))
    assert report.end_ids == (1, 2, 3)
    assert facts(None).end_ids == (1,)


def test_c31_a_pad_that_is_the_end_is_no_fault():
    made = tokenizer(CHATML)
    made.pad_token = made.eos_token
    report = examine(Chat(made))
    assert (report.pad, report.fit, report.findings) == (1, True, ())
    made.pad_token = None
    assert examine(Chat(made)).pad is None


def test_the_faults_come_first():
    report = facts(REWRITING.replace("assistant: ", "assistant: <think>"))
    assert report.findings[: len(report.faults)] == report.faults
    assert not report.fit
    assert report.opens_think_tag


def test_no_end_token_is_an_error():
    made = tokenizer()
    made.eos_token = None
    with pytest.raises(ValueError, match="names no end token"):
        examine(Chat(made))
