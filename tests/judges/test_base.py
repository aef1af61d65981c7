import asyncio

import pytest

from guerdon.judges.base import together
from guerdon.judges.function import FunctionVoice
from guerdon.judges.guard import Guard, TooManyJudgeFailures
from guerdon.judges.outcome import Failure, Labels, Preference, Reply


def run(coroutine):
    return asyncio.run(coroutine)


def quoted(prompt, name):
    """What stands in a prompt under this name."""
    start = prompt.index(f"<<<{name} ")
    return prompt[prompt.index("\n", start) + 1 : prompt.index(f"\n<<<END {name} ")]


def longer(prompt):
    a, b = len(quoted(prompt, "REPLY A")), len(quoted(prompt, "REPLY B"))
    return "CHOICE: " + ("A" if a > b else "B" if b > a else "TIE")


def test_text_is_what_was_said():
    assert run(FunctionVoice(lambda prompt: prompt.upper()).text("hi")) == Reply("HI")


@pytest.mark.parametrize(
    ("judge", "preference"),
    [
        (longer, Preference(1.0, 0.0, 3)),
        (lambda prompt: "CHOICE: A", Preference(0.5, 1.0, 3)),  # it always takes the first
        (lambda prompt: "CHOICE: B", Preference(0.5, 1.0, 3)),
        (lambda prompt: "CHOICE: TIE", Preference(0.5, 0.0, 3)),
    ],
)
def test_replies_are_compared_in_both_orders(judge, preference):
    voice = FunctionVoice(judge)
    assert run(voice.compare("q", "a long reply", "short", votes=3)) == preference
    assert voice.usage.calls == 6


def test_a_comparison_that_fails_in_one_order_is_none():
    voice = FunctionVoice(lambda prompt: "CHOICE: A" if quoted(prompt, "REPLY A") == "x" else "hm", repairs=0)
    assert run(voice.compare("q", "x", "y")).cause == "format"
    assert voice.usage.failures == {"format": 1}


def test_criteria_in_their_order():
    voice = FunctionVoice(lambda prompt: "2: no\n1: yes\n3: unsure")
    assert run(voice.criteria("q", "r", ["a", "b", "c"])) == [True, False, None]


def test_labels_come_from_a_function_of_their_own_or_from_the_text():
    weighs = FunctionVoice(lambda prompt: "", lambda prompt, labels: {"1": 0.2, "2": 0.6, "9": 1.0})
    assert run(weighs.labels("q", ["1", "2", "3"])).probabilities == pytest.approx({"1": 0.25, "2": 0.75, "3": 0.0})
    speaks = FunctionVoice(lambda prompt: "2")
    assert run(speaks.labels("q", ["1", "2"])) == Labels({"1": 0.0, "2": 1.0}, 1.0)
    assert run(speaks.labels("q", ["1", "3"])).cause == "format"


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "a"], ["a", ""]])
def test_labels_that_cannot_be_told_apart_are_refused(labels):
    with pytest.raises(ValueError, match="two or more different"):
        run(FunctionVoice(str).labels("q", labels))


def test_nothing_to_ask_is_an_error():
    with pytest.raises(ValueError, match="no criteria"):
        run(FunctionVoice(str).criteria("q", "r", []))
    with pytest.raises(ValueError, match="votes is 0"):
        run(FunctionVoice(str).compare("q", "a", "b", votes=0))


def test_an_answer_of_another_form_is_asked_for_again_with_what_was_said():
    prompts = []

    def judge(prompt):
        prompts.append(prompt)
        return "I like it" if len(prompts) == 1 else "1: yes"

    voice = FunctionVoice(judge)
    assert run(voice.criteria("q", "r", ["a"])) == [True]
    assert prompts[1].startswith(prompts[0])
    assert "I like it\n\nThat answer is not of the form asked for" in prompts[1]
    assert (voice.usage.calls, voice.usage.requests, voice.usage.repairs) == (1, 2, 1)
    assert not voice.usage.failures


def test_repairs_end():
    voice = FunctionVoice(lambda prompt: "hm", repairs=2)
    assert run(voice.criteria("q", "r", ["a"])).cause == "format"
    assert (voice.usage.requests, voice.usage.repairs) == (3, 2)


def test_too_many_failures_stop():
    voice = FunctionVoice(lambda prompt: Failure("network", "down"), guard=Guard(0.5, 10, least=3))

    async def go():
        return [await voice.text("q") for _ in range(3)]

    with pytest.raises(TooManyJudgeFailures, match="network: down"):
        run(go())
    assert voice.usage.failures == {"network": 3}


def test_when_one_raises_the_others_are_cancelled_and_over():
    events = []

    async def slow():
        try:
            await asyncio.sleep(60)
        finally:
            events.append("ended")

    async def bad():
        await asyncio.sleep(0)
        raise KeyError("x")

    async def go():
        with pytest.raises(KeyError):
            await together([slow(), bad(), slow()])
        events.append("raised")

    run(go())
    assert events == ["ended", "ended", "raised"]


def test_cancellation_passes_through():
    ended = []

    async def judge(prompt):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(prompt)

    async def go():
        task = asyncio.create_task(FunctionVoice(judge).compare("q", "a", "b"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(go())
    assert len(ended) == 2
