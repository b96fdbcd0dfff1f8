"""Ranges of uncertain values: what is refused says which value, and what would do."""

from __future__ import annotations

import pytest

from afterload.errors import ScenarioError
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
        ("queues.orders.service_rate", "1,900/min", "2,000/min", "are not in order (1900, 1800, 2000)"),
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
