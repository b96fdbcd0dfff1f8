"""From a scenario to the model and back: the one place where a team's inputs become model inputs.

Every estimate carries its doubts: what was assumed, and what makes a figure a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from afterload.errors import ApproximationWarning, LowerBoundWarning
from afterload.model.launches import BucketLimits, Launches, launch, removal_time_s
from afterload.model.queues import QueueLoad
from afterload.model.retries import RetryStack, stack
from afterload.recovery.build import Coupling, couple
from afterload.recovery.catch_up import catch_up_rate_per_min
from afterload.recovery.course import QueueRecovery, queue_recovery
from afterload.recovery.doubts import Doubt
from afterload.recovery.inputs import queue_inputs
from afterload.recovery.rates import CapEstimate, consumers, consumers_rate, estimate_cap
from afterload.scenario import CallStack, Fleet, LoadedScenario, Queue
from afterload.units import format_duration, format_rate

__all__ = [
    "NEAR_RETENTION",
    "Estimates",
    "FleetEstimate",
    "QueueEstimate",
    "StackEstimate",
    "estimate",
    "estimate_fleet",
    "estimate_queue",
    "estimate_stack",
]

NEAR_RETENTION = 0.8


@dataclass(frozen=True)
class QueueEstimate:
    """The recovery of one queue with everything acting on it.

    ``catch_up_rate_per_min`` is the service rate that its work takes for the objective; ``rejected`` what the outage refused.
    """

    name: str
    queue: Queue
    load: QueueLoad
    recovery: QueueRecovery
    catch_up_rate_per_min: float
    rejected: float
    cap: CapEstimate | None
    doubts: tuple[Doubt, ...]

    @property
    def service_rate_now_per_min(self) -> float:
        """What the consumers sustain today, cap, ramp and batches of a stream included."""
        return consumers_rate(self.queue)

    @property
    def drain_min(self) -> float | None:
        """Minutes from the restore to an empty backlog; None: never at these rates."""
        return self.recovery.drain_min

    @property
    def fresh_age_back_min(self) -> float | None:
        """Minutes from the restore to first-attempt age at baseline; None: never at these rates."""
        return self.recovery.fresh_age_back_min

    @property
    def stale_min(self) -> float | None:
        """Minutes of stale processing, outage and drain together; None: without end at these rates."""
        return self.recovery.stale_min

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
    coupling: Coupling | None = None

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
    scenario, coupling = loaded.scenario, couple(loaded)
    return Estimates(
        loaded,
        {} if coupling is None else {name: _queue(coupling, name) for name in scenario.queues},
        {name: estimate_stack(name, item) for name, item in scenario.call_stacks.items()},
        {name: estimate_fleet(name, item) for name, item in scenario.fleets.items()},
        coupling,
    )


def estimate_queue(
    loaded: LoadedScenario, name: str, queue: Queue | None = None, others: Mapping[str, Queue] | None = None
) -> QueueEstimate:
    """The recovery of one queue of a scenario, beside all that acts on it.

    Parameters:
        loaded: the scenario.
        name: the name of the queue.
        queue: a changed one to compute in its place.
        others: other queues in place of those of the scenario, by name.
    """
    changed = {**(others or {}), **({} if queue is None else {name: queue})}
    if changed:
        queues = {**loaded.scenario.queues, **changed}
        loaded = replace(loaded, scenario=loaded.scenario.model_copy(update={"queues": queues}))
    coupling = couple(loaded)
    assert coupling is not None
    return _queue(coupling, name)


def _queue(coupling: Coupling, name: str) -> QueueEstimate:
    loaded, place = coupling.loaded, coupling.queues.index(name)
    queue, inputs = loaded.scenario.queues[name], queue_inputs(loaded, name)
    load, doubts = inputs.load, list(inputs.doubts)
    recovery = queue_recovery(coupling.course, place, load)
    # The busiest set of partitions decides.
    lane = coupling.system.queues[place].lanes[0]
    busiest = replace(
        load, arrivals=load.arrivals.scaled(lane.arrival_share), backlog_before=load.backlog_before * lane.arrival_share,
        served_in_outage_per_min=load.served_in_outage_per_min * lane.service_share,
    )  # fmt: skip
    catch_up = catch_up_rate_per_min(busiest, loaded.scenario.recovery_objective_min) / lane.service_share
    if queue.stream is not None:
        _stream_doubts(queue, catch_up, doubts)
    _retention_doubt(recovery, load.retention_min, doubts)
    _sharing_doubt(loaded.scenario.queues, queue, doubts)
    return QueueEstimate(
        name=name,
        queue=queue,
        load=load,
        recovery=recovery,
        catch_up_rate_per_min=catch_up,
        rejected=inputs.rejected,
        cap=estimate_cap(loaded.scenario, name),
        doubts=tuple(doubts),
    )


def _stream_doubts(queue: Queue, wanted_per_min: float, doubts: list[Doubt]) -> None:
    if queue.stream is not None and queue.stream.batch_size is not None and queue.stream.retries is None:
        words = "retries of a failing batch have no end: one record that always fails blocks its shard until it expires"
        doubts.append(Doubt(LowerBoundWarning, words))
    bound = consumers(queue).bounds.get("batches", math.inf)
    if wanted_per_min > bound * (1 + 1e-9):
        words = (
            f"batches allow {format_rate(bound)} over all shards, less than the {format_rate(wanted_per_min)} that the "
            "objective needs: raise parallelisation or batch size, or spread the busiest shard"
        )
        doubts.append(Doubt(ApproximationWarning, words))


def _retention_doubt(recovery: QueueRecovery, retention: float | None, doubts: list[Doubt]) -> None:
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
