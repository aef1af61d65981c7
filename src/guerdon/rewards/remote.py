"""What runs inside a worker when a user's reward is called there: the function itself, and its values as plain data."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Set
from typing import Any

from guerdon.pool.worker import function


def call(place: str, style: str, what: Any, columns: Mapping[str, Any]) -> Any:
    """What the function at `place` says about `what`, as `plain` data."""
    called = function(place)
    parameter = inspect.signature(called).parameters[style]
    args = (what,) if parameter.kind is parameter.POSITIONAL_ONLY else ()
    result = called(*args, **columns) if args else called(**{style: what, **columns})
    if inspect.isawaitable(result):
        result = asyncio.run(_awaited(result))
    return plain(result)


async def _awaited(result: Any) -> Any:
    return await result


def plain(value: Any) -> Any:
    """Numbers, None and scores as data that JSON can hold; what is none of them as {'shown': its text, 'type': ...}."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return {"scalar": plain(value.item())}
    if type(value).__name__ == "Score" and hasattr(value, "spans"):
        return {"score": _score(value)}
    if isinstance(value, str | bytes | Mapping | Set) or not hasattr(value, "__len__"):
        return {"shown": repr(value)[:300], "type": type(value).__name__}
    return [plain(one) for one in value]


def _score(score: Any) -> dict[str, Any]:
    if score.episodes:
        raise TypeError("a score with episodes of its own cannot leave its process; decorate the function: @in_process")
    verdict = score.verdict
    return {
        "value": plain(score.value),
        "spans": [[int(i), plain(v)] for i, v in score.spans.items()],
        "tokens": [[int(i), [float(v) for v in values]] for i, values in score.tokens.items()],
        "parts": {str(name): float(v) for name, v in score.parts.items()},
        "verdict": None if verdict is None else vars(verdict),
    }
