"""What each value of a scenario rests on: measured, a default, stated with a source, or nobody's measurement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from afterload.errors import InputError, UnitError
from afterload.scenario.evidence_schema import Evidence
from afterload.scenario.fields import Inside, Section, holds_text, label_in, section_in
from afterload.scenario.load import LoadedScenario
from afterload.scenario.overrides import annotation_at, locate
from afterload.scenario.schema import Scenario
from afterload.yamltree import DataPath, WrittenFloat, WrittenInt, plain, value_at

__all__ = ["Basis", "Standing", "as_text", "same_value", "standing"]

Basis = Literal["measured", "default", "stated", "guessed", "changed", "overridden"]


@dataclass(frozen=True)
class Standing:
    """What one value rests on.

    Attributes:
        path: the value's path, such as ``queues.orders.arrival_rate``.
        basis: measured: seen in an export; default: nothing is written, or the service's own; stated: typed by hand beside
            a source; guessed: typed by hand without one; changed: evidence exists, for another value; overridden: set for
            this run alone.
        value: the value as it is written; None where a default acts.
        where: file and place of the evidence, the source, or the line of the scenario.
        exported_at: when the evidence was exported.
    """

    path: str
    basis: Basis
    value: Any
    where: str
    exported_at: datetime | None = None

    def age_days(self, at: datetime) -> float | None:
        """Days from the export to ``at``; None where there is no date."""
        return None if self.exported_at is None else max(0.0, (at - self.exported_at).total_seconds() / 86_400)


def standing(loaded: LoadedScenario, path: str) -> Standing:
    """What the value at a path rests on. Raises :class:`OverrideError` where the path names nothing."""
    keys = locate(loaded.tree.data, path, Scenario)
    origin = loaded.where(*keys)
    value = plain(value_at(loaded.tree.data, keys))
    if origin.startswith("--set"):
        return Standing(path, "overridden", value, origin)
    evidence, above = _evidence(loaded, path, keys)
    if evidence is not None and value is not None:
        if same_value(above, value_at(loaded.tree.data, above), evidence.value):
            return _from(path, evidence, value)
        return Standing(path, "changed", value, f"{origin}; {evidence.file or 'evidence'} has {evidence.value}")
    if value is None:
        return Standing(path, "default", None, evidence.source or "not given" if evidence is not None else "not given")
    source = next(
        (found for end in range(len(keys) - 1, 0, -1) if (found := label_in(_source(loaded.tree.data, keys[:end])))),
        None,
    )
    return Standing(path, "stated" if source else "guessed", value, source or origin)


def _evidence(loaded: LoadedScenario, path: str, keys: DataPath) -> tuple[Evidence | None, DataPath]:
    """The evidence for a value, or for the part that it is in; with the keys that the evidence is about."""
    data = loaded.tree.data
    for name, evidence in sorted(loaded.scenario.evidence.items(), key=lambda item: -len(item[0])):
        if path == name or path.startswith(f"{name}."):
            return evidence, locate(data, name, Scenario)
    return None, keys


def _from(path: str, evidence: Evidence, value: Any) -> Standing:
    parts = (evidence.file, evidence.place) if evidence.file else (evidence.source,)
    where = " ".join(part for part in parts if part)
    return Standing(path, evidence.basis, value, where, evidence.exported_at)


def _source(data: Any, keys: DataPath) -> Any:
    here = value_at(data, keys)
    return here.get("source") if isinstance(here, dict) else None


def same_value(keys: DataPath, one: Any, other: Any) -> bool:
    """True if two values written at a place mean the same: 1,200/min is 20/s, and version 1.40 is not 1.4."""
    if holds_text(annotation_at(Scenario, keys)):
        return as_text(one) == as_text(other)
    if str(plain(one)) == str(plain(other)):
        return True
    kind: Any = Scenario
    quantity = factor = None
    for key in keys:
        if isinstance(kind, Inside):
            kind = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            name = kind.keys().get(str(key))
            if name is None:
                return False
            quantity = kind.quantities().get(name)
            factor = quantity.keys(name)[str(key)] if quantity else None
            kind = section_in(kind.model_fields[name].annotation)
    if quantity is None or quantity.many or isinstance(one, dict | list) or isinstance(other, dict | list):
        return bool(plain(one) == plain(other))
    try:
        first = quantity.read(one, factor if not isinstance(one, str) or _bare(one) else None)
        return first == quantity.read(other, factor if not isinstance(other, str) or _bare(other) else None)
    except (UnitError, InputError):
        return False


def as_text(value: Any) -> str:
    """A value of a field for text as it was written."""
    return value.text if isinstance(value, WrittenInt | WrittenFloat) else str(value)


def _bare(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).strip().isdigit()
