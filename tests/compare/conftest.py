"""One random model for all comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.small import saved


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))
