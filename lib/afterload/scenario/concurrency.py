"""Concurrency that a service would refuse or could not reach: caps, reserved concurrency and provisioned pollers.

Read from the raw data value by value, so that no other mistake hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afterload import limits
from afterload.errors import UnitError
from afterload.scenario.fields import label_in
from afterload.units import read_count
from afterload.yamltree import DataPath

__all__ = ["concurrency_problems"]

# Path below the scenario, message, what is accepted.
Refusal = tuple[DataPath, str, str]


def count_in(item: Any, name: str) -> int | None:
    """A count of a mapping in raw data; None where it is absent or not one."""
    try:
        return read_count(item[name]) if isinstance(item, dict) and name in item else None
    except UnitError:
        return None


def concurrency_problems(queues: Mapping[str, Mapping[str, Any]]) -> Iterator[Refusal]:
    """Everything about concurrency that cannot be, queue by queue.

    A cap above the reserved concurrency of its function is never reached, so what it bounds would be computed wrongly. Caps of
    several queues that only add up to more than that are each reachable: they are a doubt of the estimates, not refused.
    """
    reserved: dict[str, tuple[str, int]] = {}
    for name, queue in queues.items():
        own, function = count_in(queue, "reserved_concurrency"), _function(queue)
        if own and function is not None:
            first, known = reserved.setdefault(function, (name, own))
            if known != own:
                yield (
                    ("queues", name, "reserved_concurrency"),
                    f"{own} differs from the {known} that queues.{first} gives for the same function, {function!r}",
                    "the same number: a function has one reserved concurrency",
                )
    for name, queue in queues.items():
        function = _function(queue)
        if function in reserved and queue.get("reserved_concurrency") in (None, "none"):
            first, known = reserved[function]
            yield (
                ("queues", name, "resources", "function"),
                f"{function!r} has a reserved concurrency of {known} at queues.{first}, and none here",
                f"reserved_concurrency: {known} here too, since it is the function's",
            )
    low, high = (limits.whole(f"lambda.sqs.max_concurrency.{end}") for end in ("minimum", "maximum"))
    for name, queue in queues.items():
        path: DataPath = ("queues", name, "drain_cap", "concurrency")
        is_sqs, cap = queue.get("service") == "sqs-lambda", count_in(queue.get("drain_cap"), "concurrency")
        bound = count_in(queue, "reserved_concurrency")
        if is_sqs and cap and not low <= cap <= high:
            yield path, f"{cap} is out of range for an SQS mapping", f"{low} to {high:,}"
        elif cap and bound and cap > bound:
            yield (
                path,
                f"{cap} is above the reserved concurrency of its function, {bound}: the cap is never reached",
                f"at most {bound}, or a higher reserved_concurrency",
            )
        pollers = queue.get("provisioned_pollers")
        if pollers in (None, "none"):
            continue
        if not is_sqs:
            yield (
                ("queues", name, "provisioned_pollers"),
                f"is of an SQS mapping, but the service is {queue.get('service', 'other')}",
                "service: sqs-lambda, or no provisioned_pollers",
            )
        elif queue.get("drain_cap") not in (None, "none"):
            each = limits.whole("lambda.sqs.poller.concurrency")
            yield (
                ("queues", name, "drain_cap"),
                "stands beside provisioned_pollers, but the service takes no maximum concurrency in provisioned mode",
                f"one of the two; the maximum of provisioned_pollers bounds concurrency at {each} for each poller",
            )


def _function(queue: Mapping[str, Any]) -> str | None:
    resources = queue.get("resources")
    return label_in(resources.get("function")) if isinstance(resources, dict) else None
