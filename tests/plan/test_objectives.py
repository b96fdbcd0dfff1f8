"""Objectives against the coupled recovery: closed forms, levels, words and JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from afterload.errors import InputError
from afterload.estimates import estimate
from afterload.plan.compare import Snapshot
from afterload.plan.objectives import junit, read_objective, verdicts
from afterload.plan.worth import measured_recovery
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.scenario import load_scenario


def of(made, **objectives):
    return {(item.name, item.level): item for item in verdicts(made.estimates, objectives)}


def test_the_scenarios_own_objective_by_the_closed_form(queue):
    # 206,400 items at 600/min to spare take 344 min (model.md section 1); the objective of the head is 240 min.
    (verdict,) = verdicts(queue().estimates)
    assert (verdict.name, verdict.subject, verdict.limit) == ("fresh", "queues.q", 240)
    assert verdict.value == pytest.approx(344)
    assert not verdict.met
    assert verdict.words == "BROKEN: fresh of queues.q: 344 min, objective 240 min"


@pytest.mark.parametrize(("limit", "met"), [(343.9, False), (344, True), (400, True)])
def test_at_the_limit_is_met(queue, limit, met):
    assert of(queue(), drain=limit)["drain", "likely"].met is met


def test_never_meets_nothing(queue):
    verdict = of(queue(service_rate="1,200/min"), drain=1e9)["drain", "likely"]
    assert verdict.value is None
    assert "never, objective" in verdict.words


def test_losses_and_attempts(queue):
    made = queue(age_limit="15 min")
    assert of(made, lost=188_399)["lost", "likely"].met is False
    assert of(made, lost=188_400)["lost", "likely"].met is True
    # 1,800/min of drain beside 600/min of direct traffic.
    assert of(made, attempts=2_400)["attempts", "likely"].met is True


def test_stacks_and_fleets_by_name():
    made = estimate(load_scenario("builtin:scenarios/orders.yaml"))
    found = {item.name: item for item in verdicts(made, {"multiplier": 243, "launch": 19})}
    assert found["multiplier"].met
    assert found["multiplier"].subject == "call_stacks.checkout"
    assert not found["launch"].met
    assert found["launch"].value == pytest.approx(1000 / 60 + 2.5)


def test_verdicts_have_the_draws_of_the_packet(make):
    """One number a quantity: what a gate says at P90 is what the recovery chapter shows, and the same on every way."""
    uncertain = {"queues.q.service_rate": {"low": "1,500/min", "high": "2,400/min"}}
    made = make(queues={"q": {"arrival_rate": "1,200/min", "service_rate": "1,800/min"}}, uncertain=uncertain)
    recovery = estimate_recovery(couple(made.estimates.loaded))
    asked = {"fresh": 344, "drain": 344, "lost": 0, "attempts": 1}
    assert verdicts(made.estimates, asked) == verdicts(made.estimates, asked, recovery)
    found = {(item.name, item.level): item.value for item in verdicts(made.estimates, asked, recovery)}
    assert found["drain", "P90"] == recovery.drain["q"].p90
    assert found["fresh", "P90"] == recovery.fresh["q"].p90
    assert found["drain", "likely"] == pytest.approx(344)
    measured = measured_recovery(made.estimates.loaded)
    assert measured.spread("empty_min") == (recovery.drain["q"].p10, recovery.drain["q"].p90)
    # P90 by its definition: 900 of the 1,000 draws stay within it.
    drains = recovery.drawn.drain_min[:, 0]
    assert len(drains) == recovery.draws == 1_000
    assert (drains <= found["drain", "P90"]).sum() == 900
    # The edges of the verdict are those of that one number.
    at, below = recovery.drain["q"].p90, recovery.drain["q"].p90 - 0.1
    assert of(made, drain=at)["drain", "P90"].met
    assert not of(made, drain=below)["drain", "P90"].met


def test_nine_of_ten_draws_must_meet_it(make):
    fields = {"arrival_rate": "1,200/min", "service_rate": "1,800/min"}
    uncertain = {"queues.q.service_rate": {"low": "1,500/min", "high": "2,400/min"}}
    made = make(queues={"q": fields}, uncertain=uncertain)
    found = of(made, drain=350)
    assert found["drain", "likely"].met
    assert not found["drain", "P90"].met
    assert found["drain", "P90"].value > 350


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("240min", ("fresh", 240)),
        ("4 h", ("fresh", 240)),
        ("drain=6h", ("drain", 360)),
        ("lost = 1,000", ("lost", 1000)),
        ("multiplier=10", ("multiplier", 10)),
        ("attempts=50/s", ("attempts", 3000)),
        ("launch=PT30M", ("launch", 30)),
    ],
)
def test_objectives_are_read_with_their_units(text, read):
    assert read_objective(text) == read


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("240", "has no unit"),
        ("drian=6h", "'drian' is not an objective; nearest: drain; known: fresh, drain"),
        ("lost=few", "'few'"),
        ("attempts=3000", "has no unit"),
        ("=5", "'' is not an objective"),
    ],
)
def test_what_cannot_be_read_is_explained(text, words):
    with pytest.raises(InputError, match=words):
        read_objective(text)


def test_junit_counts_and_escapes(queue):
    text = junit({'a<b>&"\x07.yaml': verdicts(queue().estimates, {"drain": 100, "lost": 5})})
    root = ET.fromstring(text)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert suite.get("name") == 'a<b>&"\ufffd.yaml'
    failed = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["drain (likely)"]
    assert "344 min, objective 100 min" in failed[0].find("failure").get("message")


def test_what_a_scenario_does_not_have_is_not_judged(make, queue):
    """Without a queue nothing drains, and without a dependency nothing gets attempts: neither is met, or broken."""
    asked = {"fresh": 20, "drain": 20, "lost": 0, "attempts": 12_000}
    layers = [{"name": "a", "tries": 1}]
    called = {"table": {"tested_rate": "90,000/min", "direct_rate": "12,000/min"}}
    api = make(dependencies=called, call_stacks={"s": {"layers": layers}})
    assert [item.words for item in verdicts(api.estimates, asked)] == [
        "met: attempts of team: 12,000/min, objective 12,000/min"
    ]
    assert not of(api, attempts=11_999)["attempts", "likely"].met
    assert verdicts(api.estimates) == ()
    alone = queue("dependencies={}", dependency="none")
    assert {item.name for item in verdicts(alone.estimates, asked)} == {"fresh", "drain", "lost"}


def test_a_comparison_tells_no_result_of_what_is_not_there(make):
    layers = [{"name": "a", "tries": 1}]
    called = {"table": {"tested_rate": "90,000/min", "direct_rate": "12,000/min"}}
    api = make(dependencies=called, call_stacks={"s": {"layers": layers}})
    results = Snapshot.of(api.estimates, api.plan).results
    assert results["attempts a minute at the busiest dependency, as the scenario starts"] == "12,000/min"
    assert not any(word in name for name in results for word in ("queue", "items", "capacity"))
