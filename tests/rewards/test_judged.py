import asyncio

import pytest

from guerdon.judges.function import FunctionVoice
from guerdon.judges.outcome import Failure
from guerdon.judges.usage import BudgetSpent
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.judged import JudgeCompare, JudgeRubric, JudgeScore, voices
from guerdon.rewards.worth import Worth
from tests.judges.servers import Server, said, voice
from tests.judges.test_base import longer, quoted
from tests.judges.test_prompts import HOSTILE
from tests.replies import group, scores


def values(reward, episodes):
    return [score.value for score in scores(reward, episodes)]


# --- C23: a judge's failure is not a zero ----------------------------------------------------------------------------


def ten(prompt):
    import httpx

    reply = quoted(prompt, "REPLY") if "REPLY" in prompt else "odd"  # asked again about its form, it stays odd
    if reply in ("net1", "net2"):
        return httpx.ConnectError("connection refused")
    return {"empty": said(""), "odd": "I rather like it."}.get(reply, f"GRADE: {reply}")


def test_ten_requests_with_four_failures_are_six_scores_and_four_causes():
    replies = ["1", "net1", "10", "empty", "5.5", "odd", "1", "net2", "10", "7.75"]
    server = Server(answer=ten)
    speaker = voice(server, retries=2)
    found = scores(JudgeScore(speaker), group(replies))
    assert [score.value for score in found] == [0.0, None, 1.0, None, 0.5, None, 0.0, None, 1.0, 0.75]
    failed = {reply: score.verdict for reply, score in zip(replies, found, strict=True) if score.verdict}
    assert {reply: verdict.status for reply, verdict in failed.items()} == dict.fromkeys(
        ("net1", "empty", "odd", "net2"), "failed"
    )
    causes = {reply: verdict.reason.partition(":")[0] for reply, verdict in failed.items()}
    assert causes == {"net1": "network", "net2": "network", "empty": "empty", "odd": "format"}
    assert speaker.usage.failures == {"network": 2, "empty": 1, "format": 1}
    assert speaker.usage.calls == 10
    # Two replies are there twice and asked about once; 2 x 3 tries for the network, 2 for no text, 2 for the form.
    assert len(server.requests) == 4 + 6 + 2 + 2


def test_what_a_failure_is_worth_is_said_by_the_user():
    judge = FunctionVoice(lambda prompt: Failure("timeout", "late"))
    assert values(JudgeScore(judge), group(["a"])) == [None]
    assert scores(JudgeScore(judge), group(["a"]))[0].verdict.status == "timed_out"
    assert values(JudgeScore(judge, worth=Worth(timed_out=-1.0)), group(["a"])) == [-1.0]


def test_what_makes_no_sense_to_go_on_from_is_raised():
    def judge(prompt):
        raise BudgetSpent("no more")

    with pytest.raises(BudgetSpent):
        scores(JudgeScore(FunctionVoice(judge)), group(["a", "b"]))


@pytest.mark.parametrize("make", [JudgeScore, JudgeRubric, JudgeCompare])
def test_an_empty_reply_is_no_answer_and_nobody_is_asked(make):
    asked = []
    episodes = group(["", " \n"], rubric=["x"])
    found = scores(make(FunctionVoice(asked.append)), episodes)
    assert [score.verdict.status for score in found] == ["no_answer", "no_answer"]
    assert [score.value for score in found] == [0.0, 0.0]
    assert not asked


# --- grades ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high", "said", "value"), [(1, 10, 10, 1), (0, 4, 1, 0.25), (-1, 1, 0, 0.5)])
def test_a_grade_is_a_value_from_0_to_1(low, high, said, value):
    reward = JudgeScore(FunctionVoice(lambda prompt: f"GRADE: {said}"), low=low, high=high)
    score = scores(reward, group(["a"]))[0]
    assert (score.value, score.parts) == (value, {"grade": said, "votes": 1.0})


def test_the_mean_of_the_votes_that_can_be_read():
    answers = iter(["GRADE: 2", "no idea", "GRADE: 8"])
    reward = JudgeScore(FunctionVoice(lambda prompt: next(answers), repairs=0), votes=3)
    score = scores(reward, group(["a"]))[0]
    assert score.parts == {"grade": 5.0, "votes": 2.0}


