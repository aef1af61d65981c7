"""A saved reward model that scores what is put to it: conversations, or the steps of a reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from guerdon.advantages.segments import paths
from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.data.steps import SEPARATOR, in_steps
from guerdon.engines.local import LocalEngine
from guerdon.likelihoods.scores import Scores
from guerdon.losses.reward_model import at_last
from guerdon.method import Heads
from guerdon.models.load import Policy, resolve
from guerdon.models.reward import load_reward_model, names_of
from guerdon.names import nearest
from guerdon.types import Episode, IntArray, Message, Span, Task


class TooLong(ValueError):
    """A conversation has more tokens than the reward model can read."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """model: as `load_reward_model` gives it. tokens: padded tokens that go through it at once."""

    model: Policy
    tokens: int = 4096

    @property
    def heads(self) -> tuple[str, ...]:
        return names_of(self.model.module)

    @cached_property
    def chat(self) -> Chat:
        """How the model was taught to read: by its own tokenizer and template, not by those of whom it scores."""
        return Chat(self.model.tokenizer)

    @cached_property
    def _engine(self) -> LocalEngine:
        module = self.model.module.requires_grad_(False).eval()
        return LocalEngine(module, Scores(Heads(self.heads)), None, self.tokens)

    def score(self, conversations: Sequence[Sequence[Message]], head: str = "score") -> list[float]:
        """The score of each conversation, which ends with the reply that is scored: at its end token, in any range.

        ValueError for an unknown head; TooLong.
        """
        self.check(head)
        if not conversations:
            return []
        batch = collate([_episodes([self.ids(messages) for messages in conversations])])
        scores = self._engine.forward(batch, (head,))[head]
        return at_last(paths(batch).sequences, scores, batch.mask).tolist()  # type: ignore[no-any-return]

    def score_steps(
        self, prompt: Any, replies: Sequence[Sequence[str]], head: str = "score", separator: str = SEPARATOR
    ) -> list[list[float]]:
        """The probability that each step of each reply to a prompt is right, sigmoid(score) at the step's last token.

        Steps are given without the separator. ValueError for an unknown head or a reply without steps; TooLong.
        """
        self.check(head)
        group = [in_steps("", prompt, steps, self.chat, separator=separator) for steps in replies]
        if not group:
            return []
        for episode in group:
            self._fits(sum(len(span.tokens) for span in episode.spans))
        batch = collate([group])
        found = torch.sigmoid(self._engine.forward(batch, (head,))[head][batch.mask])
        return [part.tolist() for part in torch.split(found, [len(steps) for steps in replies])]

    def ids(self, messages: Sequence[Message]) -> IntArray:
        """[n] the ids of a conversation up to the token that ends its last reply, which is there once. TooLong."""
        ids = self._whole(list(messages))
        self._fits(len(ids))
        return ids

    def check(self, head: str) -> None:
        if head not in self.heads:
            raise ValueError(f"{self.model.name} has no head {head!r}{nearest(head, self.heads)}")

    def _whole(self, messages: list[Message]) -> IntArray:
        chat = self.chat
        if not chat.templated:
            return chat.conversation(messages, last=True)[0]
        ids = chat.encode(chat.render(messages))
        if chat.turn_end is None:
            return np.append(ids, chat.end)
        # A template may write a line break after the end of a turn; the score is read at the end itself.
        return ids[: int(np.flatnonzero(ids == chat.turn_end)[-1]) + 1]

    def _fits(self, length: int) -> None:
        limit = getattr(self.model.module.config, "max_position_embeddings", None)
        if limit is not None and length > limit:
            raise TooLong(f"{length} tokens are more than the {limit} that {self.model.name} can read")


def load_scorer(path: str, device: str | None = None, dtype: str = "float32") -> Scorer:
    """A reward model by its folder, its run's folder or its hub name; device: None is the GPU where there is one.

    FileNotFoundError where there is no model at all, ValueError where there is one of another kind.
    """
    _check_found(path)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return Scorer(load_reward_model(path, dtype=dtype, device=where))


TRAIN = "guerdon train bradley_terry --data pairs.jsonl --out runs/judge"
"""How one comes by a reward model."""


def _check_found(path: str) -> None:
    source = resolve(path)
    if isinstance(source, Path):
        if source.is_dir() and not any((source / name).is_file() for name in ("config.json", "run.json")):
            raise FileNotFoundError(f"there is no model in {path}: it holds no config.json. To train one: {TRAIN}")
        return
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(source)
    except OSError as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise FileNotFoundError(
            f"there is no reward model {path!r}: no folder of that name here (looked from {Path.cwd()}), and none that "
            f"could be read from the hub: {reason.rstrip('.')}. Check the name, or train one: {TRAIN}"
        ) from error


def _episodes(conversations: Sequence[IntArray]) -> list[Episode]:
    """Texts with what they have in common up front shared, and the last token alone asked about."""
    most = min(len(ids) for ids in conversations) - 1
    first = conversations[0][:most]
    alike = np.logical_and.reduce([ids[:most] == first for ids in conversations])
    shared = most if alike.all() else int(alike.argmin())
    return [_episode(ids, shared) for ids in conversations]


def _episode(ids: IntArray, shared: int) -> Episode:
    spans: list[Span] = []
    for part in (ids[:shared], ids[shared:-1]):
        if len(part):
            spans.append(Span(part, parent=len(spans) - 1))
    spans.append(Span(ids[-1:], np.zeros(1, np.float32), parent=len(spans) - 1))
    return Episode(Task("", ""), spans)
