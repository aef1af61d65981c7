import pytest

from guerdon.rewards.verify.extract import after_hashes, boxed, marked, plain, tagged


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r"\boxed{1}", "1"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1} and \boxed{2", "1"),
        (r"\boxed {3}", "3"),
        ("no box", None),
    ],
)
def test_the_last_closed_box(text, inside):
    assert boxed(text) == inside


def test_the_last_tag_and_the_last_hashes():
    assert tagged("<answer>1</answer> <ANSWER>\n2 </ANSWER>") == "2"
    assert tagged("<answer>1") is None
    assert after_hashes("a #### 1\nb #### 2 \nc") == "2"
    assert after_hashes("none") is None
    assert after_hashes("end ####") == ""


def test_hashes_go_before_tags_before_boxes():
    assert marked(r"\boxed{1} <answer>2</answer> #### 3") == "3"
    assert marked(r"<answer>2</answer> \boxed{1}") == "2"
    assert marked("4") is None


def test_one_spelling():
    assert plain("２７ − 3 – 1") == "27 - 3 - 1"
