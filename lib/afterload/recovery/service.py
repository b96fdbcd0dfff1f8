"""What the consumers of a queue sustain, and what binds them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from afterload.errors import LowerBoundWarning
from afterload.model.backlog import Ramp, cap_rate_per_min, slowest_shard
from afterload.model.caps import capacity_after_restore
from afterload.model.fluid import Steps
from afterload.model.queues import QueueLoad
from afterload.recovery.doubts import Doubt
from afterload.recovery.inputs import queue_inputs
from afterload.recovery.rates import stream_of
from afterload.scenario import LoadedScenario, Queue

__all__ = ["QueueService", "busiest_shard", "queue_service"]


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
    shard = busiest_shard(load, queue, [])
    share, shards = 1.0, 1
    bounds: list[tuple[float, str]] = []
    if concurrency is not None and seconds is not None:
        bounds.append((cap_rate_per_min(concurrency, seconds), _limit_words(queue, cap)))
    if load.ramp is not None and seconds is not None:
        end = load.ramp.ceiling if load.ramp.per_min > 0 else load.ramp.start
        bounds.append((cap_rate_per_min(end, seconds), f"the ramp's end of {end:,.10g} at once"))
    if shard is not None and queue.stream is not None:
        shards = queue.stream.shards
        share = max(queue.stream.spread)
        # Cap and ramp are shared evenly among shards, and the busiest one decides.
        bounds = [(rate / shards / share, words) for rate, words in bounds]
        if queue.stream.batch_size is not None:
            by_batches = stream_of(queue.stream).shard_service_rate_per_min / share
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


def busiest_shard(load: QueueLoad, queue: Queue, doubts: list[Doubt]) -> QueueLoad | None:
    """The load of the shard that decides. Shards share service, cap and ramp evenly, whatever arrives at each."""
    if queue.stream is None:
        return None
    shape = queue.stream
    stream = stream_of(shape)
    arrivals, rate = slowest_shard(load.arrivals, stream)
    share = max(shape.spread)
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
