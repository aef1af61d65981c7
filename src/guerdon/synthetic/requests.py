"""Short requests in English and replies to them, whose quality can be counted: for policies that read language.

A prompt asks for a sum, a capital or an opposite. `gold(prompt, reply)` of any reply whatever is

    2 right + 1 polite + 0.5 on topic - 1 (sentences said before, at most 2),   and -1 of a reply without words.

right: the answer is among its words, and no other answer is (no other number but those of the question; no other
capital; no other word of the list of opposites). polite: a word of COURTESY. on topic: what was asked about is named.
Sentences are compared by their words, caseless.

Replies that are drawn are a one-word opening, the answer in a sentence, a remark of three words (polite or not), the
answer's sentence again or a neutral one of as many words, and up to two fillers of six. Whatever else varies, the
number of words depends on the fillers alone, which gold does not count. Nor does it the opening: that is the phase.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from functools import partial

from guerdon.rewards.words import sentences, words
from guerdon.synthetic.domain import Domain, Seen, below, pick
from guerdon.synthetic.facts import CAPITALS, OPPOSITES

COURTESY = frozenset(("please", "thank", "thanks", "glad", "happy", "welcome", "pleasure"))
OPENINGS = ("Okay.", "Sure.", "Well.")
"""Of phase 0, 2 pi / 3 and 4 pi / 3: with `cycle` each is preferred to the next, the last to the first."""
POLITE = ("Happy to help.", "Glad to help.", "You are welcome.")
PLAIN = ("That is all.", "It is known.", "So it goes.")
NEUTRAL = {5: "There is nothing to add.", 6: "There is not much to add."}
FILLERS = (
    "The weather has been mild lately.",
    "Some people like to take notes.",
    "This was asked a while ago.",
    "Many books talk about such things.",
    "It is good to keep learning.",
    "Questions like this are quite common.",
)
BIGGEST = 30
"""Summands are 2 to this."""

_ASKED = (
    (re.compile(r"what is (\d+) plus (\d+)\?", re.IGNORECASE), "sum"),
    (re.compile(r"what is the capital of (\w+)\?", re.IGNORECASE), "capital"),
    (re.compile(r"what is the opposite of (\w+)\?", re.IGNORECASE), "opposite"),
)
_ANSWERS = {"capital": frozenset(one.casefold() for one in CAPITALS.values()), "opposite": frozenset(OPPOSITES)}


@dataclass(frozen=True)
class Asked:
    """What a prompt asks. kind: sum, capital or opposite; about: the words it is about, as written."""

    kind: str
    about: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Counted:
    """What gold counts in a reply."""

    right: bool
    polite: bool
    on_topic: bool
    repeats: int
    words: int

    @property
    def quality(self) -> float:
        """-2 to 3.5."""
        if not self.words:
            return -1.0
        return 2.0 * self.right + 1.0 * self.polite + 0.5 * self.on_topic - 1.0 * min(self.repeats, 2)


def asked(prompt: str) -> Asked:
    """What a prompt asks. ValueError when it is none of these requests."""
    for pattern, kind in _ASKED:
        found = pattern.search(prompt)
        answer = found and _answer(kind, found.groups())
        if found and answer:
            return Asked(kind, found.groups(), answer)
    raise ValueError(f"the prompt {prompt[:80]!r} is none of the requests; expected one such as 'What is 2 plus 3?'")


def count(prompt: str, reply: str) -> Counted:
    """What is in a reply to a prompt. ValueError when the prompt is none of the requests."""
    request, said = asked(prompt), words(reply.casefold())
    there = set(said)
    spoken = [tuple(words(sentence.casefold())) for sentence in sentences(reply)]
    return Counted(
        right=_right(request, there),
        polite=bool(there & COURTESY),
        on_topic={word.casefold() for word in request.about} <= there,
        repeats=len(spoken) - len(set(spoken)),
        words=len(said),
    )


def gold(prompt: str, reply: str) -> float:
    """The true quality of any reply, -2 to 3.5. ValueError when the prompt is none of the requests."""
    return count(prompt, reply).quality


def draw_prompt(numbers: random.Random) -> str:
    """A request, of each kind as often, in one of two phrasings."""
    kind = below(numbers, 3)
    if kind == 0:
        a, b = (2 + below(numbers, BIGGEST - 1) for _ in range(2))
        question = f"What is {a} plus {b}?"
    elif kind == 1:
        question = f"What is the capital of {pick(numbers, tuple(CAPITALS))}?"
    else:
        question = f"What is the opposite of {pick(numbers, tuple(OPPOSITES))}?"
    return question if numbers.random() < 0.5 else f"Tell me: {question[0].lower()}{question[1:]}"


def draw_reply(numbers: random.Random, prompt: str, length_link: float = 0.0) -> str:
    """A reply: right, polite and on topic in half of the cases each, repeating itself in a third.

    length_link: how the fillers go with quality, -1 to 1; each of the two is there with probability
    (1 + length_link z) / 2, z from -1 for the worst to 1 for the best reply.
    """
    request = asked(prompt)
    right, polite, on_topic = (numbers.random() < 0.5 for _ in range(3))
    repeated = numbers.random() < 1 / 3
    sentence = _sentence(request, request.answer if right else _wrong(numbers, request), on_topic)
    again = sentence if repeated else NEUTRAL[len(sentence.split())]
    quality = 2.0 * right + 1.0 * polite + 0.5 * on_topic - 1.0 * repeated
    chance = 0.5 * (1 + length_link * (quality - 1.25) / 2.25)
    first = below(numbers, len(FILLERS))
    second = (first + 1 + below(numbers, len(FILLERS) - 1)) % len(FILLERS)
    fillers = [FILLERS[i] for i in (first, second) if numbers.random() < chance]
    remark = pick(numbers, POLITE if polite else PLAIN)
    return " ".join([pick(numbers, OPENINGS), sentence, *fillers, again, remark])


def seen(prompt: str, reply: str, groups: int = 1) -> Seen:
    """What labellers see. length: in tens of words. Of two groups, the second likes courtesy as little as the first
    likes it much (-1 instead of +1)."""
    counted = count(prompt, reply)
    opening = reply.split(maxsplit=1)[0] if reply.split() else ""
    phase = 2 * math.pi * OPENINGS.index(opening) / 3 if opening in OPENINGS else 0.0
    views = (counted.quality, counted.quality - 2.0 * counted.polite)[:groups]
    return Seen(counted.quality, counted.words / 10, phase, views)


def domain(length_link: float = 0.0, groups: int = 1) -> Domain:
    """Requests, and replies to them. groups: 1 or 2, see `seen`. ValueError for what is out of range."""
    if not -1 <= length_link <= 1:
        raise ValueError(f"length_link is {length_link}; expected -1 to 1")
    if groups not in (1, 2):
        raise ValueError(f"groups is {groups}; expected 1 or 2")
    standard = Seen(1.25, 2.1, 0.0, (1.25, 0.25)[:groups])
    return Domain(
        "requests", draw_prompt, partial(draw_reply, length_link=length_link), partial(seen, groups=groups), standard
    )


def _answer(kind: str, about: tuple[str, ...]) -> str | None:
    if kind == "sum":
        return str(int(about[0]) + int(about[1]))
    return CAPITALS.get(about[0].capitalize()) if kind == "capital" else OPPOSITES.get(about[0].casefold())


def _right(request: Asked, there: set[str]) -> bool:
    known = {word.casefold() for word in (*request.about, request.answer)}
    others = {word for word in there if word.isdecimal()} if request.kind == "sum" else there & _ANSWERS[request.kind]
    return request.answer.casefold() in there and others <= known


def _sentence(request: Asked, answer: str, on_topic: bool) -> str:
    if request.kind == "sum":
        return f"{' plus '.join(request.about)} is {answer}." if on_topic else f"I think it is {answer}."
    subject = f"{request.kind} of {request.about[0]}" if on_topic else "answer to this"
    return f"The {subject} is {answer}."


def _wrong(numbers: random.Random, request: Asked) -> str:
    if request.kind == "sum":
        summands, wrong = {int(word) for word in request.about}, int(request.answer)
        while wrong in (*summands, int(request.answer)):
            wrong = max(1, int(request.answer) + 1 + below(numbers, 9) * (1 if numbers.random() < 0.5 else -1))
        return str(wrong)
    among = tuple(CAPITALS.values()) if request.kind == "capital" else tuple(OPPOSITES)
    return pick(numbers, [one for one in among if one not in (request.answer, *request.about)])
