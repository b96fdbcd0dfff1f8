"""From a scenario to the models of time-outs, of removals against launches, and of flapping targets.

Each gives what it could compute, and for the rest a sentence that says what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from afterload.model.capacity import PROCESSES, DesiredChange, LaunchImpairment, Protection
from afterload.model.capacity import Fleet as Group
from afterload.model.capacity_course import CapacityCourse, capacity_course, compare_protections
from afterload.model.flapping import FlappingCourse, HealthChecks, TargetThresholds, flapping_course
from afterload.model.launches import BucketLimits, long_run_per_min
from afterload.model.timeout_events import QueueRun, compare_remedies
from afterload.model.timeouts import TimeoutQueue
from afterload.scenario import Fleet, LoadedScenario
from afterload.scenario.capacity_schema import MOST_TARGETS, ControlLoop, Removal, TargetGroup

__all__ = [
    "TODAY",
    "ControlEstimate",
    "FlappingEstimate",
    "RemovalEstimate",
    "estimate_control_loops",
    "estimate_flapping",
    "estimate_removals",
]

SEED = 20_251_020
TODAY = "as it is"
# What keeps a page within about a second, whatever a scenario holds.
MOST_SIMULATED = 3
MOST_SENDS, MOST_WAITING = 40_000, 10_000
# A step of the simulation of a fleet takes a second, or this share of the time since something last happened.
GROWTH = 0.005
MOST_INTERVALS, MOST_CHECKS = 1_000, 1_000_000
# Flapping is chance to a good part: each case is run so many times.
RUNS = 5
# A simulation at a smaller scale keeps at least this many items within a time-out, so that chance stays small.
LEAST_USEFUL = 100


# --- queues with time-outs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ControlEstimate:
    """One control loop. ``runs`` are simulated at 1 / ``scale`` of its size; empty where nothing waits or it is not simulated.

    ``cleared_at_s`` is when the run "clear once" empties the queue.
    """

    name: str
    loop: ControlLoop
    queue: TimeoutQueue
    runs: Mapping[str, QueueRun]
    scale: int
    cleared_at_s: float

    @property
    def can_stay_down(self) -> bool:
        """Whether a state exists in which nothing is served in time and which keeps itself up."""
        return self.queue.can_stay_down(self.loop.load_per_s)


def estimate_control_loops(loaded: LoadedScenario) -> tuple[ControlEstimate, ...]:
    """Every control loop; those with most waiting for what they can serve in time are simulated."""
    loops = loaded.scenario.control_loops
    pressing = sorted(loops, key=lambda name: -loops[name].waiting_at_restore / _queue(loops[name]).useful_length)
    simulated = [name for name in pressing if 0 < loops[name].waiting_at_restore <= MOST_WAITING * _scale(loops[name])]
    simulated = simulated[:MOST_SIMULATED]
    return tuple(_control(name, loop, name in simulated) for name, loop in loops.items())


def _queue(loop: ControlLoop, scale: int = 1) -> TimeoutQueue:
    return TimeoutQueue(
        service_rate_per_s=loop.capacity_per_s / scale,
        timeout_s=loop.timeout_s,
        retries=loop.retries,
        queue_cap=None if loop.queue_cap is None else max(1, round(loop.queue_cap / scale)),
        discipline=loop.order,
        discards_expired=loop.discards_expired,
    )


def _control(name: str, loop: ControlLoop, is_simulated: bool) -> ControlEstimate:
    queue, scale = _queue(loop), _scale(loop)
    cleared_at_s = 12 * loop.timeout_s if loop.cleared_after_s is None else loop.cleared_after_s
    runs: Mapping[str, QueueRun] = {}
    if is_simulated:
        runs = compare_remedies(
            _queue(loop, scale),
            np.random.default_rng(SEED),
            load_per_s=loop.load_per_s / scale,
            waiting_at_start=max(1, round(loop.waiting_at_restore / scale)),
            clear_at_s=cleared_at_s,
            window_s=loop.timeout_s,
            most_sends=MOST_SENDS,
        )
    return ControlEstimate(name, loop, queue, runs, scale, cleared_at_s)


def _scale(loop: ControlLoop) -> int:
    """How much smaller the queue is simulated, so that its sends stay few and chance stays small."""
    tries = 20 if loop.retries is None else loop.retries + 1
    sends = (loop.waiting_at_restore + loop.load_per_s * loop.timeout_s) * tries
    most = int(_queue(loop).useful_length / LEAST_USEFUL)
    return max(1, min(most, math.ceil(2 * sends / MOST_SENDS)))


# --- removals against launches -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemovalEstimate:
    """What becomes of one fleet while launches fail: today, and with each remedy, by its name in ``courses``."""

    name: str
    fleet: Fleet
    courses: Mapping[str, CapacityCourse]
    velocity_per_min: float
    provisioned: int

    @property
    def today(self) -> CapacityCourse:
        """The course as the scenario is."""
        return self.courses[TODAY]

    @property
    def impaired_min(self) -> float:
        """Minutes for which launches fail."""
        return self.fleet.launches_from_min


def estimate_removals(loaded: LoadedScenario) -> tuple[tuple[RemovalEstimate, ...], tuple[str, ...]]:
    """Every fleet that can lose instances while launches fail, and why the others are left out."""
    found: list[RemovalEstimate] = []
    reasons = []
    for name, fleet in loaded.scenario.fleets.items():
        case = _case(fleet)
        if isinstance(case, str):
            reasons.append(f"{name}: {case}.")
        else:
            found.append(_removal(name, fleet, *case, has_remedies=len(found) < MOST_SIMULATED))
    return tuple(found), tuple(reasons)


def _case(fleet: Fleet) -> tuple[Group, LaunchImpairment, Protection] | str:
    """A fleet as the model takes it; where nothing can be lost, the reason."""
    more = fleet.removal or Removal()
    listed = None if fleet.removal_automation is None else {item.name for item in fleet.removal_automation}
    if fleet.launches_from_min <= 0:
        return "launches succeed from the restore on (launches_from), so what is removed can be replaced at once"
    if max(fleet.running, fleet.needed) == 0:
        return "it has no instances and needs none"
    if listed is not None and not listed & set(PROCESSES):
        return (
            "no process of Auto Scaling can remove its instances, so there is none to suspend"
            if not listed
            else f"only automation of the team's own removes its instances ({', '.join(sorted(listed))}): pause that"
        )

    def acts(process: str) -> bool:
        return listed is None or process in listed

    rate, share = fleet.removal_rate_per_min, more.checks_failing
    if rate == 0 and share:
        # All of them within the first second.
        rate = 60.0 * max(1, fleet.running)
    changes = []
    if acts("AlarmNotification") and more.alarm_scale_in:
        changes.append(DesiredChange(0, -more.alarm_scale_in))
    if acts("ScheduledActions") and more.scheduled_scale_in:
        changes.append(DesiredChange(0, -more.scheduled_scale_in, is_scheduled=True))
    impairment = LaunchImpairment(
        length_s=60 * fleet.launches_from_min,
        unhealthy_per_min=rate if acts("ReplaceUnhealthy") else 0.0,
        unhealthy_share=1.0 if share is None else share,
        failures_spend=False,
        worth_of_unhealthy=more.worth_of_unhealthy,
        changes=changes,
        rebalance=more.rebalancing if acts("AZRebalance") else 0,
        refresh=more.refreshing if acts("InstanceRefresh") else 0,
    )
    if not (impairment.unhealthy_per_min or changes or impairment.rebalance or impairment.refresh):
        return "nothing says that it loses instances while launches fail (removal_rate, or removal.checks_failing)"
    shape = fleet.launch
    group = Group(
        in_service=fleet.running,
        needed=fleet.needed,
        desired=max(fleet.running, fleet.needed),
        boot_s=shape.boot_time_s,
        network_s=shape.network_delay_s,
        instances_per_request=shape.instances_per_request,
        run_limits=_buckets(fleet).left_over(shape.throttle_factor, shape.other_callers_share),
        buckets_full=shape.buckets_full,
    )
    paused = frozenset(item.name for item in fleet.removal_automation or () if item.paused) & set(PROCESSES)
    return group, impairment, Protection(suspended=paused, floor=fleet.removal_floor)


def _buckets(fleet: Fleet) -> BucketLimits:
    shape = fleet.launch
    return BucketLimits(
        request_burst=shape.request_burst,
        requests_per_s=shape.request_refill_per_s,
        instance_burst=shape.instance_burst,
        instances_per_s=shape.instance_refill_per_s,
    )


def _removal(
    name: str, fleet: Fleet, group: Group, impairment: LaunchImpairment, today: Protection, *, has_remedies: bool
) -> RemovalEstimate:
    more, shape = fleet.removal or Removal(), fleet.launch
    velocity = more.velocity_limit_per_min
    if velocity is None:
        velocity = long_run_per_min(
            _buckets(fleet),
            instances_per_request=shape.instances_per_request,
            throttle_factor=shape.throttle_factor,
            other_callers_share=shape.other_callers_share,
        )
    if today.suspended:
        today = replace(today, resume_at_s=impairment.length_s)
    course = capacity_course(group, impairment, today, growth=GROWTH)
    provisioned = more.provisioned
    if provisioned is None:
        provisioned = math.ceil(max(0.0, fleet.needed - course.lowest) - 1e-9)
    courses: Mapping[str, CapacityCourse] = {TODAY: course}
    if has_remedies:
        every = compare_protections(
            group, impairment, velocity_per_min=velocity, provisioned=provisioned, today=today, growth=GROWTH
        )
        courses = {key: each for key, each in every.items() if provisioned or key != "provisioned before"}
    return RemovalEstimate(name, fleet, courses, velocity, provisioned)


# --- flapping targets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FlappingEstimate:
    """What a load balancer sees of one fleet whose new targets enter too early, over ``window_s`` seconds.

    ``courses`` has the same number of runs for every remedy, each with chance of its own; ``shown`` is the place of the run
    in which least serves as it is.
    """

    name: str
    fleet: Fleet
    group: TargetGroup
    new_targets: tuple[int, ...]
    window_s: float
    is_cut: bool
    courses: Mapping[str, tuple[FlappingCourse, ...]]

    @property
    def shown(self) -> int:
        """The run in which least serves as it is."""
        return int(np.argmin([course.lowest for course in self.courses[TODAY]]))


def estimate_flapping(loaded: LoadedScenario) -> tuple[tuple[FlappingEstimate, ...], tuple[str, ...]]:
    """Every fleet whose target group can flap, and why the others with one are left out."""
    found: list[FlappingEstimate] = []
    reasons = []
    for name, fleet in loaded.scenario.fleets.items():
        group = fleet.target_group
        if group is None:
            continue
        new = group.new_targets or _spread(max(0, fleet.needed - fleet.running), len(group.targets))
        if fleet.launch.network_delay_s <= 0:
            reasons.append(f"{name}: its new targets have their network state at once (launch.network_delay is zero).")
        elif sum(new) == 0:
            reasons.append(f"{name}: no new targets enter, since no instances are missing.")
        elif max(new) > MOST_TARGETS:
            reasons.append(
                f"{name}: {max(new):,} new targets of a zone are more than {MOST_TARGETS:,}: give new_targets."
            )
        elif len(found) == MOST_SIMULATED:
            reasons.append(f"{name}: only the first {MOST_SIMULATED} target groups are simulated.")
        else:
            found.append(_flapping(name, fleet, group, new))
    return tuple(found), tuple(reasons)


def _spread(count: int, zones: int) -> tuple[int, ...]:
    """A count over zones, as evenly as whole numbers go."""
    return tuple(count // zones + (place < count % zones) for place in range(zones))


def _flapping(name: str, fleet: Fleet, group: TargetGroup, new: tuple[int, ...]) -> FlappingEstimate:
    network_s, interval_s = fleet.launch.network_delay_s, group.check_interval_s
    # Long enough for the last target to become ready and to be counted as healthy again.
    whole_s = network_s + 4 * interval_s * (group.fails_to_leave + group.passes_to_enter)
    every = sum(group.targets) + sum(new)
    window_s = min(whole_s, min(MOST_INTERVALS, MOST_CHECKS // every) * interval_s)
    # Without a bound of its own the checker does all that could be asked of it.
    unbounded = every * (1 + group.checks_per_change) / interval_s
    thresholds = TargetThresholds(group.routing_count, group.dns_count, group.routing_share, group.dns_share)
    opened = replace(thresholds, routing_count=group.dns_count, routing_share=group.dns_share)
    largest = max(old + more for old, more in zip(group.targets, new, strict=True))

    def course(
        thresholds: TargetThresholds = thresholds,
        enters_when_ready: bool = False,
        dns_failover: bool = True,
        removable_share: float = 1.0,
        checker: float = 1.0,
    ) -> tuple[FlappingCourse, ...]:
        return tuple(
            flapping_course(
                np.random.default_rng(SEED + run),
                zones=group.targets,
                needed=fleet.needed,
                new_per_zone=new,
                network_s=network_s,
                window_s=window_s,
                pass_share=group.pass_share,
                checks=HealthChecks(
                    interval_s=interval_s,
                    fails_to_leave=group.fails_to_leave,
                    passes_to_enter=group.passes_to_enter,
                    checks_per_s=unbounded if group.checker_rate_per_s is None else checker * group.checker_rate_per_s,
                    extra_checks_per_change=group.checks_per_change,
                ),
                thresholds=thresholds,
                enters_when_ready=enters_when_ready,
                dns_failover=dns_failover,
                removable_share=removable_share,
            )
            for run in range(RUNS)
        )

    courses = {TODAY: course(), "targets enter when ready": course(enters_when_ready=True)}
    if len(group.targets) > 1:
        courses["zones stay in DNS"] = course(dns_failover=False)
        courses["at most one zone out of DNS"] = course(removable_share=min(1.0, largest / every))
    if opened != thresholds:
        courses["a zone fails open where it would leave DNS"] = course(opened, dns_failover=False)
    if group.checker_rate_per_s is not None:
        courses["a checker of twice the rate"] = course(checker=2.0)
    return FlappingEstimate(name, fleet, group, new, window_s, window_s < whole_s, courses)
