"""Text and tokens of the pairs, for guerdon's and for a peer's process alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from speed.workloads import Decode, Encode


def shown(tokenizer: Any) -> tuple[Callable[[str], str], Encode, Decode]:
    """(question -> prompt as the chat template shows it, text -> ids, ids -> text)."""

    def show(question: str) -> str:
        if not tokenizer.chat_template:
            return question
        asked = [{"role": "user", "content": question}]
        return str(tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True))

    def encode(text: str) -> Any:
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    return show, encode, tokenizer.decode
