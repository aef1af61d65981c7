"""Make the shipped tiny policy: a small character-level Llama that can add, but is far from sure of it.

Two stages of plain cross-entropy on answers to training problems of the built-in tasks. In the first every answer is
right; in the second most are spoiled, so that the skill stays while its probability falls: what is left is a policy
that reinforcement learning can sharpen in minutes on a laptop. Held-out problems are never trained on.

    python scripts/make_tiny_policy.py --seed 0 --out src/guerdon/models/tiny_policy
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy

from guerdon.tasks.base import TaskSet, each
from guerdon.tasks.builtin import arithmetic, strings

END, PAD, UNKNOWN = "<|end|>", "<|pad|>", "<|unk|>"
ALPHABET = "\n " + string.digits + string.ascii_letters + string.punctuation
RIGHT_SHARE = 0.48
"""Share of right answers in the second stage."""
BATCH = 128
STRETCH = 16 * BATCH
"""Rows drawn at once and batched by length, to waste little on padding."""


class Pool(NamedTuple):
    """A built-in set and how often a training row comes from it."""

    tasks: TaskSet
    weight: float


POOLS = [
    Pool(arithmetic(1), 0.68),
    Pool(arithmetic(2), 0.08),
    Pool(arithmetic(3), 0.04),
    *(Pool(strings(name, 3, 2), 0.05) for name in ("copy", "reverse", "sort", "double")),
]


def build_tokenizer() -> Any:
    """One token per character of printable ASCII; no begin token."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate([PAD, END, UNKNOWN, *ALPHABET])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, unk_token=UNKNOWN)


def build_model(tokenizer: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def rows(numbers: random.Random, seed: int) -> Iterator[tuple[str, str]]:
    """Endless (prompt, right answer) of training problems, pools mixed by weight, in stretches of like length."""
    weights = [pool.weight for pool in POOLS]
    for start in itertools.count(step=STRETCH):
        pools = numbers.choices(POOLS, weights, k=STRETCH)
        tasks = [pool.tasks.train.task(start + i, seed) for i, pool in enumerate(pools)]
        tasks.sort(key=lambda task: len(task.prompt) + len(task.data["answer"]))
        batches = [tasks[i : i + BATCH] for i in range(0, STRETCH, BATCH)]
        numbers.shuffle(batches)
        yield from ((task.prompt, task.data["answer"]) for batch in batches for task in batch)


def spoil(answer: str, numbers: random.Random) -> str:
    """The answer with a mistake in it: characters replaced, dropped, doubled or swapped. Never the answer itself."""
    while True:
        wrong = _spoiled(list(answer), numbers)
        if wrong and wrong != answer:
            return wrong


def _spoiled(letters: list[str], numbers: random.Random) -> str:
    at = numbers.randrange(len(letters))
    kind = numbers.choices(["one", "all", "drop", "double", "swap"], [0.5, 0.25, 0.1, 0.05, 0.1])[0]
    if kind == "one":
        letters[at] = _other(letters[at], numbers)
    elif kind == "all":
        letters = [_other(letter, numbers) for letter in letters]
    elif kind == "drop":
        del letters[at]
    elif kind == "double":
        letters.insert(at, letters[at])
    else:
        other = numbers.randrange(len(letters))
        letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters)


def _other(letter: str, numbers: random.Random) -> str:
    return numbers.choice(string.digits if letter.isdigit() or letter == "-" else string.ascii_lowercase)


