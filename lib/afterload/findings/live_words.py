"""The answer of a recovery that is going on, as lines for a terminal and as data for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from afterload.findings.admission import SafeCap, Step
from afterload.findings.live import Live, Times
from afterload.scenario import LoadedScenario
from afterload.units import format_count, format_duration, format_rate

__all__ = [
    "MOST_LINES",
    "awaited_words",
    "cap_words",
    "clock",
    "is_open",
    "live_json",
    "live_lines",
    "net_words",
    "step_words",
    "times_words",
]

MOST_LINES = 12
MOST_DOUBTS = 3


def awaited_words(loaded: LoadedScenario) -> str:
    """What is to be known of a live chapter that has no reading yet; empty where it has one, or there is none."""
    live = loaded.scenario.live
    if live is None or loaded.readings:
        return ""
    what = f"{live.log} is not there yet" if loaded.files.get(live.log) == "" else f"{live.log} holds no reading yet"
    return f"{what}: the first reading of {live.queue}, by afterload eta --log or the form of 03-live, begins it"


def clock(at: datetime, live: Live) -> str:
    """A time in the team's zone: "08:24 PDT", with the day where it is another than that of the last reading."""
    return live.known.clock(at, live.now)


def times_words(times: Times) -> str:
    """ "344 min (P10 245 min, P90 578 min)"."""
    if times.p50 is None:
        return "not within 1,000 days"
    if times.p10 == times.p90:
        return format_duration(times.p50)
    low = "no end" if times.p10 is None else format_duration(times.p10)
    high = "no end in sight" if times.p90 is None else format_duration(times.p90)
    return f"{format_duration(times.p50)} (P10 {low}, P90 {high})"


def _headline(live: Live) -> str:
    if live.kind == "empty":
        return f"{live.queue}: nothing waits."
    if live.kind == "growing" and live.net is not None:
        rate = format_rate(max(0.0, -live.net))
        if live.empty.p50 is not None:
            when = _when(live, f"by {live.ahead_words} ")
            return f"{live.queue}: not draining now: grows by {rate}; {when}."
        fails = "; the dependency fails" if live.failing else ""
        above = _at_cap(live)
        return f"{live.queue}: not draining: grows by {rate}{fails}{f'; {above}' if above else ''}."
    if live.kind == "draining":
        if live.failing:
            return (
                f"{live.queue}: the dependency fails, so the drain must wait; {_when(live, 'if it went on as now, ')}."
            )
        return f"{live.queue}: {_when(live)}."
    again = f"give {'a second' if live.used == 1 else 'another'} reading in {format_duration(live.next_min)}"
    if live.projection is None:
        missing = "its net rate" if live.arrival is not None else "its rates"
        return f"{live.queue}: not known yet: {missing} cannot be told from one reading; {again}."
    likely = live.used == 1 and live.empty.p50 is not None
    stated = f"; {_when(live, 'if the rates are as stated, ')}" if likely else ""
    return f"{live.queue}: not known yet, whether it drains or grows cannot be told: {again}{stated}."


def _when(live: Live, by: str = "") -> str:
    """When it is empty: at the safe cap first, where the drain is above that. ``by``: under which condition it is as now."""
    at = "" if live.empty_at is None else f", about {clock(live.empty_at, live)}"
    safe = _at_cap(live)
    if not safe:
        return f"{by}empty in {times_words(live.empty)}{at}"
    return f"{safe}; {by}at {format_rate(_drain_rate(live))}, which is above the safe cap, empty in {times_words(live.empty)}{at}"


def _at_cap(live: Live) -> str:
    """When it is empty at the safe cap; empty text where the drain is within that."""
    cap, capped = live.cap, live.capped
    if cap is None or capped is None:
        return ""
    if cap.rate_per_min <= 0:
        return "nothing is left for a safe drain"
    if capped.p50 is None:
        return f"at the safe cap of {format_rate(cap.rate_per_min)} it does not drain"
    at = "" if live.advised_at is None else f", about {clock(live.advised_at, live)}"
    return f"at the safe cap of {format_rate(cap.rate_per_min)} empty in {times_words(capped)}{at}"


def _drain_rate(live: Live) -> float:
    """What is drained where that is above the safe cap, as the cap was held against it."""
    assert live.cap is not None
    return live.cap.served_per_min


