"""`guerdon eval`: a policy on held-out tasks, with the intervals that such numbers have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import say
from guerdon.commands.policy import load_speaker, trained_options
from guerdon.keys import UsageError

if TYPE_CHECKING:
    from guerdon.evaluation.evaluate import Evaluation
    from guerdon.tasks.base import TaskSet


def evaluate(
    model: str,
    tasks: str | None,
    reward: str | None,
    samples: int,
    k: str,
    limit: int | None,
    temperature: float | None,
    max_new_tokens: int | None,
) -> dict[str, Any]:
    """Evaluate MODEL, print the numbers, and return them."""
    ks = read_ks(k, samples)
    found = _task_set(model, tasks, reward)
    speaker = load_speaker(model, temperature, max_new_tokens)
    from guerdon.evaluation.evaluate import evaluate as measure
    from guerdon.tasks.base import each

    held = list(each(found.heldout, limit))
    say(f"{len(held)} held-out tasks of {found.name}, {samples} completion{'s' * (samples > 1)} each ...")
    done = asyncio.run(measure(held, found.reward, speaker.samplers, speaker.chat, speaker.how, samples, ks))
    _show(done, samples)
    return {
        **done.as_dict(),
        "model": model,
        "tasks": found.name,
        "reward": found.reward.name,
        "n": samples,
        "k": ks,
        "temperature": speaker.how.temperature,
        "max_new_tokens": speaker.how.max_tokens,
    }


def read_ks(text: str, samples: int) -> list[int]:
    """'1,2,4' as numbers; without any, 1 and the number of samples. UsageError for what no pass@k can be."""
    if not text:
        return sorted({1, samples})
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"--k is {text!r}; expected whole numbers such as 1,2,4") from None
    if ks[0] < 1 or ks[-1] > samples:
        raise UsageError(f"--k is {text!r}; pass@k needs 1 <= k <= --samples, which is {samples}")
    return ks


def _task_set(model: str, tasks: str | None, reward: str | None) -> TaskSet:
    from guerdon.recipes.parts import task_set
    from guerdon.run import Options

    trained = trained_options(model)
    if tasks is None:
        tasks, reward = trained.get("tasks") or "arithmetic", reward or trained.get("reward")
    graded = {name: trained[name] for name in ("worth", "reward_timeout", "unsafe_local_code") if name in trained}
    return task_set(Options(tasks=tasks, reward=reward, **graded))[0]


def _show(done: Evaluation, samples: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "mean", "95% interval"):
        table.add_column(column)
    rows = [("accuracy" if samples == 1 else f"accuracy (mean@{samples})", done.accuracy)]
    rows += [(f"pass@{k}", interval) for k, interval in done.pass_at_k.items() if samples > 1]
    rows += [("truncated", done.truncated), ("no answer", done.no_answer)]
    for name, interval in rows:
        table.add_row(name, f"{interval.mean:.3f}", f"{interval.low:.3f} to {interval.high:.3f}")
    Console(highlight=False).print(table)
    if done.faults:
        say(f"{len(done.faults)} tasks had faults and count as not right, such as: {done.faults[0]}", "yellow")
