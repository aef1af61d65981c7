"""Sending a request to a server and getting a JSON object back: limits, waiting, repeating. The one file with httpx.

Every way it can go wrong ends as a `Failure` with its cause, after repetitions where they can help. The key is read
from the environment, goes into one header, and is cut out of everything that a server sends back.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from guerdon.judges.outcome import Failure
from guerdon.judges.rate import Clock, Rate, backoff, retry_after
from guerdon.judges.usage import BudgetSpent, Purse, Spend

T = TypeVar("T")
Answer = Mapping[str, Any]

_AGAIN = frozenset({408, 409, 425, 429})
"""Statuses worth repeating below 500; from 500 on all are."""
_STATUSES = frozenset(str(status) for status in range(400, 600))
_NOTHING = Spend()
_SHOWN = 300


@dataclass(frozen=True)
class _Problem:
    """What went wrong with one try. again: repeating may help. wait: seconds that the server asks for.

    spent: what the try has used; None: nobody knows.
    """

    failure: Failure
    again: bool
    wait: float | None = None
    spent: Spend | None = _NOTHING


@dataclass(eq=False)
class Wire:
    """A connection to one address.

    timeout: seconds for one try, from its start to the last byte. retries: tries beyond the first. max_wait: the
    longest pause between two of them, in seconds; a server that asks for more gets no further try. concurrency:
    requests under way at once. transport: instead of the network, for tests.
    """

    address: str
    purse: Purse
    key_env: str | None = None
    timeout: float = 60.0
    retries: int = 5
    max_wait: float = 60.0
    concurrency: int = 8
    per_minute: int | None = None
    clock: Clock = field(default_factory=Clock)
    transport: Any = None
    _loop: asyncio.AbstractEventLoop | None = None
    _client: Any = None

    def __post_init__(self) -> None:
        checks = {"timeout": self.timeout > 0, "retries": self.retries >= 0, "max_wait": self.max_wait >= 0}
        checks |= {"concurrency": self.concurrency >= 1}
        for name, fine in checks.items():
            if not fine:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number (retries: 0 or more)")
        self._rate = Rate(self.per_minute, self.clock)
        self._key = _key(self.key_env)
        _httpx()

    async def post(self, body: Answer, most: Spend, read: Callable[[Answer], T | Failure]) -> T | Failure:
        """What `read` finds in the answer to `body`. most: what the request can use at most. BudgetSpent: not sent."""
        self._connect()
        for attempt in range(self.retries + 1):
            async with self._slots:
                await self._rate.wait()
                await self.purse.reserve(most)
                self.purse.usage.retries += attempt > 0
                spent: Spend | None = None
                try:
                    result = await self._try(body, read)
                    spent = result.spent if isinstance(result, _Problem) else result[1]
                finally:
                    self.purse.settle(most, spent)
            if not isinstance(result, _Problem):
                return result[0]
            pause = max(result.wait or 0.0, backoff(attempt, self.max_wait, self.clock.random()))
            if not result.again or attempt == self.retries or (result.failure.cause == "empty" and attempt):
                return _after(result.failure, attempt)
            if pause > self.max_wait:
                return _after(result.failure, attempt, f"; it asks to wait {pause:.0f} s, beyond max_wait")
            if result.wait is not None:
                self._rate.hold(pause)
            await self.clock.sleep(pause)
        raise AssertionError("the last try returns")

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client, self._loop = self._client, None, None
        if client is not None:
            await client.aclose()

    def _connect(self) -> None:
        """Connections and slots belong to an event loop: new ones for a new loop."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        httpx = _httpx()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=self.concurrency)
        self._client = httpx.AsyncClient(headers=headers, timeout=None, limits=limits, transport=self.transport)
        self._slots = asyncio.Semaphore(self.concurrency)
        self._loop = loop

    async def _try(self, body: Answer, read: Callable[[Answer], T | Failure]) -> tuple[T, Spend | None] | _Problem:
        httpx = _httpx()
        try:
            async with asyncio.timeout(self.timeout):
                response = await self._client.post(self.address, json=body)
        except (TimeoutError, httpx.TimeoutException):
            return _Problem(Failure("timeout", f"no answer within {self.timeout:g} s"), again=True, spent=None)
        except httpx.ConnectError as error:
            return _Problem(Failure("network", f"no connection to {self._place}: {self._clean(error)}"), again=True)
        except httpx.RequestError as error:
            what = f"the connection broke: {type(error).__name__}: {self._clean(error)}"
            return _Problem(Failure("network", what), again=True, spent=None)
        if response.status_code != 200:
            return self._refused(response.status_code, response.text, response.headers)
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            what = f"the server sent no JSON object: {self._clean(response.text)!r}"
            return _Problem(Failure("format", what), again=True, spent=None)
        if answer.get("error") and not answer.get("choices"):
            return self._refused(_code(answer["error"]), response.text, {})
        found, spent = read(answer), _spent(answer.get("usage"))
        if isinstance(found, Failure):
            return _Problem(found, again=found.cause == "empty", spent=spent)
        return found, spent

    def _refused(self, status: int, text: str, headers: Mapping[str, str]) -> _Problem:
        what = f"{self._place} answered {status}: {self._clean(_message(text))}"
        if status == 429 and "insufficient_quota" in text:
            raise BudgetSpent(f"the judge's provider says that the account's quota is used up ({what})")
        if status in (401, 403):
            needs = f"; check the key in {self.key_env}" if self.key_env else "; name the key's variable with key_env"
            what += needs
        if status == 404:
            what += "; check the server's address (it usually ends in /v1) and the model's name"
        again = status in _AGAIN or status >= 500
        return _Problem(Failure("status", what), again, retry_after(headers) if again else None)

    @property
    def _place(self) -> str:
        return urlsplit(self.address).netloc

    def _clean(self, what: object) -> str:
        text = " ".join(str(what).split()) or ("nothing" if isinstance(what, str) else type(what).__name__)
        if self._key:
            text = text.replace(self._key, "***")
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _after(failure: Failure, attempt: int, more: str = "") -> Failure:
    tries = f" (after {attempt + 1} tries)" if attempt else ""
    return Failure(failure.cause, failure.what + tries + more)


def _spent(usage: Any) -> Spend | None:
    """Counts as the server gives them; None where it gives none that make sense."""
    if not isinstance(usage, Mapping):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if not all(isinstance(count, int) and count >= 0 for count in (prompt, completion)):
        return None
    return Spend(int(prompt or 0), int(completion))


def _message(text: str) -> str:
    """What an error says in words, where it is written as servers of this kind do."""
    try:
        error = json.loads(text)["error"]
        return str(error if isinstance(error, str) else error["message"])
    except (ValueError, RecursionError, LookupError, TypeError):
        return text


def _code(error: Any) -> int:
    """The status inside an error that came with status 200; 400 where there is none."""
    code = str(error.get("code") if isinstance(error, Mapping) else "")
    return int(code) if code in _STATUSES else 400


def _key(name: str | None) -> str:
    """The key in an environment variable. ValueError, without it, when it is missing or cannot be sent."""
    if name is None:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise ValueError(f"the environment variable {name} holds no key; set it with: export {name}=...")
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"the key in the environment variable {name} holds a character that cannot be sent")
    return key


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ImportError("a judge on a server needs httpx: pip install 'guerdon[judge]'") from error
    return httpx
