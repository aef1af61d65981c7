"""One side of a race each: a process that takes a step for every line it reads (`speed.turns`)."""
