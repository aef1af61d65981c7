"""Grading programs by tests, in a sandbox, so that nothing a program does can make it right but being right."""

from guerdon.rewards.verify.code.program import program_of
from guerdon.rewards.verify.code.suite import read_tests
from guerdon.rewards.verify.code.verifier import CodeTests, grade_code

__all__ = ["CodeTests", "grade_code", "program_of", "read_tests"]
