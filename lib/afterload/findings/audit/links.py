"""Which exported resources belong to which queue and fleet of a scenario: by the names under ``resources``, never by guess."""

from __future__ import annotations

import re
from dataclasses import dataclass

from afterload.readers.reading import Inventory, Resource
from afterload.scenario import Queue

__all__ = [
    "ADDRESS",
    "Ambiguous",
    "function_of",
    "group_key",
    "group_of",
    "invoke_of",
    "is_address",
    "mapping_of",
    "queue_of",
    "source_of",
    "tail",
]

# Source kinds of a mapping that each service of a scenario's queue can have.
SOURCES = {"sqs-lambda": ("sqs",), "stream-lambda": ("kinesis", "dynamodb", "kafka", "mq", "documentdb")}

# Address of a Terraform resource of the AWS provider.
ADDRESS = r"(?:module\.[\w-]+(?:\[[^\]]*\])?\.)*aws_[a-z0-9_]+\.[\w-]+(?:\[(?:\d+|\"[^\"]*\")\])?"


def is_address(text: str) -> bool:
    """True for the address of a Terraform resource, such as ``module.a.aws_sqs_queue.orders[0]``."""
    return re.fullmatch(ADDRESS, text) is not None


@dataclass(frozen=True)
class Ambiguous:
    """Several mappings fit one queue, so that none is taken; ``names`` are their UUIDs."""

    names: tuple[str, ...]


def tail(name: str | None) -> str:
    """The name of a queue or function in its ARN or URL, or as it is; without a qualifier.

    A plan of Terraform knows some resources by their address only, which stays whole.
    """
    text = name or ""
    if is_address(text):
        return text
    if ":function:" in text:
        return text.rpartition(":function:")[2].partition(":")[0]
    if text.startswith("arn:"):
        return text.split(":", 5)[-1].rpartition("/")[2]
    return text.rstrip("/").rpartition("/")[2] if "://" in text else text


def source_of(mapping: Resource) -> str:
    """What a mapping reads: the name of its queue, or the ARN of its stream; empty if no export shows it."""
    queue, source = mapping.get("queue"), str(mapping.get("event_source") or "")
    return tail(str(queue or source)) if queue or mapping.get("source_kind") == "sqs" else source


def function_of(inventory: Inventory, name: str) -> Resource | None:
    """An exported function, or the one version of it that was exported."""
    functions = inventory.of("lambda.function")
    exact = [item for item in functions if tail(item.name) == name]
    qualified = [item for item in functions if item.name.partition(":")[0] == name]
    found = exact or qualified
    return found[0] if len(found) == 1 else None


def invoke_of(inventory: Inventory, name: str) -> Resource | None:
    """The asynchronous configuration of a function.

    None where no export shows one. Readers give the service's defaults for a function that has none, so only a measured
    value shows that somebody configured it, which nobody does for a function that is never invoked so.
    """
    for item in inventory.of("lambda.async"):
        if tail(item.name) == name or item.name.partition(":")[0] == name:
            return item
    return None


def queue_of(inventory: Inventory, *names: str | None) -> Resource | None:
    """An exported queue by its URL, ARN or name."""
    wanted = {tail(name) for name in names if name}
    found = [item for item in inventory.of("sqs.queue") if tail(item.name) in wanted]
    return found[0] if len(found) == 1 else None


def mapping_of(inventory: Inventory, queue: Queue) -> Resource | Ambiguous | None:
    """The event source mapping of a scenario's queue: by its UUID, else by function and queue, if only one fits."""
    kinds = SOURCES.get(queue.service)
    names = queue.resources
    if kinds is None:
        return None
    mappings = inventory.of("lambda.mapping")
    if names.event_source_mapping:
        return next((item for item in mappings if item.name == names.event_source_mapping), None)
    function, source = tail(names.function), tail(names.queue_url)
    if not function and not source:
        return None
    found = [
        item
        for item in mappings
        if item.get("source_kind") in kinds
        and (not function or tail(str(item.get("function") or "")) == function)
        and (not source or source_of(item) == source)
    ]
    if len(found) > 1:
        return Ambiguous(tuple(item.name for item in found))
    return found[0] if found else None


def group_key(name: str | None) -> str:
    """Name of an Auto Scaling group in its ARN, or as it is."""
    return (name or "").rpartition("autoScalingGroupName/")[2]


def group_of(inventory: Inventory, name: str | None) -> Resource | None:
    """An exported Auto Scaling group by its name or ARN."""
    wanted = group_key(name)
    return next((item for item in inventory.of("autoscaling.group") if wanted and item.name == wanted), None)
