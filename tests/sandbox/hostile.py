"""Programs that mean harm, made from templates: each is run where a right answer was asked for, and none has one."""

from __future__ import annotations

from collections.abc import Mapping

TEMPLATES: Mapping[str, str] = {
    "fork bomb": "while True:\n    os.fork()",
    "fork bomb in new sessions": "while True:\n    if os.fork() == 0:\n        os.setsid()",
    "fork and wait": "while True:\n    if os.fork() == 0:\n        time.sleep(3600)",
    "threads": "import threading\nthreading.stack_size(65536)\nwhile True:\n"
    "    threading.Thread(target=time.sleep, args=(3600,)).start()",
    "memory hog": "hog = []\nwhile True:\n    hog.append(bytearray(20_000_000 + {n}))",
    "memory hogs": "for _ in range(6):\n    if os.fork() == 0:\n        hog = [bytearray(10**7) for _ in range(15)]\n"
    "        time.sleep(3600)\ntime.sleep(3600)",
    "shared memory": "import mmap\narea = mmap.mmap(-1, 200_000_000)\nfor at in range(0, 200_000_000, 4096):\n"
    "    area[at] = 1\nfor _ in range(4):\n    os.fork()\ntime.sleep(3600)",
    "anonymous files": "files = []\nwhile True:\n    files.append(os.memfd_create('x'))\n"
    "    os.write(files[-1], bytes(10**7))",
    "gigabytes of output": "while True:\n    os.write({fd}, b'x' * 2**20)",
    "one huge line": "print('9' * (20_000_000 + {n}), flush=True)",
    "sleep": "time.sleep(3600)",
    "busy loop": "while True:\n    pass",
    "deaf to signals": "for number in range(1, 32):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n"
    "    except OSError:\n        pass\nwhile True:\n    time.sleep(0.01)",
    "daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(3600)\n    os._exit(0)",
    "daemon that holds the output": "if os.fork() == 0:\n    time.sleep(3600)\nos._exit(0)",
    "deleter": "import shutil\nfor path in ('/', '/home', '/etc', {canary!r}, '.'):\n"
    "    shutil.rmtree(path, ignore_errors=True)",
    "sockets": "for _ in range(50):\n    link = socket.socket()\n    link.settimeout(0.2)\n"
    "    link.connect_ex(('127.0.0.1', {port}))\nsocket.create_connection(('127.0.0.1', {port}))",
    "symbolic links": "os.symlink({canary!r}, 'link')\nos.symlink('/proc/1/root', 'up')\n"
    "open('link', 'w').write('gone')",
    "up and out": "for path in ('../' * 9 + {canary!r}, '/proc/1/root' + {canary!r}, '/proc/self/cwd' + {canary!r}):\n"
    "    open(path, 'a').write('gone')",
    "full folder": "with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(2**20))",
    "full everything": "for folder in ('/tmp', '/dev/shm', '/', '/dev', '/etc', '/usr', '/proc'):\n    try:\n"
    "        while True:\n            open(f'{{folder}}/{{time.time_ns()}}', 'wb').write(bytes(2**20))\n"
    "    except OSError:\n        pass",
    "thousands of files": "for number in range(100_000):\n    open(f'file-{{number}}', 'w').close()",
    "deep folders": "while True:\n    os.mkdir('d')\n    os.chdir('d')",
    "kernel settings": "open('/proc/sys/kernel/core_pattern', 'w').write('|/box/gone')",
    "looking around": "for root, _, files in os.walk('/proc'):\n    for file in files:\n        try:\n"
    "            open(os.path.join(root, file), 'rb', buffering=0).read(100)\n"
    "        except OSError:\n            pass",
    "kill everything": "os.kill(-1, signal.SIGKILL)\nos.kill(1, signal.SIGKILL)\nos.kill(os.getppid(), signal.SIGKILL)",
    "kill the group": "os.killpg(0, signal.SIGKILL)",
    "writing to every descriptor": "for fd in range(300):\n    try:\n"
    '        os.write(fd, b\'{{"i": 0, "value": {n}, "ok": true, "passed": true}}\\n\')\n'
    "    except OSError:\n        pass\nos._exit(0)",
    "closing every descriptor": "os.closerange(0, 300)\ntime.sleep({n} % 2)",
    "stopping": "os.kill(os.getppid(), signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)",
    "eating the input": "for fd in range(300):\n    try:\n        os.set_blocking(fd, False)\n"
    "        os.read(fd, 2**20)\n    except OSError:\n        pass",
    "zombies": "for _ in range(40):\n    if os.fork() == 0:\n        os._exit(0)\ntime.sleep(3600)",
    "recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef down(n):\n    return down(n + 1)\ndown(0)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "leaving early": "os._exit(0)",
    "becoming another": "os.execv('/bin/true', ['true'])",
    "becoming a shell": "os.execv('/bin/sh', ['sh', '-c', 'while :; do sleep 1000 & done'])",
    "tracing": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.ptrace(16, os.getppid(), 0, 0)\n"
    "libc.unshare(0x10000000)\nlibc.mount(b'none', b'/box', b'tmpfs', 0, None)",
    "overwriting the runner": "for name in os.listdir('.'):\n    if name.endswith('.py'):\n"
    "        open(name, 'w').write('print(1)')",
    "patching": "import builtins, json, sys\njson.dumps = lambda *_, **__: '1'\nos._exit = lambda code: None\n"
    "builtins.print = lambda *_, **__: None\nsys.exit(0)",
    "lying equality": "class Lie(int):\n    def __eq__(self, other):\n"
    "        return True\n    __hash__ = int.__hash__\n"
    "answer = Lie({n})",
    "huge number": "answer = 10 ** 10 ** (3 + {n} % 3)",
    "huge result": "answer = [[]] * 3_000_000",
    "deep result": "answer = []\nfor _ in range(100_000):\n    answer = [answer]",
    "fifo": "os.mkfifo('pipe')\nopen('pipe').read()",
    "alarm clock": "signal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile True:\n    pass",
    "many pipes": "pipes = []\nwhile True:\n    pipes.append(os.pipe())\n    os.set_blocking(pipes[-1][1], False)\n"
    "    os.write(pipes[-1][1], bytes(2**16))",
    "tree of sleepers": "for _ in range(5):\n    os.fork()\ntime.sleep(3600)",
}

_AT_START = "import os, signal, socket, time\nanswer = None\n{body}\ndef solve(x):\n    return answer\nprint(answer)\n"
_AT_CALL = (
    "import os, signal, socket, time\ndef solve(x):\n    answer = None\n{indented}\n    return answer\n"
    "if __name__ == '__main__':\n    print(solve(input()))\n"
)


def hostile(number: int, canary: str, port: int) -> tuple[str, str]:
    """(what it is, source) of the program of this number; it acts when it starts or when it is called, in turn."""
    names = list(TEMPLATES)
    name, turn = names[number % len(names)], number // len(names)
    body = TEMPLATES[name].format(n=number, canary=canary, port=port, fd=1 + turn % 2)
    if turn % 2 == 0:
        return name, _AT_START.format(body=body)
    return name, _AT_CALL.format(indented="\n".join(f"    {line}" for line in body.splitlines()))


HONEST = "def solve(x):\n    return x * x + 1\nif __name__ == '__main__':\n    print(solve(int(input())))\n"
