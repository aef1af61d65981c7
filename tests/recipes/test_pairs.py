"""Rows with groups, with opinions, and as prompts with a logged pair: what is read, and what is said of unfit ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.methods.drpo import ByReward
from guerdon.recipes import make_run
from guerdon.recipes.data import Read, groups
from guerdon.recipes.pairs import Opinions, pair_tasks, with_columns
from guerdon.runner import execute
from guerdon.tasks.files import BadRow
from tests.models.small import tokenizer

CHAT = Chat(tokenizer())
PAIR = {"prompt": "1+2=", "chosen": "3", "rejected": "4"}
JUDGED = {**PAIR, "a_1": "5", "a_2": "6", "g_obs": 0.8, "g_syn": 0.6}
EVERY = [{**JUDGED, "group": "ab"[i % 2]} for i in range(8)]


def write(tmp_path: Path, *rows: object) -> str:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def opinions(tmp_path: Path, *rows: object, judged: bool = True):
    return groups(write(tmp_path, *rows), Read(with_columns.layouts, Opinions(judged)), CHAT)


def test_other_columns_lie_in_the_tasks_data(tmp_path: Path):
    (pair,) = groups(write(tmp_path, {**PAIR, "group": "a"}), with_columns, CHAT)
    assert [one.task.data["group"] for one in pair] == ["a", "a"]


def test_a_labelled_pair_and_a_synthetic_one_with_their_probabilities(tmp_path: Path):
    (group,) = opinions(tmp_path, JUDGED)
    assert [one.reply for one in group] == ["3", "4", "5", "6"]
    batch = collate([group])
    first = batch.mask & (batch.inputs["tokens"] != CHAT.end)
    assert batch.stream("wins")[first].tolist() == pytest.approx([0.8, 0.2, 0.6, 0.4])
    assert batch.stream("pair")[first].tolist() == [0, 0, 1, 1]


def test_several_synthetic_pairs_a_row(tmp_path: Path):
    (group,) = opinions(tmp_path, {**JUDGED, "a_1": ["5", "7"], "a_2": ["6", "8"], "g_syn": [0.6, 0.1]})
    assert [one.reply for one in group[2:]] == ["5", "6", "7", "8"]


def test_replies_may_be_messages(tmp_path: Path):
    said = [[{"role": "assistant", "content": text}] for text in "56"]
    (group,) = opinions(tmp_path, {**JUDGED, "a_1": said[0], "a_2": said[1]})
    assert [one.reply for one in group[2:]] == ["5", "6"]


def test_a_row_without_synthetic_replies_is_a_labelled_pair(tmp_path: Path):
    (group,) = opinions(tmp_path, PAIR)
    assert len(group) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"g_syn": None}, "g_syn is None; expected 1 prob"),
        ({"g_obs": "likely"}, "g_obs is 'likely'"),
        ({"g_syn": [0.5, 0.5]}, "expected 1 prob"),
        ({"g_obs": 1.5}, "a probability is 1.5"),
        ({"a_2": ["6", "7"]}, "a_1 has 1 replies and a_2 2"),
    ],
)
def test_what_is_wrong_with_opinions_is_said_with_the_row(tmp_path: Path, change, message):
    with pytest.raises(BadRow, match=message) as error:
        opinions(tmp_path, PAIR, {**JUDGED, **change})
    assert "2" in str(error.value)


def test_where_the_policys_snapshot_judges_no_probabilities_are_needed(tmp_path: Path):
    row = {key: value for key, value in JUDGED.items() if not key.startswith("g_")}
    (group,) = opinions(tmp_path, row, judged=False)
    assert len(group) == 4


def test_pairs_as_prompts_with_what_was_logged(tmp_path: Path):
    told = [{"role": "user", "content": "1="}]
    whole = {key: [*told, {"role": "assistant", "content": text}] for key, text in (("chosen", "1"), ("rejected", "2"))}
    (first,) = pair_tasks(write(tmp_path, {**PAIR, "more": 1}))
    assert (first.prompt, dict(first.data)) == ("1+2=", {"more": 1, "chosen": "3", "rejected": "4"})
    (second,) = pair_tasks(write(tmp_path, whole))
    assert second.prompt == told
    assert second.data["rejected"] == [{"role": "assistant", "content": "2"}]


def test_a_reward_becomes_the_preference_model():
    run = make_run("drpo", {"data": "rows.jsonl", "reward": "exact", "preference_scale": 2.0})
    prefer = run.method.settings["prefer"]
    assert isinstance(prefer, ByReward)
    assert (prefer.reward.name, prefer.scale) == ("exact", 2.0)
    assert [reward.name for reward in run.scoring] == ["doubly_robust"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "further"),
    [("group_robust_po", {}), ("vrpo", {}), ("vrpo", {"refresh": 1}), ("drpo", {"max_new_tokens": 4})],
)
def test_a_run_from_a_file_stops_and_goes_on(tmp_path: Path, name, further):
    arguments = {"data": write(tmp_path, *EVERY), "prompts_per_step": 4, "lr": 1e-3, **further}
    outcome = execute(make_run(name, {**arguments, "steps": 1}), tmp_path / "run")
    assert outcome.step == 1
    assert execute(make_run(name, {**arguments, "steps": 2}), tmp_path / "run", resume=True).state == "finished"
