"""What the coupled kernel reads and keeps, as record types: a dataclass a record, a field a column.

Times are minutes from the restore, rates a minute. Infinite is "no limit". Records that a draw changes begin as zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from afterload.model.coupled_system import BOUNDS, GUIDE_STEPS

__all__ = [
    "AdmissionRow",
    "CallRow",
    "CourseRow",
    "Dependency",
    "DependencyRow",
    "Draw",
    "Fleet",
    "FleetRow",
    "Lane",
    "LaneRow",
    "Launch",
    "Memory",
    "Pool",
    "PoolRow",
    "Queue",
    "QueueRow",
    "Scaler",
    "ScalerRow",
    "StepRow",
    "record",
    "rows",
]

Steps: TypeAlias = list[float]
Bounds: TypeAlias = list[float]
TYPES: dict[str, Any] = {
    "float": np.float64,
    "int": np.int64,
    "bool": np.bool_,
    "Steps": (np.float64, len(GUIDE_STEPS) + 2),  # by number; the last for "all over"
    "Bounds": (np.float64, len(BOUNDS)),
}


def record(kind: type[Any]) -> np.dtype[np.void]:
    """The record type of a dataclass."""
    return np.dtype([(item.name, TYPES[str(item.type)]) for item in fields(kind)], align=True)


def rows(kind: type[Any], items: list[Any]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Records of a kind, shape (items,): the fields that an item has are its values, all others zero."""
    table = np.zeros(len(items), record(kind))
    for place, item in enumerate(items):
        for column in fields(item):
            table[column.name][place] = getattr(item, column.name)
    if "row" in (table.dtype.names or ()):
        table["row"] = np.arange(len(items))
    return table


@dataclass
class QueueRow:
    """A queue. Its rates are those of all its lanes."""

    arrivals: float  # factor on the base arrivals
    service_rate_per_min: float
    attempts_failing: float
    backlog_before: float
    served_in_outage_per_min: float
    max_age_min: float
    retention_min: float
    deadline_min: float
    superseded_share: float
    fresh_first: bool
    stack: bool  # newest first: what waits behind fresh work leaves from its new end
    sideline_after_min: float
    cap_per_min: float
    reserved_per_min: float
    consumers_per_min: float
    pool_per_min: float
    batches_per_min: float
    replicas_per_min: float  # what the most replicas do
    ramp_start: float
    ramp_slope: float
    ramp_top: float
    max_receives: float
    redelivery_min: float
    receives_in_outage: bool
    rejects_in_outage: bool
    fan_out: bool
    item_min: float  # 0 where not known: an open loop
    timeout_min: float
    backoff_min: float
    start_spread_min: float  # 0: evenly at rate
    fleet: int  # -1 for none
    pool: int  # place of what holds its retries, -1 for none
    first_step: int  # of its course
    end_step: int
    each_per_min: float  # rate of one step of its caps; 0 where a cap can be any rate
    least: float  # fewest such steps that can be set
    highest: float  # most


@dataclass
class LaneRow:
    """A set of partitions of a queue; the whole queue where it has none."""

    queue: int
    arrival_share: float
    service_share: float
    batches_per_min: float


@dataclass
class DependencyRow:
    """A dependency."""

    capacity_per_min: float
    room_per_min: float  # what operators may use
    control_per_min: float
    fresh_per_min: float
    attempts_failing: float
    goodput_share: float
    collapsed_at_restore: bool
    hit_at_rest: float
    hit_at_restore: float
    cache_fill_min: float
    throttle_per_min: float
    collapses: bool
    timeout_min: float
    control_backlog: float
    control_catch_up_per_min: float
    first_step: int  # of its course
    end_step: int


@dataclass
class PoolRow:
    """What holds the retries of one group of callers."""

    retry_tokens: float
    sustained_attempts: float
    refill_per_success: float


@dataclass
class FleetRow:
    """A fleet."""

    running: float
    needed: float
    launch_burst: float
    launch_per_min: float
    start_delay_min: float
    launches_from_min: float
    removal_per_min: float
    automation_active: bool
    removal_floor: float
    request_burst: float
    request_per_min: float


