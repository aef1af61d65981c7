"""Every command, Python block and file in the README and the documentation, run as a reader would, in order.

Each page is run in an empty folder. What a page shows is shortened in one place only, `short`: a line of
`guerdon train` makes two updates (four when it resumes) of four prompts, evaluates eight tasks, and shows no progress;
`guerdon eval` takes eight tasks, and `guerdon compare` a small budget, in one process. Of `make` it is checked that the
target exists, and `make train` then runs `guerdon train`. Everything else is run as it is written.
"""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from guerdon import cli
from guerdon.commands.train import CONTROLS, read
from guerdon.keys import check_complete, keys_of, parse
from guerdon.recipes import find_recipe, method_files
from tests.docs.pages import PAGES, ROOT, Block, blocks

RUN = [page for page in PAGES if any(block.language in ("bash", "python") for block in blocks(page))]
PINNED = {
    line.partition("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
}


def short(words: Sequence[str]) -> list[str]:
    """The words of a `guerdon` line, so that it takes a second."""
    if words[0] == "eval":
        return [*_without(words, "--limit"), "--limit", "8"]
    if words[:2] == ["reward", "train"]:
        return [*_without(_without(words, "--steps"), "--prompts-per-step"), "--steps", "2", "--prompts-per-step", "4"]
    if words[0] == "compare":
        few = {"--budget": "200", "--seeds": "2", "--prompts-per-step": "4", "--items": "4", "--workers": "0"}
        for key in few:
            words = _without(words, key)
        return [*words, *(word for size in few.items() for word in size)]
    if words[0] != "train" or {"--dry-run", "--help"} & set(words):
        return list(words)
    sizes = {"--steps": "4" if "--resume" in words else "2"}
    if "--resume" not in words:
        sizes |= {"--prompts-per-step": "4"}
        recipe = next((word for word in words[1:2] if not word.startswith("-")), "grpo")
        if "eval_tasks" in keys_of(find_recipe(recipe)):
            sizes |= {"--eval-tasks": "8"}
    for key in sizes:
        words = _without(words, key)
    return [*words, *(word for size in sizes.items() for word in size)]


def _without(words: Sequence[str], key: str) -> list[str]:
    if key not in words:
        return list(words)
    at = list(words).index(key)
    return [*words[:at], *words[at + 2 :]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_from_top_to_bottom(page: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    follow(blocks(page), capfd, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "page",
    [page for page in RUN if any("slow" in block.marks for block in blocks(page))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_what_needs_a_real_model_runs(page: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        follow([block for block in blocks(page) if "slow" in block.marks or block.title], capfd, slow=True)
    finally:
        shutil.rmtree(folder / "runs", ignore_errors=True)  # pytest would keep gigabytes of weights for a while


def follow(page: Sequence[Block], capfd: pytest.CaptureFixture[str], slow: bool) -> None:
    """Do what a page says: write its files, run its commands and its Python."""
    space: dict[str, object] = {"__name__": "docs"}
    said: str | None = None
    for block in page:
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, block.where, "exec"), space)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "bash":
            said = "".join(command(line, block, capfd, slow) for line in block.lines)
        elif block.language == "text" and said is not None:
            _told(block, said)
        if not (block.language == "bash" and "fails" in block.marks):
            said = None


def command(line: str, block: Block, capfd: pytest.CaptureFixture[str], slow: bool) -> str:
    """Run a line of a page, and return what it said on standard error. AssertionError when it ends otherwise."""
    first, *words = shlex.split(line)
    if first == "guerdon":
        return _guerdon(words, line, block, capfd, slow)
    if first == "make":
        subprocess.run(["make", "-n", *words], cwd=ROOT, check=True, capture_output=True)
        return _guerdon(["train"], line, block, capfd, slow) if words == ["train"] else ""
    if first == "python":
        runpy.run_path(words[0], run_name="__main__")
    elif first == "pip":
        wanted = {word.lower() for word in words[1:] if not word.startswith("-") and word != "constraints.txt"}
        assert wanted <= PINNED, f"{block.where}: {line}: {wanted - PINNED} are not in constraints.txt"
    else:
        assert line in ("source .venv/bin/activate", ".venv/bin/pre-commit install"), f"{block.where}: run what? {line}"
    return ""


def _guerdon(words: list[str], line: str, block: Block, capfd: pytest.CaptureFixture[str], slow: bool) -> str:
    if "network" in block.marks or ("slow" in block.marks and not slow):
        if words[0] != "train":
            return ""
        keys_are_right(words[1:])
        if "network" in block.marks:
            return ""
        words = [*words, *(["--dry-run"] if "--dry-run" not in words else [])]
    status = cli.run(short(words))
    said = " ".join(capfd.readouterr().err.split())
    wanted = "fail" if "fails" in block.marks else "succeed"
    assert (status != 0) == (wanted == "fail"), f"{block.where}: expected to {wanted}: {line}\n{said}"
    return said


def keys_are_right(words: Sequence[str]) -> None:
    """UsageError when a line of `guerdon train` names a key or a value that the recipe does not take."""
    wish = read(words)
    keys = keys_of(find_recipe(wish.name or "grpo"))
    check_complete(keys, parse(keys, wish.words, "docs"), "docs")


def _told(block: Block, said: str) -> None:
    """Every line of what the page says that commands say stands in what they said, in order."""
    at = 0
    for line in block.lines:
        found = said.find(line, at)
        assert found >= 0, f"{block.where}: expected to read\n  {line}\nin what is left of\n  {said[at:]}"
        at = found + len(line)


def test_shortening_replaces_what_the_line_says() -> None:
    assert short(shlex.split("train rloo --steps 50 --lr 1e-3")) == shlex.split(
        "train rloo --lr 1e-3 --steps 2 --prompts-per-step 4 --eval-tasks 8"
    )
    assert short(["train", "--resume", "runs/x", "--steps", "200"]) == ["train", "--resume", "runs/x", "--steps", "4"]
    assert short(shlex.split("compare grpo --budget 10000"))[:4] == ["compare", "grpo", "--budget", "200"]
    assert short(["train", "--dry-run"]) == ["train", "--dry-run"]
    assert short(["eval", "tiny", "--limit", "50"]) == ["eval", "tiny", "--limit", "8"]


def test_marks_belong_to_the_next_block_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.pages.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text('<!-- slow -->\n<!-- a note -->\n```bash\na\n```\n\ntext\n```python title="x.py"\nb\n```\n')
    first, second = blocks(page)
    assert (first.language, first.lines, first.marks) == ("bash", ["a"], {"slow"})
    assert (second.title, second.text, second.marks) == ("x.py", "b\n", frozenset())
    page.write_text("<!-- slow -->\ntext\n```bash\na\n```\n")
    assert blocks(page)[0].marks == frozenset()
    page.write_text("```bash\na\n")
    with pytest.raises(ValueError, match=r"page\.md:1"):
        blocks(page)


def test_every_control_of_the_command_is_in_the_documentation() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert [key.flag for key in CONTROLS.values() if key.flag not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    slugs = ["index", *(module.CARD.slug for module in method_files())]
    made = {ROOT / "docs" / "methods" / f"{slug}.md" for slug in slugs}  # by docs/gen_methods.py, with the site
    there = [(page.parent / link).resolve() for link in links]
    assert [path for path in there if path not in made and not path.exists()] == []
