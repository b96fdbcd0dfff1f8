"""One recovery with everything that acts on everything: queues, dependencies, retries, launches and admission.

Each part alone is computed exactly in its own module. Here they share a clock, in steps of a minute or finer, and act on
each other: drains load a dependency, a dependency that is pushed over its capacity collapses, retries keep it down until
quotas run empty or load falls below hidden capacity, instances come and go, and an admission plan holds the doors.

A step is cut wherever a rate changes within it, so the step only matters to what changes all the time: arrivals between two
points of the grid, a cache that fills, instances that start.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.backlog import cap_rate_per_min
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.queues import QueueLoad

__all__ = [
    "GUIDE_STEPS",
    "Admission",
    "CapSteps",
    "Certainty",
    "CoupledDependency",
    "CoupledFleet",
    "CoupledQueue",
    "CoupledResult",
    "CoupledSystem",
    "Input",
    "Trace",
    "backlogs",
    "cap_rate",
    "certainty",
    "simulate",
    "trace",
]

GUIDE_STEPS = (
    "hold the doors",
    "restore control loops",
    "admit fresh requests",
    "drain recent backlog",
    "replay old backlog",
    "lift limits in steps",
    "re-enable removal",
)
DAY_MIN = 1_440.0
LONGEST_MIN = 14 * DAY_MIN
# Arrivals that do not change are compared with themselves after this time.
PLAIN_PERIOD_MIN = 240.0
# A load this close to what a dependency bears is too close to call.
NEAR_SHARE = 0.02
# Headline results that move by more than this when the step is halved are not certain.
MOVED_SHARE = 0.01
# Fewer draws than this are not worth a second thread.
DRAWS_PER_THREAD = 256

BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CapSteps:
    """What a cap on consumers can be: a whole number of steps, such as items at once or pollers.

    Attributes:
        each_per_min: items a minute that one step makes.
        least: fewest steps that can be set; with less the consumers are stopped.
        highest: most steps that can be set.
    """

    each_per_min: float
    least: int = 1
    highest: float = math.inf

    def __post_init__(self) -> None:
        number("each_per_min", self.each_per_min, above=0.0)
        whole("least", self.least)
        if math.isnan(self.highest) or self.highest < self.least:
            raise ModelError(f"highest is {self.highest:g}; give at least {self.least:,}")


@dataclass(frozen=True)
class CoupledQueue:
    """A queue in the coupled recovery.

    Attributes:
        load: the queue as :func:`afterload.model.backlog.recover` takes it; its ``arrivals`` begin ``lead_min`` of the
            system before the restore, its ``outage_min`` is the system's.
        dependency: place of the dependency that its consumers call, or None.
        attempts_failing: attempts that one item costs while the dependency fails, at least 1.
        max_receives: failed deliveries after which an item is dead-lettered; None for no limit.
        fleet: place of the fleet that its consumers run on, or None.
        cap_steps: what the caps of an admission plan can be; None where they can be any rate.
    """

    load: QueueLoad
    dependency: int | None = None
    attempts_failing: float = 1.0
    max_receives: float | None = None
    fleet: int | None = None
    cap_steps: CapSteps | None = None

    def __post_init__(self) -> None:
        number("attempts_failing", self.attempts_failing, least=1.0)
        if self.max_receives is not None:
            number("max_receives", self.max_receives, least=1.0)


@dataclass(frozen=True)
class CoupledDependency:
    """What queues and direct traffic call. Rates are attempts or requests a minute.

    Attributes:
        capacity_per_min: attempts that it bears.
        control_per_min: control-loop traffic: leases, health pings; always admitted first. It is retried like the rest.
        fresh_per_min: direct interactive traffic as it arrives at rest, behind the cache if there is one.
        attempts_failing: attempts that one direct request costs while it fails.
        goodput_share: share of capacity that still does useful work while collapsed; 0 when every call times out.
        collapsed_at_restore: the state in which the recovery starts.
        retry_tokens: retries that the quotas of all clients, consumers included, hold at the restore; infinite
            without a quota. Successes refill them while the dependency is healthy, up to this number.
        sustained_attempts: attempts a request once the quotas are empty.
        refill_per_success: retries that one success brings back.
        hit_at_rest, hit_at_restore: cache hit rates, below 1.
        cache_fill_min: minutes in which the cache closes 63 % of the gap; 0 for a cache that does not change.
        room_per_min: what operators may use of it, the tested rate; None for its capacity. Admission steps keep to it.
    """

    capacity_per_min: float
    control_per_min: float = 0.0
    fresh_per_min: float = 0.0
    attempts_failing: float = 1.0
    goodput_share: float = 0.0
    collapsed_at_restore: bool = False
    retry_tokens: float = math.inf
    sustained_attempts: float = 1.0
    refill_per_success: float = 0.0
    hit_at_rest: float = 0.0
    hit_at_restore: float = 0.0
    cache_fill_min: float = 0.0
    room_per_min: float | None = None

    def __post_init__(self) -> None:
        number("capacity_per_min", self.capacity_per_min, above=0.0)
        for name in ("control_per_min", "fresh_per_min", "refill_per_success", "cache_fill_min"):
            number(name, getattr(self, name))
        number("attempts_failing", self.attempts_failing, least=1.0)
        number("sustained_attempts", self.sustained_attempts, least=1.0)
        number("goodput_share", self.goodput_share, most=1.0)
        for name in ("hit_at_rest", "hit_at_restore"):
            number(name, getattr(self, name), below=1.0)
        if math.isnan(self.retry_tokens) or self.retry_tokens < 0:
            raise ModelError(f"retry_tokens is {self.retry_tokens}; give the retries that all quotas hold, 0 or more")


@dataclass(frozen=True)
class CoupledFleet:
    """Instances that serve, as many as ``needed`` bearing the whole rate of the queues that name the fleet.

    Attributes:
        running: instances in service at the restore.
        needed: instances wanted; launches make up for what is missing.
        launch_burst: launches that are free at the restore.
        launch_per_min: launches a minute once these are spent.
        start_delay_min: minutes from launch to service.
        launches_from_min: minutes after the restore until launches succeed.
        removal_per_min: instances a minute that automation removes meanwhile, since it cannot replace them.
        automation_active: whether that automation runs; an admission plan pauses it until its seventh step is over.
        removal_floor: instances below which a velocity limit stops removals.
        request_burst, request_per_min: the same as the two about launches, for the bucket of requests (requests times
            instances a request); None if requests do not bind.
    """

    running: float
    needed: float
    launch_burst: float = 0.0
    launch_per_min: float = 0.0
    start_delay_min: float = 0.0
    launches_from_min: float = 0.0
    removal_per_min: float = 0.0
    automation_active: bool = False
    removal_floor: float = 0.0
    request_burst: float | None = None
    request_per_min: float | None = None

    def __post_init__(self) -> None:
        for name in (
            "running",
            "needed",
            "launch_burst",
            "launch_per_min",
            "start_delay_min",
            "launches_from_min",
            "removal_per_min",
            "removal_floor",
        ):
            number(name, getattr(self, name))
        for name in ("request_burst", "request_per_min"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name))


@dataclass(frozen=True)
class Admission:
    """The guide's seven steps: what is held, and for how long a signal must hold before the next step.

    Retry quotas are on, so a failing call costs ``sustained_attempts``, and removal automation is paused until all steps are
    over. Direct traffic is shed before step 3; consumers keep ``floor_share`` before step 4; sidelined work waits for step 5.
    No step is left while a dependency is down. Beyond that step 2 waits for caches (nine tenths of the hit rate at rest),
    3 for loads within ``objective_share``, 4 for first-attempt age at baseline, 5 for empty backlogs, and 7 for full fleets.

    A dependency that has been down for ``notice_min`` in a later step closes the doors: back to step 1, from where the steps
    are taken anew, since only there its load is sure to be least. In steps 6 and 7 the lifts are taken back first; that is
    all if it heals the dependency.

    Attributes:
        floor_share: share of their rate that consumers keep in steps 1 to 3.
        drain_share: share of the room that control and direct traffic leave at a dependency which drains get in steps 4
            and 5; queues divide it by what their consumers do, and one at rest leaves what it does not use to the others. A share
            below a queue's arrivals keeps it in step 4.
        replay_share: share of that which sidelined work gets from step 5 on.
        lifts: equal steps in which step 6 lifts the cap from there to what consumers can do, each held for the sixth hold.
            Caps, lifts and floors are rounded down to what a queue's ``cap_steps`` allow.
        hold_min: minutes for which the signal of each of the seven steps must hold.
        objective_share: share of a dependency's capacity up to which latency is within its objective.
        notice_min: minutes until a collapse is noticed.
    """

    floor_share: float = 0.0
    drain_share: float = 0.8
    replay_share: float = 1.0
    lifts: int = 3
    hold_min: tuple[float, float, float, float, float, float, float] = (5.0, 5.0, 5.0, 5.0, 5.0, 15.0, 5.0)
    objective_share: float = 1.0
    notice_min: float = 1.0

    def __post_init__(self) -> None:
        for name in ("floor_share", "drain_share", "replay_share", "objective_share"):
            number(name, getattr(self, name), most=1.0)
        whole("lifts", self.lifts)
        number("notice_min", self.notice_min)
        if len(self.hold_min) != len(GUIDE_STEPS):
            raise ModelError(f"hold_min has {len(self.hold_min)} values; give one for each of the seven steps")
        for minutes in self.hold_min:
            number("hold_min", minutes)


@dataclass(frozen=True)
class CoupledSystem:
    """Everything that recovers together. ``lead_min`` is how long before the restore the arrivals begin."""

    outage_min: float
    lead_min: float
    queues: tuple[CoupledQueue, ...]
    dependencies: tuple[CoupledDependency, ...] = ()
    fleets: tuple[CoupledFleet, ...] = ()
    admission: Admission | None = None

    def __post_init__(self) -> None:
        number("outage_min", self.outage_min)
        if number("lead_min", self.lead_min) < self.outage_min:
            raise ModelError(f"lead_min is {self.lead_min:g}, shorter than the outage of {self.outage_min:g}")
        for queue in self.queues:
            if queue.load.outage_min != self.outage_min:
                raise ModelError(
                    f"a queue has an outage of {queue.load.outage_min:g} min and the system one of {self.outage_min:g}"
                )
            for name, count in (("dependency", len(self.dependencies)), ("fleet", len(self.fleets))):
                place = getattr(queue, name)
                if place is not None and not 0 <= place < count:
                    raise ModelError(f"a queue names {name} {place}, but there are {count}")


Kind = Literal["outage", "queue", "dependency", "fleet"]


@dataclass(frozen=True, order=True)
class Input:
    """One number of a system that can be uncertain: ``Input("queue", 0, "service_rate_per_min")``.

    A queue's ``arrivals`` is a factor on its whole profile; everything else is the value itself.
    """

    kind: Kind
    place: int
    name: str


@dataclass(frozen=True, eq=False)
class CoupledResult:
    """Results of every draw. Shapes: (draws, queues), (draws, dependencies) or (draws, fleets); NaN is "not reached".

    Minutes are counted from the restore, items from the trigger. A time is kept when it is first reached, as in
    :func:`afterload.model.backlog.recover`; if the queue waits again because its dependency went down, its fleet shrank or the
    admission plan held it, the time when that too is over counts.
    ``initial + arrived`` is the sum of ``served``, ``expired``, ``lost_to_retention``, ``discarded_past_deadline``,
    ``superseded``, ``dead_lettered``, ``live_at_end`` and ``sidelined_at_end``; ``direct`` that of ``direct_served``,
    ``failed_direct`` and ``shed``, counted as requests to the dependency, of which a cold cache makes more.

    Attributes:
        healed_at_min: when each dependency was up for good; 0 if it never went down.
        step_begun_min: when each admission step began, the last time; shape (draws, 9), by number, 8 for "all over".
        fallbacks: how often a collapse took the admission plan back, shape (draws,).
        margin_share: how near the load of each dependency came to its capacity (attempts, while it was down), as a share.
        end_min: where each draw ended, shape (draws,).
        never: True where a draw was followed until it only repeated itself, shape (draws,): what was not reached then
            never is. Where it is False, ``end_min`` is a lower bound for what was not reached.
        unserved_per_min: direct requests that fail or are shed, a minute of the period that then repeats itself, shape
            (draws, dependencies); 0 where ``never`` is False. Counts up to ``end_min`` grow with it and say no more.
        step_min: the step used.
    """

    drain_min: FloatArray
    fresh_age_back_min: FloatArray
    backlog_at_restore: FloatArray
    initial: FloatArray
    arrived: FloatArray
    served: FloatArray
    expired: FloatArray
    lost_to_retention: FloatArray
    discarded_past_deadline: FloatArray
    superseded: FloatArray
    dead_lettered: FloatArray
    live_at_end: FloatArray
    sidelined_at_end: FloatArray
    peak_backlog: FloatArray
    time_collapsed_min: FloatArray
    peak_attempts_per_min: FloatArray
    direct: FloatArray
    direct_served: FloatArray
    shed: FloatArray
    failed_direct: FloatArray
    healed_at_min: FloatArray
    margin_share: FloatArray
    lowest_in_service: FloatArray
    step_begun_min: FloatArray
    fallbacks: FloatArray
    end_min: FloatArray
    never: BoolArray
    unserved_per_min: FloatArray
    step_min: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The course of one recovery on a grid of minutes from the restore; its last time is where the recovery ended.

    Waiting items, ages and counts since the trigger are of shape (points, queues); ``attempts_per_min`` and ``collapsed``
    (points, dependencies), 0 before the restore; ``in_service`` (points, fleets); ``step`` (points,): 1 to 7, 8 for none and
    0 before the restore. ``first_attempt_age_min`` is the age of the item next in turn for its first attempt.
    """

    times_min: FloatArray
    live: FloatArray
    sidelined: FloatArray
    first_attempt_age_min: FloatArray
    arrived: FloatArray
    served: FloatArray
    expired: FloatArray
    lost_to_retention: FloatArray
    discarded_past_deadline: FloatArray
    superseded: FloatArray
    dead_lettered: FloatArray
    attempts_per_min: FloatArray
    collapsed: FloatArray
    in_service: FloatArray
    step: FloatArray
    result: CoupledResult = field(repr=False)


