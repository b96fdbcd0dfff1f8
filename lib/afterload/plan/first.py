"""The changes to look at first: those that do most for the objective that is missed, wherever that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from afterload.plan.build import Plan
from afterload.plan.change import DO, NEEDS_EVIDENCE, PlanItem
from afterload.plan.objectives import MEASURE_OF, within
from afterload.plan.worth import CASES, RATES, Difference, Measured, gain_of

__all__ = ["First", "Miss", "first_changes", "misses"]

SHOWN_CHANGES = 3
# Minutes below this are those of rounding.
ROUNDING_MIN = 1e-6


@dataclass(frozen=True)
class Miss:
    """An objective that one part misses as the scenario starts.

    Attributes:
        part, measure: which queue or dependency, and of which measure.
        value: the likely one, or P90 where only that is too much; None for never, and for a count without an end.
        limit: the most that is allowed; None for a dependency that stays down, which no objective needs to forbid.
    """

    part: str
    measure: str
    value: float | None
    limit: float | None


@dataclass(frozen=True)
class First:
    """A line of the plan that comes first, and what for; no ``miss`` where it is the plan's own order.

    Attributes:
        way: every measure of the part that misses it, without and with the line.
        alone: that is with the line alone, else with all lines above it too.
    """

    item: PlanItem
    miss: Miss | None = None
    way: Mapping[str, Difference] = field(default_factory=dict)
    alone: bool = True


def misses(today: Measured, objectives: Mapping[str, float]) -> list[Miss]:
    """Every part that misses an objective, by objective: what has no end first, then what misses it most."""
    found = []
    for name, limit in objectives.items():
        if name not in MEASURE_OF:
            continue
        measure, of_name = MEASURE_OF[name], []
        whole = _worst(today, measure, "")
        if whole is not None and within(whole, limit):
            continue
        for part in today.parts(measure):
            value = _worst(today, measure, part)
            # Of a sum every part counts that is part of it.
            over = value is None or (value > 0 if measure in RATES else not within(value, limit))
            of_name += [Miss(part, measure, value, limit)] if over else []
        found += sorted(of_name, key=lambda miss: -(math.inf if miss.value is None else miss.value))
    down = [part for part in today.parts("collapsed_min") if today.likely("collapsed_min", part) is None]
    return found + [Miss(part, "collapsed_min", None, None) for part in down]


def _worst(today: Measured, measure: str, part: str) -> float | None:
    """The likely value, or P90 where that is more; None for never."""
    values = today.likely(measure, part), today.spread(measure, part)[1]
    return None if None in values else max(value for value in values if value is not None)


def first_changes(plan: Plan, objectives: Mapping[str, float]) -> list[First]:
    """The lines for the front page, in the plan's order.

    For each objective that is missed, the line that alone does most where it is missed, or in its place where none does
    alone; then the plan's first line, the one that alone buys most of a drain, and what follows the first. Lines that are to
    do come before those that need evidence.

    Parameters:
        objectives: limits by name, as :data:`afterload.plan.objectives.OBJECTIVES` has them.
    """
    lines = [item for item in plan.items if item.status == DO] + [i for i in plan.items if i.status == NEEDS_EVIDENCE]
    picked: dict[str, First] = {}
    for miss in misses(plan.appraisal.today[CASES[0]], objectives) if plan.appraisal is not None else ():
        best = _best(plan, miss)
        if best is not None:
            picked.setdefault(best.item.id, best)
    drained = sorted(plan.open, key=lambda item: -item.drain.gain if item.drain is not None else 0.0)[:1]
    buys = [item for item in drained if item.drain is not None and item.drain.gain > ROUNDING_MIN]
    for item in [*lines[:1], *buys, *lines]:
        picked.setdefault(item.id, First(item))
    return sorted(list(picked.values())[:SHOWN_CHANGES], key=lambda first: lines.index(first.item))


def _best(plan: Plan, miss: Miss) -> First | None:
    """The line that does most for what is missed, the first of equal ones; None where none does anything for it."""
    worths = [(item, item.worths[CASES[0]]) for item in plan.open if item.worths is not None]
    parts = [(item, worth.parts.get(miss.part, worth)) for item, worth in worths]
    for is_alone in (True, False):
        found = [First(item, miss, part.alone if is_alone else part.cumulative, is_alone) for item, part in parts]
        best = max(found, key=lambda first: gain_of(first.way, miss.measure), default=None)
        if best is not None and gain_of(best.way, miss.measure) > 0:
            return best
    return None
