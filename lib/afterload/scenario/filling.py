"""What attached files and courses give is put where a person could have typed it, so that everything reads one scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from afterload.errors import UnitError
from afterload.scenario.attachments import ArrivalSeries, Attachment, Shares
from afterload.scenario.fields import label_in
from afterload.units import read_duration_min, read_instant, read_share
from afterload.yamltree import DataPath, YamlTree

__all__ = ["filled", "given_twice"]


def filled(tree: YamlTree, read: Mapping[DataPath, Attachment]) -> YamlTree:
    """The tree with the values that follow from others: the rows of attached files, the times of the incident that a capacity
    course gives, and the dependency of a client that names its queue or call stack.

    What a person gave stays. Each value found has the line of what it came from.
    """
    data, lines = tree.data, dict(tree.lines)

    def put(path: DataPath, value: Any, source: DataPath) -> None:
        nonlocal data
        data = _with(data, path, value)
        lines.setdefault(path, tree.line(source))

    for path, attachment in read.items():
        rows = attachment.rows
        if isinstance(rows, ArrivalSeries) and path[0] == "dependencies":
            if not any(str(key).startswith("highest") for key in _at(data, path[:-1])):
                put((*path[:-1], "highest_per_min"), max(rows.rates_per_min), path)
        elif isinstance(rows, Shares) and rows.times:
            steps = [{"at": at.isoformat(), "share": value} for at, value in zip(rows.times, rows.values, strict=True)]
            put((*path[:-1], "steps"), steps, path)
        elif isinstance(rows, Shares) and rows.values:
            put((*path[:-1], "shares"), list(rows.values), path)
    for name, value, source in _incident(data):
        put(("incident", name), value, source)
    for name, client in _items(data, "clients"):
        if label_in(client.get("dependency")) is None:
            for key, part in (("queue", "queues"), ("call_stack", "call_stacks")):
                owner = _at(data, (part, label_in(client.get(key)) or ""))
                found = label_in(owner.get("dependency")) if isinstance(owner, dict) else None
                if (
                    found is None
                    and isinstance(owner, dict)
                    and isinstance(calls := owner.get("calls"), list)
                    and calls
                ):
                    found = label_in(calls[0].get("dependency") if isinstance(calls[0], dict) else calls[0])
                if found is not None and _at(data, ("dependencies", found)) is not None:
                    put(("clients", name, "dependency"), found, ("clients", name, key))
                    break
    return YamlTree(data, lines, tree.name)


def given_twice(data: dict[str, Any]) -> Iterator[tuple[DataPath, str, str]]:
    """Where a person gave both a file and what it holds: path, what is wrong, what is accepted."""
    for part, names in (("dependencies", ("capacity_course",)), ("queues", ("consumer_course",))):
        for name, item in _items(data, part):
            for key in names:
                course = item.get(key)
                if isinstance(course, dict) and course.get("series") not in (None, "none") and course.get("steps"):
                    yield (part, name, key), "gives steps and a series", "one of the two"
    for name, item in _items(data, "queues"):
        stream = item.get("stream")
        if isinstance(stream, dict) and stream.get("offsets") not in (None, "none"):
            for key in ("shares", "hottest_share"):
                if stream.get(key) not in (None, "none"):
                    yield (
                        ("queues", name, "stream", key),
                        "stands beside offsets",
                        "one of hottest_share, shares and offsets",
                    )


def _incident(data: dict[str, Any]) -> Iterator[tuple[str, str, DataPath]]:
    """Trigger and restore where a course gives one that the incident does not: the first fall of any capacity below 100 %,
    and the first time after it at which every one is at 100 % again."""
    incident = data.get("incident")
    if not isinstance(incident, dict):
        return
    trigger = _instant(incident.get("trigger"))
    courses = []
    for name, item in _items(data, "dependencies"):
        course = item.get("capacity_course")
        steps = course.get("steps") if isinstance(course, dict) else None
        if isinstance(steps, list | tuple):
            path = ("dependencies", name, "capacity_course")
            courses.append((path, sorted(step for each in steps if (step := _step(each, trigger)) is not None)))
    if trigger is None and incident.get("trigger") is None:
        falls = [(at, path) for path, steps in courses for at, share in steps if share < 1]
        if not falls:
            return
        trigger, source = min(falls)
        yield "trigger", trigger.isoformat(), source
    if trigger is None or incident.get("restored_at") is not None:
        return
    for at, path in sorted((at, path) for path, steps in courses for at, _ in steps if at > trigger):
        if all(_level(steps, at) >= 1 for _, steps in courses):
            yield "restored_at", at.isoformat(), path
            return


def _step(step: Any, trigger: datetime | None) -> tuple[datetime, float] | None:
    if not isinstance(step, dict):
        return None
    at = _instant(step.get("at"))
    try:
        if at is None and trigger is not None:
            at = trigger + timedelta(minutes=read_duration_min(step.get("at")))
        return None if at is None else (at, read_share(step.get("share")))
    except UnitError:
        return None


def _level(steps: list[tuple[datetime, float]], at: datetime) -> float:
    return next((share for begin, share in reversed(steps) if begin <= at), 1.0)


def _instant(value: Any) -> datetime | None:
    try:
        return read_instant(value)
    except UnitError:
        return None


def _items(data: dict[str, Any], part: str) -> list[tuple[str, dict[str, Any]]]:
    items = data.get(part)
    return [(name, item) for name, item in items.items() if isinstance(item, dict)] if isinstance(items, dict) else []


def _at(data: Any, path: DataPath) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _with(data: Any, path: DataPath, value: Any) -> Any:
    """A copy of the levels on the way to a value, with that value."""
    head, *rest = path
    return {**data, head: _with(data[head], tuple(rest), value) if rest else value}
