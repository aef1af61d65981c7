"""Results as Markdown: whole steps against the peers, guerdon alone, and how everything stands to its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ORDER = ("S", "T", "L", "V", "Q", "DPO", "RM", "gen")
"""Races, in the order in which they are shown."""

Entry = Mapping[str, Any]


def table(content: Entry) -> str:
    """The page of one machine."""
    found: Mapping[str, Entry] = content["workloads"]
    races = {base: found[base] for base in sorted((n for n in found if _base(n) in ORDER), key=_place)}
    sections = [
        _machine(content["machine"]),
        _races(races),
        _targets(found),
        _ceiling(races, found.get("ceilings")),
        *(make(found[name]) for name, make in _ALONE.items() if name in found),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def rows_of(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value: float) -> str:
    """Three digits that say something, and no exponent where it can be helped."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"


def _base(name: str) -> str:
    return name.partition(" ")[0]


def _place(name: str) -> tuple[int, str]:
    return ORDER.index(_base(name)), name


def _machine(machine: Entry) -> str:
    parts = [machine["processor"], f"{machine['cores']} cores", f"{machine['memory_gb']} GB", machine["system"]]
    parts += [machine["gpu"]] if machine.get("gpu") else []
    return (
        f"# {', '.join(parts)}\n\nMade by `make bench`. Instructions: {', '.join(machine['instructions']) or 'none'}."
    )


def _races(races: Mapping[str, Entry]) -> str:
    if not races:
        return ""
    heads = ["", "a step", "guerdon", "peer", "times as fast", "peak memory", "steps", "date", "commit"]
    return "## Against peers, in turn\n\n" + rows_of(heads, (_race(name, entry) for name, entry in races.items()))


def _race(name: str, entry: Entry) -> list[object]:
    sides = list(entry["contestants"].items())
    cells = [_side(side, summary) for side, summary in sides]
    ours, theirs = (summary for _, summary in sides)
    memory = f"{ours['peak_mb'] / 1024:.1f} of {theirs['peak_mb'] / 1024:.1f} GB"
    what = "; ".join([entry["what"], *entry.get("notes", [])])
    shared = [entry["ratios"]["step"], memory, len(ours["steps"]), entry["date"], entry["commit"]]
    return [name, what, *cells, *shared]


def _side(name: str, summary: Entry) -> str:
    rate = summary.get("sampled_tokens_per_second")
    spread = sorted(row["step"] for row in summary["steps"])
    parts = [f"{number(spread[0])}-{number(spread[-1])}", *([f"{number(rate)} tokens/s"] if rate else [])]
    disturbed = summary.get("disturbed_steps")
    parts += [f"{disturbed} disturbed"] if disturbed else []
    return f"{'' if name == 'guerdon' else name + ' '}{number(summary['step'])} s ({', '.join(parts)})"


def _targets(found: Mapping[str, Entry]) -> str:
    rows = [
        [name, one["name"], number(one["found"]), _bound(one), "yes" if one["met"] else "no"]
        for name, entry in found.items()
        for one in entry.get("targets", [])
    ]
    return "## Targets\n\n" + rows_of(["", "", "found", "target", "met"], rows) if rows else ""


def _bound(target: Entry) -> str:
    return f"at least {number(target['least'])}" if "least" in target else f"at most {number(target['most'])}"


def _ceiling(races: Mapping[str, Entry], ceilings: Entry | None) -> str:
    if not ceilings:
        return ""
    rates, memory = ceilings["gflops"], ceilings["gb_per_second"]
    shapes = rows_of(
        ["GFLOP/s", *rates["float32"]], ([dtype, *map(number, rate.values())] for dtype, rate in rates.items())
    )
    text = f"## Ceilings\n\n{shapes}\n\nMemory: {memory['read']} GB/s read, {memory['copy']} GB/s copied."
    rows = [row for name, entry in races.items() for row in _shares(name, entry, rates)]
    heads = ["", "part", "GFLOP by counting", "seconds at the ceiling", "measured", "share of the ceiling"]
    return f"{text}\n\n{rows_of(heads, rows)}" if rows else text


def _shares(name: str, entry: Entry, rates: Mapping[str, Mapping[str, float]]) -> list[list[object]]:
    """Counted operations over the best rate of a product of this number format, against guerdon's seconds."""
    best = max(rates[entry["settings"]["dtype"]].values())
    ours = entry["contestants"]["guerdon"]
    rows = []
    for part, gflop in entry.get("gflop", {}).items():
        took = ours.get(part)
        if took:
            rows.append([name, part, number(gflop), number(gflop / best), number(took), f"{gflop / best / took:.0%}"])
    return rows


def _dead(entry: Entry) -> str:
    seconds = ", ".join(f"{name} {number(s)} s" for name, s in entry["seconds"].items())
    gap = f"the gradient is off by {number(entry['gradient_difference'])}"
    return f"## Groups of equal rewards (Z)\n\nThe training part of S: {seconds}: {entry['share']:.2f}; {gap}."


def _memory(entry: Entry) -> str:
    heads = ["peak memory grows by, MB", *map(str, entry["lengths"])]
    rows = [
        [f"{way}, {int(vocab):,} tokens", *("does not fit" if p is None else number(p["grown_mb"]) for p in found[way])]
        for vocab, found in entry["vocabularies"].items()
        for way in ("chunked", "full logits")
    ]
    return "## Memory of vocabulary statistics over length\n\n" + rows_of(heads, rows)


def _scaling(entry: Entry) -> str:
    heads = [
        "",
        "at",
        "sample: slope (counted)",
        "learn: slope (counted)",
        "step: slope (counted)",
        "seconds of a step",
    ]
    rows = []
    for name, curve in entry["dimensions"].items():
        slopes = [f"{curve['slopes'][p]:.2f} ({curve['counted'][p]:.2f})" for p in ("sample", "learn", "step")]
        seconds = ", ".join(map(number, curve["seconds"]["step"]))
        rows.append([name, ", ".join(map(str, curve["at"])), *slopes, seconds])
    return "## How a step grows\n\n" + rows_of(heads, rows)


def _overhead(name: str) -> Any:
    def made(entry: Entry) -> str:
        parts = [(kind, place, share) for kind, places in entry["parts"].items() for place, share in places.items()]
        head = f"## Where a whole run spends a step of {name}\n\n{number(entry['step'])} s a step, "
        text = f"{entry['outside']:.2%} outside the model, checkpoints every 50 steps among it."
        rows = ([kind, place, f"{share:.2%}"] for kind, place, share in parts)
        return f"{head}{text}\n\n{rows_of(['', '', 'share'], rows)}"

    return made


def _startup(entry: Entry) -> str:
    text = ", ".join(f"{name} {number(seconds)} s" for name, seconds in entry["seconds"].items())
    return f"## Start-up\n\n{text}."


_ALONE: dict[str, Any] = {
    "Z": _dead,
    "memory": _memory,
    "scaling": _scaling,
    "overhead-S": _overhead("S"),
    "overhead-T": _overhead("T"),
    "startup": _startup,
}
"""What is measured of guerdon alone, and how its section is written."""
