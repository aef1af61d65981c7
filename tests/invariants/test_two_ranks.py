"""Sharding over two gloo ranks: the summed gradient is that of the whole batch, for every method."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from guerdon.collate import collate, shard
from guerdon.engines.local import weigh
from tests.invariants.world import build, distance, gradients, methods


def check_all_methods() -> None:
    """Runs on each rank: half of the batch here, half there, against the whole batch here."""
    rank = dist.get_rank()
    for name, module in methods().items():
        world = build(module)
        groups = world.groups()
        world.update(groups)
        batch = world.learner.prepare("policy", collate(groups))
        engine = world.learner.engines["policy"]
        engine.forward_backward(batch, world.method.terms)
        whole = gradients(engine)
        weighed = weigh(batch, world.method.terms)
        engine.forward_backward(weighed.select(shard(batch, 2)[rank]), world.method.terms)
        part = gradients(engine)
        summed = {n: part.get(n, torch.zeros_like(g)) for n, g in whole.items()}
        for gradient in summed.values():
            dist.all_reduce(gradient)
        assert distance(whole, summed) < 1e-5, name


def test_the_gradient_of_two_ranks_is_that_of_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    root = Path(__file__).parents[2]
    base = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.invariants.test_two_ranks"]
    ranks = [subprocess.Popen(command, cwd=root, env={**base, "RANK": str(r)}, stderr=subprocess.PIPE) for r in (0, 1)]
    errors = [rank.communicate(timeout=240)[1].decode() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], errors


if __name__ == "__main__":
    dist.init_process_group("gloo")
    check_all_methods()
    dist.destroy_process_group()
