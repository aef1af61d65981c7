import json

import pytest

from guerdon.judges.cache import Cache, key_of

KEY = key_of(model="m", messages=["a"])
ANSWER = {"message": {"content": "hello"}}


def test_keys_depend_on_all_that_is_asked_and_on_no_order():
    assert key_of(a=1, b=2) == key_of(b=2, a=1)
    assert len({key_of(a=1), key_of(a=2), key_of(a="1"), key_of(b=1), key_of(a=1, b=None)}) == 5
    assert len(KEY) == 64


def test_answers_outlive_the_process(tmp_path):
    Cache(tmp_path / "answers").put(KEY, ANSWER)
    assert Cache(tmp_path / "answers").get(KEY) == ANSWER
    assert Cache(tmp_path / "answers").get(key_of(model="m", messages=["b"])) is None
    assert [path.name for path in (tmp_path / "answers").rglob("*.*")] == [f"{KEY}.json"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[1]",
        json.dumps({"key": "another", "answer": ANSWER}).encode(),
        json.dumps({"key": KEY, "answer": "text"}).encode(),
        json.dumps({"key": KEY}).encode(),
        b"[" * 100_000,
    ],
)
def test_a_damaged_entry_is_none_and_is_written_anew(tmp_path, damage):
    Cache(tmp_path).put(KEY, ANSWER)
    path = next(tmp_path.rglob("*.json"))
    path.write_bytes(damage)
    cache = Cache(tmp_path)
    assert cache.get(KEY) is None
    cache.put(KEY, ANSWER)
    assert Cache(tmp_path).get(KEY) == ANSWER


def test_memory_keeps_the_latest():
    cache = Cache(most=2)
    for name in ("a", "b"):
        cache.put(name, {"of": name})
    cache.get("a")
    cache.put("c", {"of": "c"})
    assert cache.get("b") is None
    assert cache.get("a") == {"of": "a"}
