"""What estimators have in common: the defaults of the protocol `guerdon.method.Estimator`."""

from __future__ import annotations

from collections.abc import Sequence


class Reads:
    """Reads no stream beyond the batch's fields and is meaningful for groups of any size."""

    needs: Sequence[str] = ()
    min_group: int = 1
