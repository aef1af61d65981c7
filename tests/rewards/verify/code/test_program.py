"""Which part of a reply is the program."""

import pytest

from guerdon.rewards.verify.code import program_of


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```python\na = 1\n```\nthen\n```python\nb = 2\n```", "b = 2\n"),
        ("```python\na = 1\n```\nprints\n```\n1\n```", "a = 1\n"),
        ("```py\na = 1\n```\n```json\n{}\n```", "a = 1\n"),
        ("```Python3\na = 1\n```", "a = 1\n"),
        ("```\na = 1\n```", "a = 1\n"),
        ("```cpp\nint a;\n```", "int a;\n"),
        ("1. so:\n   ```python\n   if a:\n       b()\n   ```", "if a:\n    b()\n"),
        ("```python\r\na = 1\r\n```\r\n", "a = 1\n"),
        ("```python\ndef f():\n    return 1", "def f():\n    return 1"),
        ("```python\na = 1\n```\n```python\n\n```", "a = 1\n"),
        ("```python\na = 1\n```python\nb = 2\n```", "b = 2\n"),
        ("def f():\n    return 1\n", "def f():\n    return 1\n"),
        ("print(1)", "print(1)"),
        ("", None),
        ("yes", None),
        ("-3", None),
        ("The answer is 3.", None),
        ("```python\n```", None),
        ("def f(:", None),
        ("\0", None),
        ("(" * 50_000, None),
        ("-" * 50_000 + "x", None),
        ("x" + ".a" * 50_000, None),
    ],
    ids=range(23),
)
def test_the_last_python_block_is_the_program(reply, program):
    assert program_of(reply) == program
