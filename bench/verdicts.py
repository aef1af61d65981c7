"""How many math verdicts a second the pool gives, and what one hanging input costs: python bench/verdicts.py

Pairs are those of the labelled corpus, each once per round. Per round, in turn: all of them; all of them with one
input that computes for ever among them. Prints medians and writes bench/results/verdicts.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from pathlib import Path

from guerdon.pool.outcome import Limits
from guerdon.pool.pool import Pool

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "rewards" / "verify" / "math" / "corpus.jsonl"
GRADE = "guerdon.rewards.verify.math.grade:grade"
LIMIT = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    pairs = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines() if line.strip()]
    pool = Pool(given.workers)
    asyncio.run(grade_all(pool, pairs, hang=False))  # workers start, libraries are imported
    rounds = []
    for _ in range(given.rounds):
        plain, _ = asyncio.run(grade_all(pool, pairs, hang=False))
        hung, others = asyncio.run(grade_all(pool, pairs, hang=True))
        rounds.append({"plain": plain, "with_hang": hung, "others_with_hang": others})
    pool.close()
    seconds = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "cpus": os.cpu_count(),
        "workers": given.workers,
        "pairs": len(pairs),
        "rounds": given.rounds,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "verdicts_per_second": round(len(pairs) / seconds["plain"], 1),
        "verdicts_per_second_one_hanging": round(len(pairs) / seconds["others_with_hang"], 1),
        "limit_of_the_hanging_one": LIMIT,
    }
    (ROOT / "bench" / "results").mkdir(exist_ok=True)
    (ROOT / "bench" / "results" / "verdicts.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


async def grade_all(pool: Pool, pairs: list[dict[str, str]], hang: bool) -> tuple[float, float]:
    """Seconds until all are graded, and until all but the hanging one are."""
    limits = Limits(seconds=LIMIT)
    begin = time.perf_counter()
    stuck = asyncio.create_task(pool.run("time:sleep", 3600, limits=limits)) if hang else None
    await asyncio.gather(*(pool.run(GRADE, pair["gold"], pair["text"], limits=limits) for pair in pairs))
    others = time.perf_counter() - begin
    if stuck is not None:
        assert (await stuck).status == "timed_out"
    return time.perf_counter() - begin, others


if __name__ == "__main__":
    main()
