import json

import pytest

from guerdon.tasks.base import each
from guerdon.tasks.spec import list_tasks, load_tasks, parse


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps({"q": f"{i}+1", "gold": i + 1, "unit": "km"}) for i in range(30)))
    return str(file)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("arithmetic", "arithmetic"),
        ("arithmetic?level=2", "arithmetic"),
        ("reverse?length=4", "reverse"),
        ("sort?length=5&min_length=2", "sort"),
        ("rg:chain_sum?min_terms=2&max_terms=3&heldout=3", "rg:chain_sum"),
    ],
)
def test_specs_name_sets_with_their_options(spec, name):
    assert load_tasks(spec).name == name


def test_options_have_their_types_and_keywords_override():
    assert load_tasks("arithmetic?level=3").train.task(0).data["level"] == 3
    assert load_tasks("arithmetic?level=3", level=1).train.task(0).data["level"] == 1
    assert load_tasks("arithmetic?level=3", level=None).train.task(0).data["level"] == 3
    assert parse("rg:x?a=1&b=true&c=[1,2]&d=text&e=0.5&f=False") == (
        "rg:x",
        {"a": 1, "b": True, "c": [1, 2], "d": "text", "e": 0.5, "f": False},
    )


def test_files_by_spec(rows):
    tasks = load_tasks(f"{rows}?prompt=q&answer=gold")
    task = tasks.train.task(0)
    assert task.data["answer"] == task.data["gold"]
    assert load_tasks(rows, prompt="q").reward.name == "numeric"


def test_a_template_goes_around_the_prompt_and_a_system_message_before_it(rows):
    tasks = load_tasks("arithmetic?template=Compute {prompt} Answer with the number only.&system=Be brief.")
    plain = load_tasks("arithmetic")
    for framed, bare in ((tasks.train, plain.train), (tasks.heldout, plain.heldout)):
        assert framed.size == bare.size
        assert framed.task(3, 1).id == bare.task(3, 1).id
        assert framed.task(3, 1).prompt == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"Compute {bare.task(3, 1).prompt} Answer with the number only."},
        ]
    task = load_tasks(rows, prompt="q", template="{prompt} in {unit}?\n").train.task(0)
    assert task.prompt.endswith("+1 in km?\n")


def test_percent_codes_stand_for_what_a_spec_cannot_hold():
    assert load_tasks("arithmetic?template=a%26b%0A{prompt} 100%").train.task(0).prompt.startswith("a&b\n")


def test_another_reward():
    assert load_tasks("arithmetic?reward=exact").reward.name == "exact"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("arithmetics", "no task set 'arithmetics'; did you mean 'arithmetic'"),
        ("arithmetic?lvl=2", "no option 'lvl'; did you mean 'level'.*Accepted: level, reward, system, template"),
        ("arithmetic?level", "found the option 'level' without a value; expected key=value"),
        ("arithmetic?level=1&level=2", "'level' is given twice"),
        ("arithmetic?level=x", "no level x"),
        ("arithmetic?level=[1]", "cannot be made with level="),
        ("reverse?length=x", "cannot be made with length='x'"),
        ("?level=1", "no name"),
        ("rg:chain_sun", "did you mean 'chain_sum'"),
        ("rg:chain_sum?min_term=1", "did you mean 'min_terms'"),
        ("nothing/here.jsonl", "does not exist"),
        ("nothing/here", "does not exist"),
        ("arithmetic?template=Compute", "has no {prompt}"),
        ("arithmetic?template={prompt} {lvel}", "names 'lvel', not in task .*; did you mean 'level'"),
        ("arithmetic?template={prompt", "write {{ and }} for plain braces"),
        ("arithmetic?template={prompt.__class__} {prompt}", "names 'prompt.__class__'"),
        ("arithmetic?reward=nice", "no reward 'nice'"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_nearest(spec, message):
    with pytest.raises(ValueError, match=message):
        load_tasks(spec)


def test_a_second_system_message_and_a_template_around_messages_are_refused(tmp_path):
    file = tmp_path / "chat.jsonl"
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    lines = [json.dumps({"messages": [*messages[:1], {"role": "user", "content": str(i)}]}) for i in range(9)]
    file.write_text("\n".join(lines))
    with pytest.raises(ValueError, match="has a system message already"):
        load_tasks(str(file), system="t")
    with pytest.raises(ValueError, match="needs a text prompt; found list"):
        load_tasks(str(file), template="{prompt}")


def test_what_is_listed_can_be_loaded():
    listed = list_tasks()
    for name in listed:
        if name.islower():
            assert len(list(each(load_tasks(name).train, 3))) == 3
    assert {"rg:NAME", "FILE"} < set(listed)
    assert all(listed.values())
