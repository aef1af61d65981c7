"""`guerdon sample`: what a policy says to a prompt."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import say
from guerdon.commands.policy import load_speaker
from guerdon.keys import UsageError

if TYPE_CHECKING:
    from guerdon.samplers.base import Sample


def sample(
    model: str, prompt: str | None, n: int, temperature: float | None, max_new_tokens: int | None, seed: int
) -> dict[str, Any]:
    """Print n completions of the prompt, which is read from standard input where it is None; and return them."""
    text = prompt if prompt is not None else _from_input()
    if not text:
        raise UsageError("the prompt is empty; give it after MODEL, or on standard input")
    speaker = load_speaker(model, temperature, max_new_tokens)
    from guerdon.rollouts.base import derive

    strange = unknown(speaker.chat.tokenizer, text)
    if strange:
        say(f"note: {model} does not know {' '.join(strange)} and sees a stand-in for each", "yellow")
    seeds = [derive(seed, i) for i in range(n)]
    drawn = asyncio.run(speaker.samplers["policy"].sample(speaker.chat.prompt(text).tolist(), speaker.how, seeds))
    for one in drawn:
        print(one.text + (" [cut off by --max-new-tokens]" if one.stop == "length" else ""))
    how = speaker.how
    return {
        "model": model,
        "prompt": text,
        "completions": [{"text": one.text, "stop": one.stop, "tokens": _length(one)} for one in drawn],
        "temperature": how.temperature,
        "max_new_tokens": how.max_tokens,
        "seed": seed,
    }


def _length(one: Sample) -> int:
    return sum(len(span.tokens) for span in one.spans)


def unknown(tokenizer: Any, text: str) -> list[str]:
    """The characters of a text, each once, that the tokenizer can only write as its unknown token."""
    if tokenizer.unk_token_id is None:
        return []
    return [c for c in dict.fromkeys(text) if tokenizer.unk_token_id in tokenizer.encode(c, add_special_tokens=False)]


def _from_input() -> str:
    if sys.stdin.isatty():
        print("Type the prompt, then Ctrl-D:", file=sys.stderr)
    return sys.stdin.read().removesuffix("\n")
