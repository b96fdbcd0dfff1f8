"""The alignment figure: whole, small, valid, escaped, for ordinary and odd timelines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import altair as alt
import pytest

from afterload.figures import Figure, Prose
from afterload.figures.alignment import alignment_figure
from afterload.figures.charts import MOST_VALUES
from afterload.findings.alignment import align
from afterload.readers.timeline import read_timeline_file
from afterload.resources import resource
from afterload.scenario import TimelineEvent

ZONE = ZoneInfo("America/Los_Angeles")
START = datetime(2025, 10, 20, 6, 48, tzinfo=UTC)


@pytest.fixture(scope="module")
def theirs():
    return read_timeline_file(resource("data", "incidents", "us-east-1-2025-10-20", "timeline.csv")).rows


def ours(minutes, text="x", subsystem="orders"):
    return [TimelineEvent(START + timedelta(minutes=m), None, subsystem, "", text) for m in minutes]


def values(spec):
    if isinstance(spec, dict):
        yield from spec["data"]["values"] if "data" in spec else ()
        for item in spec.values():
            yield from values(item)
    elif isinstance(spec, list):
        for item in spec:
            yield from values(item)


def test_table_and_words(theirs):
    figure = alignment_figure(align(ours([-1, 0, 5, 3000]), theirs), ZONE, "a and b")
    assert isinstance(figure, Figure)
    assert [row[0] for row in figure.table.rows] == [
        "2025-10-19 23:47",
        "2025-10-19 23:48",
        "2025-10-19 23:53",
        "2025-10-22 01:48",
    ]
    assert [row[4] for row in figure.table.rows] == ["", "0", "5", "1,303"]
    assert [row[5] for row in figure.table.rows] == [
        "not explained: before any event of the provider", "", "", "not explained: later than the window"
    ]  # fmt: skip
    assert figure.alt.startswith("Points on a time axis from 2025-10-19 23:47 PDT (UTC-07:00)")
    assert "27 events of the provider, 2 events of ours that follow one of them within 60 min" in figure.alt
    assert "with a median lag of 2.5 min" in figure.alt
    assert figure.alt.endswith("2 events of ours that the provider's account does not explain.")
    lanes = [value["lane"] for value in values(figure.chart) if "time" in value]
    assert lanes.count("provider") == 27
    assert lanes.count("ours, follows") == lanes.count("ours, not explained") == 2
    assert len({value["link"] for value in values(figure.chart) if "link" in value}) == 2


@pytest.mark.parametrize("minutes", [[0], [-5], [10_000], range(0, 30_000, 10)])
def test_whole_valid_and_small(theirs, minutes):
    figure = alignment_figure(align(ours(minutes), theirs), ZONE, "a and b")
    assert len(figure.table.rows) == len(minutes)
    assert sum(1 for _ in values(figure.chart)) <= 1.1 * MOST_VALUES
    (alt.LayerChart if "layer" in figure.chart else alt.Chart).from_dict(figure.chart, validate=True)
    json.dumps(figure.chart, allow_nan=False)
    assert "UTC-07:00" in json.dumps(figure.chart)
    assert bool(figure.notes) == (len(minutes) > MOST_VALUES // 4)


def test_text_is_escaped_and_short(theirs):
    text = f"<script>alert(1)</script> & {'long ' * 1000}"
    page = alignment_figure(align(ours([5], text, "<b>s</b>"), theirs), ZONE, "<i>").to_html()
    assert "<script" not in page
    assert "<b>s" not in page
    assert "<i>" not in page
    assert len(page) < 3_000


def test_nothing_to_show(theirs):
    assert isinstance(alignment_figure(align([], theirs), ZONE, "a"), Prose)
    assert isinstance(alignment_figure(align(ours([1]), []), ZONE, "a"), Prose)
