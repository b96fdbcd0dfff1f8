"""From a scenario to the coupled model: what acts on what, and which numbers are uncertain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from afterload import limits
from afterload.arrivals import arrival_profile, rate_profile
from afterload.errors import ApproximationWarning, MissingEvidenceWarning
from afterload.model.coupled import (
    Autoscaler,
    Call,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Course,
    Input,
    Partitions,
    RetryPool,
    Trace,
    trace,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import Range
from afterload.recovery.admission import admission_of
from afterload.recovery.doubts import Doubt
from afterload.recovery.inputs import queue_inputs
from afterload.recovery.rates import (
    batches_per_min,
    cap_steps,
    client_retries,
    consumers,
    direct_attempts,
    mean_backoff_s,
    operated_rate,
    queue_attempts,
    queue_clients,
    queue_retries,
    replica_rate,
    stack_attempts,
)
from afterload.scenario import LoadedScenario, Queue
from afterload.scenario.bounds_schema import Scaling, ShareCourse, StreamShards
from afterload.scenario.ranges import RANGED, split_range
from afterload.scenario.schema import Incident

__all__ = ["Coupling", "couple"]


@dataclass(frozen=True)
class Coupling:
    """A scenario as one coupled system, with the names behind its places and its uncertain inputs."""

    loaded: LoadedScenario
    system: CoupledSystem
    queues: tuple[str, ...]
    dependencies: tuple[str, ...]
    fleets: tuple[str, ...]
    ranges: Mapping[Input, Range]
    labels: Mapping[Input, str]
    doubts: tuple[Doubt, ...] = ()

    @property
    def tied(self) -> dict[Input, str]:
        """What each input moves with that moves together with others."""
        return {key: item.moves_with for key, item in self.ranges.items() if item.moves_with}

    @cached_property
    def course(self) -> Trace:
        """The recovery at the likely values, as the scenario starts."""
        return trace(self.system)


# Loads that are prepared already, by queue: each with what it was made of.
Memo: TypeAlias = dict[str, list[tuple[Queue, Incident, QueueLoad]]]


class _Builder:
    def __init__(self, loaded: LoadedScenario, memo: Memo, waiting: Mapping[str, float] | None) -> None:
        self.loaded = loaded
        self.memo = memo
        self.waiting = waiting
        incident = loaded.scenario.incident
        self.start = incident.trigger if waiting is None else incident.restored_at
        self.outage_min = incident.outage_min if waiting is None else 0.0
        self.scenario = loaded.scenario
        self.doubts: list[Doubt] = []
        self.queue_names = tuple(self.scenario.queues)
        self.dependency_names = tuple(self.scenario.dependencies)
        self.fleet_names = tuple(self.scenario.fleets)

    def dependency(self, name: str) -> CoupledDependency:
        item = self.scenario.dependencies[name]
        retries, direct = (
            client_retries(self.scenario, name, self.doubts),
            direct_attempts(self.scenario, name, self.doubts),
        )
        held = retries.held if retries.attempts is not None else math.inf
        if (stack_attempts(self.scenario, name) or 0.0) > (retries.attempts or 1.0):
            # A stack of loops above the clients is not held by the clients' quotas.
            held = math.inf
        cache, users, profile = item.cache, item.returning_users, self.direct(name)
        waiting = sum(
            loop.waiting_at_restore for loop in self.scenario.control_loops.values() if loop.dependency == name
        )
        capacity = item.capacity_per_min or item.tested_rate_per_min
        return CoupledDependency(
            capacity_per_min=capacity,
            control_per_min=item.control_rate_per_min,
            fresh_per_min=item.direct_rate_per_min if profile is None else profile.mean_tail_per_min,
            attempts_failing=direct,
            goodput_share=item.goodput_while_collapsed,
            collapsed_at_restore=item.state_at_restore == "collapsed",
            retry_tokens=held,
            sustained_attempts=min(direct, retries.sustained),
            refill_per_success=retries.refill_per_success,
            hit_at_rest=cache.hit_rate if cache else 0.0,
            hit_at_restore=cache.hit_rate_at_restore if cache else 0.0,
            cache_fill_min=cache.fill_time_min if cache else 0.0,
            room_per_min=operated_rate(item),
            direct=profile,
            surge_per_min=users.extra_rate_per_min if users else 0.0,
            surge_decay_min=users.decay_min if users else 0.0,
            collapses=item.above_capacity == "collapse",
            throttle_per_min=_or_inf(item.throttles_at_per_min),
            timeout_min=item.timeout_s / 60,
            control_backlog=item.control_backlog + waiting,
            control_catch_up_per_min=item.control_catch_up_rate_per_min or capacity,
            course=self.course(item.capacity_course),
        )

    def direct(self, name: str) -> RateProfile | None:
        """Direct traffic of a dependency from the start on, where it changes."""
        rate = self.scenario.dependencies[name].direct_rate
        if rate.constant_per_min is not None:
            return None
        profile, _ = rate_profile(rate, self.loaded.direct.get(name), self.start, self.scenario.time_zone)
        return profile

    def course(self, given: ShareCourse | None) -> Course | None:
        incident = self.scenario.incident
        return None if given is None else Course(*given.minutes(incident.trigger, incident.restored_at))

    def load(self, name: str) -> QueueLoad:
        """A queue's load with arrivals from the start on."""
        item, incident = self.scenario.queues[name], self.scenario.incident
        known = self.memo.setdefault(name, [])
        for queue, event, load in known:
            if self.waiting is None and queue is item and event is incident:
                return load
        load = queue_inputs(self.loaded, name).load
        profile, _ = arrival_profile(self.loaded, name, self.start)
        pollers, cap = item.provisioned_pollers, item.drain_cap
        at_once = [each.concurrency for each in (cap, pollers) if each is not None]
        load = replace(
            load,
            arrivals=profile,
            outage_min=self.outage_min,
            # The reserved concurrency is a bound of its own here.
            cap_concurrency=min(at_once, default=None),
        )
        if self.waiting is not None:
            waits = self.waiting[name]
            return replace(load, backlog_before=waits, superseded_share=0.0, served_in_outage_per_min=0.0)
        known.append((item, incident, load))
        return load

    def queue(self, name: str) -> CoupledQueue:
        item, scenario = self.scenario.queues[name], self.scenario
        bounds, calls = consumers(item).bounds, item.all_calls
        timeouts = [scenario.dependencies[call.dependency].timeout_s for call in calls]
        stream, visible_s = item.stream, item.visibility_timeout_s or limits.value("sqs.visibility_timeout_s.default")
        if stream is not None and stream.offsets is not None and 0.0 in stream.spread:
            empty, words = stream.spread.count(0.0), "have no lag there, so they count as without records"
            doubt = f"queues.{name}: {empty} of {stream.shards} partitions in {stream.offsets} {words}"
            self.doubts.append(Doubt(MissingEvidenceWarning, doubt))
        return CoupledQueue(
            self.load(name),
            # One call of one dependency keeps its plain form.
            dependency=self.dependency_names.index(item.dependency) if item.dependency is not None else None,
            calls=tuple(Call(self.dependency_names.index(call.dependency), call.per_item) for call in item.calls),
            fan_out=item.fan_out,
            attempts_failing=queue_attempts(scenario, name),
            retries=self.retries(name) if calls else None,
            max_receives=item.max_receives,
            receives_in_outage=item.during_outage == "receive",
            redelivery_min=visible_s / 60,
            rejects_in_outage=item.during_outage == "reject",
            fleet=self.fleet_names.index(item.fleet) if item.fleet in self.fleet_names else None,
            cap_steps=cap_steps(item),
            partitions=None if stream is None else _partitions(item, stream),
            consumers_per_min=bounds.get("consumers", math.inf),
            reserved_per_min=bounds.get("reserved concurrency", math.inf),
            pool_per_min=bounds.get("connection pool", math.inf),
            autoscaler=None if item.autoscaler is None else _autoscaler(item, item.autoscaler),
            course=self.course(item.consumer_course),
            timeout_s=max(timeouts, default=0.0),
            backoff_s=mean_backoff_s(scenario, name) if calls else 0.0,
            start_spread_min=item.start_spread_min,
        )

    def retries(self, name: str) -> RetryPool | None:
        """What holds back the retries of a queue's own clients; None where the clients of its dependency are its own too."""
        scenario, attempts = self.scenario, queue_attempts(self.scenario, name)
        kinds = queue_clients(scenario, name)
        if any(kind.client.queue == name for kind in kinds):
            found = queue_retries(scenario, name, self.doubts)
            return RetryPool(found.held, min(attempts, found.sustained), found.refill_per_success)
        called = scenario.queues[name].all_calls[0].dependency
        others = any(client.dependency == called and client.queue is None for client in scenario.clients.values())
        return RetryPool(sustained=attempts) if others and not kinds else None

    def fleet(self, name: str) -> CoupledFleet:
        item = self.scenario.fleets[name]
        shape = item.launch
        kept = shape.throttle_factor * (1 - shape.other_callers_share)
        active = any(not entry.paused for entry in item.removal_automation or ())
        return CoupledFleet(
            running=item.running,
            needed=item.needed,
            launch_burst=shape.instance_burst * kept * shape.buckets_full,
            launch_per_min=60 * shape.instance_refill_per_s * kept,
            request_burst=shape.request_burst * shape.instances_per_request * kept * shape.buckets_full,
            request_per_min=60 * shape.request_refill_per_s * shape.instances_per_request * kept,
            start_delay_min=(shape.boot_time_s + shape.network_delay_s) / 60,
            launches_from_min=item.launches_from_min,
            removal_per_min=item.removal_rate_per_min,
            automation_active=active,
            removal_floor=item.removal_floor,
        )

    def uncertain(self, system: CoupledSystem) -> tuple[dict[Input, Range], dict[Input, str]]:
        """The ranges of the scenario as ranges of the model's inputs, which are proportional to its values."""
        ranges: dict[Input, Range] = {}
        labels: dict[Input, str] = {}
        for path, (low, likely, high) in self.loaded.ranges.items():
            key, value = self.input_of(path, likely, system)
            if key is None:
                words = f"its range counts for nothing here, since {path.rpartition('.')[0]}.capacity is given"
                self.doubts.append(Doubt(ApproximationWarning, f"{path}: {words}"))
                continue
            scale = value / likely if likely > 0 else 1.0
            tie = self.scenario.uncertain[path].moves_with or ""
            ranges[key] = Range(low * scale, likely * scale, high * scale, tie)
            labels[key] = path
        return ranges, labels

    def input_of(self, path: str, likely: float, system: CoupledSystem) -> tuple[Input | None, float]:
        """The model's input that a path of the scenario names, and what it is at the likely value; None for a tested rate that
        stands for no capacity, since that is given."""
        found = split_range(self.scenario, path)
        if found is None:
            return Input("outage", 0, "outage_min"), likely
        part, name, field = found
        if field == "tested_rate" and self.scenario.dependencies[name].capacity_per_min is not None:
            return None, likely
        model, kind = RANGED[part][field].model, PARTS[part]
        place = tuple(getattr(self.scenario, part)).index(name)
        built = getattr(system, part)[place]
        holder = built if hasattr(built, model) else getattr(built, "load", None)
        value = 1.0 if model == "arrivals" else getattr(holder, model)
        return Input(kind, place, model), likely if value is None or math.isinf(value) else value