@dataclass
class ScalerRow:
    """The autoscaler of a queue; ``on`` is False where it has none."""

    on: bool
    metric: int  # 0 depth, 1 age, 2 utilisation
    target: float
    rate_each_per_min: float
    least: float
    most: float
    at_restore: float
    sync_min: float
    tolerance: float
    up_replicas: float
    up_percent: float
    up_period_min: float
    up_window_min: float
    down_replicas: float
    down_percent: float
    down_period_min: float
    down_window_min: float
    start_min: float
    fits_on_nodes: float
    node_min: float


@dataclass
class AdmissionRow:
    """The admission plan, one for all draws."""

    has_plan: bool
    floor_share: float
    drain_share: float
    replay_share: float
    lifts: float
    objective_share: float
    notice_min: float
    holds: Steps


@dataclass
class Queue(QueueRow):
    """Beside that, what a queue carries through a draw over all its lanes, and its results. Times are -1 while not reached."""

    row: int  # its place among all, as in every other record
    first_lane: int
    end_lane: int
    first_call: int
    end_call: int
    at_trigger: float  # base arrivals up to the likely trigger
    first_rate: float  # and the base rate there
    limit: float  # what bounds its consumers, but for ramp and batches
    bound: int
    free: float  # the same if nothing outside it held it back
    in_service: float  # share of its fleet
    room: float  # what the admission plan leaves it
    at_rest: bool  # nothing to drain, and its share takes what arrives
    coming: float
    waiting: float  # items, those set aside included
    attempts: float  # attempts a failing item costs now
    busy: float  # share of its replicas' time in work
    drain_min: float
    fresh_age_back_min: float
    backlog_at_restore: float
    served: float
    expired: float
    lost_to_retention: float
    discarded_past_deadline: float
    superseded: float
    dead_lettered: float
    peak_backlog: float
    arrived: float
    live_at_end: float
    sidelined_at_end: float
    losses: float  # so far
    losing_rate: float  # at which they grow
    lost_from_min: float  # from when on
    marked_losses: float  # at the latest whole period
    lost_per_min: float  # in that period
    grew_per_min: float
    bounds: Bounds  # minutes for which each held it back


@dataclass
class Lane(LaneRow):
    """Beside that, what a lane carries through a draw."""

    row: int  # of the curves: its arrivals
    aside_row: int  # what has been set aside
    stack_row: int  # a stack
    known: float  # items that have arrived, those before the trigger included and superseded ones not
    gone: float  # of these, items that have left the live queue
    side_in: float  # items set aside
    side_out: float  # of these, items that have left
    side_base: float  # gone when work was first set aside
    side_first: float  # items set aside then
    early: float  # items that arrive in a step before the grid begins
    scale: float  # fewer items than this are none
    rate: float  # what its consumers can do at the beginning of the stretch
    slope: float  # how that grows
    coming: float  # arrival rate
    waits: bool  # work waits in the live queue
    keeps_up: bool  # none does, and its consumers can take all that arrives
    held: bool  # something outside the queue holds its consumers back
    fails: bool  # a dependency of it does not serve all
    timed: bool  # and failing takes time-outs
    live: float  # rate of live work that consumers take
    side: float  # rate of sidelined work that they take
    live_ok: float  # of these, what succeeds where it fails
    side_ok: float
    live_fails: float  # and what fails
    side_fails: float
    top: int  # of a stack: its newest cell
    bottom: int  # and its oldest
    cut: float  # share of the oldest cell that has left by age
    crest: float  # share of the newest cell that is left
    bound: int  # which of BOUNDS is the least
    marked_live: float  # what waited at the latest whole period
    marked_side: float


