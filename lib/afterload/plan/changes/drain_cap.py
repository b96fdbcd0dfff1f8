"""A cap on the drain rate between each backlog and its dependency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.model.caps import cap_rate_per_min
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem, quoted, where
from afterload.plan.terraform import resource
from afterload.recovery.rates import CapEstimate, cap_steps
from afterload.scenario import Queue
from afterload.scenario.capacity_schema import Pollers
from afterload.units import format_duration, format_rate

ID = "drain-cap"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, cap = estimates.loaded, item.queue, item.cap
    target = f"queues.{item.name}"
    owner = queue.owner or loaded.scenario.owner or "no owner yet"
    today, field = _today(queue)
    line = where(loaded, "queues", item.name, field)
    if cap is None or cap.safe_concurrency is None:
        missing = f"queues.{item.name}.item_time" if cap else f"queues.{item.name}.dependency and its tested rate"
        ask = f"It has {today} ({line}). The safe cap needs {missing}."
        return PlanItem(ID, target, NEEDS_EVIDENCE, ask, owner=owner)
    room = (
        f"{cap.dependency} was tested to {format_rate(cap.tested_rate_per_min)} and has "
        f"{cap.beside_words} ({where(loaded, 'dependencies', cap.dependency)})"
    )
    drains = f"It has {today} and drains at {format_rate(cap.drain_rate_per_min)} ({line})"
    evidence = f"{drains}; {room}.{_others(estimates, item, cap)}"
    safe, is_capped = cap.safe_concurrency, _is_capped(queue, cap)
    pollers, steps = queue.provisioned_pollers, cap_steps(queue)
    at_once = cap_rate_per_min(1.0, queue.item_time_s or 1.0)
    least = 1 if steps is None else round(steps.least * steps.each_per_min / at_once)
    if not is_capped and _fits(estimates, item, cap):
        bounded = cap_rate_per_min(safe, queue.item_time_s or 1.0) if safe >= least else 0.0
        if bounded < cap.drain_rate_per_min * (1 - 1e-9):
            return PlanItem(
                ID, target, NOT_HERE, f"{evidence} {_only_rounding(cap, safe, least, bounded)}", owner=owner
            )
    if safe < least:
        return PlanItem(
            ID, target, NEEDS_EVIDENCE,
            f"{evidence} Direct traffic leaves too little room for a cap: test the dependency to a higher rate, or hold "
            "direct traffic back while the backlog drains.",
            owner=owner,
        )  # fmt: skip
    if is_capped:
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    apply, undo = _commands(queue, safe)
    return PlanItem(
        ID, target, DO, evidence,
        bounds=_bounds(cap, safe, item),
        owner=owner, apply=apply, undo=undo, terraform=_terraform(queue, safe),
        edit=_edit(target, pollers, safe),
    )  # fmt: skip


def _is_capped(queue: Queue, cap: CapEstimate) -> bool:
    limit = queue.concurrency_limit
    return limit is not None and cap_rate_per_min(limit, queue.item_time_s or 1.0) <= cap.part_per_min * (1 + 1e-9)


def _fits(estimates: Estimates, item: QueueEstimate, cap: CapEstimate) -> bool:
    """Whether all that the consumers do fits the queue's part of the room, whatever their rate is within its range."""
    _, _, high = estimates.loaded.ranges.get(f"queues.{item.name}.service_rate", (0.0, 0.0, 0.0))
    return not cap.overloads and high <= cap.part_per_min * (1 + 1e-9)


def _only_rounding(cap: CapEstimate, safe: int, least: int, bounded_per_min: float) -> str:
    """Why nothing is to be capped, though the highest cap that can be set would hold the consumers back."""
    part = "its part of the room" if cap.others else "the room"
    fit = f"Its drain fits {part} of {format_rate(cap.part_per_min)} as it is"
    if bounded_per_min <= 0:
        return f"{fit}, where no cap does: {least:,} at once is the least that can be set. Nothing needs a cap."
    return (
        f"{fit}; the highest cap within that, {safe:,} at once, would hold it back to {format_rate(bounded_per_min)} only "
        "because a cap is a whole number. Nothing needs a cap."
    )


def _today(queue: Queue) -> tuple[str, str]:
    """What bounds concurrency today, and the field that says so."""
    limit, pollers = queue.concurrency_limit, queue.provisioned_pollers
    if limit is None:
        return "no drain cap", "service_rate"
    if queue.drain_cap is not None and queue.drain_cap.concurrency == limit:
        return f"a cap of {limit:,} at once", "drain_cap"
    if pollers is not None and pollers.concurrency == limit:
        return f"{pollers.maximum:,} provisioned pollers, so a cap of {limit:,} at once", "provisioned_pollers"
    return f"a reserved concurrency of {limit:,} at once", "reserved_concurrency"


def _bounded(pollers: Pollers, safe: int) -> Pollers:
    """Provisioned pollers of at most so much concurrency."""
    most = safe // limits.whole("lambda.sqs.poller.concurrency")
    return Pollers(minimum=min(pollers.minimum, most), maximum=most)


