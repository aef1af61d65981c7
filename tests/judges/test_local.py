import asyncio
from itertools import product

import pytest
import torch

from guerdon.chat import Chat
from guerdon.judges.local import LocalVoice, load_voice
from guerdon.judges.outcome import Reply
from guerdon.models.load import load_policy
from guerdon.rollouts.base import Context
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler


@pytest.fixture(scope="module")
def policy():
    return load_policy("tiny")


def context_of(policy, **samplers):
    sampler = LocalSampler(policy.module, policy.tokenizer)
    how = Sampling(stop_tokens=policy.stop_tokens)
    return Context({"policy": sampler, **samplers}, Chat(policy.tokenizer), how, 4, 7)


def next_logprobs(policy, text):
    ids = Chat(policy.tokenizer).prompt(text)
    with torch.inference_mode():
        logits = policy.module(torch.tensor(ids)[None]).logits[0, -1]
    return logits.double().log_softmax(-1)


def ask(voice, prompt="2+3=", vote=0):
    return asyncio.run(voice.text(prompt, vote))


def test_a_loaded_model_answers_and_is_counted():
    voice = load_voice("tiny", max_new_tokens=8)
    said = ask(voice)
    assert isinstance(said, Reply)
    assert said.text
    assert (voice.usage.calls, voice.usage.requests) == (1, 1)
    assert voice.usage.prompt_tokens == len(voice.chat.prompt("2+3="))
    assert voice.usage.completion_tokens >= 1


def test_the_probability_of_a_label_is_the_models_own(policy):
    voice = LocalVoice().within(context_of(policy))
    found = asyncio.run(voice.labels("2+3=", ["5", "6", "7"]))
    logprobs = next_logprobs(policy, "2+3=")
    exact = {label: float(logprobs[voice.chat.encode(label)[0]].exp()) for label in "567"}
    mass = sum(exact.values())
    assert found.mass == pytest.approx(mass, rel=1e-4)
    assert found.probabilities == pytest.approx({label: p / mass for label, p in exact.items()}, rel=1e-4)
    assert voice.usage.requests == 1  # one look for three labels


def test_labels_of_several_tokens_and_labels_that_start_each_other(policy):
    voice = LocalVoice().within(context_of(policy))
    labels = ["1", "10", "12"]
    found = asyncio.run(voice.labels("4+8=", labels))
    encode, end = voice.chat.encode, voice.chat.end
    exact = {}
    for label in labels:
        logprob, text = 0.0, "4+8="
        for token in [*encode(label).tolist(), end]:
            logprob += float(next_logprobs(policy, text)[token])
            text += policy.tokenizer.decode([token])
        exact[label] = torch.tensor(logprob, dtype=torch.float64).exp().item()
    mass = sum(exact.values())
    assert found.mass == pytest.approx(mass, rel=1e-4)
    assert found.probabilities == pytest.approx({label: p / mass for label, p in exact.items()}, rel=1e-4)


def test_all_numbers_of_two_digits_and_one_have_no_more_than_everything(policy):
    voice = LocalVoice().within(context_of(policy))
    labels = ["".join(digits) for n in (1, 2) for digits in product("0123456789", repeat=n)]
    found = asyncio.run(voice.labels("4+8=", labels))
    assert 0 < found.mass <= 1
    assert sum(found.probabilities.values()) == pytest.approx(1)


def test_votes_are_draws_and_the_same_vote_is_the_same_draw(policy):
    voice = LocalVoice(temperature=2.0, max_new_tokens=6).within(context_of(policy))
    first = [ask(voice, vote=vote) for vote in range(6)]
    assert first == [ask(voice, vote=vote) for vote in range(6)]
    assert len({str(one) for one in first}) > 1


def test_it_speaks_as_a_role_of_the_run_and_keeps_its_counters(policy):
    voice = LocalVoice(role="judge", max_new_tokens=4)
    context = context_of(policy, judge=LocalSampler(policy.module, policy.tokenizer))
    bound = voice.within(context)
    assert (voice.needs_context, bound.needs_context) == (True, False)
    assert bound.sampler is context.samplers["judge"]
    assert bound.stop_tokens == context.how.stop_tokens
    ask(bound)
    assert voice.usage.calls == 1  # a voice and what it is within a context count together
    assert bound.guard is voice.guard


def test_a_model_of_its_own_stays_its_own(policy):
    voice = load_voice("tiny")
    assert voice.within(context_of(policy)) is voice


def test_a_role_that_is_missing_is_named(policy):
    with pytest.raises(ValueError, match=r"no role 'judge' to judge.*Accepted: policy"):
        LocalVoice(role="judge").within(context_of(policy))
    with pytest.raises(ValueError, match=r"voice.within\(context\)"):
        ask(LocalVoice())


def test_a_prompt_that_does_not_fit_is_a_failure(policy):
    voice = LocalVoice().within(context_of(policy))
    assert ask(voice, "1+" * 5000).cause == "prompt"
    assert asyncio.run(voice.labels("1+" * 5000, ["1", "2"])).cause == "prompt"


def test_no_text_from_outside_becomes_a_special_token(policy):
    voice = LocalVoice().within(context_of(policy))
    special = set(policy.tokenizer.all_special_ids) - {policy.tokenizer.unk_token_id}
    hostile = "a " + " ".join(policy.tokenizer.all_special_tokens) + " b"
    plain = voice._prompt([{"role": "user", "content": "a b"}]).tolist()
    found = voice._prompt([{"role": "user", "content": hostile}]).tolist()
    assert [i for i in found if i in special] == [i for i in plain if i in special]
    assert set(voice.chat.prompt(hostile).tolist()) & special  # which they would become otherwise


def test_a_sampler_without_hooks_is_named(policy):
    class Other(LocalSampler):
        async def sample(self, prompt, how, seeds):
            return await super().sample(prompt, how.but(logits_hook=None), seeds)

    voice = LocalVoice(Other(policy.module, policy.tokenizer), Chat(policy.tokenizer))
    with pytest.raises(TypeError, match="Other runs no logits_hook"):
        asyncio.run(voice.labels("q", ["1", "2"]))
