"""Capacity over time while launches fail: what health checks and scaling take away, and what is put back.

Instances are whole, time goes in steps. Launches and terminations pass the token buckets of ``launches``; those
of terminations fill ten times as fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.capacity import PROCESSES, Fleet, LaunchImpairment, Protection
from afterload.model.checks import number
from afterload.model.curves import FloatArray
from afterload.model.launches import BucketLimits

__all__ = ["CapacityCourse", "capacity_course", "compare_protections"]


@dataclass(frozen=True, eq=False)
class CapacityCourse:
    """Capacity from the trigger until nothing changes any more.

    Attributes:
        times_s: ends of the steps, shape (steps,); the first entry is the trigger.
        capacity: instances' worth of work that is served, shape (steps,); a marked one counts by its worth.
        running: instances that run, in service or not, shape (steps,).
        marked: instances marked unhealthy that still run, shape (steps,).
        desired: desired capacity, shape (steps,).
        lowest: the least of ``capacity``.
        below_needed_s: seconds with less capacity than needed; ``None`` where it stays below for ever.
        back_s: seconds from the end of the impairment until capacity is at what is needed for good, 0 if it already is
            then; ``None`` for never.
        full_s: the same for the desired capacity, all of it healthy and in service.
        removed, launched: instances terminated and launched.
        removed_after_resume: instances terminated after the processes were resumed.
        unregistered: instances that run but never join the load balancer.
        largest: the most instances that ran at a time.
    """

    times_s: FloatArray
    capacity: FloatArray
    running: FloatArray
    marked: FloatArray
    desired: FloatArray
    lowest: float
    below_needed_s: float | None
    back_s: float | None
    full_s: float | None
    removed: int
    launched: int
    removed_after_resume: int
    unregistered: int
    largest: int


def capacity_course(
    fleet: Fleet,
    impairment: LaunchImpairment,
    protection: Protection | None = None,
    *,
    step_s: float = 1.0,
    growth: float = 0.0,
) -> CapacityCourse:
    """Follow a scaling group from the trigger until nothing changes any more; there is no horizon.

    HealthCheck marks; ReplaceUnhealthy terminates what is marked, then launches; AZRebalance launches, then terminates,
    and leaves up to a tenth over the maximum when Terminate is suspended; InstanceRefresh terminates, then launches;
    AlarmNotification and ScheduledActions change the desired capacity, and Terminate carries out every removal. With
    Launch suspended alone removals go on. What is launched while AddToLoadBalancer is suspended never joins by itself.
    A process resumed acts at once on everything that gathered meanwhile.

    Parameters:
        fleet, impairment: the group and what fails.
        protection: what a team does; ``None`` for nothing.
        step_s: length of a step in seconds.
        growth: share, 0 to 1, of the time since the last event (trigger, end of the impairment, resume, change of the
            desired capacity) that a step may take where that is longer, so that what takes very long takes few steps.

    Raises:
        ModelError: a value out of its range, or a request larger than its bucket.

    Source: service documentation of the scaling processes and of API throttling; docs/model.md section 4.
    """
    shortest, share = number("step_s", step_s, above=0.0), number("growth", growth, most=1.0)
    protection = protection or Protection()
    group = _Group(fleet, impairment, protection, shortest)
    events = [0.0, impairment.length_s, *(change.at_s for change in impairment.changes)]
    events = sorted({*events, protection.resume_at_s or 0.0})
    while group.can_change():
        if share > 0.0:
            group.step_s = _pace_s(events, group.now_s, shortest, share)
        group.step()
    return group.result()


def compare_protections(
    fleet: Fleet,
    impairment: LaunchImpairment,
    *,
    velocity_per_min: float,
    provisioned: int,
    resume_at_s: float | None = None,
    today: Protection | None = None,
    growth: float = 0.0,
) -> Mapping[str, CapacityCourse]:
    """The same impairment as it is today, and with one protection more: each process suspended, and each other one.

    A process that has nothing to do here gives today's course.

    Parameters:
        velocity_per_min, provisioned: as in :class:`Protection`.
        resume_at_s: when suspended processes are resumed; ``None`` for the end of the impairment.
        today: what is in place already; ``None`` for nothing.
        growth: as in :func:`capacity_course`.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 4.
    """
    resume_s = impairment.length_s if resume_at_s is None else resume_at_s
    today = today or Protection()
    held = replace(today, resume_at_s=resume_s) if today.suspended else today

    def suspend(*names: str, resets_health: bool = False) -> Protection:
        every = today.suspended | set(names)
        return replace(today, suspended=every, resume_at_s=resume_s, resets_health=today.resets_health or resets_health)

    idle = _idle_processes(impairment) | today.suspended
    protections = {"as it is": held}
    for process in PROCESSES:
        protections[f"{process} suspended"] = held if process in idle else suspend(process)
    careful = suspend("ReplaceUnhealthy", "AZRebalance", resets_health=True)
    protections["ReplaceUnhealthy and AZRebalance suspended, health reset"] = careful
    protections["velocity limit"] = replace(held, velocity_per_min=velocity_per_min)
    protections["standby"] = replace(held, uses_standby=True)
    protections["provisioned before"] = replace(held, provisioned=held.provisioned + provisioned)
    courses: dict[Protection, CapacityCourse] = {}
    for each in protections.values():
        if each not in courses:
            courses[each] = capacity_course(fleet, impairment, each, growth=growth)
    return {name: courses[each] for name, each in protections.items()}


def _pace_s(events: Sequence[float], now_s: float, shortest_s: float, growth: float) -> float:
    """Length of the next step: it grows with the time since the last event, and ends at the next one."""
    past = [event for event in events if event <= now_s + 1e-6]
    step_s = max(shortest_s, growth * (now_s - past[-1]))
    return step_s if len(past) == len(events) else min(step_s, events[len(past)] - now_s)


def _idle_processes(impairment: LaunchImpairment) -> set[str]:
    """Processes that have nothing to do in this impairment, whether they run or not."""
    idle = set()
    if impairment.rebalance == 0:
        idle.add("AZRebalance")
    if impairment.refresh == 0:
        idle.add("InstanceRefresh")
    for process, is_scheduled in (("ScheduledActions", True), ("AlarmNotification", False)):
        if not any(change.is_scheduled == is_scheduled for change in impairment.changes):
            idle.add(process)
    return idle


class _Bucket:
    """Two buckets in series, in steps."""

    def __init__(self, limits: BucketLimits, per_request: int, full: float = 1.0) -> None:
        self._limits, self._size = limits, per_request
        self._requests, self._instances = full * limits.request_burst, full * limits.instance_burst
        if per_request > limits.instance_burst:
            raise ModelError(
                f"instances_per_request is {per_request}, more than the instance bucket of {limits.instance_burst:g}"
            )

    def refill(self, step_s: float) -> None:
        # The bucket overflows at the end of a step, not within it: what a step brings can be taken.
        limits = self._limits
        self._requests = min(limits.request_burst, self._requests) + limits.requests_per_s * step_s
        self._instances = min(limits.instance_burst, self._instances) + limits.instances_per_s * step_s

    def take(self, wanted: int) -> int:
        """Instances admitted now, at most those wanted."""
        # A hair of slack: refills of 0.1 a step must add up to a whole token in ten steps.
        whole_requests = int(self._requests + 1e-9)
        admitted = min(wanted, int(self._instances + 1e-9), whole_requests * self._size)
        if admitted < wanted:
            # A request passes whole or not at all.
            admitted -= admitted % self._size
        self._requests -= math.ceil(admitted / self._size)
        self._instances -= admitted
        return admitted

    def give_back(self, count: int) -> None:
        """Instance tokens of launches that failed; the requests stay spent."""
        self._instances = min(self._limits.instance_burst, self._instances + count)


class _Group:
    def __init__(self, fleet: Fleet, impairment: LaunchImpairment, protection: Protection, step_s: float) -> None:
        self._fleet, self._impairment, self._protection = fleet, impairment, protection
        self.step_s, self.now_s = step_s, 0.0
        self._desired = fleet.wanted + protection.provisioned
        self._most = max(fleet.most, self._desired)
        self._good = fleet.in_service + protection.provisioned
        self._marked = self._standby = self._unregistered = 0
        share = impairment.unhealthy_share
        self._to_mark = math.inf if share == 1.0 else float(round(share * self._good))
        self._pending: list[tuple[float, int, bool]] = []
        self._launches = _Bucket(fleet.run_limits, fleet.instances_per_request, fleet.buckets_full)
        self._terminations = _Bucket(fleet.terminate_limits, 1)
        self._to_rebalance, self._to_refresh = impairment.rebalance, impairment.refresh
        self._changes = list(impairment.changes)
        self._refresh_open = self._refresh_goal = 0
        self._marking = self._velocity = self._luck = 0.0
        self._removed = self._launched = self._removed_after_resume = 0
        self._is_stuck = False
        self._rows: list[tuple[float, float, int, int, int]] = []
        self._note()

    def _runs(self, process: str) -> bool:
        protection = self._protection
        # A step that ends with the resume is still one without the process.
        began_s = self.now_s - self.step_s + 1e-6
        is_resumed = protection.resume_at_s is not None and began_s >= protection.resume_at_s
        return process not in protection.suspended or is_resumed

    @property
    def _serving(self) -> int:
        return self._good + self._marked

    @property
    def _coming(self) -> int:
        return sum(count for _, count, _ in self._pending)

    def can_change(self) -> bool:
        """Whether anything can still happen."""
        resume_s = self._protection.resume_at_s or 0.0
        if self.now_s <= max(self._impairment.length_s, resume_s) or self._changes or self._pending:
            return True
        return not self._is_stuck

    def step(self) -> None:
        self.now_s += self.step_s
        before = (self._good, self._marked, self._standby, self._unregistered, len(self._pending), self._launched)
        at_s = self.now_s
        is_impaired = at_s <= self._impairment.length_s
        self._launches.refill(self.step_s)
        self._terminations.refill(self.step_s)
        self._arrive(at_s)
        self._change_desired(at_s)
        if is_impaired and self._runs("HealthCheck"):
            self._marking += self._impairment.unhealthy_per_min * self.step_s / 60.0
            newly = int(min(self._good, self._to_mark, int(self._marking + 1e-9)))
            self._marking -= int(self._marking + 1e-9)
            self._good -= newly
            self._to_mark -= newly
            if self._protection.uses_standby:
                self._standby += newly
            else:
                self._marked += newly
        if at_s >= self._impairment.length_s and self._standby:
            self._good, self._standby = self._good + self._standby, 0
        self._reset_health(at_s)
        wanted_removals = self._remove(at_s)
        wanted_launches = self._launch(at_s, is_impaired)
        self._note()
        after = (self._good, self._marked, self._standby, self._unregistered, len(self._pending), self._launched)
        # Nothing moved and nothing waits for a bucket: it stays so.
        self._is_stuck = before == after and not wanted_removals and not wanted_launches

    def _arrive(self, at_s: float) -> None:
        arrived = [entry for entry in self._pending if entry[0] <= at_s + 1e-9]
        self._pending = [entry for entry in self._pending if entry[0] > at_s + 1e-9]
        for _, count, is_registered in arrived:
            if is_registered:
                self._good += count
            else:
                self._unregistered += count

    def _change_desired(self, at_s: float) -> None:
        while self._changes and self._changes[0].at_s <= at_s:
            change = self._changes.pop(0)
            if self._runs("ScheduledActions" if change.is_scheduled else "AlarmNotification"):
                self._desired = min(self._most, max(0, self._desired + change.change))

    def _reset_health(self, at_s: float) -> None:
        resume_s = self._protection.resume_at_s
        if self._protection.resets_health and resume_s is not None and at_s - self.step_s < resume_s <= at_s:
            self._good, self._marked = self._good + self._marked, 0

    def _remove(self, at_s: float) -> int:
        """Terminate what the processes want gone; how many still wait for a bucket or a limit."""
        if not self._runs("Terminate"):
            return 0
        velocity = self._protection.velocity_per_min
        if velocity is not None:
            self._velocity = min(max(1.0, velocity), self._velocity) + velocity * self.step_s / 60.0
        allowed = self._serving if velocity is None else min(self._serving, int(self._velocity + 1e-9))
        above_floor = max(0, self._serving - self._protection.floor)
        unhealthy = self._marked if self._runs("ReplaceUnhealthy") else 0
        in_group = self._serving + self._unregistered + self._standby
        # Scale-in, and the old half of a rebalance once its new half serves.
        surplus = min(self._serving - unhealthy, max(0, in_group - unhealthy - self._desired))
        refresh = 0
        if self._runs("InstanceRefresh") and self._to_refresh:
            floor = math.ceil(self._impairment.refresh_healthy_share * self._desired - 1e-9)
            refresh = min(self._to_refresh, max(0, self._serving - unhealthy - surplus - floor))
        wanted = min(unhealthy + surplus + refresh, above_floor)
        gone = self._terminations.take(min(wanted, allowed))
        if velocity is not None:
            self._velocity -= gone
        from_marked = min(gone, unhealthy)
        rest = gone - from_marked
        from_surplus = min(rest, surplus)
        self._to_refresh -= rest - from_surplus
        marked_too = min(rest, self._marked - from_marked)
        self._marked -= from_marked + marked_too
        self._good -= rest - marked_too
        self._removed += gone
        resume_s = self._protection.resume_at_s
        if resume_s is not None and at_s - self.step_s + 1e-6 >= resume_s:
            self._removed_after_resume += gone
        return wanted - gone if velocity != 0.0 else 0

    def _launch(self, at_s: float, is_impaired: bool) -> int:
        """Launch what is missing; how many still wait for a bucket."""
        if not self._runs("Launch"):
            return 0
        present = self._serving + self._unregistered + self._standby + self._coming
        wanted = max(0, self._desired - present)
        if not wanted and self._runs("AZRebalance") and self._to_rebalance:
            room = math.floor(1.1 * self._most + 1e-9) - present
            wanted = max(0, min(self._to_rebalance, room))
        if not wanted:
            return 0
        if is_impaired and self._impairment.launch_success == 0.0 and not self._impairment.failures_spend:
            return wanted
        admitted = self._launches.take(wanted)
        launched = admitted
        if is_impaired:
            self._luck += admitted * self._impairment.launch_success
            launched = int(self._luck + 1e-9)
            self._luck -= launched
            if not self._impairment.failures_spend:
                self._launches.give_back(admitted - launched)
        if present >= self._desired:
            self._to_rebalance -= launched
        if launched:
            ready_s = at_s + self._fleet.boot_s + self._fleet.network_s
            self._pending.append((ready_s, launched, self._runs("AddToLoadBalancer")))
            self._launched += launched
        return wanted - launched

    def _note(self) -> None:
        capacity = self._good + self._impairment.worth_of_unhealthy * self._marked
        running = self._serving + self._unregistered + self._standby + self._coming
        self._rows.append((self.now_s, capacity, running, self._marked, self._desired))

    def result(self) -> CapacityCourse:
        times, capacity, running, marked, desired = (
            np.array(column, dtype=np.float64) for column in zip(*self._rows, strict=True)
        )
        is_below = capacity < self._fleet.needed - 1e-9
        in_full = (capacity >= desired - 1e-9) & (marked == 0)
        ends_s = self._impairment.length_s
        return CapacityCourse(
            times_s=times,
            capacity=capacity,
            running=running,
            marked=marked,
            desired=desired,
            lowest=float(np.min(capacity)),
            below_needed_s=None if bool(is_below[-1]) else float(np.sum(np.diff(times)[is_below[:-1]])),
            back_s=_for_good_s(times, ~is_below, ends_s),
            full_s=_for_good_s(times, in_full, ends_s),
            removed=self._removed,
            launched=self._launched,
            removed_after_resume=self._removed_after_resume,
            unregistered=self._unregistered,
            largest=int(np.max(running)),
        )


def _for_good_s(times_s: FloatArray, holds: npt.NDArray[np.bool_], from_s: float) -> float | None:
    """Seconds after ``from_s`` from which on ``holds`` is true to the end."""
    if not bool(holds[-1]):
        return None
    broken = np.flatnonzero(~holds)
    first = int(broken[-1]) + 1 if len(broken) else 0
    return max(0.0, float(times_s[first]) - from_s)