# The parts of a scenario that have inputs, with the model's name for each.
PARTS: Mapping[str, Literal["queue", "dependency", "fleet"]] = {
    "queues": "queue", "dependencies": "dependency", "fleets": "fleet",
}  # fmt: skip


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else value


def _partitions(queue: Queue, stream: StreamShards) -> Partitions:
    number = queue.consumers.number if queue.consumers is not None else None
    return Partitions(stream.spread, batches_per_min(stream), number)


def _autoscaler(queue: Queue, given: Scaling) -> Autoscaler:
    figures: dict[str, Any] = {}
    for way, policy in (("up", given.up), ("down", given.down)):
        figures |= {f"{way}_replicas": policy.replicas, f"{way}_percent": policy.percent}
        figures |= {
            f"{way}_{name}_min": None if seconds is None else seconds / 60
            for name, seconds in (("period", policy.period_s), ("window", policy.window_s))
        }
    return Autoscaler(
        metric=given.metric,
        target=given.target,
        rate_each_per_min=replica_rate(queue, given),
        least=given.least,
        most=given.most,
        at_restore=given.least if given.at_restore is None else given.at_restore,
        sync_min=given.sync_s / 60,
        tolerance=given.tolerance,
        start_min=given.start_time_s / 60,
        fits_on_nodes=given.fits_on_nodes,
        node_min=given.node_time_s / 60,
        **{name: value for name, value in figures.items() if value is not None},
    )


def couple(
    loaded: LoadedScenario, memo: Memo | None = None, waiting: Mapping[str, float] | None = None
) -> Coupling | None:
    """A scenario as one coupled system; None where it has no queue and no dependency to couple.

    Whoever couples many variants of one scenario gives the same ``memo`` each time: queues that are the same object in two
    of them are prepared once. With ``waiting``, items by queue, the system begins at the restore with that.
    """
    scenario = loaded.scenario
    if not scenario.queues and not scenario.dependencies:
        return None
    builder = _Builder(loaded, {} if memo is None else memo, waiting)
    outage = builder.outage_min
    system = CoupledSystem(
        outage_min=outage,
        lead_min=outage,
        queues=tuple(builder.queue(name) for name in builder.queue_names),
        dependencies=tuple(builder.dependency(name) for name in builder.dependency_names),
        fleets=tuple(builder.fleet(name) for name in builder.fleet_names),
        admission=admission_of(loaded) if scenario.admission.in_place else None,
    )
    ranges, labels = builder.uncertain(system)
    return Coupling(
        loaded, system, builder.queue_names, builder.dependency_names, builder.fleet_names, ranges, labels,
        tuple(builder.doubts),
    )  # fmt: skip
