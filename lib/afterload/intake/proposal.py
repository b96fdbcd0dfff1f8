"""A value that an export offers for a scenario, and the account of what became of every one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from afterload.readers.reading import Origin, Remark
from afterload.units import format_rate
from afterload.yamltree import DataPath

__all__ = ["Account", "Fate", "Missing", "Outcome", "Proposal", "duration_text", "newest", "rate_text"]

Fate = Literal["new", "updated", "same", "kept", "held", "refused", "rejected", "planned"]


@dataclass(frozen=True)
class Proposal:
    """One value for one field of a scenario.

    Attributes:
        path: keys of the field, such as ``("queues", "orders", "retention")``.
        value: the value as it would be written.
        basis: measured, default or guessed; None for what needs no evidence, such as a name.
        file, place, exported_at: where it stood and when that was exported.
        source: for a default: where it is published.
        note: what to know about it.
        planned: True for what a Terraform plan would set: it is not in force.
    """

    path: DataPath
    value: Any
    basis: Literal["measured", "default", "guessed"] | None = "measured"
    file: str = ""
    place: str = ""
    exported_at: datetime | None = None
    source: str = ""
    note: str = ""
    planned: bool = False

    @classmethod
    def seen(cls, path: DataPath, value: Any, origin: Origin, note: str = "") -> Proposal:
        """A value with the origin that a reader gave it."""
        return cls(
            path, value, origin.basis, origin.file, origin.place, origin.exported_at, note=note, planned=origin.planned
        )

    @property
    def name(self) -> str:
        """The path as people write it."""
        return ".".join(map(str, self.path))

    @property
    def where(self) -> str:
        """File and place, or the source."""
        return f"{self.file} {self.place}".strip() or self.source

    def evidence(self) -> dict[str, Any]:
        """The entry of the scenario's evidence for it."""
        when = None if self.exported_at is None else self.exported_at.isoformat(timespec="seconds")
        found = {
            "basis": self.basis, "value": self.value, "file": self.file, "place": self.place, "exported_at": when,
            "source": self.source,
        }  # fmt: skip
        return {key: value for key, value in found.items() if value not in (None, "")}


@dataclass(frozen=True)
class Outcome:
    """What became of a proposal.

    ``fate``: new: written where nothing stood; updated: written over a value that an earlier export gave; same: it stands
    there already; kept: a value made by hand stands there; held: its part of the scenario lacks values that it cannot do
    without; refused: the scenario would be wrong with it; rejected: whoever imports said no; planned: a Terraform plan that is
    not applied would set it.
    """

    proposal: Proposal
    fate: Fate
    before: Any = None
    reason: str = ""


@dataclass(frozen=True)
class Missing:
    """Something that the exports do not tell: what it is, why it matters, and the command that would export it."""

    name: str
    why: str
    command: str = ""


@dataclass(frozen=True)
class Account:
    """The field-by-field account of one import."""

    text: str
    outcomes: tuple[Outcome, ...]
    missing: tuple[Missing, ...] = ()
    remarks: tuple[Remark, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def of(self, *fates: Fate) -> tuple[Outcome, ...]:
        """Outcomes of some kinds."""
        return tuple(item for item in self.outcomes if item.fate in fates)

    @property
    def changes(self) -> bool:
        """True if anything would be written."""
        return bool(self.of("new", "updated"))


def duration_text(seconds: float) -> str:
    """A duration in the largest unit in which it is whole: ``4 days``, ``15 min``, ``90 s``."""
    for size, unit in ((86_400, "day"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count:,} {unit}{'s' if unit == 'day' and count != 1 else ''}"
    return f"{seconds:g} s"


def rate_text(per_min: float) -> str:
    """A measured rate with four significant digits: ``1,203/min``."""
    return format_rate(per_min)


def newest(proposals: Iterable[Proposal]) -> list[Proposal]:
    """One proposal a path: what a person gave in the command, else the one exported last, of the same age the first."""
    best: dict[DataPath, Proposal] = {}
    for item in proposals:
        other = best.get(item.path)
        later = other is not None and other.basis != "guessed" and item.exported_at is not None and (
            other.exported_at is None or item.exported_at > other.exported_at
        )  # fmt: skip
        if other is None or later:
            best[item.path] = item
    return list(best.values())
