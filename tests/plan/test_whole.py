"""Where the whole plan is worse than today, and by which line: against the recovery of the scenario with those edits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from afterload.estimates import estimate
from afterload.figures.plan import plan_answer, plan_details
from afterload.plan import Plan, build_plan, plan_json, plan_markdown
from afterload.plan.measures import NAMES
from afterload.plan.trackers import github_json
from afterload.plan.whole import mind, worsened, worsened_words
from afterload.plan.worth import CASES, WHOLE, Appraiser
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(estimate(load_scenario(ORDERS)))


@pytest.mark.parametrize("example", ["orders", "checkout-api", "render-fleet", "payments"])
def test_what_is_worse_is_what_the_recovery_with_all_edits_gives(example: str) -> None:
    """Each measure of today against that of the scenario with every open edit, computed anew; none is left out."""
    loaded = load_scenario(f"builtin:scenarios/{example}.yaml")
    found = build_plan(estimate(loaded))
    appraiser = Appraiser.of(loaded)
    assert appraiser is not None
    edits = {item.id: item.edit for item in found.open}
    told = {(item.case, item.part, item.measure): item for item in worsened(found)}
    today, whole = ({case: appraiser.measured(some, case) for case in CASES} for some in ([], list(edits.values())))
    for part, measure in appraiser.measured().rows:
        of_kind = appraiser.measured().parts(measure)
        if measure not in NAMES or (part == WHOLE) == (len(of_kind) > 1):
            continue
        for case in CASES:
            one, other = (float(each[case].values(measure, part)[0]) for each in (today, whole))
            worse = other < one - 1e-3 if measure == "lowest_share" else other > one + max(0.5, 1e-3 * one)
            if worse:
                item = told.get((case, part, measure)) or told[CASES[0], part, measure]
                assert (item.today, item.planned) == (pytest.approx(one), pytest.approx(other))
    for (case, part, measure), item in told.items():
        assert item.cause is not None
        without = [edit for name, edit in edits.items() if name != item.cause.id]
        assert appraiser.measured(without, case).likely(measure, part) == item.without
        # No other line left out makes it better still.
        for name in edits:
            others = [edit for other, edit in edits.items() if other != name]
            value = appraiser.measured(others, case).likely(measure, part)
            assert value is None or measure == "lowest_share" or value >= (item.without or 0.0) - 1e-6


class Made:
    """A plan with the results that it is of."""

    def __init__(self, *overrides: str) -> None:
        self.estimates = estimate(load_scenario(ORDERS, list(overrides)))
        self.plan = build_plan(self.estimates)


def test_a_line_that_makes_the_drain_longer_is_named_everywhere() -> None:
    """The example without work that goes stale: 206,400 items at 600/min are 344 min today. The first three steps of admission
    hold for 5 min each while 1,200/min arrive: 15 + (206,400 + 15 x 1,200) / 600 = 389 min."""
    made = Made("queues.orders.goes_stale_after=none", "recovery_objective=400 min")
    steps = by_id(made.plan, "admission-steps:admission")
    assert steps.status == "to do"
    found = next(item for item in worsened(made.plan) if item.measure == "empty_min")
    assert (found.today, found.planned) == (pytest.approx(344), pytest.approx(389))
    assert found.cause is not None
    assert (found.cause.id, found.without) == (steps.id, pytest.approx(344))
    place = made.plan.about.index(found.cause) + 1
    words = (
        "Worse than today with all open changes together: backlog empty after 389 min, 344 min today. Line "
        f"{place}, recovery by the seven steps of admission on admission, does most of it: the whole plan without it comes to "
        "344 min."
    )
    assert words in worsened_words(made.plan)
    assert words in plan_answer(made.plan).text
    assert words in plan_markdown(made.plan, made.estimates)
    told = mind(made.plan, steps)
    assert "backlog empty after 389 min, 344 min today; without this line 344 min." in told
    assert told in plan_details(made.plan).text
    assert told in plan_details(made.plan).html
    records = {record["id"]: record for record in json.loads(plan_json(made.plan, made.estimates))["changes"]}
    assert records[steps.id]["mind"] == told
    issues = {issue["id"]: issue["body"] for issue in json.loads(github_json(made.plan, {}, "T"))}
    assert f"Mind: {told}" in issues[steps.id]
    assert all("Mind:" not in body for name, body in issues.items() if not mind(made.plan, by_id(made.plan, name)))


def by_id(plan: Plan, name: str) -> Any:
    return next(item for item in plan.items if item.id == name)


def test_a_price_in_work_is_told_too(plan: Plan) -> None:
    """An age limit of the example drops what nobody drops today."""
    found = next(item for item in worsened(plan) if item.measure == "lost")
    assert (found.today, found.without) == (0, 0)
    assert found.cause is not None
    assert found.cause.change == "age-limit"


def test_a_plan_that_is_nowhere_worse_says_nothing() -> None:
    found = build_plan(estimate(load_scenario("builtin:scenarios/payments.yaml")))
    assert worsened(found) == ()
    assert worsened_words(found) == []
    assert "Worse than today" not in plan_answer(found).text
    assert all(mind(found, item) == "" for item in found.items)
