"""A file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.files import write_whole


def test_a_write_that_fails_leaves_the_former_file(tmp_path: Path):
    path = tmp_path / "folder" / "file.json"
    write_whole(path, "first")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "second, then half a character: \ud800")
    assert path.read_text() == "first"
    write_whole(path, "third")
    assert [file.name for file in path.parent.iterdir() if file.read_text() == "third"] == ["file.json"]
