"""Expressions by recursive descent: sums, products written and implied, powers, roots, functions, matrices.

Ambiguous writing is refused rather than read one way: '3 5', 'x 2', '1/2x', 'sin(x)^2', 'x^2^3'.
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.rewards.verify.math.cursor import Cursor
from guerdon.rewards.verify.math.exact import fold
from guerdon.rewards.verify.math.lexer import Token
from guerdon.rewards.verify.math.values import (
    MINUS_ONE,
    Apply,
    CannotTellError,
    Const,
    Name,
    Node,
    Num,
    leaves,
    mentions,
    over,
    times,
)

_CALLED = ("f", "g", "h")
"""Names that are functions where brackets follow; a bracket after any other name is a factor."""


class Expressions(Cursor):
    """Reads one expression from the tokens. Bars of an absolute value do not nest without brackets."""

    bars = 0

    def sum(self) -> Node:
        self.deeper()
        terms = [self.signed_term()]
        while self.at("+", "-", "pm", "mp"):
            terms.append(self.signed_term())
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Apply("add", tuple(terms))

    def signed_term(self) -> Node:
        """A term with the signs before it; two plus-minus signs before one term are refused later on."""
        sign, plus_minus = 1, []
        while self.at("+", "-", "pm", "mp"):
            text = self.take().text
            sign = -sign if text == "-" else sign
            plus_minus += [text] if text in ("pm", "mp") else []
        node = self.product()
        for head in plus_minus:
            node = Apply(head, (node,))
        return times(MINUS_ONE, node) if sign < 0 else node

    def product(self) -> Node:
        factors = [self.power()]
        divided = False
        while True:
            if self.at("*", "/"):
                divide = self.take().text == "/"
                negative = False
                while self.at("-", "+"):
                    negative ^= self.take().text == "-"
                factor = self.power()
                factor = times(MINUS_ONE, factor) if negative else factor
                factors.append(over(Num(Fraction(1)), factor) if divide else factor)
                divided = divide
            elif self.at("%"):
                self.take()
                if divided:
                    raise CannotTellError("a percentage after '/' without brackets")
                factors = [Apply("percent", (factors[0] if len(factors) == 1 else times(*factors),))]
            elif self.starts_factor():
                if divided:
                    raise CannotTellError("a product after '/' without brackets")
                factors.append(self.implied(factors))
            else:
                return factors[0] if len(factors) == 1 else times(*factors)

    def starts_factor(self) -> bool:
        token = self.token
        if token is None or (token.text == "|" and token.kind == "op"):
            return token is not None and not self.bars
        return token.kind in ("num", "mixed", "name", "const", "func") or (
            token.kind == "op"
            and token.text in ("(", "[", "{", "frac", "sqrt", "binom", "lfloor", "lceil", "sum", "prod")
        )

    def implied(self, factors: list[Node]) -> Node:
        """The next factor of a product without a sign; a mixed number where a whole number stands before a fraction."""
        token, before = self.token, factors[-1]
        if token is not None and token.kind in ("num", "mixed"):
            raise CannotTellError(f"{token.text!r} right after a factor")
        at_fraction = self.at("frac")
        factor = self.power()
        if not (at_fraction and len(factors) == 1 and isinstance(before, Num) and before.decimals is None):
            return factor
        ratio = _ratio(factor)
        if ratio is None:
            return factor
        if before.value.denominator != 1 or not 0 < ratio < 1:
            raise CannotTellError("a number right before a fraction that is no mixed number")
        factors.pop()
        return Num(before.value + ratio)

    def power(self) -> Node:
        self.deeper()
        base = self.postfix(self.primary())
        if self.at("^"):
            self.take()
            base = Apply("pow", (base, self.exponent()))
            if self.at("^", "!"):
                raise CannotTellError("a power of a power, or a factorial, without brackets")
        self.depth -= 1
        return base

    def exponent(self) -> Node:
        if self.at("{"):
            return self.group("{", "}")
        negative = self.at("-")
        self.position += self.at("+", "-")
        self.deeper()
        node = self.primary()
        self.depth -= 1
        return times(MINUS_ONE, node) if negative else node

    def postfix(self, node: Node) -> Node:
        while True:
            if self.at("!"):
                self.take()
                if self.at("!"):
                    raise CannotTellError("a double factorial")
                node = Apply("factorial", (node,))
            elif (
                self.at("^") and self.position + 1 < len(self.tokens) and self.tokens[self.position + 1].text == "circ"
            ):
                self.position += 2
                if self.token is not None and self.token.text in ("C", "F") and self.token.kind == "name":
                    raise CannotTellError("a temperature")
                node = Apply("degree", (node,))
            else:
                return node

    def primary(self) -> Node:
        token = self.take()
        if token.number is not None:
            return token.number
        if token.kind == "name":
            return self.name(token)
        if token.kind == "const":
            return Name(f"e_{self.subscript()}") if token.text in "ei" and self.accept("_") else Const(token.text)
        if token.kind == "func":
            return self.function(token.text)
        if token.kind == "op":
            return self.operator(token)
        raise CannotTellError(f"{token.text!r} in an expression")

    def operator(self, token: Token) -> Node:
        text = token.text
        self.position -= 1
        if text in ("(", "[", "{"):
            return self.group(text, {"(": ")", "[": "]", "{": "}"}[text])
        if text == "|":
            return self.absolute()
        if text == "lfloor":
            return Apply("floor", (self.group("lfloor", "rfloor"),))
        if text == "lceil":
            return Apply("ceil", (self.group("lceil", "rceil"),))
        self.position += 1
        if text == "frac":
            top = self.argument()
            return over(top, self.argument())
        if text == "binom":
            top = self.argument()
            return Apply("binom", (top, self.argument()))
        if text == "sqrt":
            return self.root()
        if text in ("sum", "prod"):
            return self.repeated("add" if text == "sum" else "mul")
        raise CannotTellError(f"{text!r} is not expected here")

    def repeated(self, head: str) -> Node:
        """A sum or product over whole numbers from a number to a number, written out."""
        self.need("_")
        self.need("{")
        index = self.take()
        if index.kind not in ("name", "const") or index.text == "pi":
            raise CannotTellError(f"{index.text!r} as an index")
        self.need("=")
        first = self.sum()
        self.need("}")
        self.need("^")
        last = self.exponent()
        body = self.product()
        return unrolled(head, index.text, (first, last), body)

    def group(self, opening: str, closing: str) -> Node:
        self.need(opening)
        bars, self.bars = self.bars, 0
        node = self.sum()
        self.bars = bars
        self.need(closing)
        return node

    def absolute(self) -> Node:
        if self.bars:
            raise CannotTellError("bars inside bars")
        self.need("|")
        self.bars = 1
        node = self.sum()
        self.bars = 0
        self.need("|")
        return Apply("abs", (node,))

    def argument(self) -> Node:
        """An argument of \\frac, \\sqrt or \\binom: in braces, or one digit or one token, as LaTeX reads it."""
        if self.at("{"):
            return self.group("{", "}")
        token = self.token
        if token is not None and token.kind == "num" and token.text.isdigit() and len(token.text) > 1:
            first, rest = token.text[0], token.text[1:]
            self.tokens[self.position] = Token("num", rest, Num(Fraction(rest)))
            return Num(Fraction(first))
        self.deeper()
        node = self.primary()
        self.depth -= 1
        return node

    def root(self) -> Node:
        degree: Node | None = None
        if self.accept("["):
            degree = self.sum()
            self.need("]")
        long = self.token is not None and self.token.kind == "num"
        node: Node = self.primary() if long else self.argument()
        return Apply("root", (node, degree or Num(Fraction(2))))

    def name(self, token: Token) -> Node:
        name = token.text
        if self.accept("_"):
            name += f"_{self.subscript()}"
        while self.accept("'"):
            name += "'"
        if name.split("'")[0] in _CALLED and self.at("("):
            return Apply(f"call {name}", (self.group("(", ")"),))
        return Name(name)

    def subscript(self) -> str:
        """What stands as an index, in braces or alone: numbers, names and words, as written."""
        if not self.accept("{"):
            return self.take().text
        text = ""
        while not self.at("}"):
            token = self.take()
            if token.kind not in ("num", "name", "const", "word", "sep") and token.text not in ("+", "-"):
                raise CannotTellError("an index that is no name or number")
            text += token.text
        self.need("}")
        return text

    def function(self, head: str) -> Node:
        raised: Node | None = None
        base: Node | None = None
        while self.at("^", "_"):
            if self.take().text == "^":
                raised = self.exponent() if raised is None else _refuse("two powers of a function")
            else:
                base = self.argument() if base is None else _refuse("two indices of a function")
        args = self.function_arguments()
        if base is not None:
            if head not in ("log", "lg"):
                raise CannotTellError(f"an index of {head}")
            args = (*args, base)
        inverse = isinstance(raised, Apply) and raised.head == "mul" and raised.args == (MINUS_ONE, Num(Fraction(1)))
        if inverse and head in ("sin", "cos", "tan"):
            return Apply(f"arc{head}", args)
        node = Apply(head, args)
        if inverse:
            raise CannotTellError(f"{head} to the power -1")
        return node if raised is None else Apply("pow", (node, raised))

    def function_arguments(self) -> tuple[Node, ...]:
        """What a function is of: what stands in brackets, or a product up to the next sign or function."""
        if self.at("(", "{", "["):
            opening = self.take().text
            args = [self.sum()]
            while self.at_kind("sep") and self.at(",", ";"):
                self.take()
                args.append(self.sum())
            self.need({"(": ")", "{": "}", "[": "]"}[opening])
            if self.at("^") and opening != "{":
                raise CannotTellError("a power right after the argument of a function")
            return tuple(args)
        if self.at("-"):
            raise CannotTellError("a sign right after a function")
        factors = [self.power()]
        while self.starts_factor() and not self.at_kind("func") and not self.at("(", "["):
            factors.append(self.implied(factors))
        return (factors[0] if len(factors) == 1 else times(*factors),)


def _ratio(node: Node) -> Fraction | None:
    """The value of a fraction of two whole numbers, None for any other expression."""
    if not (isinstance(node, Apply) and node.head == "mul" and len(node.args) == 2):
        return None
    top, bottom = node.args
    if not (isinstance(top, Num) and isinstance(bottom, Apply) and isinstance(bottom.args[0], Num)):
        return None
    if not bottom.args[0].value or mentions(node, "oo"):
        return None
    return top.value / bottom.args[0].value


MAX_TERMS = 1000
"""Nodes of a sum or product that is written out."""


def unrolled(head: str, index: str, bounds: tuple[Node, Node], body: Node) -> Node:
    """The terms of a sum ('add') or product ('mul') with the index put in."""
    first, last = (fold(bound) for bound in bounds)
    if not (
        isinstance(first, Num) and isinstance(last, Num) and first.value.denominator == last.value.denominator == 1
    ):
        raise CannotTellError("a sum or product whose bounds are no whole numbers")
    count = last.value.numerator - first.value.numerator + 1
    if count < 1 or count * sum(1 for _ in leaves(body)) > MAX_TERMS:
        raise CannotTellError(f"a sum or product of {count if count < MAX_TERMS else 'too many'} terms")
    return Apply(head, tuple(_put(body, index, Num(first.value + step)) for step in range(count)))


def _put(node: Node, name: str, value: Num) -> Node:
    if isinstance(node, Apply):
        return Apply(node.head, tuple(_put(arg, name, value) for arg in node.args))
    return value if isinstance(node, Name | Const) and node.name == name else node


def _refuse(what: str) -> Node:
    raise CannotTellError(what)
