"""More consumers, where the drain misses the objective and the dependency has room for more."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates, QueueEstimate
from afterload.plan.change import Change, Place, PlanItem, counted, per_min_text
from afterload.plan.price import Headroom
from afterload.scenario import Queue
from afterload.units import format_duration, format_rate

ID = "more-consumers"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.recovery.backlog_at_restore > 0 or item.drain_min is None:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    objective = format_duration(loaded.scenario.recovery_objective_min)
    line = at.where("service_rate")
    fresh = item.fresh_age_back_min
    back = "never back" if fresh is None else f"back after {format_duration(fresh)}"
    evidence = (
        f"Consumers do {format_rate(queue.service_rate_per_min)} ({line}), and first-attempt age is {back}; "
        f"the objective is {objective}"
    )
    if fresh is not None and fresh <= loaded.scenario.recovery_objective_min * (1 + 1e-9):
        return at.in_place(f"{evidence}.")
    needed = math.ceil(item.catch_up_rate_per_min - 1e-6)
    if queue.stream is not None:
        return at.not_here(f"{evidence}. Shards and their batches decide what it does, not the number of consumers.")
    cap = item.cap
    if cap is None:
        return at.asks(f"{evidence}. Whether more of them are safe needs {target}.dependency and its tested rate.")
    if cap.drain_rate_per_min < queue.service_rate_per_min * (1 - 1e-9) or needed <= queue.service_rate_per_min:
        return at.not_here(
            f"{evidence}. A cap, a ramp or a limit keeps them at {format_rate(cap.drain_rate_per_min)}, however many run."
        )
    if _held(queue, needed):
        return at.not_here(
            f"{evidence}. It takes {format_rate(needed)}, more than its limit on concurrency lets through: lift that first."
        )
    room = cap.room_per_min - _others(estimates, item)
    beside = f"{cap.dependency} has room for {format_rate(max(0.0, room))} beside direct traffic and other drains"
    if needed > room * (1 + 1e-9):
        return at.not_here(
            f"{evidence}. It takes {format_rate(needed)}, and {beside}: more consumers would push it down."
        )
    return at.do(
        f"{evidence}. It takes {format_rate(needed)}, and {beside}.",
        bounds=f"Bounds first-attempt age: back within {objective}.",
        price=_price(estimates, queue, needed),
        apply=(f"# run consumers that sustain {format_rate(needed)}{_at_once(queue, needed)}",),
        undo=(f"# back to {format_rate(queue.service_rate_per_min)}{_at_once(queue, queue.service_rate_per_min)}",),
        edit={f"{target}.service_rate": per_min_text(needed)},
        headroom=_headroom(estimates, queue, needed),
    )  # fmt: skip


def _held(queue: Queue, needed_per_min: float) -> bool:
    """Whether concurrency is limited below what a rate takes."""
    if queue.item_time_s is None:
        return False
    ceilings = [queue.concurrency_limit, queue.ramp.ceiling if queue.ramp else None]
    return any(most is not None and 60 * most / queue.item_time_s < needed_per_min * (1 - 1e-9) for most in ceilings)


def _others(estimates: Estimates, item: QueueEstimate) -> float:
    """What the other queues of its dependency send while they drain, in items a minute."""
    caps = (other.cap for other in estimates.queues.values() if other.name != item.name)
    return sum(cap.drain_rate_per_min for cap in caps if cap and item.cap and cap.dependency == item.cap.dependency)


def _at_once(queue: Queue, rate_per_min: float) -> str:
    if queue.item_time_s is None:
        return ""
    return f": {math.ceil(rate_per_min * queue.item_time_s / 60 - 1e-9):,} items at once"


def _price(estimates: Estimates, queue: Queue, needed_per_min: float) -> str:
    words = f"{format_rate(needed_per_min - queue.service_rate_per_min)} of consumers more, idle but for a recovery."
    instances = _instances(estimates, queue, needed_per_min)
    return words if instances is None else f"{words} Its fleet needs {counted(instances, 'instance')} more."


def _instances(estimates: Estimates, queue: Queue, needed_per_min: float) -> int | None:
    """Instances more that its fleet needs; None where it runs on none."""
    fleet = estimates.loaded.scenario.fleets.get(queue.fleet or "")
    if fleet is None:
        return None
    return math.ceil((needed_per_min / queue.service_rate_per_min - 1) * fleet.needed - 1e-9)


def _headroom(estimates: Estimates, queue: Queue, needed_per_min: float) -> Headroom | None:
    """Instances where it runs on a fleet, else items at once; None where neither is known."""
    instances = _instances(estimates, queue, needed_per_min)
    if instances is not None:
        return Headroom("instance", instances)
    if queue.item_time_s is None:
        return None
    return Headroom("consumer", (needed_per_min - queue.service_rate_per_min) * queue.item_time_s / 60)


CHANGE = Change(
    id=ID,
    order=6,
    title="Consumers that catch up within the objective",
    why="A backlog drains on what consumers do beyond the arrivals: a little more of that is a much shorter drain.",
    exercise="In a test account fill the queue, start this many consumers, and time the drain while its dependency is watched.",
    reference="recovery planning guide, drain rate; Little's law for the number at once",
    items=_items,
    effort_days=1,
    risk="Consumers beyond the room of their dependency push it down again: raise the drain cap with them, not beyond it.",
)
