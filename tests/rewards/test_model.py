"""Saved reward models as rewards: the same score as in training, alone and as an ensemble, of replies and of steps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
import pytest
import torch
import transformers

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.data.episodes import dialogue, written
from guerdon.engines.local import LocalEngine
from guerdon.evaluation.pairs import by_head
from guerdon.likelihoods.scores import Scores
from guerdon.method import Heads
from guerdon.models.load import Policy, load_policy
from guerdon.models.reward import load_reward_model, save, with_heads
from guerdon.rewards.load import load_reward, load_rewards
from guerdon.rewards.model import ModelReward
from guerdon.rewards.rehearsal import rehearse, sample_group
from guerdon.rewards.scorer import load_scorer
from guerdon.rollouts.base import Context
from guerdon.rollouts.single import episode_of
from guerdon.samplers.base import Sample, Sampling
from guerdon.tasks.builtin import arithmetic
from guerdon.types import Episode, Span, Task
from tests.models.small import model, tokenizer

HEADS = Heads(("score", "other"))
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[Path]:
    """Two reward models on the tiny policy, of other heads."""
    found = []
    for seed in (0, 1):
        folder = tmp_path_factory.mktemp("rm") / f"rm{seed}"
        save(with_heads(load_policy("tiny"), HEADS, seed), HEADS, folder)
        found.append(folder)
    return found


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat(load_policy("tiny").tokenizer)


def said(chat: Chat, prompt, reply: str) -> Episode:
    """An episode as the policy samples it, its own end token included."""
    ids = np.append(chat.encode(reply), chat.end)
    span = Span(ids, np.full(len(ids), -1.0), message={"role": "assistant", "content": reply})
    return episode_of(Task("t", prompt), Span(chat.prompt(prompt)), Sample([span], "stop", reply))


def scored(reward, group, chat):
    return asyncio.run(reward(group, Context({}, chat, Sampling(max_tokens=4), 1, 0)))


def test_the_score_is_that_of_training_and_of_plain_transformers(folders, chat):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    replies = ["19", "190", "", "1"]
    group = [said(chat, "12+7=", reply) for reply in replies]
    found = [score.value for score in scored(ModelReward(str(folders[0]), head="other"), group, chat)]
    loaded = load_reward_model(str(folders[0]))
    trained = [[written("t", dialogue("12+7=", reply, chat), chat)] for reply in replies]
    engine = LocalEngine(loaded.module, Scores(HEADS), None)
    assert found == pytest.approx(by_head(engine, "other")(collate(trained)).tolist(), abs=1e-4)
    plain = AutoModelForSequenceClassification.from_pretrained(folders[0]).eval()
    words = AutoTokenizer.from_pretrained(folders[0])
    ids = words([f"12+7={reply}{words.eos_token}" for reply in replies], padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = plain(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]).logits
    assert found == pytest.approx(logits[:, 1].tolist(), abs=1e-4)


def test_a_score_is_the_same_in_any_company(folders, chat):
    scorer = load_scorer(str(folders[0]))
    texts = [dialogue("12+7=", reply, chat) for reply in ("19", "190", "", "12+7=19")] + [dialogue("3=", "1", chat)]
    together = scorer.score(texts)
    assert together == pytest.approx([scorer.score([one])[0] for one in texts], abs=1e-4)
    assert replace(scorer, tokens=8).score(texts) == pytest.approx(together, abs=1e-4)
    assert scorer.score([]) == []


def test_an_ensemble_is_its_mean_its_least_or_its_mean_less_its_deviation(folders, chat):
    path = "+".join(map(str, folders))
    group = [said(chat, "12+7=", reply) for reply in ("19", "20")]
    single = [[s.value for s in scored(ModelReward(str(one)), group, chat)] for one in folders]
    for how, expected in (
        ({}, fmean),
        ({"how": "min"}, min),
        ({"penalty": 0.5}, lambda two: fmean(two) - 0.5 * pstdev(two)),
    ):
        found = scored(ModelReward(path, **how), group, chat)
        assert [s.value for s in found] == pytest.approx([expected(two) for two in zip(*single, strict=True)], abs=1e-4)
        assert found[0].parts["member/2"] == pytest.approx(single[1][0], abs=1e-4)


def test_steps_are_scored_at_their_ends_and_aggregated(folders, chat):
    scorer = load_scorer(str(folders[0]))
    (steps,) = scorer.score_steps("1+2+3=", [["1+2=3", "3+3=6"]], separator=";")
    assert len(steps) == 2
    whole = scorer.score([dialogue("1+2+3=", "1+2=3;3+3=6", chat)])[0]
    assert steps[-1] == pytest.approx(1 / (1 + np.exp(-whole)), abs=1e-5), "the last step ends where the reply ends"
    first = scorer.score_steps("1+2+3=", [["1+2=3", "9+9=9"]], separator=";")[0]
    assert first[0] == pytest.approx(steps[0], abs=1e-5), "what comes after a step is not seen"
    group = [said(chat, "1+2+3=", "1+2=3;3+3=6"), said(chat, "1+2+3=", "6")]
    found = scored(ModelReward(str(folders[0]), aggregate="min", separator=";"), group, chat)
    assert found[0].value == pytest.approx(min(steps), abs=1e-5)
    assert [found[0].parts[f"step/{i}"] for i in (1, 2)] == pytest.approx(steps, abs=1e-5)
    assert len(found[1].parts) == 1


def test_each_step_lands_on_the_token_that_ends_it(folders, chat):
    reward = ModelReward(str(folders[0]), aggregate="each", separator=";")
    group = [said(chat, "1+2+3=", "1+2=3;3+3=6"), said(chat, "1+2+3=", "")]
    found = scored(reward, group, chat)
    values = found[0].tokens[1]
    assert [chat.decode_all([i]) for i in group[0].spans[1].tokens[values != 0]] == ["3", "6"]
    assert found[0].total() == pytest.approx(sum(values))
    assert found[1].tokens[1].shape == (1,)
    assert reward.needs_context
    assert not ModelReward(str(folders[0])).needs_context


def test_it_is_written_out_by_its_own_template_and_tokenizer(tmp_path, chat):
    """The policy speaks plainly; the model reads turns, of words of its own, and one end token of the reply."""
    words = tokenizer()
    words.chat_template = TEMPLATE
    save(with_heads(Policy(model("llama"), words, "", ""), Heads()), Heads(), tmp_path)
    scorer = load_scorer(str(tmp_path))
    messages = [{"role": "user", "content": "1+2="}, {"role": "assistant", "content": "3"}]
    ids = scorer.ids(messages)
    assert ids[-1] == scorer.chat.end
    rendered = scorer.chat.encode(scorer.chat.render(messages))
    assert ids.tolist() == rendered[: len(ids)].tolist()
    assert len(rendered) == len(ids) + 1, "the line break after the end of the turn is not read"
    learned = written("t", messages, scorer.chat)
    assert ids.tolist() == [int(i) for span in learned.spans[:2] for i in span.tokens]
    found = scored(ModelReward(str(tmp_path)), [said(chat, "1+2=", "3")], chat)
    assert found[0].value == pytest.approx(scorer.score([messages])[0], abs=1e-6)


def test_prompts_may_be_messages_or_ids_and_a_reply_that_is_too_long_fails_alone(folders, chat):
    reward = ModelReward(str(folders[0]))
    plain = scored(reward, [said(chat, "12+7=", "19")], chat)[0].value
    for prompt in ([{"role": "user", "content": "12+7="}], chat.encode("12+7=")):
        assert scored(reward, [said(chat, prompt, "19")], chat)[0].value == pytest.approx(plain, abs=1e-5)
    limit = reward.scorers[0].model.module.config.max_position_embeddings
    found = scored(reward, [said(chat, "12+7=", "19"), said(chat, "12+7=", "1" * limit)], chat)
    assert found[0].value == pytest.approx(plain, abs=1e-5)
    assert found[1].value is None
    assert found[1].verdict.status == "failed"
    assert str(limit) in found[1].verdict.reason


def test_it_is_named_in_one_line_and_rehearsed(folders):
    text = f"0*numeric,0.5*model:{folders[0]}+{folders[1]}?head=other&how=min&dtype=float32"
    numeric, reward = load_rewards(text)
    assert numeric.name == "numeric"
    assert (reward.weight, reward.head, reward.how, reward.name) == (0.5, "other", "min", "model:rm0:other")
    assert len(reward.scorers) == 2
    assert load_reward(f"model:{folders[0]}?name=judge").name == "judge"
    rehearse([reward], arithmetic(1))
    assert all(s.applies for s in asyncio.run(reward(sample_group(arithmetic(1).train.task(0)), None)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("?head=sore", "no head 'sore'.*score"),
        ("?hed=score", "no option 'hed'.*head"),
        ("?how=most", "one of mean, min"),
        ("?how=min&penalty=1", "penalty"),
        ("?penalty=-1", "penalty"),
        ("?aggregate=sum", "aggregate"),
    ],
)
def test_what_is_wrong_with_the_line_is_said(folders, options, message):
    with pytest.raises(ValueError, match=message):
        load_reward(f"model:{folders[0]}{options}")


def test_a_path_without_a_reward_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_reward(f"model:{tmp_path / 'nowhere'}")
    with pytest.raises(ValueError, match="is no reward model"):
        load_reward("model:tiny")
    with pytest.raises(ValueError, match="joined by"):
        load_reward("model:")
    (tmp_path / "notes.txt").write_text("no model here")
    with pytest.raises(FileNotFoundError, match=r"no model in .*it holds no config\.json"):
        load_reward(f"model:{tmp_path}")


def test_a_name_that_the_hub_does_not_know_is_said_to_be_missing(monkeypatch):
    def refuse(name, **_):
        raise OSError(f"{name} is not a valid model identifier.\nLog in, perhaps.")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(FileNotFoundError) as raised:
        load_reward("model:nowhere")
    said = str(raised.value)
    assert "no reward model 'nowhere': no folder of that name here" in said
    assert "hub: nowhere is not a valid model identifier. Check the name" in said
    assert "--model nowhere" not in said
