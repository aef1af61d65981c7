import asyncio

from guerdon.rewards.judge import Judge
from guerdon.rollouts.base import Context
from guerdon.samplers.base import Sample, Sampling
from guerdon.types import Span
from tests.replies import group


class Says:
    """A sampler that says these words, one for each seed."""

    version = 0

    def __init__(self, *words):
        self.words, self.seen = words, []

    async def sample(self, prompt, how, seeds):
        self.seen.append((tuple(prompt), how, tuple(seeds)))
        return [self._sample(word) for word, _ in zip(self.words, seeds, strict=True)]

    def _sample(self, word):
        return Sample([Span([5], [-1.0], message={"role": "assistant", "content": word})], "stop", word)

    def load(self, weights, version):
        pass


class Ids:
    def prompt(self, prompt):
        return [len(prompt)]


def judged(sampler, replies=("abc", "abcd"), check=None):
    read = {"good": 1.0, "bad": 0.0}
    judge = Judge(lambda e: e.reply, lambda e: read.get(e.reply), check, votes=len(sampler.words), role="judge")
    context = Context({"judge": sampler}, Ids(), Sampling(max_tokens=99), 2, 3)
    return asyncio.run(judge(group(replies), context))


def test_the_mean_of_the_votes_that_can_be_read():
    sampler = Says("good", "bad", "hm", "good")
    scores = judged(sampler)
    assert [score.value for score in scores] == [2 / 3, 2 / 3]
    assert scores[0].parts == {"votes": 3.0}
    assert [prompt for prompt, _, _ in sampler.seen] == [(3,), (4,)]
    assert sampler.seen[0][1].max_tokens == 16
    assert not set(sampler.seen[0][2]) & set(sampler.seen[1][2])


def test_no_readable_vote_is_no_score():
    score = judged(Says("hm", "so"))[0]
    assert score.value is None
    assert score.verdict.status == "cannot_tell"
    assert "none of 2 votes" in score.verdict.reason


def test_its_own_episodes_come_with_what_they_earned():
    def check(about, value):
        return None if value is None else float(value == (about.reply == "abc"))

    scores = judged(Says("good", "hm", "bad"), check=check)
    assert [[e.scores["check"].value for e in score.episodes] for score in scores] == [[1.0, 0.0], [0.0, 1.0]]
    assert {e.role for score in scores for e in score.episodes} == {"judge"}
