"""From a scenario to the model and back: the one place where a team's inputs become model inputs.

Every estimate carries its doubts: what was assumed, and what makes a figure a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from afterload import limits
from afterload.arrivals import arrival_profile
from afterload.errors import AfterloadWarning, ApproximationWarning, LowerBoundWarning, MissingEvidenceWarning
from afterload.model.backlog import (
    BacklogRecovery,
    QueueLoad,
    Ramp,
    RateProfile,
    Stream,
    cap_rate_per_min,
    catch_up_rate_per_min,
    highest_safe_cap,
    ramp_passes_after_s,
    recover,
    slowest_shard,
)
from afterload.model.caps import capacity_after_restore
from afterload.model.fluid import Steps
from afterload.model.launches import BucketLimits, Launches, launch, removal_time_s
from afterload.model.retries import RetryStack, stack
from afterload.scenario import CallStack, Dependency, Fleet, LoadedScenario, Queue
from afterload.scenario.schema import StreamShards
from afterload.units import format_duration, format_rate

__all__ = [
    "CapEstimate",
    "Doubt",
    "Estimates",
    "FleetEstimate",
    "QueueEstimate",
    "QueueInputs",
    "QueueService",
    "StackEstimate",
    "estimate",
    "estimate_cap",
    "estimate_fleet",
    "estimate_queue",
    "estimate_stack",
    "queue_inputs",
    "queue_service",
]

NEAR_RETENTION = 0.8


@dataclass(frozen=True)
class Doubt:
    """One thing that a person should know before trusting a figure."""

    kind: type[AfterloadWarning]
    text: str

    @property
    def word(self) -> str:
        """The kind in plain words."""
        names = {
            ApproximationWarning: "Approximation",
            LowerBoundWarning: "Lower bound",
            MissingEvidenceWarning: "Default used",
        }
        return names.get(self.kind, "Note")


@dataclass(frozen=True)
class CapEstimate:
    """What a queue may send to its dependency, and what a concurrency cap makes of it. Rates in items a minute.

    Attributes:
        dependency, tested_rate_per_min, direct_rate_per_min: the dependency, what it was tested to, its direct traffic.
        room_per_min: what direct and control traffic leave of the tested rate, for all queues that drain into it.
        part_per_min: this queue's part of the room, by what each of these queues can drain.
        safe_concurrency, safe_rate_per_min: the highest cap within that part; None without ``item_time``.
        ramp_passes_room_after_s: seconds until an uncapped ramp passes that part; None if it never does.
        drain_rate_per_min: what its consumers can drain today, cap and ramp included.
        others: the other queues that drain into the dependency.
        control_rate_per_min: control-loop traffic of the dependency, which goes first.
    """

    dependency: str
    tested_rate_per_min: float
    direct_rate_per_min: float
    room_per_min: float
    part_per_min: float
    safe_concurrency: int | None
    safe_rate_per_min: float | None
    ramp_passes_room_after_s: float | None
    drain_rate_per_min: float
    others: tuple[str, ...] = ()
    control_rate_per_min: float = 0.0

    @property
    def beside_words(self) -> str:
        """What reaches the dependency beside the queues, in words."""
        words = f"{format_rate(self.direct_rate_per_min)} of direct traffic"
        control = f" and {format_rate(self.control_rate_per_min)} of control traffic"
        return words + control if self.control_rate_per_min > 0 else words

    @property
    def overloads(self) -> bool:
        """True if all drains and direct traffic together are above what the dependency was tested to bear."""
        return self.drain_rate_per_min > self.part_per_min * (1 + 1e-9)

    @property
    def part_words(self) -> str:
        """The queue's part of the room, beside whom: ", of which its part beside labels is 3,462/min"; empty if alone."""
        if not self.others:
            return ""
        return f", of which its part beside {', '.join(self.others)} is {format_rate(self.part_per_min)}"


