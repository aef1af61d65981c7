import ast
import random
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.data.rewrites.base import Rewrite, rewritten
from guerdon.data.rewrites.catalog import REWRITES
from guerdon.data.rewrites.code import is_python

PROSE = ("The capital of France is Paris, which lies on the Seine.", "Perhaps it is London, or maybe another city?")
PROMPT = "What is the capital of France?"


def once(name, text, seed=0):
    change = REWRITES[name].reply
    return change(text, random.Random(seed))


def both(name, replies=PROSE, prompt=PROMPT, seed=0, row=3):
    return rewritten(REWRITES[name], prompt, replies, seed, row)


def test_there_are_the_named_ones_and_each_says_what_it_keeps():
    assert len(REWRITES) == 20
    assert {one.family for one in REWRITES.values()} == {"controlled", "noise", "code", "maths"}
    only_ranking = {name for name, one in REWRITES.items() if one.keeps == "ranking"}
    assert {"rot13", "code_bad_comments", "ignore_above", "word_deletion"} <= only_ranking
    assert {"quotes", "homoglyphs", "code_minified", "answer_format"}.isdisjoint(only_ranking)


@pytest.mark.parametrize("name", [name for name in REWRITES if not name.startswith(("code", "answer"))])
def test_equal_seed_and_row_give_equal_texts(name):
    assert both(name) == both(name) is not None
    changed = both(name)
    assert changed != (PROMPT, PROSE)
    if name.startswith("character") or name in ("handle", "url", "word_deletion"):
        assert any(both(name, row=row) != changed for row in range(4, 12))
        assert any(both(name, seed=seed) != changed for seed in range(1, 9))


@pytest.mark.parametrize("name", [name for name in REWRITES if name.startswith(("code", "answer"))])
def test_prose_is_neither_code_nor_mathematics(name):
    assert both(name) is None


def test_worked_texts():
    assert once("quotes", "Yes.") == '"Yes."'
    assert once("punctuation_spaces", "No, (no)!") == "No , ( no ) !"
    assert once("rot13", "Abc, xyz 12") == "Nop, klm 12"
    assert once("rot2", "Abc, xyz 12") == "Cde, zab 12"
    assert once("rot13", once("rot13", PROSE[0])) == PROSE[0]
    assert once("repeated_text", "So.") == "So." + " and true is true" * 5
    assert once("homoglyphs", "ace 12").isascii() is False
    assert once("homoglyphs", "12 km") == "12 km"
    assert REWRITES["ignore_below"].prompt("Why?", random.Random(0)).startswith("Why?\n\nIgnore the text below.")


def test_both_replies_get_the_same_address():
    _, (first, second) = both("url")
    assert first.removeprefix(PROSE[0]) == second.removeprefix(PROSE[1])


def test_only_the_prompt_changes_where_the_prompt_is_rewritten():
    prompt, replies = both("ignore_above")
    assert replies == PROSE
    assert prompt.endswith(PROMPT)


def test_it_does_not_apply_where_one_reply_would_stay_as_it_is():
    assert both("character_swap", ("The capital is Paris", "42")) is None
    assert both("handle", ("", "42")) is not None


def test_of_messages_the_last_is_rewritten_and_nothing_else():
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Well"}]
    _, (first, _) = rewritten(REWRITES["quotes"], None, (said, said[:1]), 0, 0)
    assert first == [said[0], {"role": "assistant", "content": '"Well"'}]
    assert said[1]["content"] == "Well"


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=80), st.integers(0, 5))
def test_any_text_can_be_rewritten(text, seed):
    for rewrite in REWRITES.values():
        for change in (rewrite.reply, rewrite.prompt):
            if change is not None:
                assert change(text, random.Random(seed)) == change(text, random.Random(seed))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["seven", "12", "3.5", "apples", "x=4", "because"]), min_size=3, max_size=30))
def test_damage_is_light_and_leaves_numbers_alone(words):
    text = " ".join(words)
    for name in ("character_swap", "character_substitution", "character_insertion", "character_deletion"):
        new = once(name, text).split(" ")
        assert len(new) == len(words)
        assert all(a == b for a, b in zip(words, new, strict=True) if not a.isalpha())
        changed = sum(a != b for a, b in zip(words, new, strict=True))
        assert changed <= max(1, round(0.1 * sum(word.isalpha() for word in words)))


# --- code -------------------------------------------------------------------------------------------------------------

PROGRAM = '''
# what follows adds
def add(a, b):
    """Adds.

      Keeps  this # as it is.
    """
    if a:  # not nought

        return (a +
                b)  # the sum
    text = "# no comment"
    return text
'''


def test_minified_code_is_the_same_program_in_fewer_characters():
    new = once("code_minified", PROGRAM)
    assert ast.dump(ast.parse(new)) == ast.dump(ast.parse(PROGRAM))
    assert "# what" not in new
    assert "# the sum" not in new
    assert '"# no comment"' in new
    assert "# as it is." in new
    assert len(new) < len(PROGRAM)


def test_code_is_found_in_fences_and_prose_around_it_stays():
    text = f"Try this:\n\n```python{PROGRAM}```\n\nIt works, # I hope."
    new = once("code_minified", text)
    assert new.startswith("Try this:\n\n```python\n")
    assert new.endswith("```\n\nIt works, # I hope.")
    assert "# not nought" not in new
    assert once("code_minified", text.replace("python", "cpp")) == text.replace("python", "cpp")


@pytest.mark.parametrize("name", ["code_minified", "code_good_comments", "code_bad_comments", "code_other_appended"])
def test_the_inside_of_a_function_is_code_too(name):
    body = "    total = 0\n    for x in xs:  # each\n        total += x\n    return total\n"
    new = once(name, body)
    assert new != body
    assert is_python(new)
    old_lines = [ast.dump(node) for node in ast.parse(textwrap.dedent(body)).body]
    assert [ast.dump(node) for node in ast.parse(textwrap.dedent(new)).body][: len(old_lines)] == old_lines


@pytest.mark.parametrize(
    "text", ["Hello world", "yes", "12 + 7", "a, b", "", "def (", "(" * 5000, "-" * 15000 + "1", "x = 1\n" * 9000]
)
def test_what_is_no_code_or_too_much_is_left_alone(text):
    assert not is_python(text)
    assert once("code_minified", text) == text


def test_deeply_nested_code_does_not_break_it():
    text = "x = " + "+".join(["1"] * 4000)
    assert isinstance(once("code_minified", text), str)


# --- mathematics ------------------------------------------------------------------------------------------------------


def test_an_answer_changes_its_dress_and_back():
    boxed = r"We add. So it is $\boxed{\frac{1}{2}}$."
    headed = once("answer_format", boxed)
    assert headed == "We add. So it is $\\frac{1}{2}$.\n\n# Answer\n\n\\frac{1}{2}"
    assert once("answer_format", headed).endswith(r"The answer is $\boxed{\frac{1}{2}}$.")
    assert "# Answer" not in once("answer_format", headed)


@pytest.mark.parametrize("text", ["No answer.", r"An open \boxed{3", r"\boxed{}"])
def test_without_an_answer_nothing_changes(text):
    assert once("answer_format", text) == text


def test_a_rewrite_that_changes_nothing_does_not_apply():
    assert rewritten(Rewrite("identity", "noise", "meaning", lambda t, n: t), "p", ("a", "b"), 0, 0) is None
