"""Tokens of an answer: numbers, names, commands, signs and words. What is not known is refused here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from guerdon.rewards.verify.math.units import WORDS
from guerdon.rewards.verify.math.values import CannotTellError, Num
from guerdon.rewards.verify.math.words import is_word

MAX_LENGTH = 2000
"""Characters of an answer that are looked at; a longer one cannot be told."""


@dataclass(frozen=True)
class Token:
    """kind: num, name, const, func, word, cmd, op, sep, rel, mixed. text: its one spelling."""

    kind: str
    text: str
    number: Num | None = None
    spaced: bool = False
    """Whether white space stood before it."""


_FUNCTION_NAMES = "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp floor ceil gcd lcm max min"
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "ceiling": "ceil", "tg": "tan", "arctg": "arctan"}
_GREEK_NAMES = """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma
    tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar"""
GREEK = frozenset(_GREEK_NAMES.split())
_CONSTANTS = {"pi": "pi", "infty": "oo", "infinity": "oo", "inf": "oo", "oo": "oo", "e": "e", "i": "i"}
_RELATIONS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!=", "lt": "<", "gt": ">", "in": "in",
              "approx": "~", "equiv": "=", "simeq": "~", "sim": "~"}  # fmt: skip
_OPERATORS = {"cdot": "*", "times": "*", "div": "/", "pm": "pm", "mp": "mp", "cup": "cup", "cap": "cap",
              "frac": "frac", "sqrt": "sqrt", "binom": "binom", "circ": "circ", "langle": "<(", "rangle": ")>",
              "emptyset": "emptyset", "varnothing": "emptyset", "lfloor": "lfloor", "rfloor": "rfloor",
              "lceil": "lceil", "rceil": "rceil", "setminus": "setminus",
              "sum": "sum", "prod": "prod"}  # fmt: skip
_MARKED = {"overline": "bar", "bar": "bar", "vec": "vec", "hat": "hat", "widehat": "hat", "tilde": "tilde",
           "mathbb": "bb", "overrightarrow": "vec"}  # fmt: skip

_GRAMMAR = re.compile(
    r"""(?P<space>\s+)
    |(?P<repeating>\d*\.\d*\\overline\s*\{\s*\d+\s*\})
    |(?P<mixed>\d+\s+\d+\s*/\s*\d+(?![\d.,]))
    |(?P<spaced>\d{1,3}(?:\ \d{3})+(?![\d.]))
    |(?P<thousands>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d))
    |(?P<number>(?:\d+\.\d+|\.\d+|\d+\.(?!\d)|\d+)(?:[eE][-+]?\d+(?![A-Za-z\d.]))?)
    |(?P<text>\\text\s*\{(?P<inside>[^{}]*)\})
    |(?P<matrix>\\(?P<edge>begin|end)\s*\{(?P<env>[a-z]+\*?)\}(?:\s*\{[lcr|\s]+\})?)
    |(?P<newline>\\\\)
    |(?P<set>\\[{}])
    |(?P<dollar>\\\$|[$€£¥])
    |(?P<marked>\\(?P<mark>overline|bar|vec|hat|widehat|tilde|mathbb|overrightarrow)\s*(?:\{\s*(?P<under>[A-Za-z]{1,4})\s*\}|(?P<bare>[A-Za-z])))
    |(?P<figure>\\(?P<shape>angle|triangle|measuredangle)\s*(?:\{\s*)?(?P<corners>[A-Z]{1,4})(?![A-Za-z])(?:\s*\})?)
    |(?P<command>\\[A-Za-z]+)
    |(?P<letters>[A-Za-z]+)
    |(?P<other>[-+*/^_(){}\[\]|=<>,;:!%&'])""",
    re.VERBOSE | re.ASCII,
)  # fmt: skip
_SHORT_WORDS = frozenset({"and", "or", "yes", "no", "per"})


def tokens(text: str, thousands: bool = True) -> list[Token]:
    """The tokens of a respelled answer. thousands: whether '1,234' outside brackets is one number (else two).

    CannotTellError for a character or a command that is not known, or for a text that is too long.
    """
    if len(text) > MAX_LENGTH:
        raise CannotTellError(f"an answer of {len(text)} characters; at most {MAX_LENGTH} are read")
    return _joined(list(_scan(text, thousands)))


def _scan(text: str, thousands: bool) -> Iterator[Token]:
    position, depth, spaced = 0, 0, False
    while position < len(text):
        match = _GRAMMAR.match(text, position)
        if match is None:
            raise CannotTellError(f"{text[position]!r} is not understood")
        kind, end = match.lastgroup or "", match.end()
        kind = next(name for name in _KINDS if match.group(name) is not None)
        if kind == "thousands" and (depth or not thousands):
            end = position + len(re.match(r"\d+", match.group()).group())  # type: ignore[union-attr]
            yield Token("num", text[position:end], Num(Fraction(text[position:end])), spaced)
        elif kind != "space":
            for token in _token(kind, match, spaced):
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
                depth = max(depth, 0)
                yield token
        spaced = kind == "space"
        position = end


_KINDS = ("space", "repeating", "mixed", "spaced", "thousands", "number", "text", "matrix", "newline", "set", "dollar",
          "marked", "figure", "command", "letters", "other")  # fmt: skip
_OPENING, _CLOSING = ("(", "[", "\\{", "<(", "begin"), (")", "]", "\\}", ")>", "end")


def _token(kind: str, match: re.Match[str], spaced: bool) -> Iterator[Token]:
    written = match.group()
    if kind in ("number", "thousands", "spaced", "repeating", "mixed"):
        yield Token("mixed" if kind == "mixed" else "num", written, _number(kind, written), spaced)
    elif kind == "text":
        yield from _text(match.group("inside").strip(), spaced)
    elif kind == "matrix":
        yield Token(f"env {match.group('env')}", match.group("edge"), spaced=spaced)
    elif kind == "newline":
        yield Token("op", "\\\\", spaced=spaced)
    elif kind == "dollar":
        yield Token("dollar", written[-1], spaced=spaced)
    elif kind == "marked":
        yield Token(
            "name", f"{_MARKED[match.group('mark')]} {match.group('under') or match.group('bare')}", None, spaced
        )
    elif kind == "figure":
        yield Token("name", f"{match.group('shape')[-5:]} {match.group('corners')}", spaced=spaced)
    elif kind == "command":
        yield _command(written[1:], spaced)
    elif kind == "letters":
        yield from _letters(written, spaced)
    elif written in _RELATIONS:
        yield Token("rel", _RELATIONS[written], spaced=spaced)
    elif written in ",;":
        yield Token("sep", written, spaced=spaced)
    else:
        yield Token("op", written, spaced=spaced)


def _number(kind: str, written: str) -> Num:
    if kind == "mixed":
        whole, fraction = written.split(None, 1)
        top, bottom = (int(part) for part in fraction.split("/"))
        if bottom == 0 or top >= bottom:
            raise CannotTellError(f"{written!r} is no mixed number")
        return Num(int(whole) + Fraction(top, bottom))
    if kind == "repeating":
        start, digits = re.sub(r"[\s{}]", "", written).split("\\overline")
        whole, _, fixed = start.partition(".")
        tail = Fraction(int(digits), (10 ** len(digits) - 1) * 10 ** len(fixed))
        return Num(Fraction(int((whole + fixed) or 0), 10 ** len(fixed)) + tail)
    plain = written.replace(",", "").replace(" ", "").rstrip(".")
    mantissa, _, exponent = plain.lower().partition("e")
    if len(exponent) > 5 or abs(int(exponent or 0)) > 5000:
        raise CannotTellError(f"the exponent of {written!r} is too large")
    decimals = max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)
    value = Fraction(plain)
    return Num(value, decimals if "." in mantissa and decimals else None)


