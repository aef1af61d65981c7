from __future__ import annotations

from speed.targets import TARGETS, Target, judged


def test_a_target_is_met_at_its_bound() -> None:
    least, most = Target("", ("a", "b"), least=1.8), Target("", ("a", "b"), most=1.8)
    assert [t.judge({"a": {"b": 1.8}})["met"] for t in (least, most)] == [True, True]  # type: ignore[index]
    assert least.judge({"a": {"b": 1.79}}) == {"name": "", "found": 1.79, "least": 1.8, "met": False}
    assert most.judge({"a": {"b": 1.81}}) == {"name": "", "found": 1.81, "most": 1.8, "met": False}


def test_what_a_result_does_not_have_is_not_judged() -> None:
    assert Target("", ("a", "b"), least=1).judge({"a": 3}) is None
    assert judged("S", {"ratios": {"step": 2.0}}) == [
        {"name": "times as fast as the peer", "found": 2.0, "least": 1.8, "met": True}
    ]
    assert judged("ceilings", {}) == []


def test_every_target_has_one_bound() -> None:
    for targets in TARGETS.values():
        assert all((target.least is None) != (target.most is None) for target in targets)
