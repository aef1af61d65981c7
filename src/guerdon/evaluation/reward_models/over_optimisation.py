"""Proxy against gold while a policy learns from the proxy: where the two part (Gao et al. 2023, arXiv:2210.10760).

From a run whose episodes were scored by both, the gold with weight 0: it was watched and not learned from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from guerdon.charts import Curve, chart
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, mean_over_tasks
from guerdon.names import nearest
from guerdon.run import RunFolder
from guerdon.store import read_episodes
from guerdon.types import Group

POINTS = 20
"""Steps that are looked at, spread over the run."""
SHORT_OF_KL = 256
"""Episodes of a step from which its divergence is estimated."""

Divergence = Callable[[Sequence[Group]], float]
"""KL of the policy that sampled these groups to the one the run began with, in nats per completion."""


@dataclass(frozen=True)
class Moment:
    """One step: the mean over its tasks of proxy and gold. kl: in nats per completion; nan where nobody computed it."""

    step: int
    kl: float
    proxy: Interval
    gold: Interval


@dataclass(frozen=True)
class Course:
    """proxy, gold: names of the rewards. peak: the moment with the highest gold; fallen: gold at the end less that at
    the peak, where the peak is not the end (its interval takes the two steps as independent)."""

    proxy: str
    gold: str
    moments: tuple[Moment, ...]

    @property
    def peak(self) -> Moment:
        return max(self.moments, key=lambda one: one.gold.mean)

    @property
    def fallen(self) -> Interval | None:
        peak, end = self.peak, self.moments[-1]
        if peak is end:
            return None
        change = end.gold.mean - peak.gold.mean
        half = math.hypot(peak.gold.high - peak.gold.mean, end.gold.high - end.gold.mean)
        return Interval(change, change - half, change + half, min(peak.gold.n, end.gold.n))

    def as_dict(self) -> dict[str, Any]:
        return {
            "proxy": self.proxy,
            "gold": self.gold,
            "peak": {"step": self.peak.step, "kl": self.peak.kl, "gold": as_dict(self.peak.gold)},
            "fallen": None if self.fallen is None else as_dict(self.fallen),
            "steps": [
                {"step": one.step, "kl": one.kl, "proxy": as_dict(one.proxy), "gold": as_dict(one.gold)}
                for one in self.moments
            ],
        }


def course(
    folder: Path, proxy: str | None = None, gold: str | None = None, divergence: Divergence | None = None
) -> Course:
    """What happened to both rewards in a run. Unless named, the proxy is its first reward with a weight, the gold its
    first with weight 0. ValueError when the run has no such rewards or stored no episodes."""
    run = RunFolder(folder)
    proxy, gold = _named(run.read().get("rewards") or {}, proxy, gold, folder)
    files = sorted((folder / "episodes").glob("step-*.parquet"))
    if not files:
        raise ValueError(f"{folder} has stored no episodes of training steps")
    return Course(proxy, gold, tuple(_moment(file, proxy, gold, divergence) for file in _spread(files)))


def _named(rewards: Mapping[str, float], proxy: str | None, gold: str | None, folder: Path) -> tuple[str, str]:
    for name in (proxy, gold):
        if name is not None and name not in rewards:
            raise ValueError(f"{folder} has no reward {name!r}{nearest(name, rewards)}; found {sorted(rewards)}")
    proxy = proxy or next((name for name, weight in rewards.items() if weight and name != gold), None)
    gold = gold or next((name for name, weight in rewards.items() if not weight and name != proxy), None)
    if proxy is None or gold is None:
        raise ValueError(
            f"{folder} has the rewards {dict(rewards)}; expected one to learn from and one of weight 0 to watch, such "
            "as --reward 'model:RM,0*gold:sums'"
        )
    return proxy, gold


def _spread(files: Sequence[Path]) -> list[Path]:
    """First, last, and evenly between."""
    most = min(POINTS, len(files))
    return [files[round(i * (len(files) - 1) / max(1, most - 1))] for i in range(most)]


def _moment(file: Path, proxy: str, gold: str, divergence: Divergence | None) -> Moment:
    groups = read_episodes(file)
    kl = math.nan if divergence is None else divergence(_few(groups))
    return Moment(int(file.stem.rpartition("-")[2]), kl, _mean(groups, proxy, file), _mean(groups, gold, file))


def _few(groups: Sequence[Group]) -> list[Group]:
    kept: list[Group] = []
    for group in groups:
        if sum(map(len, kept)) >= SHORT_OF_KL:
            break
        kept.append(group)
    return kept


def _mean(groups: Sequence[Group], name: str, file: Path) -> Interval:
    values = {
        f"{i}": [e.scores[name].total() for e in group if name in e.scores and e.scores[name].applies]
        for i, group in enumerate(groups)
    }
    known = {task: found for task, found in values.items() if found}
    if not known:
        raise ValueError(f"{file} has no score of the reward {name!r}")
    return mean_over_tasks(known)


def from_start(model: str, dtype: str = "float32", device: str = "cpu") -> Divergence:
    """KL to the policy by this name, estimated by k3 (`losses.divergence`) at every sampled token: never below 0.

    Both policies under the temperature and truncation of sampling, as stored with the episodes.
    """
    from guerdon.advantages.segments import paths
    from guerdon.collate import collate
    from guerdon.engines.local import LocalEngine
    from guerdon.likelihoods.autoregressive import Autoregressive
    from guerdon.losses.divergence import k3
    from guerdon.models.load import load_policy

    engine = LocalEngine(load_policy(model, dtype=dtype, device=device).module, Autoregressive(), None)

    def estimate(groups: Sequence[Group]) -> float:
        batch = collate(groups)
        begun = engine.forward(batch, ("logp",))["logp"]
        gap = (batch.behavior - begun).where(batch.mask, begun.new_zeros(()))
        return float(paths(batch).sequences.sum(k3(gap)).mean())

    return estimate


def page(title: str, rows: Sequence[tuple[float, Interval, Interval]], x: str, words: Sequence[str]) -> str:
    """An HTML page with the curves of proxy and gold, each over x, and their table. rows: (x, proxy, gold)."""
    from guerdon.report import PAGE, STYLE

    figures = []
    for name, place in (("Proxy", 1), ("Gold", 2)):
        found: list[tuple[float, Interval]] = [(row[0], row[place]) for row in rows]  # type: ignore[misc]
        found.sort(key=lambda one: one[0])
        curve = Curve([(at, one.mean) for at, one in found], [(at, one.low, one.high) for at, one in found])
        figures.append(f"<figure>{chart(curve)}<figcaption><b>{name}</b> over {escape(x)}</figcaption></figure>")
    cells = "".join(
        f"<tr><td>{at:.4g}</td>"
        + "".join(f"<td>{o.mean:.4g} ({o.low:.4g} to {o.high:.4g})</td>" for o in pair)
        + "</tr>"
        for at, *pair in rows
    )
    body = [
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="lead">{escape(line)}</p>' for line in words),
        f'<div class="curves">{"".join(figures)}</div>',
        f"<table><tr><th>{escape(x)}</th><th>proxy</th><th>gold</th></tr>{cells}</table>",
    ]
    return PAGE.format(title=escape(title), style=STYLE, body="\n".join(body))
