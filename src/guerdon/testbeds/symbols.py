"""Symbols: a tokenizer of one character per token, small enough that all there is to say can be counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Symbols:
    """alphabet: the characters, in the order of their ids. end: the one that ends a reply and is no part of its text.

    prompts: how many prompts have an id of their own, from len(alphabet) on: a table has a row for each instead of
    reading it. Without an end every reply has the same length. Serves `Chat` and samplers as a tokenizer.
    """

    alphabet: str
    end: str = ""
    prompts: int = 0
    chat_template = None
    bos_token_id = None

    def __post_init__(self) -> None:
        if len(set(self.alphabet)) < len(self.alphabet) or not self.alphabet:
            raise ValueError(f"the alphabet is {self.alphabet!r}; expected characters, none twice")
        if len(self.end) > 1 or self.end not in self.alphabet:
            raise ValueError(f"end is {self.end!r}; expected one character of {self.alphabet!r}, or none")

    def __len__(self) -> int:
        return len(self.alphabet) + self.prompts

    @property
    def size(self) -> int:
        """How many symbols a reply is made of, the end included."""
        return len(self.alphabet)

    @property
    def eos_token_id(self) -> int | None:
        return self.alphabet.index(self.end) if self.end else None

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        return () if self.eos_token_id is None else (self.eos_token_id,)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {character: i for i, character in enumerate(self.alphabet)}

    def prompt(self, number: int) -> list[int]:
        """Ids of the prompt with this number. ValueError when there is none."""
        if not 0 <= number < self.prompts:
            raise ValueError(f"prompt {number}; expected 0 to {self.prompts - 1}")
        return [self.size + number]

    def encode(self, text: str) -> list[int]:
        """Ids of the characters. ValueError for one that is not in the alphabet."""
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} in {text!r} is not in the alphabet {self.alphabet!r}") from None

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True, **how: Any) -> str:
        """Text of ids; ids of prompts, and the end, are shown only where special tokens are."""
        shown = [int(i) for i in ids]
        if skip_special_tokens:
            shown = [i for i in shown if i < self.size and i != self.eos_token_id]
        return "".join(self.alphabet[i] if i < self.size else f"<{i - self.size}>" for i in shown)

    def __call__(self, text: str | Sequence[str], **how: Any) -> dict[str, Any]:
        """As tokenizers are called, which know no errors: what is not in the alphabet is left out."""
        if not isinstance(text, str):
            return {"input_ids": [self(one)["input_ids"] for one in text]}
        return {"input_ids": [self._ids[character] for character in text if character in self._ids]}