def net_words(live: Live) -> str:
    """The net rate and what it is made of; empty where there is none."""
    if live.net is None or live.kind == "empty":
        return ""
    if live.kind == "unknown":
        return _unsure_words(live)
    what = "Drains" if live.net >= 0 else "Grows"
    ends = sorted(abs(value) for value in (live.net_low, live.net_high) if value is not None)
    one_sign = live.net_low is not None and live.net_high is not None and live.net_low * live.net_high > 0
    span = f" ({format_rate(ends[0])} to {format_rate(ends[1])})" if one_sign else ""
    parts = [f"{what} by {format_rate(abs(live.net))}{span}"]
    if live.arrival is not None:
        parts.append(f"{format_rate(live.arrival.per_min)} arrive {live.arrival.words}")
    if live.service is not None:
        parts.append(f"{format_rate(live.service.per_min)} are served {live.service.words}")
    return f"{parts[0]}{': ' if len(parts) > 1 else ''}{', '.join(parts[1:])}."


def _unsure_words(live: Live) -> str:
    """The span of a net rate of which not even the sign is sure, without a number that decides it."""

    def side(net: float) -> str:
        return f"a drain of {format_rate(net)}" if net >= 0 else f"a growth of {format_rate(-net)}"

    ends = [side(net) for net in (live.net_low, live.net_high) if net is not None]
    parts = []
    if live.arrival is not None:
        parts.append(f"{format_rate(live.arrival.per_min)} arrive {live.arrival.words}")
    if live.service is not None and live.used == 1:
        parts.append(f"{format_rate(live.service.per_min)} are served {live.service.words}")
    made = f": {', '.join(parts)}" if parts else ""
    return f"Net rate, not sure yet: from {' to '.join(ends)}{made}." if ends else ""


def is_open(live: Live) -> bool:
    """Whether nothing can be said yet of when it is empty, since not even the rates as stated tell whether it drains."""
    return live.kind == "unknown" and (live.used > 1 or live.empty.p50 is None)


def cap_words(cap: SafeCap) -> str:
    """The safe cap: "80 at once, 2,400/min: orders-table is tested to 3,000/min, ..."."""
    if cap.rate_per_min <= 0:
        return f"nothing: {cap.words}."
    at_once = "" if cap.concurrency is None else f"{cap.concurrency:,} at once, "
    return f"{at_once}{format_rate(cap.rate_per_min)}: {cap.words}."


def step_words(live: Live, number: int) -> str:
    """One step: "may go: ..."."""
    step = live.steps[number - 1]
    return f"{step.state}: {step.why}."


def _fresh(live: Live) -> str:
    """When first attempts are on time, and whether that keeps the objective."""
    if is_open(live) and live.fresh.p50 != 0:
        first = "not known yet"
    elif live.fresh.p50 is None and live.kind == "growing":
        first = "not on time while the backlog grows"
    elif live.fresh == live.empty:
        first = "on time when the backlog is gone"
    elif live.fresh.p50 == 0:
        first = "on time at once, since fresh work goes first"
    else:
        first = "not on time within 1,000 days" if live.fresh.p50 is None else f"on time in {times_words(live.fresh)}"
    return f"First attempts: {first}{_objective(live)}."


def _objective(live: Live) -> str:
    objective, gone = live.known.objective_min, live.since_restore_min
    if objective is None or gone is None or live.projection is None:
        return ""
    verdict = _verdict(live, live.fresh, objective, gone)
    what = f"the objective of {format_duration(objective)} after the restore is"
    if is_open(live) and live.fresh.p50 != 0:
        return f"; {what} missed by {format_duration(gone - objective)} already" if gone > objective else ""
    if live.capped_fresh is None:
        return f"; {what} {verdict}"
    capped = _verdict(live, live.capped_fresh, objective, gone)
    if capped == verdict:
        return f"; {what} {verdict}, at the safe cap too"
    return f"; at the safe cap {what} {capped}; at {format_rate(_drain_rate(live))} it is {verdict}"


def _verdict(live: Live, fresh: Times, objective: float, gone: float) -> str:
    if fresh.p50 is None:
        if gone > objective:
            return f"missed by {format_duration(gone - objective)} already"
        best = ", met at P10" if fresh.p10 is not None and gone + fresh.p10 <= objective else ""
        return f"not reached{' while it grows' if live.kind == 'growing' else ''}{best}"
    total = gone + fresh.p50
    verdict = "met" if total <= objective else f"missed by {format_duration(total - objective)}"
    if verdict == "met" and (fresh.p90 is None or gone + fresh.p90 > objective):
        return f"{verdict} at P50, not at P90"
    if verdict != "met" and fresh.p10 is not None and gone + fresh.p10 <= objective:
        return f"{verdict} at P50, met at P10"
    return verdict


