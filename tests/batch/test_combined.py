"""Lines that buy only together, where inputs are uncertain."""

from __future__ import annotations

import pytest

from afterload.batch.combined import _smallest
from afterload.plan.worth import CASES
from afterload.results import Results
from afterload.scenario import load_scenario


def test_uncertain_inputs_are_taken_at_their_likely_values() -> None:
    """Without a draw it comes to what the plan has, whose likely values stand beside a hundred draws."""
    results = Results(load_scenario("builtin:scenarios/render-fleet.yaml"))
    appraisal = results.plan.appraisal
    assert appraisal is not None
    assert appraisal.draws > 0
    today, planned = appraisal.today[CASES[0]].likely("empty_min"), appraisal.planned[CASES[0]].likely("empty_min")
    assert today is not None
    assert planned is not None
    lines = [item for item in results.plan.open if item.edit]
    found = _smallest(results.loaded, lines, "empty_min", 0.999 * (today - planned))
    assert found is not None
    # One line does all that can be done for the drain, and that alone.
    [line] = [item for item in lines if item.id in found["lines"]]
    assert line.worths is not None
    alone = line.worths[CASES[0]].alone
    assert found["bought_min"] == pytest.approx(today - planned) == pytest.approx(alone["empty_min"].bought)
    assert found["stale_bought_min"] == pytest.approx(alone["fresh_min"].bought)
    assert found["lost_more"] == pytest.approx(-(alone["lost"].bought or 0.0))
    assert (found["ends_never"], found["stale_ends_never"]) == (False, False)
