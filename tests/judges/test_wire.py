"""A server that fails in every way a server can, over a transport in the process and over real sockets."""

import asyncio
import builtins
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from guerdon.judges.outcome import Failure, Reply
from guerdon.judges.server import ServerVoice
from guerdon.judges.usage import BudgetSpent, Limits
from tests.judges.servers import FakeTime, Server, said, voice


def ask(server, clock=None, **settings):
    return asyncio.run(voice(server, clock, **settings).text("q"))


def status(code, text="busy", **headers):
    return httpx.Response(code, text=text, headers={k.replace("_", "-"): v for k, v in headers.items()})


RESET = httpx.ReadError("connection reset")
REFUSED = httpx.ConnectError("connection refused")


@pytest.mark.parametrize("first", [status(429), status(500), status(503), status(408), RESET, REFUSED, said("")])
def test_what_may_pass_is_tried_again(first):
    clock, server = FakeTime(), Server(first, "fine")
    speaker = voice(server, clock)
    assert asyncio.run(speaker.text("q")) == Reply("fine")
    assert clock.slept == [0.5]
    assert (speaker.usage.requests, speaker.usage.retries, speaker.usage.calls) == (2, 1, 1)
    assert not speaker.usage.failures


@pytest.mark.parametrize(
    ("answer", "cause", "tries"),
    [
        (status(503), "status", 4),
        (REFUSED, "network", 4),
        (RESET, "network", 4),
        (httpx.ReadTimeout("slow"), "timeout", 4),
        (httpx.Response(200, text="<html>bad gateway</html>"), "format", 4),
        (httpx.Response(200, text="[" * 100_000), "format", 4),
        (httpx.Response(200, json=[1]), "format", 4),
        (httpx.Response(200, json={"error": {"code": 502, "message": "upstream"}}), "status", 4),
        (said(""), "empty", 2),
        (said(None), "empty", 2),
        (status(400, "context_length_exceeded"), "status", 1),
        (status(401), "status", 1),
        (status(302, location="http://elsewhere"), "status", 1),
        (httpx.Response(200, json={"error": "no such model"}), "status", 1),
        (httpx.Response(200, json={"choices": []}), "format", 1),
        (httpx.Response(200, json={"choices": [{"message": None}]}), "format", 1),
        (said(None, refusal="no"), "empty", 2),
        (said("", finish_reason="length"), "format", 1),
    ],
)
def test_what_does_not_pass_is_a_failure_with_its_cause(answer, cause, tries):
    server = Server(answer)
    failure = ask(server, retries=3)
    assert failure.cause == cause
    assert len(server.requests) == tries
    assert (f"after {tries} tries" in failure.what) == (tries > 1)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"error": {"message": "the model\\nis asleep", "code": null}}', "answered 400: the model is asleep"),
        ('{"error": "no such model"}', "answered 400: no such model"),
        ('{"detail": "odd"}', 'answered 400: {"detail": "odd"}'),
        ("plain words", "answered 400: plain words"),
        ("", "answered 400: nothing"),
        ("x" * 1000, "x" * 300 + "..."),
        ("[" * 100_000, "[" * 300 + "..."),
    ],
)
def test_a_refusal_is_told_in_its_own_words(body, shown):
    assert ask(Server(status(400, body))).what.endswith(shown)


def test_waits_double_with_jitter_and_stay_below_the_longest():
    clock = FakeTime()
    speaker = voice(Server(status(503)), clock, retries=5, max_wait=3.0)
    assert asyncio.run(speaker.text("q")).cause == "status"
    assert clock.slept == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_the_server_says_how_long_to_wait():
    clock = FakeTime()
    assert ask(Server(status(429, retry_after="7"), "fine"), clock) == Reply("fine")
    assert clock.slept == [7.0]


def test_a_server_that_asks_for_no_pause_gets_one_all_the_same():
    clock = FakeTime()
    assert ask(Server(status(429, retry_after="0"), "fine"), clock) == Reply("fine")
    assert clock.slept == [0.5]


def test_a_server_that_wants_too_long_a_pause_is_not_asked_again():
    clock, server = FakeTime(), Server(status(429, retry_after="3600"), "fine")
    failure = ask(server, clock, max_wait=60)
    assert "asks to wait 3600 s" in failure.what
    assert (len(server.requests), clock.slept) == (1, [])


def test_a_quota_that_is_used_up_ends_it():
    with pytest.raises(BudgetSpent, match="quota is used up"):
        ask(Server(status(429, '{"error": {"code": "insufficient_quota"}}')))


def test_no_more_under_way_than_allowed():
    server = Server("fine")
    speaker = voice(server, concurrency=3)

    async def go():
        return await asyncio.gather(*(speaker.text(f"q{i}") for i in range(12)))

    assert asyncio.run(go()) == [Reply("fine")] * 12
    assert server.most_under_way == 3


def test_no_more_per_minute_than_allowed():
    clock = FakeTime()
    speaker = voice(Server("fine"), clock, per_minute=2, concurrency=1)

    async def go():
        return [await speaker.text(f"q{i}") for i in range(5)]

    asyncio.run(go())
    assert clock.time == 1000 + 120


