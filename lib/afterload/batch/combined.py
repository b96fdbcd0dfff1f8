"""Changes that buy only together: where a queue needs two of them, either alone buys it little or nothing."""

from __future__ import annotations

import math
from typing import Any

from afterload.plan import Plan, PlanItem
from afterload.plan.worth import CASES, Appraiser, Difference, Measured
from afterload.scenario import LoadedScenario

__all__ = ["first_together"]

# Minutes below this are those of rounding.
ROUNDING_MIN = 1e-6
# A change that alone buys less than this share of what the whole plan buys is no answer to what to do first.
LITTLE = 0.05


def first_together(loaded: LoadedScenario, plan: Plan) -> dict[str, Any] | None:
    """The first open changes of a plan, in its order, that buy together what none of them buys alone.

    Told only of a measure of which the whole plan buys some and every line alone less than a twentieth of that: minutes
    stale, else minutes of drain. They are the lines down to the first with which at least so much is bought, without those
    that are not needed for it.

    Returns ``lines`` (their ids), ``stale_bought_min`` and ``bought_min`` (None: from never, or to never),
    ``stale_ends_never``, ``ends_never`` and ``lost_more`` (items, below zero: fewer) of all of them in place, as the scenario
    starts; None where there are none.
    """
    appraisal = plan.appraisal
    lines = [item for item in plan.open if item.edit]
    if appraisal is None or len(lines) < 2:
        return None
    today, planned = appraisal.today[CASES[0]], appraisal.planned[CASES[0]]
    for measure in ("fresh_min", "empty_min"):
        whole = _gain(_difference(today, planned, measure))
        alone = max((_gain(told[1]) for item in lines if (told := item.told(measure)) is not None), default=0.0)
        if whole > ROUNDING_MIN and alone < LITTLE * whole:
            return _smallest(loaded, lines, measure, LITTLE * whole)
        if alone > ROUNDING_MIN:
            return None
    return None


def _gain(difference: Difference) -> float:
    """Minutes bought; infinite for the end of a never."""
    return math.inf if difference.ended else max(0.0, difference.bought or 0.0)


def _difference(before: Measured, after: Measured, measure: str) -> Difference:
    return Difference(before.likely(measure), after.likely(measure), None, None)


def _smallest(loaded: LoadedScenario, lines: list[PlanItem], measure: str, least: float) -> dict[str, Any] | None:
    # Likely values alone: the same as in the plan, without its draws.
    appraiser = Appraiser.of(loaded, draws=1)
    if appraiser is None:
        return None
    today = appraiser.measured()

    def is_enough(chosen: list[PlanItem]) -> bool:
        after = appraiser.measured([item.edit for item in chosen])
        return _gain(_difference(today, after, measure)) >= least

    number = next((place for place in range(1, len(lines) + 1) if is_enough(lines[:place])), None)
    if number is None:
        return None
    kept = lines[:number]
    for item in lines[:number]:
        rest = [each for each in kept if each is not item]
        if rest and is_enough(rest):
            kept = rest
    after = appraiser.measured([each.edit for each in kept])
    fresh, drain = _difference(today, after, "fresh_min"), _difference(today, after, "empty_min")
    lost = _difference(today, after, "lost").bought
    return {
        "lines": [item.id for item in kept],
        "stale_bought_min": _bought(fresh),
        "bought_min": _bought(drain),
        "stale_ends_never": fresh.ended,
        "ends_never": drain.ended,
        "lost_more": None if lost is None else round(0.0 - lost, 6),
    }


def _bought(difference: Difference) -> float | None:
    return None if difference.bought is None else round(max(0.0, difference.bought), 6)
