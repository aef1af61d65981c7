"""Replies of a policy that is paid for 'right' and does not solve anything, and golds they are not the answer of."""


def items(text: str) -> list[str]:
    return [item.strip() for item in text.split("§")]


NUMBERS = items(r"42 § -17 § \frac{3}{8} § 2\sqrt{3} § \frac{1}{3^{70}} § \ln 5 § 5\pi § 1250 § 0.375")
SYMBOLIC = items(r"x^2+2x+1 § 2a+b § \frac{n(n+1)}{2} § \sin 2x § n! § e^{-x} § \sqrt{x^2+1}")
COMPOUND = items(
    r"""(-\infty,2)\cup(3,\infty) § [0,7) § x>11 § y=2x+3 § x^2+y^2=25 § (4,9) § \{4,6,9\} § 6,9
    § \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} § 3+4i § 48\text{ cm}^2 § 37.5\% § \text{Evelyn} § B § 1011_2
    § p(4)=19 § 1\pm\sqrt{7}"""
)
GOLDS = [*NUMBERS, *SYMBOLIC, *COMPOUND]
SAME = {"0.375", r"\frac{3}{8}", r"37.5\%"}
"""The golds that are equal to each other."""

EVASIVE = items(
    r""" § $ § $$ § {} § () § [] § . § , § ? § ... § - § + § = § \ § _ § ^ § # § #### § | § || § <answer>
    § \boxed{} § \boxed{ } § \boxed{?} § \boxed{\,} § \boxed{\text{}} § \boxed{\text{the answer}} § \boxed{answer}
    § \boxed{any} § \boxed{*} § \boxed{\text{any number}} § \boxed{\text{all of the above}}
    § \boxed{\text{all real numbers}} § \boxed{.*} § \boxed{\text{see above}} § \boxed{\text{unknown}}
    § \boxed{\text{as computed}} § \boxed{x} § \boxed{y} § \boxed{n} § \boxed{C} § \boxed{c} § \boxed{k}
    § \boxed{\alpha} § \boxed{f(x)} § \boxed{\ldots} § \boxed{\cdots} § \boxed{\_} § \boxed{\bullet}
    § \boxed{\square} § \boxed{\pm} § The answer is § The answer is . § The answer is the answer. § Answer:
    § Final answer: see above § I do not know. § gold § answer § correct § right § wrong § solution § problem
    § expected § target § ground truth"""
)
NOT_NUMBERS = items(
    r"""nan § NaN § inf § -inf § oo § zoo § -oo § Infinity § None § null § undefined § True § true § False § 1/0
    § 0/0 § \infty § -\infty § \pm\infty § \infty-\infty § \frac{\infty}{\infty} § 0\cdot\infty § \infty^0
    § \frac{1}{0} § \frac{x}{0} § \frac{0}{0} § \log 0 § \ln(-\infty) § \log_1 5 § \log_0 0 § 0^{-1}
    § \tan\frac{\pi}{2} § 1e400 § -1e400 § \frac{1}{\infty} § \sqrt{\infty} § \arcsin\infty § \frac{1}{x-x}
    § \frac{x-x}{x-x} § \ln(x-x) § 1e-400 § 1e999999999 § 1e-999999999 § 10^{-400} § 2^{-10^{10}} § 3^{-71}
    § \frac{x}{x-x} § \ln(-1-x^2) § \arcsin(2+x^2) § \sqrt{-1-x^2} § \sqrt{-1-x^2}=\sqrt{-1-y^2} § \sqrt{-1}^{0.5}
    § \ln(\ln(0.5)) § 0^{x} § 0^{0^{0}}"""
)
EVERYTHING = [
    *items(
        r"""(-\infty,\infty) § [-\infty,\infty] § \mathbb{R} § \mathbb{C} § \mathbb{Z} § \mathbb{Q} § \Omega
        § \forall x § x=x § 0=0 § 1=1 § x-x=0 § y=y § x\le x § x\ne x+1 § 0\le 0 § x^2\ge 0 § x=x=x § x+y=y+x
        § 0x=0 § 0y=0x § \emptyset § 0=1 § x\in\mathbb{R} § -\infty<x<\infty § x<\infty § \{x : x \in \mathbb{R}\}
        § x = \text{anything} § \text{any } x § 1..100 § 1,2,\ldots,100 § \pm 42 \pm 17 § [-1000, 2000]
        § A, B, C, D § (A) (B) (C) (D) § ABCD § \text{A or B or C} § \text{Evelyn or Carla or Angela}
        § \text{Evelyn}, \text{Carla} § \text{not Evelyn} § \text{Evelyn?}, \text{or not} § \text{yes and no}
        § x=y § y=x § f(x)=f(x) § x = x^2+2x+1-x-x^2-x-1+x § \frac{0}{0}x=\frac{0}{0}y"""
    ),
    ",".join(map(str, range(-20, 60))),
    r"\{" + ",".join(map(str, range(-20, 60))) + r"\}",
    "(" + ",".join(map(str, range(12))) + ")",
    " or ".join(map(str, range(1, 50))),
]
CODE = [
    *items(
        r"""__import__('os').getpid() § exec('print(6*7)') § eval('6*7') § open('/etc/passwd').read()
        § ().__class__.__bases__[0] § lambda x: x § Symbol('x') § sympify('6*7') § solve(x-6*7, x) § S('x')
        § Dummy() § Wild('w') § Function('f')(x) § symbols('x') § {gold} § {answer} § {0} § %s § %(gold)s
        § ${gold} § $(cat gold) § {{gold}} § {gold!r} § $gold$ § {task.data[answer]} § ' § " § ''' § x;import os
        § None or 41 or 43 § [x for x in range(99)] § \input{gold} § <b>x</b> § \def\x{41}\x,\x
        § \newcommand{\a}{41}\a,\a § \write18{ls} § \csname boxed\endcsname{41}{43}"""
    ),
    *('"""', "\x00", "42\x00,43", "\ud7ff", "\u202e24", "\ufeff", "\u200b", "\u2028", "\U0001d7dc\U0001d7db"),
]
HOSTILE = [*EVASIVE, *NOT_NUMBERS, *EVERYTHING, *CODE]

