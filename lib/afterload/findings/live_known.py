"""What is known of a recovery beside its readings: from a scenario, or typed by somebody."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Any, Literal

from afterload.arrivals import arrival_profile
from afterload.estimates import estimate_fleet
from afterload.model.coupled import CapSteps
from afterload.model.curves import RateProfile
from afterload.recovery.inputs import queue_inputs
from afterload.recovery.rates import (
    cap_steps,
    consumers,
    consumers_rate,
    estimate_cap,
    mean_attempts,
    own_ramp,
    room_at,
)
from afterload.recovery.sustained import SAME_SHARE, Sustained, sustained
from afterload.scenario import LoadedScenario, Queue
from afterload.scenario.schema import DrainCap, RampUp
from afterload.units import format_offset, format_rate

__all__ = [
    "PLANNED_SHARE",
    "READ_SHARE",
    "FleetToLaunch",
    "Known",
    "Side",
    "StatedRate",
    "known_of",
    "served_under_cap",
]

# How sure a rate is that somebody reads off a console, and one that only a plan says, as a standard deviation.
READ_SHARE, PLANNED_SHARE = 0.05, 0.1
# Width of a PERT distribution in its standard deviations, as project planning has it.
PERT_WIDTH = 6.0
# A ramp is judged by where it is at the next look at the earliest: most are over by then.
RAMP_AHEAD_MIN = 5.0


@dataclass(frozen=True)
class StatedRate:
    """A rate that somebody states. ``sd_per_min`` is how sure it is; ``words`` say who states it."""

    per_min: float
    sd_per_min: float
    words: str


@dataclass(frozen=True)
class Side:
    """The dependency that the drain goes into. Rates a minute.

    Attributes:
        tested_per_min: what a load test has shown it to bear.
        direct_per_min: what reaches it beside the queues, control traffic left out.
        control_per_min: control-loop traffic, which goes first.
        attempts_failing: attempts that one request costs while it fails; None where nobody says.
        drain_share: share of the room that this queue may have beside others that call the same dependency.
        steps: what a cap on its consumers can be; None for any whole number.
    """

    name: str
    tested_per_min: float
    direct_per_min: float = 0.0
    control_per_min: float = 0.0
    attempts_failing: float | None = None
    drain_share: float = 1.0
    steps: CapSteps | None = None


@dataclass(frozen=True)
class FleetToLaunch:
    """A fleet with what it still lacks. ``automation`` may remove instances and is not paused."""

    name: str
    missing: int
    in_service_min: float
    automation: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is known of one queue's recovery. Everything may be left out.

    Attributes:
        zone: for the times that people read.
        restored_at: when the dependency was back.
        objective_min: minutes from there until first attempts shall be on time.
        order, sideline_min: order of work, and with ``fresh_first`` the age at which work is set aside.
        item_time_s: seconds an item takes, which turns rates into concurrency.
        cap: concurrency to which the consumers are capped now.
        arrival, service: rates as planned; of the service what consumers sustain in the end, caps and ramp counted.
        drain_per_min: what the dependency gets from all consumers in the end, as planned; None where that is ``service``.
        bound: what caps, ramp and batches allow by themselves; None where there are none.
        consumers: what they sustain from the restore on; None where no scenario says.
        sustains: the same under a cap in items a minute.
        healthy: all this with dependencies that are not down.
        profile, origin: arrivals over time, in minutes after the origin.
        age_limit_min, retention_min: work older than this goes without being served.
        deadline_min: work older than this is discarded when its turn comes.
        side: the dependency.
        fleets: fleets with what they still lack.
        loops: control loops, which go first.
        lift_hold_min: how long each lift of a limit is held.
    """

    zone: tzinfo = UTC
    restored_at: datetime | None = None
    objective_min: float | None = None
    order: Literal["fifo", "lifo", "fresh_first"] = "fifo"
    sideline_min: float = 0.0
    item_time_s: float | None = None
    cap: int | None = None
    arrival: StatedRate | None = None
    service: StatedRate | None = None
    drain_per_min: float | None = None
    bound: StatedRate | None = None
    consumers: Sustained | None = None
    sustains: Callable[[float], Sustained] | None = None
    healthy: Callable[[], Known] | None = None
    profile: RateProfile | None = None
    origin: datetime | None = None
    age_limit_min: float | None = None
    retention_min: float | None = None
    deadline_min: float | None = None
    side: Side | None = None
    fleets: tuple[FleetToLaunch, ...] = ()
    loops: tuple[str, ...] = ()
    lift_hold_min: float | None = None

    def clock(self, at: datetime, now: datetime) -> str:
        """A time for people: "08:24 PDT", with the day where it is another than that of ``now``."""
        local = at.astimezone(self.zone)
        name = local.tzname() or ""
        label = name if name.isalpha() else format_offset(local)
        day = "" if local.date() == now.astimezone(self.zone).date() else f"{local:%Y-%m-%d} "
        return f"{day}{local:%H:%M} {label}"

    def minutes(self, at: datetime) -> float:
        """Minutes of a moment after the profile's origin; 0 before it."""
        return max(0.0, (at - self.origin).total_seconds() / 60) if self.origin is not None else 0.0

    def since_restore(self, at: datetime) -> float:
        """Minutes of a moment after the restore; 0 before it, and where it is not known."""
        return max(0.0, (at - self.restored_at).total_seconds() / 60) if self.restored_at is not None else 0.0

    def on_ramp(self, at: datetime) -> bool:
        """Whether consumers are still coming up at a moment."""
        return self.consumers is not None and self.consumers.rises_after(self.since_restore(at))

    def service_at(self, at: datetime) -> StatedRate | None:
        """The service rate as planned for a moment; on a ramp that of five minutes later."""
        if self.service is None or self.consumers is None or not self.on_ramp(at):
            return self.service
        since = self.since_restore(at)
        now, soon = self.consumers.rate_at(since), self.consumers.rate_at(since + RAMP_AHEAD_MIN)
        if soon >= self.service.per_min * (1 - SAME_SHARE):
            words = f"{self.service.words}, when the ramp ends: {format_rate(now)} now"
            return StatedRate(self.service.per_min, self.service.sd_per_min, words)
        words = f"in {RAMP_AHEAD_MIN:g} min, on a ramp to {format_rate(self.service.per_min)} {self.service.words}"
        return StatedRate(soon, self.service.sd_per_min, words)

    def mean_service(self, start: datetime, end: datetime) -> StatedRate | None:
        """The service rate as planned for the time between two moments."""
        if self.service is None or self.consumers is None or end <= start:
            return self.service
        first, last = self.since_restore(start), self.since_restore(end)
        if last <= first:
            return self.service
        mean = self.consumers.served(first, last) / (last - first)
        return StatedRate(mean, self.service.sd_per_min, self.service.words)


