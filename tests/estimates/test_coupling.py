"""A scenario as one coupled system: what can be uncertain, and what was assumed is said."""

import pytest

from afterload.chapters import Workbook
from afterload.coupling import UNCERTAIN, couple
from afterload.scenario import load_scenario
from afterload.scenario.ranges import RANGED

ORDERS = "builtin:scenarios/orders.yaml"


def test_what_can_have_a_range_is_what_the_model_can_vary():
    assert {part: set(fields) for part, fields in UNCERTAIN.items() if part != "incident"} == {
        part: set(fields) for part, fields in RANGED.items()
    }


def test_an_assumption_of_the_coupled_model_is_shown():
    loaded = load_scenario(ORDERS, {"clients": {}, "call_stacks": {}})
    coupling = couple(loaded)
    assert coupling is not None
    assert [doubt.text for doubt in coupling.doubts] != []
    shown = Workbook(loaded).recovery_answer().text
    for doubt in coupling.doubts:
        assert doubt.text in shown


def test_the_example_couples_to_its_closed_form():
    estimate = Workbook(load_scenario(ORDERS)).recovery
    assert estimate is not None
    assert estimate.today.result.drain_min[0, 0] == pytest.approx(344)
