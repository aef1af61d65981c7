"""Functions that behave and misbehave, to be called in workers."""

import math
import os
import signal
import subprocess
import sys
import time


def echo(*args, **kwargs):
    return [list(args), kwargs]


def slow(value, seconds=0.05):
    time.sleep(seconds)
    return value


def hang():
    time.sleep(3600)


def tower():
    return 9 ** (9 ** (9**9))  # one computation in C that never yields the interpreter lock


def spin():
    while True:
        pass


def fail():
    raise ValueError("no such thing")


def leave():
    sys.exit(0)


def vanish():
    os._exit(0)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hog():
    return len(bytearray(2**31))


def flood():
    for _ in range(2000):
        print("x" * 10_000)
    return "done"


def big(size):
    return "x" * size


def odd():
    return {1, 2}


def nan():
    return [math.nan, math.inf]


def orphan():
    subprocess.Popen(["sleep", "3600"])
    return os.getpid()


def fork_and_vanish():
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(1)


def process():
    return os.getpid()


def close_output():
    sys.stdout.close()
    os.close(1)
    return "still here"
