"""What a value rests on: evidence that still fits, evidence that does not, sources, defaults, overrides."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from afterload.errors import OverrideError, ScenarioError
from afterload.resources import resource
from afterload.scenario import load_scenario
from afterload.scenario.evidence import same_value, standing

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
EVIDENCE = """
evidence:
  queues.orders.arrival_rate:
    basis: measured
    value: 1,200/min
    file: exports/sent.json
    place: MetricDataResults[0]
    exported_at: 2025-10-21T09:00Z
  queues.orders.service_rate: { basis: measured, value: "2,000/min", file: sent.json }
  queues.orders.retention: { basis: default, value: 4 days, source: service documentation }
  incident.trigger: { basis: guessed, value: "2025-10-19T23:48-07:00" }
"""


@pytest.fixture
def loaded(tmp_path):
    path = tmp_path / "orders.yaml"
    path.write_text(ORDERS + EVIDENCE)
    return load_scenario(path)


def test_measured_values_name_file_place_and_date(loaded):
    seen = standing(loaded, "queues.orders.arrival_rate")
    assert (seen.basis, seen.value) == ("measured", "1,200/min")
    assert seen.where == "exports/sent.json MetricDataResults[0]"
    assert seen.exported_at == datetime(2025, 10, 21, 9, tzinfo=UTC)
    assert seen.age_days(datetime(2025, 10, 31, 21, tzinfo=UTC)) == 10.5


def test_a_value_changed_since_is_not_measured(loaded):
    seen = standing(loaded, "queues.orders.service_rate")
    assert seen.basis == "changed"
    assert "sent.json has 2,000/min" in seen.where


@pytest.mark.parametrize(
    ("path", "basis", "where"),
    [
        ("queues.orders.retention", "default", "service documentation"),
        ("incident.trigger", "guessed", ""),
        ("queues.orders.item_time", "stated", "worked example of the planning guide, hypothetical"),
        ("dependencies.orders-table.tested_rate", "stated", "hypothetical load test"),
        ("fleets.checkout-api.running", "guessed", "orders.yaml line"),
        ("queues.orders.age_limit", "default", "not given"),
        ("call_stacks.checkout.layers.browser.tries", "stated", "worked example of the planning guide, hypothetical"),
    ],
)
def test_bases(loaded, path, basis, where):
    seen = standing(loaded, path)
    assert seen.basis == basis
    assert where in seen.where


def test_overrides_are_of_this_run_alone(tmp_path):
    path = tmp_path / "orders.yaml"
    path.write_text(ORDERS + EVIDENCE)
    seen = standing(load_scenario(path, ["queues.orders.arrival_rate=1200/min"]), "queues.orders.arrival_rate")
    assert seen.basis == "overridden"


def test_unknown_paths_are_refused(loaded):
    with pytest.raises(OverrideError, match=r"nearest: queues\.orders"):
        standing(loaded, "queues.order.arrival_rate")


@pytest.mark.parametrize(
    ("keys", "one", "other", "same"),
    [
        (("queues", "orders", "arrival_rate"), "1,200/min", "20/s", True),
        (("queues", "orders", "arrival_rate"), "1,200/min", "1,201/min", False),
        (("queues", "orders", "age_limit_s"), 900, "900", True),
        (("queues", "orders", "age_limit"), "15 min", "900 s", True),
        (("queues", "orders", "service"), "sqs-lambda", "other", False),
        (("fleets", "checkout-api", "running"), 600, "600", True),
        (("queues", "orders", "drain_cap"), {"concurrency": 4}, {"concurrency": 4}, True),
    ],
)
def test_same_values_in_other_words(keys, one, other, same):
    assert same_value(keys, one, other) is same


def test_evidence_for_nothing_is_refused(tmp_path):
    path = tmp_path / "orders.yaml"
    path.write_text(ORDERS + "evidence:\n  queues.orders.arival_rate: { basis: guessed, value: 1/min }\n")
    with pytest.raises(ScenarioError, match=r"is evidence for nothing: .*nearest: queues\.orders\.arrival_rate"):
        load_scenario(path)


def test_files_of_exports_and_telemetry_must_exist_and_count_in_the_digest(tmp_path):
    path = tmp_path / "orders.yaml"
    path.write_text(
        ORDERS + "exports:\n  - file: queues.json\ntelemetry:\n  - { file: age.csv, signal: first_attempt_age }\n"
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert [problem.field for problem in caught.value.problems] == ["exports.0.file", "telemetry.0.file"]
    (tmp_path / "queues.json").write_text("{}")
    (tmp_path / "age.csv").write_text("at,age\n")
    first = load_scenario(path)
    assert first.file("queues.json") == tmp_path / "queues.json"
    (tmp_path / "age.csv").write_text("at,age \n")
    assert load_scenario(path).digest != first.digest


def test_telemetry_of_a_queue_that_is_not_there(tmp_path):
    path = tmp_path / "orders.yaml"
    (tmp_path / "age.csv").write_text("at,age\n")
    path.write_text(ORDERS + "telemetry:\n  - { file: age.csv, signal: backlog, queue: order }\n")
    with pytest.raises(ScenarioError, match="'order' is not one of the queues; nearest: orders"):
        load_scenario(path)
