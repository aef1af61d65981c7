"""Words, sentences and paragraphs: what is counted, by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.words import count_phrase, paragraphs, pieces, sentences, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't stop, well-known friend!", ["Don't", "stop", "well-known", "friend"]),
        ("it’s 3.14 or 1,000", ["it’s", "3.14", "or", "1,000"]),
        ("and/or — snake_case...end", ["and", "or", "snake_case", "end"]),
        ("one,two;three", ["one", "two", "three"]),
        ("naïve café re\u0301sume\u0301", ["naïve", "café", "re\u0301sume\u0301"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("我喜欢 AI", ["我", "喜", "欢", "AI"]),
        ("Привет, мир", ["Привет", "мир"]),
        ("--- *** ❤️ !!!", []),
        ("", []),
    ],
)
def test_words(text, found):
    assert words(text) == found


def test_pieces_join_nothing():
    assert pieces("don't well-known 3.14") == ["don", "t", "well", "known", "3", "14"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Stop! Why? I see.", 3),  # C13
        ("stop! why? i see.", 3),
        ("Really?! Yes!!", 2),
        ("Dr. Smith met Mr. J. Doe at 3.14 p.m. on main street. He left.", 2),
        ("Use e.g. apples, i.e. fruit. Done.", 2),
        ("It cost $3.50 at example.com today.", 1),
        ("Well... I see. Well... maybe not.", 3),
        ('"Stop!" he said. "Why?" She knew.', 3),
        ("No. I said no. See No. 5.", 3),
        ("I like apples, etc. Then we left. We ate apples, etc. and left.", 3),
        ("a heading without a mark\n\nand words after it", 2),
        ("# Title\nFirst point.\n- one\n- two\n1. three", 5),
        ("One sentence\nover two lines.", 1),
        ("我喜欢猫。你呢？好！", 3),
        ("यह एक वाक्य है। यह दूसरा है।", 2),
        ("On Jan. 5 we met. It was in Jan. Then he came.", 3),
        ("It was I. Then he came.", 2),
        ("(He left.) She stayed.", 2),
        ("... !!! ???", 0),
        ("", 0),
    ],
)
def test_sentences(text, count):
    assert len(sentences(text)) == count, sentences(text)


def test_paragraphs_are_divided_by_blank_lines():
    assert paragraphs("a\nb\n\n \n\nc\n") == ["a\nb", "c"]
    assert paragraphs(" \n") == []


@pytest.mark.parametrize(
    ("phrase", "text", "count"),
    [
        ("art", "Art, party and art-house", 2),
        ("cat", "cats scatter", 0),
        ("C++", "I write C++, not C+", 1),
        ("new york", "New\n York and new-york", 1),
        ("don't", "I don’t", 1),
        ("cat", "a c\u200bat", 1),
        ("cat", "ｃａｔ", 1),
        ("猫", "我喜欢猫的", 1),
        ("AI", "使用AI技术", 1),
        ("straße", "STRASSE", 1),
        ("_art_", "so _art_ it is", 1),
        ("art", "so _art_ it is", 1),
    ],
)
def test_phrases_are_whole_words(phrase, text, count):
    assert count_phrase(phrase, text) == count


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_counts_do_not_depend_on_space_around(text):
    assert words(text) == words(f" \n{text}\n ")
    assert all(words(sentence) for sentence in sentences(text))


@pytest.mark.parametrize(
    "piece", ["a", ".", "!", ". ", '!"', "*", "* ", "[", "<<", "\n", "- ", "1. ", "a'", "我", "(", "#"]
)
def test_long_texts_are_read_in_linear_time(piece):
    text = (piece * 100_000)[:100_000]
    words(text), sentences(text), paragraphs(text), count_phrase("a a b", text)
