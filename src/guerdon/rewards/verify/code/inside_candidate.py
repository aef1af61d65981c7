"""Runs inside the sandbox, beside the program: lets code in another sandbox call the program's functions.

Stand-alone, put into the sandbox as a file. Requests come as lines of JSON on descriptor 200, answers go to 201. For
each test a fresh fork of the loaded program answers; objects that are not plain values stay here, and the other side
gets a number for them.
"""

from __future__ import annotations

import json
import os
import types
from typing import Any

import inside_runner  # type: ignore[import-not-found]
import wire  # type: ignore[import-not-found]

REQUESTS, ANSWERS = 200, 201


def main() -> None:
    requests = open(REQUESTS, "rb", buffering=0, closefd=False)  # noqa: SIM115
    source = inside_runner.prepare()
    server = os.fork()
    if server == 0:
        serve(source, requests)
    os.waitpid(server, 0)


def serve(source: str, requests: Any) -> None:
    problem, module = "", types.ModuleType("program")
    try:
        module = inside_runner.load(source)
    except BaseException as error:
        problem = f"loading the program raised {inside_runner.described(error)}"
    say({"loaded": problem})
    while requests.readline():  # begin of a test
        pid = os.fork()
        if pid == 0:
            try:
                Server(module).run(requests)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        say({"gone": True})
    os._exit(0)


def say(what: dict[str, Any]) -> None:
    line = memoryview(json.dumps(what).encode() + b"\n")
    while line:
        line = line[os.write(ANSWERS, line) :]


class Server:
    """Answers requests of one test; keeps the objects that were handed out."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module, self.objects = module, list[Any]()

    def run(self, requests: Any) -> None:
        while True:
            request = json.loads(requests.readline() or '{"do": "end"}')
            if request["do"] == "end":
                return
            try:
                say({"value": self.plain(self.done(request))})
            except BaseException as error:
                names = [kind.__name__ for kind in type(error).__mro__]
                say({"raised": names, "text": str(error)[:500]})

    def done(self, request: dict[str, Any]) -> Any:
        if request["do"] == "name":
            return self.named(request["name"])
        target = self.objects[request["object"]]
        if request["do"] == "get":
            return getattr(target, request["name"])
        args, kwargs = (wire.decode(request[key], self.mine) for key in ("args", "kwargs"))
        return target(*args, **kwargs)

    def named(self, name: str) -> Any:
        try:
            return inside_runner.find(self.module, name)
        except Exception:  # a class `Solution` that is not as expected: the program has no such name
            raise NameError(name) from None

    def plain(self, value: Any) -> Any:
        return wire.encode(value, self.numbered)

    def numbered(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        self.objects.append(value)
        return {"object": len(self.objects) - 1, "type": type(value).__name__}

    def mine(self, tree: Any) -> Any:
        return self.objects[tree["object"]]


if __name__ == "__main__":
    main()
