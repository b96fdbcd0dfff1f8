"""Published limits and client presets, each with its source, read from the shipped data."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from afterload.errors import NotFoundError, UnitError
from afterload.resources import resource
from afterload.yamltree import read_file

__all__ = [
    "RAMPS",
    "SOURCES",
    "Limit",
    "RetryPreset",
    "check_sdk",
    "client_preset",
    "limit",
    "ramp_preset",
    "value",
    "whole",
]

SOURCES = {
    "S": "library source or service model",
    "D": "vendor documentation",
    "D2": "secondary copy of vendor documentation",
    "P": "paper",
    "A": "provider's published summary of the event",
    "G": "recovery planning guide",
}


@dataclass(frozen=True)
class Limit:
    """One published figure with its unit and source."""

    key: str
    value: float
    unit: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class RetryPreset:
    """How a client retries: the mode it is in, attempts in all (None: no count), and tokens of its retry quota."""

    sdk: str
    mode: str
    attempts: int | None
    quota: int | None
    source: str
    note: str = ""
    mode_known: bool = True


@cache
def _table(name: str) -> dict[str, Any]:
    tree, _ = read_file(resource("data", name))
    table: dict[str, Any] = tree.data
    return table


@cache
def limit(key: str) -> Limit:
    """One published figure by its key in ``data/limits.yaml``. Raises :class:`NotFoundError`."""
    table = _table("limits.yaml")
    if key not in table:
        raise NotFoundError(f"there is no limit {key!r}; known: {', '.join(sorted(table))}")
    row = table[key]
    return Limit(key, float(row["value"]), row["unit"], SOURCES[row["source"]], row.get("note") or "")


def value(key: str) -> float:
    """Value of one published figure, in the unit that its entry names."""
    return limit(key).value


def whole(key: str) -> int:
    """Value of one published figure that is a whole number."""
    return round(limit(key).value)


# Named consumer ramps, with the beginning of the keys of their numbers.
RAMPS = {"lambda-sqs": "lambda.sqs.ramp"}


def ramp_preset(name: str) -> dict[str, int]:
    """Start, growth a minute and ceiling of a named consumer ramp. Raises :class:`UnitError`."""
    if name not in RAMPS:
        raise UnitError(f"{name!r} is not a known ramp", f"{', '.join(RAMPS)}, or start, per_min and ceiling")
    prefix = RAMPS[name]
    return {part: whole(f"{prefix}.{part}") for part in ("start", "per_min", "ceiling")}


def check_sdk(name: str) -> None:
    """Raise :class:`UnitError` unless the SDK has a preset."""
    known = sorted(_table("clients.yaml"))
    if name not in known:
        near = get_close_matches(name.lower(), known, 1, 0.4)
        hint = f"; nearest: {near[0]}" if near else ""
        raise UnitError(f"{name!r} is not a known SDK{hint}", ", ".join(known))


def client_preset(sdk: str, version: str | None, mode: str, service: str = "other") -> RetryPreset:
    """How a client with this SDK, version and mode retries.

    Where the mode is the SDK's default and that changed between versions, a missing version gives the older
    behaviour with ``mode_known`` false. Raises :class:`UnitError` for an unknown SDK, a mode that the SDK does not
    have, or a version without leading numbers.
    """
    check_sdk(sdk)
    table = _table("clients.yaml")[sdk]
    known = True
    if mode == "default":
        mode, known = _default_mode(table["default"], version)
    if mode not in table:
        have = ", ".join(name for name in table if name != "default")
        raise UnitError(f"{sdk} has no preset for mode {mode}", f"default, {have}")
    row = table[mode]
    attempts = row.get("dynamodb_attempts", row["attempts"]) if service == "dynamodb" else row["attempts"]
    return RetryPreset(
        sdk=sdk,
        mode=mode,
        attempts=None if attempts == "none" else int(attempts),
        quota=None if row["quota"] == "none" else int(row["quota"]),
        source=SOURCES[row["source"]],
        note=row.get("note") or "",
        mode_known=known,
    )


def _default_mode(rules: list[dict[str, str]], version: str | None) -> tuple[str, bool]:
    for rule in rules:
        before = rule.get("before")
        if before is None or version is None or _numbers(version) < _numbers(before):
            return rule["mode"], before is None or version is not None
    return rules[-1]["mode"], True


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.strip().lstrip("v").split(".")
    found = []
    for part in parts:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits or len(digits) > 18:
            break
        found.append(int(digits))
    if not found:
        raise UnitError(f"{version[:60]!r} is not a version", 'numbers with dots, such as "1.44.8"')
    return tuple(found)
