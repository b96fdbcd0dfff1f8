"""What changes are worth: the coupled recovery with each alone, in cumulative order, and with each left out.

A change is an edit of the scenario, so its worth is that of the edited scenario, computed the same way as today's. Draws of
uncertain inputs are the same in every case, so differences are those of the change and not of chance.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from afterload.errors import AfterloadError, ModelError
from afterload.model.coupled import CoupledResult, CoupledSystem, Input, simulate
from afterload.model.curves import FloatArray
from afterload.model.uncertainty import Range
from afterload.recovery.build import Coupling, couple
from afterload.recovery.result import DRAWS, SEED, CoupledEstimate, draw_recovery, drawn_inputs
from afterload.scenario import CallStack, Client, Dependency, Fleet, LoadedScenario, Queue, Scenario
from afterload.scenario.capacity_schema import ControlLoop
from afterload.scenario.coupled_schema import AdmissionPlan, PlanAutomation
from afterload.scenario.fields import Section
from afterload.scenario.overrides import apply_edits
from afterload.scenario.retry_schema import WorkerPool
from afterload.slices import Slices, finished
from afterload.yamltree import YamlTree

__all__ = [
    "CASES",
    "HOLDS",
    "MEASURES",
    "OF_PART",
    "RATES",
    "WHOLE",
    "Appraisal",
    "Appraiser",
    "Difference",
    "Differences",
    "Edit",
    "Measured",
    "Worth",
    "applies",
    "appraise",
    "better",
    "edited",
    "gain_of",
    "measured_recovery",
    "told_part",
]

Edit = Mapping[str, Any]
PARTS: Mapping[str, type[Section]] = {
    "queues": Queue, "fleets": Fleet, "clients": Client, "dependencies": Dependency, "call_stacks": CallStack,
    "control_loops": ControlLoop, "worker_pools": WorkerPool,
}  # fmt: skip
# Parts that a scenario has once, without a name of their own.
SINGLE_PARTS: Mapping[str, type[Section]] = {"admission": AdmissionPlan, "plan_automation": PlanAutomation}
CASES = ("as the scenario starts", "collapsed at the restore")

# The scenario as a whole, beside its parts: queues.NAME, dependencies.NAME and fleets.NAME.
WHOLE = ""
# Names of the measures, with what they are. Smaller is better for all but the last. Of the whole, times are those of the last
# queue or dependency, counts those of all of them.
MEASURES: Mapping[str, str] = {
    "fresh_min": "minutes from the restore to first-attempt age at baseline, of the slowest queue",
    "empty_min": "minutes from the restore to an empty backlog, of the slowest queue",
    "lost": "items expired, lost to retention, discarded, dead-lettered or dropped as superseded",
    "lost_per_min": "the same a minute, where it has no end",
    "failed_direct": "direct requests that failed or were shed",
    "failed_direct_per_min": "the same a minute, where it has no end",
    "peak_attempts_per_min": "attempts a minute at the busiest dependency",
    "collapsed_min": "minutes for which a dependency was down after the restore",
    "lowest_share": "least capacity in service, as a share of what is needed",
}
# Counts, each with its rate once it has no end; :data:`HOLDS` is from when on, in minutes after the restore.
RATES: Mapping[str, str] = {"lost": "lost_per_min", "failed_direct": "failed_direct_per_min"}
HOLDS = "holds_from_min"
# The kind of part that a measure is of: without one its value says nothing.
OF_PART: Mapping[str, str] = {
    "fresh_min": "queues", "empty_min": "queues", "lost": "queues", "lost_per_min": "queues", "failed_direct": "dependencies",
    "failed_direct_per_min": "dependencies", "peak_attempts_per_min": "dependencies", "collapsed_min": "dependencies",
    "lowest_share": "fleets",
}  # fmt: skip
# How the whole comes from its parts.
_WHOLE_OF: Mapping[str, Any] = dict.fromkeys(MEASURES, np.max) | dict.fromkeys((*RATES, *RATES.values()), np.sum) | {
    "lowest_share": np.min
}  # fmt: skip
# Differences below this share of a value are those of rounding.
ROUNDING = 1e-6
# Parts of which a measure is told; of more, those where it moves most.
MOST_PARTS = 6
# An end to "never" is worth more than any number of minutes.
NEVER_ENDED_MIN = 1e9


def applies(name: str, scenario: Scenario) -> bool:
    """Whether a scenario has what a measure is of."""
    return bool(getattr(scenario, OF_PART[name]))


@dataclass(frozen=True, eq=False)
class Measured:
    """Every measure of one case, of the whole and of each part. Infinite is never, and of a count that it has no end.

    ``rows`` gives the row of a part and a measure in ``table``, of shape (rows, draws + 1): the likely values first.
    """

    rows: Mapping[tuple[str, str], int]
    table: FloatArray

    def values(self, name: str, part: str = WHOLE) -> FloatArray:
        """The likely value and that of each draw, shape (draws + 1,)."""
        values: FloatArray = self.table[self.rows[part, name]]
        return values

    def likely(self, name: str, part: str = WHOLE) -> float | None:
        """The value at the likely inputs; None for never."""
        return _finite(float(self.values(name, part)[0]))

    def spread(self, name: str, part: str = WHOLE) -> tuple[float | None, float | None]:
        """P10 and P90 over the draws; None for never."""
        values = self.values(name, part)
        drawn = values[1:] if len(values) > 1 else values
        low, high = (float(np.quantile(drawn, share, method="inverted_cdf")) for share in (0.1, 0.9))
        return _finite(low), _finite(high)

    def of(self, part: str = WHOLE) -> Callable[[str], float | None]:
        """The likely value of every measure of one part, by name."""
        return lambda name: self.likely(name, part)

    def parts(self, name: str) -> list[str]:
        """The parts that a measure is of."""
        return [part for part, measure in self.rows if measure == name and part != WHOLE]


def measured_recovery(loaded: LoadedScenario, recovery: CoupledEstimate | None = None) -> Measured | None:
    """Every measure of a scenario as it starts, over the draws of its recovery; None where there is nothing to couple.

    These are the numbers that a team is told: packet, index, gate and JUnit take their likely values, percentiles and
    verdicts from here. ``recovery`` is computed as far as needed if not given.
    """
    if recovery is not None:
        coupling, likely, drawn = recovery.coupling, recovery.today.result, recovery.drawn
    else:
        found = couple(loaded)
        if found is None:
            return None
        coupling, (likely, drawn) = found, draw_recovery(found)
    one = _measure(likely, coupling)
    return one if drawn is None else replace(one, table=np.hstack((one.table, _measure(drawn, coupling).table)))


@dataclass(frozen=True)
class Difference:
    """One measure without and with a change.

    Attributes:
        before, after: at the likely inputs; None for never.
        p10, p90: of the difference before - after over the draws, which share their inputs; None where it is not finite.
        ended: True where never becomes some time. ``endless`` is the reverse.
    """

    before: float | None
    after: float | None
    p10: float | None
    p90: float | None

    @property
    def bought(self) -> float | None:
        """before - after; 0 where both are never, None where one of them is."""
        if self.before is None and self.after is None:
            return 0.0
        return None if self.before is None or self.after is None else self.before - self.after

    @property
    def ended(self) -> bool:
        """Never before, some time after."""
        return self.before is None and self.after is not None

    @property
    def endless(self) -> bool:
        """Some time before, never after."""
        return self.before is not None and self.after is None

    @property
    def moves(self) -> bool:
        """It differs at the likely inputs or in more than a tenth of the draws, by more than rounding."""
        least = ROUNDING * max(1.0, abs(self.before or 0.0), abs(self.after or 0.0))
        return any(value is None or abs(value) > least for value in (self.bought, self.p10, self.p90))

    @property
    def gain(self) -> float:
        """Minutes bought, for comparing: an end to never counts more than any, the sooner the more."""
        if self.ended:
            return NEVER_ENDED_MIN - (self.after or 0.0)
        return -NEVER_ENDED_MIN if self.endless else self.bought or 0.0


Differences = Mapping[str, Mapping[str, Difference]]
"""By part, :data:`WHOLE` for the whole, then by measure. Of a kind of which there is one part, that is the whole."""


@dataclass(frozen=True, eq=False)
class Worth:
    """One change in one case: alone, in its place of the whole plan, and what is lost when it is left out of that.

    ``parts`` has the same of every queue, dependency and fleet that it touches, where there is more than one of a kind.
    """

    alone: Mapping[str, Difference]
    cumulative: Mapping[str, Difference]
    left_out: Mapping[str, Difference]
    parts: Mapping[str, Worth] = field(default_factory=dict)

    @classmethod
    def of(cls, alone: Differences, cumulative: Differences, left_out: Differences, edit: Edit) -> Worth:
        """Of the three ways, with the parts that the edit names or moves."""
        parts = {part: cls(alone[part], cumulative[part], left_out[part]) for part in alone if part != WHOLE}
        named = [part for part in parts if any(path.startswith(f"{part}.") for path in edit)]
        touched = {part: worth for part, worth in parts.items() if part in named or worth.moves}
        return cls(alone[WHOLE], cumulative[WHOLE], left_out[WHOLE], touched)

    @property
    def ways(self) -> tuple[Mapping[str, Difference], ...]:
        """The three ways."""
        return self.alone, self.cumulative, self.left_out

    @property
    def moves(self) -> bool:
        """It moves a measure in some way."""
        return any(way[name].moves for way in self.ways for name in way if name in MEASURES)

    @property
    def buys(self) -> bool:
        """True if it makes any measure better by more than rounding, alone or in its place."""
        return better(self.alone) or better(self.cumulative) or any(part.buys for part in self.parts.values())

    def where(self, name: str, target: str = WHOLE) -> dict[str, Worth]:
        """The parts that it touches of those that a measure is of: ``target`` first, then where that moves most.

        The whole where there is one of the kind, or none is touched.
        """
        parts = {part: each for part, each in self.parts.items() if part.startswith(f"{OF_PART[name]}.")}
        moved = {part: max(abs(gain_of(way, name)) for way in each.ways) for part, each in parts.items()}
        order = sorted(parts, key=lambda part: (part != target, -moved[part]))
        return {part: parts[part] for part in order[:MOST_PARTS]} or {WHOLE: self}

    def told(self, name: str, target: str = WHOLE) -> tuple[str, Difference]:
        """The part of which a measure is told alone, and what it is there: see :func:`told_part`."""
        alone = {WHOLE: self.alone} | {part: worth.alone for part, worth in self.parts.items()}
        part = told_part(alone, name, target)
        return part, alone[part][name]


def told_part(alone: Differences, name: str, target: str = WHOLE) -> str:
    """The part of which a time is told: the line's own queue, or the one where it buys most, or where it costs most.

    The whole where there is one queue, and where none moves.
    """
    gains = {part: gain_of(way, name) for part, way in alone.items() if part != WHOLE and name in way}
    most = max(gains, key=lambda part: gains[part], default=WHOLE)
    least = min(gains, key=lambda part: gains[part], default=WHOLE)
    if target in gains and (gains[target] > 0 or gains[most] <= 0):
        return target
    if gains.get(most, 0.0) > 0:
        return most
    return least if gains.get(least, 0.0) < 0 else WHOLE


def gain_of(way: Mapping[str, Difference], name: str) -> float:
    """How much better a measure gets, below zero for worse; 0 for rounding. Of two counts without an end the rates differ."""
    item = way[name]
    if name in RATES and item.before is None and item.after is None:
        return gain_of(way, RATES[name])
    gain = -item.gain if name == "lowest_share" else item.gain
    return gain if abs(gain) > ROUNDING * max(1.0, abs(item.before or 0.0)) else 0.0


def better(way: Mapping[str, Difference]) -> bool:
    """True if any measure gets better by more than rounding."""
    return any(gain_of(way, name) > 0 for name in way if name in MEASURES)


@dataclass(frozen=True, eq=False)
class Appraisal:
    """Every change of a plan in both starting states. ``worths`` is by place in the plan, then by case.

    ``whole`` is today against all of them together. ``failed`` says for each place whose edit the scenario refused why.
    """

    today: Mapping[str, Measured]
    planned: Mapping[str, Measured]
    whole: Mapping[str, Differences]
    worths: tuple[Mapping[str, Worth], ...]
    failed: Mapping[int, str]
    draws: int


def edited(loaded: LoadedScenario, edits: Sequence[Edit], memo: dict[Any, Any] | None = None) -> LoadedScenario:
    """The scenario with the values of several edits set, one after the other.

    Only the parts that an edit touches are read again; the others are the same objects as before. With a ``memo``, so are
    parts that read the same as in an earlier call.
    Raises :class:`ModelError` or :class:`OverrideError` where the result would be wrong.
    """
    data, paths = apply_edits(loaded.tree.data, edits, Scenario)
    context = {"zone": loaded.scenario.time_zone}
    changed: dict[str, Any] = {}
    try:
        for part, name in sorted({(str(path[0]), str(path[1]) if len(path) > 2 else "") for path in paths}):
            if part in SINGLE_PARTS:
                changed[part] = SINGLE_PARTS[part].model_validate(data[part], context=context)
                continue
            if part not in PARTS or not name:
                scenario = Scenario.model_validate(data, context=context)
                break
            key = (part, name, repr(data[part][name]))
            section = None if memo is None else memo.get(key)
            if section is None:
                section = PARTS[part].model_validate(data[part][name], context=context)
                if memo is not None:
                    memo[key] = section
            changed[part] = {**changed.get(part, getattr(loaded.scenario, part)), name: section}
        else:
            scenario = loaded.scenario.model_copy(update=changed)
    except ValueError as problem:
        raise ModelError(f"a change of the plan does not fit the scenario: {problem}") from None
    touched = {path for edit in edits for path in edit}
    ranges = {path: item for path, item in loaded.ranges.items() if path not in touched}
    return replace(loaded, scenario=scenario, tree=YamlTree(data, loaded.tree.lines, loaded.tree.name), ranges=ranges)


def appraise(loaded: LoadedScenario, edits: Sequence[Edit], draws: int = DRAWS, seed: int = SEED) -> Appraisal | None:
    """Compute what every edit is worth, in order; None where the scenario has nothing to couple.

    An edit that is empty, or that the scenario refuses, changes nothing and is worth nothing.
    """
    appraiser = Appraiser.of(loaded, draws, seed)
    return None if appraiser is None else appraiser.appraise(edits)


Key = tuple[int, ...]
"""Edits by number, in the order in which they are made."""


class Appraiser:
    """Couples and simulates edited scenarios, each once, for :func:`appraise` and for whoever orders a plan by worth."""

    @classmethod
    def of(cls, loaded: LoadedScenario, draws: int = DRAWS, seed: int = SEED) -> Appraiser | None:
        """The appraiser of a scenario; None where it has nothing to couple."""
        memo: dict[Any, Any] = {}
        base = couple(loaded, memo)
        return None if base is None else cls(loaded, base, draws, seed, memo)

    def __init__(
        self, loaded: LoadedScenario, base: Coupling, draws: int, seed: int, memo: dict[Any, Any] | None = None
    ) -> None:
        self.loaded = loaded
        self.base = base
        self.draws = draws if base.ranges else 0
        self.seed = seed
        self._memo: dict[Any, Any] = {} if memo is None else memo
        self._edits: list[Edit] = []
        self._numbers: dict[str, int] = {}
        self._couplings: dict[Key, Coupling] = {(): base}
        self._measured: dict[tuple[Key, str], Measured] = {}
        # Many changes leave every number of the recovery as it is: their systems are equal, and simulated once.
        self._simulated: dict[tuple[CoupledSystem, tuple[tuple[Input, Range], ...]], Measured] = {}
        self._differing: dict[tuple[int, int], Differences] = {}

    def refusal(self, edit: Edit) -> str:
        """Why the scenario refuses an edit; empty text if it does not."""
        try:
            self._coupling(self._key([edit]))
        except AfterloadError as problem:
            return str(problem)
        return ""

    def measured(self, edits: Sequence[Edit] = (), case: str = CASES[0]) -> Measured:
        """Every measure of the scenario with some edits, in one starting state; computed once."""
        return self._measure(self._key(edits), case)

    def alone(self, edit: Edit, case: str = CASES[0]) -> Differences:
        """Every measure without and with one edit, of the whole and of every part."""
        return self._differ((), self._key([edit]), case)

    def _differ(self, before: Key, after: Key, case: str) -> Differences:
        one, other = self._measure(before, case), self._measure(after, case)
        # Both are kept, so that no other gets their identity.
        if (id(one), id(other)) not in self._differing:
            self._differing[id(one), id(other)] = _differences(one, other)
        return self._differing[id(one), id(other)]

    def appraise(self, edits: Sequence[Edit]) -> Appraisal:
        """Every edit alone, in this order, and left out of the whole."""
        return finished(self.appraising(edits))

    def appraising(self, edits: Sequence[Edit]) -> Slices[Appraisal]:
        """The same in slices, each of one simulation at most: whoever waits may do other things between them, or give up."""
        failed = {place: words for place, edit in enumerate(edits) if (words := self.refusal(edit))}
        kept: list[Edit] = [{} if place in failed else edit for place, edit in enumerate(edits)]
        whole = self._key(kept)
        heads = [self._key(kept[:place]) for place in range(len(kept) + 1)]
        worths = []
        for place, edit in enumerate(kept):
            without = self._key([*kept[:place], *kept[place + 1 :]])
            for case in CASES:
                for key in (self._key([edit]), heads[place], heads[place + 1], without, whole):
                    if (key, case) not in self._measured:
                        self._measure(key, case)
                        yield
            worths.append(
                {
                    case: Worth.of(
                        self.alone(edit, case),
                        self._differ(heads[place], heads[place + 1], case),
                        self._differ(without, whole, case),
                        edit,
                    )
                    for case in CASES
                }
            )
        today = {case: self._measure((), case) for case in CASES}
        planned = {case: self._measure(whole, case) for case in CASES}
        moved = {case: self._differ((), whole, case) for case in CASES}
        return Appraisal(today, planned, moved, tuple(worths), failed, self.draws)

    def _key(self, edits: Sequence[Edit]) -> Key:
        numbers = []
        for edit in edits:
            if not edit:
                continue
            name = json.dumps(edit, sort_keys=True, default=str)
            if name not in self._numbers:
                self._numbers[name] = len(self._edits)
                self._edits.append(edit)
            numbers.append(self._numbers[name])
        return tuple(numbers)

    def _coupling(self, key: Key) -> Coupling:
        if key not in self._couplings:
            found = couple(edited(self.loaded, [self._edits[number] for number in key], self._memo), self._memo)
            if found is None:
                raise ModelError("a change of the plan leaves nothing to couple")
            self._couplings[key] = found
        return self._couplings[key]

    def _measure(self, key: Key, case: str) -> Measured:
        if (key, case) not in self._measured:
            coupling = self._coupling(key)
            system = _started(coupling.system, case)
            same = (system, tuple(sorted(coupling.ranges.items(), key=lambda item: item[0])))
            if same not in self._simulated:
                self._simulated[same] = _measure(simulate(system, self._inputs(coupling)), coupling)
            self._measured[key, case] = self._simulated[same]
        return self._measured[key, case]

    def _inputs(self, coupling: Coupling) -> dict[Input, FloatArray]:
        # An edit may set the only uncertain value: then every draw is the same.
        if not coupling.ranges:
            return {}
        drawn = drawn_inputs(coupling, self.draws, self.seed)
        return {key: np.concatenate(([float(item.likely)], drawn[key])) for key, item in coupling.ranges.items()}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _started(system: CoupledSystem, case: str) -> CoupledSystem:
    if case == CASES[0] or not system.dependencies:
        return system
    return replace(system, dependencies=tuple(replace(item, collapsed_at_restore=True) for item in system.dependencies))


def _measure(result: CoupledResult, coupling: Coupling) -> Measured:
    gone = (
        result.expired + result.lost_to_retention + result.discarded_past_deadline + result.superseded
        + result.dead_lettered
    )  # fmt: skip
    needed = np.array([max(1.0, fleet.needed) for fleet in coupling.system.fleets])
    each = {
        "fresh_min": _or_never(result.fresh_age_back_min),
        "empty_min": _or_never(result.drain_min),
        "lost": np.where(result.lost_per_min > 0, np.inf, gone),
        "lost_per_min": result.lost_per_min,
        "failed_direct": np.where(result.unserved_per_min > 0, np.inf, result.failed_direct + result.shed),
        "failed_direct_per_min": result.unserved_per_min,
        "peak_attempts_per_min": result.peak_attempts_per_min,
        "collapsed_min": np.where(np.isnan(result.healed_at_min), np.inf, result.time_collapsed_min),
        "lowest_share": result.lowest_in_service / needed,
    }
    names = {"queues": coupling.queues, "dependencies": coupling.dependencies, "fleets": coupling.fleets}
    found: dict[tuple[str, str], FloatArray] = {}
    for name, values in each.items():
        kind = OF_PART[name]
        # Without a part there is nothing that it is of: no time, no count, and the whole of its capacity.
        nothing = np.full(len(values), 1.0 if kind == "fleets" else 0.0)
        found[WHOLE, name] = _WHOLE_OF[name](values, axis=1) if names[kind] else nothing
        found.update(((f"{kind}.{part}", name), values[:, place]) for place, part in enumerate(names[kind]))
    for kind, since in (("queues", result.lost_from_min), ("dependencies", result.unserved_from_min)):
        found.update(((f"{kind}.{part}", HOLDS), _or_never(since[:, row])) for row, part in enumerate(names[kind]))
    every = np.nan_to_num(np.hstack((result.lost_from_min, result.unserved_from_min)), nan=-np.inf)
    latest = every.max(axis=1, initial=-np.inf)
    found[WHOLE, HOLDS] = np.where(np.isfinite(latest), latest, np.inf)
    return Measured({key: row for row, key in enumerate(found)}, np.array(list(found.values())))


def _or_never(times: FloatArray) -> FloatArray:
    return np.where(np.isnan(times), np.inf, times)


def _differences(before: Measured, after: Measured) -> Differences:
    # A change that settles the only uncertain value leaves nothing to draw on its side.
    one, other = np.broadcast_arrays(before.table, after.table)
    drawn = slice(1 if one.shape[1] > 1 else 0, None)
    with np.errstate(invalid="ignore"):
        moved = np.where(one == other, 0.0, one - other)[:, drawn]
    # np.quantile with inverted_cdf gives the same, in ten times the time: a plan has thousands of these.
    places = [max(0, int(np.ceil(share * moved.shape[1])) - 1) for share in (0.1, 0.9)]
    ends = np.zeros((len(moved), 2))
    rows = moved.any(axis=1)
    ends[rows] = np.partition(moved[rows], places, axis=1)[:, places]
    kinds = Counter(part.partition(".")[0] for part in {part for part, _ in before.rows})
    found: dict[str, dict[str, Difference]] = {}
    for (part, name), row in before.rows.items():
        if part == WHOLE or kinds[part.partition(".")[0]] > 1:
            low, high = ends[row].tolist()
            found.setdefault(part, {})[name] = Difference(
                _finite(float(one[row, 0])), _finite(float(other[row, 0])), _finite(low), _finite(high)
            )
    return found
