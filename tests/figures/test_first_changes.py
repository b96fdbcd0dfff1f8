"""The first changes of the front page, and the lines of the plan behind their summaries."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from afterload.estimates import estimate
from afterload.figures.answer import answer
from afterload.figures.plan import plan_details, plan_table
from afterload.plan import DO, Plan, PlanItem, build_plan
from afterload.plan.first import first_changes
from afterload.plan.wording import short_worth
from afterload.plan.worth import CASES
from afterload.scenario import load_scenario
from afterload.units import format_minutes


@pytest.fixture(scope="module", params=["orders", "checkout-api", "render-fleet", "payments"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return build_plan(estimate(load_scenario(f"builtin:scenarios/{request.param}.yaml")), draws=2)


def firsts(plan: Plan, **objectives: float) -> list[PlanItem]:
    return [first.item for first in first_changes(plan, objectives or {"fresh": 240.0})]


def test_the_first_line_and_what_buys_most_are_among_them(plan: Plan) -> None:
    shown = firsts(plan)
    assert len(shown) == 3
    assert shown[0] == plan.open[0]
    timed = [item for item in plan.open if item.bought_min]
    if timed:
        assert max(item.bought_min or 0.0 for item in timed) == max(item.bought_min or 0.0 for item in shown)
    sentences = [short_worth(item) for item in shown]
    assert len(set(sentences)) == 3
    assert not any("with or without it" in text for text in sentences)


def test_the_example_begins_with_its_call_stack() -> None:
    estimates = estimate(load_scenario("builtin:scenarios/orders.yaml"))
    text = answer(estimates, build_plan(estimates)).text
    assert (
        "1. Standard retry mode on every client, retries at one layer only (call_stacks.checkout, line 1 of the plan)."
        in text
    )
    assert "Brings first-attempt age back to baseline after 10 min, 344 min today." in text
    assert text.count("none of these alone makes the backlog drain") == 1
    assert "Buys no minutes here" not in text


def first_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if re.match(r"\d\. ", line)]


def test_each_of_them_shows_its_price_or_the_loss_beside_its_gain(plan: Plan) -> None:
    # The words of the changes are those of their plan, whatever the scenario beside it.
    estimates = estimate(load_scenario("builtin:scenarios/orders.yaml"))
    for item, line in zip(firsts(plan), first_lines(answer(estimates, plan).text), strict=True):
        if item.status != DO:
            continue
        assert line.count("Price: ") + line.count(" at the price of ") == 1
        timed = item.worths is not None and any(
            part.ended or (part.bought or 0.0) > 0 for part in (item.drain, item.stale) if part is not None
        )
        waits = item.worths is None or any(part.before != 0 for part in (item.drain, item.stale) if part is not None)
        if item.edit and item.worths is None:
            continue
        assert ("Buys no minutes" in line) == (not timed and waits)


COLLAPSING = {
    "team": "T", "time_zone": "UTC", "recovery_objective": "120 min",
    "incident": {"name": "E", "trigger": "2026-09-14T09:10Z", "restored_at": "2026-09-14T10:45Z"},
    "dependencies": {"table": {"tested_rate": "58/s", "direct_rate": "5/s"}},
    "queues": {"q": {"arrival_rate": "40/s", "service_rate": "55/s", "item_time": "300 ms", "goes_stale_after": "20 min",
                     "dependency": "table"}},
    "call_stacks": {"up": {"failure_probability": "90 %", "dependency": "table", "request_rate": "5/s", "layers": [
        {"name": "app", "tries": 3}, {"name": "gateway", "tries": 2}, {"name": "sdk", "tries": 4}]}},
}  # fmt: skip


def test_a_price_without_minutes_is_told(tmp_path: Path) -> None:
    """Where the backlog never drains an age limit expires all of it, and the front page told only of its bound."""
    path = tmp_path / "t.yaml"
    path.write_text(json.dumps(COLLAPSING), encoding="utf-8")
    estimates = estimate(load_scenario(path))
    plan = build_plan(estimates, draws=2)
    lines = first_lines(answer(estimates, plan).text)
    retries, limit, cap = lines
    # 1 - 0.9**24 and 1 - 0.9**4 of the calls succeed.
    assert retries.endswith(
        "Price: the share of calls that succeed at the top "
        f"falls from {100 * (1 - 0.9**24):.0f} % to {100 * (1 - 0.9**4):.1f} % at this failure probability."
    )
    item = next(item for item in plan.open if item.change == "age-limit")
    assert item.worths is not None
    # Nothing is served: what comes, 40 a second, expires without an end.
    alone = item.worths[CASES[0]].alone
    assert (alone["lost"].after, alone["lost_per_min"].after) == (None, pytest.approx(2_400))
    assert "Does not make the backlog drain." in limit
    since = format_minutes(alone["holds_from_min"].after or 0.0)
    assert limit.endswith(
        f"Price: 2,400/min of items from {since} after the restore on expired or discarded, no items today."
    )
    assert "Brings the drain from never to" in cap
    assert "Buys no minutes" not in cap


def test_the_table_leads_to_the_section_of_each_line(plan: Plan) -> None:
    links = re.findall(r'<a href="#([^"]+)">', plan_table(plan).to_html())
    html = plan_details(plan).html
    assert links == re.findall(r'<section class="af-change" id="([^"]+)">', html)
    assert len(links) == len(plan.about)
    assert html.count("<details") == html.count("</details>") == len(plan.about)
    assert len(set(re.findall(r"<summary>(.*?)</summary>", html))) == len(plan.about)
