"""The results of one machine: one JSON file, a workload's entry at a time, and the table that is made of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from speed.table import table

FOLDER = Path(__file__).parents[1] / "results"


class Results:
    """`FOLDER/NAME.json` and `NAME.md`. Every `put` is written at once; other workloads' entries stay as they are."""

    def __init__(self, name: str, machine: dict[str, Any], folder: Path = FOLDER) -> None:
        self.file, self.page = folder / f"{name}.json", folder / f"{name}.md"
        before = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.content: dict[str, Any] = {"machine": machine, "workloads": before.get("workloads", {})}

    def put(self, workload: str, entry: dict[str, Any]) -> None:
        self.content["workloads"][workload] = entry
        self.file.parent.mkdir(parents=True, exist_ok=True)
        aside = self.file.with_suffix(".tmp")
        aside.write_text(written(self.content), encoding="utf-8")
        os.replace(aside, self.file)
        self.page.write_text(table(self.content), encoding="utf-8")


def written(content: dict[str, Any]) -> str:
    """As JSON for people: what holds no further lists or objects is on one line."""
    return _FLAT.sub(lambda found: re.sub(r"\s*\n\s*", " ", found.group()), json.dumps(content, indent=1)) + "\n"


_FLAT = re.compile(r"\[[^][{}]*\]|\{[^][{}]*\}")
