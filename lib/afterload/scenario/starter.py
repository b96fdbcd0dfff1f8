"""A commented scenario for a new team."""

from __future__ import annotations

import json

from afterload.resources import resource
from afterload.scenario.fields import _label

__all__ = ["starter"]


def starter(team: str) -> str:
    """YAML text of a scenario that passes validation, with the team's name in it. Raises :class:`UnitError`."""
    text = resource("templates", "scenario.yaml").read_text(encoding="utf-8")
    # JSON text is YAML text, so any name is quoted right.
    return text.replace("TEAM_NAME", json.dumps(_label(team), ensure_ascii=False))
