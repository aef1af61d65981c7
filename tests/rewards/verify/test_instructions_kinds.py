"""Every kind of constraint on texts that follow it, that break it, and that try to get around it."""

import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.verify.constraints import KINDS, ConstraintError, constraint
from guerdon.rewards.verify.constraints.counts import compare

ENGLISH = "this is a whole answer written in plain english letters for you and for all of your friends"
GERMAN = "dies ist eine ganze antwort die in deutscher sprache für dich und alle deine freunde geschrieben ist"
FRENCH = "Bonjour, ceci est une réponse écrite entièrement en langue française pour vous et vos amis."

TABLE = {
    "keywords:existence": [
        (
            {"keywords": ["art", "new york"]},
            ["Art is in New\nYork.", "ART! (new  york)"],
            ["art", "party in new york", ""],
        ),
        ({"keywords": ["don't"]}, ["I don’t."], ["I dont."]),
        ({"keywords": "C++"}, ["C++ it is"], ["C+ it is"]),
        ({"keywords": ["a.c"]}, ["see a.c there"], ["see abc there"]),
    ],
    "keywords:frequency": [
        (
            {"keyword": "war", "frequency": 2, "relation": "at least"},
            ["War and war.", "war, war; WAR"],
            ["war", "warm wars", "warwar"],
        ),
        ({"keyword": "war", "frequency": 2, "relation": "less than"}, ["war", "none, wars wars"], ["war war"]),
        ({"keyword": "war", "frequency": 0, "relation": "exactly"}, ["peace"], ["war"]),
    ],
    "keywords:forbidden_words": [
        (
            {"forbidden_words": ["cat", "field"]},
            ["dogs only", "scattered category", "battlefields"],
            ["a Cat", "the field.", "c\u200bat", "ｃａｔ", "ca\u00adt", "**cat**", "_cat_"],
        ),
    ],
    "keywords:letter_frequency": [
        ({"letter": "t", "let_frequency": 2, "let_relation": "less than"}, ["A t.", "none"], ["Tt", "at that"]),
        ({"letter": "#", "let_frequency": 2, "let_relation": "at least"}, ["#a #b"], ["#a", "no. 1"]),
        ({"letter": "E", "let_frequency": 2}, ["Eve", "tree"], ["e", "é e"]),
    ],
    "language:response_language": [
        ({"language": "fr"}, [FRENCH], [ENGLISH, GERMAN, "12345 !!!"]),
        ({"language": "de"}, [GERMAN], [FRENCH, ""]),
        ({"language": "hi"}, ["यह एक उत्तर है जो हिन्दी में लिखा गया है।"], [ENGLISH]),
        ({"language": "zh"}, ["我喜欢猫因为它们非常可爱而且很聪明"], ["私は猫が好きです。とても可愛いです。"]),
    ],
    "length_constraints:number_sentences": [
        (
            {"num_sentences": 3, "relation": "exactly"},
            ["Stop! Why? I see.", "a.\n\nb\n\nc"],
            ["Stop! Why.", "3.14 is e.g. Dr. No."],
        ),
        (
            {"num_sentences": 3, "relation": "less than"},
            ["One. Two.", "Mr. A. Smith is 3.5. Yes."],
            ["a. b. c.", "a!\nb!\nc!"],
        ),
        ({"num_sentences": 1, "relation": "at least"}, ["no mark"], ["...", "!!! ???"]),
    ],
    "length_constraints:number_paragraphs": [
        (
            {"num_paragraphs": 2},
            ["a\n***\nb", "***\na\n\n***\nb c\n***", "a *** b"],
            ["a\n\nb", "a\n***\nb\n***\nc", "a\n***\n\n***\nb", "***bold***a", "a\n******\nb", "a\n***\n"],
        ),
    ],
    "length_constraints:number_words": [
        (
            {"num_words": 3, "relation": "at least"},
            ["a b c", "don't be well-known"],
            ["a b", "--- *** ... a b", "don't-do b"],
        ),
        ({"num_words": 3, "relation": "less than"}, ["a b", "3.14 1,000"], ["a b c", "a,b,c", "a—b/c"]),
        ({"num_words": 20, "relation": "around"}, ["a " * 18, "a " * 22], ["a " * 17, "a " * 23]),
        ({"num_words": 4, "relation": "exactly"}, ["我喜欢猫"], ["我喜欢"]),
    ],
    "length_constraints:nth_paragraph_first_word": [
        (
            {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weekend"},
            ["a\n\nWeekend is here", 'a\nb\n\n\n"*weekend*, at last"', "a\n \nweekend."],
            ["a\n\nweekends", "weekend\n\na", "a\nweekend", "a\n\nweekend\n\nb", "a\n\n***"],
        ),
    ],
    "detectable_content:number_placeholders": [
        (
            {"num_placeholders": 2},
            ["To [name] at [address].", "[a] [a] [b]", "[[name]] [x1]"],
            ["[name]", "[] [ ] [name]", "[1] [2] [3]", "[x] [x] done", "[text](url) [link](url)", "[na\nme] [b]"],
        ),
    ],
    "detectable_content:postscript": [
        (
            {"postscript_marker": "P.S."},
            ["Bye.\n\nP.S. Write soon", "Bye. **P.S.** Write", "Bye\np. s. write", "Bye\nP.S: write", "Bye\nP.S write"],
            ["Bye.", "Bye\nP.S.", "P.S. Write", "Bye\nP.P.S. Write", "Bye\nPS. write", "stop.s. x", "Bye\nP.Smith"],
        ),
        ({"postscript_marker": "P.P.S"}, ["Bye\nP.P.S Write", "Bye\nP.P.S. Write"], ["Bye\nP.S. Write", "Bye\nP.P.S"]),
        ({"postscript_marker": "Note:"}, ["Bye\nNote: x"], ["Bye\nnotes: x", "Bye\nfootnote: x"]),
    ],
    "detectable_format:number_bullet_lists": [
        (
            {"num_bullets": 2},
            ["Intro\n* a\n* b", "- a\n  - b", "* **a**\n• b", "* a\n***\n* b\n* * *", "* a\n* b\n```\n- c\n```"],
            ["* a", "* a\n* b\n* c", "*a\n*b", "**a**\n**b**", "---\n---", "* \n* ", "a - b\nc * d"],
        ),
    ],
    "detectable_format:constrained_response": [
        (
            {},
            ["My answer is yes.", "Well: my answer is  NO", '"My answer is maybe."'],
            ["Yes.", "", "My answer is yesterday.", "My answer is yes. My answer is no. My answer is maybe."],
        ),
        (
            {"options": ["red", "blue"]},  # C13
            ["I choose red", "Blue!", "red, red"],
            ["I choose green", "red or blue", "reddish", "infrared bluebell"],
        ),
        ({"options": ["red", "red wine"]}, ["Red wine.", "red"], ["red, then red wine"]),
    ],
    "detectable_format:number_highlighted_sections": [
        (
            {"num_highlights": 2},
            ["*a b* and **c**", "* *a* item\n* *b* item", "***a*** *b*, x"],
            ["*a*", "* a\n* b\n* c", "** ** ** *a*", "2*3*4*5*6", "*a\nb* *c\nd*", "\\*a\\* *b*", "*...* *!!*"],
        ),
    ],
    "detectable_format:multiple_sections": [
        (
            {"section_spliter": "Section", "num_sections": 2},
            ["Section 1\na\nSection 2\nb", "## Section 1: a\n**Section 2** b\nSection 3 c"],
            [
                "Section 1\na",
                "Section 1\nSection 2\n",
                "as Section 1 says in Section 2",
                "SECTION 1\na\nSECTION 2\nb",
                "Section 1 a\nSection 1 b",
                "Section one a\nSection two b",
            ],
        ),
    ],
    "detectable_format:json_format": [
        (
            {},
            ['{"a": 1}', "[1, 2]\n", '```json\n{"a": [null]}\n```', '```{"a": 1}```', "```JSON\n[]\n```"],
            [
                "a: 1",
                '"text"',
                "5",
                "null",
                '{"a": 1} done',
                "{'a': 1}",
                "[NaN]",
                "[" * 100_000,
                "```json\n```",
                "[1,]",
                "",
            ],
        ),
        ({}, ["{}"], ["[" + "9" * 5000 + "]", "```", "``````", '__import__("os")']),
    ],
    "detectable_format:title": [
        ({}, ["<<A title>>\nbody", "body <<t>>"], ["<A title>", "<<>>", "<< >>", "<<a\nb>>", "<<***>>", "< <a> >"]),
    ],
    "combination:two_responses": [
        (
            {},
            ["a\n******\nb", "******\na\n******\nb\n******", "a ****** b"],
            [
                "a",
                "a\n******\nA.",
                "a\n******\nb\n******\nc",
                "a\n***\nb",
                "a\n*******\nb",
                "a\n******\n\n******\nb",
                "a\n******\n...",
            ],
        ),
    ],
    "combination:repeat_prompt": [
        (
            {"prompt_to_repeat": "Write a poem, please."},
            ["Write a poem, please. Roses", "  write a poem,\nplease.\n\nRoses"],
            [
                "Roses",
                "Write a poem, please.",
                "Write a poem please. Roses",
                "Sure! Write a poem, please. Roses",
                "Write a poem, please. !!",
            ],
        ),
        ({"prompt_to_repeat": "Write a poem"}, ["write a poem: roses"], ["write a poems", "write a poem..."]),
    ],
    "startend:end_checker": [
        (
            {"end_phrase": "Any other questions?"},
            ["Done. Any other questions?", 'Done. "any  other questions?"\n', "**Any other questions?**"],
            ["Any other questions? No.", "Any other questions", "Many other questions?", "Done."],
        ),
        ({"end_phrase": "peace"}, ["In peace.", "Peace"], ["In unpeace", "peace be with you", "peaces"]),
    ],
    "startend:quotation": [
        (
            {},
            ['"All of it."', ' "a"\n', "“a”", "„a“", "«a»"],
            ["a", '"a', 'a"', '"', '""', '"!"', "'a'", '"a" he said', "”a“"],
        ),
    ],
    "change_case:capital_word_frequency": [
        (
            {"capital_frequency": 3, "capital_relation": "at least"},
            ["THIS IS BIG", "I saw A UFO", "WELL-KNOWN DON'T B2B"],
            ["THIS IS Big", "12 34 56", "iPhone McDonald This"],
        ),
        ({"capital_frequency": 20, "capital_relation": "around"}, ["GO " * 19], ["GO " * 17, "go " * 20]),  # C13
        ({"capital_frequency": 2, "capital_relation": "less than"}, ["GO now"], ["GO NOW"]),
    ],
    "change_case:english_capital": [
        ({}, [ENGLISH.upper(), "HELLO!", "A 1."], [ENGLISH, "HELLo", "123", "", GERMAN.upper(), "GROß"]),
    ],
    "change_case:english_lowercase": [
        ({}, [ENGLISH, "hello!", "a 1."], [ENGLISH.upper(), "hellO", "123", "", GERMAN, "ﬁnE"]),
    ],
    "punctuation:no_comma": [
        ({}, ["No commas here; none.", "a' b", ""], ["a, b", "1,000", "a，b", "a、b", "a، b"]),
    ],
}

CASES = [
    (kind, kwargs, text, follows)
    for kind, rows in TABLE.items()
    for kwargs, right, wrong in rows
    for follows, texts in ((True, right), (False, wrong))
    for text in texts
]


@pytest.mark.parametrize(("kind", "kwargs", "text", "follows"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_a_text_follows_or_breaks_a_constraint(kind, kwargs, text, follows):
    why = constraint(kind, kwargs).broken(text)
    assert (why == "") is follows, (text[:200], why)


def test_every_kind_is_in_the_table():
    assert set(TABLE) == set(KINDS)
    assert len(KINDS) == 25


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_docstring_that_says_what_follows_it(kind):
    assert KINDS[kind].__doc__


@pytest.mark.parametrize(
    ("found", "wanted", "relation", "fine"),
    [
        (19, 20, "around", True),  # C13: within 10 %, rounded down
        (18, 20, "around", True),
        (17, 20, "around", False),
        (29, 29, "around", True),
        (27, 29, "around", True),
        (26, 29, "around", False),
        (4, 5, "around", True),
        (3, 5, "around", False),
        (1, 0, "around", True),
        (3, 3, "at least", True),
        (3, 3, "at most", True),
        (3, 3, "less than", False),
        (3, 3, "more than", False),
        (3, 3.0, "exactly", True),
        (3, "3", "exactly", True),
    ],
)
def test_relations(found, wanted, relation, fine):
    assert (compare(found, wanted, relation, "words") == "") is fine


def test_what_breaks_is_said_in_numbers():
    assert compare(19, 20, "at least", "words") == "19 words, expected at least 20"


@pytest.mark.parametrize(
    ("kind", "kwargs", "message"),
    [
        ("length_constraints:number_word", {}, "did you mean 'length_constraints:number_words'"),
        ("nonsense", {}, "punctuation:no_comma"),
        ("number_words", {}, "number_words: missing a required argument: 'num_words'; it takes num_words, relation"),
        ("number_words", {"num_words": None}, "missing a required argument"),
        ("number_words", {"num_words": 3, "words": 3}, "unexpected keyword argument 'words'"),
        ("no_comma", {"x": 1}, "it takes no arguments"),
    ],
)
def test_constraints_that_are_not_known_are_named(kind, kwargs, message):
    with pytest.raises(ConstraintError, match=message):
        constraint(kind, kwargs)


@pytest.mark.parametrize(
    ("kind", "kwargs", "message"),
    [
        (
            "number_words",
            {"num_words": 3, "relation": "atleast"},
            "number_words: there is no relation 'atleast'; did you",
        ),
        ("number_words", {"num_words": "many"}, "number of words is 'many'"),
        ("number_words", {"num_words": 2.5}, "number of words is 2.5"),
        ("number_words", {"num_words": -1}, "number of words is -1"),
        ("number_words", {"num_words": True}, "number of words is True"),
        ("number_words", {"num_words": float("inf")}, "number of words is inf"),
        ("letter_frequency", {"letter": "ab", "let_frequency": 1}, "letter is 'ab'"),
        ("number_words", {"num_words": 3, "relation": ["at least"]}, "no relation"),
        ("frequency", {"keyword": ["a", "b"], "frequency": 1}, "expected one text"),
        ("existence", {"keywords": []}, r"keywords is \[\]"),
        ("existence", {"keywords": ["a", " "]}, "none of them blank"),
        ("response_language", {"language": "german"}, "no language 'german'"),
        ("end_checker", {"end_phrase": ""}, "end_phrase is ''"),
        ("nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"}, "expected 1 to"),
    ],
)
def test_arguments_that_make_no_sense_are_errors_and_no_verdicts(kind, kwargs, message):
    with pytest.raises(ConstraintError, match=message):
        constraint(kind, kwargs).broken("a text")


@pytest.mark.parametrize(
    "piece", ["a", "*", "* ", "**", "[", "<<", "\n", "- ", "***\n", '"', "Section 1 ", "[a", "P.S.", "a ", "`"]
)
def test_no_text_makes_a_constraint_hang(piece):
    text = (piece * 100_000)[:100_000]
    for kind, rows in TABLE.items():
        if kind not in ("language:response_language", "change_case:english_capital", "change_case:english_lowercase"):
            constraint(kind, rows[0][0]).broken(text)


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(sorted(set(KINDS) - {"language:response_language"})), text=st.text(max_size=30), data=st.data()
)
def test_any_arguments_give_a_reason_or_a_constraint_error(kind, text, data):
    value = st.one_of(st.none(), st.integers(-2, 5), st.text(max_size=4), st.lists(st.text(max_size=3)), st.floats())
    names = list(inspect.signature(KINDS[kind]).parameters)[1:]
    try:
        why = constraint(kind, {name: data.draw(value) for name in names}).broken(text)
    except ConstraintError:
        return
    assert isinstance(why, str)
