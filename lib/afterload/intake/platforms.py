"""What consumer groups, queues, subscriptions and autoscalers of other platforms offer for a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from afterload.intake.proposal import Proposal, duration_text, rate_text
from afterload.readers.platforms import PLATFORMS
from afterload.readers.reading import Inventory, Observation, Origin, Remark, Resource
from afterload.scenario import Scenario
from afterload.scenario.overrides import annotation_at
from afterload.units import format_count, format_duration
from afterload.yamltree import DataPath

__all__ = ["Outage", "platform_proposals"]

# Two tables nearer to each other than this tell no rate: a file's date may be a copy's.
LEAST_S = 30.0
# From the trigger to the restore, each None where the scenario does not tell it yet.
Outage = tuple[datetime | None, datetime | None]


def platform_proposals(
    inventory: Inventory, scenario: Mapping[str, Any], outage: Outage
) -> tuple[list[Proposal], list[Remark]]:
    """What the exports of other platforms say about the fields of a scenario, and what no field of it takes.

    What waits is the backlog before the trigger only where it was seen before it, and what is served in the outage is no service
    rate. ``scenario`` is the file's raw data.
    """
    queues = scenario.get("queues")
    known = set(map(str, queues)) if isinstance(queues, dict) else set[str]()
    found: list[Proposal] = []
    remarks: list[Remark] = []
    groups: dict[str, list[Resource]] = {}
    for partition in inventory.of("kafka.partition"):
        groups.setdefault(partition.name.rpartition("/")[0], []).append(partition)
    idle = {name.removesuffix("/-"): len(groups.pop(name)) for name in list(groups) if name.endswith("/-")}
    topics = [name.partition("/")[2] for name in groups]
    homes: dict[str, str] = {}
    for name, partitions in groups.items():
        group, _, topic = name.partition("/")
        is_groups = topics.count(topic) > 1 or (group in known and topic not in known)
        queue = group if is_groups else topic
        homes[group] = queue
        found += _group(queue, partitions, idle.get(group, 0), _by_hottest(scenario, queue), outage, remarks)
    for kind in ("rabbitmq.queue", "pubsub.subscription", "servicebus.queue"):
        for resource in inventory.of(kind):
            found += _queue(resource, outage, remarks)
    for scaler in inventory.of("kubernetes.hpa"):
        target = str(scaler.get("scales") or scaler.name)
        found += _autoscaler(homes.get(target, target), scaler)
    return [item for item in found if annotation_at(Scenario, item.path) is not None], remarks


def _waiting(
    queue: str, number: float, origin: Origin, outage: Outage, remarks: list[Remark], note: str = ""
) -> Iterator[Proposal]:
    trigger = outage[0]
    if trigger is not None and origin.exported_at <= trigger:
        yield Proposal.seen(("queues", queue, "backlog_before"), round(number), origin, note)
        return
    at = origin.exported_at.isoformat(timespec="minutes")
    words = f"{queue}: {format_count(number)} waited at {at}, after the trigger{f' ({note})' if note else ''}"
    remarks.append(
        Remark("doubt", f"{words}: afterload eta takes it with --depth {round(number)} --at {at}", origin.file)
    )


def _group(
    queue: str, parts: Sequence[Resource], idle: int, is_by_hottest: bool, outage: Outage, remarks: list[Remark]
) -> Iterator[Proposal]:
    """A consumer group on one topic: partitions, lag, how uneven it is, consumers; rates where there are two tables of it."""
    last = max(item.origin.exported_at for part in parts for item in part.observations)
    origin = replace(_newest(parts[0]).origin, place=f"partitions of {parts[0].name.rpartition('/')[0]}")
    head: DataPath = ("queues", queue)
    yield Proposal.seen((*head, "stream", "shards"), len(parts), origin)
    waiting = {part.name: seen for part in parts if (seen := _at(part, "waiting", last)) is not None}
    unread = sorted(int(part.name.rpartition("/")[2]) for part in parts if part.name not in waiting)
    lacking = f"partition{'s' if len(unread) > 1 else ''} {', '.join(map(str, unread))}"
    if unread:
        remarks.append(
            Remark("doubt", f"{queue}: {lacking} without a committed offset, so lag is not known", origin.file)
        )
    consumers = {part.get("consumer") for part in parts} - {"", None}
    if idle:
        which = "1 consumer is" if idle == 1 else f"{idle} consumers are"
        remarks.append(Remark("doubt", f"{queue}: {which} idle: no partition is left to read", origin.file))
    if consumers:
        yield Proposal.seen((*head, "consumers", "number"), len(consumers) + idle, origin)
    note = f"{lacking} not counted" if unread else ""
    yield from _waiting(queue, sum(waiting.values()), origin, outage, remarks, note)
    shares, said = waiting, "of the lag"
    first = min(item.origin.exported_at for part in parts for item in part.observations)
    span = (last - first).total_seconds()
    if span >= LEAST_S:
        grown = {key: _growth(parts, key, first, last) for key in ("end", "committed")}
        over = f"{sum(grown['end'].values()):,.0f} in {format_duration(span / 60)}"
        yield Proposal.seen((*head, "arrival_rate"), rate_text(60 * sum(grown["end"].values()) / span), origin, over)
        if sum(waiting.values()) and sum(grown["committed"].values()) and not _in_outage(first, last, outage):
            rate, over = (
                60 * sum(grown["committed"].values()) / span,
                f"while {format_count(sum(waiting.values()))} waited",
            )
            yield Proposal.seen((*head, "service_rate"), rate_text(rate), origin, over)
        if sum(grown["end"].values()):
            shares, said = grown["end"], "of the arrivals"
    total = sum(shares.values())
    if total:
        busiest = max(shares, key=lambda name: shares[name])
        note = f"partition {busiest.rpartition('/')[2]}, its share {said}{f' ({note})' if note and shares is waiting else ''}"
        if len(shares) == len(parts) and not is_by_hottest:
            ordered = sorted(parts, key=lambda part: int(part.name.rpartition("/")[2]))
            listed = [round(shares[part.name] / total, 4) for part in ordered]
            yield Proposal.seen((*head, "stream", "shares"), listed, origin, f"the most in {note}")
        else:
            yield Proposal.seen((*head, "stream", "hottest_share"), round(shares[busiest] / total, 4), origin, note)


def _in_outage(first: datetime, last: datetime, outage: Outage) -> bool:
    trigger, restored = outage
    return (trigger is None or last > trigger) and (restored is None or first < restored)


def _by_hottest(scenario: Mapping[str, Any], queue: str) -> bool:
    """Whether the spread of a queue's records is given by its busiest partition, beside which a list of shares has no place."""
    here: Any = scenario
    for key in ("queues", queue, "stream"):
        here = here.get(key) if isinstance(here, dict) else None
    return isinstance(here, dict) and "hottest_share" in here


