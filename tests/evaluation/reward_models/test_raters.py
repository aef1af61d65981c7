import math

import pytest

from guerdon.evaluation.reward_models.base import Candidates, Solution
from guerdon.evaluation.reward_models.raters import is_model, load_rater, model_rater, reward_rater
from guerdon.evaluation.reward_models.scored import scored
from guerdon.method import Heads
from guerdon.models.load import load_policy
from guerdon.models.reward import save, with_heads
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.gold import GoldSums
from guerdon.rewards.scorer import load_scorer
from guerdon.tasks.files import Numbered

ITEMS = [Candidates("1+1=", ("2", "11")), Candidates("2+3=", ("5", "6", "50"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rm") / "model"
    heads = Heads(("score", "redundancy"))
    save(with_heads(load_policy("tiny"), heads), heads, path)
    return path


def test_a_model_scores_candidates_as_it_scores_each_alone(folder):
    rater = load_rater(str(folder))
    together = rater.lists(ITEMS)
    assert [len(one) for one in together] == [2, 3]
    alone = [rater.lists([Candidates(item.prompt, (reply,))])[0][0] for item in ITEMS for reply in item.replies]
    assert [x for one in together for x in one] == pytest.approx(alone, abs=1e-4)
    assert rater.tokens(ITEMS[1]) == [1, 1, 2]
    assert len({round(x, 4) for x in alone}) == 5


def test_a_model_says_how_probable_its_steps_are_right(folder):
    rater = load_rater(str(folder))
    (found,) = rater.steps([Solution("1+1+1=", ("1+1=2", "2+1=3"))])
    assert len(found) == 2
    assert all(0 < p < 1 for p in found)
    assert rater.redundancy([Solution("1+1+1=", ("1+1=2", "2+1=3"))])[0] != found


def test_a_head_can_be_named_and_has_to_be_there(folder):
    assert load_rater(str(folder), "redundancy").lists(ITEMS) != load_rater(str(folder)).lists(ITEMS)
    with pytest.raises(ValueError, match="no head 'quality'"):
        load_rater(str(folder), "quality")
    with pytest.raises(ValueError, match="exact is a reward, which has no heads"):
        load_rater("exact", "score")


def test_what_a_model_cannot_read_gets_no_score_and_is_told(folder):
    scorer = load_scorer(str(folder))
    limit = scorer.model.module.config.max_position_embeddings
    rater = model_rater(scorer)
    found = rater.lists([ITEMS[0], Candidates("1+1=", ("2" * (limit + 1),))])
    assert found[0] == pytest.approx(model_rater(scorer).lists(ITEMS[:1])[0], abs=1e-4)
    assert math.isnan(found[1][0])
    assert len(rater.faults) == 1
    assert "tokens are more than" in str(rater.faults[0])
    assert all(map(math.isnan, rater.steps([Solution("1", ("2" * (limit + 1), "3"))])[0]))


def test_a_reward_scores_the_replies_of_a_prompt_as_one_group():
    found = reward_rater(GoldSums()).lists([Candidates("12+7=", ("19", "20"))])
    assert found[0][0] > found[0][1]


def test_the_better_reply_is_not_always_shown_first():
    async def first_wins(group, context):
        from guerdon.types import Score

        return [Score(float(i == 0)) for i, _ in enumerate(group)]

    reward = type("First", (), {"name": "first", "weight": 1.0, "__call__": staticmethod(first_wins)})()
    items = [Candidates(f"p{i}", ("better", "worse")) for i in range(60)]
    wins = sum(one[0] for one in reward_rater(reward).lists(items))
    assert 15 < wins < 45
    assert reward_rater(reward).lists(items) == reward_rater(reward).lists(items)


def test_a_reward_reads_the_columns_of_a_row_and_its_faults_are_told():
    def right(episode):
        if episode.reply == "broken":
            raise KeyError("nothing")
        return float(episode.reply == episode.task.data["answer"])

    rater = reward_rater(PerEpisode("right", right))
    assert rater.lists([Candidates("p", ("a", "b"), {"answer": "b"})]) == [[0, 1]]
    assert all(map(math.isnan, rater.lists([Candidates("p", ("broken",), {"answer": "b"})])[0]))
    assert "KeyError" in str(rater.faults[0])


def test_a_reward_that_needs_a_run_is_refused():
    reward = type("Needy", (), {"name": "needy", "weight": 1.0, "needs_context": True})()
    with pytest.raises(ValueError, match="'needy' can be asked within a run only"):
        reward_rater(reward)


def test_models_and_rewards_are_told_apart(tmp_path):
    assert is_model(str(tmp_path))
    assert is_model("somebody/reward-model")
    for name in ("exact", "gold:sums", "judge:score?model=x/y", "rewards/mine.py:f", "pattern?like=a/b"):
        assert not is_model(name)


def test_rows_get_their_scores_beside_them():
    rater = reward_rater(PerEpisode("long", lambda e: float(len(e.reply)) or None))
    pair = Numbered(4, {"prompt": "p", "chosen": "abc", "rejected": "", "id": 9})
    assert scored([pair], "file", rater) == [{**pair.row, "score_chosen": 3.0, "score_rejected": None}]
    single = Numbered(1, {"prompt": "p", "completion": "ab", "label": True})
    assert scored([single], "file", rater, "mine") == [{**single.row, "mine": 2.0}]
    with pytest.raises(ValueError, match="file has a column 'label' already"):
        scored([single], "file", rater, "label")
    steps = Numbered(1, {"prompt": "p", "completions": ["a"], "labels": [True]})
    with pytest.raises(ValueError, match="long scores whole replies"):
        scored([steps], "file", rater)


def test_steps_get_a_list(folder):
    steps = Numbered(1, {"prompt": "1+1+1=", "completions": ["1+1=2", "2+1=3"], "labels": [True, True]})
    (row,) = scored([steps], "file", load_rater(str(folder)))
    assert len(row["score_steps"]) == 2
