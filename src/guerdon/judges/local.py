"""A judge in this process: the run's own sampler of some role, or a model loaded for it alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from guerdon.judges.base import Voice
from guerdon.judges.outcome import Failure, Labels, Reply
from guerdon.judges.prompts import break_up
from guerdon.names import nearest
from guerdon.rollouts.base import derive
from guerdon.samplers.base import Sampling
from guerdon.types import Message

if TYPE_CHECKING:
    from torch import Tensor

    from guerdon.chat import Chat
    from guerdon.rollouts.base import Context
    from guerdon.samplers.base import Sample, Sampler
    from guerdon.types import IntArray


@dataclass(eq=False)
class LocalVoice(Voice):
    """sampler and chat: of a model of its own; None: those of the run, in which it speaks as `role`.

    temperature 0 is greedy, and all votes are then alike. stop_tokens: ids that end an answer. Answers depend on the
    seed, the prompt and the number of the vote alone, never on what else is going on.
    """

    sampler: Sampler | None = None
    chat: Chat | None = None
    role: str = "policy"
    temperature: float = 0.0
    max_new_tokens: int = 512
    stop_tokens: tuple[int, ...] = ()
    seed: int = 0

    @property
    def needs_context(self) -> bool:
        return self.sampler is None

    def within(self, context: Context | None) -> LocalVoice:
        """With the run's sampler, chat and seed. ValueError when the run has no such role."""
        if self.sampler is not None or context is None:
            return self
        if self.role not in context.samplers:
            raise ValueError(f"the run has no role {self.role!r} to judge{nearest(self.role, context.samplers)}")
        sampler, stop = context.samplers[self.role], context.how.stop_tokens
        return replace(self, sampler=sampler, chat=context.chat, stop_tokens=stop, seed=context.seed)

    async def say(self, messages: Sequence[Message], vote: int) -> Reply | Failure:
        prompt = self._prompt(messages)
        how = Sampling(self.max_new_tokens, self.temperature, stop_tokens=self.stop_tokens)
        seed = derive(self.seed, "voice", hashlib.sha256(prompt.tobytes()).hexdigest(), vote)
        said = await self._sample(prompt, how, seed)
        if isinstance(said, Failure):
            return said
        return (
            Reply(said.text, said.stop == "length") if said.text.strip() else Failure("empty", "the judge said nothing")
        )

    async def weigh(self, messages: Sequence[Message], labels: Sequence[str]) -> Labels | Failure:
        """Exact: the product of each label's token probabilities, all of its tokens read.

        Where the tokens of one label are the start of another's, all are followed by the end token, so that '1' does
        not get what belongs to '10'.
        """
        prompt, chat = self._prompt(messages), self._chat
        ids = {label: tuple(chat.encode(label).tolist()) for label in labels}
        if any(_starts(one, other) for one in ids.values() for other in ids.values()):
            end = chat.end if chat.turn_end is None else chat.turn_end
            ids = {label: (*tokens, end) for label, tokens in ids.items()}
        logprobs = dict.fromkeys(labels, 0.0)
        for start, follow in _branches(ids).items():
            found = await self._next(prompt, start, follow)
            if isinstance(found, Failure):
                return found
            for label, tokens in ids.items():
                if tokens[: len(start)] == start and len(tokens) > len(start):
                    logprobs[label] += found[tokens[len(start)]]
        return Labels.of({label: math.exp(logprob) for label, logprob in logprobs.items()})

    @property
    def _chat(self) -> Chat:
        if self.chat is None:
            raise ValueError(
                "a judge that speaks as a role of the run has to be asked within it: voice.within(context)"
            )
        return self.chat

    def _prompt(self, messages: Sequence[Message]) -> IntArray:
        """The prompt's ids, in which no text from outside stands for a special token."""
        tokenizer = self._chat.tokenizer
        added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        special = [*added, *tokenizer.all_special_tokens]
        return self._chat.prompt(
            [{**message, "content": break_up(str(message["content"]), special)} for message in messages]
        )

    async def _sample(self, prompt: IntArray, how: Sampling, seed: int) -> Sample | Failure:
        assert self.sampler is not None
        self.usage.requests += 1
        try:
            said = (await self.sampler.sample(prompt, how, [seed]))[0]
        except ValueError as error:  # what a sampler says about a prompt that it cannot take
            return Failure("prompt", str(error))
        self.usage.prompt_tokens += len(prompt) + len(how.prefix)
        self.usage.completion_tokens += sum(len(span.tokens) for span in said.spans if span.sampled)
        return said

    async def _next(self, prompt: IntArray, start: tuple[int, ...], ids: set[int]) -> Mapping[int, float] | Failure:
        """Log-probability of each of these ids after the prompt and `start`."""
        seen: dict[int, float] = {}

        def look(logits: Tensor, _: IntArray) -> Tensor:
            logprobs = logits.double().log_softmax(-1)
            seen.update({i: float(logprobs[i]) for i in ids})
            return logits

        how = Sampling(1, 0.0, stop_tokens=self.stop_tokens, prefix=start, logits_hook=look)
        said = await self._sample(prompt, how, self.seed)
        if isinstance(said, Failure):
            return said
        if not seen:
            raise TypeError(f"{type(self.sampler).__name__} runs no logits_hook, which label probabilities are read by")
        return seen


def load_voice(model: str, **settings: Any) -> LocalVoice:
    """A judge from a model of its own: a name or folder that `load_policy` takes. settings: of `LocalVoice`."""
    from guerdon.chat import Chat
    from guerdon.models.load import load_policy
    from guerdon.samplers.local import LocalSampler

    policy = load_policy(model)
    sampler = LocalSampler(policy.module, policy.tokenizer)
    return LocalVoice(sampler, Chat(policy.tokenizer), stop_tokens=policy.stop_tokens, **settings)


def _starts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and other[: len(one)] == one


def _branches(ids: Mapping[str, tuple[int, ...]]) -> dict[tuple[int, ...], set[int]]:
    """The ids that may follow each start of a label: one look at the model for each."""
    found: dict[tuple[int, ...], set[int]] = {}
    for tokens in ids.values():
        for at, token in enumerate(tokens):
            found.setdefault(tokens[:at], set()).add(token)
    return found
