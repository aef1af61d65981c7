"""What a whole scalar carries on it: its percent or degree sign, and the two values of a plus-minus."""

from __future__ import annotations

from guerdon.rewards.verify.math.values import (
    MINUS_ONE,
    Apply,
    CannotTellError,
    Node,
    Num,
    Quantity,
    SetOf,
    Value,
    heads,
    times,
)


def taken_off(node: Node) -> tuple[Node, str]:
    """An expression without its outermost percent or degree sign, and which it was."""
    if isinstance(node, Apply) and node.head in ("percent", "degree"):
        return node.args[0], {"percent": "%", "degree": "degree"}[node.head]
    if isinstance(node, Apply) and node.head == "mul" and len(node.args) == 2 and isinstance(node.args[0], Num):
        inner, unit = taken_off(node.args[1])
        return (times(node.args[0], inner), unit) if unit else (node, "")
    return node, ""


def spread(quantity: Quantity) -> Value:
    """The two values of one plus-minus; CannotTellError for more of them, whose signs may or may not go together."""
    count = sum(head == "pm" or head == "mp" for head in heads(quantity.node))
    if count == 0:
        return quantity
    if count > 1:
        raise CannotTellError("more than one plus-minus")
    return SetOf(tuple(Quantity(_signed(quantity.node, sign), quantity.unit) for sign in (1, -1)))


def _signed(node: Node, sign: int) -> Node:
    if not isinstance(node, Apply):
        return node
    args = tuple(_signed(arg, sign) for arg in node.args)
    if node.head in ("pm", "mp"):
        positive = (node.head == "pm") == (sign == 1)
        return args[0] if positive else times(MINUS_ONE, args[0])
    return Apply(node.head, args)
