"""Records: their form, and that their numbers are those of the packet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bs4 import BeautifulSoup

from afterload.batch.index import index_html, index_json
from afterload.batch.portfolio import build_portfolio
from afterload.estimates import estimate
from afterload.figures.answer import answer
from afterload.plan import build_plan
from afterload.plan.objectives import verdicts
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.resources import resource
from afterload.scenario import load_scenario
from afterload.units import format_minutes

SCHEMA = json.loads(resource("data", "record.schema.json").read_text(encoding="utf-8"))
SHARED = """
shared:
  account: 012345678901
  region: us-east-1
"""


def test_records_have_the_form_of_the_schema(records: list[dict[str, Any]]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for record in records:
        text = json.dumps(record, allow_nan=False)
        jsonschema.validate(json.loads(text), SCHEMA)


def test_the_schema_names_every_field(records: list[dict[str, Any]]) -> None:
    def names(schema: dict[str, Any], value: Any) -> None:
        if isinstance(value, dict) and "properties" in schema:
            # The batch adds the parts of a packet that failed, where there are any.
            assert set(schema["properties"]) - {"failures"} == set(value)
            for name, part in value.items():
                names(schema["properties"][name], part)
        elif isinstance(value, list):
            for part in value:
                names(schema["items"], part)

    for record in records:
        names(SCHEMA, record)


def test_orders_has_the_numbers_of_its_packet(make_record: Callable[..., dict[str, Any]]) -> None:
    record = make_record("builtin:scenarios/orders.yaml")
    results = record["results"]
    # Planning guide: 172 min at 1,200 a minute, drained at 600 a minute to spare; five layers of three tries.
    assert results["fresh_min"] == pytest.approx(344)
    assert results["multiplier"] == pytest.approx(3**5)
    assert (record["id"], results["worst_queue"], results["slowest_fleet"]) == ("orders", "orders", "checkout-api")
    # 3,000 instances, 100 a request: 1,000 s in the buckets and 150 s until each serves; docs/model.md section 4.
    assert results["launch_min"] == pytest.approx(1_150 / 60)
    queue = record["shares"]["queues"][0]
    assert (queue["backlog"], queue["arrivals_from_min"], queue["arrivals_per_min"]) == (206_400, [0], [1_200])
    # Little's law: 1,800 a minute of 2 s each.
    assert queue["drain_concurrency"] == pytest.approx(60)
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    assert [item["words"] for item in record["verdicts"]] == [item.words for item in verdicts(estimate(loaded))]
    assert record["met"] is all(item.met for item in verdicts(estimate(loaded)))


HEAD = """\
team: T
time_zone: UTC
recovery_objective: 60 min
incident: {name: outage, trigger: "2026-03-01T10:00Z", restored_at: "2026-03-01T12:00Z"}
"""
QUEUE = "queues:\n  q: {arrival_rate: 100/min, service_rate: 150/min}\n"
TABLE = "dependencies:\n  table: {tested_rate: 600/min, direct_rate: 300/min}\n"


@pytest.mark.parametrize(
    ("parts", "peak", "lost"), [(QUEUE, None, 0.0), (TABLE, 300.0, None), (QUEUE + TABLE, 300.0, 0.0)]
)
def test_a_number_of_what_a_team_does_not_have_is_not_there(
    make_record: Callable[..., dict[str, Any]], tmp_path: Path, parts: str, peak: float | None, lost: float | None
) -> None:
    """0 attempts at no dependency would be a result, and the best of all teams: in the record, and in the index over them."""
    (tmp_path / "t.yaml").write_text(HEAD + parts, "utf-8")
    record = make_record(tmp_path / "t.yaml")
    jsonschema.validate(json.loads(json.dumps(record, allow_nan=False)), SCHEMA)
    assert record["results"]["couples"]
    # Direct traffic alone, at its own rate.
    assert (record["results"]["peak_attempts_per_min"], record["results"]["lost"]) == (peak, lost)
    before = {**record, "results": {**record["results"], "peak_attempts_per_min": 200.0}}
    previous = json.loads(index_json(build_portfolio([before], [])))
    document = json.loads(index_json(build_portfolio([record], [], previous)))
    assert document["teams"][0]["results"]["peak_attempts_per_min"] == peak
    page = BeautifulSoup(index_html(build_portfolio([record], [], previous)), "html.parser")
    assert "None" not in " ".join(part.get_text() for part in page.find_all(["h1", "h2", "p", "td", "th", "li"]))


def test_what_a_line_saves_is_the_plans_own_number(make_record: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """docs/plan.md: an age limit buys 314 min by dropping 188,400 items: 50 x 314 - 0.02 x 188,400 EUR in one event."""
    file = tmp_path / "team.yaml"
    text = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
    costs = "\ncosts: {stale_minute: 50, lost_item: 0.02, events_a_year: 4, currency: EUR}\n"
    file.write_text(text + costs, encoding="utf-8")
    record = make_record(file)
    lines = {line["id"]: line for line in record["plan"]}
    age = lines["age-limit:queues.orders"]
    assert age["stale_bought_min"] == pytest.approx(314)
    assert age["lost_more"] == pytest.approx(188_400)
    assert age["saves"] == pytest.approx(15_700 - 3_768)
    plan = build_plan(estimate(load_scenario(file)))
    nets = {item.id: plan.net(item) for item in plan.open}
    assert {key: line["saves"] for key, line in lines.items()} == {
        key: None if net is None else pytest.approx(net.saved / 4) for key, net in nets.items()
    }
    assert record["costs"]["lost_item"] == 0.02
    # Fresh work first makes first-attempt age good 334 min sooner, empties no backlog sooner, and drops nothing.
    fresh = lines["fresh-first:queues.orders"]
    assert (fresh["stale_bought_min"], fresh["bought_min"], fresh["lost_more"]) == (pytest.approx(334), 0, 0)


@pytest.mark.parametrize("served", ["150/min", "150.4/min"])
def test_a_change_is_worth_its_minutes_at_its_own_queue(
    make_record: Callable[..., dict[str, Any]], tmp_path: Path, served: str
) -> None:
    """Two queues, equal or nearly so: mending one leaves the other as late, and is worth what it is to the one."""
    file = tmp_path / "team.yaml"
    queue = "{ service: sqs-lambda, arrival_rate: 100/min, service_rate: 150/min, goes_stale_after: 15 min }"
    file.write_text(
        "team: Two\ntime_zone: UTC\nrecovery_objective: 60 min\nincident: { name: outage, trigger: 2026-03-01T10:00Z, "
        f"restored_at: 2026-03-01T12:00Z }}\nqueues:\n  a: {queue}\n  b: {queue.replace('150/min', served)}\n",
        encoding="utf-8",
    )
    record = make_record(file)
    # 120 min at 100 a minute, drained at 50 to spare.
    assert record["results"]["fresh_min"] == pytest.approx(240)
    assert record["results"]["planned_fresh_min"] < 60
    lines = {line["id"]: line for line in record["plan"]}
    for name, spare in (("a", 50.0), ("b", float(served.removesuffix("/min")) - 100)):
        # An age limit drops what is older than 15 min, and the first 15 min of arrivals drain at what is to spare.
        limit = lines[f"age-limit:queues.{name}"]
        assert limit["bought_min"] == pytest.approx((12_000 - 1_500) / spare, abs=0.02)
        assert limit["stale_bought_min"] == pytest.approx((12_000 - 1_500) / spare, abs=0.02)
        assert limit["lost_more"] == pytest.approx(100 * 105)
    # Fresh work first buys more of stale processing at either.
    assert [(item["line"], item["part"]) for item in record["first"]] == [
        ("fresh-first:queues.a", "queues.a"), ("fresh-first:queues.b", "queues.b"),
    ]  # fmt: skip


def test_arrivals_of_a_record_are_those_of_the_day(make_record: Callable[..., dict[str, Any]]) -> None:
    record = make_record("builtin:scenarios/render-fleet.yaml")
    queue = next(item for item in record["shares"]["queues"] if item["name"] == "thumbnails")
    loaded = load_scenario("builtin:scenarios/render-fleet.yaml")
    hourly = loaded.scenario.queues["thumbnails"].arrival_rate.hour_of_day_per_min
    assert hourly is not None
    # Restored at 9:10: each hour of the record has 50 min of one rate and 10 min of the next.
    rates = dict(zip(queue["arrivals_from_min"], queue["arrivals_per_min"], strict=True))
    assert rates[0.0] == pytest.approx((50 * hourly[9] + 10 * hourly[10]) / 60)
    assert rates[300.0] == pytest.approx((50 * hourly[14] + 10 * hourly[15]) / 60)
    assert queue["arrivals_from_min"][-1] == 48 * 60
    assert queue["arrivals_per_min"][-1] == pytest.approx(sum(hourly) / 24)


@pytest.mark.parametrize(
    ("given", "limit", "source"),
    [("", 1_000, "published default"), ("  concurrency: 5,000\n", 5_000, "scenario")],
)
def test_where_the_limit_of_an_account_comes_from(
    make_record: Callable[..., dict[str, Any]], tmp_path: Path, given: str, limit: int, source: str
) -> None:
    file = tmp_path / "team.yaml"
    text = resource("data", "scenarios", "checkout-api.yaml").read_text(encoding="utf-8")
    file.write_text(text + SHARED + given, encoding="utf-8")
    shares = make_record(file)["shares"]
    assert (shares["account"], shares["region"]) == ("012345678901", "us-east-1")
    assert (shares["concurrency"], shares["concurrency_source"]) == (limit, source)


def test_the_limit_of_an_account_from_an_export(make_record: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    settings = {"AccountLimit": {"ConcurrentExecutions": 2500, "UnreservedConcurrentExecutions": 2400}}
    (tmp_path / "account.json").write_text(json.dumps(settings), encoding="utf-8")
    file = tmp_path / "team.yaml"
    text = resource("data", "scenarios", "checkout-api.yaml").read_text(encoding="utf-8")
    exports = "\nexports:\n  - { file: account.json, exported_at: 2026-05-01T00:00Z }\n"
    file.write_text(text + SHARED + exports, encoding="utf-8")
    shares = make_record(file)["shares"]
    assert (shares["concurrency"], shares["concurrency_source"]) == (2_500, "export")


@pytest.mark.parametrize("name", ["payments", "render-fleet"])
def test_every_percentile_is_the_one_of_the_packet(make_record: Callable[..., dict[str, Any]], name: str) -> None:
    """Index, JUnit, gate and the packet's first page say one number for one quantity."""
    path = f"builtin:scenarios/{name}.yaml"
    record, loaded = make_record(path), load_scenario(path)
    estimates, recovery = estimate(loaded), estimate_recovery(couple(loaded))
    results = record["results"]
    page = answer(estimates, build_plan(estimates), recovery).text
    low, high = format_minutes(results["fresh_p10_min"]), format_minutes(results["fresh_p90_min"])
    assert results["draws"] == recovery.draws == 1_000
    assert f"back at baseline {low} (P10) to {high} (P90)" in page
    assert f"{low} to {high} P10 to P90 until fresh work is on time" in page
    [gate] = [item for item in verdicts(estimates) if item.level == "P90"]
    [own] = [item for item in record["verdicts"] if item["level"] == "P90"]
    assert (own["words"], own["value"]) == (gate.words, pytest.approx(gate.value, abs=1e-6))
    assert results["fresh_p90_min"] == own["value"]
    assert high in gate.words
    assert f"at P90 the objective of {format_minutes(gate.limit)} is {'met' if gate.met else 'missed'}" in page
    if len(estimates.queues) == 1:
        [spread] = recovery.fresh.values()
        assert results["fresh_p10_min"] == pytest.approx(spread.p10, abs=1e-6)
        assert results["fresh_p90_min"] == pytest.approx(spread.p90, abs=1e-6)
