"""The coupled recovery of a scenario: as it is, what else could happen, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from afterload.model.coupled import (
    CoupledResult,
    CoupledSystem,
    Input,
    Trace,
    certainty,
    simulate,
    trace,
)
from afterload.model.curves import FloatArray
from afterload.model.uncertainty import Mover, Range, Spread, draw, movers, spread
from afterload.recovery.admission import admission_of
from afterload.recovery.build import Coupling

__all__ = ["DRAWS", "SEED", "CoupledEstimate", "Variant", "draw_recovery", "drawn_inputs", "estimate_recovery"]

DRAWS = 1_000

SEED = 20_251_020


@dataclass(frozen=True)
class Variant:
    """One way in which the same recovery can go."""

    name: str
    system: CoupledSystem
    trace: Trace
    is_certain: bool = True

    @property
    def result(self) -> CoupledResult:
        """Results, one draw."""
        return self.trace.result


@dataclass(frozen=True)
class CoupledEstimate:
    """The coupled recovery of one scenario: as it is, what else could happen, and how sure that is.

    ``drawn`` has the results of all draws, of which every percentile is taken; None without uncertain inputs.
    """

    coupling: Coupling
    today: Variant
    others: tuple[Variant, ...]
    drain: Mapping[str, Spread] = field(default_factory=dict)
    fresh: Mapping[str, Spread] = field(default_factory=dict)
    movers: tuple[Mover[Input], ...] = ()
    draws: int = 0
    drawn: CoupledResult | None = None


def estimate_recovery(coupling: Coupling, draws: int = DRAWS, seed: int = SEED) -> CoupledEstimate:
    """The coupled recovery as the scenario is, in the other starting state, and under the guide's admission.

    Uncertain inputs give P10, P50 and P90 from ``draws`` draws; the same seed gives the same numbers.
    """
    system = coupling.system
    today = _variant("as the scenario is", system, coupling.course)
    others = []
    if system.dependencies:
        flipped = _started(system, collapsed=not any(item.collapsed_at_restore for item in system.dependencies))
        state = "collapsed" if flipped.dependencies[0].collapsed_at_restore else "healthy"
        others.append(_variant(f"if dependencies are {state} at the restore", flipped))
        worst = system if any(item.collapsed_at_restore for item in system.dependencies) else flipped
        held = replace(worst, admission=admission_of(coupling.loaded))
        if system.admission is None:
            others.append(_variant("collapsed, recovered by the seven steps", held))
    if not coupling.ranges:
        return CoupledEstimate(coupling, today, tuple(others))
    result = simulate(system, drawn_inputs(coupling, draws, seed))

    def answer(inputs: dict[Input, FloatArray]) -> FloatArray:
        answers = simulate(system, inputs).drain_min
        return np.where(np.isnan(answers).any(axis=1), np.nan, np.nanmax(np.nan_to_num(answers, nan=-1.0), axis=1))

    names = coupling.queues
    return CoupledEstimate(
        coupling,
        today,
        tuple(others),
        {name: spread(result.drain_min[:, place]) for place, name in enumerate(names)},
        {name: spread(result.fresh_age_back_min[:, place]) for place, name in enumerate(names)},
        tuple(movers(coupling.ranges, answer, np.random.default_rng(seed))) if names else (),
        draws,
        result,
    )


def draw_recovery(
    coupling: Coupling, draws: int = DRAWS, seed: int = SEED
) -> tuple[CoupledResult, CoupledResult | None]:
    """The recovery at the likely inputs and its draws, None without uncertain ones: those of :func:`estimate_recovery`.

    For whoever needs no more of it, such as a gate.
    """
    likely = coupling.course.result
    return likely, simulate(coupling.system, drawn_inputs(coupling, draws, seed)) if coupling.ranges else None


def drawn_inputs(coupling: Coupling, draws: int = DRAWS, seed: int = SEED) -> dict[Input, FloatArray]:
    """Values of every uncertain input, each of shape (draws,).

    They depend on the name of an input, or of what it moves with, and not on what else is uncertain: whoever compares two
    systems compares them in the same draws.
    """
    groups: dict[str, dict[Input, Range]] = {}
    for key, item in coupling.ranges.items():
        name = f"tied {coupling.tied[key]}" if key in coupling.tied else coupling.labels[key]
        groups.setdefault(name, {})[key] = item
    found: dict[Input, FloatArray] = {}
    for name, ranges in groups.items():
        found |= draw(ranges, draws, np.random.default_rng([seed, *name.encode()]))
    return found


def _variant(name: str, system: CoupledSystem, course: Trace | None = None) -> Variant:
    return Variant(name, system, course or trace(system), bool(certainty(system).certain[0]))


def _started(system: CoupledSystem, collapsed: bool) -> CoupledSystem:
    return replace(
        system, dependencies=tuple(replace(item, collapsed_at_restore=collapsed) for item in system.dependencies)
    )
