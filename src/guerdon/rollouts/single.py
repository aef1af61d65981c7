"""The common rollout: one prompt, n completions, one turn."""

from __future__ import annotations

from guerdon.rollouts.base import Context
from guerdon.samplers.base import Sample
from guerdon.types import Episode, Group, Span, Task


async def single_turn(task: Task, context: Context) -> Group:
    """`context.n` completions of the task's prompt by the policy."""
    prompt = context.chat.prompt(task.prompt)
    samples = await context.samplers["policy"].sample(prompt, context.how, context.seeds(context.n))
    return [episode_of(task, Span(prompt), sample) for sample in samples]


def episode_of(task: Task, prompt: Span, sample: Sample, role: str = "policy") -> Episode:
    """An episode of one turn: the prompt, then what was sampled after it."""
    spans = [prompt]
    append(spans, sample.spans, after=0)
    return Episode(task, spans, role=role, stop=sample.stop)


def append(spans: list[Span], new: list[Span], after: int) -> int:
    """Hang a chain of spans below span `after`; returns the index of the last one."""
    for span in new:
        span.parent = after
        spans.append(span)
        after = len(spans) - 1
    return after
