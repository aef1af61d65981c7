from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speed.machine import machine, slug
from speed.results import Results, written
from speed.summary import ratios, summarise
from speed.table import number, table

MACHINE = {"processor": "Some CPU @ 3GHz", "cores": 2, "memory_gb": 24, "instructions": ["avx2"], "system": "Linux x"}


def side(step: float) -> dict[str, Any]:
    counted = {"tokens": 96, "peak_mb": 1024.0 * step, "threads": 2, "others": 0.2}
    return summarise([{"step": step + i, "sample": 1.0, "learn": step + i - 1, "cpu": step, **counted} for i in (0, 2)])


def entry(date: str = "2030-01-01") -> dict[str, Any]:
    sides = {"guerdon": side(2.0), "trl": side(5.0)}
    settings = {"device": "cpu", "dtype": "float32", "rounds": 2, "warmup": 1}
    found = {"date": date, "commit": "abc", "what": "a step", "notes": ["a note"], "settings": settings}
    return {**found, "contestants": sides, "ratios": ratios(*sides.values()), "gflop": {"sample": 100.0, "step": 300.0}}


def test_one_workload_is_written_and_the_others_stay(tmp_path: Path) -> None:
    Results("m", MACHINE, tmp_path).put("S", entry())
    Results("m", MACHINE, tmp_path).put("T", entry("2030-02-02"))
    found = json.loads((tmp_path / "m.json").read_text())
    assert {name: one["date"] for name, one in found["workloads"].items()} == {"S": "2030-01-01", "T": "2030-02-02"}
    assert found["machine"] == MACHINE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.md"]


def test_the_table_shows_both_sides_ratio_and_memory(tmp_path: Path) -> None:
    page = table({"machine": MACHINE, "workloads": {"T": entry(), "S": entry()}})
    cells = [line.split(" | ") for line in page.splitlines() if line.startswith(("| S |", "| T |"))]
    assert [line[0] for line in cells] == ["| S", "| T"]
    ours = "3 s (2-4, 96 tokens/s, 2 disturbed)"
    assert cells[0][1:6] == ["a step; a note", ours, "trl 6 s (5-7, 96 tokens/s, 2 disturbed)", "2.0", "2.0 of 5.0 GB"]


def test_the_share_of_the_ceiling_is_the_counted_work_over_the_best_rate(tmp_path: Path) -> None:
    rates = {"float32": {"large": 120.0, "S head": 60.0}, "bfloat16": {"large": 200.0, "S head": 1.0}}
    ceilings = {"gflops": rates, "gb_per_second": {"read": 10.0, "copy": 20.0}}
    page = table({"machine": MACHINE, "workloads": {"S": entry(), "ceilings": ceilings}})
    assert "| S | sample | 100 | 0.833 | 1 | 83% |" in page  # 100 GFLOP at 120 GFLOP/s, in a second
    assert "| S | step | 300 | 2.5 | 3 | 83% |" in page


def test_a_bench_in_another_number_format_has_a_row_of_its_own() -> None:
    half = entry() | {"settings": {"dtype": "bfloat16"}}
    page = table({"machine": MACHINE, "workloads": {"S bfloat16": half, "S": entry()}})
    assert [line[:14] for line in page.splitlines() if line.startswith("| S")] == ["| S | a step; ", "| S bfloat16 |"]


def test_lists_of_numbers_are_written_on_one_line() -> None:
    content = {"a": [1, 2], "b": {"c": {"d": 1.5, "e": "x"}}}
    assert json.loads(written(content)) == content
    assert '"a": [ 1, 2 ]' in written(content)
    assert '"c": { "d": 1.5, "e": "x" }' in written(content)


def test_numbers_are_short() -> None:
    assert [number(x) for x in (0, 1234.5, 12.345, 0.01234, 1.5e-7)] == ["0", "1,234", "12.3", "0.0123", "1.5e-07"]


def test_a_machine_is_named_by_processor_and_cores() -> None:
    assert slug(MACHINE) == "some-cpu-3ghz-2-cores"
    assert slug(MACHINE, "NVIDIA A100-SXM4") == "nvidia-a100-sxm4"
    assert slug(machine()) == slug(machine()) != ""
