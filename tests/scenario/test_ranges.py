"""Ranges of uncertain values: what is refused says which value, and what would do."""

from __future__ import annotations

import pytest

from afterload.errors import ScenarioError
from afterload.estimates import estimate
from afterload.figures.evidence import evidence_doubts
from afterload.figures.summary import summary
from afterload.resources import resource
from afterload.scenario import load_scenario_text

ORDERS = resource("data", "scenarios", "orders.yaml")
QUEUE = "queues:\n  orders:\n"
ATTEMPTS = "queues.orders.attempts_while_failing"


def ranged(path, low, high):
    text = ORDERS.read_text(encoding="utf-8")
    assert text.count(QUEUE) == 1
    given = text.replace(QUEUE, f"{QUEUE}    attempts_while_failing: 2\n")
    return load_scenario_text(given, ORDERS, {"uncertain": {path: {"low": low, "high": high}}}).ranges[path]


def test_ends_are_read_in_the_unit_of_their_field():
    assert ranged("queues.orders.service_rate", "20/s", "2,000/min") == (1_200, 1_800, 2_000)
    assert ranged("incident.outage", "1 h", "4 h") == (60, 172, 240)
    assert ranged(ATTEMPTS, 1, 3) == (1, 2, 3)


@pytest.mark.parametrize(
    ("path", "low", "high", "words"),
    [
        ("queues.orders.service_rate", "1,900/min", "2,000/min", "value 1,800/min and high 2,000/min are not in order"),
        ("queues.orders.service_rate", "31/s", "2,000/min", "low 31/s, the scenario's value 30/s and high 2,000/min"),
        ("incident.outage", "3 h", "4 h", "low 3 h, the scenario's value 2.86667 h and high 4 h are not in order"),
        ("incident.outage", "PT3H", "4 h", "low PT3H, the scenario's value 172 and high 4 h are not in order"),
        ("queues.orders.servicerate", "1/min", "2/min", "cannot have a range; nearest: queues.orders.service_rate"),
        ("queues.orders.age_limit", "1 min", "2 min", "has no value in the scenario"),
        (ATTEMPTS, 0.5, 3, "low 0.5 is less than one attempt a request; accepted: 1 or more"),
    ],
)
def test_a_range_that_cannot_be_is_refused_with_its_path(path, low, high, words):
    """A request takes one attempt at least: the model refused such a draw in words of its own, and only when it was drawn."""
    with pytest.raises(ScenarioError) as caught:
        ranged(path, low, high)
    assert path in str(caught.value)
    assert words in str(caught.value)


PATH = "queues.orders.service_rate"
RANGE = f"uncertain:\n  {PATH}: {{ low: 1700/min, high: 1850/min%s }}\n"
EVIDENCE = f"evidence:\n  {PATH}: {{ basis: measured, value: 1800/min, file: sent.json }}\n"


@pytest.mark.parametrize("extra", [RANGE % ", of: 1800/min", RANGE % "" + EVIDENCE])
def test_a_range_of_a_value_that_was_changed_since_is_left_out_and_said(extra):
    """An import wrote 1,800/min with its range: who then types 2,000/min was told that the three are not in order."""
    text = ORDERS.read_text(encoding="utf-8")
    assert "evidence:\n" not in text
    assert "uncertain:\n" not in text
    loaded = load_scenario_text(f"{text}\n{extra}", ORDERS)
    assert (loaded.ranges, loaded.outdated) == ({PATH: (1_700, 1_800, 1_850)}, {})
    changed = text.replace("service_rate: 1,800/min", "service_rate: 2,000/min")
    assert changed != text
    loaded = load_scenario_text(f"{changed}\n{extra}", ORDERS)
    assert loaded.ranges == {}
    words = "its range, 1700/min to 1850/min, is of 1800/min, which was changed since, so it is left out"
    assert words in loaded.outdated[PATH]
    assert f"Left out: {PATH}: {words}" in " ".join(evidence_doubts(loaded))
    assert any(line.startswith(f"Left out ({PATH}): {words}") for line in summary(estimate(loaded)))


def test_a_range_is_left_out_where_its_value_moved_within_it_or_became_a_profile():
    text = ORDERS.read_text(encoding="utf-8") + "\n" + RANGE % ", of: 1800/min"
    assert load_scenario_text(text.replace("service_rate: 1,800/min", "service_rate: 30/s"), ORDERS).ranges
    assert not load_scenario_text(text.replace("service_rate: 1,800/min", "service_rate: 1,790/min"), ORDERS).ranges
    profile = "{ hour_of_day_per_min: [" + ", ".join(["1200"] * 24) + "] }"
    arrivals = text.replace(PATH, "queues.orders.arrival_rate").replace(
        "arrival_rate: 1,200/min", f"arrival_rate: {profile}"
    )
    assert profile in arrivals
    assert list(load_scenario_text(arrivals, ORDERS).outdated) == ["queues.orders.arrival_rate"]


def test_a_range_that_a_person_wrote_stays_an_error_with_the_way_out():
    text = (ORDERS.read_text(encoding="utf-8") + "\n" + RANGE % "").replace("rate: 1,800/min", "rate: 2,000/min")
    with pytest.raises(ScenarioError, match="give low and high of the new one, or take the range out"):
        load_scenario_text(text, ORDERS)
