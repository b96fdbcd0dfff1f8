"""Find the catalogue's changes and make one team's plan of them."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache

from afterload.errors import ModelError
from afterload.estimates import Estimates
from afterload.plan import changes
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem

__all__ = ["Plan", "build_plan", "catalogue"]

_RANK = {DO: 0, NEEDS_EVIDENCE: 1, IN_PLACE: 2, NOT_HERE: 3}


@dataclass(frozen=True)
class Plan:
    """The lines of one team's plan in order, with the catalogue's changes that they belong to."""

    items: tuple[PlanItem, ...]
    changes: tuple[Change, ...]

    def change(self, item: PlanItem) -> Change:
        """The catalogue entry of a line."""
        return next(change for change in self.changes if change.id == item.change)

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


def build_plan(estimates: Estimates) -> Plan:
    """Make the plan: the guide's order, then what is to do before what is in place, then minutes bought."""
    items: list[PlanItem] = []
    for change in catalogue():
        lines = list(change.items(estimates))
        if not lines:
            lines = [PlanItem(change.id, "", NOT_HERE, "The scenario has nothing that this change is about.")]
        items += sorted(lines, key=_rank)
    return Plan(tuple(items), catalogue())


def _rank(item: PlanItem) -> tuple[int, float, str]:
    return _RANK[item.status], -(item.bought_min or 0.0), item.target
