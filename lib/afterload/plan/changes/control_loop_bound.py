"""A bound on the queue of a control loop, so that it serves nobody who has left."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.model.timeouts import TimeoutQueue
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.scenario.capacity_schema import ControlLoop
from afterload.units import format_duration, format_number

ID = "control-loop-bound"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for name, loop in estimates.loaded.scenario.control_loops.items():
        yield _item(estimates, name, loop)


def _item(estimates: Estimates, name: str, loop: ControlLoop) -> PlanItem:
    target = f"control_loops.{name}"
    at = Place(ID, estimates, "control_loops", name)
    line = at.where()
    queue = TimeoutQueue(
        service_rate_per_s=loop.capacity_per_s,
        timeout_s=loop.timeout_s,
        retries=loop.retries,
        queue_cap=loop.queue_cap,
        discipline=loop.order,
        discards_expired=loop.discards_expired,
    )
    useful = format_number(queue.useful_length)
    evidence = (
        f"It serves {format_number(loop.capacity_per_s)} a second and its callers give up after "
        f"{format_duration(loop.timeout_s / 60)}, so that a place behind {useful} others is worth nothing ({line})"
    )
    if not queue.can_stay_down(loop.load_per_s):
        return at.in_place(f"{evidence}. {_why(loop, queue)}")
    offered = queue.offered_when_failing_per_s(loop.load_per_s)
    sends = "more without end" if offered is None else f"{format_number(offered)} a second"
    bound = "no bound" if loop.queue_cap is None else f"a bound of {loop.queue_cap:,}"
    words = f"{evidence}. The queue has {bound}, and failing sends come to {sends}: it can stay down."
    longest = "without a bound" if queue.longest is None else _wait(queue.longest, loop)
    edit, apply, undo, after, price = _remedy(target, loop, queue)
    return at.do(
        words,
        bounds=f"Bounds the wait: {longest} today, {after}.{_waiting(loop, queue)}",
        price=price,
        apply=apply, undo=undo, edit=edit,
    )  # fmt: skip


Remedy = tuple[dict[str, object], tuple[str, ...], tuple[str, ...], str, str]


def _remedy(target: str, loop: ControlLoop, queue: TimeoutQueue) -> Remedy:
    most = math.floor(queue.useful_length + 1e-9)
    if most < 1:
        # Not even one item is done in a time-out: no bound helps, but nothing is served for nobody any more.
        return (
            {f"{target}.discards_expired": True},
            ("# drop each request whose caller has given up, instead of serving it",),
            ("# serve every request again",),
            f"{_wait(1, loop)} for a single one: no bound is short enough, so that with it nobody is served who has left",
            "Those that it is too slow for still get no answer: it needs more capacity, or a longer time-out.",
        )
    before = "take every request again" if loop.queue_cap is None else f"let {loop.queue_cap:,} requests wait again"
    return (
        {f"{target}.queue_cap": most},
        (f"# let at most {counted(most, 'request')} wait, and refuse more at once",),
        (f"# {before}",),
        f"{_wait(most, loop)} with it, within the time-out of {format_duration(loop.timeout_s / 60)}",
        "Callers that find it full are told so at once, and have to come back later.",
    )


def _wait(length: float, loop: ControlLoop) -> str:
    return format_duration(length / loop.capacity_per_s / 60)


def _waiting(loop: ControlLoop, queue: TimeoutQueue) -> str:
    if loop.waiting_at_restore <= queue.useful_length:
        return ""
    late = loop.waiting_at_restore - queue.useful_length
    return (
        f" Of {loop.waiting_at_restore:,} that send at the restore, {counted(late, 'caller')} would be served too late."
    )


def _why(loop: ControlLoop, queue: TimeoutQueue) -> str:
    if loop.order == "lifo":
        return "The newest is served first."
    if loop.discards_expired:
        return "What nobody waits for any more is dropped."
    if queue.longest is not None and queue.longest <= queue.useful_length:
        return f"No more than {counted(queue.longest, 'request')} can wait."
    return "What all its callers send while they fail is no more than it serves."


CHANGE = Change(
    id=ID,
    order=6,
    title="A bound on the queues of control loops",
    why="A queue longer than a time-out serves callers who have left, and those send again.",
    exercise="In a test account let all leases run out at once, and see renewals succeed within a time-out or two.",
    reference='"Analyzing Metastable Failures", HotOS 2025; event summary, on lease renewals',
    items=_items,
    effort_days=2,
    risk="Callers that do not expect to be refused fail: teach them to wait and send again.",
)
