"""Decodes on disk: JSON lines, the protocol first, so that every number can be computed again from the file alone."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from guerdon.evaluation.protocol.base import Decode, Evaluated, Protocol
from guerdon.files import write_whole


def write_evaluated(path: Path, found: Evaluated) -> None:
    """Write a file whole or not at all."""
    head = {"protocol": found.protocol.as_dict(), "faults": list(found.faults)}
    lines = [json.dumps(head), *(json.dumps(asdict(one)) for one in found.decodes)]
    write_whole(path, "\n".join(lines) + "\n")


def read_evaluated(path: Path) -> Evaluated:
    """What `write_evaluated` wrote. ValueError, naming file and line, for anything else."""
    names = {f.name for f in fields(Decode)}
    decodes: list[Decode] = []
    head: dict = {}
    # by line breaks alone: a reply may hold other characters that str.splitlines takes for ends of lines
    for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), 1):
        try:
            row = json.loads(line)
            if number == 1:
                head = {"protocol": Protocol.from_dict(row["protocol"]), "faults": tuple(row["faults"])}
            else:
                decodes.append(Decode(**{name: row[name] for name in names}))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: {type(error).__name__}: {error}; expected decodes") from error
    return Evaluated(decodes=decodes, **head)
