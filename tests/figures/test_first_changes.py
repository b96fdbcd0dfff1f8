"""The first changes of the front page, and the lines of the plan behind their summaries."""

from __future__ import annotations

import re

import pytest

from afterload.estimates import estimate
from afterload.figures.answer import answer, first_changes
from afterload.figures.plan import plan_details, plan_table
from afterload.plan import Plan, build_plan
from afterload.plan.wording import short_worth
from afterload.scenario import load_scenario


@pytest.fixture(scope="module", params=["orders", "checkout-api", "render-fleet", "payments"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return build_plan(estimate(load_scenario(f"builtin:scenarios/{request.param}.yaml")), draws=2)


def test_the_first_line_and_what_buys_most_are_among_them(plan: Plan) -> None:
    shown = first_changes(plan)
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


def test_the_table_leads_to_the_section_of_each_line(plan: Plan) -> None:
    links = re.findall(r'<a href="#([^"]+)">', plan_table(plan).to_html())
    html = plan_details(plan).html
    assert links == re.findall(r'<section class="af-change" id="([^"]+)">', html)
    assert len(links) == len(plan.about)
    assert html.count("<details") == html.count("</details>") == len(plan.about)
    assert len(set(re.findall(r"<summary>(.*?)</summary>", html))) == len(plan.about)
