"""Targets that enter service before their network state exists: flapping checks, a loaded checker, zones that leave DNS."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = ["FlappingCourse", "HealthChecks", "TargetThresholds", "flapping_course"]


@dataclass(frozen=True)
class TargetThresholds:
    """Least healthy targets of a zone, for routing and for DNS; a share that is ``None`` is off.

    Below the routing threshold traffic goes to all targets, healthy or not (fail open); below the DNS threshold the zone
    leaves DNS. Of a count and a share the larger one holds.

    Attributes:
        routing_count, dns_count: targets, at least 1.
        routing_share, dns_share: share of the zone's targets, above 0 to 1.

    Raises:
        ModelError: a value out of its range, or a DNS threshold below the routing threshold, which the service refuses.

    Source: service documentation, target group health.
    """

    routing_count: int = 1
    dns_count: int = 1
    routing_share: float | None = None
    dns_share: float | None = None

    def __post_init__(self) -> None:
        routing, dns = whole("routing_count", self.routing_count), whole("dns_count", self.dns_count)
        if dns < routing:
            raise ModelError(
                f"the DNS threshold of {dns} targets is below the routing threshold of {routing}; raise dns_count to"
                f" {routing} or lower routing_count"
            )
        for name, share in (("routing_share", self.routing_share), ("dns_share", self.dns_share)):
            if share is not None:
                number(name, share, above=0.0, most=1.0)
        if self.routing_share is not None and (self.dns_share is None or self.dns_share < self.routing_share):
            seen = "off" if self.dns_share is None else f"{self.dns_share:g}"
            raise ModelError(
                f"the DNS threshold share is {seen}, below the routing threshold share of {self.routing_share:g}; set"
                f" dns_share to at least {self.routing_share:g} or lower routing_share"
            )

    def routing(self, targets: int) -> int:
        """Fewer healthy targets than this of so many: fail open."""
        return max(self.routing_count, _least(self.routing_share, targets))

    def dns(self, targets: int) -> int:
        """Fewer healthy targets than this of so many: the zone leaves DNS."""
        return max(self.dns_count, _least(self.dns_share, targets))


@dataclass(frozen=True)
class HealthChecks:
    """The checker, and how it counts.

    Attributes:
        interval_s: seconds between two checks of one target, above 0.
        fails_to_leave, passes_to_enter: checks in a row after which a target counts as unhealthy, or as healthy.
        checks_per_s: checks a second that the checker can do, above 0; those it cannot do in time count as failed.
        extra_checks_per_change: further checks that one change of a target's health costs the checker.

    Raises:
        ModelError: a value out of its range.
    """

    interval_s: float = 10.0
    fails_to_leave: int = 2
    passes_to_enter: int = 2
    checks_per_s: float = 1000.0
    extra_checks_per_change: float = 0.0

    def __post_init__(self) -> None:
        number("interval_s", self.interval_s, above=0.0)
        whole("fails_to_leave", self.fails_to_leave)
        whole("passes_to_enter", self.passes_to_enter)
        number("checks_per_s", self.checks_per_s, above=0.0)
        number("extra_checks_per_change", self.extra_checks_per_change)


@dataclass(frozen=True, eq=False)
class FlappingCourse:
    """What one load balancer saw, at each check interval; zones and steps in rows and columns.

    Attributes:
        times_s: shape (steps,).
        healthy: targets that count as healthy, shape (steps, zones).
        in_dns: whether a zone is in DNS, shape (steps, zones).
        is_open: whether a zone sends to all of its targets, shape (steps, zones).
        capacity: targets that get traffic and can serve it, shape (steps,).
        error_share: share of connections sent to a target that cannot serve, 0 to 1, shape (steps,); 1 where none gets any.
        checks_per_s: checks asked of the checker, shape (steps,).
        late_share: share of the checks that the checker could not do in time, 0 to 1, shape (steps,).
        changes: changes of a target's health, shape (steps,).
        lowest: least capacity.
        below_needed_s: seconds of the window with less capacity than needed.
        zone_exits: times that a zone left DNS.
        is_settled: whether at the end of the window every target is ready and healthy and every zone in DNS.
    """

    times_s: FloatArray
    healthy: npt.NDArray[np.int64]
    in_dns: npt.NDArray[np.bool_]
    is_open: npt.NDArray[np.bool_]
    capacity: FloatArray
    error_share: FloatArray
    checks_per_s: FloatArray
    late_share: FloatArray
    changes: npt.NDArray[np.int64]
    lowest: float
    below_needed_s: float
    zone_exits: int
    is_settled: bool


def flapping_course(
    rng: np.random.Generator,
    *,
    zones: tuple[int, ...],
    needed: int,
    new_per_zone: tuple[int, ...],
    network_s: float,
    window_s: float,
    pass_share: float = 0.5,
    checks: HealthChecks | None = None,
    thresholds: TargetThresholds | None = None,
    enters_when_ready: bool = False,
    dns_failover: bool = True,
    removable_share: float = 1.0,
) -> FlappingCourse:
    """Follow a load balancer whose new targets enter before their network state exists.

    Old targets are ready. New ones enter at second 0, counted as healthy, and become ready evenly up to ``network_s``; until
    then each check of one passes with ``pass_share``. Every change of health asks further checks; checks beyond what the
    checker can do count as failed, for ready targets as well. This is a window: it says nothing about a time after it.

    Parameters:
        rng: the source of all chance.
        zones: old targets of each zone, shape (zones,), 0 or more.
        needed: targets that the load needs.
        new_per_zone: new targets of each zone, shape (zones,).
        network_s: seconds until the last new target is ready.
        window_s: seconds to follow, at least one check interval.
        pass_share: chance, 0 to 1, that a target without network state passes a check.
        checks, thresholds: the checker and the thresholds; ``None`` for their defaults.
        enters_when_ready: whether a new target is registered only once it is ready.
        dns_failover: whether a zone below its DNS threshold leaves DNS at all.
        removable_share: velocity control: most of all registered targets, as a share, that may be out of DNS together.

    Raises:
        ModelError: a value out of its range, or zones that do not match.

    Source: event summary, on the network load balancers; docs/model.md section 4.
    """
    checker, limits = checks or HealthChecks(), thresholds or TargetThresholds()
    old = [whole(f"zones[{i}]", count, least=0) for i, count in enumerate(zones)]
    new = [whole(f"new_per_zone[{i}]", count, least=0) for i, count in enumerate(new_per_zone)]
    if not old or len(old) != len(new) or sum(old) + sum(new) == 0:
        raise ModelError(
            f"zones has {len(old)} values and new_per_zone {len(new)}; give both for every zone, not all 0"
        )
    whole("needed", needed, least=0)
    number("pass_share", pass_share, most=1.0)
    removable = number("removable_share", removable_share, most=1.0)
    ready_by_s = number("network_s", network_s)
    steps = int(number("window_s", window_s, least=checker.interval_s) / checker.interval_s + 1e-9)
    zone_of, ready_s = _targets(old, new, ready_by_s)
    entered_s = ready_s if enters_when_ready else np.zeros(len(zone_of))
    is_healthy = np.ones(len(zone_of), dtype=bool)
    streak = np.zeros(len(zone_of), dtype=np.int64)
    in_dns_now = np.ones(len(old), dtype=bool)
    rows: list[_Row] = []
    late, exits = 0.0, 0
    for step in range(1, steps + 1):
        at_s = step * checker.interval_s
        is_ready, is_registered = ready_s <= at_s, entered_s <= at_s
        passes = (is_ready | (rng.random(len(zone_of)) < pass_share)) & (rng.random(len(zone_of)) >= late)
        turns = passes != is_healthy
        streak = np.where(turns & is_registered, streak + 1, 0)
        changes = streak >= np.where(is_healthy, checker.fails_to_leave, checker.passes_to_enter)
        is_healthy ^= changes
        streak[changes] = 0
        asked = float(np.sum(is_registered)) + checker.extra_checks_per_change * float(np.sum(changes))
        asked_per_s = asked / checker.interval_s
        late = max(0.0, 1.0 - checker.checks_per_s / asked_per_s) if asked_per_s > 0.0 else 0.0
        count = np.bincount(zone_of[is_registered], minlength=len(old))
        healthy = np.bincount(zone_of[is_registered & is_healthy], minlength=len(old))
        in_dns = _in_dns(healthy, count, limits, removable) if dns_failover else count > 0
        exits += int(np.sum(in_dns_now & ~in_dns))
        in_dns_now = in_dns
        is_open = np.array([healthy[zone] < limits.routing(int(count[zone])) for zone in range(len(old))])
        gets_traffic = is_registered & (is_healthy | is_open[zone_of]) & in_dns[zone_of]
        serving = int(np.sum(gets_traffic & is_ready))
        reached = int(np.sum(gets_traffic))
        errors = 1.0 - serving / reached if reached else 1.0
        rows.append(_Row(at_s, healthy, in_dns, is_open, serving, errors, asked_per_s, late, int(np.sum(changes))))
    capacity = np.array([row.serving for row in rows], dtype=np.float64)
    return FlappingCourse(
        times_s=np.array([row.at_s for row in rows]),
        healthy=np.array([row.healthy for row in rows], dtype=np.int64),
        in_dns=np.array([row.in_dns for row in rows], dtype=bool),
        is_open=np.array([row.is_open for row in rows], dtype=bool),
        capacity=capacity,
        error_share=np.array([row.errors for row in rows]),
        checks_per_s=np.array([row.asked_per_s for row in rows]),
        late_share=np.array([row.late for row in rows]),
        changes=np.array([row.changes for row in rows], dtype=np.int64),
        lowest=float(np.min(capacity)),
        below_needed_s=checker.interval_s * int(np.sum(capacity < needed)),
        zone_exits=exits,
        is_settled=bool(np.all(is_ready) and np.all(is_healthy) and np.all(in_dns_now)),
    )


@dataclass(frozen=True, eq=False)
class _Row:
    at_s: float
    healthy: npt.NDArray[np.int64]
    in_dns: npt.NDArray[np.bool_]
    is_open: npt.NDArray[np.bool_]
    serving: int
    errors: float
    asked_per_s: float
    late: float
    changes: int


def _least(share: float | None, targets: int) -> int:
    return 0 if share is None else math.ceil(share * targets - 1e-9)


def _targets(old: list[int], new: list[int], ready_by_s: float) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Zone and second of readiness of every target; new ones of a zone become ready evenly."""
    zone_of = np.concatenate([np.repeat(np.arange(len(old)), old), np.repeat(np.arange(len(new)), new)], dtype=np.int64)
    ready = [np.zeros(sum(old))] + [
        ready_by_s * np.arange(1, count + 1, dtype=np.float64) / count for count in new if count
    ]
    return zone_of, np.concatenate(ready)


def _in_dns(
    healthy: npt.NDArray[np.int64], count: npt.NDArray[np.int64], limits: TargetThresholds, removable: float
) -> npt.NDArray[np.bool_]:
    """Zones in DNS: those at their threshold, and those whose removal would take more than the removable share.

    Where no zone is at its threshold DNS answers with all of them.
    """
    in_dns = np.array([healthy[zone] >= limits.dns(int(count[zone])) for zone in range(len(count))])
    if not bool(np.any(in_dns)):
        return np.ones(len(count), dtype=bool)
    allowed = removable * float(np.sum(count)) + 1e-9
    # The zone with the fewest healthy targets goes first.
    for zone in sorted(np.flatnonzero(~in_dns).tolist(), key=lambda zone: (healthy[zone], zone)):
        if count[zone] <= allowed:
            allowed -= float(count[zone])
        else:
            in_dns[zone] = True
    return in_dns
