"""Two scenarios side by side: what differs in the inputs, in the results and in the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afterload.errors import InputError
from afterload.estimates import Estimates
from afterload.plan.build import Plan
from afterload.plan.change import DO, IN_PLACE
from afterload.plan.measures import HARMS, NAMES, NEVER, WITHOUT_END, amount
from afterload.plan.wording import NOTHING_BOUGHT, minutes_bought
from afterload.plan.worth import CASES, MEASURES, applies
from afterload.scenario import Scenario, dotted
from afterload.scenario.evidence import as_text, same_value
from afterload.scenario.fields import holds_text
from afterload.scenario.overrides import annotation_at
from afterload.units import format_minutes, format_number
from afterload.yamltree import DataPath, WrittenFloat, WrittenInt, plain

# What a line says that buys no drain.
NO_MINUTES = format_minutes(0.0)
# What runs of older versions say of a line: where it ends a never, and where it buys nothing of one or makes one.
OLD_ENDED, OLD_OTHER = "ends never", "see worth"

__all__ = ["Comparison", "Differing", "Snapshot", "compare"]

QUIET_NEVER = ((NOTHING_BOUGHT, True), (OLD_OTHER, True))
# Parts of a file that say where numbers come from, not what they are.
_ABOUT = ("evidence", "exports", "telemetry", "as_of", "evidence_limit")


@dataclass(frozen=True)
class Differing:
    """One thing that is not the same in both: ``before`` and ``after`` as people read them, empty where there is none."""

    name: str
    before: str
    after: str
    note: str = ""


@dataclass(frozen=True)
class Snapshot:
    """What one scenario, or one run, holds: enough to compare it with another.

    Attributes:
        name: the scenario's file.
        inputs: every value as written, by its keys.
        results: every result as people read it, by what it is.
        lines: status of every line of the plan, with its minutes, by the line's stable name.
    """

    name: str
    inputs: Mapping[DataPath, Any]
    results: Mapping[str, str]
    lines: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, estimates: Estimates, plan: Plan) -> Snapshot:
        """A scenario with its results and its plan."""
        return cls(
            estimates.loaded.name,
            {path: value for path, value in _leaves(estimates.loaded.tree.data, ()) if path[0] not in _ABOUT},
            dict(_results(estimates, plan)),
            {item.id: (item.status, minutes_bought(item)) for item in plan.items},
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Snapshot:
        """What :meth:`record` gave. Raises :class:`InputError` where something is missing."""
        try:
            return cls(
                str(record["name"]),
                {tuple(path): value for path, value in record["inputs"]},
                {str(name): _result(str(name), str(text)) for name, text in record["results"].items()},
                {str(name): (str(status), str(minutes)) for name, (status, minutes) in record["lines"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise InputError(f"holds no run of Afterload ({type(problem).__name__}: {problem})") from None

    @property
    def endless(self) -> bool:
        """The backlog never drains, as the scenario starts."""
        return self.results.get(f"{MEASURES['empty_min']}, {CASES[0]}") == NEVER

    def record(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return {
            "name": self.name,
            "inputs": [[list(path), value] for path, value in self.inputs.items()],
            "results": dict(self.results),
            "lines": {name: list(line) for name, line in self.lines.items()},
        }


@dataclass(frozen=True)
class Comparison:
    """All differences of two scenarios or runs, ``before`` and ``after``.

    ``quiet`` are lines that buy no drain in either, and read otherwise only because the drain itself ends in one and never in
    the other: that is one difference, and stands among the results.
    """

    before: str
    after: str
    inputs: tuple[Differing, ...]
    results: tuple[Differing, ...]
    lines: tuple[Differing, ...]
    quiet: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not (self.inputs or self.results or self.lines)


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """Everything that is not the same in both. A rate of 20/s is one of 1,200/min."""
    differing = {
        name: (one, other)
        for name in dict.fromkeys([*after.lines, *before.lines])
        if not _reads_alike(one := before.lines.get(name, ("", "")), other := after.lines.get(name, ("", "")))
    }
    quiet = tuple(name for name, (one, other) in differing.items() if _is_quiet(before, one, after, other))
    return Comparison(
        before.name,
        after.name,
        tuple(_inputs(before.inputs, after.inputs)),
        tuple(
            Differing(name, before.results.get(name, ""), after.results.get(name, ""))
            for name in dict.fromkeys([*before.results, *after.results])
            if before.results.get(name, "") != after.results.get(name, "")
        ),
        tuple(
            Differing(name, ", ".join(filter(None, one)), ", ".join(filter(None, other)), _note(one[0], other[0]))
            for name, (one, other) in differing.items()
            if name not in quiet
        ),
        quiet,
    )


def _reads_alike(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """The same, in the words of this version or with one side in those of an older one."""
    if one == other:
        return True
    words = {one[1], other[1]}
    if one[0] != other[0]:
        return False
    if OLD_ENDED in words:
        return any(text.startswith(f"{NEVER} to ") for text in words)
    return OLD_OTHER in words and any(text == NOTHING_BOUGHT or text.endswith(f" to {NEVER}") for text in words)


def _is_quiet(before: Snapshot, one: tuple[str, str], after: Snapshot, other: tuple[str, str]) -> bool:
    """Nothing bought of a drain that ends, and nothing of one that never does."""
    sides = sorted([(one[1], before.endless), (other[1], after.endless)], key=lambda side: side[1])
    return one[0] == other[0] and sides[0] == (NO_MINUTES, False) and sides[1] in QUIET_NEVER


def _inputs(before: Mapping[DataPath, Any], after: Mapping[DataPath, Any]) -> Iterator[Differing]:
    for path in sorted({*before, *after}, key=lambda path: tuple(map(str, path))):
        first, second = before.get(path), after.get(path)
        if not (path in before and path in after and same_value(path, first, second)):
            yield Differing(dotted(path), _text(first), _text(second))


def _leaves(data: Any, path: DataPath) -> Iterator[tuple[DataPath, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, str(key)))
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        for place, item in enumerate(data):
            yield from _leaves(item, (*path, place))
    else:
        yield path, _value(path, data)


def _value(path: DataPath, data: Any) -> Any:
    """A value as plain data; where the field holds text, as it was written: version 1.40 is not 1.4."""
    is_other = isinstance(data, WrittenInt | WrittenFloat) and data.text != str(plain(data))
    return as_text(data) if is_other and holds_text(annotation_at(Scenario, path)) else plain(data)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _result(name: str, text: str) -> str:
    """A result of a run in the words of this version: older ones say never of a harm that has no end."""
    is_harm = any(name.startswith(MEASURES[measure]) for measure in HARMS)
    return WITHOUT_END if is_harm and text == NEVER else text


def _results(estimates: Estimates, plan: Plan) -> Iterator[tuple[str, str]]:
    for case, measured in {} if plan.appraisal is None else plan.appraisal.today.items():
        for name in NAMES:
            if applies(name, estimates.loaded.scenario):
                yield f"{MEASURES[name]}, {case}", amount(name, measured.of())
    for name, stack in sorted(estimates.stacks.items()):
        yield f"calls at the bottom of {name} for one at the top", f"{format_number(stack.result.multiplier)} times"
    for name, fleet in sorted(estimates.fleets.items()):
        yield f"time until {name} has what it lacks", format_minutes(fleet.in_service_min)


def _note(before: str, after: str) -> str:
    """What a line's move means: done since, or undone."""
    if not before or not after:
        return "gone" if before else "new"
    return {(DO, IN_PLACE): "done", (IN_PLACE, DO): "undone"}.get((before, after), "")
