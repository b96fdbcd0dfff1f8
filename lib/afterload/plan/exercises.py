"""The exercises of one team: what to do, what to expect by its own numbers, and what counts as passed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from afterload.clients import client_kinds
from afterload.estimates import Estimates
from afterload.findings.dependencies import DependencyStanding, dependency_standings
from afterload.findings.measured import DWELL_MIN
from afterload.plan.change import counted, owner_of
from afterload.plan.runbook import Runbook, is_lift
from afterload.recovery.build import Coupling
from afterload.units import format_duration, format_minutes, format_number, format_rate, format_share

__all__ = ["REFERENCE_LIFT_MIN", "Exercise", "Fault", "build_exercises"]

# The provider of the reference event lifted its throttles from 11:23 to 13:50 on 20 October 2025 (published summary).
REFERENCE_LIFT_MIN = 147.0
# How long a trigger is applied at a known load.
TRIGGER_MIN = 1.0
# A load this far below hidden capacity should heal by itself, and one this far above should not.
STABLE_SHARE, VULNERABLE_SHARE = 0.9, 1.1


@dataclass(frozen=True)
class Fault:
    """What is broken on purpose.

    Attributes:
        kind: a dependency that cannot be reached, or launches that find no capacity.
        target: name of the dependency or fleet.
        minutes: how long it lasts.
        service: ``dynamodb`` where the clients of the dependency call that; else ``other``.
        group: the Auto Scaling group, if the scenario names it.
    """

    kind: Literal["dependency away", "launches denied"]
    target: str
    minutes: float
    service: str = "other"
    group: str | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise, for a test account.

    Attributes:
        number, id, title: 1 to 7, a stable name, and what is done, in words.
        steps: how it is done.
        expected: what the model says will be seen.
        passes: when it counts as passed.
        measured: how the recovery is measured after the fault ends.
        owners: who carries it out.
        faults: what is broken on purpose; empty where nothing is.
        commands: commands of the runbook that belong to it, each with the minutes to wait after it.
        step: the step of the runbook that they are from.
        prepares: True if these commands go before the fault, not after it.
        nothing: why the scenario has nothing for it; empty where it has.
    """

    number: int
    id: str
    title: str
    steps: tuple[str, ...]
    expected: tuple[str, ...]
    passes: tuple[str, ...]
    measured: str
    owners: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    commands: tuple[tuple[str, float], ...] = ()
    prepares: bool = False
    nothing: str = ""
    step: int = 1


def build_exercises(estimates: Estimates, runbook: Runbook, coupling: Coupling | None) -> tuple[Exercise, ...]:
    """The seven exercises of a scenario.

    Parameters:
        estimates: the results for the scenario.
        runbook: its runbook, whose order and caps are exercised.
        coupling: the scenario as one coupled system; None where it has no queue and no dependency.
    """
    return _Writer(estimates, runbook, coupling).exercises()