@dataclass(frozen=True)
class QueueEstimate:
    """The recovery of one queue. ``decisive`` is the recovery that decides: the slowest shard's for a stream."""

    name: str
    queue: Queue
    load: QueueLoad
    recovery: BacklogRecovery
    slowest: BacklogRecovery | None
    catch_up_rate_per_min: float
    rejected: float
    cap: CapEstimate | None
    doubts: tuple[Doubt, ...]
    shard_load: QueueLoad | None = None

    @property
    def shards(self) -> int:
        """Shards that share the service rate evenly; 1 for a queue that is not a stream."""
        return self.queue.stream.shards if self.queue.stream is not None else 1

    @property
    def service_rate_now_per_min(self) -> float:
        """What the consumers sustain today, cap, ramp and batches of a stream included."""
        return self.shards * self.decisive.service_rate_per_min

    @property
    def decisive(self) -> BacklogRecovery:
        """The recovery that decides when the queue is back."""
        return self.slowest or self.recovery

    @property
    def drain_min(self) -> float | None:
        """Minutes from the restore to an empty backlog; None: never at these rates."""
        return self.decisive.drain_min

    @property
    def fresh_age_back_min(self) -> float | None:
        """Minutes from the restore to first-attempt age at baseline; None: never at these rates."""
        return self.decisive.fresh_age_back_min

    @property
    def stale_min(self) -> float | None:
        """Minutes of stale processing, outage and drain together; None: without end at these rates."""
        return self.decisive.stale_min

    @property
    def expired_recorded(self) -> float:
        """Items that the age limit expired and a destination recorded."""
        return self.recovery.expired if self.queue.on_failure_destination else 0.0

    @property
    def lost(self) -> float:
        """Items gone without a record: expired without a destination, and past their retention."""
        unrecorded = 0.0 if self.queue.on_failure_destination else self.recovery.expired
        return unrecorded + self.recovery.lost_to_retention


@dataclass(frozen=True)
class StackEstimate:
    """Calls at each layer for one call at the top."""

    name: str
    stack: CallStack
    result: RetryStack


@dataclass(frozen=True)
class FleetEstimate:
    """How long the missing instances of a fleet take to be in service.

    ``relaunch`` is the launch of all that is needed, as if automation had removed what runs, which takes at least
    ``removal_s`` seconds.
    """

    name: str
    fleet: Fleet
    missing: int
    launches: Launches
    relaunch: Launches
    removal_s: float

    @property
    def in_service_min(self) -> float:
        """Minutes from the restore until all missing instances serve."""
        return self.fleet.launches_from_min * (self.missing > 0) + self.launches.in_service_s / 60


@dataclass(frozen=True)
class Estimates:
    """All results for one scenario."""

    loaded: LoadedScenario
    queues: Mapping[str, QueueEstimate]
    stacks: Mapping[str, StackEstimate]
    fleets: Mapping[str, FleetEstimate]

    @cached_property
    def worst_queue(self) -> QueueEstimate | None:
        """The queue that is stale longest; one that never drains before all others."""
        if not self.queues:
            return None
        return max(self.queues.values(), key=lambda item: float("inf") if item.stale_min is None else item.stale_min)

    @cached_property
    def worst_stack(self) -> StackEstimate | None:
        """The call stack with the highest multiplier."""
        return max(self.stacks.values(), key=lambda item: item.result.multiplier, default=None)

    @cached_property
    def slowest_fleet(self) -> FleetEstimate | None:
        """The fleet whose missing instances take longest."""
        return max(self.fleets.values(), key=lambda item: (item.in_service_min, item.missing), default=None)


def estimate(loaded: LoadedScenario) -> Estimates:
    """Compute everything that a scenario holds."""
    scenario = loaded.scenario
    return Estimates(
        loaded,
        {name: estimate_queue(loaded, name) for name in scenario.queues},
        {name: estimate_stack(name, item) for name, item in scenario.call_stacks.items()},
        {name: estimate_fleet(name, item) for name, item in scenario.fleets.items()},
    )


@dataclass(frozen=True)
class QueueInputs:
    """A queue as the model takes it, with what was assumed. ``rejected`` is what the outage refused."""

    load: QueueLoad
    rejected: float
    doubts: tuple[Doubt, ...]


