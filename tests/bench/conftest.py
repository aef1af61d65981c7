"""The bench is no package of the distribution: its folder is put where its own scripts find it."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = str(Path(__file__).parents[2] / "bench")
if BENCH not in sys.path:
    sys.path.append(BENCH)
