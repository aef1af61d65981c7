"""One documentation page per method, made while mkdocs builds: from its `CARD`, its docstring and its constructor.

A hook of mkdocs (see `hooks` in mkdocs.yml). The pages live in the built site only; nothing is written into docs/.
A method is any module of `guerdon.methods` that has a `CARD`; adding a file there adds its page.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

SECTION = "Methods"
"""The entry of `nav` that the pages are listed under."""

FAMILIES = {
    "policy": "Policy optimisation",
    "preference": "Preference optimisation",
    "supervised": "Supervised",
    "reward": "Reward learning",
    "agent": "Agents",
    "search": "Search at test time",
    "diffusion": "Diffusion",
    "control": "Control",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages in the navigation, in place of the bare section entry."""
    pages: list[Any] = ["methods/index.md"]
    pages += [{module.CARD.name: path(module)} for module in by_family(collect())]
    config.nav = [{SECTION: pages} if entry == {SECTION: "methods/index.md"} else entry for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to what mkdocs renders."""
    from mkdocs.structure.files import File

    modules = collect()
    files.append(File.generated(config, "methods/index.md", content=index(modules)))
    for module in modules:
        files.append(File.generated(config, path(module), content=page(module)))
    return files


def collect(package: ModuleType | None = None) -> list[ModuleType]:
    """The modules of the package (default `guerdon.methods`) that have a `CARD`, by name.

    ValueError names the file of a method without a docstring, and two methods that claim one slug.
    """
    package = package or importlib.import_module("guerdon.methods")
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    methods = [module for module in modules if hasattr(module, "CARD")]
    taken: dict[str, ModuleType] = {}
    for module in methods:
        if not (module.__doc__ or "").strip():
            raise ValueError(f"{module.__file__} has a CARD but no docstring; its page needs one, with the equation")
        other = taken.setdefault(module.CARD.slug, module)
        if other is not module:
            raise ValueError(f"{module.__file__} and {other.__file__} both have the slug {module.CARD.slug!r}")
    return sorted(methods, key=lambda module: str(module.CARD.name).lower())


def by_family(modules: list[ModuleType]) -> list[ModuleType]:
    order = list(FAMILIES)
    return sorted(modules, key=lambda module: order.index(module.CARD.family))


def path(module: ModuleType) -> str:
    return f"methods/{module.CARD.slug}.md"


def index(modules: list[ModuleType]) -> str:
    """The list of all methods, a table per family."""
    lines = ["# Methods", "", f"{len(modules)} methods, each one file in `src/guerdon/methods/`.", ""]
    for family, title in FAMILIES.items():
        members = [module for module in modules if module.CARD.family == family]
        if members:
            lines += [f"## {title}", "", "| Method | In short |", "| --- | --- |"]
            lines += [f"| [{cell(m.CARD.name)}]({m.CARD.slug}.md) | {cell(m.CARD.summary)} |" for m in members] + [""]
    return "\n".join(lines)


def page(module: ModuleType) -> str:
    """The page of one method, as Markdown."""
    card = module.CARD
    lines = [f"# {prose(card.name)}", "", prose(card.summary), ""]
    lines += ["| | |", "| --- | --- |", f"| Paper | {paper(card.paper)} |"]
    lines += [f"| Family | {FAMILIES[card.family]} |", f"| Code | `{module.__name__}` |", ""]
    if card.differs:
        lines += ["## What differs from the paper", "", markdown(card.differs), ""]
    lines += ["## How it works", "", markdown(module.__doc__ or ""), ""]
    for constructor in constructors(module):
        lines += options(constructor)
    return "\n".join([*lines, *claim(card.slug)])


def claim(slug: str) -> list[str]:
    """A section on the method's claim, from its record; none where there is no record."""
    from guerdon.claims import record
    from guerdon.claims.picture import picture

    found = record.read(slug) if slug.replace("-", "_") in record.claim_names() else None
    if found is None:
        return []
    stale = " The code has changed since; run it again." if found["stale"] else ""
    lines = ["## Does the claim show here?", "", f"**{found['word']}**, on {len(found['seeds'])} seeds.{stale}", ""]
    lines += [
        prose(found["claim"]),
        "",
        "| Expected | Difference that way | 95% interval | |",
        "| --- | --- | --- | --- |",
    ]
    for one in found["expectations"]:
        d = one["difference"]
        control = " (control)" if one["control"] else ""
        lines.append(
            f"| {cell(one['text'])}{control} | {d['mean']:.4g} | {d['low']:.4g} to {d['high']:.4g} | {one['word']} |"
        )
    command = found["command"]
    return [
        *lines,
        "",
        picture(found),
        "",
        f"`{command}` repeats it; the experiment is in `src/guerdon/claims/{slug.replace('-', '_')}.py`.",
        "",
    ]


def constructors(module: ModuleType) -> list[Callable[..., Any]]:
    """The public functions of the module that make a `Method` (or a sequence of phases), in the order of the file."""
    own = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    made = [f for f in own if not f.__name__.startswith("_") and re.search(r"\b(Method|Phases)\b", _returns(f))]
    return sorted(made, key=lambda f: f.__code__.co_firstlineno)


def _returns(function: Callable[..., Any]) -> str:
    annotation = inspect.signature(function).return_annotation
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def options(constructor: Callable[..., Any]) -> list[str]:
    """A section on one constructor: what it says of itself, and a table of its arguments."""
    lines = [f"## `{constructor.__name__}`", ""]
    if constructor.__doc__:
        lines += [markdown(constructor.__doc__), ""]
    parameters = inspect.signature(constructor).parameters.values()
    if parameters:
        lines += ["| Option | Type | Default |", "| --- | --- | --- |"]
        lines += [f"| `{p.name}` | {code(_type(p))} | {code(_default(p))} |" for p in parameters] + [""]
    return lines


def _type(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return ""
    # A function is shown by its name: its address would differ in every build.
    return str(default.__name__) if inspect.isroutine(default) else repr(default)


def markdown(text: str) -> str:
    """A docstring as Markdown: indented lines (equations, code) become blocks, the rest is prose.

    Lines indented under a list item go on with the item.
    """
    out: list[str] = []
    block: list[str] = []
    item = False
    for line in [*inspect.cleandoc(text).splitlines(), ""]:
        indented = line.startswith("  ")
        if indented and not item:
            block.append(line)
            continue
        if not line.strip() and block:
            block.append("")
            continue
        out += _fence(block)
        block = []
        item = bool(re.match(r"([-*+]|\d+\.) ", line)) or (item and bool(line.strip()))
        out.append(prose(line))
    return "\n".join(out + _fence(block)).strip()


def _fence(block: list[str]) -> list[str]:
    lines = inspect.cleandoc("\n" + "\n".join(block)).splitlines()
    return ["", "```text", *lines, "```", ""] if lines else []


def prose(text: str) -> str:
    """Text with what Markdown would take for tags or emphasis escaped, except in `code` and as a list's bullet."""
    bullet, rest = re.match(r"([*] )?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    parts = re.split(r"(`[^`]*`)", rest)
    return (bullet or "") + "".join(p if p.startswith("`") else _escape(p) for p in parts)


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*").replace("](", r"]\(")


def cell(text: str) -> str:
    return prose(" ".join(text.split())).replace("|", r"\|")


def code(text: str) -> str:
    return f"`{text}`".replace("|", r"\|") if text else ""


def paper(text: str) -> str:
    """A paper reference with its arXiv number and addresses as links."""
    linked = re.sub(r"\barxiv:\s*(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", cell(text), flags=re.I)
    return re.sub(r"(?<![(\w/])(https?://[^\s|)]+)", r"<\1>", linked)