class _Writer:
    def __init__(self, estimates: Estimates, runbook: Runbook, coupling: Coupling | None) -> None:
        self.estimates, self.runbook = estimates, runbook
        self.scenario = estimates.loaded.scenario
        self.standings = dependency_standings(coupling)

    def exercises(self) -> tuple[Exercise, ...]:
        parts: tuple[Callable[[int], Exercise], ...] = (
            self._away, self._attempts, self._launches, self._leases, self._order, self._lifts, self._trigger,
        )  # fmt: skip
        return tuple(part(number) for number, part in enumerate(parts, 1))

    def _made(
        self, number: int, key: str, title: str, nothing: str = "", *, steps: Iterable[str] = (),
        expected: Iterable[str] = (), passes: Iterable[str] = (), measured: str = "", owners: Iterable[str] = (),
        faults: Iterable[Fault] = (), commands: Iterable[tuple[str, float]] = (), prepares: bool = False,
        step: int = 1,
    ) -> Exercise:  # fmt: skip
        named = tuple(dict.fromkeys(owners)) or (owner_of(self.estimates),)
        return Exercise(
            number, key, title, tuple(steps), tuple(expected), tuple(passes), measured, named, tuple(faults),
            tuple(commands), prepares, nothing, step,
        )  # fmt: skip

    def _faults(self, minutes: float) -> tuple[Fault, ...]:
        clients = self.scenario.clients.values()
        return tuple(
            Fault(
                "dependency away", name, minutes,
                "dynamodb" if any(c.dependency == name and c.service == "dynamodb" for c in clients) else "other",
            )
            for name in self.scenario.dependencies
        )  # fmt: skip

    def _age_measure(self) -> str:
        names = ", ".join(self.scenario.queues) or "the interactive traffic"
        what = "first-attempt age" if self.scenario.queues else "error rate and latency"
        return (
            f"From the minute in which the fault ends to the first minute from which on {what} of {names} stays at its "
            f"baseline for {format_minutes(DWELL_MIN)}, with no data missing."
        )

    # --- the seven -----------------------------------------------------------------------------------------------------

    def _away(self, number: int) -> Exercise:
        key, title = "dependency-away", "Hold a dependency away, restore it, and measure the interval after the restore"
        scenario = self.scenario
        if not scenario.dependencies:
            return self._made(number, key, title, "The scenario has no dependency to hold away.")
        outage, objective = scenario.incident.outage_min, scenario.recovery_objective_min
        expected, owners = [], []
        for name, item in self.estimates.queues.items():
            waiting = counted(item.recovery.backlog_at_restore, "item")
            expected.append(f"queue {name}: {waiting} at the restore, {_drain(item.drain_min)}.")
            if item.lost > 0:
                expected.append(f"queue {name}: {counted(item.lost, 'item')} lost without a record.")
            owners.append(owner_of(self.estimates, item.queue))
        expected += [
            f"dependency {item.name}: {format_rate(item.load)} to bear at the restore, of {format_rate(item.capacity)}."
            for item in self.standings
        ]
        backs = {name: item.fresh_age_back_min for name, item in self.estimates.queues.items()}
        late = [name for name, back in backs.items() if back is None or back > objective]
        passes = [f"recovery within {format_minutes(objective)} of the restore, the objective."]
        if late:
            passes.append(f"by the numbers of today not passed by {', '.join(late)}: carry out the change plan first.")
        return self._made(
            number, key, title,
            steps=(f"hold {', '.join(scenario.dependencies)} away for {format_duration(outage)} under usual load.",
                   "restore it in one step, with no help, and change nothing until the recovery is over."),
            expected=expected, passes=passes, measured=self._age_measure(), owners=owners, faults=self._faults(outage),
        )  # fmt: skip

    def _attempts(self, number: int) -> Exercise:
        key, title = "attempts", "Count attempts per logical request at every layer, and confirm each client's mode"
        scenario = self.scenario
        if not scenario.call_stacks and not scenario.clients:
            return self._made(number, key, title, "The scenario has no call stack and no client that retries.")
        expected, passes, owners = [], [], []
        for name, item in self.estimates.stacks.items():
            tries = [layer.tries for layer in item.stack.layers]
            away = [math.prod(tries[: place + 1]) for place in range(len(tries))]
            counts = ", ".join(f"{layer.name} {n:,}" for layer, n in zip(item.stack.layers, away, strict=True))
            expected.append(f"call stack {name}, attempts per request while it is away: {counts}.")
            probability = item.stack.failure_probability
            if probability < 1:
                expected.append(
                    f"call stack {name}: {format_number(item.result.multiplier)} at the bottom while "
                    f"{format_share(probability)} of attempts fail, as in the event."
                )
            passes.append(f"call stack {name}: at most {max(tries):,} at the bottom, those of one layer that retries.")
            owners.append(owner_of(self.estimates, item.stack))
        for kind in client_kinds(scenario):
            view = kind.view()
            if view is None or view.burst_retries is None:
                words = "no limit on retries is known" if view is None else "nothing limits its retries"
                expected.append(f"client {kind.name}: {words}.")
                passes.append(f"client {kind.name}: runs in a mode whose quota is seen to bind.")
            else:
                burst = counted(view.burst_retries, "retry")
                expected.append(f"client {kind.name}: {burst} over {counted(kind.client.number, 'client')}, then few.")
                passes.append(f"client {kind.name}: no more than {burst} before its limits bind.")
            owners.append(owner_of(self.estimates, kind.client))
        return self._made(
            number, key, title,
            steps=("hold the dependency away with full quotas at the start, and send requests that carry an identifier.",
                   "count attempts by identifier in the logs of each layer; write down SDK, version and mode of each client."),
            expected=expected, passes=passes, owners=owners, faults=self._faults(15.0),
            measured="Attempts that arrive at each layer, divided by requests at the top, while the fault lasts; after it "
            "ends, minutes until that ratio is what it was before.",
        )  # fmt: skip

    def _launches(self, number: int) -> Exercise:
        key, title = "launches-denied", "Deny launches while health checks fail on part of the fleet"
        if not self.scenario.fleets:
            return self._made(number, key, title, "The scenario has no fleet whose launches could be denied.")
        expected, passes, faults, owners = [], [], [], []
        for name, item in self.estimates.fleets.items():
            fleet = item.fleet
            denied = max(fleet.launches_from_min, 60.0)
            running = [entry.name for entry in fleet.removal_automation or () if not entry.paused]
            what = f"{', '.join(running)} can remove some" if running else "nothing can remove any by itself"
            if fleet.removal_automation is None:
                what = "what can remove some is not known"
            expected.append(
                f"fleet {name}: {counted(fleet.running, 'instance')} in service, {fleet.needed:,} needed; {what}."
            )
            if fleet.removal_rate_per_min > 0:
                gone = min(float(fleet.running), fleet.removal_rate_per_min * denied)
                expected.append(
                    f"fleet {name}: about {counted(gone, 'instance')} removed in {format_duration(denied)}."
                )
            passes.append(f"fleet {name}: none is terminated while launches are denied, with the pause list applied.")
            if item.missing:
                passes.append(
                    f"fleet {name}: {counted(item.missing, 'missing instance')} in service within "
                    f"{format_duration(item.launches.in_service_s / 60)} of the first launch that succeeds."
                )
            faults.append(Fault("launches denied", name, denied, group=fleet.resources.auto_scaling_group))
            owners.append(owner_of(self.estimates, fleet))
        commands = [(line, 0.0) for pause in self.runbook.pauses for line in (f"# fleet {pause.fleet}", *pause.apply)]
        return self._made(
            number, key, title,
            steps=("pause the automation that removes capacity, by the list of the runbook.",
                   "deny launches to the scaling role, and fail the health checks of a part of the fleet.",
                   "allow launches again; reset health; resume one process at a time."),
            expected=expected, passes=passes, owners=owners, faults=faults, commands=commands, prepares=True,
            measured="Terminations in the scaling activities while launches are denied; then from the first launch that "
            "succeeds to the last missing instance in service.",
        )  # fmt: skip

    def _leases(self, number: int) -> Exercise:
        key, title = "leases", "Let credentials, leases or certificates expire in the window"
        if not self.scenario.control_loops:
            return self._made(number, key, title, "The scenario has no control loop whose leases could expire.")
        expected, passes = [], []
        for name, loop in self.scenario.control_loops.items():
            callers = counted(loop.waiting_at_restore, "caller")
            room = loop.capacity_per_s - loop.load_per_s
            if room <= 0:
                expected.append(
                    f"control loop {name}: {callers} wait and {format_number(loop.load_per_s)}/s come, at or above the "
                    f"{format_number(loop.capacity_per_s)}/s that it serves: it does not catch up."
                )
                passes.append(f"control loop {name}: renewals catch up at all.")
                continue
            seconds = loop.waiting_at_restore / room
            if not loop.waiting_at_restore:
                expected.append(f"control loop {name}: no caller waits at the restore, so renewals go on as before.")
                passes.append(f"control loop {name}: no lease runs out.")
                continue
            expected.append(
                f"control loop {name}: {callers} send at once; at {format_number(loop.capacity_per_s)}/s these and new ones "
                f"take {format_duration(seconds / 60)} at the least, the time-out is {format_number(loop.timeout_s)} s."
            )
            passes.append(
                f"control loop {name}: every lease renewed, none twice, within {format_duration(max(seconds / 30, 1.0))}."
            )
        return self._made(
            number, key, title,
            steps=("hold the renewals away until leases, credentials or certificates have expired.",
                   "let renewals through again, all at once, before any other traffic."),
            expected=expected, passes=passes,
            measured="From the first renewal that is let through to the moment when none waits and the rate of renewals "
            "is that of an ordinary day.",
        )  # fmt: skip

    def _order(self, number: int) -> Exercise:
        key, title = "admission-order", "Restore with deferred work queued, and check the order of admission"
        if not self.scenario.queues or not self.scenario.dependencies:
            return self._made(
                number, key, title, "The scenario has no queue with a dependency, so no deferred work waits."
            )
        expected = []
        for step in self.runbook.steps:
            when = "not begun" if step.begins_min is None else f"{format_minutes(step.begins_min)} after the restore"
            expected.append(f"step {step.number}, {step.name}: {when}.")
        expected += [f"queue {item.queue}: at most {item.cap.words} in steps 4 and 5." for item in self.runbook.caps]
        passes = ["the steps begin in this order, and none before its signal has held."]
        passes += [
            f"dependency {item.name}: never above {format_rate(item.capacity)}, and never down again after step 1."
            for item in self.standings
        ]
        passes.append("removal automation stays paused until step 7.")
        held = [(command, 0.0) for command in self.runbook.steps[0].commands]
        return self._made(
            number, key, title,
            steps=(f"hold {', '.join(self.scenario.dependencies)} away until work is queued, then restore it collapsed: under "
                   "the load that keeps it down.",
                   "recover by the runbook, with one person who only writes down when each step begins."),
            expected=expected, passes=passes, measured=self._age_measure(),
            owners=[owner for step in self.runbook.steps for owner in step.owners],
            faults=self._faults(min(self.scenario.incident.outage_min, 60.0)), commands=held,
        )  # fmt: skip

    def _lifts(self, number: int) -> Exercise:
        key, title = "lifts", "Lift each throttle in steps, with an owner and a hold, and time the whole"
        step = self.runbook.steps[5]
        if step.nothing:
            return self._made(number, key, title, "The scenario has no queue, so there is no throttle to lift.")
        expected = []
        for item in self.runbook.caps:
            if item.binds:
                sizes = "; ".join(cap.words for cap in item.lifts)
                expected.append(f"queue {item.queue}: from {item.cap.words} to {sizes}.")
            else:
                expected.append(
                    f"queue {item.queue}: {item.cap.words} all the time, since its cap is what its consumers do."
                )
        total = format_minutes(self.runbook.lifting_min)
        expected.append(
            f"all lifts: {total} of holds; the provider took {format_minutes(REFERENCE_LIFT_MIN)} in the reference event."
        )
        return self._made(
            number, key, title,
            steps=("begin with every cap of step 4 in force and usual traffic.",
                   f"lift one cap at a time; when a lift is made for every queue, hold it for "
                   f"{format_minutes(step.hold_min)}; name who decides."),
            expected=expected,
            passes=(f"every lift has an owner and is held, and the whole takes no more than {format_minutes(self._most())}.",
                    "no rise in errors or latency in any hold; one that rises is taken back."),
            measured="From the first lift to the moment when the last one has been held and limits are as on an ordinary day.",
            owners=step.owners, commands=self._timed(step.commands, step.hold_min), step=step.number,
        )  # fmt: skip

    def _most(self) -> float:
        """Half as long again as the holds alone: deciding takes time too."""
        return 1.5 * self.runbook.lifting_min

    @staticmethod
    def _timed(commands: Iterable[str], hold_min: float) -> Iterator[tuple[str, float]]:
        """Each lift is held once, after its last command, however many queues it lifts."""
        lines = list(commands)
        starts = [place for place, line in enumerate(lines) if is_lift(line)]
        ends = {
            max((place for place in range(first, last) if not lines[place].startswith("#")), default=-1)
            for first, last in zip(starts, [*starts[1:], len(lines)], strict=True)
        }
        for place, line in enumerate(lines):
            yield line, hold_min if place in ends else 0.0

    def _trigger(self, number: int) -> Exercise:
        key, title = (
            "hidden-capacity",
            "Apply a trigger at a known load, and see whether the system quiets down unaided",
        )
        if not self.standings:
            return self._made(
                number, key, title, "The scenario has no dependency whose hidden capacity could be probed."
            )
        expected, passes = list[str](), list[str]()
        for item in self.standings:
            expected += self._hidden(item)
            passes.append(
                f"dependency {item.name}: after a trigger at {format_rate(STABLE_SHARE * item.hidden)} attempts are back at "
                f"the load within {format_minutes(DWELL_MIN)} with nobody's help."
            )
            if item.load > item.hidden:
                passes.append(
                    f"dependency {item.name}: the load of the recovery, {format_rate(item.load)}, does not pass this today."
                )
        return self._made(
            number, key, title,
            steps=(f"load a replica at a known rate, and hold the dependency away for {format_minutes(TRIGGER_MIN)}.",
                   "take the trigger away, change nothing, and raise the rate from run to run until it stays down.",
                   "to end that state, take load away until it is below hidden capacity."),
            expected=expected, passes=passes,
            measured="From the end of the trigger to attempts back at the offered load, in a run that is left alone for at "
            f"least {format_minutes(DWELL_MIN)}; a replica shows mechanisms and certifies no threshold.",
            faults=self._faults(TRIGGER_MIN),
        )  # fmt: skip

    @staticmethod
    def _hidden(item: DependencyStanding) -> Iterator[str]:
        yield (
            f"dependency {item.name}: hidden capacity {format_rate(item.hidden)}, that is {format_rate(item.capacity)} over "
            f"{format_number(item.mean_attempts)} attempts per request while it fails."
        )
        yield (
            f"dependency {item.name}: the load of the recovery is {format_rate(item.load)}, "
            f"{format_number(item.load / item.hidden)} times that."
        )
        if item.mean_attempts > VULNERABLE_SHARE:
            yield f"dependency {item.name}: at {format_rate(VULNERABLE_SHARE * item.hidden)} it stays down by itself."


def _drain(minutes: float | None) -> str:
    if minutes is None:
        return "and it never drains at these rates"
    return "nothing to drain" if minutes == 0 else f"drained {format_minutes(minutes)} after it"
