"""Units in one spelling."""

import pytest

from guerdon.rewards.verify.math.units import canonical


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cm", " centimeters "),
        ("cm^2", "square centimetres"),
        ("cm^2", "sq cm"),
        ("cm^{3}", "cubic centimeters"),
        ("m/s", "meters per second"),
        ("mph", "miles per hour"),
        ("km/h", "kilometers per hour"),
        ("dollars", "$"),
        ("apples", "apple"),
        ("feet", "ft"),
        ("degrees", "degree"),
    ],
)
def test_the_same(first, second):
    assert canonical(first) == canonical(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cm", "m"),
        ("cm", "cm^2"),
        ("m/s", "s/m"),
        ("m/s", "m s"),
        ("dollars", "cents"),
        ("apples", "pears"),
        ("m", "mm"),
    ],
)
def test_not_the_same(first, second):
    assert canonical(first) != canonical(second)
