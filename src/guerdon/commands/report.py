"""`guerdon report`: write a run's page anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def report(run: str) -> dict[str, Any]:
    """Write `report.html` of a run folder, say where it is, and return that."""
    from guerdon.report import write_report

    page = write_report(Path(run).expanduser())
    print(page)
    return {"run": run, "report": str(page)}
