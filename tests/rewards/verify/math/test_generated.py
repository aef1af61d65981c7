"""The grader on random pairs whose verdict is known by construction: one value in two spellings, or a near miss."""

import random
import re
from fractions import Fraction

import pytest

from tests.rewards.verify.math.grading import graded

pytestmark = pytest.mark.slow
SIGN = {True: "-", False: ""}


def spelled(rng, value):
    """The fraction in one of the ways in which people write it."""
    sign, (top, bottom) = SIGN[value < 0], abs(value).as_integer_ratio()
    ways = [f"{sign}{top}/{bottom}", rf"{sign}\frac{{{top}}}{{{bottom}}}", rf"\dfrac{{{sign}{top}}}{{{bottom}}}"]
    k = rng.randint(2, 9)
    ways += [rf"{sign}\frac{{{k * top}}}{{{k * bottom}}}", rf"{sign}{{{top} \over {bottom}}}"]
    if top > bottom > 1:
        ways += [rf"{sign}{top // bottom}\frac{{{top % bottom}}}{{{bottom}}}"] * 2
    if 1000 % bottom == 0:
        ways += [f"{sign}{top / bottom:.3f}", rf"{sign}{1000 * top // bottom} \times 10^{{-3}}"]
    if bottom == 1:
        ways += [f"{sign}{top}", f"{sign}{top:,}"] * 2
    first = Fraction(rng.randint(-9, 9), rng.randint(1, 9))
    rest = value - first
    ways += [rf"\frac{{{first.numerator}}}{{{first.denominator}}}+\left({rest}\right)"]
    return rng.choice(ways)


def missed(rng, value):
    """A fraction that is not this one, but looks like it."""
    candidates = [
        value + 1,
        -value,
        value + Fraction(1, 1000),
        value * 10,
        Fraction(value.numerator, value.denominator + 1),
    ]
    candidates += [1 / value, Fraction(int(str(abs(value.numerator))[::-1]), value.denominator), value - value % 1]
    return rng.choice([other for other in candidates if other != value])


def a_fraction(rng):
    return Fraction(
        rng.choice([-1, 1]) * rng.randint(1, 99999 if rng.random() < 0.2 else 60), rng.choice([1, 1, 2, 3, 4, 7, 8, 20])
    )


def fractions(rng):
    value = a_fraction(rng)
    return spelled(rng, value), spelled(rng, value), spelled(rng, missed(rng, value))


def polynomial(coefficients):
    terms = [f"{c:+d}" + ("x" if n == 1 else f"x^{{{n}}}" if n else "") for n, c in enumerate(coefficients) if c]
    return natural("".join(reversed(terms)))


def natural(text):
    """Without the plus sign in front and factors of one that nobody writes."""
    return re.sub(r"(?<!\d)1(?=[xy])|^\+|[-+]0(?!\d)", "", text)


def polynomials(rng):
    roots = [rng.randint(-5, 5) for _ in range(rng.randint(1, 4))]
    coefficients = [1]
    for root in roots:
        shifted = [0, *coefficients]
        coefficients = [a - root * b for a, b in zip(shifted, [*coefficients, 0], strict=True)]
    factored = "".join(natural(rf"\left(x{-root:+d}\right)") for root in roots)
    near = list(coefficients)
    near[rng.randrange(len(near))] += rng.choice([-1, 1])
    return factored, polynomial(coefficients), polynomial(near)


def lists(rng):
    values = rng.sample(range(-20, 20), rng.randint(2, 5))
    order = rng.sample(values, len(values))
    near = rng.choice([values[:-1], [*values, 77], [v + 1 for v in values], [values[0] + 50, *values[1:]]])
    left, right = rng.choice([(r"\{", r"\}"), ("", ""), (r"\left\{", r"\right\}")])
    return tuple(left + ", ".join(map(str, part)) + right for part in (values, order, near))


def tuples(rng):
    values = [a_fraction(rng) for _ in range(rng.randint(2, 4))]
    near = rng.choice(
        [values[:-1], [*values, values[0]], [*values[:-1], missed(rng, values[-1])], [values[-1] + 1, *values[1:]]]
    )
    forms = "{0}/{1}", r"\frac{{{0}}}{{{1}}}", r"\dfrac{{{0}}}{{{1}}}"
    return tuple(
        rng.choice(["({})", r"\left({}\right)"]).format(
            ", ".join(rng.choice(forms).format(*v.as_integer_ratio()) for v in part)
        )
        for part in (values, values, near)
    )


def unions(rng):
    ends = sorted(rng.sample(range(-30, 30), 4))
    shape = [rng.choice("(["), rng.choice(")]"), rng.choice("(["), rng.choice(")]")]
    near_shape, near_ends = list(shape), list(ends)
    flipped = rng.randrange(4)
    if rng.random() < 0.5:
        near_shape[flipped] = {"(": "[", "[": "(", ")": "]", "]": ")"}[shape[flipped]]
    else:
        near_ends[3] += 1

    def parts(ends, shape):
        return [f"{shape[i]}{ends[i]},{ends[i + 1]}{shape[i + 1]}" for i in (0, 2)]

    ways = parts(ends, shape), parts(ends, shape)[::-1], parts(near_ends, near_shape)
    return tuple(r" \cup ".join(way) for way in ways)


def lines(rng):
    a, b, c, k = (
        rng.randint(1, 9),
        rng.choice([-1, 1]) * rng.randint(1, 9),
        rng.randint(1, 9),
        rng.choice([-3, -1, 2, 5]),
    )
    near = rng.choice([(b, a, c), (a, -b, c), (a, b, -c), (a, b, c + 1), (a + 1, b, c)])
    near = (
        near
        if near not in {(a, b, c), (-a, -b, -c)} and (near[0] * b, near[0] * c) != (a * near[1], a * near[2])
        else (a, b, c + 1)
    )
    forms = f"{a}x{b:+d}y={c}", f"{k * a}x{k * b:+d}y{-k * c:+d}=0", f"{near[0]}x{near[1]:+d}y={near[2]}"
    return tuple(map(natural, forms))


@pytest.mark.parametrize("kind", [fractions, polynomials, lists, tuples, unions, lines])
def test_two_spellings_are_equal_and_near_misses_are_not(kind):
    rng = random.Random(7)
    triples = [kind(rng) for _ in range(150)]
    same = graded([(gold, text) for gold, text, _ in triples])
    near = graded([pair for gold, text, miss in triples for pair in ((gold, miss), (miss, text))])
    lost = [
        (gold, text, verdict)
        for (gold, text, _), verdict in zip(triples, same, strict=True)
        if verdict["status"] != "right"
    ]
    fooled = [
        (gold, miss)
        for (gold, _, miss), a, b in zip(triples, near[::2], near[1::2], strict=True)
        if "right" in (a["status"], b["status"])
    ]
    assert not fooled
    assert not lost