def queue_inputs(loaded: LoadedScenario, name: str, queue: Queue | None = None) -> QueueInputs:
    """The load of one queue of a scenario; give ``queue`` for a changed one in its place."""
    incident = loaded.scenario.incident
    queue = queue or loaded.scenario.queues[name]
    doubts: list[Doubt] = []
    rejecting = queue.during_outage == "reject"
    origin = incident.restored_at if rejecting else incident.trigger
    arrivals, assumed = arrival_profile(loaded, name, origin)
    doubts += [Doubt(ApproximationWarning, text) for text in assumed]
    rejected = 0.0
    if rejecting:
        whole, _ = arrival_profile(loaded, name, incident.trigger)
        rejected = _refused(whole, queue.served_in_outage_per_min, incident.outage_min)
        doubts.append(
            Doubt(LowerBoundWarning, "refused callers may come back: their new attempts are not in the arrival rate")
        )
    age_limit, retention = _limits(queue, doubts)
    if queue.max_receives is not None and not rejecting:
        words = (
            f"deliveries that fail in the outage are not counted: if consumers go on receiving then, work delivered "
            f"{queue.max_receives:,} times is in the dead-letter queue at the restore, and not in this backlog"
        )
        doubts.append(Doubt(ApproximationWarning, words))
    load = QueueLoad(
        arrivals=arrivals,
        service_rate_per_min=queue.service_rate_per_min,
        outage_min=0.0 if rejecting else incident.outage_min,
        backlog_before=queue.backlog_before,
        served_in_outage_per_min=queue.served_in_outage_per_min,
        max_age_min=age_limit,
        retention_min=retention,
        deadline_min=queue.deadline_min,
        superseded_share=queue.superseded_share,
        item_time_s=queue.item_time_s,
        cap_concurrency=queue.concurrency_limit,
        ramp=_own_ramp(queue),
        order=queue.order,
        sideline_after_min=_sideline(queue, doubts),
    )
    return QueueInputs(load, rejected, tuple(doubts))


@dataclass(frozen=True, eq=False)
class QueueService:
    """What the consumers of a queue sustain, as its estimate takes it. Rates in items a minute.

    Attributes:
        load: the queue as the model takes it, with the cap and the item time that were given over it.
        capacity: the rate from the restore on, whose minute is 0; of a stream, the whole backlog over the time that its
            busiest shard takes for its share.
        drain_per_min: what all shards together ask of the dependency in the end, while each has a backlog.
        bound_per_min: what the tightest of cap, ramp and batches allows in the end, whatever the service rate; None: no bound.
        bound_by: which one that is, in words; empty where there is none.
    """

    load: QueueLoad
    capacity: Steps
    drain_per_min: float
    bound_per_min: float | None
    bound_by: str

    @property
    def rate_per_min(self) -> float:
        """What is sustained in the end."""
        return float(self.capacity.rates[-1])


def queue_service(
    loaded: LoadedScenario, name: str, cap: int | None = None, item_time_s: float | None = None
) -> QueueService:
    """What the consumers of one queue of a scenario sustain: the least of service rate, caps, ramp and batches.

    Parameters:
        loaded: the scenario.
        name: the queue.
        cap: items in work at once, in place of the scenario's limits on them.
        item_time_s: seconds that one item takes, in place of the scenario's; without either a cap cannot count.
    """
    queue = loaded.scenario.queues[name]
    load = queue_inputs(loaded, name).load
    seconds = load.item_time_s if item_time_s is None else item_time_s
    concurrency = load.cap_concurrency if cap is None or seconds is None else float(cap)
    load = replace(load, item_time_s=seconds, cap_concurrency=concurrency)
    shard = _busiest_shard(load, queue, [])
    share, shards = 1.0, 1
    bounds: list[tuple[float, str]] = []
    if concurrency is not None and seconds is not None:
        bounds.append((cap_rate_per_min(concurrency, seconds), _limit_words(queue, cap)))
    if load.ramp is not None and seconds is not None:
        end = load.ramp.ceiling if load.ramp.per_min > 0 else load.ramp.start
        bounds.append((cap_rate_per_min(end, seconds), f"the ramp's end of {end:,.10g} at once"))
    if shard is not None and queue.stream is not None:
        shards = queue.stream.shards
        share = max(queue.stream.hottest_share or 0.0, 1 / shards)
        # Cap and ramp are shared evenly among shards, and the busiest one decides.
        bounds = [(rate / shards / share, words) for rate, words in bounds]
        by_batches = _stream(queue.stream).shard_service_rate_per_min / share
        bounds.append((by_batches, "the batches of the busiest shard"))
    steps = capacity_after_restore(shard or load)
    bound, words = min(bounds, default=(None, ""), key=lambda item: item[0] or 0.0)
    whole = Steps(steps.starts - load.outage_min, steps.rates / share)
    return QueueService(load, whole, shards * float(steps.rates[-1]), bound, words)


