"""The protocol as a value: what changes it, what survives JSON, and what is no protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from guerdon.evaluation.protocol.base import Protocol, protocol_of, verifier_version
from guerdon.evaluation.protocol.stance import Reading
from guerdon.evaluation.protocol.store import read_evaluated, write_evaluated
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.verify.text import ExactMatch
from guerdon.samplers.base import Sampling
from guerdon.types import Task
from tests.evaluation.protocol.made import decode, evaluated

TASKS = [Task("1", "1+1=", {"answer": "2"}), Task("2", "2+2=", {"answer": "4"})]
HOW = Sampling(4, stop_strings=("\n",))


def protocol(**changes: object) -> Protocol:
    return protocol_of("sums", TASKS, ExactMatch(), HOW, decodes=8, **changes)  # type: ignore[arg-type]


def test_it_survives_json():
    found = protocol(reading=Reading(whole=("_",)), chat_template=False)
    again = Protocol.from_dict(json.loads(json.dumps(found.as_dict())))
    assert again == found


def test_what_is_asked_and_what_judges_belong_to_it():
    first = protocol()
    other = [replace(TASKS[0], data={"answer": "3"}), TASKS[1]]
    changed = protocol_of("sums", other, ExactMatch(), HOW, decodes=8)
    assert changed.version != first.version
    assert changed.prompts == first.prompts
    assert protocol_of("sums", TASKS[::-1], ExactMatch(), HOW, decodes=8).version != first.version
    assert protocol_of("sums", TASKS, ExactMatch(case_sensitive=False), HOW, decodes=8).verifier != first.verifier
    assert first.verifier == verifier_version(ExactMatch())


def test_the_version_of_a_scorer_that_holds_a_function_is_no_address():
    assert verifier_version(PerEpisode("f", lambda e: 0.0)) == verifier_version(PerEpisode("f", lambda e: 0.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: protocol_of("x", [], ExactMatch(), HOW), "0 items"),
        (lambda: protocol_of("x", [TASKS[0], TASKS[0]], ExactMatch(), HOW), "same id"),
        (lambda: replace(protocol(), decodes=0), "0 decodes"),
        (lambda: replace(protocol(), decoding=Sampling(stop_tokens=(1,))), "stop tokens"),
    ],
)
def test_what_is_no_protocol(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_decodes_are_read_back_as_they_were(tmp_path: Path):
    odd = "a\u2028b\x85\n\u0000\ud800"
    found = evaluated(decode("x", 0, odd, True, 0.3), decode("x", 1, None), decode("y", 0), decode("y", 1, "?"))
    path = tmp_path / "deep" / "decodes.jsonl"
    write_evaluated(path, found)
    again = read_evaluated(path)
    assert again.protocol == found.protocol
    assert tuple(again.decodes) == tuple(found.decodes)
    assert again.first(1).protocol.decodes == 1
    assert [one.number for one in again.first(1).decodes] == [0, 0]


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path):
    path = tmp_path / "decodes.jsonl"
    write_evaluated(path, evaluated(decode("x")))
    path.write_text(path.read_text()[:-20])
    with pytest.raises(ValueError, match=r"decodes\.jsonl, line 2"):
        read_evaluated(path)


def test_items_with_other_numbers_of_decodes_are_refused():
    with pytest.raises(ValueError, match=r"\[1, 2\] decodes"):
        evaluated(decode("x", 0), decode("x", 1), decode("y", 0)).by_item()
