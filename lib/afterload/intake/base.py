"""The beginning of a scenario that an import fills: who, where, and which event, with nothing made up in it."""

from __future__ import annotations

import json

from afterload.scenario.fields import label_in
from afterload.yamledit import YamlText

__all__ = ["SOURCE", "base_scenario", "without_stand_in"]

SOURCE = "the provider's published summary of the event"
STAND_IN = " # the reference event until you give your own times"


def base_scenario(team: str, zone: str) -> str:
    """YAML text with the reference event as the incident, as a default that a person replaces.

    Raises :class:`UnitError` for a name that is none; the zone is checked when the scenario is read.
    """
    name = json.dumps(label_in(team) or team, ensure_ascii=False)
    return f"""\
# Filled by afterload import: every value has its evidence below. Values that you change by hand are kept.
team: {name}
time_zone: {zone}
recovery_objective: 240 min # from dependency restored to first-attempt age back at baseline: agree on your own

incident:{STAND_IN}
  name: us-east-1, 19 and 20 October 2025
  trigger: 2025-10-19T23:48-07:00
  restored_at: 2025-10-20T02:40-07:00

evidence:
  incident.name: {{ basis: default, value: "us-east-1, 19 and 20 October 2025", source: {SOURCE} }}
  incident.trigger: {{ basis: default, value: 2025-10-19T23:48-07:00, source: {SOURCE} }}
  incident.restored_at: {{ basis: default, value: 2025-10-20T02:40-07:00, source: {SOURCE} }}
"""


def without_stand_in(text: str) -> str:
    """The text without the word that its incident is the reference event, once its times are others."""
    data = YamlText(text, "").data or {}
    evidence = data.get("evidence") or {}
    ours = [(evidence.get(f"incident.{name}") or {}).get("source") != SOURCE for name in ("trigger", "restored_at")]
    return text.replace(f"incident:{STAND_IN}\n", "incident:\n", 1) if all(ours) else text
