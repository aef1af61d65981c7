import pytest

from guerdon.judges.local import LocalVoice
from guerdon.judges.server import ServerVoice
from guerdon.rewards.base import Reward
from guerdon.rewards.judge_spec import list_judge_rewards, load_judge_reward
from guerdon.rewards.judged import JudgeCompare, JudgeRubric, JudgeScore

HOST = "server=http://localhost:8000/v1&model=big"


def test_a_rubric_on_a_server_with_a_budget(monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_KEY", "sk-1")
    reward = load_judge_reward(
        f"judge:rubric?{HOST}&key_env=SOME_KEY&max_cost=5&price_in=0.5&price_out=1.5&per_minute=60&timeout=20"
        f"&cache={tmp_path}&temperature=none&max_failures=0.2&window=20&rubric=criteria",
        weight=0.5,
    )
    assert isinstance(reward, JudgeRubric)
    assert isinstance(reward, Reward)
    assert (reward.weight, reward.rubric, reward.name) == (0.5, "criteria", "judge_rubric")
    voice = reward.voice
    assert isinstance(voice, ServerVoice)
    assert (voice.server, voice.model, voice.key_env) == ("http://localhost:8000/v1", "big", "SOME_KEY")
    assert (voice.limits.max_cost, voice.limits.price_in, voice.limits.price_out) == (5.0, 0.5, 1.5)
    assert (voice.per_minute, voice.timeout, voice.temperature, voice.cache.folder) == (60, 20.0, None, tmp_path)
    assert (voice.guard.max_share, voice.guard.window) == (0.2, 20)
    assert "sk-1" not in repr(reward)


def test_a_grade_by_labels_from_a_role_of_the_run():
    reward = load_judge_reward(
        "judge:score?role=policy&low=1&high=5&by=labels&guide=wit %26 brevity&worth=no_answer=none"
    )
    assert isinstance(reward, JudgeScore)
    assert isinstance(reward.voice, LocalVoice)
    assert (reward.voice.role, reward.low, reward.high, reward.by_labels) == ("policy", 1, 5, True)
    assert reward.guide == "wit & brevity"
    assert (reward.worth.no_answer, reward.worth.failed, reward.worth.timed_out) == (None, None, None)


def test_a_comparison_by_a_model_that_is_loaded():
    reward = load_judge_reward(
        "judge:compare?model=tiny&votes=2&temperature=0.7&against=answer&max_new_tokens=5&window=3"
    )
    assert isinstance(reward, JudgeCompare)
    assert reward.voice.sampler is not None
    assert (reward.votes, reward.against, reward.voice.max_new_tokens) == (2, "answer", 5)
    assert (reward.voice.guard.window, reward.voice.guard.least) == (3, 3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("judge:rubrik?role=policy", "did you mean 'judge:rubric'"),
        ("judge?role=policy", "there is no judge reward 'judge'"),
        ("judge:score", "give model=NAME"),
        ("judge:score?server=http://localhost/v1", "add model=NAME"),
        ("judge:score?role=policy&model=tiny", "expected one of them"),
        (f"judge:score?{HOST}&key=sk-secret", "no option 'key'; did you mean 'key_env'"),
        (f"judge:rubric?{HOST}&maxcost=5", "no option 'maxcost'; did you mean 'max_cost'"),
        ("judge:rubric?role=policy&votes=3", "no option 'votes'"),
        ("judge:score?role=policy&max_cost=5", "no option 'max_cost'"),
        ("judge:score?role=policy&votes=many", "votes is 'many'; expected a whole number"),
        ("judge:score?role=policy&low=nan", "low is 'nan'; expected a finite number"),
        ("judge:score?role=policy&by=feeling", "by is 'feeling'; expected words or labels"),
        ("judge:score?role=policy&low=9&high=1", "the scale is 9.0 to 1.0"),
        ("judge:score?role=policy&votes", "found the option 'votes' without a value"),
        ("judge:score?role=policy&votes=1&votes=2", "'votes' is given twice"),
        ("judge:score?role=policy&worth=fialed=0", "did you mean 'failed'"),
        (f"judge:score?{HOST}&max_cost=5", "price_in and price_out"),
        (f"judge:score?{HOST}&key_env=NO_SUCH_VARIABLE_HERE", "export NO_SUCH_VARIABLE_HERE"),
        ("judge:score?server=localhost:8000&model=m", "such as http://localhost:8000/v1"),
        ("judge:compare?role=policy&votes=3", "all alike at temperature 0"),
        (f"judge:score?{HOST}&by=labels", "'1' is the start of '10'"),
        (f"judge:score?{HOST}&max_failures=2", "the share of failures"),
        (f"judge:score?{HOST}&model=", "is given twice"),
    ],
)
def test_what_is_wrong_with_a_spec(spec, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as raised:
        load_judge_reward(spec)
    assert "sk-secret" not in str(raised.value)


def test_they_are_listed():
    listed = list_judge_rewards()
    assert set(listed) == {"judge:score?model=NAME", "judge:rubric?model=NAME", "judge:compare?model=NAME"}
    assert listed["judge:rubric?model=NAME"].startswith("The share, by weight, of the task's criteria")
