"""Impact windows against the table of the published summary of the event."""

import csv
import math
from datetime import datetime
from pathlib import Path

import pytest

from afterload.errors import ModelError
from afterload.model.windows import split

ROOT = Path(__file__).parents[2]
INCIDENT = "us-east-1-2025-10-20"


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def minutes(text):
    return datetime.fromisoformat(text).timestamp() / 60


def test_the_twelve_rows_of_the_reference_incident_facts_md_section_1():
    windows = rows(ROOT / "data" / "incidents" / INCIDENT / "impact_windows.csv")
    expected = rows(ROOT / "tests" / "data" / INCIDENT / "impact_windows_expected.csv")
    assert len(windows) == len(expected) == 12
    restore = minutes("2025-10-20T02:40-07:00")
    for window, row in zip(windows, expected, strict=True):
        assert window["service"] == row["service"]
        before, after = split(minutes(window["start"]), minutes(window["end"]), restore)
        assert (before, after) == (float(row["minutes_before"]), float(row["minutes_after"]))
        assert before + after == float(row["minutes_total"])


@pytest.mark.parametrize(
    ("window", "parts"),
    [((0, 10, 4), (4, 6)), ((0, 10, 12), (10, 0)), ((0, 10, -3), (0, 10)), ((5, 5, 5), (0, 0)), ((0, 10, 10), (10, 0))],
)
def test_parts_before_and_after(window, parts):
    assert split(*window) == parts


def test_a_window_that_ends_before_it_starts_is_refused():
    with pytest.raises(ModelError, match="ends at 3 min, before its start at 4 min"):
        split(4, 3, 0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "02:40"])
def test_times_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ModelError, match="split_min"):
        split(0, 10, bad)