def _newest(resource: Resource) -> Observation:
    return max(resource.observations, key=lambda item: item.origin.exported_at)


def _at(resource: Resource, attribute: str, at: datetime) -> float | None:
    hits = (
        item.value for item in resource.observations if (item.attribute, item.origin.exported_at) == (attribute, at)
    )
    return next((float(value) for value in hits if isinstance(value, int)), None)


def _growth(parts: Sequence[Resource], attribute: str, first: datetime, last: datetime) -> dict[str, float]:
    """By how much an offset grew between two tables, of each partition that both show."""
    ends = ((part.name, _at(part, attribute, first), _at(part, attribute, last)) for part in parts)
    return {name: after - before for name, before, after in ends if before is not None and after is not None}


def _queue(resource: Resource, outage: Outage, remarks: list[Remark]) -> Iterator[Proposal]:
    head: DataPath = ("queues", resource.name)
    numbers = {row[0]: resource.seen(row[0]) for row in PLATFORMS[resource.kind].rows}
    seen = {name: (item.value, item.origin) for name, item in numbers.items() if item is not None}
    waiting = seen["waiting"][0] if "waiting" in seen else None
    if isinstance(waiting, int):
        yield from _waiting(resource.name, waiting, seen["waiting"][1], outage, remarks)
    at = _newest(resource).origin.exported_at
    serves = bool(waiting) and not _in_outage(at, at, outage)
    for name, field in (("arrivals_per_s", "arrival_rate"), ("served_per_s", "service_rate")):
        rate = seen.get(name)
        # Consumers that keep up serve what arrives, which says nothing of what they could.
        if rate is not None and isinstance(rate[0], float) and (field == "arrival_rate" or serves):
            note = "at the time of the export" + (", while work waited" if field == "service_rate" else "")
            yield Proposal.seen((*head, field), rate_text(60 * rate[0]), rate[1], note)
    for name, field in (("redelivery_s", "visibility_timeout"), ("retention_s", "retention")):
        if name in seen:
            yield _duration((*head, field), *seen[name])
    recorded = seen.get("expired_to") or (seen["keeps_expired"] if seen.get("keeps_expired", (False,))[0] else None)
    if "expires_after_s" in seen:
        yield _duration((*head, "age_limit" if recorded else "retention"), *seen["expires_after_s"])
        if recorded:
            to = recorded[0] if isinstance(recorded[0], str) else "dead-letter queue"
            yield Proposal.seen((*head, "on_failure_destination"), to, recorded[1])
    for path in (("max_receives",), ("consumers", "number")):
        if path[0] in seen:
            yield Proposal.seen((*head, *path), *seen[path[0]])


def _duration(path: DataPath, value: Any, origin: Origin) -> Proposal:
    return Proposal.seen(path, "none" if value is None else duration_text(float(value)), origin)


def _autoscaler(queue: str, scaler: Resource) -> Iterator[Proposal]:
    names = {"metric": "metric", "target": "target", "least": "least", "most": "most", "running": "at_restore"}
    paths: dict[str, DataPath] = {name: (field,) for name, field in names.items()}
    for way in ("up", "down"):
        paths |= {
            f"{way}_{key}": (way, key.removesuffix("_s")) for key in ("replicas", "percent", "period_s", "window_s")
        }
    for name, path in paths.items():
        seen = scaler.seen(name)
        if seen is not None and seen.value is not None:
            is_time = name.endswith("_s") or (name == "target" and scaler.get("metric") == "age")
            value = duration_text(float(seen.value)) if is_time and isinstance(seen.value, int | float) else seen.value
            yield Proposal.seen(("queues", queue, "autoscaler", *path), value, seen.origin)
