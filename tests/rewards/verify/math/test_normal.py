"""One spelling for many."""

import pytest

from guerdon.rewards.verify.math.normal import normal


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        (r"23,\!450", "23450"),
        (r"1{,}000{,}000", "1000000"),
        (r"12\,000", "12000"),
        ("1 000", "1000"),
        ("58,500", "58,500"),
        ("(1, 000)", "(1, 000)"),
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        (r"{11 \over 20}", r"\frac{11 }{ 20}"),
        (r"48 \mbox{ cm}^2", r"48 \text{ cm}^2"),
        (r"7^{\text{th}}", "7"),
        ("3rd", "3"),
        (r"\left( 1,\, 2 \right)", "( 1, 2 )"),
        ("$5$.", "5"),
        (r"\$5", r"\$5"),
        ("**12**", "12"),
        ("x²", "x^{2}"),
        ("x₁₂", "x_{12}"),
        ("1½", r"1 \frac{1}{2}"),
        ("２７", "27"),
        ("−9", "-9"),
        (r"50 \%", "50 %"),
        ("50 percent", "50 %"),
        ("x**2", "x^2"),
        (r"a \\ b", r"a \\ b"),
        ("5!", "5!"),
    ],
)
def test_spellings(text, spelling):
    assert normal(text) == spelling
    assert normal(spelling) == spelling
