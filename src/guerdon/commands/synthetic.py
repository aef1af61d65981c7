"""`guerdon data make KIND`: a set of labelled texts whose truth is known, as files to train and to evaluate on."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guerdon.keys import Key, UsageError, check_complete, keys_of, parse
from guerdon.names import nearest

CONTROLS = {
    key.name: key
    for key in (
        Key("out", Path, help="the .jsonl file to write; the held-out rows go beside it, to NAME.heldout.jsonl"),
        Key("json", bool, False, False, "print the result as one JSON object on the last line"),
        Key("debug", bool, False, False, "show the traceback of an error"),
    )
}
"""Keys of the command itself, beside those of the kind."""


def make(words: Sequence[str]) -> dict[str, Any] | None:
    """Write what the words ask for; the result is what `--json` prints. None where help was asked for."""
    from guerdon.synthetic.kinds import KINDS, write

    name = words[0] if words and not words[0].startswith("-") else None
    if {"--help", "-h"} & set(words) or not words:
        _help(name)
        return None
    if name not in KINDS:
        expected = nearest(name, KINDS) if name else f"; expected one of {', '.join(KINDS)} first"
        raise UsageError(f"there is no kind {name!r}{expected}" if name else f"found {words[0]!r}{expected}")
    where = f"guerdon data make {name} --help"
    keys = keys_of(KINDS[name]) | CONTROLS
    given = parse(keys, words[1:], where)
    check_complete(keys, given, where)
    arguments = {key: value for key, value in given.items() if key not in CONTROLS}
    out: Path = given["out"].expanduser()
    if out.suffix != ".jsonl":
        raise UsageError(f"--out is {str(out)!r}; expected a name that ends in .jsonl")
    made, beside = KINDS[name](**arguments), out.with_suffix(".heldout.jsonl")
    write(made.train, out)
    write(made.heldout, beside)
    result = {
        "out": str(out),
        "rows": len(made.train),
        "heldout": str(beside),
        "heldout_rows": len(made.heldout),
        **made.report,
    }
    for line in _lines(result, made.heldout[0]):
        print(line)
    return result


def _lines(result: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """What was written, and how well its labels can be predicted."""
    lines = [f"{result['out']}: {result['rows']} rows ({result['kind']}, {result['layout']})"]
    lines.append(f"{result['heldout']}: {result['heldout_rows']} rows of other prompts, such as")
    lines += [f"  {name}: {value}" for name, value in row.items()]
    if "bayes_accuracy" in result:
        lines.append(
            "best accuracy that any model can reach on held-out labels: "
            f"{result['bayes_accuracy']:.3f} in expectation, {result['likelier']:.3f} on these; "
            f"the true quality reaches {result['gold_accuracy']:.3f}"
        )
    if "bayes_mse" in result:
        lines.append(f"least mean squared error that any model can reach: {result['bayes_mse']:.3g}")
    return lines


def _help(name: str | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from guerdon.synthetic.kinds import KINDS

    console = Console(highlight=False)
    console.print(Text(f"Usage: guerdon data make {name or 'KIND'} --out FILE [--key value ...]\n", style="bold"))
    kinds = [name] if name in KINDS else list(KINDS)
    for kind in kinds:
        console.print(Text(f"{kind}: {inspect.getdoc(KINDS[kind])}"), end="\n\n")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for key in ((keys_of(KINDS[name]) | CONTROLS) if name in KINDS else CONTROLS).values():
        default = "required" if key.name == "out" else str(key.default)
        table.add_row(key.flag, Text(default, style="cyan"), Text(f"{key.help} ({key.expects})"))
    console.print(table)
