"""`guerdon compare` end to end: what it prints and leaves, going on, and what it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from guerdon import cli
from guerdon.commands.compare import CONTROLS
from tests.compare.arms import reward_in
from tests.models.small import saved

SMALL = "--prompts-per-step 2 --samples-per-prompt 2 --max-new-tokens 4 --items 3 --decodes 4 --on-the-way 2 --points 2"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture
def compare(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `guerdon compare` in a folder of its own; returns (exit status, last line as JSON, what people read)."""
    monkeypatch.chdir(tmp_path)
    reward = reward_in(tmp_path)

    def run(words: str) -> tuple[int, dict[str, Any], str]:
        given = [*shlex.split(words), "--model", str(model), "--reward", reward, *SMALL.split(), "--json"]
        status = cli.run(["compare", *given, *(["--workers", "0"] if "--workers" not in words else [])])
        said = capsys.readouterr()
        return status, json.loads(said.out.splitlines()[-1]), said.err

    return run


def test_it_leaves_a_page_and_a_record(compare: Any):
    status, found, said = compare("grpo rloo --budget 60 --seeds 2 --out it --quiet")
    assert status == 0
    assert found["seeds"] == [0, 1]
    assert set(found["arms"]) == {"grpo", "rloo"}
    used = [arm["used_per_seed"] for arm in found["arms"].values()]
    assert all(one["sampled_tokens"] - one["excess"] == 60 for one in used)
    assert all(one["trained_tokens"] > 0 and one["rollouts"] > 0 and one["gradient_steps"] > 0 for one in used)
    assert json.loads(Path("it/compare.json").read_text()) == found
    assert "<svg" in Path("it/report.html").read_text()
    for word in ("accuracy", "less grpo", "gradient", "it/report.html"):
        assert word in said
    assert "--out it" in found["command"]


def test_going_on_does_only_what_is_left(compare: Any):
    _, _, said = compare("grpo rloo --budget 60 --seeds 1 --out it")
    assert "3 runs to do, 0 done before" in said
    status, found, said = compare("grpo rloo reinforce --budget 60 --seeds 2 --out it")
    assert (status, found["seeds"]) == (0, [0, 1])
    assert "4 runs to do, 3 done before" in said
    status, found, said = compare("grpo rloo reinforce --budget 60 --seeds 2 --out it")
    assert (status, "0 runs to do, 7 done before" in said) == (0, True)


def test_a_folder_of_another_comparison_is_refused(compare: Any):
    compare("grpo --budget 60 --seeds 1 --out it --quiet")
    status, found, _ = compare("grpo --budget 90 --seeds 1 --out it --quiet")
    assert (status, found["kind"]) == (1, "ValueError")
    assert "holds a comparison with budget 60; found 90" in found["error"]
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    status, found, _ = compare("grpo --budget 90 --seeds 1 --out mine --quiet")
    assert (status, found["kind"]) == (1, "FolderTaken")


def test_a_run_that_fails_leaves_the_table_of_the_others(compare: Any):
    status, found, said = compare("grpo 'rloo?lr=1e30' --budget 60 --seeds 1 --out it --quiet")
    assert (status, found["kind"]) == (1, "RunFailed")
    assert "1 of 3 runs failed, such as seed 0, rloo?lr=1e30: " in found["error"]
    assert list(found["arms"]) == ["grpo"]
    assert "seed 0, rloo?lr=1e30 failed" in said


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ("--budget 60", "UsageError", "no method is named"),
        ("grpo", "UsageError", "--budget must be given"),
        ("grpoo --budget 60", "ValueError", "did you mean 'grpo'"),
        ("grpo --budget many", "UsageError", "--budget is 'many'"),
        ("grpo --budget 60 --seeds 0", "UsageError", "--seeds is 0"),
        ("grpo --budget 60 --steps 5", "UsageError", "there is no key --steps"),
        ("'grpo?temperature=2' --budget 60", "UsageError", "give it to all"),
        ("grpo grpo --budget 60", "UsageError", "given twice"),
    ],
)
def test_mistakes_are_told_before_anything_starts(compare: Any, words: str, kind: str, said: str):
    status, found, _ = compare(words)
    assert (status, found["kind"]) == (2 if kind == "UsageError" else 1, kind)
    assert said in found["error"]
    assert not Path("comparisons").exists()


def test_help_lists_keys_and_methods(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["compare", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(key.flag in said for key in CONTROLS.values())
    for word in ("--temperature", "grpo,", "rloo"):
        assert word in said
    for word in ("--steps ", "dpo,", "--eval-every"):
        assert word not in said.replace("online_dpo", "")
