"""What every command says of one scenario, and where two of them do not say the same.

:func:`differences` takes the text of any scenario, :func:`unsafe` too: it runs what a command sets through the coupled
recovery, and tells where a dependency is loaded beyond what it was tested to bear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from afterload.batch.record import team_record
from afterload.estimates import Estimates, QueueEstimate, estimate
from afterload.findings.dependencies import dependency_standings
from afterload.findings.live import Live, live
from afterload.findings.live_known import Known, known_of
from afterload.model.coupled import BOUNDS, CoupledDependency, CoupledSystem, trace
from afterload.plan import DO, Plan
from afterload.plan.changes import drain_cap
from afterload.plan.exercises import build_exercises
from afterload.plan.objectives import verdicts
from afterload.plan.runbook import Runbook, build_runbook
from afterload.plan.worth import edited
from afterload.recovery.admission import admission_of, step_caps
from afterload.recovery.build import couple
from afterload.recovery.rates import direct_attempts, mean_attempts, operated_rate, queue_attempts, room_at
from afterload.recovery.result import CoupledEstimate, estimate_recovery
from afterload.scenario import LoadedScenario, Reading
from afterload.scenario.load import load_scenario_text

__all__ = ["differences", "unsafe"]

SAME = 1e-6
# The live answer goes by rates of a minute, and for three days.
NEAR, LIVE_MIN = 2e-3, 2 * 1_440.0
NOTHING = Plan((), None)


def differences(text: str, folder: Path) -> list[str]:
    """Quantities of which two commands have different values, each with both."""
    loaded = load_scenario_text(text, folder / "team.yaml")
    estimates = estimate(loaded)
    if estimates.coupling is None:
        return []
    recovery = estimate_recovery(estimates.coupling, draws=16)
    known = {name: known_of(loaded, name) for name in estimates.queues}
    return [
        *_times(loaded, estimates, recovery, known), *_caps(estimates, recovery, known), *_attempts(estimates, known),
    ]  # fmt: skip


def _differ(what: str, **values: float | None) -> Iterator[str]:
    """A line where the values are not all the same; None is never, or nothing."""
    known = [value for value in values.values() if value is not None]
    if 0 < len(known) < len(values) or (known and max(known) - min(known) > SAME * max(1.0, max(known))):
        yield f"{what}: {', '.join(f'{name} {value}' for name, value in values.items())}"


def _times(
    loaded: LoadedScenario, estimates: Estimates, recovery: CoupledEstimate, known: Mapping[str, Known]
) -> Iterator[str]:
    """Check, report, gate, a team's record and the live answer about drain, fresh age, backlog and losses."""
    result, names = recovery.today.result, recovery.coupling.queues
    limits = {"drain": 1e9, "fresh": 1e9, "lost": 1e18}
    gate = {verdict.name: verdict.value for verdict in verdicts(estimates, limits) if verdict.level == "likely"}
    record = team_record(loaded, estimates, NOTHING, recovery)
    held = {queue["name"]: queue for queue in record["shares"]["queues"]}
    waits = result.bound_min[0, :, BOUNDS.index("dependency")].max(initial=0.0)
    down_min = max(float(result.time_collapsed_min[0].max(initial=0.0)), float(waits))
    for place, name in enumerate(names):
        item = estimates.queues[name]
        report = _reached(result.drain_min[0, place])
        yield from _differ(f"{name} drain", check=item.drain_min, report=report)
        yield from _differ(f"{name} drain", check=_rounded(item.drain_min), record=held[name]["drain_min"])
        fresh = _reached(result.fresh_age_back_min[0, place])
        yield from _differ(f"{name} fresh age", check=item.fresh_age_back_min, report=fresh)
        yield from _differ(f"{name} fresh age", check=_rounded(item.fresh_age_back_min), record=held[name]["fresh_min"])
        at_restore = float(result.backlog_at_restore[0, place])
        yield from _differ(f"{name} at the restore", check=item.recovery.backlog_at_restore, report=at_restore)
        yield from _eta(loaded, item, known[name], down_min)
    for objective, each in (("drain", "drain_min"), ("fresh", "fresh_age_back_min")):
        if objective in gate:
            times = [getattr(item, each) for item in estimates.queues.values()]
            slowest = None if None in times else max(times)
            yield from _differ(f"slowest {objective}", check=slowest, gate=gate[objective])
            yield from _differ(
                f"slowest {objective}", check=_rounded(slowest),
                record=record["results"]["drain_min" if objective == "drain" else "fresh_min"],
            )  # fmt: skip


