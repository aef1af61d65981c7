"""Properties over generated answers: spellings of one value are equal, other values are not, and it is symmetric."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.verify.math.grade import grade, self_test
from guerdon.types import STATUSES

few = settings(max_examples=40, deadline=None)
numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=500)


def spellings(value: Fraction) -> list[str]:
    top, bottom = value.numerator, value.denominator
    found = [rf"\frac{{{top}}}{{{bottom}}}", rf"\dfrac{{{3 * top}}}{{{3 * bottom}}}", f"{top}/{bottom}"]
    found += [rf"x = \frac{{{top}}}{{{bottom}}}", rf"\boxed{{{top}/{bottom}}}", f"#### {top}/{bottom}"]
    if bottom == 1:
        found += [str(top), f"{top:,}", f"{top}.0", rf"{top}\text{{ cm}}", f"the answer is {top}."]
    if value > 1 and bottom > 1:
        found.append(rf"{top // bottom}\frac{{{top % bottom}}}{{{bottom}}}")
    return [spelling.replace("-", "−") if top % 2 else spelling for spelling in found]


@few
@given(numbers)
def test_spellings_of_one_number_are_equal(value):
    first, *others = spellings(value)
    for other in others:
        assert grade(first, other)["status"] == "right", other
        assert grade(other, first)["status"] == "right", other


@few
@given(numbers, numbers)
def test_other_numbers_are_not(value, other):
    right = value == other
    for first, second in zip(spellings(value), spellings(other), strict=False):
        assert (grade(first, second)["status"] == "right") is right


@few
@given(st.lists(st.integers(-99, 99), min_size=3, max_size=3), st.integers(1, 9))
def test_polynomials_by_any_order_and_factor(coefficients, factor):
    a, b, c = coefficients
    gold = f"{a}x^2+{b}x+{c}".replace("+-", "-")
    other = f"{c}+{b}x+{a}x^2".replace("+-", "-")
    assert grade(gold, other)["status"] == "right"
    assert grade(gold, rf"\frac{{{factor * a}x^2+{factor * b}x+{factor * c}}}{{{factor}}}")["status"] == "right"
    assert grade(gold, f"{other}+{factor}")["status"] == "wrong"
    assert grade(gold, f"{other}+{factor}y")["status"] == "wrong"


@few
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=5, unique=True), st.randoms(use_true_random=False))
def test_order_counts_in_points_and_not_in_sets(items, chance):
    shuffled = chance.sample(items, len(items))
    written, other = ", ".join(map(str, items)), ", ".join(map(str, shuffled))
    assert grade(rf"\{{{written}\}}", rf"\{{{other}\}}")["status"] == "right"
    assert grade(written, other.replace(", ", r"\text{ and }"))["status"] == "right"
    assert (grade(f"({written})", f"({other})")["status"] == "right") is (items == shuffled)


atoms = st.sampled_from(
    [
        "2",
        "-3",
        "0.5",
        "x",
        "y",
        "\\pi",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "<",
        "^",
        "_",
        "\\frac",
        "\\sqrt",
        "|",
        "+",
        "-",
        "/",
        "*",
        "\\cup",
        "\\text{cm}",
        "%",
        "!",
        "\\infty",
        "e",
        "i",
        " ",
        "\\{",
        "\\}",
        "or",
        "\\boxed{",
        ".",
        "\\sin",
        "\\pm",
        "10",
        "apples",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "&",
        "\\\\",
        "\\ne",
        "\\in",
        "#### ",
        "$",
    ]
)
garbage = st.lists(atoms, max_size=9).map("".join)
answers = st.one_of(garbage, st.text(max_size=30), numbers.map(lambda value: spellings(value)[0]))


@settings(max_examples=150, deadline=None)
@given(answers, answers)
def test_symmetric_and_never_raising(first, second):
    forth, back = grade(first, second), grade(second, first)
    assert forth["status"] in STATUSES
    assert (forth["status"] == "right") is (back["status"] == "right")


@settings(max_examples=150, deadline=None)
@given(answers)
def test_what_passes_its_own_test_is_right_as_a_reply(text):
    if self_test(text) == "":
        assert grade(text, text)["status"] == "right"


@few
@given(
    st.recursive(
        st.sampled_from(["1", "x", "\\frac{1}{2}"]), lambda inner: inner.map(lambda s: "{" + s + "}"), max_leaves=9
    )
)
def test_braces_in_a_box(inside):
    verdict = grade("1", f"so \\boxed{{{inside}}} and {{}}")
    assert verdict["extracted"] == inside
