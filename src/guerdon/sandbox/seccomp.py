"""System calls that programs in the sandbox do not get: a filter for the kernel (classic BPF), as bytes.

Namespaces keep a program away from the host. The filter takes away what would let it keep memory that no limit
counts (anonymous files, System V segments), look into its neighbours, get more than one session's share of the
processors (each new session is a scheduling group of its own), or reach rarely tested parts of the kernel.
Denied calls fail with EPERM, as if not permitted. Numbers: Linux `asm/unistd.h`; layout: `linux/seccomp.h`.
"""

from __future__ import annotations

import errno
import platform
import struct

_DENIED = {
    "x86_64": {
        "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64,
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438, "kcmp": 312,
        "mount": 165, "umount2": 166, "pivot_root": 155, "move_mount": 429, "fsopen": 430, "open_tree": 428,
        "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425,
        "add_key": 248, "request_key": 249, "keyctl": 250, "kexec_load": 246, "init_module": 175,
        "finit_module": 313, "delete_module": 176, "open_by_handle_at": 304, "sched_setscheduler": 144,
        "fanotify_init": 300, "personality": 135, "setsid": 112,
    },
    "aarch64": {
        "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "shmat": 196, "msgget": 186, "semget": 190,
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438, "kcmp": 272,
        "mount": 40, "umount2": 39, "pivot_root": 41, "move_mount": 429, "fsopen": 430, "open_tree": 428,
        "unshare": 97, "setns": 268, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425,
        "add_key": 217, "request_key": 218, "keyctl": 219, "kexec_load": 104, "init_module": 105,
        "finit_module": 273, "delete_module": 106, "open_by_handle_at": 265, "sched_setscheduler": 119,
        "fanotify_init": 262, "personality": 92, "setsid": 157,
    },
}  # fmt: skip
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def program(machine: str = "") -> bytes:
    """The filter for this machine (or the named one); b'' where its system call numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in _DENIED:
        return b""
    numbers = sorted(_DENIED[machine].values())
    code = [
        _step(_LOAD, 4),  # the architecture: calls of another one have other numbers
        _step(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, 0),  # the number of the call
        _step(_AT_LEAST, _X32_BIT, len(numbers) + 1, 0),
    ]
    code += [_step(_EQUAL, number, len(numbers) - i, 0) for i, number in enumerate(numbers)]
    code += [_step(_RETURN, _ALLOW), _step(_RETURN, _ERRNO | errno.EPERM)]
    return b"".join(code)


def _step(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, k)
