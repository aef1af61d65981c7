"""What a rollout is: an async function from a task to a group of episodes, and the context it works in."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.types import Group, Task

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.samplers.base import Sampler, Sampling


@dataclass(frozen=True)
class Context:
    """What a rollout and a reward may use.

    samplers: by role; 'policy' is always there. n: episodes wanted per task. seed: of this one draw of this one task,
    so that `seeds(...)` never depends on timing, placement or what else runs.
    """

    samplers: Mapping[str, Sampler]
    chat: Chat
    how: Sampling
    n: int
    seed: int

    def seeds(self, n: int, *path: int | str) -> list[int]:
        """n seeds for sampling at this point of the rollout; `path` names the point (a turn, a branch, a role)."""
        return [derive(self.seed, *path, i) for i in range(n)]


Rollout = Callable[[Task, Context], Awaitable[Group]]


def derive(*path: int | str) -> int:
    """A 63-bit seed from a path of numbers and names; equal paths give equal seeds on every machine."""
    digest = hashlib.blake2b("/".join(map(str, path)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
