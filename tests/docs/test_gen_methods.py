"""The pages of methods: what is collected, what a page says, and that the whole site builds without a warning."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

METHOD = '''
"""Twice the reward, for the joy of it.

The advantage a of an episode with return r is

    a_i = 2 * r_i
    r_i <= 1

- a list item that
  goes on
"""
from __future__ import annotations
from guerdon.method import Card, Method

CARD = Card(slug="double", name="Double", family="policy", paper="Doe 2024, arXiv:2402.03300", summary="a | b < c",
            differs="no * here")

def double(clip: float = 0.2, kl: float | None = None, how=len) -> Method:
    """Doubles."""
    raise NotImplementedError

def helper(x: int) -> int:
    return x

def _hidden() -> Method:
    raise NotImplementedError
'''


@pytest.fixture(scope="module")
def gen() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_methods", ROOT / "docs" / "gen_methods.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Makes an importable package from file contents by module name."""
    name = "made_methods"

    def make(**files: str) -> ModuleType:
        (tmp_path / name).mkdir()
        for module, text in {"__init__": "", **files}.items():
            (tmp_path / name / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return importlib.import_module(name)

    yield make
    for module in [m for m in sys.modules if m.split(".")[0] == name]:
        del sys.modules[module]


def test_a_page_shows_card_equation_and_options(gen: ModuleType, package: Callable[..., ModuleType]) -> None:
    (module,) = gen.collect(package(double=METHOD))
    page = gen.page(module)
    assert page.startswith("# Double\n")
    assert "| Paper | Doe 2024, [arXiv:2402.03300](https://arxiv.org/abs/2402.03300) |" in page
    assert "```text\na_i = 2 * r_i\nr_i <= 1\n```" in page  # as written, nothing escaped
    assert "a | b &lt; c" in page
    assert r"no \* here" in page
    assert "- a list item that\n  goes on" in page
    assert "## `double`" in page
    assert "| `clip` | `float` | `0.2` |" in page
    assert r"| `kl` | `float \| None` | `None` |" in page
    assert "| `how` |  | `len` |" in page
    assert "helper" not in page
    assert "_hidden" not in page


def test_only_modules_with_a_card_are_methods_and_they_come_by_name(
    gen: ModuleType, package: Callable[..., ModuleType]
) -> None:
    other = METHOD.replace('"double"', '"alpha"').replace('"Double"', '"alpha"')
    modules = gen.collect(package(zeta=other, double=METHOD, parts='"""Shared."""\n'))
    assert [module.CARD.slug for module in modules] == ["alpha", "double"]
    assert [gen.path(module) for module in modules] == ["methods/alpha.md", "methods/double.md"]


def test_the_index_groups_by_family(gen: ModuleType, package: Callable[..., ModuleType]) -> None:
    pair = METHOD.replace('"double"', '"pair"').replace('"Double"', '"Aa"').replace('"policy"', '"preference"')
    modules = gen.collect(package(double=METHOD, pair=pair))
    index = gen.index(modules)
    assert index.index("Policy optimisation") < index.index("double.md") < index.index("Preference optimisation")
    assert r"| [Double](double.md) | a \| b &lt; c |" in index
    assert [module.CARD.slug for module in gen.by_family(modules)] == ["double", "pair"]


def test_a_method_without_docstring_is_refused_by_file(gen: ModuleType, package: Callable[..., ModuleType]) -> None:
    with pytest.raises(ValueError, match=r"double\.py has a CARD but no docstring"):
        gen.collect(package(double=METHOD[METHOD.index("from __future__") :]))


def test_one_slug_for_two_methods_is_refused(gen: ModuleType, package: Callable[..., ModuleType]) -> None:
    with pytest.raises(ValueError, match=r"two\.py and .*one\.py both have the slug 'double'"):
        gen.collect(package(one=METHOD, two=METHOD))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b <think> c", r"a \* b &lt;think> c"),
        ("`a * <b>` and *", r"`a * <b>` and \*"),
        ("* a bullet * b", r"* a bullet \* b"),
    ],
)
def test_prose_escapes_outside_code_only(gen: ModuleType, text: str, expected: str) -> None:
    assert gen.prose(text) == expected


def test_blank_lines_inside_an_equation_keep_it_one_block(gen: ModuleType) -> None:
    assert gen.markdown("x:\n\n    a\n\n    b\ny").count("```text") == 1


def test_an_address_becomes_a_link(gen: ModuleType) -> None:
    assert gen.paper("see https://example.org/a.pdf") == "see <https://example.org/a.pdf>"


def test_every_real_method_has_a_page(gen: ModuleType) -> None:
    for module in gen.collect():
        page = gen.page(module)
        assert module.CARD.name in page.splitlines()[0].replace("\\", "")
        assert gen.constructors(module), f"{module.__file__} has a CARD but no public function that returns a Method"


@pytest.mark.slow
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the documentation needs the extra 'docs'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= 5
    assert not (tmp_path / "site" / "gen_methods.py").exists()
    for page in pages:
        html = page.read_text()
        for loader in ('<script src="http', '<link rel="stylesheet" href="http', "fonts.g", '<img src="http'):
            assert loader not in html, f"{page} loads something from elsewhere: {loader}"
