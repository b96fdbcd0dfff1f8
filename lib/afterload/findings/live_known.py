"""What is known of a recovery beside its readings: from a scenario, or typed by somebody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from afterload.arrivals import arrival_profile
from afterload.estimates import estimate_fleet
from afterload.model.curves import RateProfile
from afterload.scenario import LoadedScenario

__all__ = ["PLANNED_SHARE", "READ_SHARE", "FleetToLaunch", "Known", "Side", "StatedRate", "known_of"]

# How sure a rate is that somebody reads off a console, and one that only a plan says, as a standard deviation.
READ_SHARE, PLANNED_SHARE = 0.05, 0.1
# Width of a PERT distribution in its standard deviations, as project planning has it.
PERT_WIDTH = 6.0


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
    """

    name: str
    tested_per_min: float
    direct_per_min: float = 0.0
    control_per_min: float = 0.0
    attempts_failing: float | None = None
    drain_share: float = 1.0


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
        arrival, service: rates as planned.
        profile, origin: arrivals over time, in minutes after the origin.
        age_limit_min, retention_min: work older than this goes without being served.
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
    profile: RateProfile | None = None
    origin: datetime | None = None
    age_limit_min: float | None = None
    retention_min: float | None = None
    side: Side | None = None
    fleets: tuple[FleetToLaunch, ...] = ()
    loops: tuple[str, ...] = ()
    lift_hold_min: float | None = None

    def minutes(self, at: datetime) -> float:
        """Minutes of a moment after the profile's origin; 0 before it."""
        return max(0.0, (at - self.origin).total_seconds() / 60) if self.origin is not None else 0.0


def known_of(loaded: LoadedScenario, queue: str) -> Known:
    """What a scenario tells of the recovery of one of its queues."""
    scenario = loaded.scenario
    item = scenario.queues[queue]
    origin = scenario.incident.trigger
    profile, _ = arrival_profile(loaded, queue, origin)
    return Known(
        zone=scenario.time_zone,
        restored_at=scenario.incident.restored_at,
        objective_min=scenario.recovery_objective_min,
        order=item.order,
        sideline_min=item.sideline_after_min or 0.0,
        item_time_s=item.item_time_s,
        cap=item.concurrency_limit,
        arrival=_stated(loaded, queue, "arrival_rate", profile.mean_tail_per_min),
        service=_stated(loaded, queue, "service_rate", item.service_rate_per_min),
        profile=profile if profile.repeats or len(profile.rates_per_min) > 1 else None,
        origin=origin,
        age_limit_min=item.age_limit_min,
        retention_min=item.retention_min,
        side=_side(loaded, queue),
        fleets=tuple(_fleet(loaded, name) for name in scenario.fleets),
        loops=tuple(scenario.control_loops),
        lift_hold_min=scenario.admission.lift_limits_min,
    )


def _stated(loaded: LoadedScenario, queue: str, field: str, per_min: float) -> StatedRate:
    path, words = f"queues.{queue}.{field}", f"as planned in {loaded.name}"
    if path in loaded.ranges:
        low, likely, high = loaded.ranges[path]
        return StatedRate(per_min, per_min * (high - low) / PERT_WIDTH / likely if likely > 0 else 0.0, words)
    return StatedRate(per_min, PLANNED_SHARE * per_min, words)


def _side(loaded: LoadedScenario, queue: str) -> Side | None:
    scenario = loaded.scenario
    name = scenario.queues[queue].dependency
    if name is None or name not in scenario.dependencies:
        return None
    item = scenario.dependencies[name]
    sharing = sum(each.service_rate_per_min for each in scenario.queues.values() if each.dependency == name)
    attempts = item.attempts_while_failing or scenario.queues[queue].attempts_while_failing
    if attempts is None:
        stacks = [each for each in scenario.call_stacks.values() if each.dependency == name]
        attempts = max((float(math.prod(layer.tries for layer in each.layers)) for each in stacks), default=None)
    return Side(
        name, item.tested_rate_per_min, item.direct_rate_per_min, item.control_rate_per_min, attempts,
        scenario.queues[queue].service_rate_per_min / sharing,
    )  # fmt: skip


def _fleet(loaded: LoadedScenario, name: str) -> FleetToLaunch:
    fleet = loaded.scenario.fleets[name]
    found = estimate_fleet(name, fleet)
    active = tuple(item.name for item in fleet.removal_automation or () if not item.paused)
    return FleetToLaunch(name, found.missing, found.in_service_min, active)