def _bounds(cap: CapEstimate, safe: int, item: QueueEstimate) -> str:
    rate = format_rate(cap_rate_per_min(safe, item.queue.item_time_s or 1.0))
    text = (
        f"A cap of {safe:,} at once bounds the drain at {rate}, so that {cap.dependency} stays within its tested rate"
    )
    if cap.others:
        text += f" while {', '.join(cap.others)} drain{'s' if len(cap.others) == 1 else ''} too, within "
        text += f"{format_rate(cap.room_per_min - cap.part_per_min)}"
    text += "."
    if cap.overloads:
        its = "of its part fit" if cap.others else "fit"
        text += f" Today the drain alone is {format_rate(cap.drain_rate_per_min)} where {format_rate(cap.part_per_min)} {its}."
    if cap.ramp_passes_room_after_s is not None and item.queue.concurrency_limit is None:
        after = format_duration(cap.ramp_passes_room_after_s / 60)
        text += (
            f" An uncapped ramp passes the room {after} after the start."
            if cap.overloads
            else f" Only the consumers' own rate keeps the drain below that: an uncapped ramp would pass it after {after}."
        )
    return text


def _others(estimates: Estimates, item: QueueEstimate, cap: CapEstimate) -> str:
    """What else drains into the same dependency, and this queue's part of the room beside it."""
    others = [
        other
        for other in estimates.queues.values()
        if other.name != item.name and other.cap is not None and other.cap.dependency == cap.dependency
    ]
    if not others:
        return ""
    together = cap.drain_rate_per_min + sum(other.cap.drain_rate_per_min for other in others if other.cap)
    fit = "fit" if together <= cap.room_per_min * (1 + 1e-9) else "do not fit"
    return (
        f" {', '.join(other.name for other in others)} {'drains' if len(others) == 1 else 'drain'} into it too, together "
        f"{format_rate(together)}, which {fit} the {format_rate(cap.room_per_min)} of room; its part, by what each can drain, "
        f"is {format_rate(cap.part_per_min)}."
    )


def _commands(queue: Queue, safe: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if queue.service == "sqs-lambda":
        mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
        command = f"aws lambda update-event-source-mapping --uuid {mapping}"
        if queue.provisioned_pollers is not None:
            command += " --provisioned-poller-config"
            planned, now = _bounded(queue.provisioned_pollers, safe), queue.provisioned_pollers
            return (
                (f"{command} MinimumPollers={planned.minimum},MaximumPollers={planned.maximum}",),
                (f"{command} MinimumPollers={now.minimum},MaximumPollers={now.maximum}",),
            )
        command += " --scaling-config"
        earlier = f"MaximumConcurrency={queue.drain_cap.concurrency}" if queue.drain_cap else "'{}'"
        return (f"{command} MaximumConcurrency={safe}",), (f"{command} {earlier}",)
    if queue.service == "lambda-async":
        function = quoted(queue.resources.function, "FUNCTION_NAME")
        command = f"aws lambda put-function-concurrency --function-name {function} --reserved-concurrent-executions"
        undo = f"aws lambda delete-function-concurrency --function-name {function}"
        return (
            ("# this also limits synchronous calls of the function", f"{command} {safe}"),
            (f"{command} {queue.concurrency_limit}" if queue.concurrency_limit else undo,),
        )
    earlier = f"set {queue.drain_cap.concurrency} again" if queue.drain_cap else "remove the limit"
    return (
        (f"# limit the consumer's worker pool to {safe} items at once",),
        (f"# {earlier} in the consumer's worker pool",),
    )


def _edit(target: str, pollers: Pollers | None, safe: int) -> dict[str, Any]:
    """What it changes in the scenario: the service takes no maximum concurrency beside provisioned pollers."""
    if pollers is None:
        return {f"{target}.drain_cap": {"concurrency": safe}}
    bounded = _bounded(pollers, safe)
    return {f"{target}.provisioned_pollers": {"minimum": bounded.minimum, "maximum": bounded.maximum}}


def _terraform(queue: Queue, safe: int) -> tuple[str, ...]:
    name = queue.resources.function or "function"
    if queue.service == "lambda-async":
        return (resource("aws_lambda_function", name, {"reserved_concurrent_executions": safe}),)
    if queue.service != "sqs-lambda":
        return ()
    values: dict[str, Any] = {"scaling_config": {"maximum_concurrency": safe}}
    if queue.provisioned_pollers is not None:
        bounded = _bounded(queue.provisioned_pollers, safe)
        pollers = {"minimum_pollers": bounded.minimum, "maximum_pollers": bounded.maximum}
        values = {"provisioned_poller_config": pollers}
    return (resource("aws_lambda_event_source_mapping", queue.resources.function or "mapping", values),)


CHANGE = Change(
    id=ID,
    order=3,
    title="A drain cap between each backlog and its dependency",
    why="A drain at full speed can push the dependency down again just after it came back.",
    exercise=(
        "In a test account drain a full backlog under the cap and watch errors and latency of the dependency stay flat; "
        "then lift the cap in steps, hold each, and time the whole."
    ),
    reference="recovery planning guide, order of admission; service documentation of maximum concurrency",
    items=_items,
    effort_days=0.5,
    risk="A cap below what arrives never drains the backlog; lift it in steps after the recovery.",
)