@dataclass(frozen=True, eq=False)
class Certainty:
    """Whether the verdict of a simulation is certain, for every draw.

    Attributes:
        values: the results at half the step.
        moved_share: by how much halving the step moved a headline result (drain, fresh age back, time collapsed) at most,
            as a share of it; infinite where it turned "reached" into "not reached". Shape (draws,).
        near_boundary: a dependency's load came within 2 % of what it bears, up or down. Shape (draws,).
    """

    values: CoupledResult
    moved_share: FloatArray
    near_boundary: BoolArray

    @property
    def certain(self) -> BoolArray:
        """No result moved by 1 % or more, and no load was too close to call. Shape (draws,)."""
        return (self.moved_share < MOVED_SHARE) & ~self.near_boundary


def cap_rate(room_per_min: float, own_per_min: float, steps: CapSteps | None = None, lift: float = 0.0) -> float:
    """Items a minute that consumers make under a cap of an admission plan, as the simulation takes it.

    Parameters:
        room_per_min: what the cap may let through at most.
        own_per_min: what the consumers do without it.
        steps: what the cap can be; None for any rate.
        lift: share of the way back from the cap to no cap, 0 to 1.

    Returns:
        The rate of the highest whole number of steps within the room, 0 below the least; ``own_per_min`` where the room takes
        that, since nothing holds the consumers back then, and at a lift of 1. Lifts are equal steps, rounded down.
    """
    from afterload.model import coupled_kernel as kernel

    room, own = number("room_per_min", room_per_min), number("own_per_min", own_per_min)
    rate: float = kernel.cap_rate(room, own, *_steps_row(steps), number("lift", lift, most=1.0))
    return min(rate, own)


