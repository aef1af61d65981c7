"""A thousand hostile programs, and nothing left of them."""

import pytest

from guerdon.sandbox import available
from tests.sandbox.hostile import TEMPLATES
from tests.sandbox.soak import soak

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "there is a sandbox")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_thousand_hostile_programs_leave_nothing_behind() -> None:
    soaked = soak(1000)
    print(f"\n{soaked.seconds:.0f} s, {dict(soaked.verdicts)}")
    assert soaked.wrong == []
    assert soaked.left == []
    assert sum(soaked.verdicts.values()) == 1000
    assert soaked.verdicts["right"] == 100


@pytest.mark.slow
def test_each_kind_of_hostile_program_once() -> None:
    soaked = soak(len(TEMPLATES) * 10 // 9 + 1)
    assert soaked.wrong == []
    assert soaked.left == []