@dataclass
class Dependency(DependencyRow):
    """Beside that, what a dependency carries through a draw, and its results. Direct requests are counted as they reach it, so a
    cold cache makes more of them."""

    row: int
    turn: int  # the last place at which an item of any queue calls it
    collapsed: bool
    capacity: float
    hit: float
    fresh: float  # direct traffic that is admitted
    held: float  # direct traffic that is not
    fresh_ok: float  # direct traffic that succeeds
    each: float  # attempts of a direct request while calls fail
    base: float  # requests that come beside queues
    load: float  # requests while calls succeed
    slow: float  # requests while they fail, when consumers wait for time-outs
    failing: float  # attempts that those cost
    attempts: float  # attempts now
    served: float  # requests that succeed
    passing: float  # share of them
    queue_share: float  # of what queues ask, in a collapse
    burst: float  # requests a minute of consumers that start
    in_flight: float
    fresh_flight: bool  # attempts in flight are not known yet
    working_off: float  # attempts in flight that leave a minute
    control_left: float
    service: float  # what the consumers that call it sustain together, in calls
    room: float  # rate that drains may have together
    left: float  # of that, what queues that drain may have: the rest serves what arrives in queues at rest
    draining: float  # what the consumers of queues that drain sustain together
    time_collapsed_min: float
    peak_attempts_per_min: float
    shed: float
    failed_direct: float
    healed_at_min: float
    direct: float
    direct_served: float
    margin_share: float
    failing_rate: float  # direct requests a minute that are not served
    unserved_from_min: float  # from when on
    marked_unserved: float
    unserved_per_min: float
    marked_min: float  # minutes down, up to the latest whole period
    marked_gain: float  # and in it
    marked_down: bool
    marked_hit: float
    marked_control: float


@dataclass
class Pool(PoolRow):
    """Beside that, what is left of retries that are held back."""

    tokens: float
    limited: bool
    burn: float  # taken a minute
    earn: float  # successes a minute
    marked: float  # tokens at the latest whole period


@dataclass
class Fleet(FleetRow):
    """Beside that, what a fleet carries through a draw, and its fewest instances."""

    row: int
    serving: float  # whole instances are in service; this may be between two of them
    bucket: float  # instances
    requests: float  # instances that the bucket of requests still admits
    share: float  # of what is needed that serves now
    full: bool
    settled: bool  # it stays as it is
    removed: float  # instances, up to the beginning of the step
    removal: float  # a minute in this step
    since: float  # its beginning
    lowest: float
    marked: float  # serving at the latest whole period


@dataclass
class Scaler(ScalerRow):
    """Beside that, what an autoscaler carries through a draw."""

    wanted: float  # replicas asked for
    serving: float
    next_sync: float
    pending: int  # entries of the list of starts
    wishes: int  # entries of the ring of wishes
    moves: int  # entries of the ring of changes
    marked: float  # wanted and serving at the latest whole period


@dataclass
class Draw(AdmissionRow):
    """Beside that the grid of a draw, where its admission plan stands, what signals hold, and its results."""

    step: float
    inv: float  # steps a minute
    t0: float  # the first point of the grid
    restore_at: int  # its place in the grid
    begin_at: int  # where consumers run
    trigger: float
    place: float  # of the first point in the base arrivals, in cells
    last_course: float  # when the last course changes last
    settled: int  # steps after the restore from which on arrivals repeat
    period: int  # every so many steps; 0 if they do not
    turns: int  # most calls of an item, or 1
    restored: bool  # the restore is past
    stage: int
    lift: float
    calm: float  # minutes for which the signal held
    trouble: float  # minutes of a collapse
    highest: int  # step reached in this period
    falls: float  # falls back in it
    marked: Steps  # all that at the latest whole period
    healthy: bool
    warm: bool
    within: bool
    fresh: bool
    empty: bool
    full: bool
    reached: bool
    end_min: float
    never: bool
    fallbacks: float
    over: bool  # it ended before the horizon
    last: int  # last row of its course, or of what waits
    begun: Steps  # when each admission step began, -1 for not


@dataclass
class CallRow:
    """A call that an item of a queue makes."""

    dependency: int
    per_item: float


@dataclass
class StepRow:
    """A step of a course."""

    start: float
    value: float


@dataclass
class Launch:
    """Launches of a fleet in a step of the grid."""

    asked: float  # instances asked for up to its beginning
    when: float  # launches can be asked for
    jump: float  # so many at once
    pace: float  # and then so many a minute


@dataclass
class Memory:
    """An entry of what an autoscaler remembers, each kind in a list of its own."""

    start: float  # when replicas start
    starting: float  # how many
    looked: float
    wish: float  # replicas wished for then
    moved: float
    move: float  # replicas added then, or removed


@dataclass
class CourseRow:
    """A point of the course of a queue."""

    live: float
    sidelined: float
    first_attempt_age_min: float
    arrived: float
    served: float
    expired: float
    lost_to_retention: float
    discarded_past_deadline: float
    superseded: float
    dead_lettered: float
    bound: float
    replicas: float
