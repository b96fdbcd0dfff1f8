"""Find the catalogue's changes and make one team's plan of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

from afterload.errors import InputError, ModelError
from afterload.estimates import Estimates, estimate
from afterload.plan import changes
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem
from afterload.plan.price import NOTHING_PRICED, Net, net_of
from afterload.plan.worth import CASES, WHOLE, Appraisal, Appraiser, Difference, Differences, better, edited, told_part
from afterload.scenario.coupled_schema import Costs
from afterload.slices import Slices, finished

__all__ = ["Order", "Plan", "build_plan", "catalogue", "planning"]

_RANK = {DO: 0, NEEDS_EVIDENCE: 1, IN_PLACE: 2, NOT_HERE: 3}
# The guide's own five changes: of equal worth they stand before what goes with them.
GUIDE = ("standard-retries", "age-limit", "drain-cap", "pause-list", "measure-recovery")
# Minutes bought below this are those of rounding.
ROUNDING_MIN = 1e-6

Order = Literal["guide", "minutes", "effort", "cost"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True)
class Plan:
    """The lines of one team's plan in order, with the catalogue's changes that they belong to.

    ``appraisal`` is the worth of the lines that are to do, in their order; None where the scenario has nothing to couple.
    ``costs`` is what the team gives, for the money of a line.
    """

    items: tuple[PlanItem, ...]
    changes: tuple[Change, ...]
    order: Order = "guide"
    appraisal: Appraisal | None = None
    costs: Costs | None = None

    def change(self, item: PlanItem) -> Change:
        """The catalogue entry of a line."""
        return next(change for change in self.changes if change.id == item.change)

    def effort_days(self, item: PlanItem) -> float:
        """Person-days of a line."""
        return self.change(item).effort_days if item.effort_days is None else item.effort_days

    def net(self, item: PlanItem) -> Net | None:
        """What a year with a line comes to, in the better starting state; None without a cost of stale minutes, or of never.

        Stale minutes are those of the whole: from the restore to first-attempt age at baseline in every queue.
        """
        costs = self.costs
        if costs is None or costs.stale_minute is None or item.worths is None or item.status != DO:
            return None
        alone = [item.worths[case].alone for case in CASES]
        if any(part["fresh_min"].ended or part["fresh_min"].endless for part in alone):
            return None
        nets = [_net(part, self.effort_days(item), item, costs) for part in alone]
        return max(nets, key=lambda net: net.amount)

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
            bought a person-day; ``cost``: what a year with it saves less what it costs, by the scenario's ``costs``: see
            :class:`afterload.plan.price.Net`. Whatever the order, a line that buys no minutes comes after those of its
            rank that do, and one that makes no measure better after all others. Minutes are those of the drain, and in
            ``cost`` those that have a price: stale ones.
        draws: draws of uncertain inputs; None for the usual number.

    Raises :class:`InputError` for another order, and for ``cost`` where the scenario gives no costs.
    """
    return finished(planning(estimates, order, draws))


