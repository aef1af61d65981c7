"""The parts of a run, loaded: models, engines and samplers by role, and the source that they feed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.alarms import Limits
from guerdon.chat import Chat
from guerdon.engines.base import Engine
from guerdon.engines.local import LocalEngine, Optim
from guerdon.filters import weigh
from guerdon.likelihoods.autoregressive import Autoregressive, Values, WithoutAdapters
from guerdon.likelihoods.scores import Scores
from guerdon.method import Heads, Role
from guerdon.models.heads import ValueHead
from guerdon.models.load import Policy, load_policy
from guerdon.models.lora import Lora
from guerdon.models.reward import load_any, with_heads
from guerdon.models.size import decoding_slots, size_of
from guerdon.run import Options, Run
from guerdon.samplers.base import Sampler, Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Rollouts, Source
from guerdon.tasks.base import Shuffled
from guerdon.watch import Watch


@dataclass(frozen=True)
class Parts:
    """What a run is made of once it is loaded."""

    run: Run
    policy: Policy
    chat: Chat
    how: Sampling
    samplers: Mapping[str, Sampler]
    engines: Mapping[str, Engine]


def load_parts(run: Run) -> Parts:
    """Load the policy and every other role's model; one sampler for each that can speak, frozen or not."""
    o = run.options
    if run.method.scores is not None:
        return _reward_parts(run, run.method.scores)
    policy = load_policy(
        o.model,
        dtype=o.dtype,
        lora=Lora(rank=o.lora_rank, alpha=2 * o.lora_rank) if o.lora_rank else None,
        gradient_checkpointing=o.gradient_checkpointing,
        device=o.device,
        end_token=o.end_token,
    )
    engines: dict[str, Engine] = {}
    slots = o.slots or decoding_slots(size_of(o.model), o.max_new_tokens, policy.module.dtype.itemsize)
    samplers: dict[str, Sampler] = {"policy": LocalSampler(policy.module, policy.tokenizer, slots=slots)}
    for name, role in run.method.roles.items():
        if role.shares:
            samplers[name] = samplers[role.shares]
            continue
        if _is_base(role, o):
            engines[name] = LocalEngine(policy.module, WithoutAdapters(), None, o.tokens_per_micro_batch)
            continue
        module = _role_module(role, policy, o)
        engines[name] = _role_engine(module, role, run)
        if role.head == "lm":
            samplers[name] = LocalSampler(module, policy.tokenizer, slots=slots)
    engines["policy"] = LocalEngine(policy.module, Autoregressive(), optim(run), o.tokens_per_micro_batch)
    chat = Chat(policy.tokenizer, template=o.chat_template)
    return Parts(run, policy, chat, o.sampling(policy.stop_tokens), samplers, engines)


def _reward_parts(run: Run, heads: Heads) -> Parts:
    """A reward model in the policy's place, which nobody samples from."""
    o = run.options
    base = load_any(o.model, dtype=o.dtype, device=o.device, end_token=o.end_token)
    lora = Lora(rank=o.lora_rank, alpha=2 * o.lora_rank) if o.lora_rank else None
    model = with_heads(base, heads, o.seed, lora)
    if o.gradient_checkpointing:
        model.module.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
        model.module.train()
    engine = LocalEngine(model.module, Scores(heads), optim(run), o.tokens_per_micro_batch)
    chat = Chat(model.tokenizer, template=o.chat_template)
    return Parts(run, model, chat, o.sampling(()), {}, {"policy": engine})


def optim(run: Run, lr: float | None = None) -> Optim:
    """The optimiser of a run; its schedule ends with the last gradient step of the last update."""
    o = run.options
    return Optim(
        lr=o.learning_rate if lr is None else lr,
        schedule=o.schedule,
        warmup=o.warmup,
        total=o.steps * run.method.epochs * run.method.minibatches,
        weight_decay=o.weight_decay,
        max_grad_norm=o.max_grad_norm,
    )


def _is_base(role: Role, o: Options) -> bool:
    """Whether a role is the policy as it was before its fresh adapters: then no copy is needed."""
    copied = role.start != "policy" or role.head != "lm" or not role.frozen or role.refresh
    return bool(o.lora_rank) and not copied


def _role_module(role: Role, policy: Policy, o: Options) -> Any:
    if role.start == "policy":
        module = copy.deepcopy(policy.module)
    else:
        module = load_policy(role.start, dtype=o.dtype, device=o.device).module
    if role.head == "value":
        module = ValueHead(module)
    return module.requires_grad_(False) if role.frozen else module.requires_grad_(True)


def _role_engine(module: Any, role: Role, run: Run) -> LocalEngine:
    likelihood = Values() if role.head == "value" else Autoregressive()
    chosen = None if role.frozen else optim(run, role.lr)
    return LocalEngine(module, likelihood, chosen, run.options.tokens_per_micro_batch)


def weights_of(run: Run) -> dict[str, float]:
    """Factor of each reward in the return, by name."""
    return {reward.name: reward.weight for reward in run.scoring}


def watch_of(run: Run) -> Watch:
    """The watch over a run's rewards; one that learns from rows has none to watch."""
    weights = weights_of(run) if run.source is None else {}
    return Watch(weights, Limits(watch_metric=run.options.watch or ""))


def make_source(parts: Parts) -> Source:
    run, o = parts.run, parts.run.options
    if run.source is not None:
        return run.source(parts)
    assert run.tasks is not None
    return Rollouts(
        tasks=Shuffled(run.tasks.train, o.seed).draw,
        samplers=parts.samplers,
        chat=parts.chat,
        how=parts.how,
        rewards=run.scoring,
        batch=o.prompts_per_step,
        n=o.samples_per_prompt,
        rollout=run.method.rollout,
        filters=weigh(run.method.filters, weights_of(run)),
        min_group=run.method.estimator.min_group if run.method.estimator else 1,
        max_lag=o.max_lag,
        seed=o.seed,
    )