def _text(inside: str, spaced: bool) -> Iterator[Token]:
    if inside.casefold() in ("and", "or", ","):
        yield Token("sep", inside.casefold(), spaced=spaced)
    elif re.fullmatch(r"[,;]?\s*(and|or)", inside, re.IGNORECASE):
        yield Token("sep", inside[-3:].strip().casefold(), spaced=spaced)
    elif inside:
        yield Token("word", inside, spaced=spaced)


def _command(name: str, spaced: bool) -> Token:
    if name in _CONSTANTS:
        return Token("const", _CONSTANTS[name], spaced=spaced)
    if name in FUNCTIONS or name in _ALIASES:
        return Token("func", _ALIASES.get(name, name), spaced=spaced)
    if name in _RELATIONS:
        return Token("rel", _RELATIONS[name], spaced=spaced)
    if name in _OPERATORS:
        return Token("op", _OPERATORS[name], spaced=spaced)
    if name in GREEK:
        return Token("name", name, spaced=spaced)
    raise CannotTellError(f"\\{name} is not understood")


def _letters(run: str, spaced: bool) -> Iterator[Token]:
    """A run of letters: a function, a constant, a word, or a product of variables of one letter each."""
    lower = run.casefold()
    if lower in ("and", "or"):
        yield Token("sep", lower, spaced=spaced)
    elif run in FUNCTIONS or run in _ALIASES:
        yield Token("func", _ALIASES.get(run, run), spaced=spaced)
    elif run in ("sqrt", "frac", "cup", "pm"):
        yield Token("op", run, spaced=spaced)
    elif run in ("pi", "infinity", "inf", "oo", "Infinity"):
        yield Token("const", _CONSTANTS[lower], spaced=spaced)
    elif run in GREEK and len(run) > 2:
        yield Token("name", run, spaced=spaced)
    elif len(run) > 3 or run in WORDS or lower in _SHORT_WORDS or is_word(run):
        yield Token("word", run, spaced=spaced)
    else:
        for index, letter in enumerate(run):
            kind = "const" if letter in "ei" else "name"
            yield Token(kind, letter, spaced=spaced and not index)


def _joined(found: list[Token]) -> list[Token]:
    """'3 x 10^5' and '3x10^5': an x between a number and a power of ten is a multiplication sign."""
    for index in range(1, len(found) - 1):
        before, token, after = found[index - 1 : index + 2]
        if token.text == "x" and token.kind == "name" and before.kind == "num" and after.kind == "num":
            found[index] = Token("op", "*", spaced=True)
    return found