def planning(estimates: Estimates, order: Order = "guide", draws: int | None = None) -> Slices[Plan]:
    """The same in slices, most of them of some hundredths of a second. Parameters and errors as for :func:`build_plan`."""
    costs = estimates.loaded.scenario.costs
    if order == "cost" and (costs is None or costs.stale_minute is None):
        raise InputError("the order cost needs costs.stale_minute in the scenario, and costs.person_day for the effort")
    if order not in ORDERS:
        raise InputError(f"the order of a plan cannot be {order!r}; known: {', '.join(ORDERS)}")
    appraiser = Appraiser.of(estimates.loaded) if draws is None else Appraiser.of(estimates.loaded, draws)
    yield
    lines: list[tuple[Change, PlanItem]] = []
    for change in catalogue():
        found = list(change.items(estimates))
        above = [
            item.edit for other, item in lines if other.id in change.sized_after and item.status == DO and item.edit
        ]
        if above and any(item.status == DO for item in found):
            sized = change.items(estimate(edited(estimates.loaded, above)))
            found = [_sized(item, usual) for item, usual in zip(sized, found, strict=True)]
        if not found:
            found = [PlanItem(change.id, "", NOT_HERE, "The scenario has nothing that this change is about.")]
        lines += [(change, item) for item in found]
        yield
    rank = _ranker(order, costs or NOTHING_PRICED)
    ranked = []
    for change, item in lines:
        measures: list[Differences] = []
        if appraiser is not None and item.status == DO and item.edit and not appraiser.refusal(item.edit):
            for case in CASES:
                measures.append(appraiser.alone(item.edit, case))
                yield
        ranked.append((rank(change, item, measures), item))
    items = _sized_last([item for _, item in sorted(ranked, key=lambda line: line[0])])
    if appraiser is None:
        return Plan(tuple(items), catalogue(), order, costs=costs)
    places = [place for place, item in enumerate(items) if item.status == DO]
    appraisal = yield from appraiser.appraising([items[place].edit for place in places])
    for number, place in enumerate(places):
        if number in appraisal.failed:
            raise ModelError(f"the change {items[place].id} does not fit the scenario: {appraisal.failed[number]}")
        if items[place].edit:
            items[place] = replace(items[place], worths=appraisal.worths[number])
    return Plan(tuple(items), catalogue(), order, appraisal, costs)


def _sized(item: PlanItem, usual: PlanItem) -> PlanItem:
    """A line as it is with others in place, which ``usual`` is without them."""
    if item.evidence == usual.evidence:
        return item
    # With them it may be needed no more, and is not in place either.
    status = NOT_HERE if item.status == IN_PLACE else item.status
    return replace(item, status=status, evidence=f"With the retry changes above in place: {item.evidence}")


def _sized_last(items: list[PlanItem]) -> list[PlanItem]:
    """The lines with those that are sized after others below the last of these."""
    after = {change.id: change.sized_after for change in catalogue() if change.sized_after}
    for item in [each for each in items if each.change in after and each.status == DO]:
        last = max(
            (at for at, each in enumerate(items) if each.change in after[item.change] and each.status == DO), default=0
        )
        place = items.index(item)
        if place < last:
            items.insert(last, items.pop(place))
    return items


Rank = tuple[float, float, int, float, float, bool, str, str]


def _ranker(order: Order, costs: Costs) -> Callable[[Change, PlanItem, Sequence[Differences]], Rank]:
    measure = "fresh_min" if order == "cost" else "empty_min"

    def rank(change: Change, item: PlanItem, measures: Sequence[Differences]) -> Rank:
        status = float(_RANK[item.status])
        gains = [of_case[told_part(of_case, measure, item.target)][measure].gain for of_case in measures]
        gain = max(gains, default=0.0)
        # What buys another measure than minutes stands between what buys minutes and what buys nothing.
        moves = any(better(part) for of_case in measures for part in of_case.values())
        kind = 0 if gain > ROUNDING_MIN else 1 if moves else 2
        tie = (change.id not in GUIDE, change.id, item.target)
        if order == "guide":
            return change.order, status, kind, -round(gain, 6), 0.0, *tie
        days = change.effort_days if item.effort_days is None else item.effort_days
        worth = gain if order == "minutes" else gain / max(days, 0.1)
        if order == "cost":
            nets = [_net(of_case[WHOLE], days, item, costs) for of_case in measures]
            worth = max((net.amount for net in nets), default=-days * costs.person_day)
        # Rounded, since the order in which a file lists its parts moves the last digits of a sum.
        return 0.0, status, kind, -round(worth, 6), -round(gain, 6), *tie

    return rank


def _net(measures: Mapping[str, Difference], days: float, item: PlanItem, costs: Costs) -> Net:
    more_lost = -(measures["lost"].bought or 0.0)
    return net_of(measures["fresh_min"].gain, more_lost, days, item.headroom, costs)