def _limit_words(queue: Queue, cap: int | None) -> str:
    """The limit on items in work at once that binds a queue, or the one given over it."""
    if cap is not None:
        return f"the cap of {cap:,} at once"
    limit = queue.concurrency_limit
    if queue.drain_cap is not None and queue.drain_cap.concurrency == limit:
        return f"the cap of {limit:,} at once"
    if queue.reserved_concurrency == limit:
        return f"the reserved concurrency of {limit:,}"
    return f"the pollers' {limit:,} at once"


def estimate_queue(
    loaded: LoadedScenario, name: str, queue: Queue | None = None, others: Mapping[str, Queue] | None = None
) -> QueueEstimate:
    """The recovery of one queue of a scenario.

    Parameters:
        loaded: the scenario.
        name: the name of the queue.
        queue: a changed one to compute in its place.
        others: the queues to share the dependency with, by name; those of the scenario if not given.
    """
    queue = queue or loaded.scenario.queues[name]
    inputs = queue_inputs(loaded, name, queue)
    load, doubts = inputs.load, list(inputs.doubts)
    recovery = recover(load)
    shard = _busiest_shard(load, queue, doubts)
    slowest = None if shard is None else recover(shard)
    objective = loaded.scenario.recovery_objective_min
    catch_up = catch_up_rate_per_min(shard or load, objective)
    if shard is not None and queue.stream is not None:
        catch_up *= queue.stream.shards
        _batch_doubt(queue.stream, catch_up, doubts)
    _retention_doubt(slowest or recovery, load.retention_min, doubts)
    _growth_doubt(slowest or recovery, load.max_age_min, load.retention_min, doubts)
    _sharing_doubt(loaded.scenario.queues, queue, doubts)
    return QueueEstimate(
        name=name,
        queue=queue,
        load=load,
        recovery=recovery,
        slowest=slowest,
        catch_up_rate_per_min=catch_up,
        rejected=inputs.rejected,
        cap=estimate_cap(queue, loaded.scenario.dependencies, _sharing(others or loaded.scenario.queues, name, queue)),
        doubts=tuple(doubts),
        shard_load=shard,
    )


def _refused(arrivals: RateProfile, served_per_min: float, outage_min: float) -> float:
    """Items refused in the outage: what arrives above what is served, moment by moment."""
    edges = np.concatenate(([0.0], arrivals.breakpoints(0.0, outage_min), [outage_min]))
    rates = arrivals.rate_at((edges[:-1] + edges[1:]) / 2)
    return float(np.sum(np.maximum(0.0, rates - served_per_min) * np.diff(edges)))


def _limits(queue: Queue, doubts: list[Doubt]) -> tuple[float | None, float | None]:
    age_limit, retention = queue.age_limit_min, queue.retention_min
    if queue.service == "lambda-async" and age_limit is None:
        age_limit = limits.value("lambda.async.max_age_s.default") / 60
        words = f"no age limit is set, so the service's default of {format_duration(age_limit)} acts"
        doubts.append(Doubt(MissingEvidenceWarning, words))
    if queue.service == "sqs-lambda" and retention is None:
        retention = limits.value("sqs.retention_s.default") / 60
        words = f"no retention is given, so the service's default of {format_duration(retention)} acts"
        doubts.append(Doubt(MissingEvidenceWarning, words))
    return age_limit, retention


def _sideline(queue: Queue, doubts: list[Doubt]) -> float | None:
    if queue.order != "fresh_first":
        return None
    if queue.sideline_after_min is None:
        doubts.append(Doubt(MissingEvidenceWarning, "no sideline_after is given, so everything old is set aside"))
    return queue.sideline_after_min or 0.0


