"""A scenario's telemetry from files to findings and sentences: an incident with a known course comes out as it was."""

from __future__ import annotations

import json

import pytest
from tests.findings.incident import incident

from afterload.chapters import Workbook
from afterload.errors import InputError
from afterload.findings.telemetry import measure
from afterload.scenario import load_scenario


@pytest.fixture(scope="module")
def truth():
    return incident(seed=7)


def write(folder, truth, entries, service_rate="1,800/min"):
    clocks = [int(truth.start.timestamp()) + 60 * minute for minute in range(len(truth.arrived))]
    columns = {"sent": truth.arrived, "deleted": truth.served, "waiting": truth.waiting, "age": truth.age_s}
    columns |= {"errors": truth.error_rate, "calls": truth.arrived, "tries": 3 * truth.arrived}
    lines = [",".join(["time", *columns])]
    lines += [",".join(str(value) for value in row) for row in zip(clocks, *columns.values(), strict=True)]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    scenario = {
        "team": "T", "time_zone": "UTC", "recovery_objective": "240 min",
        "incident": {"name": "E", "trigger": truth.trigger.isoformat(), "restored_at": truth.restore.isoformat()},
        "queues": {"q": {"arrival_rate": "1,200/min", "service_rate": service_rate}},
        "telemetry": entries,
    }  # fmt: skip
    path = folder / "t.yaml"
    path.write_text(json.dumps(scenario))
    return load_scenario(path)


def entry(series, signal, **more):
    return {"file": "metrics.csv", "series": series, "signal": signal, **more}


ALL = [
    entry("sent", "arrivals", queue="q", unit="count"),
    entry("deleted", "served", queue="q", unit="count"),
    entry("waiting", "backlog", queue="q"),
    entry("age", "first_attempt_age", queue="q"),
    entry("errors", "errors"),
    entry("calls", "requests", unit="count"),
    entry("tries", "attempts", unit="count", layer="SDK"),
]


def test_drain_age_and_back_test_come_out_as_they_were(tmp_path, truth):
    measured = measure(write(tmp_path, truth, ALL))
    queue = next(item for item in measured.queues if item.name == "q")
    assert queue.why_not == ()
    assert queue.drain.drain_min == pytest.approx(truth.drained_min, rel=0.05)
    assert queue.recovery.of("first-attempt age").back_min == pytest.approx(truth.drained_min, rel=0.05)
    assert queue.drain.service.mean == pytest.approx(1_800, rel=0.02)
    assert queue.test.predicted.drain_min == pytest.approx(truth.drained_min, rel=0.05)
    team = next(item for item in measured.queues if item.name == "")
    assert 15 <= team.recovery.of("error rate").back_min <= 30
    (layer,) = measured.layers
    assert (layer.name, layer.outage.per_request) == ("SDK", pytest.approx(3))


def test_a_wrong_assumption_is_named(tmp_path, truth):
    queue = measure(write(tmp_path, truth, ALL, service_rate="2,400/min")).queues[0]
    assert queue.test.off == "service rate"
    # Closed form: the backlog over 1,200/min to spare instead of 600/min.
    assert queue.test.predicted.drain_min == pytest.approx(truth.drained_min / 2, rel=0.05)


def test_the_chapter_says_it_in_words(tmp_path, truth):
    workbook = Workbook(write(tmp_path, truth, ALL, service_rate="2,400/min"))
    text = workbook.measured_answer().text
    assert "q: first-attempt age was back at its baseline" in text
    assert "the objective of 240 min (4 h) was missed by" in text
    assert "the service rate was off most: 2,400/min assumed" in text
    assert workbook.throughput().rows[0][0] == "q"
    assert workbook.measured_attempts().rows[0][:3] == ("SDK", "3", "3")
    assert workbook.measured_signals().title
    assert workbook.back_test().title


def test_what_is_missing_is_said_and_the_rest_is_measured(tmp_path, truth):
    measured = measure(write(tmp_path, truth, [ALL[0], ALL[3], ALL[6]]))
    (queue, team) = measured.queues
    assert queue.why_not == ("the drain of q needs telemetry of served, backlog",)
    assert queue.recovery is not None
    assert team.recovery is None
    assert "need telemetry of requests" in measured.why_not[0]


def test_without_telemetry_a_plain_sentence(tmp_path, truth):
    workbook = Workbook(write(tmp_path, truth, []))
    assert "names no telemetry" in workbook.measured_answer().text
    assert "No drain was measured" in workbook.back_test().text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"series": "sentt"},
            r"telemetry\.0\.series: 'sentt' is not in metrics\.csv; nearest: sent; it has sent, deleted",
        ),
        ({"series": "none"}, r"telemetry\.0: metrics\.csv has 7 series, so say which"),
        ({"unit": None}, "its statistic is unknown"),
    ],
)
def test_a_series_that_cannot_be_told_is_asked_for(tmp_path, truth, change, words):
    entries = [{**ALL[0], **change}, *ALL[1:3]]
    loaded = write(tmp_path, truth, entries)
    if "unit" in change:
        assert words in measure(loaded).queues[0].why_not[0]
        return
    with pytest.raises(InputError, match=words):
        measure(loaded)


def test_a_file_that_is_no_metrics_names_the_entry(tmp_path, truth):
    loaded = write(tmp_path, truth, ALL[:1])
    (tmp_path / "metrics.csv").write_text("hello\n")
    with pytest.raises(InputError, match=r"t\.yaml: telemetry\.0\.file: .*metrics\.csv"):
        measure(loaded)
