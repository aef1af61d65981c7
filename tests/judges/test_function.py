import asyncio
import threading

import pytest

from guerdon.judges.function import FunctionVoice
from guerdon.judges.outcome import Failure, Reply


def text(answers, **settings):
    return asyncio.run(FunctionVoice(answers, **settings).text("q"))


async def awaited(prompt):
    return f"{prompt}!"


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (lambda prompt: "fine", Reply("fine")),
        (awaited, Reply("q!")),
        (lambda prompt: awaited(prompt), Reply("q!")),
        (lambda prompt: Reply("half", cut=True), Reply("half", cut=True)),
        (lambda prompt: Failure("status", "503"), Failure("status", "503")),
    ],
)
def test_functions_sync_and_async(answers, found):
    assert text(answers) == found


@pytest.mark.parametrize("said", [None, "", " \n"])
def test_no_text_is_a_failure(said):
    assert text(lambda prompt: said).cause == "empty"


def test_a_hanging_function_is_a_failure():
    release = threading.Event()
    assert text(lambda prompt: release.wait(30) and "late", timeout=0.05).cause == "timeout"
    release.set()

    async def sleeps(prompt):
        await asyncio.sleep(60)

    assert text(sleeps, timeout=0.05).verdict.status == "timed_out"


def test_bugs_are_raised():
    with pytest.raises(ZeroDivisionError):
        text(lambda prompt: 1 / 0)
    with pytest.raises(TypeError, match="returned int"):
        text(lambda prompt: 3)


def test_weights_may_fail_too():
    voice = FunctionVoice(str, lambda prompt, labels: Failure("network", "down"))
    assert asyncio.run(voice.labels("q", ["a", "b"])) == Failure("network", "down")
