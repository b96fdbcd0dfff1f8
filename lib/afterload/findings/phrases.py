"""Phrases that findings and the plan share: numbers of things, where a value came from, names in commands."""

from __future__ import annotations

import shlex

from afterload.recovery.course import QueueRecovery
from afterload.scenario import LoadedScenario
from afterload.units import DURATION_SUFFIXES, RATE_SUFFIXES, format_count, format_duration, format_rate

__all__ = ["counted", "quoted", "where", "without_end"]


def counted(number: float, thing: str) -> str:
    """A number of things in words: "1 item", "1,200 items", "no items", "2 retries"."""
    many = f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2] not in "aeiou" else f"{thing}s"
    if number == 0:
        return f"no {many}"
    if number < 0.5:
        return f"less than 1 {thing}"
    return f"{format_count(number)} {thing if round(number) == 1 else many}"


_SUFFIXES = ("", *(f"_{suffix}" for suffix in (*DURATION_SUFFIXES, *RATE_SUFFIXES)))


def where(loaded: LoadedScenario, *path: str | int) -> str:
    """Where a value or a part of it came from, under whichever of its names it was given: ``orders.yaml line 14``."""
    *above, last = path
    keys = [(*above, f"{last}{suffix}") for suffix in _SUFFIXES]
    for given, origin in loaded.overridden.items():
        if any(given[: len(key)] == key for key in keys):
            return origin
    return next((found for found in (loaded.where(*key) for key in keys) if found != "default"), "default")


def quoted(text: str | None, placeholder: str) -> str:
    """A name for a shell command, quoted where it must be; a placeholder in capitals where there is none."""
    return shlex.quote(text) if text else placeholder


def without_end(recovery: QueueRecovery) -> str:
    """What a queue loses without end, and from when on: "120/min from 4 h after the restore on"."""
    begins = recovery.holds_from_min or 0.0
    return f"{format_rate(recovery.lost_per_min)} from {format_duration(begins)} after the restore on"
