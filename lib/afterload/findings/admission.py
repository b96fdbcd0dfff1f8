"""What a recovery that is going on may admit now: the safe cap of a drain, and which of the seven steps must wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from afterload.findings.live_known import Known, Side, StatedRate
from afterload.findings.phrases import counted
from afterload.model.caps import cap_rate_per_min
from afterload.model.overload import hidden_capacity
from afterload.recovery.rates import Room, highest_cap
from afterload.scenario import Reading
from afterload.units import format_duration, format_number, format_rate, format_share

__all__ = ["ERRORS_FAILING", "STEPS", "SafeCap", "Step", "StepState", "admission_steps", "is_failing", "safe_cap"]

# Above this share of failing attempts first tries do not succeed steadily.
ERRORS_FAILING = 0.05
STEPS = (
    "hold the doors",
    "restore control loops",
    "admit fresh requests",
    "drain recent backlog",
    "replay old backlog",
    "lift limits in steps",
    "re-enable removal",
)
StepState = Literal["do", "may go", "wait", "not known"]


@dataclass(frozen=True)
class SafeCap:
    """What the drain may ask of the dependency. Rates a minute.

    Attributes:
        rate_per_min: items a minute: what ``concurrency`` makes where that is known; 0 where nothing is left for the drain.
        concurrency: items in work at once that stay within what is left; None where the time of an item is not known.
        bears_per_min: what the dependency bears now: its tested rate, or its hidden capacity while it fails.
        fresh_fits: True if direct and control traffic alone are within that.
        served_per_min: what is drained now, or where the ramp of the consumers leads to; 0 where it is not known.
        excess_per_min: by how much that is above it; 0 where it is not.
        words: why.
    """

    rate_per_min: float
    concurrency: int | None
    bears_per_min: float
    fresh_fits: bool
    served_per_min: float
    excess_per_min: float
    words: str


@dataclass(frozen=True)
class Step:
    """One step of admission: to do now, may go, must wait, or not known; and why."""

    number: int
    name: str
    state: StepState
    why: str


def attempts_of(reading: Reading, side: Side | None, service_per_min: float | None) -> float | None:
    """Attempts that one request costs as the reading shows it; None where it does not."""
    if reading.attempts_per_min is None or side is None or service_per_min is None:
        return None
    requests = side.direct_per_min + side.control_per_min + service_per_min
    return max(1.0, reading.attempts_per_min / requests) if requests > 0 else None


def is_failing(reading: Reading, side: Side | None) -> bool | None:
    """Whether the dependency shows that it does not bear its load: by failing attempts, or attempts above what it was tested to.

    None where nobody looked at either.
    """
    seen: list[bool] = []
    if reading.error_share is not None:
        seen.append(reading.error_share > ERRORS_FAILING)
    if reading.attempts_per_min is not None and side is not None:
        seen.append(reading.attempts_per_min > side.tested_per_min)
    return any(seen) if seen else None


def safe_cap(
    side: Side | None, item_time_s: float | None, reading: Reading, failing: bool, service: StatedRate | None
) -> SafeCap | None:
    """The highest cap beside direct and control traffic: by the tested rate, or by hidden capacity while it fails.

    Source: docs/model.md sections 1 and 3.
    """
    if side is None:
        return None
    direct = side.direct_per_min + side.control_per_min
    bears, words = side.tested_per_min, f"{side.name} is tested to {format_rate(side.tested_per_min)}"
    if failing:
        seen = attempts_of(reading, side, service.per_min if service is not None else None)
        attempts = max(seen or 1.0, side.attempts_failing or 1.0)
        bears = hidden_capacity(side.tested_per_min, attempts) if side.tested_per_min > 0 else 0.0
        if attempts > 1:
            words = (
                f"{side.name} fails, and at {format_number(attempts)} attempts a request it bears {format_rate(bears)} of "
                f"{format_rate(side.tested_per_min)}"
            )
    if direct > 0:
        words += f", {format_rate(direct)} reach it beside the queue"
    room = Room(side.name, bears, side.direct_per_min, side.control_per_min, side.drain_share).room_per_min
    if side.drain_share < 1:
        words += f", and other queues get {format_share(1 - side.drain_share)} of the rest"
    concurrency, rate = None, room
    if item_time_s is not None:
        concurrency = highest_cap(room, item_time_s, side.steps)
        # A cap is set in whole items at once, so one number goes for both.
        rate = min(room, cap_rate_per_min(concurrency, item_time_s))
        if rate < room * (1 - 1e-9):
            words += f", and one more at once would be above the {format_rate(room)} that are left"
    served = service.per_min if service is not None else 0.0
    return SafeCap(
        rate, concurrency, bears, direct <= bears * (1 + 1e-9), served,
        max(0.0, served - rate) if served > rate * (1 + 1e-9) else 0.0, words,
    )  # fmt: skip


def admission_steps(
    known: Known,
    failing: bool | None,
    cap: SafeCap | None,
    kind: str,
    service: StatedRate | None,
    slowed: bool,
    now: datetime,
    empty_at: datetime | None,
    since_restore_min: float | None,
    error_share: float | None,
) -> tuple[Step, ...]:
    """The seven steps, each with its state and why."""
    by_number = dict(_first_steps(known, failing, cap, error_share))
    held = failing is True
    if held:
        by_number[4] = ("wait", "first tries must succeed steadily before")
    elif cap is None:
        by_number[4] = ("not known", "give the dependency with its tested rate to know a safe cap")
    elif cap.rate_per_min <= 0:
        by_number[4] = ("wait", f"nothing is left for the drain: {cap.words}")
    elif cap.excess_per_min > 0 and service is not None:
        words = service.words if service.per_min >= cap.served_per_min * (1 - 1e-9) else "at the end of the ramp"
        by_number[4] = ("do", f"cap the drain: {format_rate(cap.served_per_min)} {words} is above the safe cap")
    elif known.cap is not None and cap.concurrency is not None and known.cap > cap.concurrency:
        by_number[4] = ("do", f"lower the cap: {known.cap:,} at once is above the safe one")
    elif slowed:
        by_number[4] = ("do", "look at the dependency before more is drained: the drain slowed")
    else:
        by_number[4] = ("may go", "under the safe cap")
    at = "" if empty_at is None else f", about {known.clock(empty_at, now)}"
    if kind == "empty" and not held:
        by_number[5] = ("may go", "nothing waits: set-aside and dead-lettered work at a bounded rate")
        hold = "" if known.lift_hold_min is None else f", each held for {format_duration(known.lift_hold_min)}"
        by_number[6] = ("may go", f"one limit at a time{hold}")
    else:
        by_number[5] = ("wait", f"until the backlog is gone{at}")
        by_number[6] = ("wait", f"until the backlog is gone{at}")
    by_number[7] = _removal(known, kind, held, since_restore_min)
    return tuple(Step(number, name, *by_number[number]) for number, name in enumerate(STEPS, 1))


def _first_steps(
    known: Known, failing: bool | None, cap: SafeCap | None, error_share: float | None
) -> Iterator[tuple[int, tuple[StepState, str]]]:
    errors = "" if error_share is None else f"{format_share(error_share)} of attempts fail"
    if failing:
        yield (
            1,
            ("do", f"{errors or 'more attempts than it bears'}: retries held, consumers at a floor, removal paused"),
        )
    elif failing is None:
        yield 1, ("not known", "look whether attempts at the dependency fail, and give that with --errors")
    else:
        yield 1, ("may go", f"{errors or 'attempts are within what it bears'}: first tries succeed")
    loops = ", ".join(known.loops) or "leases, credentials, health checks and cache fill"
    yield 2, ("do" if failing else "may go", f"{loops} go before all else")
    side = known.side
    if side is None:
        yield 3, ("wait", "first tries must succeed before") if failing else (
            "not known", "give the dependency with its tested rate and its direct traffic",
        )  # fmt: skip
    elif cap is not None and not cap.fresh_fits:
        direct = side.direct_per_min + side.control_per_min
        yield (
            3,
            (
                "wait",
                f"{format_rate(direct)} direct is above the {format_rate(cap.bears_per_min)} that {side.name} bears",
            ),
        )
    elif failing:
        yield 3, ("may go", "alone it heals the dependency, if the consumers are held")
    else:
        dropped = "" if known.deadline_min is None else ", and what is past its deadline is dropped"
        yield 3, ("may go", f"{side.name} bears it{dropped}")


def _removal(known: Known, kind: str, held: bool, since_restore_min: float | None) -> tuple[StepState, str]:
    gone = since_restore_min or 0.0
    lacking = [item for item in known.fleets if item.missing and item.in_service_min > gone]
    if lacking:
        item = max(lacking, key=lambda fleet: fleet.in_service_min)
        rest = format_duration(item.in_service_min - gone)
        return "wait", f"{item.name} launches {counted(item.missing, 'instance')}, for {rest} more at the least"
    if kind == "empty" and not held:
        return "may go", "last, one process at a time"
    return "wait", "last of all"
