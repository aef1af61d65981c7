"""Relations: what they say about one name (x = 5, x in (2, 3), 2 < x <= 3), and whether two are the same.

A relation that says what one name is gives that value and the name as its label; so 'x > 2' is the interval (2, oo).
Two other equations are the same when one is a constant multiple of the other; inequalities, a positive one.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from guerdon.rewards.verify.math.exact import fold
from guerdon.rewards.verify.math.intervals import MINUS_INFINITY, PLUS_INFINITY, REALS, without
from guerdon.rewards.verify.math.scalar import both_at, close, equal
from guerdon.rewards.verify.math.values import (
    Apply,
    Bracket,
    CannotTellError,
    Name,
    Node,
    Num,
    Quantity,
    Relation,
    SetOf,
    Union,
    Value,
    minus,
    names,
)

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_INDEX = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Said:
    """What an answer says: a value, of which name ('' where none is given). others: further spellings of the value in
    a chain (x = 10/4 = 5/2), which have to agree with it."""

    value: Value
    label: str = ""
    others: tuple[Value, ...] = ()


def said(answer: Value) -> Said:
    """The value and label of an answer; a relation that gives no value of one name is its own value."""
    if isinstance(answer, Relation):
        return _assigned(answer) or _bounded(answer) or _around_zero(answer) or Said(answer)
    if isinstance(answer, SetOf) and any(isinstance(item, Relation) for item in answer.items):
        return _listed(answer) or Said(answer)
    return Said(answer)


def _assigned(relation: Relation) -> Said | None:
    sides = relation.sides
    if set(relation.signs) == {"="} and len(sides) == 2 and _name(sides[0]) is None and _name(sides[1]) is not None:
        sides = sides[::-1]
    label = _name(sides[0])
    if label is None or not set(relation.signs) <= {"=", "in"} or len(set(relation.signs)) != 1:
        return None
    if any(isinstance(side, Quantity) and label in names(side.node) for side in sides[1:]):
        return None
    if relation.signs == ("in",) and isinstance(sides[1], Quantity) and sides[1].node == Name("bb R"):
        return Said(REALS, label)
    return Said(sides[1], label, sides[2:])


def _name(side: Value) -> str | None:
    return side.node.name if isinstance(side, Quantity) and isinstance(side.node, Name) and not side.unit else None


def _bounded(relation: Relation) -> Said | None:
    """2 < x <= 3 as an interval, x != 5 as a union of two; None where no name stands alone between constants."""
    sides, signs = relation.sides, relation.signs
    places = [index for index, side in enumerate(sides) if _name(side) is not None]
    scalars = [side.node for side in sides if isinstance(side, Quantity)]
    if len(places) != 1 or len(scalars) != len(sides) or len(sides) > 3 or (len(sides) == 3 and places != [1]):
        return None
    if sum(bool(names(node)) for node in scalars) != 1:
        return None
    if len(sides) == 2 and places == [1]:
        sides, signs = sides[::-1], (_FLIPPED.get(signs[0], signs[0]),)
    if len(sides) == 2:
        return _one_bound(sides[0], signs[0], sides[1])
    if set(signs) <= {">", ">="}:
        sides, signs = sides[::-1], tuple(_FLIPPED[sign] for sign in signs[::-1])
    if not set(signs) <= {"<", "<="}:
        return None
    left, right = "(" if signs[0] == "<" else "[", ")" if signs[1] == "<" else "]"
    return Said(Bracket(left, (sides[0], sides[2]), right), _name(sides[1]) or "")


def _one_bound(name: Value, sign: str, bound: Value) -> Said | None:
    label = _name(name) or ""
    if sign in ("<", "<="):
        return Said(Bracket("(", (MINUS_INFINITY, bound), ")" if sign == "<" else "]"), label)
    if sign in (">", ">="):
        return Said(Bracket("(" if sign == ">" else "[", (bound, PLUS_INFINITY), ")"), label)
    if sign == "!=":
        return Said(without((bound,)), label)
    return None


def _around_zero(relation: Relation) -> Said | None:
    """|x| < 5 and |x| >= 5 as intervals; None for anything else."""
    left, right = relation.sides[0], relation.sides[-1]
    sign = relation.signs[0]
    if isinstance(right, Quantity) and isinstance(right.node, Apply):
        left, right, sign = right, left, _FLIPPED.get(sign, sign)
    if len(relation.signs) != 1 or not (isinstance(left, Quantity) and isinstance(right, Quantity)):
        return None
    node, bound = left.node, fold(right.node)
    if not (isinstance(node, Apply) and node.head == "abs" and isinstance(node.args[0], Name)):
        return None
    if not (isinstance(bound, Num) and bound.value > 0):
        return None
    low, high = Quantity(Num(-bound.value, bound.decimals)), Quantity(bound)
    if sign in ("<", "<="):
        return Said(Bracket("(" if sign == "<" else "[", (low, high), ")" if sign == "<" else "]"), node.args[0].name)
    if sign in (">", ">="):
        below = Bracket("(", (MINUS_INFINITY, low), ")" if sign == ">" else "]")
        return Said(Union((below, Bracket("(" if sign == ">" else "[", (high, PLUS_INFINITY), ")"))), node.args[0].name)
    return None


def settled(answer: Value) -> Value:
    """The answer without the approximations it states of itself: sqrt(2) ~ 1.41 is sqrt(2), x ~ 1.41 is x = 1.41.

    CannotTellError where the two are not near each other.
    """
    if not isinstance(answer, Relation) or "~" not in answer.signs:
        return answer
    sides, signs = [answer.sides[0]], []
    for sign, side in zip(answer.signs, answer.sides[1:], strict=True):
        before = sides[-1]
        if sign == "~" and not (len(sides) == 1 and _name(before) is not None):
            if not (isinstance(before, Quantity) and isinstance(side, Quantity) and close(before.node, side.node)):
                raise CannotTellError("an approximation that is far from what it stands for")
            continue
        sides.append(side)
        signs.append("=" if sign == "~" else sign)
    return Relation(tuple(sides), tuple(signs)) if signs else sides[0]


def _listed(answer: SetOf) -> Said | None:
    """'x = 2 or x = 3', 'x_1 = 2, x_2 = 3', 'x = 2, 3': the values of one name; 'x < 2 or x > 3': a union."""
    found = [said(item) for item in answer.items]
    labels = {_INDEX.sub("", one.label) for one in (found[0], *(one for one in found if one.label))}
    later_bare = all(not one.label and isinstance(one.value, Quantity) for one in found[1:])
    if len(labels) != 1 or "" in labels or any(one.others for one in found):
        return None
    if not (later_bare or all(one.label for one in found)):
        return None
    values = tuple(one.value for one in found)
    if all(isinstance(value, Quantity) for value in values):
        distinct = len({one.label for one in found}) == 1 or later_bare
        return Said(SetOf(values, braces=answer.braces and distinct), labels.pop())
    if answer.braces and all(isinstance(value, Bracket | Union | Quantity | SetOf) for value in values):
        return Said(Union(tuple(part for value in values for part in _parts(value))), labels.pop())
    return None


def _parts(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Union):
        return value.parts
    return (SetOf((value,), braces=True),) if isinstance(value, Quantity) else (value,)


def same_relation(a: Relation, b: Relation) -> bool:
    """Whether two relations between expressions, of one sign each, are constant multiples of each other."""
    if len(a.signs) != len(b.signs):
        return False
    if len(a.signs) > 1:
        return _same_chain(a, b)
    left, right = _difference(a), _difference(b)
    if left is None or right is None:
        return False
    (node_a, sign_a), (node_b, sign_b) = left, right
    if sign_a != sign_b or not (names(node_a) and names(node_b)):
        return False
    return _proportional(node_a, node_b, positive=sign_a in ("<", "<="))


def _same_chain(a: Relation, b: Relation) -> bool:
    flipped = Relation(b.sides[::-1], tuple(_FLIPPED.get(sign, sign) for sign in b.signs[::-1]))
    return any(a.signs == other.signs and all(map(_same_side, a.sides, other.sides)) for other in (b, flipped))


def _same_side(a: Value, b: Value) -> bool:
    return isinstance(a, Quantity) and isinstance(b, Quantity) and a.unit == b.unit and equal(a.node, b.node)


def _difference(relation: Relation) -> tuple[Node, str] | None:
    """The relation as 'this = 0', 'this < 0' or 'this <= 0'."""
    left, right = relation.sides
    if not (isinstance(left, Quantity) and isinstance(right, Quantity)) or relation.signs == ("in",):
        return None
    sign = relation.signs[0]
    if sign in (">", ">="):
        left, right, sign = right, left, _FLIPPED[sign]
    return fold(minus(left.node, right.node)), sign


def _proportional(a: Node, b: Node, positive: bool) -> bool:
    """Whether a is a constant (positive) multiple of b, and neither is zero everywhere."""
    ratio = None
    for left, right, same in both_at(a, b):
        if left == 0 or right == 0:
            if left != right:
                return False
            continue
        if ratio is None:
            ratio = (left, right)
        elif not same(left * ratio[1], right * ratio[0]):
            return False
    if ratio is None:
        return False
    return not positive or bool(ratio[0] / ratio[1] > 0)


def holds(relation: Relation) -> bool:
    """Whether a chain of equations holds whatever its variables are, so that it only respells one value."""
    sides = [side.node for side in relation.sides if isinstance(side, Quantity)]
    if set(relation.signs) != {"="} or len(sides) != len(relation.sides):
        return False
    return all(equal(first, second) for first, second in itertools.pairwise(sides))
