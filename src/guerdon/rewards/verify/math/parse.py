"""The whole of a respelled answer to one typed value, or CannotTellError: nothing is skipped and nothing is guessed.

answer    a list of items, between commas, semicolons, 'and' or 'or'
item      sides between relation signs; a label before '=' (x, f(2), AB, a word) may be any name
side      sets joined by unions, or an expression with its unit
The expression itself is read in `expression.py`.
"""

from __future__ import annotations

import re
from fractions import Fraction

from guerdon.rewards.verify.math.expression import Expressions
from guerdon.rewards.verify.math.intervals import without
from guerdon.rewards.verify.math.lexer import Token, tokens
from guerdon.rewards.verify.math.signs import spread, taken_off
from guerdon.rewards.verify.math.units import canonical
from guerdon.rewards.verify.math.values import (
    MINUS_ONE,
    ONE,
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
    names,
    times,
)
from guerdon.rewards.verify.math.words import as_choice, as_text, unsaid

_MATRICES = tuple(f"env {name}" for name in ("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"))
_DIGITS = re.compile(r"\d+|[A-Fa-f]+", re.ASCII)

_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
          "ten": "10", "twelve": "12", "sixteen": "16"}  # fmt: skip
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

MAX_ITEMS = 60
"""Items of a list or sides of a chain that are read."""


def parse(text: str, thousands: bool = True) -> Value:
    """The value of a respelled answer (`normal.normal`). thousands: see `lexer.tokens`.

    CannotTellError says what is not understood.
    """
    worded = as_choice(text) or as_text(text)
    if worded is not None:
        return worded
    return _Parser(tokens(text, thousands)).answer()


