import asyncio

import httpx
import pytest

from guerdon.judges.cache import Cache
from guerdon.judges.outcome import Reply
from guerdon.judges.server import ServerVoice, read_labels, read_reply
from tests.judges.servers import URL, Server, said, voice, weighed


def ask(speaker, prompt="q", vote=0):
    return asyncio.run(speaker.text(prompt, vote))


def test_what_is_sent():
    server = Server("fine")
    ask(voice(server, max_new_tokens=7, extra={"top_p": 0.9}))
    assert str(server.requests[0].url) == f"{URL}/chat/completions"
    assert "authorization" not in server.requests[0].headers
    assert server.body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "temperature": 0.0,
        "max_tokens": 7,
        "top_p": 0.9,
    }
    ask(voice(server, temperature=None, tokens_field="max_completion_tokens"), vote=2)
    assert server.body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "max_completion_tokens": 512,
        "seed": 2,
    }


def test_text_that_cannot_be_sent_is_mended():
    server = Server("fine")
    assert ask(voice(server), "lone \ud800 surrogate") == Reply("fine")
    assert server.body()["messages"][0]["content"] == "lone ? surrogate"


@pytest.mark.parametrize(
    ("choice", "reply"),
    [
        ({"message": {"content": "hi"}, "finish_reason": "stop"}, Reply("hi")),
        ({"message": {"content": "hi"}, "finish_reason": "length"}, Reply("hi", cut=True)),
        ({"message": {"content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}}, Reply("hi")),
        ({"message": {"content": "hi", "reasoning_content": "GRADE: 10"}}, Reply("hi")),
    ],
)
def test_replies_are_read(choice, reply):
    assert read_reply(choice) == reply


@pytest.mark.parametrize(
    ("choice", "cause", "what"),
    [
        ({}, "format", "no message"),
        ({"message": {"content": None, "refusal": "I cannot"}}, "format", "I cannot"),
        (
            {"message": {"content": "", "reasoning_content": "hm"}, "finish_reason": "length"},
            "format",
            "max_new_tokens",
        ),
        ({"message": {"content": 3}}, "empty", "without text"),
    ],
)
def test_what_is_no_reply(choice, cause, what):
    failure = read_reply(choice)
    assert failure.cause == cause
    assert what in failure.what


def test_label_probabilities_from_the_first_token():
    server = Server(weighed(**{"4": -0.5, " 4": -2.0, "5": -2.0, "The": -1.0}))
    found = asyncio.run(voice(server).labels("q", ["4", "5", "6"]))
    # e^-0.5 + e^-2 = 0.741866, e^-2 = 0.135335, together 0.877201
    assert found.probabilities == pytest.approx({"4": 0.845720, "5": 0.154280, "6": 0.0}, abs=1e-6)
    assert found.mass == pytest.approx(0.877201, abs=1e-6)
    assert server.body()["logprobs"] is True
    assert (server.body()["top_logprobs"], server.body()["max_tokens"]) == (20, 1)


def test_the_start_of_a_label_counts_where_it_is_the_start_of_no_other():
    top = [{"token": token, "logprob": -1.0} for token in ("ye", "n", "", " ", "no!")]
    choice = {"logprobs": {"content": [{"top_logprobs": top}]}}
    assert read_labels(choice, ["yes", "no"]).probabilities == {"yes": 0.5, "no": 0.5}
    assert read_labels(choice, ["yeah", "yes"]).cause == "format"  # 'ye' could be either


def test_labels_that_start_each_other_are_refused():
    with pytest.raises(ValueError, match="'1' is the start of '10'"):
        asyncio.run(voice(Server("x")).labels("q", ["1", "2", "10"]))


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": []},
        {"content": [{}]},
        {"content": [{"top_logprobs": []}]},
        {"content": [{"top_logprobs": [{"token": "4", "logprob": None}]}]},
        {"content": [{"top_logprobs": [{"token": "4", "logprob": 3.0}]}]},
        {"content": [{"top_logprobs": ["4"]}]},
    ],
)
def test_no_probabilities_are_a_failure(logprobs):
    assert asyncio.run(voice(Server(said("4", logprobs=logprobs))).labels("q", ["4", "5"])).cause == "format"


def test_the_same_question_is_answered_from_what_was_said_also_by_another_voice(tmp_path):
    server = Server(answer=lambda prompt: f"to {prompt}")
    first, second = (voice(server, cache=Cache(tmp_path)) for _ in range(2))
    assert ask(first, "a") == ask(second, "a") == ask(first, "a") == Reply("to a")
    assert len(server.requests) == 1
    assert (first.usage.requests, first.usage.cache_hits, second.usage.requests, second.usage.cache_hits) == (
        1,
        1,
        0,
        1,
    )
    assert first.usage.calls + second.usage.calls == 3
    ask(second, "b")
    ask(second, "a", vote=1)  # another draw is another question
    ask(voice(server, cache=Cache(tmp_path), temperature=1.0), "a")
    ask(voice(server, cache=Cache(tmp_path), max_new_tokens=1), "a")
    assert len(server.requests) == 5


def test_failures_are_not_kept(tmp_path):
    server = Server(httpx.Response(500), "fine")
    assert ask(voice(server, cache=Cache(tmp_path), retries=0)).cause == "status"
    assert ask(voice(server, cache=Cache(tmp_path), retries=0)) == Reply("fine")


def test_a_kept_answer_that_says_nothing_is_asked_for_again(tmp_path):
    server, speaker = Server("fine"), None
    for path_content in (None, b"{"):
        speaker = voice(server, cache=Cache(tmp_path))
        for path in tmp_path.rglob("*.json"):
            path.write_bytes(path_content or path.read_bytes())
        assert ask(speaker) == Reply("fine")
    assert len(server.requests) == 2


def test_what_is_being_asked_is_not_asked_twice():
    server = Server("fine")
    speaker = voice(server)

    async def go():
        return await asyncio.gather(*(speaker.text("q") for _ in range(8)))

    assert asyncio.run(go()) == [Reply("fine")] * 8
    assert (len(server.requests), speaker.usage.cache_hits) == (1, 7)


def test_when_the_one_who_asks_is_cancelled_the_next_one_asks():
    server = Server("fine")
    speaker = voice(server)

    async def go():
        first, second = (asyncio.create_task(speaker.text("q")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(go())
    assert isinstance(first, asyncio.CancelledError)
    assert second == Reply("fine")


@pytest.mark.parametrize("address", ["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions"])
def test_addresses(address):
    assert ServerVoice(address, "m")._wire.address == "http://h/v1/chat/completions"


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://h/v1", "http://", "", "file:///etc/passwd"])
def test_what_is_no_address(address):
    with pytest.raises(ValueError, match="such as http://localhost:8000/v1"):
        ServerVoice(address, "m")


def test_passwords_in_addresses_are_refused_and_not_repeated():
    with pytest.raises(ValueError, match="key_env") as raised:
        ServerVoice("https://me:hunter2@h/v1", "m")
    assert "hunter2" not in str(raised.value)


def test_a_model_without_a_name_or_room_is_refused():
    with pytest.raises(ValueError, match="no name"):
        ServerVoice(URL, "")
    with pytest.raises(ValueError, match="max_new_tokens is 0"):
        ServerVoice(URL, "m", max_new_tokens=0)
