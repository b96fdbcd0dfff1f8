"""Figures of measured recoveries and back-tests: whole, valid, finite, and saying what the finding says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from zoneinfo import ZoneInfo

import altair as alt
import pytest
from tests.findings.incident import back_tested, incident

from afterload.figures.charts import MOST_VALUES, Clock
from afterload.figures.measured import back_test_figure, measured_recovery_figure
from afterload.findings.drain import observe_drain
from afterload.findings.measured import measure_recovery
from afterload.findings.rates import to_rates
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad

ZONE = ZoneInfo("America/Los_Angeles")
HTML = "<script>alert(1)</script>"


def values(spec):
    if isinstance(spec, dict):
        if (
            "values" in spec
            and isinstance(spec["values"], list)
            and spec["values"]
            and isinstance(spec["values"][0], dict)
        ):
            yield from spec["values"]
        for item in spec.values():
            yield from values(item)
    elif isinstance(spec, list):
        for item in spec:
            yield from values(item)


def shortened(spec):
    """The same specification with few values: all rows of a chart are alike, and checking them takes long."""
    if isinstance(spec, dict):
        return {
            key: item[:3] if key == "values" and isinstance(item, list) else shortened(item)
            for key, item in spec.items()
        }
    return [shortened(item) for item in spec] if isinstance(spec, list) else spec


def check(figure):
    kind = alt.VConcatChart if "vconcat" in figure.chart else alt.LayerChart
    kind.from_dict(shortened(figure.chart), validate=True)
    json.dumps(figure.chart, allow_nan=False)
    rows = list(values(figure.chart))
    assert 0 < len(rows) <= 1.1 * MOST_VALUES
    assert all(math.isfinite(v) for row in rows for v in row.values() if isinstance(v, int | float))
    text = f"{figure.to_text()}\n{figure.alt}"
    assert not any(word in text for word in ("nan", "None", "inf ", "NaN"))
    assert figure.alt.endswith(".")
    assert figure.table.rows
    return text


def recovery(**more):
    event = incident(**more)
    signals = {
        "first-attempt age": event.series(event.age_s, HTML, "max"),
        "error rate": event.series(event.error_rate, "errors", "average"),
        "latency": event.series(1 + event.error_rate, "latency", "p99"),
    }
    return measure_recovery(signals, event.trigger, event.restore, ZONE)


def observed(**more):
    event = incident(**more)
    return observe_drain(
        to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted")),
        event.series(event.waiting, "depth", "average"), event.trigger, event.restore,
    )  # fmt: skip


def test_a_measured_recovery_shows_band_restore_and_back():
    found = recovery()
    figure = measured_recovery_figure(found)
    text = check(figure)
    minutes = round(found.of("first-attempt age").back_min)
    assert f"{minutes} min" in text
    labels = {row.get("label") for row in values(figure.chart)}
    assert {"trigger", "restored", "back"} <= labels
    assert any(row.get("high") == pytest.approx(found.signals[0].edge, rel=1e-5) for row in values(figure.chart))
    assert HTML not in figure.to_html()
    assert "America/Los_Angeles" in json.dumps(figure.chart)


def test_marks_stand_on_the_wall_clock_of_the_zone():
    """The restore, 09:40 UTC, is 02:40 in Los Angeles: charts hold wall-clock time marked as UTC."""
    figure = measured_recovery_figure(recovery())
    at = next(row["at"] for row in values(figure.chart) if row.get("label") == "restored")
    assert at % 86_400_000 == (2 * 60 + 40) * 60_000


def test_one_signal_alone_and_one_that_is_not_back():
    event = incident(after_min=120)
    found = measure_recovery({"backlog": event.series(event.waiting, "depth")}, event.trigger, event.restore, ZONE)
    text = check(measured_recovery_figure(found, "the team's export"))
    assert "not in the data, which end 120 min (2 h) after it" in text
    assert "the team's export" in text


def test_four_signals_stay_within_the_size_of_a_chart():
    found = recovery(after_min=4_000)
    check(measured_recovery_figure(replace(found, signals=(*found.signals, found.signals[0]))))


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (1_800, "The prediction holds within 5 %"),
        (2_400, "The service rate was off most: 2,400/min assumed, 1,8"),
        (1_200, "was predicted never to drain"),
    ],
)
def test_a_back_test_shows_both_curves_and_what_was_off(service, words):
    test = back_tested(QueueLoad(RateProfile.constant(1_200), service, 0.0, backlog_before=206_400), observed())
    figure = back_test_figure(test, Clock(ZONE, test.observed.trigger))
    text = check(figure)
    assert words in text
    assert {row.get("what") for row in values(figure.chart)} >= {"measured", "predicted"}
    assert len(figure.table.rows) == 5


def test_a_back_test_of_a_drain_that_is_not_over():
    test = back_tested(
        QueueLoad(RateProfile.constant(1_200), 1_800, 0.0, backlog_before=206_400), observed(after_min=100)
    )
    text = check(back_test_figure(test, Clock(ZONE, test.observed.trigger)))
    assert "not over in the data" in text
