"""The order of the instants that an account of the event gives: what comes first cannot come after."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from afterload.errors import UnitError
from afterload.units import read_instant
from afterload.yamltree import DataPath

__all__ = ["out_of_order"]

_TRIGGER, _RESTORED = ("incident", "trigger"), ("incident", "restored_at")
_DETECTED, _MITIGATED = ("postmortem", "detected_at"), ("postmortem", "mitigated_at")
# Harm can be bounded before the dependency is back or after it, so these two have no order.
_NOT_BEFORE: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    _DETECTED: (_TRIGGER,),
    _MITIGATED: (_DETECTED, _TRIGGER),
    ("postmortem", "recovered_at"): (_MITIGATED, _RESTORED, _DETECTED),
}


def out_of_order(data: dict[str, Any]) -> Iterator[tuple[DataPath, str, str]]:
    """Every instant of ``postmortem`` that lies before one that it must follow: its path, what is wrong, what is accepted.

    ``data`` is a scenario as it was written. What is no instant is passed over here: that is reported where it is read.
    """
    for path, earlier in _NOT_BEFORE.items():
        at = _instant(data, path)
        before = [(found, name) for name in earlier if (found := _instant(data, name)) is not None]
        if at is None or not before:
            continue
        latest, name = max(before, key=lambda item: item[0])
        if at < latest:
            words = ".".join(name)
            yield (
                path,
                f"{at.isoformat()} is before {words}, {latest.isoformat()}",
                f"a time not before {words}, or none",
            )


def _instant(data: dict[str, Any], path: tuple[str, str]) -> datetime | None:
    section = data.get(path[0])
    value = section.get(path[1]) if isinstance(section, dict) else None
    try:
        return read_instant(value)
    except UnitError:
        return None
