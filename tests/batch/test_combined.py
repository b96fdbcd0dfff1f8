"""Lines that buy only together, where inputs are uncertain."""

from __future__ import annotations

from afterload.batch.combined import _smallest
from afterload.results import Results
from afterload.scenario import load_scenario


def test_uncertain_inputs_are_taken_at_their_likely_values() -> None:
    results = Results(load_scenario("builtin:scenarios/render-fleet.yaml"))
    assert results.coupling is not None
    assert results.coupling.ranges
    found = _smallest(results.loaded, list(results.plan.open), "empty_min", 0.0)
    assert found is None or isinstance(found, dict)
    # Again the same: nothing of it is drawn.
    assert found == _smallest(results.loaded, list(results.plan.open), "empty_min", 0.0)