def _stream(shape: StreamShards) -> Stream:
    return Stream(
        shape.shards, shape.parallelisation, shape.batch_size, shape.batch_time_s, hottest_share=shape.hottest_share
    )


def _batch_doubt(shape: StreamShards, wanted_per_min: float, doubts: list[Doubt]) -> None:
    bound = _stream(shape).service_rate_per_min
    if wanted_per_min > bound * (1 + 1e-9):
        words = (
            f"batches allow {format_rate(bound)} over all shards, less than the {format_rate(wanted_per_min)} that the "
            "objective needs: raise parallelisation or batch size, or spread the busiest shard"
        )
        doubts.append(Doubt(ApproximationWarning, words))


def _busiest_shard(load: QueueLoad, queue: Queue, doubts: list[Doubt]) -> QueueLoad | None:
    """The load of the shard that decides. Shards share service, cap and ramp evenly, whatever arrives at each."""
    if queue.stream is None:
        return None
    shape = queue.stream
    stream = _stream(shape)
    arrivals, rate = slowest_shard(load.arrivals, stream)
    share = shape.hottest_share or 1 / shape.shards
    if shape.retries is None:
        words = "retries of a failing batch have no end: one record that always fails blocks its shard until it expires"
        doubts.append(Doubt(LowerBoundWarning, words))
    cap, ramp, part = load.cap_concurrency, load.ramp, 1 / shape.shards
    return replace(
        load,
        arrivals=arrivals,
        service_rate_per_min=min(rate, load.service_rate_per_min * part),
        backlog_before=load.backlog_before * share,
        served_in_outage_per_min=load.served_in_outage_per_min * part,
        cap_concurrency=None if cap is None else cap * part,
        ramp=None if ramp is None else Ramp(ramp.start * part, ramp.per_min * part, ramp.ceiling * part),
    )


def _growth_doubt(
    recovery: BacklogRecovery, age_limit: float | None, retention: float | None, doubts: list[Doubt]
) -> None:
    acting = min((limit for limit in (age_limit, retention) if limit is not None), default=None)
    if recovery.peak_backlog is None and acting is not None:
        words = (
            f"the backlog grows until its oldest work reaches {format_duration(acting)}; what is removed from then on is "
            "not counted"
        )
        doubts.append(Doubt(LowerBoundWarning, words))


def _retention_doubt(recovery: BacklogRecovery, retention: float | None, doubts: list[Doubt]) -> None:
    if retention is None:
        return
    oldest = recovery.max_age_min
    if recovery.lost_to_retention > 0:
        words = f"work waits longer than the retention of {format_duration(retention)} and is lost"
        doubts.append(Doubt(LowerBoundWarning, words))
    elif oldest >= NEAR_RETENTION * retention:
        words = f"the oldest work reaches {format_duration(oldest)}, near the retention of {format_duration(retention)}"
        doubts.append(Doubt(ApproximationWarning, words))


def _sharing_doubt(queues: Mapping[str, Queue], queue: Queue, doubts: list[Doubt]) -> None:
    """Caps of several queues of one function that together are above its reserved concurrency: each alone is reachable."""
    function = queue.resources.function
    sharing = {name: each for name, each in queues.items() if function and each.resources.function == function}
    reserved = min((each.reserved_concurrency for each in sharing.values() if each.reserved_concurrency), default=None)
    together = sum(each.concurrency_limit or 0 for each in sharing.values())
    if reserved is not None and len(sharing) > 1 and together > reserved:
        words = (
            f"{', '.join(sharing)} run the function {function} and may use {together:,} at once together, above its reserved "
            f"concurrency of {reserved:,}: what drains at the same time holds the others back"
        )
        doubts.append(Doubt(LowerBoundWarning, words))


def _sharing(queues: Mapping[str, Queue], name: str, queue: Queue) -> dict[str, Queue]:
    """The other queues that drain into the dependency of a queue."""
    return {other: each for other, each in queues.items() if other != name and each.dependency == queue.dependency}