def served_under_cap(cap: int, item_time_s: float) -> StatedRate:
    """What a cap makes with a backlog before it: ``60 c / d``, docs/model.md section 1."""
    rate = 60.0 * cap / item_time_s
    return StatedRate(rate, PLANNED_SHARE * rate, f"under the cap of {cap:,} at once")


def known_of(
    loaded: LoadedScenario,
    queue: str,
    cap: int | None = None,
    item_time_s: float | None = None,
    collapsed: bool | None = None,
) -> Known:
    """What a scenario tells of the recovery of one of its queues, with a cap and an item time that go over it.

    Dependencies begin as the scenario says, or as ``collapsed`` does.
    """
    loaded = _with_given(loaded, queue, cap, item_time_s)
    scenario, item = loaded.scenario, loaded.scenario.queues[queue]
    origin = scenario.incident.trigger
    profile, _ = arrival_profile(loaded, queue, origin)

    @cache
    def sustains(most_per_min: float = math.inf) -> Sustained:
        return sustained(loaded, queue, most_per_min, collapsed)

    service, bound = _service(loaded, queue, sustains())
    load = queue_inputs(loaded, queue).load
    return Known(
        zone=scenario.time_zone,
        restored_at=scenario.incident.restored_at,
        objective_min=scenario.recovery_objective_min,
        order=item.order,
        sideline_min=item.sideline_after_min or 0.0,
        item_time_s=item.item_time_s,
        cap=item.concurrency_limit if cap is None else cap,
        arrival=_stated(loaded, queue, "arrival_rate", profile.mean_tail_per_min),
        service=service,
        drain_per_min=consumers_rate(item),
        bound=bound,
        consumers=sustains(),
        sustains=sustains,
        healthy=lambda: known_of(loaded, queue, cap, item_time_s, collapsed=False),
        profile=profile if profile.repeats or len(profile.rates_per_min) > 1 else None,
        origin=origin,
        age_limit_min=load.max_age_min,
        retention_min=load.retention_min,
        deadline_min=load.deadline_min,
        side=_side(loaded, queue),
        fleets=tuple(_fleet(loaded, name) for name in scenario.fleets),
        loops=tuple(scenario.control_loops),
        lift_hold_min=scenario.admission.lift_limits_min,
    )


