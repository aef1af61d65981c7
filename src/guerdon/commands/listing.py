"""`guerdon methods` and `guerdon tasks`: what there is."""

from __future__ import annotations

from typing import Any


def methods(claims: bool = True) -> dict[str, Any]:
    """Print the methods from their cards, and return them; what became of their claims too, where that is wanted."""
    from guerdon.recipes.catalog import catalog

    listed: list[dict[str, Any]] = [
        {
            "slug": entry.card.slug,
            "name": entry.card.name,
            "family": entry.card.family,
            "paper": entry.card.paper,
            "summary": entry.card.summary,
            "differs": entry.card.differs,
            "recipes": list(entry.constructors),
            **({"claim": _claim(entry.card.slug)} if claims else {}),
        }
        for entry in catalog()
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
