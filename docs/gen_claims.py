"""The table of all claims, from their records: a hook of mkdocs, and what writes `docs/claims.md`.

    python docs/gen_claims.py

writes the page as it is read beside the code, without pictures. In the site it is made anew, with pictures, and with a
mark at results that are older than the code.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.claims import record
from guerdon.claims.base import BUDGET
from guerdon.claims.picture import picture

sys.path.append(str(Path(__file__).parent))
from gen_methods import cell, markdown, prose

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = Path(__file__).parent / "claims.md"

INTRO = """# Claims

<!-- Made by `python docs/gen_claims.py` from src/guerdon/claims/results/; change that, not this. -->

What papers say, tried at laptop scale: each method against its own baseline, on the same seeds, at equal budget. A
claim is a file, `src/guerdon/claims/SLUG.py`; it fixes the experiment, what is expected and the rule before anything is
run.

- **holds**: of every expectation, the whole 95% interval of the paired difference lies beyond what was promised;
- **does not hold**: of at least one, all of it lies short of that;
- **undecided**: neither, or fewer seeds than the file asks for.

Small models on small tasks can refute a reason that a paper gives, and show that an effect is there. They cannot say
that it is as large elsewhere. What was obtained is shown, whatever it says.
"""


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page of the site, with pictures."""
    return whole(records(), site=True) if page.file.src_uri == PAGE.name else text


def records() -> list[dict[str, Any]]:
    """Every record that there is, by slug."""
    found = [record.read(name.replace("_", "-")) for name in record.claim_names()]
    return sorted((one for one in found if one is not None), key=lambda one: str(one["slug"]))


def whole(found: list[dict[str, Any]], site: bool = False) -> str:
    """The page. site: with pictures, links to the pages of methods, and marks of what is stale."""
    lines = [INTRO, _counts(found), ""]
    lines += [
        "| Method | What the paper says | Here | What decided, or came first | Command |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_row(one, site) for one in found] + [""]
    for one in found:
        lines += _section(one, site)
    return "\n".join(lines).rstrip() + "\n"


def _counts(found: list[dict[str, Any]]) -> str:
    words = [one["word"] for one in found]
    told = [f"{words.count(word)} {text}" for word, text in WORDS.items() if word in words]
    return f"{len(found)} were tried: {', '.join(told)}." if told else "None was tried yet."


WORDS = {"holds": "hold", "does not hold": "do not hold", "undecided": "undecided"}


def _row(one: dict[str, Any], site: bool) -> str:
    claimed = [each for each in one["expectations"] if not each["control"]]
    first = next((each for each in claimed if each["word"] == one["word"]), claimed[0])
    stale = " (stale)" if site and one["stale"] else ""
    result = f"{first['text']}: {_difference(first)}, {len(one['seeds'])} seeds"
    name = f"[{one['slug']}](#{one['slug']})"
    return f"| {name} | {cell(one['claim'])} | **{one['word']}**{stale} | {cell(result)} | `{one['command']}` |"


def _difference(one: dict[str, Any]) -> str:
    d = one["difference"]
    return f"{d['mean']:.3g} ({d['low']:.3g} to {d['high']:.3g})"


def _section(one: dict[str, Any], site: bool) -> list[str]:
    """What was tested, what came out, and what each arm used."""
    module = importlib.import_module(f"guerdon.claims.{one['slug'].replace('-', '_')}")
    stale = " The code has changed since." if site and one["stale"] else ""
    lines = [f"## {one['slug']}", "", f"{prose(one['claim'])} **{one['word']}**, {len(one['seeds'])} seeds.{stale}", ""]
    lines += [markdown(inspect.getdoc(module) or ""), ""]
    lines += ["| Expected | Difference that way (95% interval) | |", "| --- | --- | --- |"]
    for each in one["expectations"]:
        control = " (control)" if each["control"] else ""
        lines.append(f"| {cell(each['text'])}{control} | {_difference(each)} | {each['word']} |")
    if site:
        lines += ["", picture(one)]
    return [*lines, "", *_budgets(one), f"`{one['command']}`, at commit `{str(one['commit'])[:9]}`.", ""]


def _budgets(one: dict[str, Any]) -> list[str]:
    """A table of what each arm used per seed; none where nothing was counted."""
    names = [name for name in BUDGET if any(name in arm["budget_per_seed"] for arm in one["arms"].values())]
    if not names:
        return []
    lines = ["| Used per seed | " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines += ["| --- |" + " ---: |" * len(names)]
    for arm, told in one["arms"].items():
        used = told["budget_per_seed"]
        lines.append(f"| {cell(arm)} | " + " | ".join(f"{used[n]:,.0f}" if n in used else "" for n in names) + " |")
    return [*lines, ""]


if __name__ == "__main__":
    PAGE.write_text(whole(records()), encoding="utf-8")
