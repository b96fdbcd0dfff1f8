"""A slower ramp, so that consumers do not pass what their dependency bears within seconds of the restore."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.model.caps import cap_rate_per_min
from afterload.plan.change import Change, Place, PlanItem, quoted, where
from afterload.recovery.rates import CapEstimate, room_at
from afterload.scenario import Queue, Scenario
from afterload.units import format_duration, format_rate

ID = "ramp-limit"
# Time in which somebody, or an alarm, can see that a dependency suffers, and stop the ramp.
USUAL_MIN = 10.0
# After so many times its fill time a cache has closed 95 % of its gap.
FILL_TIMES = 3.0
STEPS = 5


@dataclass(frozen=True)
class _Room:
    """Items a minute that fit beside direct traffic: ``end`` in the long run, ``start`` just after the restore."""

    start: float
    end: float
    fill_min: float

    def at(self, minutes: float) -> float:
        """The room so many minutes after the restore."""
        if self.fill_min <= 0:
            return self.end if minutes > 0 or self.start == self.end else self.start
        return self.end - (self.end - self.start) * math.exp(-minutes / self.fill_min)


def _room(scenario: Scenario, name: str) -> _Room:
    room, cache = room_at(scenario, name), scenario.dependencies[name].cache
    if cache is None or cache.fill_time_min <= 0:
        return _Room(room.room_per_min, room.room_per_min, 0.0)
    cold = room.direct_per_min * (1 - cache.hit_rate_at_restore) / (1 - cache.hit_rate)
    return _Room(replace(room, direct_per_min=cold).room_per_min, room.room_per_min, cache.fill_time_min)


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        cap = item.cap
        # Where the time of an item or the dependency is not known, the drain cap asks for it.
        if cap is not None and cap.safe_concurrency is not None and item.queue.item_time_s is not None:
            yield _item(estimates, item, cap, item.queue.item_time_s)


def _item(estimates: Estimates, item: QueueEstimate, cap: CapEstimate, item_time_s: float) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    room = _room(loaded.scenario, cap.dependency)
    line = where(loaded, "dependencies", cap.dependency)
    cold = f" while its cache is cold, {format_rate(room.end)} later" if room.start < room.end else ""
    fits = f"There is room for {format_rate(room.start)} at {cap.dependency}{cold} ({line})"
    drain = cap.drain_rate_per_min
    if drain <= room.start * (1 + 1e-9):
        if queue.service_rate_per_min > room.start * (1 + 1e-9) and (queue.ramp or queue.concurrency_limit):
            what = "a limit on concurrency" if queue.ramp is None else "the ceiling of the ramp"
            return at.in_place(f"{fits}, and {what} keeps consumers at {format_rate(drain)}.")
        return at.not_here(f"{fits}, and consumers reach {format_rate(drain)}: no ramp can pass that.")
    if queue.ramp is not None and _stays_within(queue, room, drain):
        return at.in_place(f"{fits}, and the ramp of {queue.ramp.per_min:,} at once a minute stays within it.")
    least = limits.whole("lambda.sqs.max_concurrency.minimum") if queue.service == "sqs-lambda" else 1
    minutes = FILL_TIMES * room.fill_min or USUAL_MIN
    ceiling = math.floor(room.at(minutes) * item_time_s / 60 + 1e-9)
    if queue.service == "sqs-lambda":
        ceiling = min(ceiling, limits.whole("lambda.sqs.max_concurrency.maximum"))
    if queue.concurrency_limit is not None:
        ceiling = min(ceiling, queue.concurrency_limit)
    start = math.floor(room.start * item_time_s / 60 + 1e-9)
    if room.start == room.end:
        start = max(least, ceiling // STEPS)
    if start < least or ceiling < start:
        return at.asks(
            f"{fits}: too little for a ramp to begin with. Hold direct traffic back meanwhile, or test it to a higher rate."
        )
    per_min = math.floor((ceiling - start) / minutes + 1e-9)
    if room.start == room.end:
        per_min = max(1, per_min)
    elif per_min == 0 and ceiling - math.ceil(minutes) >= least:
        # The slowest whole ramp is steeper than the room grows: begin lower, and be there no sooner.
        start, per_min = ceiling - math.ceil(minutes), 1
    elif per_min == 0:
        ceiling = start
    apply, undo = _commands(queue, cap, start, ceiling, per_min)
    return at.do(
        f"{fits}, and consumers come up to {format_rate(drain)}.",
        bounds=_bounds(cap, start, ceiling, per_min, item_time_s),
        apply=apply, undo=undo,
        edit={f"{target}.ramp": {"start": start, "per_min": per_min, "ceiling": ceiling}},
    )  # fmt: skip


def _stays_within(queue: Queue, room: _Room, drain_per_min: float) -> bool:
    """Whether a ramp passes the room at no time: looked at every minute until both have settled."""
    ramp, item_time_s = queue.ramp, queue.item_time_s or 1.0
    if ramp is None:
        return False
    settled = (ramp.ceiling - ramp.start) / ramp.per_min if ramp.per_min else 0.0
    for minute in range(math.ceil(max(settled, 2 * FILL_TIMES * room.fill_min)) + 1):
        rate = cap_rate_per_min(min(ramp.ceiling, ramp.start + ramp.per_min * minute), item_time_s)
        if min(rate, drain_per_min) > room.at(float(minute)) * (1 + 1e-9):
            return False
    return True


def _bounds(cap: CapEstimate, start: int, ceiling: int, per_min: int, item_time_s: float) -> str:
    passes = cap.ramp_passes_room_after_s
    soon = "at once" if passes is None or passes <= 0 else f"within {format_duration(passes / 60)}"
    rates = [format_rate(cap_rate_per_min(value, item_time_s)) for value in (start, ceiling)]
    if per_min == 0:
        return f"Without it consumers pass the room {soon}; with it they stay at {rates[0]}."
    minutes = format_duration((ceiling - start) / per_min)
    return f"Without it consumers pass the room {soon}; with it they go from {rates[0]} to {rates[1]} in {minutes}."


def _commands(
    queue: Queue, cap: CapEstimate, start: int, ceiling: int, per_min: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if queue.provisioned_pollers is not None:
        each = limits.whole("lambda.sqs.poller.concurrency")
        return (
            (f"# begin with MaximumPollers for {start} at once, {each} each; while errors and latency of {cap.dependency} "
             f"stay flat raise it to {ceiling}",),
            (f"# set MaximumPollers to {queue.provisioned_pollers.maximum} again",),
        )  # fmt: skip
    if queue.service == "sqs-lambda":
        mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
        command = f"aws lambda update-event-source-mapping --uuid {mapping} --scaling-config"
        steps = sorted({start + (ceiling - start) * step // STEPS for step in range(STEPS + 1)})
        first, *later = [f"{command} MaximumConcurrency={step}" for step in steps]
        earlier = f"MaximumConcurrency={queue.drain_cap.concurrency}" if queue.drain_cap else "'{}'"
        if later:
            wait = format_duration((ceiling - start) / per_min / len(later))
            hold = f"# while errors and latency of {cap.dependency} stay flat, one after the other every {wait}:"
            later.insert(0, hold)
        return (first, *later), (f"{command} {earlier}",)
    earlier = "set the ramp that was there again" if queue.ramp else "let the worker pool start at its full size again"
    return (
        (
            f"# start the worker pool with {start}; each minute in which errors and latency of {cap.dependency} stay flat "
            f"add {per_min}, up to {ceiling}",
        ),
        (f"# {earlier}",),
    )


CHANGE = Change(
    id=ID,
    order=3,
    title="A slower ramp of consumers after the restore",
    why="Consumers that come up within seconds push a dependency down again while its caches are still cold.",
    exercise=(
        "In a test account restore the dependency with a full backlog and a cold cache, bring consumers up at this pace, "
        "and watch errors and latency stay flat."
    ),
    reference="recovery planning guide, order of admission; service documentation of scaling",
    items=_items,
    effort_days=1,
    risk="A ramp by hand that nobody finishes leaves the queue short of consumers: end it with the runbook.",
)