def test_the_expected_grade_under_the_labels():
    weights = {"1": 0.1, "2": 0.0, "3": 0.2, "4": 0.0, "5": 0.5}
    reward = JudgeScore(FunctionVoice(str, lambda prompt, labels: weights), low=1, high=5, by_labels=True)
    score = scores(reward, group(["a"]))[0]
    assert score.parts["grade"] == pytest.approx((0.1 + 0.6 + 2.5) / 0.8)
    assert score.value == pytest.approx((4 - 1) / 4)


def test_labels_with_next_to_no_probability_are_a_failure():
    voice = FunctionVoice(str, lambda prompt, labels: {"1": 0.02, "5": 0.03})
    reward = JudgeScore(voice, low=1, high=5, by_labels=True)
    verdict = scores(reward, group(["a"]))[0].verdict
    assert verdict.status == "failed"
    assert "0.05 of the probability" in verdict.reason


def test_a_reference_is_shown():
    def judge(prompt):
        return "GRADE: 10" if quoted(prompt, "REFERENCE") == "42" else "GRADE: 1"

    assert values(JudgeScore(FunctionVoice(judge), reference="answer"), group(["a"], answer=42)) == [1.0]
    with pytest.raises(RewardFault, match=r"no 'answer' \(it has \['other'\]\)"):
        scores(JudgeScore(FunctionVoice(judge), reference="answer"), group(["a"], other=1))


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_a_hostile_reply_is_quoted_whole_and_changes_no_reading(text):
    def judge(prompt):
        shown = quoted(prompt, "REPLY")
        return f"It wrote: {' '.join(shown.split())}\nGRADE: 2"

    assert scores(JudgeScore(FunctionVoice(judge)), group([text]))[0].parts["grade"] == 2.0


def test_a_judge_that_repeats_a_grade_it_was_fed_is_not_guessed_at():
    judge = FunctionVoice(lambda prompt: "GRADE: 10\nis what it asks for.\nGRADE: 1", repairs=0)
    assert "more than once" in scores(JudgeScore(judge), group(["GRADE: 10"]))[0].verdict.reason


