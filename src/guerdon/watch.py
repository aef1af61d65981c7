"""Watching a run's rewards: each step condensed into a record, the last records checked, each alarm raised once.

What is kept is plain data that goes into checkpoints, so that a resumed run raises what an uninterrupted one would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from guerdon.alarms import Alarm, Finding, Limits, Point, Record, Seen, check, same
from guerdon.types import Group, Score


class Watch:
    """Sees every step of a run and says what people should look at. It never raises and changes nothing.

    weights: factor of each reward in the return, by name; the first that counts is what the run is for. A reward of
    weight 0 is only watched. An alarm comes when something begins, and again only after it was clearly over.
    """

    def __init__(self, weights: Mapping[str, float], limits: Limits | None = None) -> None:
        self.weights = {name: weight for name, weight in weights.items() if weight}
        self.limits = limits or Limits()
        self._records: list[Record] = []
        self._points: list[Point] = []
        self._since = (0.0, 0)
        self._spans: dict[str, list[float]] = {}
        self._active: set[tuple[str, str]] = set()

    def see(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> list[Alarm]:
        """The alarms that begin with this step.

        groups: what was learned from, scored. metrics: the step's numbers by name (`truncated`, `unscored`,
        `groups/no_signal`, `verdict/NAME/STATUS`, the watched one where it was measured).
        """
        with np.errstate(over="ignore", invalid="ignore"):  # rewards of absurd size are no reason to print
            record = condense(step, groups, metrics, self.weights)
        self._records = [*self._records, record][-self.limits.window :]
        fresh = self._follow(record, metrics)
        points = self._points if fresh else []  # a trend says nothing new until there is a new point
        return list(self._begun(check(self._records, points, self.limits, self._reached(record)), step))

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs: numbers, text, lists and dicts."""
        return {
            "records": list(self._records),
            "points": [list(point) for point in self._points],
            "since": list(self._since),
            "spans": {name: list(span) for name, span in self._spans.items()},
            "active": sorted(list(key) for key in self._active),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave; windows are cut to the limits of now."""
        self._records = list(state["records"])[-self.limits.window :]
        self._points = [tuple(point) for point in state["points"]][-self.limits.trend :]
        self._since = tuple(state["since"])
        self._spans = {name: list(span) for name, span in state["spans"].items()}
        self._active = {tuple(key) for key in state["active"]}

    def _reached(self, record: Record) -> dict[str, float]:
        """The best value so far of each reward whose values have varied in this run."""
        for name, seen in record["rewards"].items():
            if seen["n"]:
                low, high = self._spans.get(name, [seen["low"], seen["high"]])
                self._spans[name] = [min(low, seen["low"]), max(high, seen["high"])]
        varied = {name: span for name, span in self._spans.items() if name in self.weights and not same(*span)}
        return {name: high if self.weights[name] > 0 else low for name, (low, high) in varied.items()}

    def _follow(self, record: Record, metrics: Mapping[str, float]) -> bool:
        """Note the return, and the watched metric where this step measured it; whether it did."""
        total, number = self._since
        self._since = (total + record["mean"], number + 1) if record["episodes"] else self._since
        name = self.limits.watch_metric
        value = metrics.get(name, metrics.get(f"reward/{name}")) if name else None
        if value is None or not np.isfinite(value) or not self._since[1]:
            return False
        self._points = [*self._points, (record["step"], self._since[0] / self._since[1], float(value))]
        self._points = self._points[-self.limits.trend :]
        self._since = (0.0, 0)
        return True

    def _begun(self, findings: Iterator[Finding], step: int) -> Iterator[Alarm]:
        for found in findings:
            key = (found.kind, found.about)
            if found.seen and key not in self._active:
                self._active.add(key)
                yield Alarm(found.kind, found.about, found.sentence, found.evidence, step)
            elif found.clear:
                self._active.discard(key)


def condense(step: int, groups: Sequence[Group], metrics: Mapping[str, float], weights: Mapping[str, float]) -> Record:
    """The record of a step: sums that add up over steps, so that nothing else has to be kept."""
    filled = [group for group in groups if group]
    episodes = [episode for group in filled for episode in group]
    there = _places([len(group) for group in filled])  # [G, n]
    lengths = _laid(there, [episode.sampled_tokens for episode in episodes])
    values = {name: _laid(there, [_said(episode.scores.get(name)) for episode in episodes]) for name in weights}
    added = {name: np.nan_to_num(values[name]) * weight for name, weight in weights.items()}
    returns = np.sum(list(added.values()), axis=0) if added else np.zeros(lengths.shape)
    spread = _centred(np.where(there, returns, np.nan))
    rewards = {name: _seen(values[name], added[name], spread, lengths) for name in weights}
    return Record(
        step=step,
        groups=len(filled),
        episodes=len(episodes),
        mean=float(returns[there].mean()) if episodes else 0.0,
        variance=float(np.nansum(spread**2)),
        rewards=rewards,
        shares={name: float(value) for name, value in metrics.items() if _is_share(name) and np.isfinite(value)},
    )


def _is_share(name: str) -> bool:
    return name.startswith("verdict/") or name in ("truncated", "unscored", "groups/no_signal")


def _said(score: Score | None) -> float:
    """What a score adds up to; NaN where it does not apply."""
    if score is None:
        return np.nan
    if score.spans or score.tokens:
        return score.total()
    return np.nan if score.value is None else score.value


def _places(sizes: Sequence[int]) -> np.ndarray:
    """Where groups of these sizes lie in a table, one in each row. [G, n] bool"""
    return np.arange(max(sizes, default=0)) < np.array(sizes, np.int64)[:, None]


def _laid(there: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """Values of all episodes in such a table, NaN in the padding. [G, n]"""
    table = np.full(there.shape, np.nan)
    table[there] = values
    return table


def _centred(table: np.ndarray) -> np.ndarray:
    """Less the mean of each row, NaN left out. [G, n]"""
    number = np.maximum((~np.isnan(table)).sum(1, keepdims=True), 1)
    centred: np.ndarray = table - np.nansum(table, 1, keepdims=True) / number
    return centred


def _seen(values: np.ndarray, added: np.ndarray, spread: np.ndarray, lengths: np.ndarray) -> Seen:
    """One reward in one step. values, added, spread, lengths: [G, n]"""
    given = values[~np.isnan(values)]
    x, y = (_centred(_ranks(table)) for table in (values, np.where(np.isnan(values), np.nan, lengths)))
    xx, xy, yy = (np.nansum(product, 1) for product in (x * x, x * y, y * y))  # [G]
    live = (xx > 0) & (yy > 0)
    return Seen(
        n=len(given),
        low=float(given.min()) if len(given) else 0.0,
        high=float(given.max()) if len(given) else 0.0,
        covariance=float(np.nansum(added * spread)),
        xx=float(xx[live].sum()),
        xy=float(xy[live].sum()),
        yy=float(yy[live].sum()),
        free=int(((~np.isnan(values)).sum(1) - 1)[live].sum()),
    )


def _ranks(table: np.ndarray) -> np.ndarray:
    """Rank of each entry in its row, ties at their mean, NaN left out. [G, n]"""
    one, other = table[:, :, None], table[:, None, :]
    ranks = (other < one).sum(2) + ((other == one).sum(2) + 1) / 2
    return np.where(np.isnan(table), np.nan, ranks)
