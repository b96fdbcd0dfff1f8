"""The price of a change in money: capacity that idles until a recovery, effort, and what a year with it comes to.

No price is built in: what an hour of an instance or of capacity costs is the team's own, in ``costs`` of the scenario.
Without it the unit-hours of a month are told, which any price list turns into money.

What a shorter recovery saves is counted in stale minutes: from the restore to first-attempt age at baseline in every queue. A
minute of drain in which fresh work is on time is not stale and has no price of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from afterload.scenario.coupled_schema import Costs
from afterload.units import format_number

__all__ = ["NOTHING_PRICED", "Headroom", "Net", "headroom_words", "money", "net_of"]

HOURS_A_MONTH = 730.0
MONTHS_A_YEAR = 12
# What is counted: the field of its cost, one, many, and what is told of them.
KINDS: Mapping[str, tuple[str, str, str]] = {
    "instance": ("instance_hour", "instance", "instances"),
    "consumer": ("consumer_hour", "item at once", "items at once"),
    "capacity": ("capacity_hour", "request a second of capacity", "requests a second of capacity"),
}
NOTHING_PRICED = Costs()


@dataclass(frozen=True)
class Headroom:
    """Capacity that a change adds, all the time.

    Attributes:
        kind: a key of :data:`KINDS`.
        units: how many more of them.
    """

    kind: str
    units: float

    @property
    def field(self) -> str:
        """The field of ``costs`` that prices an hour of one unit."""
        return KINDS[self.kind][0]

    @property
    def unit_hours_month(self) -> float:
        """Unit-hours a month, of 730 hours."""
        return self.units * HOURS_A_MONTH

    def cost_month(self, costs: Costs | None) -> float | None:
        """Money a month; None where the team gives no cost of a unit."""
        each: float | None = getattr(costs or NOTHING_PRICED, self.field)
        return None if each is None else self.unit_hours_month * each


@dataclass(frozen=True)
class Net:
    """What a year with a change comes to, in the team's currency.

    Attributes:
        stale_min: stale minutes that it saves in one event; below zero where it costs some.
        saved: stale minutes that it saves in the year's events, less the items that it drops more than today.
        effort: its person-days, once.
        headroom: its capacity for twelve months; None where that is not priced, which counts as nothing.
    """

    stale_min: float
    saved: float
    effort: float
    headroom: float | None

    @property
    def amount(self) -> float:
        """Saved, less effort and headroom; below zero where it costs more than it saves."""
        return self.saved - self.effort - (self.headroom or 0.0)


def net_of(stale_min: float, more_lost: float, days: float, headroom: Headroom | None, costs: Costs) -> Net:
    """A year of a change: ``stale_min`` stale minutes saved and ``more_lost`` items dropped in each event."""
    saved = stale_min * (costs.stale_minute or 0.0) - more_lost * costs.lost_item
    month = None if headroom is None else headroom.cost_month(costs)
    unpriced = headroom is not None and month is None
    year = None if unpriced else MONTHS_A_YEAR * (month or 0.0)
    return Net(stale_min, saved * costs.events_a_year, days * costs.person_day, year)


def money(amount: float, costs: Costs) -> str:
    """An amount with its currency: "1,290 EUR"; amounts of 100 and more without a fraction."""
    return f"{f'{amount:,.0f}' if amount >= 100 else format_number(amount)} {costs.currency}"


def headroom_words(headroom: Headroom, costs: Costs | None) -> str:
    """The capacity added, its unit-hours a month, and their money or the field that would tell it."""
    field, one, many = KINDS[headroom.kind]
    number = format_number(headroom.units) if headroom.units < 1000 else f"{headroom.units:,.0f}"
    words = (
        f"{number} {one if headroom.units == 1 else many} more, {headroom.unit_hours_month:,.0f} hours of one a month"
    )
    month = headroom.cost_month(costs)
    if month is None or costs is None:
        return f"{words}: give costs.{field} to see the money."
    each = getattr(costs, field)
    return f"{words}: {money(month, costs)} a month at {each:,.15g} {costs.currency} an hour."
