"""`guerdon train NAME --help`: every key of a recipe with its default and what it means."""

from __future__ import annotations

import inspect
from typing import Any

from guerdon.commands.train import CONTROLS
from guerdon.keys import REQUIRED, Key, keys_of


def show_recipe(name: str | None) -> None:
    """Print what a recipe is and all that it can be told, to standard output."""
    from rich.console import Console
    from rich.text import Text

    from guerdon.recipes import find_recipe, recipe_names

    recipe = find_recipe(name or "grpo")
    console = Console(highlight=False)
    console.print(Text(f"Usage: guerdon train {name or '[NAME]'} [--key value ...]\n", style="bold"))
    if name is None:
        console.print(
            Text(f"NAME is one of {', '.join(recipe_names())}, or path/to/file.py:function. Default: grpo.\n")
        )
    console.print(Text(inspect.getdoc(recipe) or f"The recipe {name}."), end="\n\n")
    own, shared = _parted(keys_of(recipe))
    for title, keys in ((f"Keys of {name or 'grpo'}", own), ("Keys of every run", shared), ("Command", CONTROLS)):
        if keys:
            console.print(Text(title, style="bold"))
            console.print(key_table(keys))


def _parted(keys: dict[str, Key]) -> tuple[dict[str, Key], dict[str, Key]]:
    from dataclasses import fields

    from guerdon.run import Options

    names = {field.name for field in fields(Options)}
    own = {name: key for name, key in keys.items() if name not in names}
    return own, {name: key for name, key in keys.items() if name in names}


def key_table(keys: dict[str, Key]) -> Any:
    """A table of keys for rich: flag, default, and what it means."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for key in keys.values():
        default = "required" if key.default is REQUIRED else str(key.default)
        text = key.help or ("" if key.kind in (int, float, str) else key.expects)
        if key.kind not in (int, float, str, bool) and key.help and "one of" in key.expects:
            text = f"{key.help} ({key.expects})"
        table.add_row(key.flag, Text(default, style="cyan"), Text(text))
    return table