def _reached(minutes: float) -> float | None:
    return None if math.isnan(minutes) else float(minutes)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _eta(loaded: LoadedScenario, item: QueueEstimate, known: Known, down_min: float) -> Iterator[str]:
    """The live answer to what waits at the restore: the same end, where nothing but service takes work away."""
    back, load = item.recovery, item.load
    taken = back.expired + back.lost_to_retention + back.discarded_past_deadline + back.dead_lettered
    if load.order != "fifo" or taken > 0 or load.deadline_min is not None or item.queue.max_receives is not None:
        return
    # Admission steps wait for backlogs to end, and a dependency that fails or throttles is whole again as they do: both are
    # another course of a backlog that has no end, by which the live answer goes.
    course = loaded.scenario.admission.in_place or down_min > 1.0
    if course and item.drain_min is not None:
        return
    waiting = back.backlog_at_restore - back.superseded
    if waiting < 1.0 or (item.drain_min is not None and not 1.0 < item.drain_min < LIVE_MIN):
        return
    answer = _live(loaded, item, known, waiting)
    if item.drain_min is None:
        # What a dependency that is down still serves may empty a queue that is not counted as drained.
        if answer.empty.p50 is not None and back.backlog[-1] > 0.5:
            yield f"{item.name} drain: check never, eta {answer.empty.p50}"
    elif answer.empty.p50 is None or abs(answer.empty.p50 - item.drain_min) > max(0.5, NEAR * item.drain_min):
        yield f"{item.name} drain: check {item.drain_min}, eta {answer.empty.p50}"


def _live(loaded: LoadedScenario, item: QueueEstimate, known: Known, waiting: float) -> Live:
    at = loaded.scenario.incident.restored_at
    arrival = float(item.load.arrivals.rate_at(item.load.outage_min))
    return live([Reading(at, item.name, waiting, arrival_per_min=arrival)], known)


def _caps(estimates: Estimates, recovery: CoupledEstimate, known: Mapping[str, Known]) -> Iterator[str]:
    """Plan, runbook, exercises and the live answer about the room at a dependency and the highest cap within it."""
    loaded = estimates.loaded
    runbook, steps = build_runbook(estimates, recovery), step_caps(loaded)
    lifts = {lift.queue: lift for lift in runbook.caps}
    for name, item in estimates.queues.items():
        if item.cap is None:
            continue
        side = known[name].side
        room = room_at(loaded.scenario, item.cap.dependency)
        live_room = None if side is None else side.drain_share * max(
            0.0, side.tested_per_min - side.direct_per_min - side.control_per_min
        )  # fmt: skip
        yield from _differ(
            f"{name} part of the room", plan=item.cap.part_per_min, runbook=steps[name].room_per_min, eta=live_room
        )
        yield from _differ(f"{name} tested rate", plan=item.cap.tested_rate_per_min, one=room.tested_per_min)
        answer = _live(loaded, item, known[name], 1_000.0).cap
        if item.cap.safe_concurrency is None or answer is None:
            continue
        caps: dict[str, float | None] = {"plan": item.cap.safe_concurrency, "eta": answer.concurrency}
        held = lifts[name].cap
        if held.concurrency is not None and lifts[name].binds and held.rate_per_min > 0:
            caps["runbook"] = held.concurrency
        yield from _differ(f"{name} cap", **caps)
    yield from _exercised(estimates, runbook)


def _exercised(estimates: Estimates, runbook: Runbook) -> Iterator[str]:
    """Exercises set nothing that the runbook does not."""
    named = {command for step in runbook.steps for command in step.commands}
    named |= {line for pause in runbook.pauses for line in (f"# fleet {pause.fleet}", *pause.apply, *pause.undo)}
    for exercise in build_exercises(estimates, runbook, estimates.coupling):
        yield from (
            f"exercise {exercise.id}: {command} is not of the runbook"
            for command, _ in exercise.commands
            if command not in named
        )


