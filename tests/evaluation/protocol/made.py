"""Decodes made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guerdon.evaluation.protocol.base import Decode, Evaluated, Protocol
from guerdon.samplers.base import Sampling

REFUSED = "?"


def decode(
    item: str,
    number: int = 0,
    answer: str | None = "a",
    correct: bool = False,
    confidence: float | None = None,
    answerable: bool = True,
    tokens: int = 3,
) -> Decode:
    """One decode; the answer '?' declines."""
    text = answer or ""
    refused = answer == REFUSED
    return Decode(item, number, 0, text, answer, None, refused, confidence, tokens, False, correct, answerable, 0.5)


def evaluated(*decodes: Decode, **changes: object) -> Evaluated:
    m = 1 + max(one.number for one in decodes)
    items = len({one.item for one in decodes})
    given = {"tasks": "t", "items": items, "version": "v", "prompts": "p", "verifier": "x@1", "decoding": Sampling(8)}
    return Evaluated(Protocol(**{**given, "decodes": m, **changes}), decodes)  # type: ignore[arg-type]


def of_answers(answers: Mapping[str, Sequence[str | None]], truth: str = "a") -> Evaluated:
    """Each item's answers in order, right where they are the truth."""
    found = [decode(item, i, a, a == truth) for item, given in answers.items() for i, a in enumerate(given)]
    return evaluated(*found)
