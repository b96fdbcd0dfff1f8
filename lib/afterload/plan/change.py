"""What a change of the plan is, and one line of the plan: a change at one place of one team's system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from afterload.estimates import Estimates
from afterload.findings.phrases import counted, quoted, where
from afterload.plan.price import Headroom
from afterload.plan.worth import CASES, Difference, Edit, Worth, gain_of
from afterload.units import format_share

__all__ = [
    "DO",
    "IN_PLACE",
    "NEEDS_EVIDENCE",
    "NOT_HERE",
    "Change",
    "Place",
    "PlanItem",
    "counted",
    "failing",
    "owner_of",
    "per_min_text",
    "quoted",
    "seconds_text",
    "share",
    "slug",
    "where",
]

DO, NEEDS_EVIDENCE, IN_PLACE, NOT_HERE = "to do", "needs evidence", "in place", "does not apply"


@dataclass(frozen=True)
class PlanItem:
    """One line of the plan.

    Attributes:
        change, target, status: which change, at which part of the scenario, and how far it is.
        evidence: what the scenario shows, and where.
        bounds: what the change bounds that the recovery's measures do not show.
        price: what it costs beside what the measures show: latency, money, attention.
        owner: who carries it out.
        apply, undo: commands.
        terraform: the same as a Terraform snippet, where there is one.
        edit: the scenario's values with the change, by path: what its worth is computed from. Empty: no number of the
            recovery changes.
        effort_days: person-days; None for those of the change.
        headroom: capacity that it adds and that idles until a recovery, for its price in money; None where it adds none.
        worths: what it is worth in each starting state, once that was computed.
    """

    change: str
    target: str
    status: str
    evidence: str
    bounds: str = ""
    price: str = ""
    owner: str = ""
    apply: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    terraform: tuple[str, ...] = ()
    edit: Edit = field(default_factory=dict)
    effort_days: float | None = None
    headroom: Headroom | None = None
    worths: Mapping[str, Worth] | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """Stable name of the line: the same change at the same place keeps it over reruns."""
        return f"{self.change}:{self.target}" if self.target else self.change

    def told(self, name: str) -> tuple[str, Difference] | None:
        """The part of which a time is told as the scenario starts, and the time without and with the change alone.

        None if not computed. See :func:`afterload.plan.worth.told_part`.
        """
        return None if self.worths is None else self.worths[CASES[0]].told(name, self.target)

    @property
    def drain(self) -> Difference | None:
        """Minutes from the restore to an empty backlog without and with the change alone, of the queue that it is told of."""
        told = self.told("empty_min")
        return None if told is None else told[1]

    @property
    def stale(self) -> Difference | None:
        """The same of minutes from the restore to first-attempt age at baseline."""
        told = self.told("fresh_min")
        return None if told is None else told[1]

    @property
    def today_min(self) -> float | None:
        """Minutes to an empty backlog today; None for never, or if not computed."""
        return None if self.drain is None else self.drain.before

    @property
    def planned_min(self) -> float | None:
        """The same with the change alone."""
        return None if self.drain is None else self.drain.after

    @property
    def bought_min(self) -> float | None:
        """Minutes of recovery that the change buys; 0 where it buys none, None where that is no number."""
        bought = None if self.drain is None else self.drain.bought
        return None if bought is None else max(0.0, bought)

    @property
    def cost_min(self) -> float | None:
        """Minutes of recovery that the change costs; 0 where it costs none, None where that is no number."""
        bought = None if self.drain is None else self.drain.bought
        return None if bought is None else max(0.0, -bought)

    @property
    def shortens(self) -> bool:
        """True if a drain ends sooner with it, alone or in its place, in some starting state."""
        return self.worths is not None and any(
            gain_of(way, "empty_min") > 0
            for whole in self.worths.values()
            for worth in whole.where("empty_min").values()
            for way in (worth.alone, worth.cumulative)
        )

    @property
    def buys(self) -> bool:
        """True if it makes a measure of the recovery better in some starting state."""
        return self.worths is not None and any(worth.buys for worth in self.worths.values())


@dataclass(frozen=True)
class Change:
    """An entry of the catalogue: one module of :mod:`afterload.plan.changes`, found by itself.

    Attributes:
        id: stable name.
        order: its place in the guide's order of change, 1 to 5; 6 for what the guide leaves to the team.
        title, why: what to do, and why it matters in a recovery.
        exercise: how to see that it worked.
        reference: where the advice and its figures come from.
        items: gives its lines for one team.
        effort_days: usual person-days for one line.
        risk: what can go wrong with it.
        sized_after: changes whose lines stand above its own in every order, and are in place in the scenario that ``items`` gets.
    """

    id: str
    order: int
    title: str
    why: str
    exercise: str
    reference: str
    items: Callable[[Estimates], Iterable[PlanItem]]
    effort_days: float
    risk: str
    sized_after: tuple[str, ...] = ()


def owner_of(estimates: Estimates, part: object = None) -> str:
    """Who carries out a change of a part of the scenario: its owner, else the team's."""
    return getattr(part, "owner", None) or estimates.loaded.scenario.owner or "no owner yet"


@dataclass(frozen=True)
class Place:
    """The part of a scenario that lines of a change are about: its kind, its name, and what of it may have an owner."""

    change: str
    estimates: Estimates
    kind: str
    name: str
    part: object = None

    def where(self, *field: str) -> str:
        """Where the part, or a field of it, came from."""
        return where(self.estimates.loaded, self.kind, self.name, *field)

    def _line(self, status: str, evidence: str, **details: Any) -> PlanItem:
        owner = owner_of(self.estimates, self.part)
        return PlanItem(self.change, f"{self.kind}.{self.name}", status, evidence, owner=owner, **details)

    def do(self, evidence: str, **details: Any) -> PlanItem:
        """A line that is to do, with the other fields of :class:`PlanItem`."""
        return self._line(DO, evidence, **details)

    def in_place(self, evidence: str) -> PlanItem:
        """A line that is done already."""
        return self._line(IN_PLACE, evidence)

    def asks(self, evidence: str) -> PlanItem:
        """A line that needs evidence first."""
        return self._line(NEEDS_EVIDENCE, evidence)

    def not_here(self, evidence: str) -> PlanItem:
        """A line that does not apply."""
        return self._line(NOT_HERE, evidence)


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


def seconds_text(minutes: float) -> str:
    """A duration as an edit of a scenario writes it: "900 s"."""
    return f"{round(minutes * 60, 6):.15g} s"


def per_min_text(rate_per_min: float) -> str:
    """A rate as an edit of a scenario writes it: "600/min"."""
    return f"{round(rate_per_min, 6):.15g}/min"


def slug(text: str) -> str:
    """A name as Terraform takes it for a resource: letters, digits and underscores, no digit first."""
    name = "".join(char if char.isascii() and char.isalnum() else "_" for char in text).strip("_").lower() or "this"
    return f"r_{name}" if name[0].isdigit() else name
