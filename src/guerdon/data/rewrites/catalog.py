"""All rewrites by name."""

from __future__ import annotations

from collections.abc import Mapping

from guerdon.data.rewrites.base import Rewrite
from guerdon.data.rewrites.code import CODE
from guerdon.data.rewrites.controlled import CONTROLLED
from guerdon.data.rewrites.maths import MATHS
from guerdon.data.rewrites.noise import NOISE

REWRITES: Mapping[str, Rewrite] = {one.name: one for one in (*CONTROLLED, *NOISE, *CODE, *MATHS)}
