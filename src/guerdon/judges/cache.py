"""What a judge said before, by what it was asked: in memory, and in a folder that outlives the process.

One file per answer, written aside and renamed, so that any number of processes can share a folder. A file that cannot
be read, or is not about its key, counts as none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any


def key_of(**asked: Any) -> str:
    """64 hex digits: a SHA-256 over everything that an answer depends on."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class Cache:
    """Answers (JSON objects) by key. folder: None keeps the latest `most` in memory only; else all of them on disk."""

    def __init__(self, folder: Path | str | None = None, most: int = 10_000) -> None:
        self.folder = None if folder is None else Path(folder).expanduser()
        self._most = most
        self._known: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Cache({str(self.folder)!r})" if self.folder else "Cache()"

    def get(self, key: str) -> Mapping[str, Any] | None:
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        found = None if self.folder is None else _read(self._path(key), key)
        if found is not None:
            self._keep(key, found)
        return found

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer. OSError when the folder cannot be written."""
        self._keep(key, answer)
        if self.folder is None:
            return
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False, encoding="utf-8") as aside:
            json.dump({"key": key, "answer": answer}, aside)
        os.replace(aside.name, path)

    def _keep(self, key: str, answer: Mapping[str, Any]) -> None:
        self._known[key] = answer
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"


def _read(path: Path, key: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    fits = isinstance(found, dict) and found.get("key") == key and isinstance(found.get("answer"), dict)
    return found["answer"] if fits else None
