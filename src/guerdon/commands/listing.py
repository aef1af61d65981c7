"""`guerdon methods` and `guerdon tasks`: what there is."""

from __future__ import annotations

from typing import Any


def methods() -> dict[str, Any]:
    """Print the methods from their cards, and return them."""
    from guerdon.recipes import constructors, method_files

    files = method_files()
    listed = [
        {
            "slug": module.CARD.slug,
            "name": module.CARD.name,
            "family": module.CARD.family,
            "paper": module.CARD.paper,
            "summary": module.CARD.summary,
            "differs": module.CARD.differs,
            "recipes": [constructor.__name__ for constructor in constructors(module)],
            "claim": _claim(module.CARD.slug),
        }
        for module in files
    ]
    _print([(", ".join(one["recipes"]), one["family"], one["summary"]) for one in listed])
    print("\nKeys of one: guerdon train NAME --help")
    return {"methods": listed}


def _claim(slug: str) -> dict[str, Any] | None:
    """The word of a method's claim and whether its record is older than the code; None where there is none."""
    from guerdon.claims import record

    found = record.read(slug) if slug.replace("-", "_") in record.claim_names() else None
    return None if found is None else {"word": found["word"], "stale": found["stale"]}


def tasks() -> dict[str, Any]:
    """Print the task sets, and return them."""
    from guerdon.rewards.load import list_rewards
    from guerdon.tasks.spec import list_tasks

    found, rewards = list_tasks(), list_rewards()
    _print([(name, text) for name, text in found.items()])
    print("\nRewards that can be named (--reward), beside file.py:function:")
    _print([(name, text) for name, text in rewards.items()])
    return {"tasks": found, "rewards": rewards}


def _print(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(Text(row[0], style="bold"), *(Text(cell) for cell in row[1:]))
    Console(highlight=False).print(table)
