"""How fast guerdon is: workloads, the contestants that run them in turn, and what is measured of guerdon alone.

`bench/run.py` drives it. Nothing here imports guerdon or torch before it has to, so that a peer's process, which runs
in an environment of its own, and the driver, which shall stay small, can read the workloads.
"""
