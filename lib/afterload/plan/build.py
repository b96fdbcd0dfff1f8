"""Find the catalogue's changes and make one team's plan of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

from afterload.errors import InputError, ModelError
from afterload.estimates import Estimates
from afterload.plan import changes
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem
from afterload.plan.worth import CASES, Appraisal, Appraiser, Difference
from afterload.scenario.coupled_schema import Costs

__all__ = ["ORDERS", "Order", "Plan", "build_plan", "catalogue"]

_RANK = {DO: 0, NEEDS_EVIDENCE: 1, IN_PLACE: 2, NOT_HERE: 3}
# The guide's own five changes: of equal worth they stand before what goes with them.
GUIDE = ("standard-retries", "age-limit", "drain-cap", "pause-list", "measure-recovery")
# An end to "never" is worth more than any number of minutes.
NEVER_ENDED_MIN = 1e9

Order = Literal["guide", "minutes", "effort", "cost"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True)
class Plan:
    """The lines of one team's plan in order, with the catalogue's changes that they belong to.

    ``appraisal`` is the worth of the lines that are to do, in their order; None where the scenario has nothing to couple.
    """

    items: tuple[PlanItem, ...]
    changes: tuple[Change, ...]
    order: Order = "guide"
    appraisal: Appraisal | None = None

    def change(self, item: PlanItem) -> Change:
        """The catalogue entry of a line."""
        return next(change for change in self.changes if change.id == item.change)

    def effort_days(self, item: PlanItem) -> float:
        """Person-days of a line."""
        return self.change(item).effort_days if item.effort_days is None else item.effort_days

    @property
    def about(self) -> tuple[PlanItem, ...]:
        """The lines that are about something in the scenario, in order."""
        return tuple(item for item in self.items if item.target)

    @property
    def absent(self) -> tuple[Change, ...]:
        """The changes of the catalogue that the scenario has nothing for."""
        return tuple(self.change(item) for item in self.items if not item.target)

    @property
    def open(self) -> tuple[PlanItem, ...]:
        """The lines that are still to be done."""
        return tuple(item for item in self.items if item.status == DO)


@cache
def catalogue() -> tuple[Change, ...]:
    """Every change: one module of :mod:`afterload.plan.changes` each, in the guide's order."""
    names = sorted(module.name for module in pkgutil.iter_modules(changes.__path__))
    found = [importlib.import_module(f"{changes.__name__}.{name}").CHANGE for name in names]
    ids = [change.id for change in found]
    if len(set(ids)) != len(ids):
        raise ModelError(f"two changes share an id: {sorted(ids)}")
    return tuple(sorted(found, key=lambda change: (change.order, change.id)))


def build_plan(estimates: Estimates, order: Order = "guide", draws: int | None = None) -> Plan:
    """Make the plan: what is to do in the chosen order, with the worth of every line, then the rest.

    Parameters:
        estimates: the results for the scenario.
        order: ``guide``: the guide's order of change, then minutes bought; ``minutes``: minutes bought; ``effort``: minutes
            bought a person-day; ``cost``: cost of the stale minutes that it saves in one event less that of its effort, by
            the scenario's ``costs``. Whatever the order, a line that buys nothing comes after those of its rank that do.
        draws: draws of uncertain inputs; None for the usual number.

    Raises :class:`InputError` for another order, and for ``cost`` where the scenario gives no costs.
    """
    if order == "cost" and estimates.loaded.scenario.costs is None:
        raise InputError("the order cost needs costs.stale_minute in the scenario, and costs.person_day for the effort")
    if order not in ORDERS:
        raise InputError(f"the order of a plan cannot be {order!r}; known: {', '.join(ORDERS)}")
    appraiser = Appraiser.of(estimates.loaded) if draws is None else Appraiser.of(estimates.loaded, draws)
    lines: list[tuple[Change, PlanItem]] = []
    for change in catalogue():
        found = list(change.items(estimates))
        if not found:
            found = [PlanItem(change.id, "", NOT_HERE, "The scenario has nothing that this change is about.")]
        lines += [(change, item) for item in found]
    rank = _ranker(order, appraiser, estimates.loaded.scenario.costs)
    lines.sort(key=lambda line: rank(*line))
    items = [item for _, item in lines]
    if appraiser is None:
        return Plan(tuple(items), catalogue(), order)
    places = [place for place, item in enumerate(items) if item.status == DO]
    appraisal = appraiser.appraise([items[place].edit for place in places])
    for number, place in enumerate(places):
        if number in appraisal.failed:
            raise ModelError(f"the change {items[place].id} does not fit the scenario: {appraisal.failed[number]}")
        if items[place].edit:
            items[place] = replace(items[place], worths=appraisal.worths[number])
    return Plan(tuple(items), catalogue(), order, appraisal)


Rank = tuple[float, float, int, float, bool, str, str]


def _ranker(order: Order, appraiser: Appraiser | None, costs: Costs | None) -> Callable[[Change, PlanItem], Rank]:
    def rank(change: Change, item: PlanItem) -> Rank:
        status = _RANK[item.status]
        gains = [0.0]
        if appraiser is not None and item.status == DO and item.edit and not appraiser.refusal(item.edit):
            gains = [_gain(appraiser.alone(item.edit, case)["empty_min"]) for case in CASES]
        gain = max(gains)
        if order == "guide":
            return change.order, float(status), 0, -gain, change.id not in GUIDE, change.id, item.target
        days = change.effort_days if item.effort_days is None else item.effort_days
        worth = gain if order == "minutes" else gain / max(days, 0.1)
        if order == "cost" and costs is not None:
            worth = gain * costs.stale_minute - days * costs.person_day
        return 0.0, float(status), int(gain <= 0), -worth, change.id not in GUIDE, change.id, item.target

    return rank


def _gain(drain: Difference) -> float:
    if drain.ended:
        return NEVER_ENDED_MIN - (drain.after or 0.0)
    bought = drain.bought
    return 0.0 if bought is None else bought
