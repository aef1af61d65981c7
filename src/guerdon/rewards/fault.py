"""What is raised when a reward breaks its contract: it names the reward, the task, what came and what was expected."""

from __future__ import annotations


class RewardFault(RuntimeError):
    """A reward returned something that is no score, raised, or did not answer in time.

    It is never a score: a fault says nothing about the episode.
    """

    def __init__(self, reward: str, task_id: str, found: str, expected: str) -> None:
        super().__init__(f"reward {reward!r} on task {task_id!r}: {found}; expected {expected}")
        self.reward, self.task_id, self.found, self.expected = reward, task_id, found, expected

    @property
    def what(self) -> str:
        """The message for whoever names reward and task already."""
        return f"{self.found}; expected {self.expected}"

    def __reduce__(self) -> tuple[object, ...]:
        return RewardFault, (self.reward, self.task_id, self.found, self.expected)