def _attempts(estimates: Estimates, known: Mapping[str, Known]) -> Iterator[str]:
    """Recovery, chapter on the dependency and the live answer about attempts while calls fail."""
    coupling, scenario = estimates.coupling, estimates.loaded.scenario
    assert coupling is not None
    for standing in dependency_standings(coupling):
        part = coupling.system.dependencies[coupling.dependencies.index(standing.name)]
        yield from _differ(
            f"{standing.name} attempts of direct requests",
            recovery=part.attempts_failing, chapter=standing.direct_attempts,
            one=direct_attempts(scenario, standing.name),
        )  # fmt: skip
        mean = mean_attempts(scenario, standing.name)
        yield from _differ(f"{standing.name} attempts of the mix", chapter=standing.attempts, one=mean)
    for place, name in enumerate(coupling.queues):
        part_of = coupling.system.queues[place].attempts_failing
        yield from _differ(f"{name} attempts of an item", recovery=part_of, one=queue_attempts(scenario, name))
        cap, side = estimates.queues[name].cap, known[name].side
        if cap is not None and side is not None:
            mix = mean_attempts(scenario, cap.dependency)
            yield from _differ(f"{name} attempts of the mix", eta=side.attempts_failing, one=mix)


def unsafe(text: str, folder: Path) -> list[str]:
    """Dependencies that what a command sets loads beyond their tested rate, in a recovery that starts healthy."""
    loaded = load_scenario_text(text, folder / "team.yaml")
    estimates = estimate(loaded)
    if estimates.coupling is None or not estimates.coupling.dependencies:
        return []
    planned = [item for item in drain_cap.CHANGE.items(estimates) if item.status == DO]
    capped = couple(edited(loaded, [dict(item.edit) for item in planned]))
    steps = replace(estimates.coupling.system, admission=admission_of(loaded))
    assert capped is not None
    held = {item.target.removeprefix("queues.") for item in planned}
    held |= {name for name, item in estimates.queues.items() if item.cap is not None and not item.cap.overloads}
    whole = {
        name
        for name in loaded.scenario.dependencies
        if all(key in held for key, queue in loaded.scenario.queues.items() if queue.calls_of(name))
    }
    return [
        *_above(loaded, capped.system, "caps of the plan", whole),
        *_above(loaded, steps, "steps of the runbook", loaded.scenario.dependencies),
    ]


def _above(loaded: LoadedScenario, system: CoupledSystem, what: str, names: Iterable[str]) -> Iterator[str]:
    """Loads above the tested rate while the caps hold, what reaches a dependency beside its queues left aside."""
    rested = tuple(_rested(item) for item in system.dependencies)
    course = trace(replace(system, dependencies=rested), horizon_min=1_440.0)
    after = course.times_min > 0
    if system.admission is not None:
        # Step 6 lifts them.
        after &= course.step < 6
    for name in names:
        place = tuple(loaded.scenario.dependencies).index(name)
        part = rested[place]
        beside = part.control_per_min + part.fresh_per_min
        allowed = max(operated_rate(loaded.scenario.dependencies[name]), beside)
        load = float(course.attempts_per_min[after, place].max(initial=0.0))
        if load > allowed * (1 + NEAR):
            yield f"{what}: {name} gets {load:.6g}/min of {allowed:.6g}/min"


def _rested(item: CoupledDependency) -> CoupledDependency:
    """A dependency that is healthy, with its cache warm and direct traffic at the most that it comes to."""
    highest = item.fresh_per_min if item.direct is None else float(np.max(item.direct.rates_per_min))
    return replace(
        item, collapsed_at_restore=False, hit_at_restore=item.hit_at_rest, direct=None, fresh_per_min=highest,
        surge_per_min=0.0, control_backlog=0.0, capacity_per_min=max(item.capacity_per_min, 1e12),
    )  # fmt: skip
