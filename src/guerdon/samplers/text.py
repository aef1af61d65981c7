"""The text of sampled tokens: watching it for stop strings while it grows, and cutting it at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]
"""Token ids to text, special tokens left out."""

_LONGEST_CHARACTER = 4
"""Bytes, hence tokens at most, of one UTF-8 character; beyond that the bytes are no text and waiting is vain."""


class StopWatch:
    """Sees a stop string appear in a growing list of tokens, decoding only the newest few of them.

    A token's text may depend on the token before it (spaces, halves of a character), so each piece is decoded
    together with the piece before it and only the difference is new.
    """

    def __init__(self, decode: Decode, strings: Sequence[str], given: Sequence[int] = ()) -> None:
        self._decode, self._strings = decode, tuple(strings)
        self._ids = list(given)
        self._settled = 0
        self._read = len(self._ids)
        self._tail = ""
        self._keep = max(map(len, strings)) - 1

    def push(self, token: int) -> bool:
        """Take one more token; True once a stop string is complete."""
        self._ids.append(token)
        before = self._decode(self._ids[self._settled : self._read])
        after = self._decode(self._ids[self._settled :])
        if after.endswith("\ufffd") and len(self._ids) - self._read < _LONGEST_CHARACTER:
            return False  # half a character: wait for the rest
        self._settled, self._read = self._read, len(self._ids)
        text = self._tail + after[len(before) :]
        self._tail = text[len(text) - self._keep :] if self._keep < len(text) else text
        return any(string in text for string in self._strings)


def text_of(decode: Decode, prefix: Sequence[int], tokens: Sequence[int], strings: Sequence[str]) -> str:
    """Text of a forced prefix and the tokens after it, cut before the first stop string that the tokens wrote."""
    text = decode([*prefix, *tokens])
    start = len(decode(prefix)) if prefix and strings else 0
    found = [at for at in (text.find(string, start) for string in strings) if at >= 0]
    return text[: min(found)] if found else text
