"""What a process of the bench is told, on its command line, and how it answers when it races nobody."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from speed.workloads import PAIRS, ROLLOUTS, Pairs, Rollouts, small, small_pairs


@dataclass(frozen=True)
class Job:
    """workload: its name. folders: model folders by the name of the model. small: only see that it works."""

    workload: str
    folders: dict[str, str]
    scratch: str
    device: str = "cpu"
    dtype: str = "float32"
    rounds: int = 5
    small: bool = False

    @classmethod
    def given(cls) -> Job:
        """The job that this process was started with."""
        return cls(**json.loads(sys.argv[1]))

    def words(self) -> str:
        return json.dumps(asdict(self))

    def rollouts(self, name: str = "") -> Rollouts:
        work = ROLLOUTS[name or self.workload]
        return small(work) if self.small else work

    def pairs(self) -> Pairs:
        work = PAIRS[self.workload]
        return small_pairs(work) if self.small else work


def tell(text: str) -> None:
    """A line of progress for people."""
    print(text, file=sys.stderr, flush=True)


def found(result: dict[str, Any]) -> None:
    """What a process found that measures something alone: one line, the last."""
    print(json.dumps({"found": result}), flush=True)
