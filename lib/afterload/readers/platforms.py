"""Queues, subscriptions, consumer groups and autoscalers of other platforms, as their own tools print them.

Read: ``kafka-consumer-groups --describe`` (text), RabbitMQ's ``/api/queues`` and ``rabbitmqctl list_queues --formatter json``,
``kubectl get hpa -o json``, ``gcloud pubsub subscriptions describe --format json``, ``az servicebus queue show``. Names and
counts are taken, never a value that may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from afterload.errors import UnitError
from afterload.readers.cloud_values import MISSING, Collector, UnreadableError, dig, flag, number, text, whole
from afterload.readers.entries import Entry, Notes
from afterload.readers.json_documents import found_in
from afterload.readers.reading import Observation, Origin, Value
from afterload.readers.resolve import settle
from afterload.readers.times import Span, Trouble, read_cell
from afterload.scenario.attachments import consumer_group_rows
from afterload.units import read_duration_min

__all__ = ["MARKERS", "PLATFORMS", "is_consumer_groups", "read_consumer_groups", "read_platform"]

# What such files have in them and others do not, for a look at a part of a file.
MARKERS = (
    r'"(?:messages_ready|messages_unacknowledged|consumer_capacity|ackDeadlineSeconds|lockDuration)"\s*:'
    r'|"kind"\s*:\s*"HorizontalPodAutoscaler"|^GROUP\s+TOPIC\s+PARTITION\s'
)
_GROUPS = re.compile(r"^GROUP\s+TOPIC\s+PARTITION\s.*$", re.MULTILINE)
_SIZES = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1024.0, "Mi": 1024.0**2, "Gi": 1024.0**3}


def _seconds(value: Any) -> Value:
    """A duration such as ``604800s`` or ``PT1M``; None for the longest of .NET, which means for ever."""
    if isinstance(value, str) and value.startswith("P10675199D"):
        return None
    try:
        return round(60 * read_duration_min(value), 6)
    except UnitError:
        raise UnreadableError("is not a duration") from None


def _quantity(value: Any) -> Value:
    """A quantity of Kubernetes, such as ``1k`` or ``500m``."""
    match = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(value))
    if match is None or (match[2] and match[2] not in _SIZES):
        raise UnreadableError("is not a quantity")
    return number(match[1]) * _SIZES.get(match[2], 1.0)


def _milliseconds(value: Any) -> Value:
    return number(value) / 1000


@dataclass(frozen=True)
class Platform:
    """One kind of object: which members tell it, where its name stands, and what is read of it: attribute, path and form."""

    marks: frozenset[str]
    name: str
    rows: tuple[tuple[str, str, Callable[[Any], Value]], ...]

    def fits(self, value: dict[str, Any]) -> bool:
        """Whether an object is of this kind."""
        return self.marks <= value.keys()


PLATFORMS: dict[str, Platform] = {
    "rabbitmq.queue": Platform(frozenset({"name", "messages", "consumers"}), "name", (
        ("waiting", "messages", whole), ("consumers", "consumers", whole),
        ("arrivals_per_s", "message_stats/publish_details/rate", number),
        ("served_per_s", "message_stats/ack_details/rate", number),
        ("max_receives", "arguments/x-delivery-limit", whole),
        ("expires_after_s", "arguments/x-message-ttl", _milliseconds),
        ("expired_to", "arguments/x-dead-letter-exchange", text),
    )),
    "pubsub.subscription": Platform(frozenset({"name", "topic", "ackDeadlineSeconds"}), "name", (
        ("redelivery_s", "ackDeadlineSeconds", number), ("retention_s", "messageRetentionDuration", _seconds),
        ("max_receives", "deadLetterPolicy/maxDeliveryAttempts", whole),
    )),
    "servicebus.queue": Platform(frozenset({"name", "lockDuration", "maxDeliveryCount"}), "name", (
        ("waiting", "countDetails/activeMessageCount", whole), ("redelivery_s", "lockDuration", _seconds),
        ("max_receives", "maxDeliveryCount", whole), ("expires_after_s", "defaultMessageTimeToLive", _seconds),
        ("keeps_expired", "deadLetteringOnMessageExpiration", flag),
    )),
    "kubernetes.hpa": Platform(frozenset({"kind", "metadata", "spec"}), "metadata/name", (
        ("scales", "spec/scaleTargetRef/name", text), ("least", "spec/minReplicas", whole),
        ("most", "spec/maxReplicas", whole), ("running", "status/currentReplicas", whole),
    )),
}  # fmt: skip


def read_platform(collector: Collector, document: Any) -> bool:
    """Every object of a known kind in a JSON document; false if there is none."""
    found = False
    for kind, platform in PLATFORMS.items():
        for place, node in found_in(document, platform.fits):
            if kind == "kubernetes.hpa" and node["kind"] != "HorizontalPodAutoscaler":
                continue
            found = True
            _object(collector, kind, platform, node, place)
    return found


def _object(collector: Collector, kind: str, platform: Platform, node: dict[str, Any], place: str) -> None:
    try:
        name = text(dig(node, platform.name)).rpartition("/")[2]
    except UnreadableError:
        collector.remark("refused", f"{place or kind}: has no name: not read")
        return

    def see(attribute: str, path: str, value: Value) -> None:
        where = ".".join(part for part in (place, path.replace("/", ".")) if part)
        collector.take(Observation(kind, name, attribute, value, Origin(collector.file, where, collector.exported_at)))

    for attribute, path, read in platform.rows:
        try:
            value = dig(node, path)
            if value is not MISSING:
                see(attribute, path, read(value))
        except UnreadableError as problem:
            collector.remark("refused", f"{name}: {path.replace('/', '.')} {problem}: not read")
    if kind == "kubernetes.hpa":
        try:
            for attribute, path, value in _scaling(node["spec"]):
                see(attribute, path, value)
        except UnreadableError as problem:
            collector.remark("refused", f"{name}: its metrics or behaviour hold what {problem}: not read")
    if kind == "servicebus.queue" and node.get("status") not in ("Active", None):
        collector.remark("doubt", f"{name}: it is not active")
    if kind == "servicebus.queue" and isinstance(node.get("countDetails"), dict):
        collector.remark("doubt", f"{name}: Service Bus shows counts of 0 while it is throttled")


def _scaling(spec: Any) -> Iterator[tuple[str, str, Value]]:
    """Metric, target and behaviour of an autoscaler, of its first metric with a target for each replica."""
    for place, metric in enumerate(_objects(spec, "metrics")):
        source = next((metric[key] for key in ("external", "pods", "object", "resource") if key in metric), None)
        share, value = (dig(source, f"target/{form}") for form in ("averageUtilization", "averageValue"))
        if share is MISSING and value is MISSING:
            continue
        path, named = f"spec/metrics[{place}]", str(dig(source, "metric/name"))
        yield "metric", path, "utilisation" if value is MISSING else "age" if re.search("age|delay", named) else "depth"
        yield "target", path, number(share) / 100 if value is MISSING else _quantity(value)
        break
    for way, attribute in (("scaleUp", "up"), ("scaleDown", "down")):
        path = f"spec/behavior/{way}"
        window = dig(spec, f"behavior/{way}/stabilizationWindowSeconds")
        if window is not MISSING:
            yield f"{attribute}_window_s", path, whole(window)
        for policy in _objects(spec, f"behavior/{way}/policies"):
            unit = {"Pods": "replicas", "Percent": "percent"}.get(str(policy.get("type")))
            if unit is not None:
                yield f"{attribute}_{unit}", path, whole(policy.get("value"))
                yield f"{attribute}_period_s", path, whole(policy.get("periodSeconds"))


def _objects(node: Any, path: str) -> list[dict[str, Any]]:
    found = dig(node, path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def is_consumer_groups(text: str) -> bool:
    """Whether a text is output of ``kafka-consumer-groups --describe``."""
    return _GROUPS.search(text) is not None


def read_consumer_groups(collector: Collector, text: str) -> None:
    """Every table of a text: offsets and consumer of each partition, as ``GROUP/TOPIC/PARTITION``, at the time above it.

    A table holds no time: a line with a time above it, zone included, tells when it was made, else the file's date.
    """
    own, at, tables = collector.exported_at, None, dict[str, list[datetime]]()
    lines = text.split("\n")
    for line, row in consumer_group_rows(text):
        if row:
            collector.exported_at = at or own
            _partition(collector, row, line, tables)
        elif not _GROUPS.match(lines[line - 1]) and lines[line - 1].strip():
            seen = _time(lines[line - 1])
            at = seen or at
            if seen is None and tables and not lines[line - 1].startswith("Consumer group "):
                collector.remark("refused", "is no row of the table above it and no time with a zone", line)
    collector.exported_at = own
    if any(len(times) != len(set(times)) for times in tables.values()):
        words = "two tables of one group hold no time: write it above each, as 2026-03-03T10:00Z"
        collector.remark("ask", f"{words}, or give each its own file")


def _partition(collector: Collector, values: dict[str, str], line: int, tables: dict[str, list[datetime]]) -> None:
    # A member that has no partition left to read is named itself.
    last = "CONSUMER-ID" if values["PARTITION"] == "-" and "CONSUMER-ID" in values else "PARTITION"
    name = "/".join(values[key] for key in ("GROUP", "TOPIC", last))
    tables.setdefault(name, []).append(collector.exported_at)
    numbers = ("CURRENT-OFFSET", "committed"), ("LOG-END-OFFSET", "end"), ("LAG", "waiting")
    shown: dict[str, Value] = {key: int(values[column]) for column, key in numbers if values.get(column, "").isdigit()}
    shown["consumer"] = values.get("CONSUMER-ID", "-").removeprefix("-")
    for attribute, value in shown.items():
        origin = Origin(collector.file, f"line {line}", collector.exported_at)
        collector.take(Observation("kafka.partition", name, attribute, value, origin))


def _time(row: str) -> datetime | None:
    """The time with a zone that is a whole line, as ``date`` prints it."""
    span = read_cell(row) if re.search("[0-9]:[0-9]{2}", row) else None
    if not isinstance(span, Span) or isinstance(span, Trouble):
        return None
    settled = settle([Entry(span, "", 0, "")], None, None, Notes(""))
    return settled[0].at if settled else None
