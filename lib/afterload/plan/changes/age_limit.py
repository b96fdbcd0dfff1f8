"""An age limit and an on-failure destination for every queue whose work goes stale."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, Change, PlanItem, quoted
from afterload.scenario import Queue
from afterload.units import format_count, format_duration

__all__ = ["CHANGE"]

ID = "age-limit"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue = estimates.loaded, item.queue
    target = f"queues.{item.name}"
    owner = queue.owner or loaded.scenario.owner or "no owner yet"
    limit, useful = queue.age_limit_min, queue.goes_stale_after_min
    has = "no age limit" if limit is None else f"an age limit of {format_duration(limit)}"
    sink = f"expired work goes to {queue.on_failure_destination}" if queue.on_failure_destination else "no destination"
    shown = ("age_limit" if limit is not None else "goes_stale_after") if limit or useful else "arrival_rate"
    where = loaded.where("queues", item.name, shown)
    evidence = f"It has {has}, {sink} ({where})."
    if limit is None and useful is None:
        ask = f"Does this work lose its worth with age? Give queues.{item.name}.goes_stale_after, or say that it does not."
        return PlanItem(ID, target, NEEDS_EVIDENCE, f"{evidence} {ask}", owner=owner)
    planned_limit = min(value for value in (limit, useful) if value is not None)
    if queue.service in ("lambda-async", "stream-lambda"):
        planned_limit = max(planned_limit, limits.value("lambda.async.max_age_s.minimum") / 60)
    fits = limit is not None and limit <= planned_limit + 1e-9
    if fits and queue.on_failure_destination:
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    if useful is not None and not fits:
        evidence = f"{evidence} Its work is worth nothing after {format_duration(useful)}."
    destination = queue.on_failure_destination or "a destination"
    changed = queue.model_copy(
        update={"age_limit_min": planned_limit, "on_failure_destination": queue.on_failure_destination or "destination"}
    )
    planned = estimate_queue(loaded, item.name, changed)
    apply, undo = _commands(queue, planned_limit)
    words = ""
    if item.drain_min is None and planned.drain_min is not None:
        words = f"Brings the drain from never to {format_duration(planned.drain_min)}."
    elif planned.drain_min is None:
        words = "Does not make the backlog drain: the service rate is too low for what arrives."
    return PlanItem(
        ID, target, DO, evidence,
        bounds=f"{words} No item older than {format_duration(planned_limit)} is served.".strip(),
        price=(
            f"Expires {format_count(planned.recovery.expired)} items, recorded in {destination} and not processed"
            f"{f'; today {format_count(item.lost)} are lost without a record' if item.lost > 0 else ''}."
        ),
        today_min=item.drain_min, planned_min=planned.drain_min,
        owner=owner, apply=apply, undo=undo,
    )  # fmt: skip


def _commands(queue: Queue, limit_min: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    seconds = round(limit_min * 60)
    function = quoted(queue.resources.function, "FUNCTION_NAME")
    mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
    sink = quoted(f'{{"OnFailure":{{"Destination":"{queue.on_failure_destination or "DESTINATION_ARN"}"}}}}', "")
    if queue.service == "lambda-async":
        undo = f"aws lambda delete-function-event-invoke-config --function-name {function}"
        if queue.age_limit_min is not None:
            undo = (
                f"aws lambda update-function-event-invoke-config --function-name {function} "
                f"--maximum-event-age-in-seconds {round(queue.age_limit_min * 60)}"
            )
        return (
            f"aws lambda put-function-event-invoke-config --function-name {function} "
            f"--maximum-event-age-in-seconds {seconds} --maximum-retry-attempts 1 --destination-config {sink}",
        ), (undo,)
    if queue.service == "stream-lambda":
        command = f"aws lambda update-event-source-mapping --uuid {mapping} --maximum-record-age-in-seconds"
        earlier = -1 if queue.age_limit_min is None else round(queue.age_limit_min * 60)
        return (f"{command} {seconds} --destination-config {sink}",), (f"{command} {earlier}",)
    if queue.service == "sqs-lambda":
        return (
            f"# in the handler of {queue.resources.function or 'the consumer'}: when now - SentTimestamp > {seconds} s, "
            "send the message to the destination and delete it",
            "# SQS itself has no age limit with a destination: retention deletes without a record",
        ), ("# remove the check from the handler",)
    return (f"# in the consumer: when an item is older than {seconds} s, record it in the destination and skip it",), (
        "# remove the check from the consumer",
    )


CHANGE = Change(
    id=ID,
    order=2,
    title="An age limit and an on-failure destination where work goes stale",
    why="Work that nobody wants any more is served before the work that somebody waits for.",
    exercise=(
        "Hold the dependency away in a test account for the outage of this scenario, restore it with the work still "
        "queued, and check that expired items arrive in the destination and that fresh ones are served first."
    ),
    reference="recovery planning guide, order of change; service documentation of age limits and destinations",
    items=_items,
)
