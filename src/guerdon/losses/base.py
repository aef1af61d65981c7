"""What objectives have in common: the defaults of the protocol `guerdon.method.Objective`."""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.method import Unit


def reads(*names: str) -> Sequence[str]:
    """Names of streams, for `needs` and `wants`."""
    return names


class PerToken:
    """Reads the current log-probability and the batch's fields, token by token, and trains whatever the advantage."""

    needs: Sequence[str] = ()
    wants: Sequence[str] = ("logp",)
    unit: Unit = "sequence"
    inert_without_advantage: bool = False


class PolicyLoss(PerToken):
    """A loss without gradient where the advantage is 0."""

    inert_without_advantage = True


class PerGroup(PerToken):
    """A loss that compares the sequences of a group, which must not be cut apart."""

    unit: Unit = "group"
