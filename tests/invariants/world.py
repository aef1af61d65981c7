"""A small real world for any method: a random two-layer Llama, its sampler and engines, and batches it sampled."""

from __future__ import annotations

import asyncio
import copy
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import torch

import guerdon.methods
from guerdon.chat import Chat
from guerdon.data.columns import with_columns
from guerdon.data.steps import LABEL
from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.likelihoods.scores import Scores
from guerdon.marks import mark
from guerdon.method import Heads, Method, Role
from guerdon.methods.vrpo import with_synthetic
from guerdon.metrics import merge, values
from guerdon.models.heads import ValueHead
from guerdon.models.load import Policy
from guerdon.models.reward import with_heads
from guerdon.rollouts.single import episode_of
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Rollouts, Source
from guerdon.types import Episode, Group, Pair, Score, Span, Task

VOCAB = 16
END = 2


def methods() -> dict[str, ModuleType]:
    """Every module of `guerdon.methods` with a CARD, by its file's name."""
    names = [info.name for info in pkgutil.iter_modules(guerdon.methods.__path__)]
    modules = {name: importlib.import_module(f"guerdon.methods.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "CARD")}


def make(module: ModuleType, **changes: Any) -> Method:
    """The method of a file, by its constructor of the file's name."""
    constructor = getattr(module, module.__name__.rsplit(".", 1)[1])
    return constructor(**changes)


class Letters:
    """A tokenizer for ids 0..15."""

    eos_token_id = END
    pad_token_id = 0
    chat_template = None

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return "".join(chr(97 + int(i)) for i in ids if i > 2)


def llama(seed: int = 0) -> Any:
    import transformers as hf

    torch.manual_seed(seed)
    config = hf.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=1,
        eos_token_id=END,
        pad_token_id=0,
    )
    return hf.AutoModelForCausalLM.from_config(config).eval()


@dataclass
class World:
    """A method with everything it needs to learn."""

    family: str
    method: Method
    learner: Learner
    sampler: LocalSampler
    shape: Callable[[int, Group], Group]

    def groups(self, number: int = 4, n: int = 4, seed: int = 0, **how: Any) -> list[Group]:
        """Rewarded rollouts for a policy method, texts for a supervised one, pairs for all others."""
        groups = asyncio.run(self._roll(number, n, seed, how))
        for g, group in enumerate(groups):
            for e, episode in enumerate(group):
                episode.scores["r"] = Score(float((3 * e + g) % 4) / 2)
        if self.family in ("preference", "reward"):
            return [self.shape(g, group) for g, group in enumerate(groups)]
        if self.family == "supervised":
            return [[strip(episode)] for group in groups for episode in group[:1]]
        return groups

    async def _roll(self, number: int, n: int, seed: int, how: dict[str, Any]) -> list[Group]:
        settings = Sampling(**{"max_tokens": 6, "stop_tokens": (END,), **how})
        prompts = [[1, 3 + g, 4 + g % 3, 5][: 2 + g % 3] for g in range(number)]
        sampled = await asyncio.gather(
            *(
                self.sampler.sample(p, settings, [1000 * seed + 10 * g + i for i in range(n)])
                for g, p in enumerate(prompts)
            )
        )
        tasks = [Task(f"{seed}-{g}", p) for g, p in enumerate(prompts)]
        return [
            [episode_of(task, Span(np.array(task.prompt)), one) for one in many]
            for task, many in zip(tasks, sampled, strict=True)
        ]

    def source(self, rewards: Any, **changes: Any) -> Rollouts:
        """Rollouts of six tokens on tasks '0', '1', ..., for the method's own estimator and filters."""
        settings: dict[str, Any] = {
            "tasks": lambda i: Task(str(i), [1, 3 + i % 5, 4]),
            "samplers": {"policy": self.sampler},
            "chat": Chat(Letters(), template=False),
            "how": Sampling(max_tokens=6, stop_tokens=(END,)),
            "rewards": [*rewards, *self.method.rewards],
            "batch": 4,
            "n": 6,
            "filters": self.method.filters,
            "rollout": self.method.rollout,
            "max_fault_share": 1.0,
        }
        return Rollouts(**{**settings, **changes})

    def train(self, source: Source, steps: int) -> list[dict[str, float]]:
        """The numbers of each step."""

        async def go() -> list[dict[str, float]]:
            found = []
            async with source:
                for _ in range(steps):
                    data = await source.take(self.learner.version)
                    stats = await self.learner.update(data.groups)
                    await source.publish(self.learner)
                    found.append(values(merge([data.stats, stats])))
            return found

        return asyncio.run(go())

    def update(self, groups: list[Group]) -> Any:
        stats = asyncio.run(self.learner.update(groups))
        self.sampler.load(None, self.learner.version)
        return stats


def plain_pair(number: int, group: Group) -> Group:
    return Pair(strip(group[0]), strip(group[1])).group()


def of_two_groups(number: int, group: Group) -> Group:
    return [mark(one, subgroup=number % 2, share_of_all=0.5) for one in plain_pair(number, group)]


def beside_a_synthetic_pair(number: int, group: Group) -> Group:
    return with_synthetic(plain_pair(number, group), 0.7, [(strip(group[2]), strip(group[3]), 0.6)])


def beside_samples(number: int, group: Group) -> Group:
    """A logged pair of which the model thought little, and samples of which it thinks more or less."""
    logged = [
        replace(mark(strip(one), logged=1.0), scores={"doubly_robust": Score(value)})
        for one, value in zip(group, (0.6, -0.6), strict=False)
    ]
    for episode, g in zip(group[2:], (0.3, 0.55), strict=True):
        episode.scores = {"doubly_robust": Score(g)}
    return [*logged, *group[2:]]


def beside_a_mismatched(number: int, group: Group) -> Group:
    """A labelled completion, good or bad in turn, and another one that anchors it."""
    own = replace(strip(group[0]), scores={"label": Score(-1.0 if number % 2 else 1.0)})
    return [own, mark(strip(group[1]), mismatched=1.0)]


def scored(number: int, group: Group) -> Group:
    """One completion with the number that somebody gave it."""
    return with_columns([strip(group[0])], {"score": float(number % 3)}, ["score"])


def labelled_steps(number: int, group: Group) -> Group:
    """A completion that was found right, or not, at its second token and at its last."""
    *spans, said = strip(group[0]).spans
    for place, ids in enumerate((said.tokens[:1], said.tokens[1:])):
        label = {LABEL: float((number + place) % 2)}
        spans.append(Span(ids[:-1], parent=len(spans) - 1))
        spans.append(Span(ids[-1:], np.zeros(len(ids[-1:])), parent=len(spans) - 1, extra=label))
    return [Episode(group[0].task, spans)]


def in_order(number: int, group: Group) -> Group:
    return [replace(strip(one), scores={"rank": Score(float(-place))}) for place, one in enumerate(group)]


def beams(number: int, group: Group) -> Group:
    """Three of which the model is more or less sure."""
    sure = (0.95, 0.92, 0.3 + 0.1 * number)
    return [replace(strip(one), scores={"confidence": Score(c)}) for one, c in zip(group, sure, strict=False)]


SHAPES = {
    "rlsf": beams,
    "regression-rm": scored,
    "process-rm": labelled_steps,
    "ranked-rm": in_order,
    "kto": beside_a_mismatched,
    "group-robust-po": of_two_groups,
    "vrpo": beside_a_synthetic_pair,
    "drpo": beside_samples,
}
"""What a group of a preference method holds, where it is more than a pair."""


def strip(episode: Episode) -> Episode:
    """The same text as somebody else's: what was sampled is to be learned from, at no policy's log-probability."""
    spans = [Span(s.tokens, None if s.logprobs is None else np.zeros(len(s.tokens)), s.parent) for s in episode.spans]
    return Episode(episode.task, spans)


def build(module: ModuleType, method: Method | None = None, lr: float = 1e-2, tokens: int = 64, seed: int = 0) -> World:
    method = method or make(module)
    policy = llama(seed)
    engines = {name: _engine(role, policy, lr, tokens) for name, role in method.roles.items() if not role.shares}
    engines["policy"] = _learning(policy, method.scores, Optim(lr=lr, max_grad_norm=0.0), tokens)
    learner = Learner(method, engines, max_gap=1e-3)
    shape = SHAPES.get(module.CARD.slug, plain_pair)
    return World(module.CARD.family, method, learner, LocalSampler(policy, Letters(), slots=8), shape)


def _learning(policy: Any, heads: Heads | None, optim: Optim, tokens: int) -> LocalEngine:
    if heads is None:
        return LocalEngine(policy, Autoregressive(), optim, tokens)
    return LocalEngine(with_heads(Policy(policy, Letters(), "", ""), heads).module, Scores(heads), optim, tokens)


def _engine(role: Role, policy: Any, lr: float, tokens: int) -> LocalEngine:
    module = copy.deepcopy(policy)
    optim = None if role.frozen else Optim(lr=lr, max_grad_norm=0.0)
    if role.head == "value":
        torch.manual_seed(1)
        return LocalEngine(ValueHead(module), Values(), optim, tokens)
    return LocalEngine(module, Autoregressive(), optim, tokens)


def gradients(engine: LocalEngine) -> dict[str, torch.Tensor]:
    """The accumulated gradient by parameter; taken away from the engine."""
    found = {n: p.grad.clone() for n, p in engine.module.named_parameters() if p.grad is not None}
    engine.module.zero_grad(set_to_none=True)
    return found


def distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """Largest difference of two gradients relative to the larger one's largest entry."""
    names = set(a) | set(b)
    if not names:
        return 0.0
    some = {**a, **b}
    zero = {n: torch.zeros_like(some[n]) for n in names}
    scale = max([float(g.abs().max()) for g in some.values()] + [1e-12])
    return max(float((a.get(n, zero[n]) - b.get(n, zero[n])).abs().max()) for n in names) / scale
