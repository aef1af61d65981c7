"""One spelling for what can be written in several: Unicode, LaTeX spacing and font commands, separators, ordinals."""

from __future__ import annotations

import re
import unicodedata

from guerdon.rewards.verify.extract import plain

_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ", "0123456789+-()ni", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n", strict=True))
_RAISED_RUN = re.compile(f"[{''.join(map(re.escape, _RAISED))}]+")
_LOWERED_RUN = re.compile(f"[{''.join(map(re.escape, _LOWERED))}]+")
_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e\u2189]")
_SYMBOLS = {
    "×": r"\times ", "÷": r"\div ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "∗": "*", "−": "-", "π": r"\pi ",
    "∞": r"\infty ", "√": r"\sqrt ", "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ",
    "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "±": r"\pm ", "∓": r"\mp ", "≈": r"\approx ", "°": r"^\circ ",
    "º": r"^\circ ", "℃": r"^\circ C", "℉": r"^\circ F", "∅": r"\emptyset ", "θ": r"\theta ", "α": r"\alpha ",
    "β": r"\beta ", "γ": r"\gamma ", "λ": r"\lambda ", "μ": r"\mu ", "ω": r"\omega ", "φ": r"\phi ", "σ": r"\sigma ",
    "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "⟨": r"\langle ", "⟩": r"\rangle ", "ℝ": r"\mathbb{R}",
}  # fmt: skip
_SYMBOL = re.compile("|".join(map(re.escape, _SYMBOLS)))

_WRAPPERS = (
    (re.compile(r"^\$\$(.*)\$\$$", re.S), r"\1"),
    (re.compile(r"^\$([^$]*[^$\\])\$$", re.S), r"\1"),
    (re.compile(r"^\\\((.*)\\\)$", re.S), r"\1"),
    (re.compile(r"^\\\[(.*)\\\]$", re.S), r"\1"),
    (re.compile(r"^\*\*(.*)\*\*$", re.S), r"\1"),
    (re.compile(r"^`+([^`]*)`+$", re.S), r"\1"),
    (re.compile(r"^\"([^\"]*)\"$", re.S), r"\1"),
    (re.compile(r"^\\(?:boxed|fbox)\s*\{([^{}]*)\}$", re.S), r"\1"),
)
_GROUPED = (
    r"(?<=\d)\s*(?:,\s*\\!|\{\s*,\s*\}|\\!\s*,|\\,|\\;|\\ |~|[ '](?=\d{3}(?:[ ']\d{3})*(?![\d/.]|\s*\d|\s*/)))"
    r"\s*(?=\d{3}(?!\d))"
)
"""Whatever may separate groups of three digits, where a group follows."""
_SIZES = r"\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|(?:big|Big|bigg|Bigg)[lr]?)(?![A-Za-z])"
_FONTS = (
    r"\\(?:mbox|hbox|textrm|textbf|textit|textsf|texttt|textnormal|textup|mathrm|mathit|mathsf|bold|rm|operatorname\*?)"
    r"\s*\{"
)
_OPERATOR = r"\\operatorname\*?\s*\{\s*(arcsin|arccos|arctan|sinh|cosh|tanh|lcm|gcd|max|min|ln|log|exp)\s*\}"
_RULES = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (_GROUPED, ""),
        (_SIZES, " "),
        (r"\\(?:left|right|middle)(?![A-Za-z])\s*\.?", " "),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\{([^{}]*)\\over(?![A-Za-z])([^{}]*)\}", r"\\frac{\1}{\2}"),
        (r"(?<!\\)\\[!,;:> ]|~|\\(?:quad|qquad|hspace\{[^{}]*\}|phantom\{[^{}]*\})(?![A-Za-z])|\\(?=\n)", " "),
        (_OPERATOR, r"\\\1 "),
        (_FONTS, r"\\text{"),
        (r"\{\\(?:rm|bf|it)\s+([^{}]*)\}", r"\\text{\1}"),
        (r"\\text\s*\{\s*\}", " "),
        (r"\\(?:mathbf|boldsymbol|bm|mathcal|mathnormal)\s*\{([^{}]*)\}", r"{\1}"),
        (r"(?<=\d)\s*(?:\^\s*)?\{?\s*\\text\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?", ""),
        (r"(?<=\d)\s?\^\s?\{\s*(?:st|nd|rd|th)\s*\}", ""),
        (r"(?<=\d)(?:st|nd|rd|th)(?![A-Za-z])", ""),
        (r"\\degree(?:s)?(?![A-Za-z])|\\text\s*\{\s*(?:degrees?|deg)\s*\}", r"^\\circ "),
        (r"\^\s*\{\s*\\circ\s*\}", r"^\\circ "),
        (r"\\%|\\text\s*\{\s*(?:\\?%|percent)\s*\}|(?<![A-Za-z])per\s?cent(?:age)?(?![A-Za-z])", "%"),
        (r"\\(?:leq|leqslant|leqq)(?![A-Za-z])|<=|=<", r"\\le "),
        (r"\\(?:geq|geqslant|geqq)(?![A-Za-z])|>=", r"\\ge "),
        (r"\\neq(?![A-Za-z])|!=|\\not\s*=", r"\\ne "),
        (r"\\(?:colon)(?![A-Za-z])", ":"),
        (r"\\[lr]vert(?![A-Za-z])|\\vert(?![A-Za-z])|\\mid(?![A-Za-z])", "|"),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\lbrack(?![A-Za-z])", "["),
        (r"\\rbrack(?![A-Za-z])", "]"),
        (r"\*\*", "^"),
        (r"\s+", " "),
    )
)  # fmt: skip


def normal(text: str) -> str:
    """The text respelled: NFKC with powers, indices and vulgar fractions kept as such, one name for each command.

    What is said is not changed: separators between digits go only where groups of three follow, and units stay.
    """
    text = _unwrapped(_unicode(text))
    for pattern, new in _RULES:
        text = pattern.sub(new, text)
    return _unwrapped(text)


def _unicode(text: str) -> str:
    text = _RAISED_RUN.sub(lambda run: "^{" + "".join(_RAISED[c] for c in run.group()) + "}", text)
    text = _LOWERED_RUN.sub(lambda run: "_{" + "".join(_LOWERED[c] for c in run.group()) + "}", text)
    text = _VULGAR.sub(_fraction, text)
    text = _SYMBOL.sub(lambda match: _SYMBOLS[match.group()], text)
    return _SYMBOL.sub(lambda match: _SYMBOLS[match.group()], plain(text))


def _fraction(match: re.Match[str]) -> str:
    top, _, bottom = unicodedata.normalize("NFKC", match.group()).partition("\u2044")
    return rf" \frac{{{top}}}{{{bottom}}}"


def _unwrapped(text: str) -> str:
    """Without surrounding space, math delimiters, emphasis, and the full stop of a sentence."""
    before = None
    while text != before:
        before = text
        text = text.strip().rstrip(".,;:!" if not text.rstrip().endswith(("!", "\\,", "\\;", "\\!")) else "").strip()
        for pattern, inside in _WRAPPERS:
            text = pattern.sub(inside, text)
    return text
