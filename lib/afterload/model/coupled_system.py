"""What recovers together, as the coupled model takes it: queues, dependencies, fleets, autoscalers, the admission plan.

Times are minutes from the restore, which is 0; rates are items, attempts or instances a minute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad

__all__ = [
    "BOUNDS",
    "GUIDE_STEPS",
    "Admission",
    "Autoscaler",
    "Call",
    "CapSteps",
    "CoupledDependency",
    "CoupledFleet",
    "CoupledQueue",
    "CoupledSystem",
    "Course",
    "Lane",
    "Partitions",
    "RetryPool",
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

# What can be the least of all that bounds the consumers of a queue, by the number that a course and the result use.
BOUNDS = (
    "nothing waits",
    "service rate",
    "fleet",
    "course",
    "cap",
    "reserved concurrency",
    "consumers",
    "connection pool",
    "autoscaler",
    "batches",
    "ramp",
    "admission",
    "dependency",
)
Metric: TypeAlias = Literal["depth", "age", "utilisation"]


def _at_least_zero(name: str, value: float) -> None:
    """A number that may be infinite, for no bound."""
    if math.isnan(value) or value < 0:
        raise ModelError(f"{name} is {value}; give 0 or more, infinite for no bound")


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
class Call:
    """One item makes ``per_item`` calls of a dependency, which is given by its place."""

    dependency: int
    per_item: float = 1.0

    def __post_init__(self) -> None:
        number("per_item", self.per_item, above=0.0)


@dataclass(frozen=True)
class RetryPool:
    """What holds back the retries of one group of callers.

    Attributes:
        tokens: retries that their quotas hold at the restore; infinite without a quota.
        sustained: attempts a request once the quotas are empty.
        refill_per_success: retries that one success brings back, up to ``tokens``.
    """

    tokens: float = math.inf
    sustained: float = 1.0
    refill_per_success: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("tokens", self.tokens)
        number("sustained", self.sustained, least=1.0)
        number("refill_per_success", self.refill_per_success)


@dataclass(frozen=True)
class Course:
    """A share that changes in steps: ``values[i]`` holds from ``starts_min[i]`` on, and 1 before the first."""

    starts_min: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.starts_min) != len(self.values):
            raise ModelError(f"a course has {len(self.starts_min)} times and {len(self.values)} values; give as many")
        for start, following in pairwise(self.starts_min):
            if following <= start:
                raise ModelError(f"a course has {following:g} after {start:g}; its times must rise")
        for value in self.values:
            number("a value of a course", value)


@dataclass(frozen=True)
class Lane:
    """What one set of partitions has of a queue: shares of its arrivals and of its consumers, and what batches allow."""

    arrival_share: float
    service_share: float
    batches_per_min: float


@dataclass(frozen=True)
class Partitions:
    """Partitions or shards, each worked on in order by one consumer.

    Attributes:
        arrival_shares: share of the arrivals at each, adding up to 1.
        rate_each_per_min: what batches allow at one partition.
        consumers: consumers that divide the partitions; None for one at each. Fewer than partitions take contiguous
            sets as even as can be, the larger sets first, as Kafka's range assignment does.
    """

    arrival_shares: tuple[float, ...]
    rate_each_per_min: float = math.inf
    consumers: int | None = None

    def __post_init__(self) -> None:
        for share in self.arrival_shares:
            number("arrival_shares", share, most=1.0)
        if not math.isclose(math.fsum(self.arrival_shares), 1.0, rel_tol=1e-6):
            raise ModelError(f"arrival_shares add up to {math.fsum(self.arrival_shares):g}; give shares of 1")
        _at_least_zero("rate_each_per_min", self.rate_each_per_min)
        if self.consumers is not None:
            whole("consumers", self.consumers)

    def lanes(self) -> tuple[Lane, ...]:
        """Sets of partitions that differ, the busiest for its consumers first; sets that are alike are one lane."""
        count = len(self.arrival_shares)
        sets = min(self.consumers or count, count)
        size, more = divmod(count, sets)
        alike: dict[tuple[float, int], int] = {}
        first = 0
        for place in range(sets):
            last = first + size + (place < more)
            key = (round(math.fsum(self.arrival_shares[first:last]), 12), last - first)
            alike[key] = alike.get(key, 0) + 1
            first = last
        lanes = (
            Lane(share * number, number / sets, self.rate_each_per_min * each * number)
            for (share, each), number in alike.items()
        )
        return tuple(sorted(lanes, key=lambda lane: -lane.arrival_share / lane.service_share))


@dataclass(frozen=True)
class Autoscaler:
    """Replicas of the consumers of a queue, set by a control loop as the Kubernetes horizontal pod autoscaler does it.

    Every ``sync_min`` it wants ``ceil(waiting / target)`` replicas by depth, or ``ceil(replicas x metric / target)`` by the
    age of the oldest item in minutes or by utilisation (share of their time in which replicas work; those that do not
    serve yet count as idle when it would add more). Within ``tolerance`` of its target it leaves them. What it adds or
    removes in a period is the greater of a number and a share; the lowest wish of ``up_window_min`` counts for more
    replicas, the highest of ``down_window_min`` for fewer.

    Attributes:
        rate_each_per_min: items a minute that one replica makes.
        least, most, at_restore: replicas.
        start_min: from the wish to a replica that serves; ``node_min`` more for those beyond ``fits_on_nodes``.

    Source: Kubernetes documentation, "Horizontal Pod Autoscaling", algorithm details and configurable scaling behaviour.
    """

    metric: Metric
    target: float
    rate_each_per_min: float
    least: int
    most: int
    at_restore: int
    sync_min: float = 0.25
    tolerance: float = 0.1
    up_replicas: float = 4.0
    up_percent: float = 100.0
    up_period_min: float = 0.25
    up_window_min: float = 0.0
    down_replicas: float = 0.0
    down_percent: float = 100.0
    down_period_min: float = 0.25
    down_window_min: float = 5.0
    start_min: float = 0.0
    fits_on_nodes: int | None = None
    node_min: float = 0.0

    def __post_init__(self) -> None:
        for name in ("target", "rate_each_per_min", "sync_min", "up_period_min", "down_period_min"):
            number(name, getattr(self, name), above=0.0)
        for name in ("tolerance", "up_window_min", "down_window_min", "start_min", "node_min"):
            number(name, getattr(self, name))
        for name in ("up_replicas", "up_percent", "down_replicas", "down_percent"):
            _at_least_zero(name, getattr(self, name))
        whole("least", self.least, least=0)
        whole("at_restore", self.at_restore, least=0)
        if self.fits_on_nodes is not None:
            whole("fits_on_nodes", self.fits_on_nodes, least=0)
        if whole("most", self.most) < self.least:
            raise ModelError(f"most is {self.most:,}, fewer than least, {self.least:,}")


@dataclass(frozen=True)
class CoupledQueue:
    """A queue in the coupled recovery. Its consumers do the least of all that bounds them (:data:`BOUNDS`).

    Attributes:
        load: the queue by itself; its ``arrivals`` begin ``lead_min`` of the
            system before the restore, its ``outage_min`` is the system's.
        dependency: place of the dependency that its consumers call once an item, or None; ``calls`` where they call several.
        attempts_failing: attempts that one item costs while its dependency fails, at least 1.
        max_receives: failed deliveries after which an item is dead-lettered; None for no limit.
        fleet: place of the fleet that its consumers run on, or None. Its share in service bounds the service rate.
        cap_steps: what the caps of an admission plan can be; None where they can be any rate.
        calls: dependencies that one item calls, in this order; an item is served when all serve it.
        fan_out: whether all are called at once. In series those behind one that fails see only what passes it.
        retries: what holds back its clients' retries; None where those of the first dependency do.
        receives_in_outage: whether consumers go on receiving in the outage, so that deliveries fail.
        redelivery_min: minutes until a failed delivery comes again.
        rejects_in_outage: whether arrivals are refused until the restore.
        partitions: its partitions, or None.
        consumers_per_min, reserved_per_min, pool_per_min: what its consumers' number, its reserved concurrency and its
            connection pool allow.
        autoscaler: what sets its replicas, or None.
        course: share of the service rate over time, or None.
        timeout_s, backoff_s: seconds that a failing attempt takes, and that one item waits between all its attempts. With
            ``item_time_s`` of the load, consumers are a closed loop: an item that fails keeps its consumer that long.
        start_spread_min: minutes after the restore over which consumers start, each with one call; None: evenly at rate.
    """

    load: QueueLoad
    dependency: int | None = None
    attempts_failing: float = 1.0
    max_receives: float | None = None
    fleet: int | None = None
    cap_steps: CapSteps | None = None
    calls: tuple[Call, ...] = ()
    fan_out: bool = False
    retries: RetryPool | None = None
    receives_in_outage: bool = False
    redelivery_min: float = 0.5
    rejects_in_outage: bool = False
    partitions: Partitions | None = None
    consumers_per_min: float = math.inf
    reserved_per_min: float = math.inf
    pool_per_min: float = math.inf
    autoscaler: Autoscaler | None = None
    course: Course | None = None
    timeout_s: float = 0.0
    backoff_s: float = 0.0
    start_spread_min: float | None = None

    def __post_init__(self) -> None:
        number("attempts_failing", self.attempts_failing, least=1.0)
        if self.max_receives is not None:
            number("max_receives", self.max_receives, least=1.0)
        for name in ("consumers_per_min", "reserved_per_min", "pool_per_min"):
            _at_least_zero(name, getattr(self, name))
        number("redelivery_min", self.redelivery_min, above=0.0)
        number("timeout_s", self.timeout_s)
        number("backoff_s", self.backoff_s)
        if self.start_spread_min is not None:
            number("start_spread_min", self.start_spread_min, above=0.0)
        if self.calls and self.dependency is not None:
            raise ModelError("dependency and calls are both given; give one of them")

    @property
    def all_calls(self) -> tuple[Call, ...]:
        """What one item calls, in order."""
        return self.calls or (() if self.dependency is None else (Call(self.dependency),))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Its lanes; one for a queue without partitions."""
        return (Lane(1.0, 1.0, math.inf),) if self.partitions is None else self.partitions.lanes()

    @property
    def own_rate_per_min(self) -> float:
        """What its consumers do at most by themselves: the least of service rate, cap, ramp's end and all given limits."""
        load, bounds = self.load, [self.load.service_rate_per_min]
        if load.item_time_s is not None:
            each = 60.0 / load.item_time_s
            bounds += [] if load.cap_concurrency is None else [load.cap_concurrency * each]
            bounds += [] if load.ramp is None else [load.ramp.ceiling * each]
        bounds += [self.consumers_per_min, self.reserved_per_min, self.pool_per_min]
        bounds.append(math.fsum(lane.batches_per_min for lane in self.lanes))
        if self.autoscaler is not None:
            bounds.append(self.autoscaler.most * self.autoscaler.rate_each_per_min)
        return min(bounds)


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
        room_per_min: what an operator may use of it, the tested rate; None for its capacity. Admission steps keep to it.
        direct: direct traffic over time, from ``lead_min`` of the system on; ``fresh_per_min`` is then its likely mean, and a
            factor on all of it where it is uncertain.
        surge_per_min, surge_decay_min: users who come back add so much at the restore, which falls off with this constant.
        collapses: whether it collapses above its capacity; if not, it rejects what is above and does its full work.
        throttle_per_min: what it rejects above, beside that.
        timeout_min: minutes for which a failing attempt is in flight. What is in flight when attempts fall to its capacity is
            worked off before it heals.
        control_backlog: control-loop items that wait at the restore, such as leases that lapsed, and ``control_catch_up_per_min``
            the rate at which they come beside control traffic.
        course: share of its capacity over time, or None. Where it begins before the restore, consumers run from the trigger on.
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
    direct: RateProfile | None = None
    surge_per_min: float = 0.0
    surge_decay_min: float = 0.0
    collapses: bool = True
    throttle_per_min: float = math.inf
    timeout_min: float = 0.0
    control_backlog: float = 0.0
    control_catch_up_per_min: float = 0.0
    course: Course | None = None

    def __post_init__(self) -> None:
        number("capacity_per_min", self.capacity_per_min, above=0.0)
        for name in ("control_per_min", "fresh_per_min", "refill_per_success", "cache_fill_min"):
            number(name, getattr(self, name))
        number("attempts_failing", self.attempts_failing, least=1.0)
        number("sustained_attempts", self.sustained_attempts, least=1.0)
        number("goodput_share", self.goodput_share, most=1.0)
        for name in ("hit_at_rest", "hit_at_restore"):
            number(name, getattr(self, name), below=1.0)
        _at_least_zero("retry_tokens", self.retry_tokens)
        _at_least_zero("throttle_per_min", self.throttle_per_min)
        for name in ("surge_per_min", "surge_decay_min", "timeout_min", "control_backlog", "control_catch_up_per_min"):
            number(name, getattr(self, name))
        if self.room_per_min is not None:
            number("room_per_min", self.room_per_min, above=0.0)
        if self.control_backlog > 0 and self.control_catch_up_per_min <= 0:
            raise ModelError(
                "control_backlog is given without control_catch_up_per_min; give the rate at which it comes"
            )


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
            named = [("dependency", call.dependency, len(self.dependencies)) for call in queue.all_calls]
            named += [] if queue.fleet is None else [("fleet", queue.fleet, len(self.fleets))]
            for name, place, count in named:
                if not 0 <= place < count:
                    raise ModelError(f"a queue names {name} {place}, but there are {count}")
