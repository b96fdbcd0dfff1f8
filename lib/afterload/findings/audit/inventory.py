"""The cloud settings that a scenario's exports hold, as one inventory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from afterload.errors import AfterloadError
from afterload.readers.cloud import read_cloud_file
from afterload.readers.reading import Inventory, Observation, Remark
from afterload.readers.source import stated_date
from afterload.scenario import LoadedScenario
from afterload.scenario.evidence_schema import Export

__all__ = ["inventory_of"]


def inventory_of(loaded: LoadedScenario) -> Inventory:
    """Read every file under ``exports`` of a scenario.

    Files are named as the scenario names them, and have the date that it gives. One that cannot be read leaves a remark and
    the others are read all the same.
    """
    if not loaded.scenario.exports:
        return Inventory()
    return Inventory.joined(_read(loaded.file(export.file), export) for export in loaded.scenario.exports)


def _read(path: Path, export: Export) -> Inventory:
    try:
        found = read_cloud_file(path, subject=export.subject)
    except AfterloadError as problem:
        words = str(problem).removeprefix(f"{path}: ").replace(str(path), export.file)
        return Inventory((), (Remark("refused", words, export.file),))
    remarks = (replace(remark, file=export.file) for remark in found.remarks)
    stated = stated_date(path, export.exported_at, export.sha256)
    return Inventory(tuple(_named(found, export, stated)), tuple(remarks))


def _named(found: Inventory, export: Export, stated: datetime | None) -> Iterator[Observation]:
    for item in found.observations:
        at = stated or item.origin.exported_at
        yield replace(item, origin=replace(item.origin, file=export.file, exported_at=at))
