"""A place in a list of tokens, and how deep the reading is inside brackets."""

from __future__ import annotations

from guerdon.rewards.verify.math.lexer import Token
from guerdon.rewards.verify.math.values import CannotTellError

MAX_DEPTH = 60
"""Brackets, braces, powers and signs inside each other that are read."""


class Cursor:
    """A place in a list of tokens."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens, self.position, self.depth = found, 0, 0

    @property
    def token(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self) -> Token:
        token = self.token
        if token is None:
            raise CannotTellError("the answer ends early")
        self.position += 1
        return token

    def at(self, *texts: str) -> bool:
        token = self.token
        return token is not None and token.text in texts and token.kind not in ("word", "name")

    def at_kind(self, kind: str) -> bool:
        return self.token is not None and self.token.kind == kind

    def accept(self, text: str) -> bool:
        if self.at(text):
            self.position += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.accept(text):
            found = "the end" if self.token is None else repr(self.token.text)
            raise CannotTellError(f"{found} where {text!r} was expected")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CannotTellError(f"more than {MAX_DEPTH} brackets inside each other")
