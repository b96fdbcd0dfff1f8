"""What a change of the plan is, and one line of the plan: a change at one place of one team's system."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from afterload.estimates import Estimates
from afterload.findings.phrases import counted, quoted, where
from afterload.units import format_minutes, format_share

__all__ = [
    "COUPLED",
    "DO",
    "IN_PLACE",
    "NEEDS_EVIDENCE",
    "NOT_HERE",
    "Change",
    "PlanItem",
    "counted",
    "failing",
    "minutes_bought",
    "quoted",
    "share",
    "where",
    "worth",
]

DO, NEEDS_EVIDENCE, IN_PLACE, NOT_HERE = "to do", "needs evidence", "in place", "does not apply"
COUPLED = "Minutes need the coupled model."


@dataclass(frozen=True)
class PlanItem:
    """One line of the plan.

    ``today_min`` and ``planned_min`` are minutes from the restore to an empty backlog without and with the change;
    None where the closed forms give none. ``bounds`` is the quantity that the change bounds, ``price`` what it costs.
    """

    change: str
    target: str
    status: str
    evidence: str
    bounds: str = ""
    price: str = ""
    today_min: float | None = None
    planned_min: float | None = None
    owner: str = ""
    apply: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Stable name of the line: the same change at the same place keeps it over reruns."""
        return f"{self.change}:{self.target}" if self.target else self.change

    @property
    def bought_min(self) -> float | None:
        """Minutes of recovery that the change buys; 0 where it buys none, None where they are not known."""
        if self.today_min is None or self.planned_min is None:
            return None
        return max(0.0, self.today_min - self.planned_min)

    @property
    def cost_min(self) -> float | None:
        """Minutes of recovery that the change costs; 0 where it costs none, None where they are not known."""
        if self.today_min is None or self.planned_min is None:
            return None
        return max(0.0, self.planned_min - self.today_min)


@dataclass(frozen=True)
class Change:
    """An entry of the catalogue: one module of :mod:`afterload.plan.changes`, found by itself.

    ``order`` is its place in the guide; ``items`` gives its lines for one team.
    """

    id: str
    order: int
    title: str
    why: str
    exercise: str
    reference: str
    items: Callable[[Estimates], Iterable[PlanItem]]


def worth(item: PlanItem) -> str:
    """What a line buys, in words: minutes, or what it bounds, and always the price."""
    parts = []
    bought, cost = item.bought_min, item.cost_min
    if bought is not None and cost is not None and item.today_min is not None and item.planned_min is not None:
        change = f"({format_minutes(item.today_min)} to {format_minutes(item.planned_min)})"
        if bought > 0:
            parts.append(f"Buys {format_minutes(bought)} of drain {change}.")
        elif cost > 0:
            parts.append(f"Costs {format_minutes(cost)} of drain {change}.")
        else:
            parts.append(f"Buys no minutes here: the drain stays at {format_minutes(item.today_min)}.")
    parts += [text for text in (item.bounds, item.price) if text]
    return " ".join(parts)


def minutes_bought(item: PlanItem) -> str:
    """The minutes of a line for a table: bought or cost, or where else its worth stands."""
    if item.status != DO:
        return ""
    if item.bought_min is None or item.cost_min is None:
        return "see worth"
    return f"costs {format_minutes(item.cost_min)}" if item.cost_min > 0 else format_minutes(item.bought_min)


def share(value: float) -> str:
    """A share in percent that is "0 %" or "100 %" only where it is just that."""
    if 0 < value < 5e-5:
        return "under 0.01 %"
    return "over 99.9 %" if 0.9995 <= value < 1 else format_share(value)


def failing(probability: float) -> str:
    """How many attempts fail, as a clause: "40 % of attempts fail", "every attempt fails"."""
    if probability in (0, 1):
        return "every attempt fails" if probability else "no attempt fails"
    return f"{share(probability)} of attempts fail"
