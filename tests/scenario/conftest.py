"""The shipped example as text to be spoilt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.resources import resource


@pytest.fixture(scope="session")
def example() -> str:
    """Text of the shipped example."""
    return resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write ``write(text)`` to a scenario file, in UTF-8 unless it is bytes already, and return its path."""

    def write(text: str | bytes, name: str = "team.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
