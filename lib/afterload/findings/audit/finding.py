"""What a finding of the audit is: a setting that costs something in a recovery, with its number, and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from afterload.findings.audit.steps import Steps
from afterload.findings.phrases import counted
from afterload.units import format_count, format_minutes, format_number, format_rate

if TYPE_CHECKING:
    from afterload.findings.audit.facts import Facts

__all__ = ["SEVERITIES", "UNITS", "Cost", "Finding", "Gap", "Rule", "Severity"]

Severity: TypeAlias = Literal["high", "medium", "low", "info"]
Unit: TypeAlias = Literal["min", "items", "items/min", "deliveries", "attempts", "instances", "concurrent", "times"]

SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low", "info")
# What each unit counts. Findings of one severity are in this order of units, since numbers of two units do not compare.
UNITS: dict[Unit, str] = {
    "min": "minutes",
    "items": "items of work",
    "items/min": "items a minute above what was tested",
    "deliveries": "extra deliveries",
    "attempts": "attempts",
    "instances": "instances",
    "concurrent": "invocations at once that do not fit",
    "times": "times the usual load of a target",
}


@dataclass(frozen=True)
class Cost:
    """What a setting costs this team in a recovery.

    Attributes:
        words: the arithmetic in words, with every number that went in.
        amount: the result, 0 or more; None where it cannot be computed.
        unit: unit of ``amount``.
        missing: the input that is missing where it cannot be computed: a field of the scenario, or an export.
    """

    words: str = ""
    amount: float | None = None
    unit: Unit = "items"
    missing: str = ""

    @property
    def short(self) -> str:
        """The number with its unit, or the input that is missing."""
        if self.amount is None:
            return f"needs {self.missing}" if self.missing else "see details"
        if self.unit == "min":
            return format_minutes(self.amount)
        if self.unit == "items/min":
            return format_rate(self.amount)
        if self.unit == "times":
            return f"{format_number(self.amount)} times"
        if self.unit == "attempts":
            return "1 attempt" if self.amount == 1 else f"{format_number(self.amount)} attempts"
        if self.unit == "deliveries":
            return "1 delivery" if round(self.amount) == 1 else f"{format_count(self.amount)} deliveries"
        if self.unit == "concurrent":
            return f"{format_count(self.amount)} at once"
        return counted(self.amount, self.unit.removesuffix("s"))

    @property
    def sentence(self) -> str:
        """The whole, for the details."""
        if self.amount is None and self.missing:
            return f"{self.words} Not computed: it needs {self.missing}.".strip()
        return self.words


@dataclass(frozen=True)
class Finding:
    """One setting at one place that costs something in a recovery.

    Attributes:
        rule: id of its rule.
        target: the part of the scenario (``queues.orders``) or the resource (``mapping UUID``) that it is about.
        severity: high: work is lost, a dependency is pushed down or capacity is removed; medium: the recovery takes longer
            or does work twice; low: little at stake here, or the stake is not known; info: nothing to change yet.
        seen: the setting and its value.
        where: file, place and date of the export, or line of the scenario.
        cost: what it costs here.
        steps: how to change it and how to undo that.
        quota: the sums behind advice on concurrency.
        note: what else to know before changing it.
    """

    rule: str
    target: str
    severity: Severity
    seen: str
    where: str
    cost: Cost
    steps: Steps
    quota: str = ""
    note: str = ""

    @property
    def id(self) -> str:
        """Stable name of the finding: the same rule at the same place keeps it over reruns."""
        return f"{self.rule}:{self.target}"

    @property
    def place(self) -> tuple[int, int, float, str]:
        """Sorts findings: severity, cost (larger first, unknown last), name."""
        unit = list(UNITS).index(self.cost.unit) if self.cost.amount is not None else len(UNITS)
        return SEVERITIES.index(self.severity), unit, -(self.cost.amount or 0.0), self.id


@dataclass(frozen=True)
class Gap:
    """A check that could not be made.

    Attributes:
        rule: id of the rule.
        target: what would have been checked.
        missing: the export or the field of the scenario that is missing.
        command: a command that gives it; empty where it is a field.
    """

    rule: str
    target: str
    missing: str
    command: str = ""


@dataclass(frozen=True)
class Rule:
    """An entry of the audit's catalogue: one module of :mod:`afterload.findings.audit.rules`, found by itself.

    Attributes:
        id: its name, as in the ids of its findings.
        title: the fault in a few words.
        why: why it matters in a recovery.
        reference: where that is documented.
        find: gives the findings, and the checks that could not be made.
    """

    id: str
    title: str
    why: str
    reference: str
    find: Callable[[Facts], Iterator[Finding | Gap]]