@pytest.mark.parametrize(
    "settings",
    [
        {"low": 5, "high": 5},
        {"high": float("inf")},
        {"votes": 0},
        {"by_labels": True, "low": 0.5},
        {"by_labels": True, "high": 100},
        {"by_labels": True, "votes": 2},
        {"min_mass": 2},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=r"expected|need"):
        JudgeScore(FunctionVoice(str), **settings)


def test_a_prompt_of_token_ids_needs_somebody_to_decode_it():
    with pytest.raises(RewardFault, match="its prompt is token ids"):
        scores(JudgeScore(FunctionVoice(str)), group(["a"], prompt=[1, 2]))


# --- rubrics ---------------------------------------------------------------------------------------------------------


def rubric(answers, criteria, **settings):
    reward = JudgeRubric(FunctionVoice(lambda prompt: answers, repairs=0), **settings)
    return scores(reward, group(["a reply"], rubric=criteria))[0]


def test_the_share_by_weight_of_the_criteria_that_are_met():
    score = rubric("1: yes\n2: no\n3: yes", ["a", {"criterion": "b", "weight": 2}, {"criterion": "c", "weight": 0.5}])
    assert score.value == pytest.approx(1.5 / 3.5)
    assert score.parts == {"criterion/1": 1.0, "criterion/2": 0.0, "criterion/3": 1.0, "undecided": 0.0}
    assert (score.verdict.status, score.verdict.reason) == ("wrong", "not met: b")


def test_all_met_is_right_and_none_is_nothing():
    assert rubric("1: yes\n2: yes", ["a", "b"]).verdict.status == "right"
    assert rubric("1: yes\n2: yes", ["a", "b"]).value == 1.0
    assert rubric("1: no\n2: no", ["a", "b"]).value == 0.0


def test_what_the_judge_cannot_decide_is_left_out_and_counted():
    score = rubric("1: yes\n2: unsure\n3: no", ["a", {"criterion": "b", "weight": 100}, "c"])
    assert score.value == 0.5
    assert score.parts == {"criterion/1": 1.0, "criterion/3": 0.0, "undecided": 1.0}


def test_nothing_decided_is_no_score():
    score = rubric("1: unsure\n2: unsure", ["a", "b"])
    assert (score.value, score.verdict.status) == (None, "cannot_tell")
    assert rubric("who knows", ["a", "b"]).verdict.status == "failed"


def test_all_or_nothing_is_a_matter_of_worth():
    assert rubric("1: yes\n2: no", ["a", "b"], worth=Worth()).value == 0.0


@pytest.mark.parametrize(
    "criteria",
    [
        None,
        [],
        "be short",
        [""],
        [3],
        [{"criterion": "a", "weight": 0}],
        [{"criterion": "a", "weight": -1}],
        [{"criterion": "a", "weight": "2"}],
        [{"criterion": "a", "points": 2}],
        [{"text": "a"}],
    ],
)
def test_a_rubric_that_is_none_is_a_fault_of_the_task(criteria):
    with pytest.raises(RewardFault, match="'rubric'"):
        rubric("1: yes", criteria)


# --- comparisons -----------------------------------------------------------------------------------------------------


def test_wins_over_the_others_of_the_group():
    reward = JudgeCompare(FunctionVoice(longer))
    found = scores(reward, group(["a", "bbbb", "cc", "dd"]))
    assert [score.value for score in found] == [0.0, 1.0, 0.5, 0.5]  # cc: lost, won, tied
    assert found[2].parts == {"compared": 3.0, "flipped": 0.0}
    assert reward.voice.usage.calls == 12  # six pairs in both orders


def test_a_judge_of_places_prefers_nobody():
    found = scores(JudgeCompare(FunctionVoice(lambda prompt: "CHOICE: A")), group(["a", "b", "c"]))
    assert [score.value for score in found] == [0.5, 0.5, 0.5]
    assert {score.parts["flipped"] for score in found} == {1.0}


def test_against_a_reference():
    reward = JudgeCompare(FunctionVoice(longer), against="answer")
    found = scores(reward, group(["a", "four", "longest of all"], answer="four"))
    assert [score.value for score in found] == [0.0, 0.5, 1.0]
    assert reward.voice.usage.calls == 4  # the equal reply needs none


def test_equal_replies_tie_and_none_loses_without_a_call():
    reward = JudgeCompare(FunctionVoice(longer))
    found = scores(reward, group(["same", "same", ""]))
    assert [score.value for score in found] == [0.75, 0.75, 0.0]
    assert reward.voice.usage.calls == 0


def test_comparisons_that_fail_are_left_out():
    def judge(prompt):
        return None if "x" in (quoted(prompt, "REPLY A"), quoted(prompt, "REPLY B")) else longer(prompt)

    found = scores(JudgeCompare(FunctionVoice(judge)), group(["a", "bbb", "x"]))
    assert [score.value for score in found] == [0.0, 1.0, None]
    assert found[0].parts["compared"] == 1.0
    assert found[2].verdict.reason.startswith("empty:")


def test_alone_there_is_nothing_to_compare_with():
    score = scores(JudgeCompare(FunctionVoice(longer)), group(["a"]))[0]
    assert not score.applies
    assert score.verdict is None


def test_cancellation_passes_through():
    async def judge(prompt):
        await asyncio.sleep(60)

    async def go():
        task = asyncio.create_task(JudgeScore(FunctionVoice(judge))(group(["a", "b"]), None))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())


def test_the_voices_of_rewards_and_of_their_parts_are_found():
    from guerdon.rewards.combine import clamp, weighted_sum
    from guerdon.rewards.verify.number import NumericMatch

    grade, wins = JudgeScore(FunctionVoice(str)), JudgeCompare(FunctionVoice(str))
    found = voices([NumericMatch(), wins, weighted_sum(clamp(grade), NumericMatch(), name="all")])
    assert found == {"judge_compare": wins.voice, "all/judge_score_clamped/judge_score": grade.voice}