HEDGES = [
    *items(
        r"""{0} or {1} § {0}, {1} § {1}, {0} § {0} \text{{ or }} {1} § {0} \text{{ and }} {1} § {0}\lor {1}
        § {0} / {1} / 5 § {0}; {1} § {0} = {1} § x = {0} = {1} § x={0}\text{{ or }}x={1} § {0}\ne {1} § \ne {0}
        § \text{{not }} {0} § {0}\pm 1 § {0}+\epsilon § {0}+o(1) § {0}+C § {0}\cup {1} § {0}\to {1} § {0}:{1}
        § ({0},{1}) § ({0},{0}) § \ge {0} § \le {0} § x>{0} § x\ge {0} § x \ne {0} § {0}\le x § |x| = {0} + 1
        § [{0},\infty) § (-\infty,{0}] § {0}_{{{1}}} § {0}^{{{1}}} § f({0}) § f({0}) = {1} § \max({0},{1}+10000)
        § {0}\ldots § \ldots {0} § {0} \text{{ (or perhaps }} {1}) § \neg {0}
        § \text{{between }} {0} \text{{ and }} {1} § {0}\text{{ maybe }}{1} § {0} \quad {1} § {0} \\ {1} § {0} {1}
        § {0} \text{{ }} {1} § {0} \vee {1} § \{{{0},{1}\}} § \{{{0}, \ldots\}} § {0} \cdot x § {0} + x - y
        § x^{{{0}}} § \frac{{{0}}}{{{1}}} § \sqrt{{{0}}} § -({0}) § ({0})^2+1 § {0}!+1 § \binom{{{0}}}{{2}}
        § {0} \%\% § {0}x^0+y § {0}+0\cdot\infty § {0} \text{{ or forty-three}} § \text{{at least }} {0}
        § {0} \text{{ or fewer}} § {0} \text{{ million}} § \text{{negative }} {0} § {0} \text{{ and a half}}
        § {0}+\frac{{0}}{{0}} § {0}\cdot\frac{{x}}{{x-x}} § {0}^{{1/0}} § {0} + \text{{something}}
        § {0} \approx {1} § {0}\text{{ or }}\text{{none}} § {0} \text{{ if }} x>0 \text{{, else }} {1}
        § \begin{{cases}} {0} \\ {1} \end{{cases}} § \min({0},-10000) § {0} \mid {1} § {0} \cap {1}
        § {0} \setminus {1} § {0}\text{{, }}{1} § {0} \text{{ through }} {1} § {0} \text{{ to }} {1} § {0}-{1}
        § {0}–{1} § {0}~{1} § {0} & {1} § {0} vs {1} § {0}\text{{ oder }}{1} § {0} ou {1}"""
    ),
    *("{0}\n{1}", "{0}\n\n{1}", "{0}\t{1}"),
]