def train_rows(tokenizer: Any, batch: list[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids [B, T], labels [B, T]): padded on the right; labels are -100 but on the answer and its end token."""
    ids_of = tokenizer.get_vocab()  # a token is a character, so no text needs to go through the tokenizer
    prompts = [[ids_of[letter] for letter in prompt] for prompt, _ in batch]
    answers = [[*(ids_of[letter] for letter in answer), tokenizer.eos_token_id] for _, answer in batch]
    width = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
    ids = torch.full((len(batch), width), tokenizer.pad_token_id)
    labels = torch.full((len(batch), width), -100)
    for i, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        ids[i, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[i, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    return ids, labels


def train(module: Any, tokenizer: Any, seed: int, steps: int, noisy_from: int) -> None:
    """Cross-entropy with AdamW; the rate falls along a cosine in each of the two stages."""
    numbers = random.Random(seed)
    source = rows(numbers, seed)
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.05)
    started = time.time()
    for step in range(steps):
        noisy = step >= noisy_from
        stage = (noisy_from, steps, 1e-3) if noisy else (0, noisy_from, 2e-3)
        optimiser.param_groups[0]["lr"] = _rate(step, *stage)
        examples = [next(source) for _ in range(BATCH)]
        if noisy:
            examples = [(p, a if numbers.random() < RIGHT_SHARE else spoil(a, numbers)) for p, a in examples]
        ids, labels = train_rows(tokenizer, examples)
        logits = module(input_ids=ids).logits[:, :-1]  # causal: padding on the right cannot be seen
        loss = cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0 or step == steps - 1:
            print(
                f"step {step}  loss {loss.item():.3f}  {'noisy' if noisy else 'clean'}  {time.time() - started:.0f} s"
            )
        if step == noisy_from - 1:
            print("held out, sampled / greedy:", accuracies(module, tokenizer, seed))


def _rate(step: int, start: int, stop: int, peak: float) -> float:
    warm = min(1.0, (step - start + 1) / 50)
    return peak * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (step - start) / max(1, stop - start))))


def accuracies(module: Any, tokenizer: Any, seed: int, samples: int = 4) -> dict[str, str]:
    """Per pool: share of held-out problems answered exactly, sampled at temperature 1 / greedily."""
    torch.manual_seed(seed)
    found = {}
    for pool in POOLS:
        tasks = list(each(pool.tasks.heldout))
        sampled = _share_right(module, tokenizer, tasks * samples, greedy=False)
        greedy = _share_right(module, tokenizer, tasks, greedy=True)
        found[pool.tasks.describe] = f"{sampled:.3f} / {greedy:.3f}"
    return found


@torch.no_grad()
def _share_right(module: Any, tokenizer: Any, tasks: list[Any], greedy: bool) -> float:
    right = 0
    by_length: dict[int, list[Any]] = {}
    for task in tasks:
        by_length.setdefault(len(task.prompt), []).append(task)
    for same in by_length.values():
        ids = torch.tensor([tokenizer(task.prompt)["input_ids"] for task in same])
        start = ids.shape[1]
        for _ in range(12):
            logits = module(input_ids=ids).logits[:, -1]
            pick = logits.argmax(-1) if greedy else torch.multinomial(logits.softmax(-1), 1)[:, 0]
            ids = torch.cat([ids, pick[:, None]], 1)
        for task, row in zip(same, ids[:, start:].tolist(), strict=True):
            reply = row[: row.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in row else None
            right += reply is not None and tokenizer.decode(reply) == task.data["answer"]
    return right / len(tasks)


CARD = """# The tiny policy

A {millions:.2f} M parameter Llama over characters (printable ASCII), made to learn on, not to be useful.

Made by `scripts/make_tiny_policy.py --seed {seed} --steps {steps}`: cross-entropy on answers to *training* problems of
the built-in tasks (sums of numbers, short words to copy, reverse, sort or double), {clean} steps with right answers,
then {noisy} steps in which only {right:.0%} of the answers are right and the others hold a deliberate mistake. So the
skill is there and the policy is unsure on purpose: it answers rightly far more often when decoded greedily than when
sampled, and reinforcement learning on it sharpens a skill rather than discovering one. Read gains on it accordingly.
Held-out problems (one in ten, by a hash of the prompt) were never trained on.

Share of held-out problems answered exactly, sampled at temperature 1 / greedy:

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3600)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    tokenizer = build_tokenizer()
    module = build_model(tokenizer)
    noisy_from = options.steps * 5 // 6
    train(module, tokenizer, options.seed, options.steps, noisy_from)
    found = accuracies(module.eval(), tokenizer, options.seed)
    table = "\n".join(f"- {name} {share}" for name, share in found.items())
    print(table)
    module.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    card = CARD.format(
        millions=sum(p.numel() for p in module.parameters()) / 1e6,
        seed=options.seed,
        steps=options.steps,
        clean=noisy_from,
        noisy=options.steps - noisy_from,
        right=RIGHT_SHARE,
        table=table,
    )
    (options.out / "README.md").write_text(card)
    for file in options.out.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    main()
