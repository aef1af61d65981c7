import pytest

from guerdon.tasks.gym_guard import EVALUATES_FORMULA, EVALUATES_LITERAL, EVALUATES_NUMBERS, refusal

ATTACKS = [
    "__import__('os').system('true')",
    "().__class__.__base__.__subclasses__()",
    "[x for x in range(9)]",
    "(lambda: 1)()",
    "open('/etc/passwd').read()",
    "print(1)",
]


@pytest.mark.parametrize("name", sorted(EVALUATES_LITERAL | EVALUATES_NUMBERS | EVALUATES_FORMULA))
@pytest.mark.parametrize("answer", ATTACKS)
def test_code_is_refused_by_every_set_that_would_run_it(name, answer):
    assert refusal(name, answer) is not None


@pytest.mark.parametrize(
    "answer",
    ["9**9**9", "9**(9**9)", "9**(9*9*9*9)", "((9**99)**99)**99", "9^9999", "9^9^9", "exp(9)", "1e9", "8+" * 600],
)
def test_numbers_that_would_take_for_ever_are_refused(answer):
    assert refusal("countdown", answer) is not None


@pytest.mark.parametrize("answer", ["x.args", "eval(x)", "lambda x", "x if x else x", "f(x)", "N(pi, 10**9)"])
def test_formulas_hold_known_functions_only(answer):
    assert refusal("simple_integration", answer) is not None


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("countdown", "7*89 - 28/(4+3)"),
        ("puzzle24", "9*9/3 - 3"),
        ("simple_integration", "-23*X**10/3 - X**9 - 10*X**7 + 8*X**2/7 + C"),
        ("intermediate_integration", "exp(3*x**2 + 8*x - 10) + C"),
        ("intermediate_integration", "2*(4*x + 1)**(3/2)/3 + sin(x)**2"),
        ("polynomial_multiplication", "-68*z**4 + 3.5*z*y"),
        ("spiral_matrix", "1 2 3"),
        ("spiral_matrix", "[1, 2, -3]"),
        ("string_insertion", "ABCDE"),
        ("string_insertion", "['A', 'B']"),
        ("n_queens", "_ Q _\n_ _ Q"),
        ("chain_sum", "__import__('os')"),
    ],
)
def test_plain_answers_pass_as_does_everything_where_nothing_is_run(name, answer):
    assert refusal(name, answer) is None
