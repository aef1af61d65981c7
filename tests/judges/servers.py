"""A server of chat completions without a network, and time that passes only when somebody waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx

from guerdon.judges.rate import Clock
from guerdon.judges.server import ServerVoice

URL = "http://judge.test/v1"


def said(content: Any, prompt_tokens: int = 100, completion_tokens: int = 10, **choice: Any) -> httpx.Response:
    message = {"role": "assistant", "content": content}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}], "usage": usage}
    return httpx.Response(200, json=body)


def weighed(**logprobs: float) -> httpx.Response:
    top = [{"token": token, "logprob": logprob} for token, logprob in logprobs.items()]
    return said("x", logprobs={"content": [{"token": "x", "logprob": 0.0, "top_logprobs": top}]})


class Server:
    """Answers each request by what `answer` says about its prompt: a response, text, or an error to raise."""

    def __init__(self, *answers: Any, answer: Callable[[str], Any] | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self._answers, self._answer = list(answers), answer
        self.under_way = self.most_under_way = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        number = len(self.requests) - 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        prompt = self.body(number)["messages"][-1]["content"]
        found = self._answer(prompt) if self._answer else self._answers[min(number, len(self._answers) - 1)]
        if isinstance(found, Exception):
            raise found
        return said(found) if isinstance(found, str) else found

    def body(self, number: int = -1) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.requests[number].content)
        return found


class FakeTime:
    def __init__(self) -> None:
        self.time, self.slept = 1000.0, []  # type: ignore[var-annotated]

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.time += seconds
        await asyncio.sleep(0)

    def clock(self, random: float = 0.0) -> Clock:
        return Clock(lambda: self.time, self.sleep, lambda: random)


def voice(server: Server, time: FakeTime | None = None, **settings: Any) -> ServerVoice:
    clock = (time or FakeTime()).clock()
    return ServerVoice(URL, "m", transport=httpx.MockTransport(server), clock=clock, **settings)
