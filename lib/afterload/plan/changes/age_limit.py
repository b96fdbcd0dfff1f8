"""An age limit and an on-failure destination for every queue whose work goes stale."""

from __future__ import annotations

import json
from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import (
    DO,
    IN_PLACE,
    NEEDS_EVIDENCE,
    NOT_HERE,
    Change,
    PlanItem,
    counted,
    quoted,
    seconds_text,
    where,
)
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.units import format_duration

__all__ = ["CHANGE", "accepted", "needs_limit"]

ID = "age-limit"
STREAM_MOST = "lambda.stream.max_record_age_s.maximum"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue = estimates.loaded, item.queue
    target = f"queues.{item.name}"
    owner = queue.owner or loaded.scenario.owner or "no owner yet"
    limit, useful = queue.age_limit_min, queue.goes_stale_after_min
    shown = ("age_limit" if limit is not None else "goes_stale_after") if limit or useful else "arrival_rate"
    evidence = f"It has {_today(item)} ({where(loaded, 'queues', item.name, shown)})."
    if limit is None and useful is None:
        said = where(loaded, "queues", item.name, "goes_stale_after")
        if said != "default":
            keeps = f"Its work keeps its worth, whatever its age ({said})."
            return PlanItem(ID, target, NOT_HERE, keeps, owner=owner)
        ask = f"Does this work lose its worth with age? Give queues.{item.name}.goes_stale_after; none says that it does not."
        return PlanItem(ID, target, NEEDS_EVIDENCE, f"{evidence} {ask}", owner=owner)
    planned_limit = accepted(queue.service, min(value for value in (limit, useful) if value is not None))
    if useful is None or not needs_limit(queue):
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    evidence = f"{evidence} Its work is worth nothing after {format_duration(useful)}."
    changed = queue.model_copy(
        update={"age_limit_min": planned_limit, "on_failure_destination": queue.on_failure_destination or "destination"}
    )
    planned = estimate_queue(loaded, item.name, changed)
    apply, undo = _commands(queue, planned_limit)
    words = ""
    if planned.drain_min is None:
        words = "Does not make the backlog drain."
    return PlanItem(
        ID, target, DO, evidence,
        bounds=f"{words} No item older than {format_duration(planned_limit)} is served.".strip(),
        price=_price(item, planned),
        owner=owner, apply=apply, undo=undo, terraform=_terraform(queue, planned_limit),
        edit={f"{target}.age_limit": seconds_text(planned_limit),
              f"{target}.on_failure_destination": queue.on_failure_destination or "destination"},
    )  # fmt: skip


def _today(item: QueueEstimate) -> str:
    queue, acting = item.queue, item.load.max_age_min
    if queue.age_limit_min is not None:
        has = f"an age limit of {format_duration(queue.age_limit_min)}"
    elif acting is not None:
        has = f"no age limit of its own, so the service's {format_duration(acting)} act"
    else:
        has = "no age limit"
    if queue.on_failure_destination:
        return f"{has}, and expired work goes to {queue.on_failure_destination}"
    return f"{has}, and no destination for what expires"


def needs_limit(queue: Queue) -> bool:
    """Whether work of a queue goes stale and nothing expires it as soon as its service can."""
    if queue.goes_stale_after_min is None:
        return False
    wanted = accepted(queue.service, queue.goes_stale_after_min)
    return queue.age_limit_min is None or queue.age_limit_min > wanted + 1e-9


def accepted(service: str, limit_min: float) -> float:
    """The nearest age limit that the service takes."""
    if service not in ("lambda-async", "stream-lambda"):
        return limit_min
    most = limits.value("lambda.async.max_age_s.maximum" if service == "lambda-async" else STREAM_MOST) / 60
    return min(max(limit_min, limits.value("lambda.async.max_age_s.minimum") / 60), most)