def estimate_cap(
    queue: Queue, dependencies: Mapping[str, Dependency], others: Mapping[str, Queue] | None = None
) -> CapEstimate | None:
    """What the queue's dependency leaves for its drain; None where the scenario does not say.

    Queues that drain into the same dependency share the room by what each can drain, so that all caps together fit.

    Parameters:
        queue: the queue.
        dependencies: all dependencies.
        others: the other queues that drain into the same one.
    """
    if queue.dependency is None or queue.dependency not in dependencies:
        return None
    dependency = dependencies[queue.dependency]
    tested, direct = dependency.tested_rate_per_min, dependency.direct_rate_per_min
    control = dependency.control_rate_per_min
    room = max(0.0, tested - direct - control)
    drain_rate = _drain_rate(queue)
    sharing = drain_rate + sum(_drain_rate(other) for other in (others or {}).values())
    part = room * drain_rate / sharing if sharing > 0 else room
    safe = safe_rate = passes = None
    if queue.item_time_s is not None:
        alone = part >= room
        safe = (
            highest_safe_cap(tested, direct + control, queue.item_time_s)
            if alone
            else highest_safe_cap(part, 0.0, queue.item_time_s)
        )
        safe_rate = cap_rate_per_min(safe, queue.item_time_s)
        ramp = _ramp(queue)
        if ramp is not None:
            passes = ramp_passes_after_s(ramp, queue.item_time_s, part)
    return CapEstimate(
        queue.dependency, tested, direct, room, part, safe, safe_rate, passes, drain_rate, tuple(others or ()), control
    )


def _drain_rate(queue: Queue) -> float:
    """What the consumers of a queue can drain, stream, cap and the ceiling of a ramp included. Items a minute."""
    rate = queue.service_rate_per_min
    if queue.stream is not None:
        rate = min(rate, _stream(queue.stream).service_rate_per_min)
    if queue.item_time_s is not None:
        if queue.concurrency_limit is not None:
            rate = min(rate, cap_rate_per_min(queue.concurrency_limit, queue.item_time_s))
        if queue.ramp is not None:
            rate = min(rate, cap_rate_per_min(queue.ramp.ceiling, queue.item_time_s))
    return rate


def _own_ramp(queue: Queue) -> Ramp | None:
    """The ramp that a queue gives, or that of its provisioned pollers."""
    if queue.ramp is not None:
        return Ramp(queue.ramp.start, queue.ramp.per_min, queue.ramp.ceiling)
    if queue.provisioned_pollers is None:
        return None
    pollers, each = queue.provisioned_pollers, limits.whole("lambda.sqs.poller.concurrency")
    return Ramp(each * pollers.minimum, limits.whole("lambda.sqs.pollers.ramp.per_min"), pollers.concurrency)


def _ramp(queue: Queue) -> Ramp | None:
    """The ramp that a queue's uncapped consumers follow: its own, or the service's."""
    own = _own_ramp(queue)
    if own is not None:
        return own
    return Ramp(**limits.ramp_preset("lambda-sqs")) if queue.service == "sqs-lambda" else None


def estimate_stack(name: str, item: CallStack) -> StackEstimate:
    """Calls at each layer of a call stack for one call at the top."""
    return StackEstimate(name, item, stack([layer.tries for layer in item.layers], item.failure_probability))


def estimate_fleet(name: str, fleet: Fleet) -> FleetEstimate:
    """How long a fleet's missing instances take, and how long all that it needs takes if nothing ran any more."""
    shape = fleet.launch
    buckets = BucketLimits(
        request_burst=shape.request_burst,
        requests_per_s=shape.request_refill_per_s,
        instance_burst=shape.instance_burst,
        instances_per_s=shape.instance_refill_per_s,
    )

    def launched(number: int) -> Launches:
        return launch(
            number,
            buckets,
            instances_per_request=shape.instances_per_request,
            throttle_factor=shape.throttle_factor,
            other_callers_share=shape.other_callers_share,
            buckets_full=shape.buckets_full,
            boot_s=shape.boot_time_s,
            network_s=shape.network_delay_s,
        )

    missing = max(0, fleet.needed - fleet.running)
    return FleetEstimate(name, fleet, missing, launched(missing), launched(fleet.needed), removal_time_s(fleet.running))
