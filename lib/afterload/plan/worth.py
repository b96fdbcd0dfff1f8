"""What changes are worth: the coupled recovery with each alone, in cumulative order, and with each left out.

A change is an edit of the scenario, so its worth is that of the edited scenario, computed the same way as today's. Draws of
uncertain inputs are the same in every case, so differences are those of the change and not of chance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from afterload.errors import AfterloadError, ModelError
from afterload.model.coupled import CoupledResult, CoupledSystem, Input, simulate
from afterload.model.curves import FloatArray
from afterload.model.uncertainty import Range, draw
from afterload.recovery.build import Coupling, couple
from afterload.recovery.result import SEED, CoupledEstimate, draw_recovery
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
    "MEASURES",
    "Appraisal",
    "Appraiser",
    "Difference",
    "Edit",
    "Measured",
    "Worth",
    "applies",
    "appraise",
    "better",
    "edited",
    "measured_recovery",
]

Edit = Mapping[str, Any]
PARTS: Mapping[str, type[Section]] = {
    "queues": Queue, "fleets": Fleet, "clients": Client, "dependencies": Dependency, "call_stacks": CallStack,
    "control_loops": ControlLoop, "worker_pools": WorkerPool,
}  # fmt: skip
# Parts that a scenario has once, without a name of their own.
SINGLE_PARTS: Mapping[str, type[Section]] = {"admission": AdmissionPlan, "plan_automation": PlanAutomation}
# Draws for P10 to P90 of a worth: each line of a plan takes three simulations of all of them.
DRAWS = 100
CASES = ("as the scenario starts", "collapsed at the restore")

# Names of the measures, with what they are. Smaller is better for all but the last.
MEASURES: Mapping[str, str] = {
    "fresh_min": "minutes from the restore to first-attempt age at baseline, of the slowest queue",
    "empty_min": "minutes from the restore to an empty backlog, of the slowest queue",
    "lost": "items expired, lost to retention, discarded, dead-lettered or dropped as superseded",
    "failed_direct": "direct requests that failed or were shed",
    "peak_attempts_per_min": "attempts a minute at the busiest dependency",
    "collapsed_min": "minutes for which a dependency was down after the restore",
    "lowest_share": "least capacity in service, as a share of what is needed",
}
# The part of a scenario that a measure is of: without one its value says nothing.
OF_PART: Mapping[str, str] = {
    "fresh_min": "queues", "empty_min": "queues", "lost": "queues", "failed_direct": "dependencies",
    "peak_attempts_per_min": "dependencies", "collapsed_min": "dependencies", "lowest_share": "fleets",
}  # fmt: skip


def applies(name: str, scenario: Scenario) -> bool:
    """Whether a scenario has what a measure is of."""
    return bool(getattr(scenario, OF_PART[name]))


@dataclass(frozen=True, eq=False)
class Measured:
    """Every measure of one case, each of shape (draws + 1,): the likely values first. Infinite minutes are never."""

    values: Mapping[str, FloatArray]

    def likely(self, name: str) -> float | None:
        """The value at the likely inputs; None for never."""
        value = float(self.values[name][0])
        return value if np.isfinite(value) else None

    def spread(self, name: str) -> tuple[float | None, float | None]:
        """P10 and P90 over the draws; None for never."""
        drawn = self.values[name][1:] if len(self.values[name]) > 1 else self.values[name]
        low, high = (float(np.quantile(drawn, share, method="inverted_cdf")) for share in (0.1, 0.9))
        return (low if np.isfinite(low) else None, high if np.isfinite(high) else None)


def measured_recovery(loaded: LoadedScenario, recovery: CoupledEstimate | None = None) -> Measured | None:
    """Every measure of a scenario as it starts, over the draws of its recovery; None where there is nothing to couple.

    These are the numbers that a team is told: packet, index, gate and JUnit take their likely values, percentiles and
    verdicts from here. ``recovery`` is computed as far as needed if not given.
    """
    if recovery is not None:
        system, likely, drawn = recovery.coupling.system, recovery.today.result, recovery.drawn
    else:
        coupling = couple(loaded)
        if coupling is None:
            return None
        system, (likely, drawn) = coupling.system, draw_recovery(coupling)
    one = _measure(likely, system)
    if drawn is None:
        return one
    many = _measure(drawn, system)
    return Measured({name: np.concatenate((one.values[name], many.values[name])) for name in MEASURES})


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


@dataclass(frozen=True, eq=False)
class Worth:
    """One change in one case: alone, in its place of the whole plan, and what is lost when it is left out of that."""

    alone: Mapping[str, Difference]
    cumulative: Mapping[str, Difference]
    left_out: Mapping[str, Difference]

    @property
    def buys(self) -> bool:
        """True if it makes any measure better by more than rounding, alone or in its place."""
        return any(better(part) for part in (self.alone, self.cumulative))


def better(measures: Mapping[str, Difference]) -> bool:
    """True if any of the measures is better with the change than without it."""
    return any(_better(item, name) for name, item in measures.items())


def _better(item: Difference, name: str) -> bool:
    if item.ended:
        return True
    bought = item.bought
    if bought is None:
        return False
    gain = -bought if name == "lowest_share" else bought
    return gain > 1e-6 * max(1.0, abs(item.before or 0.0))


@dataclass(frozen=True, eq=False)
class Appraisal:
    """Every change of a plan in both starting states. ``worths`` is by place in the plan, then by case.

    ``failed`` says for each place whose edit the scenario refused why.
    """

    today: Mapping[str, Measured]
    planned: Mapping[str, Measured]
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
        # By name, not by place: an edit may add or drop a range, and the draws of the others stay the same.
        self.drawn: dict[str, FloatArray] = {}
        for path, item in sorted((base.labels[key], item) for key, item in base.ranges.items()):
            generator = np.random.default_rng([seed, *path.encode()])
            self.drawn[path] = draw({path: item}, self.draws, generator)[path]
        self._memo: dict[Any, Any] = {} if memo is None else memo
        self._edits: list[Edit] = []
        self._numbers: dict[str, int] = {}
        self._couplings: dict[Key, Coupling] = {(): base}
        self._measured: dict[tuple[Key, str], Measured] = {}
        # Many changes leave every number of the recovery as it is: their systems are equal, and simulated once.
        self._simulated: dict[tuple[CoupledSystem, tuple[tuple[Input, Range], ...]], Measured] = {}

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

    def alone(self, edit: Edit, case: str = CASES[0]) -> Mapping[str, Difference]:
        """Every measure without and with one edit."""
        return _differences(self._measure((), case), self._measure(self._key([edit]), case))

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
                    case: Worth(
                        self.alone(edit, case),
                        _differences(self._measure(heads[place], case), self._measure(heads[place + 1], case)),
                        _differences(self._measure(without, case), self._measure(whole, case)),
                    )
                    for case in CASES
                }
            )
        today = {case: self._measure((), case) for case in CASES}
        planned = {case: self._measure(whole, case) for case in CASES}
        return Appraisal(today, planned, tuple(worths), failed, self.draws)

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
                measured = _measure(simulate(system, self._inputs(coupling)), system)
                if not coupling.ranges:
                    # An edit may set the only uncertain value: then every draw is the same.
                    measured = Measured(
                        {name: np.repeat(each, self.draws + 1) for name, each in measured.values.items()}
                    )
                self._simulated[same] = measured
            self._measured[key, case] = self._simulated[same]
        return self._measured[key, case]

    def _inputs(self, coupling: Coupling) -> dict[Input, FloatArray]:
        found = {}
        for key, item in coupling.ranges.items():
            path = coupling.labels[key]
            found[key] = np.concatenate(([_likely(item)], self.drawn[path]))
        return found


def _likely(item: Range) -> float:
    return float(item.likely)


def _started(system: CoupledSystem, case: str) -> CoupledSystem:
    if case == CASES[0] or not system.dependencies:
        return system
    return replace(system, dependencies=tuple(replace(item, collapsed_at_restore=True) for item in system.dependencies))


def _measure(result: CoupledResult, system: CoupledSystem) -> Measured:
    draws = len(result.end_min)
    none = np.zeros(draws)

    def slowest(times: FloatArray) -> FloatArray:
        return np.where(np.isnan(times), np.inf, times).max(axis=1) if times.shape[1] else none

    gone = (
        result.expired + result.lost_to_retention + result.discarded_past_deadline + result.superseded
        + result.dead_lettered
    )  # fmt: skip
    has_dependency = bool(result.peak_attempts_per_min.shape[1])
    needed = np.array([max(1.0, fleet.needed) for fleet in system.fleets])
    return Measured(
        {
            "fresh_min": slowest(result.fresh_age_back_min),
            "empty_min": slowest(result.drain_min),
            "lost": gone.sum(axis=1),
            "failed_direct": (result.failed_direct + result.shed).sum(axis=1),
            "peak_attempts_per_min": result.peak_attempts_per_min.max(axis=1) if has_dependency else none,
            "collapsed_min": np.where(np.isnan(result.healed_at_min), np.inf, result.time_collapsed_min).max(axis=1)
            if has_dependency
            else none,
            "lowest_share": (result.lowest_in_service / needed).min(axis=1) if len(needed) else none + 1.0,
        }
    )


def _differences(before: Measured, after: Measured) -> dict[str, Difference]:
    return {name: _difference(name, before, after) for name in MEASURES}


def _difference(name: str, before: Measured, after: Measured) -> Difference:
    # A change that settles the only uncertain value leaves nothing to draw on its side.
    one, other = np.broadcast_arrays(before.values[name], after.values[name])
    if len(one) > 1:
        with np.errstate(invalid="ignore"):
            moved = np.where(one[1:] == other[1:], 0.0, one[1:] - other[1:])
    else:
        with np.errstate(invalid="ignore"):
            moved = np.where(one == other, 0.0, one - other)
    # np.quantile with inverted_cdf gives the same, in ten times the time: a plan has hundreds of these.
    places = [max(0, int(np.ceil(share * moved.size)) - 1) for share in (0.1, 0.9)]
    low, high = np.partition(moved, places)[places].tolist()
    return Difference(
        before.likely(name),
        after.likely(name),
        low if np.isfinite(low) else None,
        high if np.isfinite(high) else None,
    )
