"""The shipped policy: small, readable, and neither hopeless nor finished at its own tasks."""

from __future__ import annotations

import string
from collections import defaultdict

import torch

from guerdon.chat import Chat
from guerdon.models import tiny
from guerdon.models.load import load_policy
from guerdon.tasks.base import each
from guerdon.tasks.builtin import arithmetic


def test_it_ships_under_five_megabytes_with_its_card() -> None:
    assert sum(file.stat().st_size for file in tiny.FOLDER.iterdir()) < 5e6
    assert "Held-out problems" in (tiny.FOLDER / "README.md").read_text()


def test_it_reads_and_writes_printable_text() -> None:
    policy = load_policy("tiny")
    chat = Chat(policy.tokenizer)
    text = "12+7=" + string.ascii_letters + string.punctuation + " \n  x"
    ids = chat.prompt(text)
    assert len(ids) == len(text)
    assert chat.decode(ids) == text
    assert policy.tokenizer.unk_token_id not in ids
    assert policy.stop_tokens == (chat.end,)
    assert policy.tokenizer.pad_token_id != chat.end


def test_it_can_add_but_is_unsure() -> None:
    """Sampled at temperature 1 on held-out sums: right about three times in ten; greedily far more often."""
    sampled, greedy = right_share(greedy=False), right_share(greedy=True)
    assert 0.2 < sampled < 0.45
    assert greedy > 2 * sampled


@torch.no_grad()
def right_share(greedy: bool) -> float:
    policy = load_policy("tiny")
    chat = Chat(policy.tokenizer)
    torch.manual_seed(0)
    alike = defaultdict(list)
    for task in each(arithmetic(1).heldout):
        alike[len(task.prompt)].append(task)
    right = total = 0
    for tasks in alike.values():
        ids = torch.stack([torch.tensor(chat.prompt(task.prompt)) for task in tasks])
        reply = policy.module.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=not greedy, top_k=0
        )
        for task, row in zip(tasks, reply[:, ids.shape[1] :], strict=True):
            right += chat.decode(row) == task.data["answer"]
        total += len(tasks)
    return right / total
