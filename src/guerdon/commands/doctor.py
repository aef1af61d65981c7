"""`guerdon doctor`: print what `guerdon.doctor` found."""

from __future__ import annotations

from typing import Any


def doctor() -> dict[str, Any]:
    """Print what is there, what is missing and how to mend it; and return it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from guerdon.doctor import examine

    found = examine()
    console = Console(highlight=False)
    installed = ", ".join(f"{name} {number}" for name, number in found["packages"].items() if number)
    console.print(Text(f"guerdon {found['guerdon']}, Python {found['python']}, {installed}"))
    machine = found["machine"]
    memory = "unknown" if machine["memory_gb"] is None else f"{machine['free_memory_gb']} of {machine['memory_gb']} GB"
    console.print(
        Text(
            f"{machine['cpus']} CPUs, {machine['threads']} threads, memory free {memory}, disk free here "
            f"{machine['free_disk_gb']} GB, GPU {machine['cuda'] or 'none'}\n"
        )
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for feature in found["features"]:
        state = Text("ready", style="green") if feature["ready"] else Text("missing", style="yellow")
        table.add_row(feature["name"], state, feature["what"], Text("" if feature["ready"] else feature["mend"]))
    console.print(table)
    for problem in found["problems"]:
        console.print(Text(f"Problem: {problem}", style="bold red"))
    if not found["problems"]:
        console.print(Text("\nAll that the main job needs is here: guerdon train", style="green"))
    return found
