"""Keeps model text out of the reasoning-gym scorers that would run it as code.

Nine scorers of reasoning-gym 0.1 pass the answer to `eval` or to sympy's `parse_expr`, which is `eval` as well: a
policy could execute anything. For these sets an answer is let through only when it is plain data: a Python literal
where a list is expected, or a formula of numbers, letters and known functions with small exponents. `Integral` is none
of those: as an answer it only states the problem again, which the scorers of the integration sets take as right.
"""

from __future__ import annotations

import ast
import re
from math import prod

EVALUATES_LITERAL = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
EVALUATES_NUMBERS = frozenset({"countdown", "puzzle24"})
EVALUATES_FORMULA = frozenset({"intermediate_integration", "polynomial_multiplication", "simple_integration"})

MAX_LENGTH = 1000
MAX_NESTED = 100
"""Largest product of the exponents on brackets: beyond it, and beyond 3 digits, sympy may compute for ever."""

_FORMULA = re.compile(r"[0-9A-Za-z+\-*/^(),. \n]*")
_CIRCULAR = {"sin", "cos", "tan", "sec", "csc", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh"}
_FUNCTIONS = _CIRCULAR | {"exp", "log", "ln", "sqrt", "pi", "Abs"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_CALL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]\s*\(")
_ATTRIBUTE = re.compile(r"[A-Za-z)]\s*\.|\.\s*[A-Za-z(]|\d\.?[eE][+-]?\d")
_POWER = re.compile(r"\*\*|\^")
_SMALL_POWER = re.compile(
    r"(?:\*\*|\^)\s*(?:[+-]?\d{1,3}(?![\d.])|\(\s*[+-]?\d{1,3}(?:/\d{1,3})?\s*\)|[A-Za-z])(?!\s*(?:\*\*|\^))"
)
_POWER_OF_BRACKET = re.compile(r"\)\s*(?:\*\*|\^)[\s(+-]*(\d+)")


def refusal(name: str, answer: str) -> str | None:
    """Why this answer must not reach the scorer of data set `name`; None when it may."""
    if name in EVALUATES_LITERAL:
        return _not_literal(answer)
    if name in EVALUATES_NUMBERS | EVALUATES_FORMULA:
        return _not_formula(answer, names=name in EVALUATES_FORMULA)
    return None


def _not_literal(answer: str) -> str | None:
    if len(answer) > MAX_LENGTH * 10:
        return f"longer than {MAX_LENGTH * 10} characters"
    try:
        tree = ast.parse(answer.strip(), mode="eval").body
        if not isinstance(tree, ast.Name):
            ast.literal_eval(tree)
    except SyntaxError:
        return None  # no expression: eval refuses it too, without running anything
    except (ValueError, TypeError, MemoryError, RecursionError):
        return "neither plain text nor a literal list"
    return None


def _not_formula(answer: str, names: bool) -> str | None:
    if len(answer) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if not _FORMULA.fullmatch(answer):
        return "holds characters that no formula of numbers, letters and + - * / ^ ( ) has"
    unknown = [name for name in _NAME.findall(answer) if not names or (len(name) > 1 and name not in _FUNCTIONS)]
    if unknown:
        return f"holds {unknown[0]!r}, which is neither a variable nor a known function"
    if _CALL.search(answer):
        return "calls a single letter, some of which are functions of sympy"
    if _ATTRIBUTE.search(answer):
        return "holds a point or an 'e' that belongs to no plain number"
    nested = prod(int(text) for text in _POWER_OF_BRACKET.findall(answer))
    if len(_POWER.findall(answer)) != len(_SMALL_POWER.findall(answer)) or nested > MAX_NESTED:
        return "powers that are stacked, or not of a small plain exponent"
    return None
