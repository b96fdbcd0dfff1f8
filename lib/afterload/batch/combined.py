"""Changes that buy only together: where two queues each need one, either alone buys the team nothing."""

from __future__ import annotations

from typing import Any

from afterload.plan import Plan, PlanItem
from afterload.plan.worth import CASES, Appraiser, Difference, Measured
from afterload.scenario import LoadedScenario

__all__ = ["first_together"]

# Minutes below this are those of rounding.
ROUNDING_MIN = 1e-6


def first_together(loaded: LoadedScenario, plan: Plan) -> dict[str, Any] | None:
    """The first open changes of a plan, in its order, that buy together what none of them buys alone.

    Told only of a measure that the whole plan makes better and no line alone does: minutes stale, else minutes of drain.
    They are the lines down to the first whose place in the plan makes it better, without those that it gets better without.

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
        if any(_gains(item, measure) for item in lines):
            return None
        if _better(today, planned, measure):
            return _smallest(loaded, lines, measure)
    return None


def _gains(item: PlanItem, measure: str) -> bool:
    return item.worths is not None and _is_better(item.worths[CASES[0]].alone[measure])


def _is_better(difference: Difference) -> bool:
    return difference.ended or (difference.bought or 0.0) > ROUNDING_MIN


def _better(before: Measured, after: Measured, measure: str) -> bool:
    return _is_better(_difference(before, after, measure))


def _difference(before: Measured, after: Measured, measure: str) -> Difference:
    return Difference(before.likely(measure), after.likely(measure), None, None)


def _smallest(loaded: LoadedScenario, lines: list[PlanItem], measure: str) -> dict[str, Any] | None:
    # Likely values alone: the same as in the plan, without its draws.
    appraiser = Appraiser.of(loaded, draws=0)
    if appraiser is None:
        return None
    today = appraiser.measured()
    kept: list[PlanItem] = []
    for item in lines:
        kept.append(item)
        if _better(today, appraiser.measured([each.edit for each in kept]), measure):
            break
    else:
        return None
    for item in list(kept):
        rest = [each for each in kept if each is not item]
        if rest and _better(today, appraiser.measured([each.edit for each in rest]), measure):
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
