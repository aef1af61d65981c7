"""Episodes on disk: one parquet file per step, with enough in it to train from and to look at.

One row per episode: the task, the spans with ids, log-probabilities and parents, every score with its verdict, and the
advantages that were trained on, one list per path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from guerdon.types import Batch, Episode, Group, Score, Span, Task, Verdict

_SPAN = pa.struct(
    [
        ("tokens", pa.list_(pa.int32())),
        ("logprobs", pa.list_(pa.float32())),
        ("parent", pa.int32()),
        ("version", pa.int32()),
        ("message", pa.string()),
        ("streams", pa.map_(pa.string(), pa.list_(pa.float32()))),
        ("support", pa.list_(pa.list_(pa.int32()))),
    ]
)
_SCORE = pa.struct(
    [
        ("name", pa.string()),
        ("value", pa.float64()),
        ("spans", pa.map_(pa.int32(), pa.float64())),
        ("tokens", pa.map_(pa.int32(), pa.list_(pa.float32()))),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("extracted", pa.string()),
        ("stage", pa.string()),
        ("share", pa.float64()),
        ("parts", pa.map_(pa.string(), pa.float64())),
    ]
)
SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("group", pa.int32()),
        ("task", pa.string()),
        ("prompt", pa.string()),
        ("data", pa.string()),
        ("env", pa.string()),
        ("role", pa.string()),
        ("stop", pa.string()),
        ("reply", pa.string()),
        ("sampled_from", pa.list_(pa.int32())),
        ("notes", pa.string()),
        ("spans", pa.list_(_SPAN)),
        ("scores", pa.list_(_SCORE)),
        ("advantages", pa.list_(pa.list_(pa.float32()))),
    ]
)


def write_episodes(path: Path, step: int, groups: Sequence[Group], batch: Batch | None = None) -> None:
    """Write groups, with the advantages of the batch that was collated from exactly these groups, if given."""
    advantages = _advantages(batch)
    rows = []
    for number, group in enumerate(groups):
        for episode in group:
            paths = len(episode.paths()) if episode.role == "policy" else 0  # the batch is the policy's
            rows.append(_row(step, number, episode, advantages[:paths]))
            del advantages[:paths]
    aside = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), aside)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read_episodes(path: Path) -> list[Group]:
    """The groups of a file, as they were written, without what judges generated. ValueError when it is damaged."""
    found: dict[int, Group] = {}
    try:
        rows = pq.read_table(path).to_pylist()
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is damaged ({error}); expected a parquet file of episodes") from error
    for row in rows:
        found.setdefault(row["group"], []).append(_episode(row))
    return [found[number] for number in sorted(found)]


def _advantages(batch: Batch | None) -> list[list[float]]:
    if batch is None or batch.advantage is None:
        return []
    lengths = torch.unique_consecutive(batch.seq, return_counts=True)[1].tolist()
    return [part.tolist() for part in torch.split(batch.advantage, lengths)]


def _row(step: int, number: int, episode: Episode, advantages: list[list[float]]) -> dict[str, Any]:
    task = episode.task
    return {
        "step": step,
        "group": number,
        "task": task.id,
        "prompt": json.dumps(_jsonable(task.prompt)),
        "data": json.dumps(_jsonable(task.data)),
        "env": task.env,
        "role": episode.role,
        "stop": episode.stop,
        "reply": episode.reply,
        "sampled_from": None if episode.sampled_from is None else np.asarray(episode.sampled_from).tolist(),
        "notes": json.dumps(_jsonable(episode.notes)),
        "spans": [_span_row(span) for span in episode.spans],
        "scores": [_score_row(name, score) for name, score in episode.scores.items()],
        "advantages": advantages,
    }


def _span_row(span: Span) -> dict[str, Any]:
    return {
        "tokens": span.tokens.tolist(),
        "logprobs": None if span.logprobs is None else span.logprobs.tolist(),
        "parent": span.parent,
        "version": span.version,
        "message": None if span.message is None else json.dumps(_jsonable(span.message)),
        "streams": [(name, np.ravel(span.extra[name]).tolist()) for name in span.extra if name not in _WIDE],
        "support": [ids.tolist() for ids in span.extra["support"]] if "support" in span.extra else None,
    }


_WIDE = ("support", "top_ids", "top_logprobs")
"""Extras that are more than a number per token: the support has a column of its own, the others are not kept."""


def _score_row(name: str, score: Score) -> dict[str, Any]:
    verdict = score.verdict
    return {
        "name": name,
        "value": score.value,
        "spans": list(score.spans.items()),
        "tokens": [(index, np.asarray(values).tolist()) for index, values in score.tokens.items()],
        "status": verdict.status if verdict else None,
        "reason": verdict.reason if verdict else None,
        "extracted": verdict.extracted if verdict else None,
        "stage": verdict.stage if verdict else None,
        "share": verdict.share if verdict else None,
        "parts": list(score.parts.items()),
    }


def _episode(row: Mapping[str, Any]) -> Episode:
    task = Task(row["task"], json.loads(row["prompt"]), json.loads(row["data"]), row["env"])
    spans = [
        Span(
            np.asarray(span["tokens"], np.int64),
            None if span["logprobs"] is None else np.asarray(span["logprobs"], np.float32),
            span["parent"],
            span["version"],
            None if span["message"] is None else json.loads(span["message"]),
            _extra(span),
        )
        for span in row["spans"]
    ]
    scores = {score["name"]: _score(score) for score in row["scores"]}
    sampled_from = None if row["sampled_from"] is None else np.asarray(row["sampled_from"], np.int64)
    return Episode(task, spans, scores, row["role"], row["stop"], sampled_from, json.loads(row["notes"]))


def _extra(span: Mapping[str, Any]) -> dict[str, Any]:
    """A stream of one number is one for all tokens."""
    extra: dict[str, Any] = {
        name: values[0] if len(values) == 1 else np.asarray(values, np.float32) for name, values in span["streams"]
    }
    if span["support"] is not None:
        extra["support"] = [np.asarray(ids, np.int64) for ids in span["support"]]
    return extra


def _score(row: Mapping[str, Any]) -> Score:
    found = {name: row[name] for name in ("status", "reason", "extracted", "stage", "share")}
    verdict = Verdict(**found) if row["status"] else None
    tokens = {index: np.asarray(values, np.float32) for index, values in row["tokens"]}
    return Score(row["value"], dict(row["spans"]), tokens, verdict, dict(row["parts"]))


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