class _Parser(Expressions):
    """Sets, relations and units on top of expressions."""

    def answer(self) -> Value:
        if not self.tokens:
            raise CannotTellError("nothing to read")
        items, words = self.listed(())
        if len(items) == 1:
            return items[0]
        if words == {"or"} and all(isinstance(item, Relation) for item in items):
            return SetOf(tuple(items), braces=True)
        return SetOf(_flat(items))

    def listed(self, closing: tuple[str, ...]) -> tuple[list[Value], set[str]]:
        """Items up to a closing token, which is left to the caller, or to the end; and the separators seen."""
        items, separators = [self.item()], set()
        while not self.at(*closing) and self.token is not None:
            separators.add(self.separator())
            items.append(self.item())
            if len(items) > MAX_ITEMS:
                raise CannotTellError(f"more than {MAX_ITEMS} items")
        return items, separators

    def separator(self) -> str:
        token = self.take()
        if token.kind != "sep":
            raise CannotTellError(f"{token.text!r} after a whole answer")
        if (
            token.text == ","
            and self.token is not None
            and self.token.kind == "sep"
            and self.token.text in ("and", "or")
        ):
            token = self.take()
        return token.text

    def item(self) -> Value:
        if self.at_kind("rel") and self.at("~"):
            self.take()
        label = self.label()
        sides: list[Value] = [label] if label else [self.side()]
        signs: list[str] = []
        while label is not None or self.at_kind("rel"):
            sign = "=" if label is not None else self.take().text
            label = None
            side = self.side()
            signs.append(sign)
            sides.append(side)
            if len(signs) > MAX_ITEMS:
                raise CannotTellError(f"more than {MAX_ITEMS} sides")
        return Relation(tuple(sides), tuple(signs)) if signs else sides[0]

    def label(self) -> Quantity | None:
        """What stands before '=' as a name for the answer, with the '='; None, and nothing taken, where none does."""
        start, text = self.position, ""
        while (token := self.token) is not None and token.kind in ("name", "word") and self.position - start < 6:
            text += self.take().text
        if text and self.at("("):
            inside = self._arguments()
            text = f"{text}({inside})" if inside else ""
        elif not text and self.at("("):
            inside = self._arguments()
            text = f"({inside})" if inside and "," in inside and not any(c.isdigit() for c in inside) else ""
        taken = self.position - start
        single = taken == 1 or "(" in text or text.isupper() or (text and self.tokens[start].kind == "word")
        if text and single and self.at("=") and not self._variable_call(text):
            self.take()
            return Quantity(Name(text))
        self.position = start
        return None

    def _arguments(self) -> str:
        """The text of '(a, 2)' as far as it is only names and numbers; '' where it is more."""
        self.take()
        text = ""
        while (token := self.token) is not None and token.kind in ("name", "num", "sep", "const") and len(text) < 20:
            text += self.take().text
        return text if self.accept(")") else ""

    @staticmethod
    def _variable_call(text: str) -> bool:
        return text[0] in "xyzabcn" and text[1:2] == "("

    def side(self) -> Value:
        parts = [self.piece()]
        if self.accept("setminus"):
            removed = self.piece()
            if parts != [Quantity(Name("bb R"))] or not isinstance(removed, SetOf):
                raise CannotTellError("a difference of sets other than the real line without points")
            return without(removed.items)
        if self.at(":"):
            return self.ratio(parts)
        while self.at("cup"):
            self.take()
            parts.append(self.piece())
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(part, SetOf) for part in parts):
            return SetOf(tuple(item for part in parts if isinstance(part, SetOf) for item in part.items), braces=True)
        if any(isinstance(part, Quantity | Text | Matrix | Based | Relation) for part in parts):
            raise CannotTellError("a union of what is no set")
        return Union(tuple(parts))

    def ratio(self, parts: list[Value]) -> Value:
        """2:3, or the time 10:30: compared place by place, as written."""
        while self.accept(":"):
            parts.append(self.piece())
            if len(parts) > MAX_ITEMS:
                raise CannotTellError(f"more than {MAX_ITEMS} items")
        if not all(isinstance(part, Quantity) for part in parts):
            raise CannotTellError("a ratio of what is no number")
        return Bracket(":", tuple(parts), ":")

    def piece(self) -> Value:
        """A set, a bracketed list, words, digits with a base, or an expression with its unit."""
        token = self.token
        if token is None:
            raise CannotTellError("the answer ends early")
        if token.text == "emptyset":
            self.take()
            return SetOf((), braces=True)
        if token.text in ("\\{", "{", "(", "[", "<("):
            found = self.collection()
            if found is not None:
                return found
        return self.based() or self.matrix() or self.quantity()

    def collection(self) -> Value | None:
        """A set, point or interval that starts here; None, and nothing taken, where the brackets only group."""
        if not (self.at("\\{") or self.holds_list()):
            return None
        opening = self.take().text
        self.deeper()
        if opening == "\\{":
            value: Value = self.braces()
        else:
            closing = {"{": ("}",), "<(": (")>",)}.get(opening, (")", "]"))
            items, _ = self.listed(closing)
            value = self.bracketed(opening, items, self.take().text)
        self.depth -= 1
        return value

    def holds_list(self) -> bool:
        """Whether the brackets that open here hold more than one scalar: a list, a relation, a matrix, a union."""
        depth = 0
        for token in self.tokens[self.position :]:
            text = "" if token.kind in ("word", "name") else token.text
            depth += (text in ("(", "[", "{", "\\{", "<(")) - (text in (")", "]", "}", "\\}", ")>"))
            if depth == 0:
                return False
            if depth == 1 and (token.kind in ("sep", "rel") or text in ("begin", "cup", "emptyset")):
                return True
        return False

    def bracketed(self, opening: str, items: list[Value], closed: str) -> Value:
        if opening == "{":
            return SetOf(_flat(items), braces=True)
        if len(items) == 1:
            if isinstance(items[0], Quantity | Text | Based | Bracket):
                raise CannotTellError("brackets around something else than a number")
            return items[0]
        return Bracket("(" if opening == "<(" else opening, tuple(items), ")" if closed == ")>" else closed)

    def braces(self) -> Value:
        if self.accept("\\}"):
            return SetOf((), braces=True)
        name = self.token
        after = self.tokens[self.position + 1].text if self.position + 1 < len(self.tokens) else ""
        if name is not None and name.kind == "name" and after in ("|", ":"):
            self.take()
            self.take()
            inner, separators = self.listed(("\\}",))
            self.need("\\}")
            if separators or len(inner) != 1 or not isinstance(inner[0], Relation):
                raise CannotTellError("a set described by more than one condition")
            return inner[0]
        items, _ = self.listed(("\\}",))
        self.need("\\}")
        return SetOf(_flat(items), braces=True)

    def based(self) -> Based | None:
        """12_8, 1A_{16}: digits, an underscore and a base; None, and nothing taken, for anything else."""
        start, digits = self.position, ""
        while (token := self.token) is not None and _DIGITS.fullmatch(token.text):
            digits += self.take().text
        if digits[:1].isdigit() and self.accept("_"):
            base = self.subscript()
            base = _BASES.get(base.casefold(), base)
            if base.isdigit():
                return Based(digits.upper(), base)
        self.position = start
        return None

    def matrix(self) -> Value | None:
        """A matrix, with a scalar before it or without; None, and nothing taken, where there is none."""
        ahead = self.tokens[self.position :]
        start = next(
            (i for i, token in enumerate(ahead) if token.text == "begin" or token.kind in ("sep", "rel")), None
        )
        if start is None or ahead[start].text != "begin":
            return None
        factor = _factor(ahead[:start])
        self.position += start
        if self.take().kind not in _MATRICES:
            raise CannotTellError("an environment that is no matrix")
        rows = [[self.side()]]
        while not self.at("end"):
            if self.accept("&"):
                rows[-1].append(self.side())
            elif self.accept("\\\\"):
                rows += [] if self.at("end") else [[self.side()]]
            else:
                raise CannotTellError("a matrix that is not closed")
            if sum(map(len, rows)) > MAX_ITEMS:
                raise CannotTellError(f"more than {MAX_ITEMS} entries")
        self.take()
        if len({len(row) for row in rows}) != 1:
            raise CannotTellError("rows of different length")
        return Matrix(tuple(tuple(_scaled(entry, factor) for entry in row) for row in rows))

    def quantity(self) -> Value:
        """A scalar with what stands around it: a currency before, or a unit after."""
        negative = (
            self.at("-") and self.position + 1 < len(self.tokens) and self.tokens[self.position + 1].kind == "dollar"
        )
        self.position += negative
        prefix = self.take().text if self.at_kind("dollar") else ""
        node, inner = taken_off(self.scaled(self.sum()))
        stated = [unit for unit in (canonical(prefix) if prefix else "", self.unit(), inner) if unit]
        if len(set(stated)) > 1:
            raise CannotTellError(f"several units: {' and '.join(stated)}")
        return spread(Quantity(times(MINUS_ONE, node) if negative else node, stated[0] if stated else ""))

    def scaled(self, node: Node) -> Node:
        """The number times the 'million' after it."""
        token = self.token
        first = token.text.split(None, 1) if token is not None and token.kind == "word" else []
        if not first or first[0].casefold() not in _SCALES or names(node):
            return node
        self.position += len(first) == 1
        if len(first) > 1:
            self.tokens[self.position] = Token("word", first[1])
        return times(node, Num(Fraction(_SCALES[first[0].casefold()])))

    def unit(self) -> str:
        """The unit after a scalar, in canonical spelling; '' where there is none."""
        text, words = "", 0
        while (token := self.token) is not None:
            if token.kind in ("word", "dollar") or (words and token.kind == "name" and text.rstrip()[-1:] in "/"):
                text += " " + self.take().text
                words += 1
            elif words and token.text in ("^", "/", "*"):
                text += self.take().text
                text += self._exponent() if token.text == "^" else ""
            elif words and token.text == "per":
                text += " " + self.take().text + " "
            else:
                break
        if words and unsaid(text):
            raise CannotTellError(f"{text.strip()!r} is no unit")
        return canonical(text) if words else ""

    def _exponent(self) -> str:
        braces = self.accept("{")
        sign = "-" if self.accept("-") else ""
        token = self.take()
        if token.kind != "num" or not token.text.isdigit():
            raise CannotTellError("an odd power of a unit")
        if braces:
            self.need("}")
        return sign + token.text


def _flat(items: list[Value]) -> tuple[Value, ...]:
    """Items with the two values of a plus-minus side by side."""
    flat: list[Value] = []
    for item in items:
        flat += item.items if isinstance(item, SetOf) and not item.braces else [item]
    if len(flat) > MAX_ITEMS:
        raise CannotTellError(f"more than {MAX_ITEMS} items")
    return tuple(flat)


def _factor(before: list[Token]) -> Node:
    """The scalar that the tokens before a matrix are."""
    if not before:
        return ONE
    if len(before) == 1 and before[0].text == "-":
        return MINUS_ONE
    reader = _Parser(before[:-1] if before[-1].text == "*" else before)
    node = reader.sum()
    if reader.token is not None:
        raise CannotTellError("something before a matrix that is no factor")
    return node


def _scaled(entry: Value, factor: Node) -> Value:
    if not isinstance(entry, Quantity):
        raise CannotTellError("an entry of a matrix that is no scalar")
    return entry if factor is ONE else Quantity(times(factor, entry.node), entry.unit)
