"""Exports of a scenario become one inventory, whatever reader reads them."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from afterload.errors import InputError
from afterload.findings.audit import inventory_of
from afterload.readers.reading import Inventory, Observation, Origin, Remark
from afterload.scenario import load_scenario

AT = datetime(2026, 8, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """A reader in the place of the real one, and what it was asked for."""
    asked: list[tuple[str, str | None]] = []

    def read_cloud_file(path: Path, *, subject: str | None = None) -> Inventory:
        asked.append((path.name, subject))
        if path.name == "bad.json":
            raise InputError(f"{path}: is not an export: run it again")
        origin = Origin(str(path), "MaximumEventAgeInSeconds", AT)
        seen = Observation("lambda.async", subject or "worker", "max_event_age_s", 900, origin)
        return Inventory((seen,), (Remark("doubt", "one page of more", str(path), 3),))

    module = ModuleType("afterload.readers.cloud")
    module.read_cloud_file = read_cloud_file  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "afterload.readers.cloud", module)
    return asked


def scenario(folder: Path, exports: list[dict[str, Any]]) -> Any:
    for item in exports:
        (folder / item["file"]).parent.mkdir(exist_ok=True)
        (folder / item["file"]).write_text("{}", encoding="utf-8")
    data = {
        "team": "T", "time_zone": "UTC", "recovery_objective": "4 h", "exports": exports,
        "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
        "clients": {"c": {"sdk": "boto3", "version": "1.44.8", "number": 1}},
    }  # fmt: skip
    (folder / "t.yaml").write_text(json.dumps(data), encoding="utf-8")
    return load_scenario(folder / "t.yaml")


def test_a_scenario_without_exports_asks_no_reader(tmp_path: Path, read: list[Any]) -> None:
    assert inventory_of(scenario(tmp_path, [])) == Inventory()
    assert read == []


def test_files_have_the_names_and_dates_of_the_scenario(tmp_path: Path, read: list[Any]) -> None:
    exports = [
        {"file": "aws/first.json", "subject": "worker", "exported_at": "2026-07-01T08:00+02:00"},
        {"file": "second.json"},
    ]
    found = inventory_of(scenario(tmp_path, exports))
    assert read == [("first.json", "worker"), ("second.json", None)]
    assert [item.origin.file for item in found.observations] == ["aws/first.json", "second.json"]
    assert [item.origin.exported_at for item in found.observations] == [datetime(2026, 7, 1, 6, tzinfo=UTC), AT]
    assert [str(remark) for remark in found.remarks] == [
        "aws/first.json line 3: doubt: one page of more", "second.json line 3: doubt: one page of more",
    ]  # fmt: skip


def test_a_file_that_cannot_be_read_leaves_a_remark_and_not_a_failure(tmp_path: Path, read: list[Any]) -> None:
    found = inventory_of(scenario(tmp_path, [{"file": "bad.json"}, {"file": "good.json"}]))
    assert [item.origin.file for item in found.observations] == ["good.json"]
    assert str(found.remarks[0]) == "bad.json: refused: is not an export: run it again"
    assert str(tmp_path) not in str(found)