def _with_given(loaded: LoadedScenario, queue: str, cap: int | None, item_time_s: float | None) -> LoadedScenario:
    """The scenario with an item time and a cap, in place of all its limits on items in work at once, that somebody gives."""
    item = loaded.scenario.queues[queue]
    changed: dict[str, Any] = {} if item_time_s is None else {"item_time_s": item_time_s}
    if cap is not None and (item_time_s or item.item_time_s) is not None:
        ramp = own_ramp(item)
        changed |= {
            "drain_cap": DrainCap(concurrency=max(1, cap)), "reserved_concurrency": None, "provisioned_pollers": None,
            "ramp": None if ramp is None else RampUp(
                start=round(ramp.start), per_min=round(ramp.per_min), ceiling=round(ramp.ceiling)
            ),
        }  # fmt: skip
    if not changed:
        return loaded
    queues = {**loaded.scenario.queues, queue: item.model_copy(update=changed)}
    return replace(loaded, scenario=loaded.scenario.model_copy(update={"queues": queues}))


def _stated(loaded: LoadedScenario, queue: str, field: str, per_min: float) -> StatedRate:
    path, words = f"queues.{queue}.{field}", f"as planned in {loaded.name}"
    if path in loaded.ranges:
        low, likely, high = loaded.ranges[path]
        return StatedRate(per_min, per_min * (high - low) / PERT_WIDTH / likely if likely > 0 else 0.0, words)
    return StatedRate(per_min, PLANNED_SHARE * per_min, words)


# What bounds consumers, in words, by the name of the bound; with a number at once where it has one.
BOUND_WORDS = {
    "ramp": "the ramp's end",
    "batches": "the batches of the busiest shard",
    "connection pool": "the connection pool",
    "autoscaler": "all replicas",
}


def _bound_words(item: Queue, name: str) -> str:
    """The tightest bound of a queue's consumers, in words."""
    at_once = {
        "cap": item.drain_cap.concurrency if item.drain_cap else None,
        "reserved concurrency": item.reserved_concurrency,
        "pollers": item.provisioned_pollers.concurrency if item.provisioned_pollers else None,
        "consumers": item.consumers.number * item.consumers.at_once if item.consumers else None,
    }
    words = {"cap": "the cap of {:,} at once", "reserved concurrency": "the reserved concurrency of {:,}",
             "pollers": "the pollers' {:,} at once", "consumers": "its consumers' {:,} at once"}  # fmt: skip
    if name == "ramp" and item.ramp is not None:
        return f"{BOUND_WORDS[name]} of {item.ramp.ceiling if item.ramp.per_min else item.ramp.start:,} at once"
    return words[name].format(at_once[name]) if name in words else BOUND_WORDS[name]


def _service(loaded: LoadedScenario, queue: str, sustains: Sustained) -> tuple[StatedRate, StatedRate | None]:
    """What consumers sustain in the end, and what bounds them."""
    item = loaded.scenario.queues[queue]
    planned, rate = item.service_rate_per_min, float(sustains.rates_per_min[-1])
    bounds = {name: value for name, value in consumers(item).bounds.items() if name != "service rate"}
    tightest = min(bounds, key=lambda name: bounds[name], default=None)
    limit = None if tightest is None else StatedRate(bounds[tightest], 0.0, _bound_words(item, tightest))
    if rate >= planned * (1 - SAME_SHARE):
        return _stated(loaded, queue, "service_rate", planned), limit
    if limit is not None and rate >= limit.per_min * (1 - SAME_SHARE):
        rate, by = limit.per_min, limit.words
    elif rate <= 0:
        by = "its dependency, which does not bear that"
    elif item.stream is not None:
        by = "what its busiest shard gets"
    else:
        by = "all that acts on it"
    words = f"under {by}, of {format_rate(planned)} planned in {loaded.name}"
    return StatedRate(rate, PLANNED_SHARE * rate, words), limit


def _side(loaded: LoadedScenario, queue: str) -> Side | None:
    scenario = loaded.scenario
    cap = estimate_cap(scenario, queue)
    if cap is None:
        return None
    room, item = room_at(scenario, cap.dependency), scenario.queues[queue]
    # Items that one call of the dependency stands for.
    share = cap.part_per_min / room.free_per_min if room.free_per_min > 0 else room.drain_share
    return Side(
        cap.dependency, room.tested_per_min, room.direct_per_min, room.control_per_min,
        mean_attempts(scenario, cap.dependency), share, cap_steps(item),
    )  # fmt: skip


def _fleet(loaded: LoadedScenario, name: str) -> FleetToLaunch:
    fleet = loaded.scenario.fleets[name]
    found = estimate_fleet(name, fleet)
    active = tuple(item.name for item in fleet.removal_automation or () if not item.paused)
    return FleetToLaunch(name, found.missing, found.in_service_min, active)
