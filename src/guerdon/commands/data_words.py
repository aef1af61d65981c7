"""What `guerdon data check` found, in lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 5
"""Rows of a kind that are listed before the rest is counted."""

LONGEST = 600
"""Characters of a part that are shown."""


def lines(found: Mapping[str, Any]) -> list[str]:
    """The result of a check, a line each."""
    named = found["columns"].items()
    columns = ", ".join(field if field == column else f"{field} from {column}" for field, column in named)
    kept = f"; kept as data: {', '.join(found['data'])}" if found["data"] else ""
    return [
        f"{found['file']}: layout {found['layout']}; {found['learned']}",
        f"read: {columns}{kept}",
        f"{found['rows']} rows, {found['usable']} of them usable",
        *_bad(found),
        *(line for row in found["preview"] for line in _row(row)),
        *_lengths("characters", found["characters"]),
        *_lengths("tokens", found["tokens"]),
        *_listed("the same row twice", found["duplicates"]),
        *_listed("one prompt, different targets", found["conflicts"]),
        *_gold(found["gold"]),
        *_overlap(found["overlap"]),
        *_probe(found["probe"]),
    ]


def _bad(found: Mapping[str, Any]) -> list[str]:
    bad = found["bad_rows"]
    return [f"bad row {one['row']}: {one['reason']}" for one in bad[:MOST]] + _rest(bad)


def _row(row: Mapping[str, Any]) -> list[str]:
    shown = [f"row {row['row']}"]
    for part in row["parts"]:
        if part["of"] == "step":
            mark = "right" if part["learned"] else "wrong"
        else:
            mark = "learned" if part["learned"] else "given"
        name = "" if part["of"] == "row" else f"{part['of']}, "
        shown.append(f"  {name + mark:<20} {_short(part['text'])}")
    shown += [f"  {name:<20} {_short(row[name])}" for name in ("answer", "label") if name in row]
    return shown


def _short(value: Any) -> str:
    """On one line, with what cannot be seen made visible."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text) - LONGEST} characters more)"


def _lengths(unit: str, found: Mapping[str, Any] | None) -> list[str]:
    spreads = {name: spread for name, spread in (found or {}).items() if spread is not None}
    return [
        f"{unit} of a {name}: min {s['min']}, median {s['median']}, 95% {s['p95']}, max {s['max']}"
        for name, s in spreads.items()
    ]


def _listed(what: str, groups: Sequence[Sequence[int]]) -> list[str]:
    return [f"{what}: rows {', '.join(map(str, rows[:20]))}" for rows in groups[:MOST]] + _rest(groups)


def _gold(gold: Mapping[str, Any] | None) -> list[str]:
    if gold is None:
        return []
    failed = gold["failed"]
    fine = gold["tested"] - len(failed)
    told = [f"answers: {fine} of {gold['tested']} are right when they are the reply (by {gold['by']})"]
    return told + [f"answer of row {one['row']}: {one['reason']}" for one in failed[:MOST]] + _rest(failed)


def _overlap(overlap: Mapping[str, Any] | None) -> list[str]:
    if overlap is None:
        return []
    hits = overlap["hits"]
    told = [
        f"overlap with {overlap['against']}: {overlap['matched']} of {overlap['prompts']} prompts are held by a row: "
        f"{overlap['n']}-grams of it cover more than {overlap['threshold']:.0%} of them; mean {overlap['mean']:.3f}"
    ]
    return told + [f"row {hit['row']} covers {hit['share']:.0%} of {hit['held']}" for hit in hits[:MOST]] + _rest(hits)


def _probe(probe: Sequence[Mapping[str, Any]] | None) -> list[str]:
    return [
        f"given {one['share']}% of a problem ({one['n']} problems): the rest word for word {one['exact']:.3f}, "
        f"ROUGE-L {one['rouge_l']:.3f}" + ("" if one["right"] is None else f", right answers {one['right']:.3f}")
        for one in probe or ()
    ]


def _rest(found: Sequence[Any]) -> list[str]:
    return [f"  ... and {len(found) - MOST} more (all of them: --json)"] if len(found) > MOST else []
