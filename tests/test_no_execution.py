"""Nothing that a model wrote is executed in the main process: a lint over the whole package.

`eval` and its kin are forbidden everywhere; what parses mathematics with sympy (which evaluates) lives in the math
grader, which nobody imports: it is only named to workers of the pool.
"""

import ast
from pathlib import Path

import pytest

import guerdon

ROOT = Path(guerdon.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

FORBIDDEN = {
    "eval",
    "exec",
    "compile",
    "parse_expr",
    "sympify",
    "lambdify",
    "literal_eval",
    "__import__",
    "loads",
    "load",
}
ALLOWED = {
    # imports of code that the user names, and of the library itself
    "pool/worker.py": {"__import__"},
    # ast.literal_eval evaluates literals only
    "tasks/gym_guard.py": {"literal_eval"},
    # the same, of the tests that a data set brings
    "rewards/verify/code/suite.py": {"literal_eval"},
    # shipped into the sandbox as text, and never imported here (see below)
    "rewards/verify/code/inside_runner.py": {"exec", "compile"},
    "rewards/verify/code/inside_checks.py": {"exec", "compile"},
    "rewards/verify/code/inside_candidate.py": {"exec", "compile"},
}
SHIPPED = "guerdon.rewards.verify.code.inside_"
UNPICKLING = {
    # requests from the parent, which is trusted; answers come back as JSON
    "pool/worker.py",
    # state that the run itself wrote
    "checkpoint.py",
}
EVALUATING = ("sympy", "latex2sympy2_extended", "math_verify")
GRADER = "rewards/verify/math/"


def place(file):
    return file.relative_to(ROOT).as_posix()


def called(tree):
    """(name, module it is taken from) of every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id, "", node.lineno
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr, ast.unparse(node.func.value), node.lineno


@pytest.mark.parametrize("file", FILES, ids=place)
def test_nothing_evaluates_text(file):
    for name, owner, line in called(ast.parse(file.read_text(encoding="utf-8"))):
        where = f"{place(file)}:{line}: {owner}.{name}"
        if name in ("load", "loads"):
            assert owner.split(".")[-1] not in ("pickle", "marshal", "dill") or place(file) in UNPICKLING, where
        elif name == "compile":
            assert owner == "re" or name in ALLOWED.get(place(file), ()), where
        elif name in FORBIDDEN and not place(file).startswith(GRADER):
            assert owner not in ("", "ast", "sympy", "builtins") or name in ALLOWED.get(place(file), ()), where


@pytest.mark.parametrize("file", FILES, ids=place)
def test_what_evaluates_mathematics_is_imported_by_the_grader_only(file):
    if place(file).startswith(GRADER):
        return
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert not name.startswith(SHIPPED), f"{place(file)}:{node.lineno} imports {name}"
            assert name.split(".")[0] not in EVALUATING, f"{place(file)}:{node.lineno} imports {name}"
            assert not name.startswith("guerdon.rewards.verify.math.") or name.endswith(".match"), (
                f"{place(file)}:{node.lineno} imports {name}; name it to the pool instead"
            )


def test_the_lint_sees_what_it_is_for():
    found = {name for name, _, _ in called(ast.parse("eval(x); builtins.exec(y); sympy.parse_expr(z)"))}
    assert found <= FORBIDDEN
    assert len(FILES) > 100
