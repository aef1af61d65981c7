"""Whether two typed values are equal, type by type, and which comparison said so. Symmetric throughout.

Labels: 'x = 5' is 5, but not y = 5. Units: one that is missing is tolerated, two that differ are a mismatch. 50% is 0.5
and, its sign taken for a missing unit, 50. Sets ignore order, and repeats where braces say that they are sets. Points,
intervals and matrices compare place by place; brackets at infinity are all open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeGuard

from guerdon.rewards.verify.math.intervals import REALS, merged
from guerdon.rewards.verify.math.relation import Said, holds, said, same_relation, settled
from guerdon.rewards.verify.math.scalar import equal, infinite
from guerdon.rewards.verify.math.units import LETTERS, canonical
from guerdon.rewards.verify.math.values import (
    PI,
    Apply,
    Based,
    Bracket,
    CannotTellError,
    Matrix,
    Name,
    Node,
    Num,
    Quantity,
    Relation,
    SetOf,
    Text,
    Union,
    Value,
    mentions,
    names,
    over,
    times,
)

_STAGES = {Quantity: "number", Based: "base", Bracket: "tuple", SetOf: "set", Union: "set", Matrix: "matrix",
           Relation: "relation", Text: "text"}  # fmt: skip
_REAL_WORDS = ("all real numbers", "all reals", "real numbers", "all real")


def compare(a: Value, b: Value) -> tuple[bool, str]:
    """Whether two answers are the same, and the stage that said so. CannotTellError where that cannot be decided."""
    a, b = settled(a), settled(b)
    if _several_labels(a) and _several_labels(b):
        return _sets(a, b), "compare-relation"
    left, right = said(a), said(b)
    if isinstance(a, Relation) and isinstance(b, Relation) and not (left.label and left.label == right.label):
        if left.label and right.label and (_fixed(left.value) and _fixed(right.value)):
            return False, "compare-relation"
        return same_relation(a, b), "compare-relation"
    if left.label and right.label and left.label != right.label:
        return False, "compare-relation"
    return _values(_meant(left, b), _meant(right, a)), _stage(left, right)


def _several_labels(value: Value) -> TypeGuard[SetOf]:
    """Whether this lists what several names are (a_1 = 2, a_2 = 3)."""
    labels = {said(settled(item)).label for item in value.items} if isinstance(value, SetOf) else set()
    return len(labels) > 1 and "" not in labels


def _fixed(value: Value) -> bool:
    return not (isinstance(value, Quantity) and names(value.node))


def _stage(left: Said, right: Said) -> str:
    kinds = [type(left.value), type(right.value)]
    if kinds == [Quantity, Quantity]:
        scalars = [one.value.node for one in (left, right) if isinstance(one.value, Quantity)]
        return "compare-expression" if any(names(node) for node in scalars) else "compare-number"
    if Bracket in kinds:
        brackets = [one.value for one in (left, right) if isinstance(one.value, Bracket)]
        return "compare-interval" if any("[" in b.left or "]" in b.right for b in brackets) else "compare-tuple"
    return f"compare-{_STAGES[kinds[0] if kinds[0] is not Quantity else kinds[1]]}"


def _meant(one: Said, other: Value) -> Value:
    """The value that is compared; CannotTellError where a chain contradicts itself (x = 42 = 43)."""
    value = one.value
    if isinstance(value, Relation) and not isinstance(other, Relation) and holds(value):
        return value.sides[-1]
    if not all(_values(value, further) for further in one.others):
        raise CannotTellError("a chain of equations that does not hold")
    return value


def _values(a: Value, b: Value) -> bool:
    a, b = _plain(a), _plain(b)
    if isinstance(a, Text) != isinstance(b, Text):
        return any(isinstance(x, Text) and isinstance(y, Quantity) and _letter(x, y) for x, y in ((a, b), (b, a)))
    if type(a) is not type(b):
        return False
    return _BY_TYPE[type(a)](a, b)


def _plain(value: Value) -> Value:
    """A set of one value as that value; every spelling of the real line as one interval."""
    if isinstance(value, SetOf) and len(value.items) == 1 and not isinstance(value.items[0], Relation | SetOf):
        return _plain(value.items[0])
    if isinstance(value, Union):
        return merged(value)
    if isinstance(value, Text) and value.text in _REAL_WORDS:
        return REALS
    if isinstance(value, Quantity) and value.node == Name("bb R"):
        return REALS
    return value


def _letter(text: Text, quantity: Quantity) -> bool:
    return isinstance(quantity.node, Name) and not quantity.unit and quantity.node.name == text.text


def _quantities(a: Quantity, b: Quantity) -> bool:
    if a.unit and not b.unit:
        b = _unit_letter(b, a.unit)
    if b.unit and not a.unit:
        a = _unit_letter(a, b.unit)
    if a.unit == b.unit:
        return equal(a.node, b.node)
    if a.unit and b.unit:
        return False
    marked, other = (a, b) if a.unit else (b, a)
    return any(equal(*pair) for pair in _readings(marked, other.node))


def _readings(marked: Quantity, other: Node) -> list[tuple[Node, Node]]:
    """A quantity with a unit against one without: the unit taken for missing, or a percent or degree worked out."""
    pairs = [(marked.node, other)]
    if marked.unit == "%":
        pairs.append((marked.node, times(Num(Fraction(100)), other)))
    if marked.unit == "degree" and mentions(other, "pi"):
        pairs.append((marked.node, over(times(Num(Fraction(180)), other), PI)))
    return pairs


def _unit_letter(quantity: Quantity, unit: str) -> Quantity:
    """'5 m' without marks, as 5 metres where the other side is in metres; else as it is, a product."""
    node = quantity.node
    if isinstance(node, Apply) and node.head == "mul" and len(node.args) == 2 and not names(node.args[0]):
        letter = node.args[1]
        if isinstance(letter, Name) and letter.name in LETTERS and canonical(letter.name) == unit:
            return Quantity(node.args[0], unit)
    return quantity


def _same_based(a: Based, b: Based) -> bool:
    return a == b


def _brackets(a: Bracket, b: Bracket) -> bool:
    if len(a.items) != len(b.items) or _ends(a) != _ends(b):
        return False
    return all(_answers(x, y) for x, y in zip(a.items, b.items, strict=True))


def _ends(bracket: Bracket) -> tuple[str, str]:
    """The brackets, open at infinity."""
    if len(bracket.items) != 2 or bracket.left == ":":
        return bracket.left, bracket.right
    low, high = (isinstance(item, Quantity) and infinite(item.node) for item in bracket.items)
    return "(" if low else bracket.left, ")" if high else bracket.right


def _sets(a: SetOf, b: SetOf) -> bool:
    left, right = list(a.items), list(b.items)
    if a.braces and b.braces:
        left, right = _distinct(left), _distinct(right)
    return matched(left, right, _answers)


def _distinct(items: Sequence[Value]) -> list[Value]:
    kept: list[Value] = []
    for item in items:
        if not any(_answers(item, other) for other in kept):
            kept.append(item)
    return kept


def matched(left: Sequence[Value], right: Sequence[Value], same: Callable[[Value, Value], bool]) -> bool:
    """Whether the items pair off, in any order."""
    if len(left) != len(right):
        return False
    rest = list(right)
    for item in left:
        place = next((index for index, other in enumerate(rest) if same(item, other)), None)
        if place is None:
            return False
        rest.pop(place)
    return True


def _answers(a: Value, b: Value) -> bool:
    """Items of a list: both with a label, or both without."""
    if bool(said(settled(a)).label) != bool(said(settled(b)).label):
        return False
    return compare(a, b)[0]


def _unions(a: Union, b: Union) -> bool:
    return matched(a.parts, b.parts, _values)


def _matrices(a: Matrix, b: Matrix) -> bool:
    shapes = [(len(matrix.rows), len(matrix.rows[0])) for matrix in (a, b)]
    if shapes[0] != shapes[1]:
        return False
    pairs = zip((x for row in a.rows for x in row), (y for row in b.rows for y in row), strict=True)
    return all(_values(x, y) for x, y in pairs)


def _texts(a: Text, b: Text) -> bool:
    return a == b


def _relations(a: Relation, b: Relation) -> bool:
    return same_relation(a, b)


_BY_TYPE: dict[type, Callable[..., bool]] = {
    Quantity: _quantities, Based: _same_based, Bracket: _brackets, SetOf: _sets, Union: _unions, Matrix: _matrices,
    Text: _texts, Relation: _relations,
}  # fmt: skip