def simulate(
    system: CoupledSystem,
    inputs: Mapping[Input, npt.ArrayLike] | None = None,
    *,
    step_min: float = 1.0,
    horizon_min: float | None = None,
) -> CoupledResult:
    """Simulate a system once, or once for each draw of its uncertain inputs.

    Parameters:
        system: what recovers.
        inputs: values of uncertain inputs, each of shape (draws,).
        step_min: minutes of a step.
        horizon_min: minutes after the restore to follow; by default as long as it takes, up to 14 days. What is reached
            does not depend on it.

    Returns:
        Results of every draw, in order. What was not reached is NaN, and ``never`` tells whether it ever is.

    Raises:
        ModelError: a value out of range, an unknown input, or inputs of different lengths.
    """
    packed = _Packed(system, inputs or {}, step_min)
    if horizon_min is not None:
        return packed.run(number("horizon_min", horizon_min, above=0.0))
    return packed.run(DAY_MIN, LONGEST_MIN)


def trace(system: CoupledSystem, *, step_min: float = 1.0, horizon_min: float | None = None) -> Trace:
    """The course of one recovery, step by step, for charts. Parameters and errors as for :func:`simulate`."""
    packed = _Packed(system, {}, step_min)
    if horizon_min is not None:
        return packed.trace(number("horizon_min", horizon_min, above=0.0))
    # One step more, so that the moment in which it ends is part of it.
    return packed.trace(float(packed.run(DAY_MIN, LONGEST_MIN).end_min[0]) + step_min)


