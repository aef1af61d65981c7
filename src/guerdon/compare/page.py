"""`report.html` of a comparison: one file that needs nothing else. What a policy wrote is escaped, never markup."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path

from guerdon.charts import Curve, chart
from guerdon.compare.base import Arm
from guerdon.compare.jobs import DECODES, START, place_of
from guerdon.compare.results import Found, Points
from guerdon.evaluation.intervals import Interval
from guerdon.evaluation.protocol.base import Decode
from guerdon.evaluation.protocol.store import read_evaluated
from guerdon.report import PAGE, STYLE

SHARES = ("accuracy", "truncated", "attempted", "accuracy attempted", "refused")
EXAMPLES = 8
"""Items whose decodes are shown."""

ABOUT = {
    "accuracy": "share of right decodes",
    "distinct right": "different right answers to an item, among its decodes",
    "distinct": "different texts for an item, among its decodes",
    "length": "sampled tokens per decode",
    "entropy": "of the tokens that were sampled, in nats",
    "truncated": "share of decodes that met the length limit",
    "attempted": "share of decodes with an answer that could be judged",
}

COLOURS = ("#1f6feb", "#d1531f", "#2a9d5c", "#a24bd0", "#b8860b", "#d6336c", "#0f8b8d", "#6b7280")
DASHES = ("", "7 3", "2 3", "9 3 2 3")


def render(found: Found, folder: Path, command: str) -> str:
    """The page of a comparison."""
    c = found.comparison
    arms = " against ".join(arm.spec for arm in c.arms)
    title = f"{arms} on {c.options.tasks}"
    seeds = f"{len(found.seeds)} seed{'s' * (len(found.seeds) != 1)}"
    lead = f"{c.options.model}, {c.budget:,} sampled tokens per arm and seed, {seeds}, {c.decodes} decodes of each item"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(lead)}</p>',
        _early(found),
        _words(found),
        _figures(found),
        _used(found),
        _curves(found),
        _saturation(found),
        _examples(found, folder),
        _settings(found, command),
    ]
    return PAGE.format(title=escape(title), style=STYLE + _style(len(c.arms)), body="\n".join(filter(None, body)))


def _early(found: Found) -> str:
    told = [
        f"<li>{escape(f'{arm.spec}, seed {seed}: ended before its budget: {why}')}</li>"
        for arm in found.comparison.arms
        for seed, why in found.early(arm).items()
    ]
    return f"<h2>Look at this</h2><ul>{''.join(told)}</ul>" if told else ""


ENOUGH = 5
"""Seeds from which on a difference is put in a word, as in claims."""


def _words(found: Found) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in in_words(found))
    return f"<ul>{lines}</ul>" if lines else ""


def in_words(found: Found) -> list[str]:
    """How each arm differs from the first in what matters most, a sentence each; none for a single seed."""
    lines = []
    named = [name for name in found.telling if name in ("accuracy", "distinct right") or name.startswith("pass@")]
    for arm in found.comparison.arms[1:]:
        for metric in named:
            one = found.difference(arm, metric)
            if not math.isfinite(one.low):
                continue
            much = estimate(one, signed=True)
            word = "higher" if one.low > 0 else "lower" if one.high < 0 else "not told apart"
            word = f"from {one.n} seeds, too few to tell" if one.n < ENOUGH else word
            lines.append(f"{metric} of {arm.spec} less {found.first.spec}: {much}, {word}")
    return lines


def _figures(found: Found) -> str:
    first = found.first.spec
    head = ("", "", "start", "mean", "95% interval", f"less {first}", "95% interval")
    rows = []
    for metric in found.telling:
        start = found.start["evaluation"]["figures"].get(metric, math.nan)
        for place, arm in enumerate(found.comparison.arms):
            mean = found.mean(arm, metric)
            other = _cells(found.difference(arm, metric), signed=True) if place else ["", ""]
            lead = [metric, number(start)] if place == 0 else ["", ""]
            rows.append([lead[0], arm.spec, lead[1], *_cells(mean), *other])
    words = "Means over seeds, with Student's t intervals over seeds; differences are taken seed by seed."
    return f"<h2>At the end</h2>{_table(head, rows, big=3)}<p class='note'>{words}</p>"


def _cells(one: Interval, signed: bool = False) -> list[str]:
    return [number(one.mean, signed), span(one)]


def number(value: float, signed: bool = False) -> str:
    return "" if math.isnan(value) else f"{value:{'+' if signed else ''}.3f}"


def estimate(one: Interval, signed: bool = False) -> str:
    """0.409 (0.335 to 0.482), or the mean alone where there is no interval."""
    return f"{number(one.mean, signed)} ({span(one)})" if span(one) else number(one.mean, signed)


def span(one: Interval) -> str:
    """low to high, or '' where one seed alone says nothing of others."""
    return f"{one.low:.3f} to {one.high:.3f}" if math.isfinite(one.low) else ""


def _used(found: Found) -> str:
    used = {arm.spec: found.used(arm) for arm in found.comparison.arms}
    names = list(next(iter(used.values())))
    head = ("per seed", *(("over the budget" if name == "excess" else name.replace("_", " ")) for name in names))
    rows = [[spec, *(f"{one[name]:,.0f}" for name in names)] for spec, one in used.items()]
    return f"<h2>What each used</h2>{_table(head, rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], big: int = -1) -> str:
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = [
        "".join(f"<td{' class=big' if i == big else ''}>{escape(cell)}</td>" for i, cell in enumerate(row))
        for row in rows
    ]
    return f"<table><tr>{titles}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _curves(found: Found) -> str:
    legend, arms = _legend(found.comparison.arms), found.comparison.arms
    shown = [name for name in found.curves if name in found.telling or "@" in name]
    drawn = [_figure(name, about(name), [found.curve(arm, name) for arm in arms], _is_share(name)) for name in shown]
    decodes = f"{found.comparison.on_the_way} decodes of each item at each point"
    words = f"Against sampled tokens. {decodes}; bands are 95% intervals over seeds."
    return f"<h2>Learning</h2>{legend}<p class='note'>{words}</p><div class='curves'>{''.join(drawn)}</div>"


def about(name: str) -> str:
    """What a figure is, in words."""
    if name.startswith("pass@"):
        return f"chance that one of {name[5:]} decodes is right"
    if name.startswith("maj@"):
        return f"chance that the commonest answer of {name[4:]} decodes is right"
    return ABOUT.get(name, "")


def _is_share(name: str) -> bool:
    return name in SHARES or name.startswith(("pass@", "maj@", "ECE"))


def _figure(title: str, text: str, curves: Sequence[Points], share: bool, doubling: bool = False) -> str:
    drawn = chart(*(_curve(one, share) for one in curves), doubling=doubling)
    return f"<figure><figcaption><b>{escape(title)}</b> {escape(text)}</figcaption>{drawn}</figure>"


def _curve(points: Points, share: bool) -> Curve:
    """With its band, which goes no further than its figure can: 0 to 1 for a share, above 0 for a count."""
    low = 0.0 if all(y.mean >= 0 for _, y in points) else -math.inf
    high = 1.0 if share else math.inf
    band = [(x, max(low, y.low), min(high, y.high)) for x, y in points if math.isfinite(y.low)]
    return Curve([(x, y.mean) for x, y in points], band, share)


def _saturation(found: Found) -> str:
    arms = found.comparison.arms
    start = [(p["k"], p["pass"], p["maj"], p["tokens"]) for p in found.start["evaluation"]["saturation"]]
    alone = [_known([(k, p) for k, p, _, _ in start]), _known([(k, m) for k, _, m, _ in start])]
    by_k = [
        _figure("pass@k", "against k", [*(found.saturation(arm, "pass") for arm in arms), alone[0]], True, True),
        _figure("maj@k", "against k", [*(found.saturation(arm, "maj") for arm in arms), alone[1]], True, True),
    ]
    by_tokens = [[(found.tokens(arm)[int(k)], value) for k, value in found.saturation(arm, "pass")] for arm in arms]
    spent = _figure(
        "pass@k",
        "against the tokens that k decodes cost",
        [*by_tokens, _known([(t, p) for _, p, _, t in start])],
        True,
        True,
    )
    words = "Where the start's curve meets an arm's, the arm finds nothing that more samples of the start would not."
    legend = _legend(arms, start=True)
    return (
        f"<h2>More samples</h2>{legend}<p class='note'>{words}</p><div class='curves'>{''.join([*by_k, spent])}</div>"
    )


def _known(points: Sequence[tuple[float, float]]) -> Points:
    return [(x, Interval(y, y, y, 1)) for x, y in points]


def _legend(arms: Sequence[Arm], start: bool = False) -> str:
    names = [arm.spec for arm in arms] + (["start"] if start else [])
    if len(names) == 1:
        return ""
    keys = [
        f'<span class="key"><svg viewBox="0 0 30 8" class="swatch"><line x1="0" y1="4" x2="30" y2="4" '
        f'class="curve curve-{i}"/></svg> {escape(name)}</span>'
        for i, name in enumerate(names)
    ]
    return f'<p class="legend">{"".join(keys)}</p>'


def _style(arms: int) -> str:
    """A colour and a dash for each curve, so that they can be told apart without colours, too."""
    rules = [".swatch { width: 30px; height: 8px; } .key { margin-right: 1.2rem; white-space: nowrap; }"]
    for i in range(arms + 1):
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i // 2 % len(DASHES)]
        rules.append(f".curve-{i} {{ stroke: {colour}; stroke-dasharray: {dash or 'none'}; }}")
        rules.append(f".band-{i} {{ fill: {colour}; opacity: .12; }}")
    return "\n".join(rules)


def _examples(found: Found, folder: Path) -> str:
    """The same items, at the start and in the end of the first seed: every different text, and how often it came."""
    arms, seed = found.comparison.arms, found.seeds[0]
    ends = [read_evaluated(place_of(folder, arm, seed) / DECODES).by_item() for arm in arms]
    start = read_evaluated(folder / f"{START}.jsonl").by_item()
    held, _ = found.comparison.held
    prompts = {task.id: task.prompt if isinstance(task.prompt, str) else task.id for task in held}
    head = "".join(f"<th>{escape(name)}</th>" for name in ("item", "start", *(arm.spec for arm in arms)))
    rows = [
        f"<tr><td><pre>{escape(prompts[item])}</pre></td>{''.join(_texts(one[item]) for one in (start, *ends))}</tr>"
        for item in islice(start, EXAMPLES)
    ]
    return f"<h2>What they say, seed {seed}</h2><table class='examples'><tr>{head}</tr>{''.join(rows)}</table>"


TEXTS = 6
"""Different texts of an item that are shown."""


def _texts(decodes: Sequence[Decode]) -> str:
    right: Mapping[str, bool] = {one.text: one.right for one in decodes}
    told = Counter(one.text for one in decodes)
    lines = [
        f'<div class="{"right" if right[text] else "wrong"}">{number}&times; {escape(text)}</div>'
        for text, number in told.most_common(TEXTS)
    ]
    left = len(told) - TEXTS
    return f"<td>{''.join(lines)}{f'<div class=note>and {left} more</div>' if left > 0 else ''}</td>"


def _settings(found: Found, command: str) -> str:
    c = found.comparison
    rows = [[name, str(value)] for name, value in {**c.shared, **c.given}.items()]
    protocol = [[name, str(value)] for name, value in c.protocol.as_dict().items()]
    return (
        f"<h2>Settings</h2><p>Made with <code>{escape(command)}</code></p>"
        f"<details><summary>what all arms share</summary>{_table(('', ''), rows)}</details>"
        f"<details><summary>protocol of the evaluation</summary>{_table(('', ''), protocol)}</details>"
    )
