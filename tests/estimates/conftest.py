"""Scenarios as a person writes them: YAML text in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.estimates import Estimates, estimate
from afterload.scenario import LoadedScenario, load_scenario

HEAD = """\
team: T
time_zone: {zone}
recovery_objective: {objective}
incident:
  name: E
  trigger: {trigger}
  restored_at: {restored_at}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., LoadedScenario]:
    """Write a scenario with this body below its head and load it."""

    def write(
        body: str,
        *overrides: str,
        zone: str = "UTC",
        objective: str = "240 min",
        trigger: str = "2025-10-20T00:00Z",
        restored_at: str = "2025-10-20T02:52Z",
        **files: str,
    ) -> LoadedScenario:
        for name, text in files.items():
            (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        path = tmp_path / "t.yaml"
        head = HEAD.format(zone=zone, objective=objective, trigger=trigger, restored_at=restored_at)
        path.write_text(head + body, encoding="utf-8")
        return load_scenario(path, list(overrides))

    return write


@pytest.fixture
def results(load: Callable[..., LoadedScenario]) -> Callable[..., Estimates]:
    """The same, computed."""
    return lambda body, *overrides, **head: estimate(load(body, *overrides, **head))
