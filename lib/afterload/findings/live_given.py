"""What somebody gives of a recovery over what a scenario says: as options of ``afterload eta``, or typed into its form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from afterload.errors import InputError, UnitError
from afterload.findings.live_known import READ_SHARE, Known, Side, StatedRate, known_of, served_under_cap
from afterload.scenario import LoadedScenario
from afterload.units import read_duration_min, read_number

__all__ = ["Given", "known_given", "lacks_tested_rate", "read_attempts", "read_item_time_s"]


@dataclass(frozen=True)
class Given:
    """What is given; None where a scenario says it, or nobody does.

    Attributes:
        zone: for the times that people read.
        order: order of work.
        restored_at: when the dependency was back; ``objective_min``: minutes from there until first attempts shall be on time.
        service_per_min: items a minute that are served.
        cap: concurrency to which the consumers are capped now; ``item_time_s``: seconds that an item takes.
        tested_per_min: what the dependency is tested to bear; ``direct_per_min``: what reaches it beside the queue.
        attempts_failing: attempts that one request costs while it fails.
    """

    zone: tzinfo | None = None
    order: Literal["fifo", "lifo"] | None = None
    restored_at: datetime | None = None
    objective_min: float | None = None
    service_per_min: float | None = None
    cap: int | None = None
    item_time_s: float | None = None
    tested_per_min: float | None = None
    direct_per_min: float | None = None
    attempts_failing: float | None = None


def read_item_time_s(value: object) -> float:
    """Read the time that an item takes, in seconds. Raises :class:`UnitError`."""
    minutes = read_duration_min(value)
    if minutes <= 0:
        raise UnitError(f"{value!r} is zero", "a duration above zero, such as 2 s")
    return 60 * minutes


def read_attempts(value: object) -> float:
    """Read how many attempts one request costs. Raises :class:`UnitError`."""
    number = read_number(value)
    if number < 1:
        raise UnitError(f"{value} is less than one", "1 or more")
    return number


def lacks_tested_rate(given: Given, loaded: LoadedScenario | None, queue: str) -> bool:
    """True where something of a dependency is given, and neither here nor in the scenario to what it is tested."""
    if given.tested_per_min is not None or (given.direct_per_min is None and given.attempts_failing is None):
        return False
    return loaded is None or known_of(loaded, queue).side is None


def known_given(given: Given, loaded: LoadedScenario | None, queue: str) -> Known:
    """What is known of the recovery of a queue: from the scenario, and over it what is given.

    Without a zone anywhere times are told in UTC.
    Raises :class:`InputError` where something of a dependency is given and nothing says to what it is tested.
    """
    if loaded is not None:
        base = known_of(loaded, queue, given.cap, given.item_time_s)
    else:
        base = Known(zone=UTC, cap=given.cap, item_time_s=given.item_time_s)
        if given.cap is not None and given.item_time_s is not None:
            under = served_under_cap(given.cap, given.item_time_s)
            base = replace(base, service=under, bound=replace(under, words=f"the cap of {given.cap:,} at once"))
    changes: dict[str, Any] = {
        name: value
        for name in ("zone", "order", "restored_at", "objective_min")
        if (value := getattr(given, name)) is not None
    }
    if given.service_per_min is not None:
        rate = given.service_per_min
        changes["service"], changes["consumers"] = StatedRate(rate, READ_SHARE * rate, "as read"), None
    return replace(base, side=_side(given, base.side), **changes)


def _side(given: Given, side: Side | None) -> Side | None:
    over = {
        name: value
        for name in ("tested_per_min", "direct_per_min", "attempts_failing")
        if (value := getattr(given, name)) is not None
    }
    if not over:
        return side
    if side is None and given.tested_per_min is None:
        raise InputError("direct traffic and tries are of a dependency: give what it is tested to")
    return replace(side or Side("the dependency", given.tested_per_min or 0.0), **over)
