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
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model import coupled_records as records
from afterload.model.caps import cap_rate_per_min
from afterload.model.checks import number
from afterload.model.coupled_system import (
    BOUNDS,
    GUIDE_STEPS,
    Admission,
    Autoscaler,
    Call,
    CapSteps,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Course,
    Metric,
    Partitions,
    RetryPool,
)
from afterload.model.curves import FloatArray

__all__ = [
    "BOUNDS",
    "GUIDE_STEPS",
    "Admission",
    "Autoscaler",
    "Call",
    "CapSteps",
    "Certainty",
    "CoupledDependency",
    "CoupledFleet",
    "CoupledQueue",
    "CoupledResult",
    "CoupledSystem",
    "Course",
    "Input",
    "Partitions",
    "RetryPool",
    "Trace",
    "backlogs",
    "cap_rate",
    "certainty",
    "simulate",
    "trace",
]

DAY_MIN = 1_440.0
# How far a recovery is followed at once. What is not over and not proven to be without end then is followed eight times as far.
HORIZONS_MIN = (DAY_MIN, 14 * DAY_MIN, 112 * DAY_MIN, 896 * DAY_MIN)
# The course of a longer recovery is kept up to here.
LONGEST_COURSE_MIN = 112 * DAY_MIN
# Arrivals that do not change are compared with themselves after this time.
PLAIN_PERIOD_MIN = 240.0
# Traffic that repeats after a longer time than this is not followed until it repeats.
LONGEST_PERIOD_MIN = 400 * DAY_MIN
# A load this close to what a dependency bears is too close to call.
NEAR_SHARE = 0.02
# Headline results that move by more than this when the step is halved are not certain.
MOVED_SHARE = 0.01
# Fewer draws than this are not worth a second thread.
DRAWS_PER_THREAD = 256

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Records: TypeAlias = npt.NDArray[np.void]


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

    Minutes are counted from the restore, items from the trigger. A time is kept when it is first reached; if the queue
    waits again because its dependency went down, its fleet shrank or the admission plan held it, the time when that too is over
    counts.
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
        lost_per_min: the same for what queues lose (expired, lost to retention, discarded, dead-lettered), shape (draws,
            queues): where a backlog grows into an age limit, what is lost once its oldest work is that old.
        unserved_from_min, lost_from_min: minutes from the restore from which on those rates hold; NaN where they are 0.
        bound_min: minutes for which each of ``BOUNDS`` held a queue's consumers back while work waited; the first: while none
            did. Shape (draws, queues, bounds).
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
    lost_per_min: FloatArray
    unserved_from_min: FloatArray
    lost_from_min: FloatArray
    bound_min: FloatArray
    step_min: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The course of one recovery on a grid of minutes from the restore; its last time is where the recovery ended.

    Waiting items, ages and counts since the trigger are of shape (points, queues); ``attempts_per_min`` and ``collapsed``
    (points, dependencies), 0 before the restore; ``in_service`` (points, fleets); ``step`` (points,): 1 to 7, 8 for none and
    0 before the restore. ``first_attempt_age_min`` is the age of the item next in turn for its first attempt. ``bound``
    (points, queues) is the place in ``BOUNDS`` of what holds the consumers back, 0 while nothing waits; ``replicas`` those of
    its autoscaler.
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
    bound: FloatArray
    replicas: FloatArray
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
    rate: float = kernel.cap_rate.py_func(room, own, *_steps_row(steps), number("lift", lift, most=1.0))
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
        horizon_min: minutes after the restore to follow; by default as long as it takes. What is reached does not depend
            on it.

    Returns:
        Results of every draw, in order. What was not reached is NaN, and ``never`` tells whether it ever is.

    Raises:
        ModelError: a value out of range, an unknown input, or inputs of different lengths.
    """
    packed = _Packed(system, inputs or {}, step_min)
    if horizon_min is not None:
        return packed.run(number("horizon_min", horizon_min, above=0.0))
    return packed.run(*packed.horizons)


def trace(system: CoupledSystem, *, step_min: float = 1.0, horizon_min: float | None = None) -> Trace:
    """The course of one recovery, step by step, for charts. Parameters and errors as for :func:`simulate`."""
    packed = _Packed(system, {}, step_min)
    if horizon_min is not None:
        return packed.trace(number("horizon_min", horizon_min, above=0.0))
    # One step more, so that the moment in which it ends is part of it.
    result = packed.run(*packed.horizons)
    return packed.trace(min(float(result.end_min[0]) + step_min, LONGEST_COURSE_MIN), result)


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
}
_AGES = ("max_age_min", "retention_min", "deadline_min", "sideline_after_min")


@dataclass
class _Raw:
    """What the kernel works on and fills."""

    draws: Records
    queues: Records
    dependencies: Records
    fleets: Records
    course: Records
    others: FloatArray
    waits: FloatArray


class _Packed:
    """A system as the arrays that the kernel takes, and its runs."""

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
        self.outages = values.pop(Input("outage", 0, "outage_min"), np.full(self.draws, float(system.outage_min)))
        self.steps: list[records.StepRow] = []
        pools = [(item.retry_tokens, item.sustained_attempts, item.refill_per_success) for item in system.dependencies]
        queues = [self._queue_row(queue, pools) for queue in system.queues]
        self.queues = self._tables(records.Queue, queues)
        self.dependencies = self._tables(
            records.Dependency, [self._dependency_row(item) for item in system.dependencies]
        )
        self.pools = self._tables(records.Pool, [records.PoolRow(*pool) for pool in pools])
        self.fleets = self._tables(records.Fleet, [_fleet_row(item) for item in system.fleets])
        tables: dict[str, list[tuple[type[Any], Records]]] = {
            "queue": [(records.QueueRow, self.queues)],
            "dependency": [(records.DependencyRow, self.dependencies), (records.PoolRow, self.pools)],
            "fleet": [(records.FleetRow, self.fleets)],
        }
        for key, value in values.items():
            held = [table for kind, table in tables.get(key.kind, []) if key.name in _names(kind)]
            if not held or key.place >= tables[key.kind][0][1].shape[1]:
                names = [name for kind, _ in tables.get(key.kind, []) for name in _names(kind)]
                raise ModelError(f"{key} is not an input of this system; known names: {', '.join(names)}")
            held[0][key.name][:, key.place] = value
        self.scalers = records.rows(records.Scaler, [_scaler_row(queue.autoscaler) for queue in system.queues])
        self._lay_out()
        self.ahead = math.ceil(max(system.outage_min, float(self.outages.max())) / self.step - 1e-9)
        self.base_ahead = math.ceil(system.lead_min / self.step - 1e-9)
        trigger = max(0.0, system.lead_min - system.outage_min)
        for place, queue in enumerate(system.queues):
            self.queues["at_trigger"][:, place] = queue.load.arrivals.cumulative(trigger)
            self.queues["first_rate"][:, place] = queue.load.arrivals.rate_at(trigger)
        starts = [item.course.starts_min[0] for item in system.dependencies if item.course is not None]
        self.begins = min(starts, default=0.0) < 0.0
        # An autoscaler looks so often that weeks of it take a minute.
        scaled = any(queue.autoscaler is not None for queue in system.queues)
        self.horizons = HORIZONS_MIN[:2] if scaled else HORIZONS_MIN
        self.changes = any(item.direct is not None or item.surge_per_min > 0 for item in system.dependencies)

    def _tables(self, kind: type[Any], items: list[Any]) -> Records:
        """Records of every draw, shape (draws, items)."""
        return np.repeat(records.rows(kind, items)[None], self.draws, axis=0)

    def _course(self, course: Course | None) -> dict[str, int]:
        """Where the steps of a course are among those of all."""
        first = len(self.steps)
        if course is not None:
            self.steps += [records.StepRow(*step) for step in zip(course.starts_min, course.values, strict=True)]
        return {"first_step": first, "end_step": len(self.steps)}

    def _queue_row(self, queue: CoupledQueue, pools: list[tuple[float, float, float]]) -> records.QueueRow:
        load, calls, steps = queue.load, queue.all_calls, queue.cap_steps
        item, each = load.item_time_s, 60.0 / load.item_time_s if load.item_time_s is not None else 0.0
        cap = math.inf
        if load.cap_concurrency is not None and item is not None:
            cap = cap_rate_per_min(load.cap_concurrency, item)
        pool = calls[0].dependency if calls else -1
        if queue.retries is not None:
            pool = len(pools)
            pools.append((queue.retries.tokens, queue.retries.sustained, queue.retries.refill_per_success))
        ramp, scaler = load.ramp, queue.autoscaler
        return records.QueueRow(
            arrivals=1.0,
            service_rate_per_min=load.service_rate_per_min,
            attempts_failing=queue.attempts_failing,
            backlog_before=load.backlog_before,
            served_in_outage_per_min=load.served_in_outage_per_min,
            max_age_min=_or_inf(load.max_age_min),
            retention_min=_or_inf(load.retention_min),
            deadline_min=_or_inf(load.deadline_min),
            superseded_share=load.superseded_share,
            fresh_first=load.order != "fifo",
            stack=load.order == "lifo",
            sideline_after_min=load.sideline_after_min or 0.0,
            cap_per_min=cap,
            reserved_per_min=queue.reserved_per_min,
            consumers_per_min=queue.consumers_per_min,
            pool_per_min=queue.pool_per_min,
            batches_per_min=math.fsum(lane.batches_per_min for lane in queue.lanes),
            replicas_per_min=math.inf if scaler is None else scaler.most * scaler.rate_each_per_min,
            ramp_start=math.inf if ramp is None else ramp.start * each,
            ramp_slope=0.0 if ramp is None else ramp.per_min * each,
            ramp_top=math.inf if ramp is None else ramp.ceiling * each,
            max_receives=_or_inf(queue.max_receives),
            redelivery_min=queue.redelivery_min,
            receives_in_outage=queue.receives_in_outage and queue.max_receives is not None,
            rejects_in_outage=queue.rejects_in_outage,
            fan_out=queue.fan_out,
            item_min=0.0 if item is None else item / 60.0,
            timeout_min=queue.timeout_s / 60.0,
            backoff_min=queue.backoff_s / 60.0,
            start_spread_min=queue.start_spread_min or 0.0,
            fleet=-1 if queue.fleet is None else queue.fleet,
            pool=pool,
            **self._course(queue.course),
            each_per_min=0.0 if steps is None else steps.each_per_min,
            least=0.0 if steps is None else float(steps.least),
            highest=math.inf if steps is None else float(steps.highest),
        )

    def _dependency_row(self, item: CoupledDependency) -> records.DependencyRow:
        given = {name: getattr(item, name) for name in _names(records.DependencyRow) if hasattr(item, name)}
        room = item.capacity_per_min if item.room_per_min is None else item.room_per_min
        # What does its full work above its capacity does not collapse.
        collapses = item.collapses and item.goodput_share < 1
        changed = {"room_per_min": room, "collapses": collapses, **self._course(item.course)}
        return records.DependencyRow(**{**given, **changed})

    def _lay_out(self) -> None:
        """Lanes and calls, which are those of every draw."""
        lanes: list[records.LaneRow] = []
        calls: list[records.CallRow] = []
        for place, queue in enumerate(self.system.queues):
            self.queues["first_lane"][:, place], self.queues["first_call"][:, place] = len(lanes), len(calls)
            lanes += [
                records.LaneRow(place, lane.arrival_share, lane.service_share, lane.batches_per_min)
                for lane in queue.lanes
            ]
            for turn, call in enumerate(queue.all_calls):
                calls.append(records.CallRow(call.dependency, call.per_item))
                turns = self.dependencies["turn"][:, call.dependency]
                np.maximum(turns, turn, out=turns)
            self.queues["end_lane"][:, place], self.queues["end_call"][:, place] = len(lanes), len(calls)
        self.lanes, self.calls = records.rows(records.Lane, lanes), records.rows(records.CallRow, calls)

    def _draws(self, these: npt.NDArray[np.intp]) -> Records:
        """Admission plan and grid of these draws."""
        draws = np.repeat(records.rows(records.Draw, [_admission_row(self.system.admission)]), len(these))
        settled, draws["period"] = self._period()
        step, t0, outages = self.step, -self.ahead * self.step, self.outages[these]
        draws["settled"], draws["step"], draws["inv"], draws["t0"] = settled[these], step, 1.0 / step, t0
        draws["trigger"], draws["restore_at"] = -outages, self.ahead
        begin = np.ceil((-outages - t0) / step - 1e-9) if self.begins else self.ahead
        draws["begin_at"] = np.clip(begin, 0, self.ahead)
        # The trigger is where it was: a longer outage moves the restore.
        place = (t0 + outages - float(self.system.outage_min) + self.base_ahead * step) / step
        draws["place"] = np.where(np.abs(place - np.rint(place)) < 1e-9, np.rint(place), place)
        draws["last_course"] = max((item.start for item in self.steps), default=-math.inf)
        draws["turns"] = max((len(queue.all_calls) for queue in self.system.queues), default=0) or 1
        return draws

    def _period(self) -> tuple[npt.NDArray[np.int64], int]:
        """Steps after the restore from which on traffic repeats, for each draw, and in which; 0 if no number of steps fits."""
        never = np.zeros(self.draws, dtype=np.int64)
        profiles = [queue.load.arrivals for queue in self.system.queues]
        profiles += [item.direct for item in self.system.dependencies if item.direct is not None]
        cycles = {
            item.cycle_min for item in profiles if item.cycle_min is not None and len(set(item.rates_per_min)) > 1
        }
        steps = [round(cycle / self.step) for cycle in cycles or {PLAIN_PERIOD_MIN}]
        if any(abs(math.remainder(cycle, self.step)) > 1e-9 for cycle in cycles or {PLAIN_PERIOD_MIN}):
            return never, 0
        period = math.lcm(*steps) * self.step
        if period > LONGEST_PERIOD_MIN:
            return never, 0
        # An age limit beyond two periods never empties a queue that does not fall in a period.
        ages = np.stack([self.queues[name] for name in _AGES], axis=-1).reshape(self.draws, -1)
        ages = np.sort(np.where(ages <= 2 * period, ages, 0.0), axis=1)[:, -2:].sum(axis=1)
        ramps = [
            item.load.ramp.ceiling / item.load.ramp.per_min
            for item in self.system.queues
            if item.load.ramp is not None and item.load.ramp.per_min > 0
        ]
        # A surge that has fallen to nothing is none.
        surges = [40.0 * item.surge_decay_min for item in self.system.dependencies if item.surge_per_min > 0]
        late = max(0.0, float(self.outages.max()) - self.system.outage_min)
        settled = max((item.settled_from_min - self.system.lead_min + late for item in profiles), default=0.0)
        since = np.ceil(
            (max(0.0, settled, *ramps, *surges, *(item.start for item in self.steps)) + ages) / self.step - 1e-9
        )
        return np.maximum(1, since).astype(np.int64), round(period / self.step)

    def _bases(self, points: int) -> tuple[FloatArray, FloatArray]:
        """Cumulative arrivals of each queue, and direct traffic as a share and as a surge, in each step of the grid."""
        # A longer outage moves the restore, so that a draw looks further ahead. The profile begins lead_min before the restore;
        # the grid may begin a part of a step earlier.
        later = math.ceil((max(0.0, float(self.outages.max() - self.system.outage_min))) / self.step) + 1
        count = self.base_ahead + points - self.ahead + later
        start = self.system.lead_min - self.base_ahead * self.step
        clock = np.maximum(0.0, start + self.step * np.arange(count))
        bases = [queue.load.arrivals.cumulative(clock) for queue in self.system.queues]
        count = count if self.changes else 0
        direct = np.zeros((2, len(self.system.dependencies), count))
        direct[0] = 1.0
        for place, item in enumerate(self.system.dependencies):
            if item.direct is not None and count and item.fresh_per_min > 0:
                each = np.diff(item.direct.cumulative(np.append(clock, clock[-1] + self.step))) / self.step
                direct[0, place] = each / item.fresh_per_min
            if item.surge_per_min > 0:
                falls = np.exp(-self.step * np.arange(count + 1) / max(item.surge_decay_min, 1e-9))
                direct[1, place] = item.surge_per_min * item.surge_decay_min / self.step * -np.diff(falls)
        return np.array(bases).reshape(len(bases), len(clock)), direct

    def _call(self, horizon: float, these: npt.NDArray[np.intp], traced: bool = False, waits: bool = False) -> _Raw:
        # Imported here: the compiler takes most of a second to load, and reading a model needs none of it.
        from afterload.model import coupled_kernel as kernel

        points = self.ahead + math.ceil(horizon / self.step - 1e-9) + 1
        bases, direct = self._bases(points)
        count = len(these)
        nq, nk, nf = (table.shape[1] for table in (self.queues, self.dependencies, self.fleets))
        pools, steps = self.pools.take(these, axis=0), records.rows(records.StepRow, self.steps)
        raw = _Raw(
            draws=self._draws(these),
            queues=self.queues.take(these, axis=0),
            dependencies=self.dependencies.take(these, axis=0),
            fleets=self.fleets.take(these, axis=0),
            course=np.zeros((points if traced else 0, nq), records.record(records.CourseRow)),
            others=np.zeros((points if traced else 0, 2 * nk + nf + 1)),
            waits=np.zeros((count if waits else 0, points, nq)),
        )
        if waits:
            # Followed to the horizon where what waits is asked for: a queue that grows may reach an age limit much later.
            raw.draws["period"] = 0

        def part(first: int, last: int) -> None:
            here = slice(first, last)
            kernel.simulate(
                points, raw.draws[here], raw.queues[here], raw.dependencies[here], pools[here], raw.fleets[here],
                self.lanes.copy(), self.scalers.copy(), self.calls, steps, bases, direct, raw.course, raw.others,
                raw.waits[here],
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
            open_rows = every[~raw.draws["never"] & ~raw.draws["over"]]
            if not len(open_rows):
                break
            longer = self._call(horizon, open_rows)
            for name in ("draws", "queues", "dependencies", "fleets"):
                getattr(raw, name)[open_rows] = getattr(longer, name)
        return self._result(raw)

    def trace(self, horizon: float, result: CoupledResult | None = None) -> Trace:
        """The course up to a horizon; ``result`` where it is known already."""
        raw = self._call(horizon, np.arange(1), traced=True)
        result, last = result or self._result(raw), int(raw.draws["last"][0])
        nk, nf = self.dependencies.shape[1], self.fleets.shape[1]
        queues, others = raw.course[: last + 1], raw.others[: last + 1]
        times = self.step * np.arange(-self.ahead, last + 1 - self.ahead, dtype=np.float64)
        times[-1] = min(times[-1], result.end_min[0])
        return Trace(
            times_min=times,
            **{name: queues[name] for name in _names(records.CourseRow)},
            attempts_per_min=others[:, 0 : 2 * nk : 2],
            collapsed=others[:, 1 : 2 * nk : 2],
            in_service=others[:, 2 * nk : 2 * nk + nf],
            step=others[:, 2 * nk + nf],
            result=result,
        )

    def backlogs(self, horizon: float) -> tuple[FloatArray, FloatArray]:
        """What waits in every draw up to a horizon."""
        raw = self._call(horizon, np.arange(self.draws), waits=True)
        points = raw.waits.shape[1]
        times = self.step * np.arange(-self.ahead, points - self.ahead, dtype=np.float64)
        for waiting, outage, before in zip(raw.waits, self.outages, self.queues["backlog_before"], strict=True):
            waiting[times <= -outage + 1e-9] = before
        return times, raw.waits

    def _result(self, raw: _Raw) -> CoupledResult:
        queues, depend, overall = raw.queues, raw.dependencies, raw.draws
        never = overall["never"]
        losing, lost_from = self._unending(raw)
        unserved = np.where(never[:, None], depend["unserved_per_min"], 0.0)
        kept = ("served", "expired", "lost_to_retention", "discarded_past_deadline", "superseded", "dead_lettered")
        counted = ("time_collapsed_min", "peak_attempts_per_min", "shed", "failed_direct", "direct", "direct_served")
        return CoupledResult(
            drain_min=_reached(queues["drain_min"]),
            fresh_age_back_min=_reached(queues["fresh_age_back_min"]),
            initial=queues["backlog_before"].copy(),
            **{name: queues[name].copy() for name in (*kept, "backlog_at_restore", "arrived", "peak_backlog")},
            live_at_end=np.maximum(0.0, queues["live_at_end"]),
            sidelined_at_end=np.maximum(0.0, queues["sidelined_at_end"]),
            **{name: depend[name].copy() for name in (*counted, "margin_share")},
            healed_at_min=_reached(depend["healed_at_min"]),
            lowest_in_service=raw.fleets["lowest"].copy(),
            step_begun_min=_reached(overall["begun"]),
            end_min=overall["end_min"].copy(),
            never=never.copy(),
            unserved_per_min=unserved,
            unserved_from_min=np.where(unserved > 0, depend["unserved_from_min"], np.nan),
            lost_per_min=losing,
            lost_from_min=lost_from,
            bound_min=queues["bounds"].copy(),
            fallbacks=overall["fallbacks"].copy(),
            step_min=self.step,
        )

    def _unending(self, raw: _Raw) -> tuple[FloatArray, FloatArray]:
        """What queues lose a minute where a draw never ends, and from when on that holds."""
        never, queues = raw.draws["never"][:, None], raw.queues
        growing, losing = queues["grew_per_min"], queues["lost_per_min"]
        limit = np.minimum(self.queues["max_age_min"], self.queues["retention_min"])
        into_limit = never & (growing > 1e-6) & np.isfinite(limit)
        rate = np.where(never, losing + np.where(into_limit, growing, 0.0), 0.0)
        # A backlog that grows by g a minute with arrivals of a is lost at that rate once it holds what arrives within the limit.
        means = (
            np.array([queue.load.arrivals.mean_tail_per_min for queue in self.system.queues]) * self.queues["arrivals"]
        )
        waiting = queues["live_at_end"] + queues["sidelined_at_end"]
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = (means * limit - waiting) / growing
        later = np.where(into_limit & np.isfinite(wait), raw.draws["end_min"][:, None] + np.maximum(0.0, wait), -np.inf)
        return rate, np.where(rate > 0, np.maximum(queues["lost_from_min"], later), np.nan)


def _names(kind: type[Any]) -> list[str]:
    return [item.name for item in fields(kind)]


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


def _steps_row(steps: CapSteps | None) -> tuple[float, float, float]:
    return (0.0, 0.0, math.inf) if steps is None else (steps.each_per_min, float(steps.least), float(steps.highest))


def _fleet_row(item: CoupledFleet) -> records.FleetRow:
    given: dict[str, Any] = {name: getattr(item, name) for name in _names(records.FleetRow)}
    bounds = {name: _or_inf(given[name]) for name in ("request_burst", "request_per_min")}
    return records.FleetRow(**{**given, **bounds})


def _scaler_row(item: Autoscaler | None) -> records.ScalerRow:
    names = _names(records.ScalerRow)
    if item is None:
        return records.ScalerRow(False, *(0 for _ in names[1:]))
    given: dict[str, Any] = {name: getattr(item, name) for name in names if name != "on"}
    given["metric"] = get_args(Metric).index(item.metric)
    given["fits_on_nodes"] = _or_inf(item.fits_on_nodes)
    return records.ScalerRow(on=True, **given)


def _admission_row(plan: Admission | None) -> records.AdmissionRow:
    given = plan or Admission()
    names = [name for name in _names(records.AdmissionRow) if name not in ("has_plan", "holds")]
    holds = [*given.hold_min, 0.0, 0.0]
    return records.AdmissionRow(
        has_plan=plan is not None, holds=holds, **{name: getattr(given, name) for name in names}
    )


def _reached(minutes: FloatArray) -> FloatArray:
    return np.where(minutes < 0.0, np.nan, minutes)
