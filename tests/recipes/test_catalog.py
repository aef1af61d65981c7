"""What is read from the text of a method's file is what importing it gives."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon import methods
from guerdon.keys import keys_of
from guerdon.method import Card, Method
from guerdon.recipes import constructors, recipe_names, recipes, rollout_recipes
from guerdon.recipes.catalog import catalog


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only file of methods that there is."""
    monkeypatch.setattr(methods, "__path__", [str(tmp_path)])
    catalog.cache_clear()
    yield tmp_path / "mine.py"
    catalog.cache_clear()


def test_the_text_says_what_the_modules_hold():
    names = sorted(module.name for module in pkgutil.iter_modules(methods.__path__))
    modules = [importlib.import_module(f"{methods.__name__}.{name}") for name in names]
    cards = {module.__name__: module.CARD for module in modules if isinstance(getattr(module, "CARD", None), Card)}
    assert {entry.module: entry.card for entry in catalog()} == cards
    assert [entry.module for entry in catalog()] == sorted(cards)


@pytest.mark.parametrize("entry", catalog(), ids=lambda entry: entry.card.slug)
def test_constructors_make_a_method_of_settings_alone(entry):
    module = importlib.import_module(entry.module)
    found = [f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")]
    signatures = {f.__name__: inspect.signature(f, eval_str=True) for f in found if f.__module__ == entry.module}
    expected = [
        name
        for name, signature in signatures.items()
        if signature.return_annotation is Method
        and all(parameter.annotation is not Method for parameter in signature.parameters.values())
    ]
    assert list(entry.constructors) == expected
    assert [f.__name__ for f in constructors(module)] == expected


def test_names_are_those_of_the_recipes():
    assert recipe_names() == list(recipes())
    assert rollout_recipes() == [name for name, recipe in recipes().items() if "data" not in keys_of(recipe)]


def test_a_file_is_read_and_not_run(file: Path):
    file.write_text(
        "raise SystemExit\n"
        "CARD = Card(slug='mine', name='Mine', family='policy', paper='none', summary='one ' 'two')\n"
        "def mine(beta: float = 0.1) -> Method: ...\n"
        "def around(method: Method, *, cap: float) -> Method: ...\n"
        "def beside(*, method: Method) -> Method: ...\n"
        "def _hidden() -> Method: ...\n"
        "def other() -> int: ...\n"
    )
    (entry,) = catalog()
    assert (entry.module, entry.constructors) == ("guerdon.methods.mine", ("mine",))
    assert entry.card == Card("mine", "Mine", "policy", "none", "one two")


def test_a_file_without_a_card_holds_no_method(file: Path):
    file.write_text("def mine() -> Method: ...\n")
    assert catalog() == ()


@pytest.mark.parametrize("card", ["Card(slug=NAME)", "Card(**FIELDS)", "Card('mine', 'Mine')", "OTHER", "Card()"])
def test_a_card_that_would_have_to_be_run_is_refused(file: Path, card: str):
    file.write_text(f"CARD = {card}\n")
    with pytest.raises(ValueError, match=r"mine\.py: CARD is read without running the file"):
        catalog()