def backlogs(
    system: CoupledSystem, inputs: Mapping[Input, npt.ArrayLike], horizon_min: float, *, step_min: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """What waits in every draw, up to a horizon.

    Parameters:
        inputs, step_min: as for :func:`simulate`.
        horizon_min: minutes after the restore.

    Returns:
        Minutes from the restore, shape (points,), and items waiting, those set aside included, of shape (draws, points,
        queues): before the trigger of a draw what waited then, and nothing once its recovery is over.

    Raises:
        ModelError: as :func:`simulate`.
    """
    return _Packed(system, inputs, step_min).backlogs(number("horizon_min", horizon_min, above=0.0))


def certainty(
    system: CoupledSystem,
    inputs: Mapping[Input, npt.ArrayLike] | None = None,
    *,
    step_min: float = 1.0,
    horizon_min: float | None = None,
) -> Certainty:
    """Simulate with a step and with half of it, and tell whether the verdict is certain.

    Parameters and errors as for :func:`simulate`.
    """
    whole_step = simulate(system, inputs, step_min=step_min, horizon_min=horizon_min)
    half_step = simulate(system, inputs, step_min=step_min / 2, horizon_min=horizon_min)
    moved = np.zeros(len(half_step.end_min))
    for name in ("drain_min", "fresh_age_back_min", "time_collapsed_min"):
        before, after = getattr(whole_step, name), getattr(half_step, name)
        # A collapse that never ends is as long as the simulation, which is no result of its own.
        unending = np.isnan(half_step.healed_at_min) & np.isnan(whole_step.healed_at_min)
        shares = np.where(before == after, 0.0, np.abs(before - after) / np.maximum(np.abs(after), 1e-300))
        shares = np.where(np.isnan(before) & np.isnan(after), 0.0, np.where(np.isnan(shares), np.inf, shares))
        if name == "time_collapsed_min":
            shares = np.where(unending, 0.0, shares)
        moved = np.maximum(moved, shares.max(axis=1, initial=0.0))
    margin = np.minimum(whole_step.margin_share, half_step.margin_share)
    near = np.min(margin, axis=1, initial=np.inf) <= NEAR_SHARE
    return Certainty(half_step, moved, np.asarray(near, dtype=np.bool_))


_QUEUE_FIELDS = {
    "arrivals": 0,
    "service_rate_per_min": 1,
    "attempts_failing": 3,
    "backlog_before": 4,
    "served_in_outage_per_min": 5,
    "max_age_min": 6,
    "retention_min": 7,
    "deadline_min": 8,
    "superseded_share": 9,
    "sideline_after_min": 11,
    "cap_per_min": 12,
}
_AGES = ("max_age_min", "retention_min", "deadline_min", "sideline_after_min")
_DEPENDENCY_FIELDS = {
    name: place
    for place, name in enumerate(
        (
            "capacity_per_min",
            "control_per_min",
            "fresh_per_min",
            "attempts_failing",
            "goodput_share",
            "collapsed_at_restore",
            "retry_tokens",
            "sustained_attempts",
            "refill_per_success",
            "hit_at_rest",
            "hit_at_restore",
            "cache_fill_min",
            "room_per_min",
        )
    )
}
_FLEET_FIELDS = {
    name: place
    for place, name in enumerate(
        (
            "running",
            "needed",
            "launch_burst",
            "launch_per_min",
            "start_delay_min",
            "launches_from_min",
            "removal_per_min",
            "automation_active",
            "removal_floor",
            "request_burst",
            "request_per_min",
        )
    )
}
# What an input may be beyond "not negative"; the same bounds as for a value of a system.
_AT_LEAST_ONE = {"attempts_failing", "sustained_attempts"}
_SHARES = {"superseded_share", "goodput_share", "collapsed_at_restore", "automation_active"}
_BELOW_ONE = {"hit_at_rest", "hit_at_restore"}
_ABOVE_ZERO = {"capacity_per_min", "max_age_min", "retention_min", "deadline_min"}
_MAY_BE_INFINITE = {
    "max_age_min",
    "retention_min",
    "deadline_min",
    "cap_per_min",
    "retry_tokens",
    "request_burst",
    "request_per_min",
    "room_per_min",
}
_FIELDS = {"queue": _QUEUE_FIELDS, "dependency": _DEPENDENCY_FIELDS, "fleet": _FLEET_FIELDS}


@dataclass
class _Raw:
    """What the kernel fills; its columns are named there."""

    results: FloatArray
    depend: FloatArray
    lowest: FloatArray
    begun: FloatArray
    overall: FloatArray
    course: FloatArray
    waits: FloatArray
    lasts: npt.NDArray[np.int64]

    def is_over(self) -> BoolArray:
        """Draws that ended before their horizon did."""
        return self.overall[:, 3] > 0.0


@dataclass(frozen=True, eq=False)
class _Frame:
    """What all draws of a call share: the grid, cumulative arrivals on it, and when and in which period they repeat."""

    points: int
    bases: FloatArray
    start: float
    settled: npt.NDArray[np.int64]
    period: int


class _Packed:
    """A system as the arrays that the kernel takes."""

    def __init__(self, system: CoupledSystem, inputs: Mapping[Input, npt.ArrayLike], step_min: float) -> None:
        self.system = system
        self.step = number("step_min", step_min, above=0.0)
        values = {key: np.asarray(value, dtype=np.float64) for key, value in inputs.items()}
        sizes = {value.shape for value in values.values()}
        if len(sizes) > 1 or any(len(size) != 1 for size in sizes):
            raise ModelError(f"inputs have the shapes {sorted(sizes)}; give each as many draws, in one dimension")
        self.draws = next(iter(sizes))[0] if sizes else 1
        for key, value in values.items():
            _check(key, value)
        self.outages = values.get(Input("outage", 0, "outage_min"), np.full(self.draws, float(system.outage_min)))
        if self.outages.max() > system.lead_min + 1e-9:
            raise ModelError(f"an outage of {self.outages.max():g} min begins before lead_min {system.lead_min:g}")
        self.queues = self._rows([_queue_row(queue) for queue in system.queues], 20)
        self.dependencies = self._rows([_dependency_row(item) for item in system.dependencies], 13)
        self.fleets = self._rows([_fleet_row(item) for item in system.fleets], 11)
        tables = {"queue": self.queues, "dependency": self.dependencies, "fleet": self.fleets}
        for key, value in values.items():
            if key == Input("outage", 0, "outage_min"):
                continue
            names = _FIELDS.get(key.kind, {})
            if key.name not in names or key.place >= tables[key.kind].shape[1]:
                raise ModelError(f"{key} is not an input of this system; known names: {', '.join(names)}")
            tables[key.kind][:, key.place, names[key.name]] = value
        self.admission = _admission_row(system.admission)
        self.ahead = math.ceil(system.lead_min / self.step - 1e-9)
        triggers = np.maximum(0.0, system.lead_min - self.outages)
        profiles = [queue.load.arrivals for queue in system.queues]
        shape = (self.draws, len(profiles))
        self.at_trigger = np.array([item.cumulative(triggers) for item in profiles]).T.reshape(shape).copy()
        self.first_rates = np.array([item.rate_at(triggers) for item in profiles]).T.reshape(shape).copy()

    def _rows(self, rows: list[list[float]], width: int) -> FloatArray:
        table = np.array(rows, dtype=np.float64).reshape(len(rows), width)
        return np.ascontiguousarray(np.broadcast_to(table, (self.draws, *table.shape)).copy())

    def _bases(self, points: int) -> tuple[FloatArray, float]:
        """Cumulative arrivals of each queue on the grid, and the first time of the grid."""
        start = -self.ahead * self.step
        # The profile begins lead_min before the restore; the grid may begin a part of a step earlier.
        clock = np.maximum(0.0, start + self.system.lead_min + self.step * np.arange(points))
        bases = [queue.load.arrivals.cumulative(clock) for queue in self.system.queues]
        return np.array(bases).reshape(len(bases), points), start

    def _period(self) -> tuple[npt.NDArray[np.int64], int]:
        """Steps after the restore from which on arrivals repeat, for each draw, and in which; 0 if no number of steps fits."""
        never = np.zeros(self.draws, dtype=np.int64)
        profiles = [queue.load.arrivals for queue in self.system.queues]
        cycles = {
            item.cycle_min for item in profiles if item.cycle_min is not None and len(set(item.rates_per_min)) > 1
        }
        period = max(cycles, default=PLAIN_PERIOD_MIN)
        if any(abs(math.remainder(period, cycle)) > 1e-9 for cycle in cycles):
            return never, 0
        if abs(math.remainder(period, self.step)) > 1e-9:
            return never, 0
        # An age limit beyond two periods never empties a queue that does not fall in a period.
        ages = self.queues[..., [_QUEUE_FIELDS[name] for name in _AGES]].reshape(self.draws, -1)
        ages = np.sort(np.where(ages <= 2 * period, ages, 0.0), axis=1)[:, -2:].sum(axis=1)
        ramps = [
            item.load.ramp.ceiling / item.load.ramp.per_min
            for item in self.system.queues
            if item.load.ramp is not None and item.load.ramp.per_min > 0
        ]
        settled = max((item.cycle_start_min - self.system.lead_min for item in profiles), default=0.0)
        steps = np.ceil((max(0.0, settled, *ramps) + ages) / self.step - 1e-9)
        return np.maximum(1, steps).astype(np.int64), round(period / self.step)

    def _frame(self, horizon: float) -> _Frame:
        """What all draws share up to a horizon."""
        points = self.ahead + math.ceil(horizon / self.step - 1e-9) + 1
        return _Frame(points, *self._bases(points), *self._period())

    def _call(self, horizon: float, rows: npt.NDArray[np.intp], traced: bool = False, waits: bool = False) -> _Raw:
        # Imported here: the compiler takes most of a second to load, and reading a model needs none of it.
        from afterload.model import coupled_kernel as kernel

        frame = self._frame(horizon)
        # Followed to the horizon where what waits is asked for: a queue that grows may reach an age limit much later.
        period = 0 if waits else frame.period
        count = len(rows)
        nq, nk, nf = (table.shape[1] for table in (self.queues, self.dependencies, self.fleets))
        raw = _Raw(
            results=np.zeros((count, nq, kernel.NR)),
            depend=np.zeros((count, nk, kernel.NS)),
            lowest=np.zeros((count, nf)),
            begun=np.zeros((count, len(GUIDE_STEPS) + 2)),
            overall=np.zeros((count, kernel.NO)),
            course=np.zeros((frame.points if traced else 0, kernel.NT * nq + 2 * nk + nf + 1)),
            waits=np.zeros((count if waits else 0, frame.points, nq)),
            lasts=np.zeros(count, dtype=np.int64),
        )

        def part(first: int, last: int) -> None:
            these = rows[first:last]
            kernel.simulate(
                self.step, frame.start, frame.bases, self.at_trigger[these], self.first_rates[these], self.outages[these],
                self.queues[these], self.dependencies[these], self.fleets[these], self.admission, frame.settled[these],
                period, raw.results[first:last], raw.depend[first:last], raw.lowest[first:last],
                raw.begun[first:last], raw.overall[first:last], raw.course, raw.waits[first:last], raw.lasts[first:last],
            )  # fmt: skip

        threads = min(os.cpu_count() or 1, count // DRAWS_PER_THREAD)
        if threads < 2:
            part(0, count)
            return raw
        edges = [count * place // threads for place in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            # The draws do not know of each other, so how they are divided changes nothing.
            list(pool.map(part, edges[:-1], edges[1:]))
        return raw

    def run(self, *horizons: float) -> CoupledResult:
        """Simulate every draw up to the first horizon, and those that are not over then up to the next."""
        every = np.arange(self.draws)
        raw = self._call(horizons[0], every)
        for horizon in horizons[1:]:
            open_rows = every[(raw.overall[:, 1] == 0.0) & ~raw.is_over()]
            if not len(open_rows):
                break
            longer = self._call(horizon, open_rows)
            for name in ("results", "depend", "lowest", "begun", "overall"):
                getattr(raw, name)[open_rows] = getattr(longer, name)
        return self._result(raw)

    def trace(self, horizon: float) -> Trace:
        from afterload.model import coupled_kernel as kernel

        raw = self._call(horizon, np.arange(1), traced=True)
        result, last = self._result(raw), int(raw.lasts[0])
        nq, nk, nf = (table.shape[1] for table in (self.queues, self.dependencies, self.fleets))
        course = raw.course[: last + 1]
        queues, others = course[:, : kernel.NT * nq].reshape(len(course), nq, kernel.NT), course[:, kernel.NT * nq :]
        times = self.step * np.arange(-self.ahead, last + 1 - self.ahead, dtype=np.float64)
        times[-1] = min(times[-1], result.end_min[0])
        return Trace(
            times_min=times,
            live=queues[..., kernel.T_LIVE],
            sidelined=queues[..., kernel.T_SIDE],
            first_attempt_age_min=queues[..., kernel.T_AGE],
            arrived=queues[..., kernel.T_ARRIVED],
            served=queues[..., kernel.T_SERVED],
            expired=queues[..., kernel.T_EXPIRED],
            lost_to_retention=queues[..., kernel.T_LOST],
            discarded_past_deadline=queues[..., kernel.T_DISCARDED],
            superseded=queues[..., kernel.T_SUPERSEDED],
            dead_lettered=queues[..., kernel.T_DEAD],
            attempts_per_min=others[:, 0 : 2 * nk : 2],
            collapsed=others[:, 1 : 2 * nk : 2],
            in_service=others[:, 2 * nk : 2 * nk + nf],
            step=others[:, 2 * nk + nf],
            result=result,
        )

    def backlogs(self, horizon: float) -> tuple[FloatArray, FloatArray]:
        raw = self._call(horizon, np.arange(self.draws), waits=True)
        points = raw.waits.shape[1]
        times = self.step * np.arange(-self.ahead, points - self.ahead, dtype=np.float64)
        initial = self.queues[..., _QUEUE_FIELDS["backlog_before"]]
        for waiting, outage, before in zip(raw.waits, self.outages, initial, strict=True):
            waiting[times <= -outage + 1e-9] = before
        return times, raw.waits

    def _result(self, raw: _Raw) -> CoupledResult:
        results, depend = raw.results, raw.depend
        return CoupledResult(
            drain_min=_reached(results[..., 0]),
            fresh_age_back_min=_reached(results[..., 1]),
            backlog_at_restore=results[..., 2],
            initial=self.queues[..., _QUEUE_FIELDS["backlog_before"]],
            arrived=results[..., 3],
            served=results[..., 4],
            expired=results[..., 5],
            lost_to_retention=results[..., 6],
            discarded_past_deadline=results[..., 7],
            superseded=results[..., 8],
            dead_lettered=results[..., 9],
            live_at_end=np.maximum(0.0, results[..., 10]),
            sidelined_at_end=np.maximum(0.0, results[..., 11]),
            peak_backlog=results[..., 12],
            time_collapsed_min=depend[..., 0],
            peak_attempts_per_min=depend[..., 1],
            shed=depend[..., 2],
            failed_direct=depend[..., 3],
            healed_at_min=_reached(depend[..., 4]),
            direct=depend[..., 5],
            direct_served=depend[..., 6],
            margin_share=depend[..., 7],
            lowest_in_service=raw.lowest,
            step_begun_min=_reached(raw.begun),
            end_min=raw.overall[:, 0],
            never=raw.overall[:, 1] > 0.0,
            unserved_per_min=np.where(raw.overall[:, 1:2] > 0.0, depend[..., 9], 0.0),
            fallbacks=raw.overall[:, 2],
            step_min=self.step,
        )


def _check(key: Input, value: FloatArray) -> None:
    if value.size == 0 or np.isnan(value).any() or (value < 0).any():
        raise ModelError(f"{key} has values that are negative or not numbers")
    for names, is_wrong, wanted in (
        (_AT_LEAST_ONE, value < 1, "at least 1"),
        (_SHARES, value > 1, "at most 1"),
        (_BELOW_ONE, value >= 1, "less than 1"),
        (_ABOVE_ZERO, value == 0, "more than 0"),
    ):
        if key.name in names and is_wrong.any():
            raise ModelError(f"{key} has {value[is_wrong][0]:g}; it must be {wanted}")
    if key.name not in _MAY_BE_INFINITE and np.isinf(value).any():
        raise ModelError(f"{key} has an infinite value; give finite numbers")


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _queue_row(queue: CoupledQueue) -> list[float]:
    load = queue.load
    cap, start, slope, service = math.inf, math.inf, 0.0, load.service_rate_per_min
    if load.item_time_s is not None:
        if load.cap_concurrency is not None:
            cap = cap_rate_per_min(load.cap_concurrency, load.item_time_s)
        if load.ramp is not None:
            each = 60.0 / load.item_time_s
            start, slope = load.ramp.start * each, load.ramp.per_min * each
            cap = min(cap, load.ramp.ceiling * each)
    return [
        1.0,
        service,
        -1.0 if queue.dependency is None else float(queue.dependency),
        queue.attempts_failing,
        load.backlog_before,
        load.served_in_outage_per_min,
        _or_inf(load.max_age_min),
        _or_inf(load.retention_min),
        _or_inf(load.deadline_min),
        load.superseded_share,
        0.0 if load.order == "fifo" else 1.0,
        load.sideline_after_min or 0.0,
        cap,
        start,
        slope,
        _or_inf(queue.max_receives),
        -1.0 if queue.fleet is None else float(queue.fleet),
        *_steps_row(queue.cap_steps),
    ]


def _steps_row(steps: CapSteps | None) -> list[float]:
    return [0.0, 0.0, math.inf] if steps is None else [steps.each_per_min, float(steps.least), float(steps.highest)]


def _dependency_row(item: CoupledDependency) -> list[float]:
    return [_or_inf(getattr(item, name)) for name in _DEPENDENCY_FIELDS]


def _fleet_row(item: CoupledFleet) -> list[float]:
    return [_or_inf(getattr(item, name)) for name in _FLEET_FIELDS]


def _admission_row(plan: Admission | None) -> FloatArray:
    if plan is None:
        return np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, *[0.0] * 8])
    shares = [plan.floor_share, plan.drain_share, plan.replay_share, float(plan.lifts)]
    return np.array([1.0, *shares, plan.objective_share, plan.notice_min, *plan.hold_min])


def _reached(minutes: FloatArray) -> FloatArray:
    return np.where(minutes < 0.0, np.nan, minutes)
