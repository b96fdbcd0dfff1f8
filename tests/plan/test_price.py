"""Money of a line, by hand: unit-hours, amounts, a year's net, and where they stand."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.plan.test_catalogue import LASTING, MISSING, STAYS, fleet, one

from afterload.figures.plan import plan_details, plan_table
from afterload.plan import build_plan, plan_csv, plan_json, plan_markdown
from afterload.plan.price import Headroom, headroom_words, net_of
from afterload.plan.trackers import github_json
from afterload.plan.wording import money_words, worth
from afterload.scenario.coupled_schema import Costs

Make = Callable[..., Any]
COSTS = {
    "stale_minute": 50, "person_day": 800, "instance_hour": "0.1", "consumer_hour": 0.02, "capacity_hour": 0.00065,
    "currency": "EUR",
}  # fmt: skip


def costs(**fields: Any) -> Costs:
    return Costs.model_validate({"currency": "EUR", **fields})


def test_a_month_has_730_hours() -> None:
    head = Headroom("instance", 13)
    # 13 x 730 h = 9,490 h, at 0.136 an hour.
    assert head.unit_hours_month == 9_490
    assert head.cost_month(costs(instance_hour=0.136)) == pytest.approx(1_290.64)
    assert head.cost_month(costs(consumer_hour=1)) is None
    assert (
        headroom_words(head, None)
        == "13 instances more, 9,490 hours of one a month: give costs.instance_hour to see the money."
    )
    assert headroom_words(head, costs(instance_hour=0.136)).endswith("1,291 EUR a month at 0.136 EUR an hour.")
    assert headroom_words(Headroom("instance", 1), None).startswith("1 instance more, 730 hours")


@pytest.mark.parametrize(
    ("fields", "amount"),
    [
        # 104 min at 50 a minute, less 2 days at 800.
        ({"stale_minute": 50, "person_day": 800}, 104 * 50 - 2 * 800),
        # Three events a year save three times as much; the effort is spent once.
        ({"stale_minute": 50, "person_day": 800, "events_a_year": 3}, 3 * 104 * 50 - 2 * 800),
        # 200 items dropped more than today, at 2 each.
        ({"stale_minute": 50, "lost_item": 2}, 104 * 50 - 200 * 2),
        # 10 instances for 12 months of 730 h at 0.1.
        ({"stale_minute": 50, "instance_hour": 0.1}, 104 * 50 - 10 * 730 * 12 * 0.1),
    ],
)
def test_a_year_by_hand(fields: dict[str, float], amount: float) -> None:
    net = net_of(104, 200, 2, Headroom("instance", 10), costs(**fields))
    assert net.amount == pytest.approx(amount)
    assert (net.headroom is None) == ("instance_hour" not in fields)


class TestLines:
    def test_consumers_that_are_added_are_counted_at_once(self, make: Make) -> None:
        made = make(**one(**LASTING), costs=COSTS)
        item = made.line("more-consumers:queues.q")
        # (2,060 - 1,800)/min x 2 s.
        assert item.headroom == Headroom("consumer", pytest.approx(260 * 2 / 60))
        hours = 260 * 2 / 60 * 730
        assert money_words(made.plan, item) == (
            f"Headroom of 8.67 items at once more, {hours:,.0f} hours of one a month: {hours * 0.02:,.0f} EUR a month at "
            f"0.02 EUR an hour. Effort: 800 EUR. A year of 1 such event saves "
            f"{104 * 50 - 800 - 12 * hours * 0.02:,.0f} EUR net, with 104 stale minutes fewer in each."
        )

    def test_on_a_fleet_they_are_instances(self, make: Make) -> None:
        made = make(**one(**LASTING, fleet="f"), **fleet(running=90, needed=90))
        # 90 instances for 1,800/min are 103 for 2,060.
        assert made.line("more-consumers:queues.q").headroom == Headroom("instance", 13)
        assert "13 instances more" in money_words(made.plan, made.line("more-consumers:queues.q"))

    def test_instances_and_capacity(self, make: Make) -> None:
        assert make(**fleet(**MISSING)).line("provisioned-capacity:fleets.f").headroom == Headroom("instance", 3_000)
        # 4,200/min instead of 3,000/min are 20 a second.
        made = make(**STAYS)
        item = made.line("dependency-headroom:dependencies.table")
        assert item.headroom == Headroom("capacity", pytest.approx(20))
        assert "give costs.capacity_hour to see the money" in money_words(made.plan, item)

    def test_without_costs_there_is_no_money_and_without_headroom_no_words(self, make: Make) -> None:
        made = make(**one(**LASTING))
        assert money_words(made.plan, made.line("drain-cap:queues.q")) == ""
        assert "costs.consumer_hour" in money_words(made.plan, made.line("more-consumers:queues.q"))
        done = make(**fleet(running=3600, needed=3600), costs=COSTS)
        assert money_words(done.plan, done.line("provisioned-capacity:fleets.f")) == ""

    def test_a_drain_that_never_ended_has_no_price(self, make: Make) -> None:
        made = make(**STAYS, costs=COSTS)
        item = made.line("dependency-headroom:dependencies.table")
        assert made.plan.net(item) is None
        assert "net" not in money_words(made.plan, item)

    def test_page_files_and_trackers_say_the_same(self, make: Make) -> None:
        made = make(**one(**LASTING), costs=COSTS)
        item = made.line("more-consumers:queues.q")
        words = money_words(made.plan, item)
        details = plan_details(made.plan)
        assert words in details.text
        assert words in details.html
        assert f"Money: {words}" in plan_markdown(made.plan, made.estimates)
        body = next(issue["body"] for issue in json.loads(github_json(made.plan, {}, "T")) if issue["id"] == item.id)
        assert f"Money: {words}" in body
        record = next(r for r in json.loads(plan_json(made.plan, made.estimates))["changes"] if r["id"] == item.id)
        hours = 260 * 2 / 60 * 730
        assert record["headroom_unit"] == "consumer"
        assert record["headroom_unit_hours_month"] == pytest.approx(hours, abs=1e-5)
        assert record["headroom_cost_month"] == pytest.approx(hours * 0.02, abs=1e-5)
        assert (record["effort_cost"], record["currency"]) == (800, "EUR")
        assert record["stale_bought_min"] == pytest.approx(104)
        assert record["net_year"] == pytest.approx(104 * 50 - 800 - 12 * hours * 0.02, abs=1e-4)
        row = next(r for r in csv.DictReader(io.StringIO(plan_csv(made.plan), newline="")) if r["id"] == item.id)
        assert float(row["headroom_cost_month"]) == record["headroom_cost_month"]
        assert float(row["stale_bought_min"]) == record["stale_bought_min"]


def test_the_order_by_cost_turns_with_the_price_of_headroom(make: Make) -> None:
    """Superseded work buys 34 min for 3 days, consumers 104 min for 1 day: what they cost in a year decides."""

    def first(**fields: Any) -> str:
        made = make(**one(**LASTING, supersedable_share=0.1), costs={**COSTS, "person_day": 100, **fields})
        plan = build_plan(made.estimates, "cost")
        return next(item.change for item in plan.open if item.change in ("more-consumers", "superseded"))

    # 104 x 50 - 100 - 12 x 126.5 = 3,582 against 34.4 x 50 - 300 = 1,420.
    assert first() == "more-consumers"
    # At 0.06 the headroom costs 4,555 a year.
    assert first(consumer_hour=0.06) == "superseded"
    # Four such events a year pay for it again.
    assert first(consumer_hour=0.06, events_a_year=4) == "more-consumers"
    # 206,400 / 10 items dropped at 1 each are more than the 1,720 that their time is worth.
    assert first(lost_item=1) == "more-consumers"


class TestStaleMinutes:
    """What is priced is the time to first-attempt age at baseline, by the name of the field, and no other drain."""

    def test_fresh_work_first_saves_them_without_a_shorter_drain(self, make: Make) -> None:
        made = make(**one(**LASTING), costs=COSTS)
        item = made.line("fresh-first:queues.q")
        days = made.plan.effort_days(item)
        net = made.plan.net(item)
        # The drain stays at 206,400 / 600 = 344 min. What is younger than 5 min at the restore, 5 x 1,200 items, is worked
        # off at 600/min beside what arrives: fresh age is back after 10 min, 334 min sooner.
        assert (item.today_min, item.planned_min) == (pytest.approx(344), pytest.approx(344))
        assert net.stale_min == pytest.approx(334)
        assert net.amount == pytest.approx(334 * 50 - days * 800)
        # The plan's table, its Markdown and its files show both, with prices and without.
        priceless = make(**one(**LASTING))
        for shown in (made, priceless):
            (row,) = [line for line in plan_table(shown.plan).rows if line[1].startswith("Fresh work first")]
            assert row[4:6] == ("334 min", "0 min")
            assert "| to do | 334 min | 0 min |" in plan_markdown(shown.plan, shown.estimates)
            (line,) = [r for r in csv.DictReader(io.StringIO(plan_csv(shown.plan), newline="")) if r["id"] == item.id]
            assert (float(line["stale_bought_min"]), float(line["bought_min"])) == (pytest.approx(334), 0)
        words = money_words(made.plan, item)
        assert f"saves {334 * 50 - days * 800:,.0f} EUR net, with 334 stale minutes fewer in each." in words
        record = next(r for r in json.loads(plan_json(made.plan, made.estimates))["changes"] if r["id"] == item.id)
        assert (record["stale_bought_min"], record["net_year"]) == (pytest.approx(334), pytest.approx(net.amount))
        first = build_plan(made.estimates, "cost").open[0]
        assert first.change == "fresh-first"

    def test_minutes_of_drain_that_are_not_stale_have_no_price(self, make: Make) -> None:
        """With fresh work first, an age limit drops what was set aside: 334 min of drain, and no stale minute."""
        stale = {**LASTING, "goes_stale_after": "15 min", "order": "fresh_first", "sideline_after": "5 min"}
        made = make(**one(**stale), costs=COSTS)
        item = made.line("age-limit:queues.q")
        assert item.bought_min == pytest.approx(334)
        assert made.plan.net(item).stale_min == pytest.approx(0)
        assert made.plan.net(item).amount == pytest.approx(-made.plan.effort_days(item) * 800)
        assert "Minutes of drain that are not stale have no price." in money_words(made.plan, item)

    def test_the_order_by_cost_falls_by_the_net_of_its_lines(self, make: Make) -> None:
        """Of the lines that save stale minutes or make another measure better, each after those with more."""
        made = make(**one(**LASTING, supersedable_share=0.1), costs=COSTS)
        plan = build_plan(made.estimates, "cost")
        nets = [net.amount for item in plan.open if (net := plan.net(item)) is not None and net.stale_min > 1e-6]
        assert len(nets) >= 3
        assert nets == sorted(nets, reverse=True)


def test_work_that_a_shorter_drain_costs_stands_in_the_first_sentence(make: Make) -> None:
    item = make(**one(**{**LASTING, "goes_stale_after": "15 min"})).line("age-limit:queues.q")
    first = worth(item).split(". ")[0]
    assert "Buys 314 min of drain" in first
    assert "at the price of 188,400 items expired or discarded, no items today" in first
    assert "Serving fresh work first brings fresh age back without dropping anything" in item.price


def test_with_fresh_first_what_was_set_aside_expires(make: Make) -> None:
    """What the line says of both together: only the last 5 min of 1,200 a minute are left to serve."""
    stale = {**LASTING, "goes_stale_after": "15 min", "order": "fresh_first", "sideline_after": "5 min"}
    item = make(**one(**stale)).line("age-limit:queues.q")
    assert item.planned_min == pytest.approx(5 * 1_200 / 600)
    assert item.worths is not None
    lost = next(iter(item.worths.values())).alone["lost"].after
    assert lost == pytest.approx(1_200 * (172 - 5))
    assert "what was set aside is what expires" in item.price