def _waiting(live: Live) -> str:
    age = live.readings[-1].age_min
    oldest = "" if not age or live.left <= 0 else f", the oldest for {format_duration(age)}"
    count = len(live.readings)
    readings = "1 reading" if count == 1 else f"{count:,} readings"
    if live.used < count and live.kind != "empty":
        readings += f", the last {live.used:,} used"
    return f"{format_count(live.left)} wait at {clock(live.now, live)}{oldest}; {readings}."


def _changed(live: Live) -> str:
    change = live.change
    if change is None:
        return ""
    since = clock(live.readings[change.place].at, live)
    now = f"{format_rate(change.after_per_min)}" if change.after_per_min >= 0 else "a growth"
    before = f"{format_rate(change.before_per_min)}" if change.before_per_min >= 0 else "a growth"
    word = "slowed" if change.slower else "quickened"
    return f"The drain {word} at about {since}, from {before} to {now}: look at the dependency." if change.slower else (
        f"The drain {word} at about {since}, from {before} to {now}."
    )  # fmt: skip


def live_lines(live: Live) -> list[str]:
    """The answer in at most 12 lines, the first of which answers."""
    lines = [_headline(live)]
    if live.kind != "empty":
        lines.append(_fresh(live))
    lines += [line for line in (net_words(live), _changed(live)) if line]
    lines.append(_waiting(live))
    if live.cap is not None:
        lines.append(f"Safe cap: {cap_words(live.cap)}")
    else:
        lines.append("Safe cap: not known: give what the dependency is tested to.")
    lines.append(f"Fresh work: {step_words(live, 3)}")
    now = [f"step {step.number}, {step.name}: {step.why}" for step in live.steps if step.state == "do"]
    if now:
        lines.append(f"Do now: {'; '.join(now)}.")
    wait = [step for step in live.steps if step.state == "wait" and step.number != 3]
    if wait:
        lines.append(f"Must wait: {_grouped(wait)}.")
    again = clock(live.now + timedelta(minutes=live.next_min), live)
    lines.append(f"Look again at {again}, in {format_duration(live.next_min)}: {live.next_why}.")
    room = min(MOST_DOUBTS, MOST_LINES - len(lines))
    lines += [f"{doubt.word}: {doubt.text}." for doubt in live.doubts[:room]]
    return lines


def _grouped(steps: Sequence[Step]) -> str:
    """Steps with the reason why they wait; steps with one reason together."""
    whys = dict.fromkeys(step.why for step in steps)
    parts = []
    for why in whys:
        names = ", ".join(f"{step.number} {step.name}" for step in steps if step.why == why)
        parts.append(f"{names} ({why})")
    return "; ".join(parts)


def _numbers(times: Times) -> dict[str, float | None]:
    return {
        "p10": _rounded(times.p10), "p50": _rounded(times.p50), "p90": _rounded(times.p90),
    }  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def live_json(live: Live) -> dict[str, Any]:
    """The same as data; every key says its unit, and null is what is not known or never comes."""
    cap = live.cap
    change = live.change
    return {
        "queue": live.queue,
        "at": live.now.isoformat(),
        "answer": _headline(live),
        "state": live.kind,
        "items_left": live.left,
        "readings": len(live.readings),
        "readings_used": live.used,
        "empty_min": _numbers(live.empty),
        "empty_at": None if live.empty_at is None else live.empty_at.isoformat(timespec="seconds"),
        "empty_at_safe_cap_min": None if live.capped is None else _numbers(live.capped),
        "first_attempts_on_time_min": _numbers(live.fresh),
        "net_drain_per_min": {
            "p10": _rounded(live.net_low), "mean": _rounded(live.net), "p90": _rounded(live.net_high),
        },
        "arrival_per_min": None if live.arrival is None else _rounded(live.arrival.per_min),
        "service_per_min": None if live.service is None else _rounded(live.service.per_min),
        "changed": None if change is None else {
            "at": live.readings[change.place].at.isoformat(),
            "before_per_min": _rounded(change.before_per_min), "after_per_min": _rounded(change.after_per_min),
        },
        "safe_cap": None if cap is None else {
            "rate_per_min": _rounded(cap.rate_per_min), "concurrency": cap.concurrency, "why": cap.words,
        },
        "dependency_failing": live.failing,
        "steps": [
            {"number": step.number, "name": step.name, "state": step.state, "why": step.why} for step in live.steps
        ],
        "next_reading_min": live.next_min,
        "next_reading_at": (live.now + timedelta(minutes=live.next_min)).isoformat(timespec="seconds"),
        "doubts": [f"{doubt.word}: {doubt.text}." for doubt in live.doubts],
    }  # fmt: skip