def test_money_is_counted_and_ends():
    # A request of q with its 64 for the template and at most 10 tokens back reserves well below 0.01.
    limits = Limits(max_cost=0.01, price_in=20.0, price_out=100.0)
    server = Server(said("fine", 100, 10))  # 0.003 each
    speaker = voice(server, limits=limits, max_new_tokens=10)

    async def go():
        for i in range(10):
            assert await speaker.text(f"q{i}") == Reply("fine")

    with pytest.raises(BudgetSpent, match="raise max_cost"):
        asyncio.run(go())
    assert len(server.requests) == 3
    assert speaker.usage.cost == pytest.approx(0.009)
    assert (speaker.usage.prompt_tokens, speaker.usage.completion_tokens) == (300, 30)


def test_many_at_once_do_not_overdraw():
    limits = Limits(max_cost=0.02, price_in=20.0, price_out=100.0)
    speaker = voice(Server(said("fine", 100, 10)), limits=limits, max_new_tokens=10, concurrency=50)

    async def go():
        return await asyncio.gather(*(speaker.text(f"q{i}") for i in range(50)), return_exceptions=True)

    told = asyncio.run(go())
    assert {type(one) for one in told} == {Reply, BudgetSpent}
    assert speaker.usage.cost <= 0.02


def test_an_answer_without_counts_is_taken_to_have_cost_the_most():
    answer = httpx.Response(200, json={"choices": [{"message": {"content": "fine"}}]})
    speaker = voice(Server(answer), limits=Limits(max_tokens=280), max_new_tokens=50)

    async def go():
        for i in range(5):
            await speaker.text(f"q{i}")

    with pytest.raises(BudgetSpent, match="raise max_tokens"):
        asyncio.run(go())
    assert speaker.usage.requests == 1  # it may have taken 148: 34 bytes, 64 for the template, 50 new


def test_the_key_is_sent_and_nowhere_else(monkeypatch):
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("JUDGE_KEY", f"{secret}\n")
    server = Server(status(401, f"Incorrect API key provided: {secret}"))
    speaker = voice(server, key_env="JUDGE_KEY")
    failure = asyncio.run(speaker.text("q"))
    assert server.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert "***" in failure.what
    assert "JUDGE_KEY" in failure.what
    assert secret not in f"{failure!r} {speaker!r} {speaker._wire!r} {speaker.usage!r}"


def test_a_key_that_is_missing_or_broken_shows_at_once(monkeypatch):
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(ValueError, match="export JUDGE_KEY"):
        voice(Server("fine"), key_env="JUDGE_KEY")
    monkeypatch.setenv("JUDGE_KEY", "sk-geheim-schlüssel")
    with pytest.raises(ValueError, match="cannot be sent") as raised:
        voice(Server("fine"), key_env="JUDGE_KEY")
    assert "geheim" not in str(raised.value)


def test_cancellation_ends_the_request_and_frees_its_slot():
    events = []

    async def answer(request):
        try:
            await asyncio.sleep(60 if len(events) == 0 else 0)
        finally:
            events.append("ended")
        return said("fine")

    speaker = voice(Server("unused"), concurrency=1)
    speaker._wire.transport = httpx.MockTransport(answer)

    async def go():
        task = asyncio.create_task(speaker.text("a"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert events == ["ended"]
        return await speaker.text("a")

    assert asyncio.run(go()) == Reply("fine")


def test_a_voice_outlives_an_event_loop():
    speaker = voice(Server("fine"))
    assert asyncio.run(speaker.text("a")) == Reply("fine")
    assert asyncio.run(speaker.text("b")) == Reply("fine")


def test_without_httpx_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "httpx":
            raise ImportError("No module named 'httpx'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'guerdon\[judge\]'"):
        ServerVoice("http://localhost:1/v1", "m")


@pytest.mark.parametrize(
    "settings", [{"timeout": 0}, {"retries": -1}, {"concurrency": 0}, {"per_minute": 0}, {"max_wait": -1}]
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match="expected"):
        voice(Server("fine"), **settings)


# --- real sockets ----------------------------------------------------------------------------------------------------

BODY = b'{"choices": [{"message": {"content": "fine"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}'


@contextmanager
def listening(delay=0.0, part=None):
    """A server on a free port that waits before it answers, or sends a part of its answer and then nothing."""
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            done.wait(delay)
            self.send_response(200)
            self.send_header("content-length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY[:part])
            if part is not None:
                self.wfile.flush()
                done.wait(20)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        done.set()
        server.shutdown()
        server.server_close()


async def once(address, **settings):
    speaker = ServerVoice(address, "m", retries=0, **settings)
    try:
        return await speaker.text("q")
    finally:
        await speaker.close()


def test_over_a_socket():
    with listening() as address:
        assert asyncio.run(once(address)) == Reply("fine")


@pytest.mark.parametrize("how", [{"delay": 20.0}, {"part": 30}], ids=["nothing comes", "it stops half way"])
def test_a_server_that_hangs_is_left_in_time(how):
    began = time.monotonic()
    with listening(**how) as address:
        assert asyncio.run(once(address, timeout=0.3)) == Failure("timeout", "no answer within 0.3 s")
    assert time.monotonic() - began < 15


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failure = asyncio.run(once(f"http://127.0.0.1:{port}/v1"))
    assert failure.cause == "network"
    assert f"127.0.0.1:{port}" in failure.what
