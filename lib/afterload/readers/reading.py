"""What every reader gives: what it found, where each value stood, and what it could not read or would not guess."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["Inventory", "Observation", "Origin", "Remark", "Resource", "Value"]

Value = str | int | float | bool | tuple[str, ...] | None


@dataclass(frozen=True)
class Origin:
    """Where a value came from.

    Attributes:
        file: the path as given.
        place: where in it, for people: ``line 12``, ``row 3``, ``EventSourceMappings[2].BatchSize``, a Terraform address.
        exported_at: when the export was made (from its content, else the file's date), with a zone.
        basis: measured: seen in an export; default: the service's own, since the export shows it unset.
        planned: True for what a Terraform plan would set: it is not in force.
    """

    file: str
    place: str
    exported_at: datetime
    basis: Literal["measured", "default"] = "measured"
    planned: bool = False

    def __str__(self) -> str:
        return f"{self.file} {self.place}".strip()


@dataclass(frozen=True)
class Remark:
    """One thing that a person should know about a file that was read.

    Attributes:
        kind: ``refused``: a part was not read; ``partial``: the file is cut off or one page of more; ``doubt``: it was read,
            but may not mean what it seems to; ``ask``: two readings are possible and a person must say which.
        text: what is wrong, the value seen, and what to do.
        file: the path as given.
        line: line or row in it, from 1; 0 for the whole file.
    """

    kind: Literal["refused", "partial", "doubt", "ask"]
    text: str
    file: str
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file} line {self.line}" if self.line else self.file
        return f"{place}: {self.kind}: {self.text}"


@dataclass(frozen=True)
class Observation:
    """One setting of one resource, as an export shows it. A value of None was exported as unset.

    Attributes:
        kind: kind of resource, such as ``sqs.queue``; :data:`afterload.readers.cloud.ATTRIBUTES` names them all.
        resource: its name: a queue's name, a function's name, a mapping's UUID, a group's name or ARN.
        attribute: what was seen, with its unit, such as ``visibility_timeout_s``.
        value: the value in that unit.
        origin: where it stood.
    """

    kind: str
    resource: str
    attribute: str
    value: Value
    origin: Origin


@dataclass(frozen=True)
class Resource:
    """All that exports show of one resource."""

    kind: str
    name: str
    observations: tuple[Observation, ...]

    def seen(self, attribute: str) -> Observation | None:
        """The newest observation of an attribute, one in force before a planned one; None if no export shows it.

        That is not the same as unset.
        """
        found = [item for item in self.observations if item.attribute == attribute]
        return max(found, key=lambda item: (not item.origin.planned, item.origin.exported_at), default=None)

    def get(self, attribute: str) -> Value:
        """The newest value of an attribute; None where it is unset or was not exported."""
        observation = self.seen(attribute)
        return None if observation is None else observation.value


@dataclass(frozen=True)
class Inventory:
    """The cloud resources that exports show, and the remarks of reading them."""

    observations: tuple[Observation, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def of(self, kind: str) -> tuple[Resource, ...]:
        """Resources of one kind, by name."""
        groups: dict[str, list[Observation]] = {}
        for item in self.observations:
            if item.kind == kind:
                groups.setdefault(item.resource, []).append(item)
        return tuple(Resource(kind, name, tuple(items)) for name, items in sorted(groups.items()))

    def resource(self, kind: str, name: str) -> Resource | None:
        """One resource; None if no export shows it."""
        return next((item for item in self.of(kind) if item.name == name), None)

    def conflicts(self) -> tuple[tuple[Observation, ...], ...]:
        """Settings that files in force show with different values: the one that counts first, then one of each other file."""
        groups: dict[tuple[str, str, str], list[Observation]] = {}
        for item in self.observations:
            # Offsets of a partition are what was seen at a moment: later ones contradict nothing.
            if not item.origin.planned and item.kind != "kafka.partition":
                groups.setdefault((item.kind, item.resource, item.attribute), []).append(item)
        found = []
        for (kind, name, attribute), items in groups.items():
            counts = Resource(kind, name, tuple(items)).seen(attribute)
            assert counts is not None
            others = {item.origin.file: item for item in items if item.value != counts.value}
            others.pop(counts.origin.file, None)
            if others:
                found.append((counts, *others.values()))
        return tuple(found)

    @classmethod
    def joined(cls, parts: Iterable[Inventory]) -> Inventory:
        """Several exports as one: the same resource in two files keeps the observations of both."""
        parts = tuple(parts)
        return cls(
            tuple(item for part in parts for item in part.observations),
            tuple(item for part in parts for item in part.remarks),
        )
