"""Rewards by name: the settings a line of text can give, what a run says about all, and clear refusals."""

import pytest

from guerdon.rewards.load import CATALOG, Grading, list_rewards, load_reward, load_rewards
from guerdon.rewards.worth import Worth
from tests.replies import group, scores


def test_names_that_ship_with_the_library():
    assert {"exact", "numeric"} <= set(list_rewards())
    assert all(list_rewards().values())
    assert scores(load_reward("numeric", weight=2.0), group(["it is 4"], answer="4"))[0].value == 1.0
    assert load_reward("numeric", weight=2.0).weight == 2.0


def test_settings_are_read_by_their_type():
    reward = load_reward("exact?case_sensitive=no&name=loose&worth=wrong=-1,no_answer=none")
    assert reward.name == "loose"
    assert [s.value for s in scores(reward, group(["A", "b", ""], answer="a"))] == [1.0, -1.0, None]


def test_what_a_run_says_goes_for_every_verifier(tmp_path):
    (tmp_path / "r.py").write_text("def f(completion): return 1.0")
    line = f"numeric?worth=right=2,0.5*exact,{tmp_path}/r.py:f"
    numeric, exact, mine = load_rewards(line, Grading(timeout=3.0, worth="wrong=-1"))
    assert (numeric.worth, exact.worth) == (Worth(right=2.0, wrong=-1.0), Worth(wrong=-1.0))
    assert (numeric.weight, exact.weight, mine.weight) == (1.0, 0.5, 1.0)
    assert mine.call.timeout == 3.0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("numerc", "no reward 'numerc'; did you mean 'numeric'"),
        ("exact?case_sensitiv=no", "no setting 'case_sensitiv'; did you mean 'case_sensitive'"),
        ("exact?case_sensitive=maybe", "'maybe'; expected true or false"),
        ("exact?worth=wron=1", "no verdict 'wron'"),
        ("exact?case_sensitive", "expected key=value"),
        ("?a=b", "no name"),
        ("missing.py:f", "missing.py does not exist"),
        ("judge:nothing", "no judge reward"),
    ],
)
def test_what_cannot_be_loaded_is_said(spec, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load_reward(spec)


NEEDED = {"pattern": "?pattern=a%2Bb", "length": "?per_token=0.01", "overlong": "?max_tokens=16&buffer=4"}
"""Settings that a reward cannot do without."""

ASKED = {"gold:sums": "2+2=", "gold:requests": "What is the capital of Peru?"}
"""Prompts of the kind that a reward knows the truth about."""


@pytest.mark.parametrize("name", CATALOG)
def test_every_reward_can_be_named_and_tried(name):
    reward = load_reward(name + NEEDED.get(name, ""), weight=0.5)
    assert (reward.weight, reward.name) == (0.5, name)
    data = {"answer": "4", "constraints": [{"kind": "no_comma"}], "tests": [{"stdin": "", "stdout": "4"}]}
    found = scores(reward, group(["it is 4"], prompt=ASKED.get(name, "q"), **data))
    assert found[0].value is not None


@pytest.mark.parametrize("name", NEEDED)
def test_a_reward_without_what_it_needs_says_so(name):
    with pytest.raises(ValueError, match=f"reward '{name}': .*"):
        load_reward(name)
