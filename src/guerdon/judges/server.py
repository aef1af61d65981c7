"""A judge behind any server that speaks OpenAI's chat completions: hosted, vLLM, llama.cpp, Ollama, ...

What it said once is not asked again (`Cache`), and what is being asked is not asked twice at a time.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from guerdon.judges.base import Voice
from guerdon.judges.cache import Cache, key_of
from guerdon.judges.outcome import Failure, Labels, Reply
from guerdon.judges.prompts import sendable
from guerdon.judges.rate import Clock
from guerdon.judges.usage import NO_LIMITS, Limits, Purse, Spend
from guerdon.judges.wire import Wire
from guerdon.types import EMPTY, Message

T = TypeVar("T")

TOP_LOGPROBS = 20
"""How many alternatives per token OpenAI and vLLM give at most unless told otherwise."""
_OVERHEAD = 64
"""Tokens that a chat template adds at most per message, for what a request may cost."""


@dataclass(eq=False)
class ServerVoice(Voice):
    """server: its address up to and with /v1. key_env: the environment variable with the key, which is kept nowhere.

    temperature: None leaves it out of the request, for models that refuse it. max_new_tokens: per answer; sent as
    `tokens_field` (`max_completion_tokens` for some models). timeout (s), retries, max_wait (s), concurrency,
    per_minute: see `Wire`. limits: tokens, requests and money. cache: where answers are kept. extra: further fields of
    the request. A vote beyond the first is sent as `seed`.
    """

    server: str
    model: str
    key_env: str | None = None
    temperature: float | None = 0.0
    max_new_tokens: int = 512
    tokens_field: str = "max_tokens"
    timeout: float = 60.0
    retries: int = 5
    max_wait: float = 60.0
    concurrency: int = 8
    per_minute: int | None = None
    limits: Limits = NO_LIMITS
    cache: Cache = field(default_factory=Cache)
    extra: Mapping[str, Any] = EMPTY
    clock: Clock = field(default_factory=Clock, repr=False)
    transport: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {self.max_new_tokens}; expected at least 1")
        if not self.model:
            raise ValueError("the judge's model has no name; expected what the server calls it")
        purse = Purse(self.limits, self.usage)
        self._wire = Wire(
            _address(self.server),
            purse,
            self.key_env,
            self.timeout,
            self.retries,
            self.max_wait,
            self.concurrency,
            self.per_minute,
            self.clock,
            self.transport,
        )
        self._asking: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def say(self, messages: Sequence[Message], vote: int) -> Reply | Failure:
        settings = {self.tokens_field: self.max_new_tokens, **({"seed": vote} if vote else {})}
        return await self._asked(messages, settings, self.max_new_tokens, read_reply)

    async def weigh(self, messages: Sequence[Message], labels: Sequence[str]) -> Labels | Failure:
        """From the alternatives for the first token of the answer, so no label may be the start of another."""
        settings = {self.tokens_field: 1, "logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return await self._asked(messages, settings, 1, lambda choice: read_labels(choice, labels))

    def check_labels(self, labels: Sequence[str]) -> None:
        super().check_labels(labels)
        for one in labels:
            for other in labels:
                if one != other and other.startswith(one):
                    raise ValueError(
                        f"the label {one!r} is the start of {other!r}, and a server shows only the first token of an "
                        "answer; choose labels that start differently, such as letters, or the numbers 1 to 9"
                    )

    async def close(self) -> None:
        await self._wire.close()

    async def _asked(
        self, messages: Sequence[Message], settings: Mapping[str, Any], tokens: int, read: Callable[[Any], T | Failure]
    ) -> T | Failure:
        """What `read` finds in the answer's first choice; only answers in which it finds something are kept."""
        sent = [{"role": message["role"], "content": sendable(str(message["content"]))} for message in messages]
        warmth = {} if self.temperature is None else {"temperature": self.temperature}
        body = {"model": self.model, "messages": sent, **warmth, **settings, **self.extra}
        key = key_of(server=self.server, **body)
        lock = self._asking.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())
        async with lock:
            known = self.cache.get(key)
            if known is not None and not isinstance(found := read(known), Failure):
                self.usage.cache_hits += 1
                return found
            # No token is shorter than a byte, so this is a bound and no guess.
            most = Spend(len(json.dumps(sent, ensure_ascii=False).encode()) + _OVERHEAD * len(sent), tokens)
            choice = await self._wire.post(body, most, lambda answer: _choice(answer, read))
            if isinstance(choice, Failure):
                return choice
            self.cache.put(key, choice)
            return read(choice)


def read_reply(choice: Mapping[str, Any]) -> Reply | Failure:
    """The text of a choice; its reasoning, where a server gives that apart, is left out."""
    cut = choice.get("finish_reason") == "length"
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return Failure("format", "the server's answer has no message")
    text = _text(message.get("content"))
    if text.strip():
        return Reply(text, cut)
    if message.get("refusal"):
        return Failure("format", f"the judge refused: {str(message['refusal'])[:160]!r}")
    if cut:
        # Asking again would end at the same place.
        return Failure("format", "the judge reached its limit of tokens before it said anything; raise max_new_tokens")
    return Failure("empty", "the judge answered without text")


def read_labels(choice: Mapping[str, Any], labels: Sequence[str]) -> Labels | Failure:
    """Probabilities of labels by the first token: a token counts for a label that it is, or is the only start of."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    first = content[0] if isinstance(content, list) and content else None
    top = first.get("top_logprobs") if isinstance(first, Mapping) else None
    if not isinstance(top, list) or not top:
        return Failure("format", "the server gave no top_logprobs; ask this model for grades in words instead")
    weights = dict.fromkeys(labels, 0.0)
    for one in top:
        token, logprob = (one.get("token"), one.get("logprob")) if isinstance(one, Mapping) else (None, None)
        if not isinstance(token, str) or not isinstance(logprob, int | float) or not logprob <= 1e-3:
            return Failure("format", f"the server's top_logprobs hold {str(one)[:80]!r}; expected token and logprob")
        said = token.strip()
        meant = [label for label in labels if said and label.startswith(said)]
        if len(meant) == 1:
            weights[meant[0]] += math.exp(logprob)
    return Labels.of(weights)


def _choice(answer: Mapping[str, Any], read: Callable[[Any], Any]) -> Mapping[str, Any] | Failure:
    """The answer's first choice, if there is something to read in it."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return Failure("format", f"the server's answer has no choices; it has {sorted(answer)}")
    found = read(choices[0])
    return found if isinstance(found, Failure) else choices[0]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _address(server: str) -> str:
    """The address of its chat completions. ValueError for one that is none, or that holds a password."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the judge's server is {server!r}; expected an address such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        raise ValueError(
            f"the address of the judge's server at {parts.hostname} holds a user, a password or a query; put the key "
            "into an environment variable and name it with key_env"
        )
    end = "/chat/completions"
    return server.rstrip("/").removesuffix(end) + end
