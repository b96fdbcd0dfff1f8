"""Timelines from text, and the fixtures: synthetic files, each with the quirks of real exports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from afterload.readers.timeline import Event, Timeline, read_timeline_file

FIXTURES = Path(__file__).parent / "fixtures"
PACIFIC = ZoneInfo("America/Los_Angeles")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Timeline]:
    """Write a file and read it as a timeline."""

    def from_text(text: str | bytes, name: str = "timeline.csv", **given: Any) -> Timeline:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_timeline_file(path, **given)

    return from_text


def brief(event: Event) -> tuple[str, str, str]:
    """Start and end in UTC, and the text."""

    def utc(at: Any) -> str:
        return "" if at is None else at.astimezone(UTC).strftime("%d %H:%M:%S").removesuffix(":00")

    return utc(event.at), utc(event.end), event.text


@pytest.fixture(name="brief")
def brief_fixture() -> Callable[[Event], tuple[str, str, str]]:
    return brief


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def pacific() -> ZoneInfo:
    return PACIFIC
