"""Which objectives a scenario meets: for a gate in CI, and for whoever asks."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from afterload.errors import InputError, UnitError
from afterload.estimates import Estimates
from afterload.plan.measures import NEVER, WITHOUT_END, amount
from afterload.plan.worth import RATES, Measured, applies, measured_recovery
from afterload.recovery.result import CoupledEstimate
from afterload.scenario.problems import nearest
from afterload.units import (
    format_count,
    format_minutes,
    format_number,
    format_rate,
    read_count,
    read_duration_min,
    read_number,
    read_rate_per_min,
)

__all__ = [
    "MEASURE_OF",
    "OBJECTIVES",
    "Verdict",
    "junit",
    "read_objective",
    "verdicts",
    "within",
    "written",
    "xml_text",
]

# What can be asked for: how its limit is read, and how it is written.
OBJECTIVES: Mapping[str, str] = {
    "fresh": "time from the restore to first-attempt age at baseline, such as 240 min",
    "drain": "time from the restore to an empty backlog",
    "lost": "items expired, discarded or lost, such as 0",
    "multiplier": "calls at the bottom of a call stack for one at the top, such as 10",
    "attempts": "attempts a minute at the busiest dependency, such as 3,000/min",
    "launch": "time from the restore until missing instances serve",
}
MEASURE_OF: Mapping[str, str] = {
    "fresh": "fresh_min",
    "drain": "empty_min",
    "lost": "lost",
    "attempts": "peak_attempts_per_min",
}


@dataclass(frozen=True)
class Verdict:
    """One objective and whether it is met.

    Attributes:
        name: which objective.
        subject: the part of the scenario that it is about.
        limit: the most that is allowed.
        value: what was computed; None for never.
        level: ``likely``, or ``P90`` where inputs are uncertain.
        words: the same in words.
    """

    name: str
    subject: str
    limit: float
    value: float | None
    level: str
    words: str

    @property
    def met(self) -> bool:
        """At or within the limit."""
        return self.value is not None and within(self.value, self.limit)


def within(value: float, limit: float) -> bool:
    """At or within a limit, with room for rounding."""
    return value <= limit * (1 + 1e-9)


def read_objective(text: str) -> tuple[str, float]:
    """Read ``240min`` (first-attempt age), or ``NAME=LIMIT`` such as ``lost=0``.

    Raises :class:`InputError` that says what is accepted.
    """
    name, equals, limit = (part.strip() for part in text.partition("="))
    if not equals:
        name, limit = "fresh", text
    if name not in OBJECTIVES:
        near = nearest(name, OBJECTIVES)
        hint = f"; nearest: {near}" if near else ""
        raise InputError(f"--objective {text}: {name!r} is not an objective{hint}; known: {', '.join(OBJECTIVES)}")
    try:
        if name in ("fresh", "drain", "launch"):
            return name, read_duration_min(limit)
        if name == "attempts":
            return name, read_rate_per_min(limit)
        return name, float(read_count(limit) if name == "lost" else read_number(limit))
    except UnitError as problem:
        raise InputError(f"--objective {text}: {problem}") from None


def verdicts(
    estimates: Estimates, objectives: Mapping[str, float] | None = None, recovery: CoupledEstimate | None = None
) -> tuple[Verdict, ...]:
    """Every objective against the coupled recovery as the scenario starts; the scenario's own where none is given.

    Where inputs are uncertain, an objective is met when nine of ten draws meet it: its P90 counts beside the likely value.
    An objective about what the scenario does not have, such as a drain without a queue, has no verdict.
    The draws are those of ``recovery``, so that a packet and a gate say the same; without it they are drawn here.
    """
    own = {"fresh": estimates.loaded.scenario.recovery_objective_min}
    return tuple(_verdicts(estimates, objectives or own, recovery))


def _verdicts(
    estimates: Estimates, objectives: Mapping[str, float], recovery: CoupledEstimate | None
) -> Iterator[Verdict]:
    measured = None
    told = {name for name in objectives if name in MEASURE_OF and applies(MEASURE_OF[name], estimates.loaded.scenario)}
    if told:
        measured = measured_recovery(estimates.loaded, recovery)
    for name, limit in objectives.items():
        if name in MEASURE_OF:
            if measured is not None and name in told:
                yield from _of_measure(name, limit, measured, estimates)
        elif name == "multiplier":
            for stack in estimates.stacks.values():
                yield _verdict(name, f"call_stacks.{stack.name}", limit, stack.result.multiplier, "likely")
        else:
            for fleet in estimates.fleets.values():
                yield _verdict(name, f"fleets.{fleet.name}", limit, fleet.in_service_min, "likely")


def _of_measure(name: str, limit: float, measured: Measured, estimates: Estimates) -> Iterator[Verdict]:
    subject = "team" if len(estimates.queues) != 1 else f"queues.{next(iter(estimates.queues))}"
    measure = MEASURE_OF[name]
    yield _verdict(name, subject, limit, measured.likely(measure), "likely", amount(measure, measured.of()))
    if measured.table.shape[1] > 1:
        yield _verdict(
            name, subject, limit, measured.spread(measure)[1], "P90", WITHOUT_END if measure in RATES else NEVER
        )


def _verdict(name: str, subject: str, limit: float, value: float | None, level: str, endless: str = "never") -> Verdict:
    verdict = Verdict(name, subject, limit, value, level, "")
    shown = endless if value is None else written(name, value)
    word = "met" if verdict.met else "BROKEN"
    head = f"{name} of {subject}{'' if level == 'likely' else f' ({level})'}"
    return Verdict(name, subject, limit, value, level, f"{word}: {head}: {shown}, objective {written(name, limit)}")


def written(name: str, value: float) -> str:
    """A value or a limit of an objective in its unit."""
    if name in ("fresh", "drain", "launch"):
        return format_minutes(value)
    if name == "attempts":
        return format_rate(value)
    return format_count(value) if name == "lost" else format_number(value)


def junit(verdicts_of: Mapping[str, tuple[Verdict, ...]]) -> str:
    """JUnit XML: one suite a scenario, one case an objective."""
    root = ET.Element("testsuites", name="afterload gate")
    for scenario, items in verdicts_of.items():
        broken = sum(not item.met for item in items)
        suite = ET.SubElement(root, "testsuite", name=xml_text(scenario), tests=str(len(items)), failures=str(broken))
        for item in items:
            case = ET.SubElement(
                suite, "testcase", classname=xml_text(item.subject), name=f"{item.name} ({item.level})", time="0"
            )
            if not item.met:
                ET.SubElement(case, "failure", message=xml_text(item.words)).text = xml_text(item.words)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def xml_text(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(
        char if char in "\t\n" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff" else "�"
        for char in text
    )
