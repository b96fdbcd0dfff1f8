"""Scenario files in a folder of their own, and states of forms on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.forms.state import FormState
from afterload.resources import resource

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """The example as a file of a team's own."""
    path = tmp_path / "orders.yaml"
    path.write_text(ORDERS, encoding="utf-8")
    return path


@pytest.fixture
def form(orders: Path) -> FormState:
    """A form on it."""
    return FormState(str(orders))


@pytest.fixture
def blank(tmp_path: Path) -> Callable[[], FormState]:
    """A form on a file that is not there yet."""
    return lambda: FormState(str(tmp_path / "new.yaml"))