def _price(item: QueueEstimate, planned: QueueEstimate) -> str:
    expired = planned.recovery.expired
    if expired <= 0:
        text = "Expires nothing in this outage"
    else:
        sink = item.queue.on_failure_destination or "a destination"
        text = f"Expires {counted(expired, 'item')}, recorded in {sink} and not processed"
    if item.lost > 0:
        text += f"; today {counted(item.lost, 'item')} would be lost without a record"
    return f"{text}.{_beside_fresh_first(item)}"


def _beside_fresh_first(item: QueueEstimate) -> str:
    """How it goes together with serving fresh work first: the one drops what is old, the other sets it aside."""
    queue = item.queue
    if queue.stream is not None or item.recovery.backlog_at_restore <= 0 or item.drain_min is None:
        return ""
    if queue.order == "fifo":
        return (
            " Serving fresh work first brings fresh age back without dropping anything; with both, what is set aside still "
            "expires at the limit."
        )
    return " Fresh work is served first already, so that what was set aside is what expires."


def _commands(queue: Queue, limit_min: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    seconds = round(limit_min * 60)
    function = quoted(queue.resources.function, "FUNCTION_NAME")
    mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
    destination = {"OnFailure": {"Destination": queue.on_failure_destination or "DESTINATION_ARN"}}
    sink = quoted(json.dumps(destination, ensure_ascii=False, separators=(",", ":")), "")
    if queue.service == "lambda-async":
        undo = f"aws lambda delete-function-event-invoke-config --function-name {function}"
        if queue.age_limit_min is not None:
            # put replaces the whole configuration, so that a destination which was not there goes again.
            undo = (
                f"aws lambda put-function-event-invoke-config --function-name {function} "
                f"--maximum-event-age-in-seconds {round(queue.age_limit_min * 60)}"
                f"{f' --destination-config {sink}' if queue.on_failure_destination else ''}"
            )
        return (
            f"# keep what is set now: aws lambda get-function-event-invoke-config --function-name {function}",
            f"aws lambda put-function-event-invoke-config --function-name {function} "
            f"--maximum-event-age-in-seconds {seconds} --maximum-retry-attempts 1 --destination-config {sink}",
        ), (undo,)
    if queue.service == "stream-lambda":
        command = f"aws lambda update-event-source-mapping --uuid {mapping} --maximum-record-age-in-seconds"
        earlier = -1 if queue.age_limit_min is None else round(queue.age_limit_min * 60)
        kept = () if queue.on_failure_destination else ("# then take the destination out of the mapping",)
        return (f"{command} {seconds} --destination-config {sink}",), (f"{command} {earlier}", *kept)
    if queue.service == "sqs-lambda":
        return (
            f"# in the handler of {queue.resources.function or 'the consumer'}: when now - SentTimestamp > {seconds} s, "
            "send the message to the destination and delete it",
            "# SQS itself has no age limit with a destination: retention deletes without a record",
        ), ("# remove the check from the handler",)
    return (f"# in the consumer: when an item is older than {seconds} s, record it in the destination and skip it",), (
        "# remove the check from the consumer",
    )


def _terraform(queue: Queue, limit_min: float) -> tuple[str, ...]:
    sink = queue.on_failure_destination or "DESTINATION_ARN"
    if queue.service == "lambda-async":
        values = {
            "function_name": queue.resources.function or "FUNCTION_NAME",
            "maximum_event_age_in_seconds": round(limit_min * 60),
            "maximum_retry_attempts": 1,
            "destination_config": {"on_failure": {"destination": sink}},
        }
        name = queue.resources.function or "function"
        return (resource("aws_lambda_function_event_invoke_config", name, values, "replaces what is set now"),)
    if queue.service == "stream-lambda":
        values = {
            "maximum_record_age_in_seconds": round(limit_min * 60),
            "destination_config": {"on_failure": {"destination_arn": sink}},
        }
        return (resource("aws_lambda_event_source_mapping", queue.resources.function or "mapping", values),)
    return ()


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
    effort_days=2,
    risk="Work that somebody still wanted expires: agree on its useful life with those who wait for it.",
)
