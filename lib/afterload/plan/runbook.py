"""The recovery runbook of one team: the seven steps of admission with its own names, numbers and commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from afterload.clients import ClientKind, client_kinds
from afterload.estimates import Estimates
from afterload.findings.measured import SignalRecovery
from afterload.findings.telemetry import Measured
from afterload.model.coupled import GUIDE_STEPS
from afterload.plan.change import IN_PLACE, PlanItem, counted, owner_of
from afterload.plan.changes import (
    admission_steps,
    bounded_replay,
    drain_cap,
    pause_list,
    retry_budget,
    standard_retries,
)
from afterload.plan.consumers import ConsumerCap, capped, held, lifted
from afterload.plan.kept import Kept, owner_agreed
from afterload.plan.objectives import within
from afterload.recovery.admission import StepCap, admission_of, floor_rate, step_caps
from afterload.recovery.rates import beside, cap_steps, operated_rate, room_at
from afterload.recovery.result import CoupledEstimate, Variant
from afterload.scenario import Queue
from afterload.units import format_minutes, format_number, format_rate, format_share

__all__ = [
    "WARM_SHARE",
    "Lift",
    "Pause",
    "Runbook",
    "RunbookStep",
    "admission_of",
    "agreed",
    "build_runbook",
    "is_lift",
    "is_name",
]

# A cache counts as filled at this share of its hit rate at rest, as in the coupled recovery.
WARM_SHARE = 0.9
ORDER_WORDS = {
    "fifo": "in its own order (newest first needs a second queue for what is old)",
    "lifo": "newest first",
    "fresh_first": "fresh work first",
}


# Who carries out a part of a step by the scenario, with the lines of the plan that are about the same, by their stable names:
# who was agreed on for the first of these that has an agreement takes the place.
Charge = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class RunbookStep:
    """One step of the runbook.

    Attributes:
        number, name: 1 to 7, and what the step is called.
        hold_min: minutes for which its signal must hold before the next step.
        begins_min: minutes after the restore at which the simulation begins it, last time; None where it does not.
        admit, hold: what is let through and what is held back, by name.
        commands: commands to apply; lines that begin with # are for people.
        advance: signals with the value to reach.
        abort: what to do when a dependency collapses in it.
        owners: who carries it out.
        nothing: why there is nothing to do here; empty where there is.
        charges: whom the scenario names for each part, with the lines of the plan that are about it.
    """

    number: int
    name: str
    hold_min: float
    begins_min: float | None
    admit: tuple[str, ...]
    hold: tuple[str, ...]
    commands: tuple[str, ...]
    advance: tuple[str, ...]
    abort: str
    owners: tuple[str, ...]
    nothing: str = ""
    charges: tuple[Charge, ...] = ()


@dataclass(frozen=True)
class Pause:
    """Automation of one fleet that removes capacity: how to pause it, how to resume it, and what to mind then."""

    fleet: str
    status: str
    evidence: str
    apply: tuple[str, ...]
    undo: tuple[str, ...]
    traps: tuple[str, ...]
    owner: str


@dataclass(frozen=True)
class Lift:
    """The caps of one queue in steps 4 and 5, and after each lift of step 6; the last one is what consumers can do."""

    queue: str
    cap: ConsumerCap
    lifts: tuple[ConsumerCap, ...]

    @property
    def binds(self) -> bool:
        """True if the cap is below what the consumers can do."""
        return self.cap.rate_per_min < self.lifts[-1].rate_per_min * (1 - 1e-9)


@dataclass(frozen=True)
class Runbook:
    """The seven steps, the automation to pause, and the caps.

    Attributes:
        ends_min: minutes after the restore at which the simulation is through all steps; None where it is not.
        fallbacks: how often the simulation had to go back.
        case: which recovery the times are from; empty where none was simulated.
        lifting_min: minutes that the lifts of step 6 are held, together.
        objective_min: the scenario's objective, from the restore to first-attempt age back at baseline.
        fresh_back_min: minutes in which that recovery gets there, of the slowest queue; None for never, and without one.
    """

    steps: tuple[RunbookStep, ...]
    pauses: tuple[Pause, ...]
    caps: tuple[Lift, ...]
    ends_min: float | None
    fallbacks: int
    case: str
    lifting_min: float
    objective_min: float
    fresh_back_min: float | None = None

    @property
    def lifts(self) -> int:
        """In how many lifts step 6 puts back the limits; 0 without a queue."""
        return len(self.caps[0].lifts) if self.caps else 0

    @property
    def verdict(self) -> str:
        """Whether a recovery by these steps meets the objective, in words; empty text where none was simulated."""
        if not self.case or not self.caps:
            return ""
        objective = f"the objective of {format_minutes(self.objective_min)}"
        back = self.fresh_back_min
        if back is None:
            return f"By these steps first-attempt age is never back at baseline: {objective} is missed."
        over = back - self.objective_min
        judged = "met" if within(back, self.objective_min) else f"missed by {format_minutes(over)}"
        when = f"{format_minutes(back)} after the restore"
        return f"By these steps first-attempt age is back at baseline {when}: {objective} is {judged}."

    @property
    def lift_words(self) -> str:
        """In how many lifts step 6 puts back the limits, and for how long they are held; empty text without a queue."""
        if not self.caps:
            return ""
        held_for = format_minutes(self.lifting_min)
        if self.lifts > 1:
            return f"The {self.lifts} lifts of step 6 are held for {held_for} together"
        return f"Step 6 is one lift, held for {held_for}"


def build_runbook(
    estimates: Estimates, recovery: CoupledEstimate | None = None, measured: Measured | None = None
) -> Runbook:
    """The runbook of a scenario.

    Parameters:
        estimates: the results for the scenario.
        recovery: its coupled recovery, for the times; those from a collapsed restore are used, in which the steps matter.
        measured: its telemetry, for the age that is normal.
    """
    return _Writer(estimates, recovery, measured).runbook()


def agreed(runbook: Runbook, kept: Kept) -> Runbook:
    """The runbook with the owners that people agreed on beside the plan, in place of those that the scenario names."""
    return replace(
        runbook,
        steps=tuple(replace(step, owners=_owners(step.charges, kept)) for step in runbook.steps),
        pauses=tuple(replace(item, owner=_agreed(_pausing(item.fleet, item.owner), kept)) for item in runbook.pauses),
    )


def _owners(charges: Iterable[Charge], kept: Kept) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_agreed(charge, kept) for charge in charges))


def _agreed(charge: Charge, kept: Kept) -> str:
    owner, lines = charge
    return next((found for found in (owner_agreed(kept, line, "") for line in lines) if found), owner)


def _pausing(fleet: str, owner: str) -> Charge:
    return owner, (f"{pause_list.CHANGE.id}:fleets.{fleet}",)


def _by_steps(recovery: CoupledEstimate | None) -> Variant | None:
    """The recovery by the seven steps that starts collapsed, or another by the steps where none does."""
    if recovery is None:
        return None
    found = [item for item in (recovery.today, *recovery.others) if item.system.admission is not None]
    worst = [item for item in found if any(part.collapsed_at_restore for part in item.system.dependencies)]
    return next(iter((*worst, *found)), None)


class _Writer:
    def __init__(self, estimates: Estimates, recovery: CoupledEstimate | None, measured: Measured | None) -> None:
        self.estimates, self.loaded = estimates, estimates.loaded
        self.scenario = estimates.loaded.scenario
        self.admission = admission_of(self.loaded)
        self.variant = _by_steps(recovery)
        self.coupling = None if recovery is None else recovery.coupling
        self.measured = {} if measured is None else {item.name: item for item in measured.queues}
        self.step_caps = step_caps(self.loaded)
        self.caps = tuple(self._caps())
        self.pauses = tuple(self._pauses())

    def runbook(self) -> Runbook:
        parts: tuple[Callable[[int], RunbookStep], ...] = (
            self._doors, self._loops, self._fresh, self._recent, self._old, self._lift, self._removal,
        )  # fmt: skip
        steps = tuple(part(number) for number, part in enumerate(parts, 1))
        variant = self.variant
        return Runbook(
            steps, self.pauses, self.caps, self._begins(len(steps) + 1),
            0 if variant is None else int(variant.result.fallbacks[0]),
            "" if variant is None else _case(variant),
            self.admission.lifts * self.admission.hold_min[5],
            self.scenario.recovery_objective_min, self._fresh_back(),
        )  # fmt: skip

    def _fresh_back(self) -> float | None:
        times = () if self.variant is None else self.variant.result.fresh_age_back_min[0]
        return float(np.max(times)) if len(times) and not np.isnan(times).any() else None

    def _begins(self, number: int) -> float | None:
        if self.variant is None:
            return None
        minutes = float(self.variant.result.step_begun_min[0, number])
        return None if np.isnan(minutes) else minutes

    def _step(
        self, number: int, nothing: str = "", *, admit: Iterable[str] = (), hold: Iterable[str] = (),
        commands: Iterable[str] = (), advance: Iterable[str] = (), charges: Iterable[Charge] = (),
    ) -> RunbookStep:  # fmt: skip
        steps_line = f"{admission_steps.CHANGE.id}:{admission_steps.TARGET}"
        named = tuple(charges) or ((owner_of(self.estimates), (steps_line,)),)
        return RunbookStep(
            number, GUIDE_STEPS[number - 1], self.admission.hold_min[number - 1], self._begins(number),
            tuple(admit), tuple(hold), tuple(commands), tuple(advance), self._abort(number), _owners(named, {}), nothing,
            named,
        )  # fmt: skip

    def _abort(self, number: int) -> str:
        if not self.scenario.dependencies:
            return "No dependency is given, so no collapse can be noticed here: give one to have a rule."
        notice = format_minutes(self.admission.notice_min)
        if number == 1:
            return "Stay here while a dependency is down; if its load is at the least already, it needs its owner."
        if number < 6:
            return f"If a dependency is down for {notice}: back to step 1, and take the steps anew."
        return f"If a dependency is down for {notice}: back to the caps of step 4; if that does not heal it, to step 1."

    # --- what the steps have in common ---------------------------------------------------------------------------------

    def _caps(self) -> Iterator[Lift]:
        """Caps as the coupled recovery has them: a share of the room, by service rates, then equal lifts."""
        for name, cap in self.step_caps.items():
            queue, lifts = self.scenario.queues[name], self.admission.lifts
            shares = (0.0, *(place / lifts for place in range(1, lifts + 1)))
            first, *others = (ConsumerCap.of(queue, cap.room_per_min, share) for share in shares)
            yield Lift(name, first, tuple(others))

    def _queue_charges(self, *changes: str) -> list[Charge]:
        """Who holds, caps and lifts each queue: the line of its drain cap is about that, and those of ``changes`` before it."""
        return [
            (
                owner_of(self.estimates, queue),
                tuple(f"{each}:queues.{name}" for each in (*changes, drain_cap.CHANGE.id)),
            )
            for name, queue in self.scenario.queues.items()
        ]

    def _part(self, item: Lift) -> str:
        """What a cap of step 4 assumes, where it binds: a share of the room, or of the queue's part of it."""
        if not item.binds:
            return ""
        others = beside(self.scenario, item.queue)
        room = f"its part of the room while {', '.join(others)} drain{'s' if len(others) == 1 else ''} too"
        share = self.admission.drain_share
        return f", {'within' if share == 1 else f'{format_share(share)} of'} {room if others else 'the room'}"

    def _passed_on(self, item: Lift) -> Iterator[str]:
        """What a queue may have in step 4 once the others at its dependency only take what arrives there."""
        cap, others = self._later(item), beside(self.scenario, item.queue)
        if cap is None:
            return
        are = "is" if len(others) == 1 else "are"
        yield (
            f"queue {item.queue}: when {', '.join(others)} {are} drained, up to {cap.words}, as in the simulation: it gets "
            "what they leave of their part."
        )

    def _later(self, item: Lift) -> ConsumerCap | None:
        """The cap of a queue once the others at its dependency are drained; None where it is no other one."""
        queue, others = self.scenario.queues[item.queue], beside(self.scenario, item.queue)
        if not item.binds or not others or queue.dependency is None:
            return None
        arrive = sum(self.estimates.queues[name].load.arrivals.mean_tail_per_min for name in others)
        cap = ConsumerCap.of(queue, max(0.0, room_at(self.scenario, queue.dependency).room_per_min - arrive))
        return None if cap.rate_per_min <= item.cap.rate_per_min or cap.same_as(item.cap) else cap

    def _allowed(self, item: Lift) -> str:
        """What a queue may do in step 4, and what that is of the room."""
        if item.cap.is_as_before:
            return f"limits as before: the room takes all that its consumers do, {format_rate(item.cap.rate_per_min)}"
        if item.cap.rate_per_min <= 0 and item.cap.concurrency is not None:
            return f"stopped: {item.cap.concurrency:,} at once{self._part(item)}, is less than can be set"
        return f"capped at {item.cap.words}{self._part(item)}"

    def _not_drained(self, item: Lift, arrives: float) -> str:
        """That a cap does not drain its queue, and what would."""
        queue, later = self.scenario.queues[item.queue], self._later(item)
        told = f"queue {item.queue}: {format_rate(arrives)} arrive, "
        if later is not None and later.rate_per_min > arrives * (1 + 1e-9):
            return f"{told}so this cap does not drain it before {', '.join(beside(self.scenario, item.queue))} are drained."
        told += (
            "so this cap never drains it; this step does not end before less arrives or there is more room. "
            if item.binds
            else "and its consumers do no more: this step does not end before less arrives or there are more consumers."
        )
        return told + self._would_drain(queue, self.step_caps[item.queue], arrives) if item.binds else told

    def _would_drain(self, queue: Queue, cap: StepCap, arrives: float) -> str:
        """The least cap that drains a queue, with what it needs."""
        most, steps = cap.most_per_min, cap_steps(queue)
        if most <= arrives * (1 + 1e-9):
            return f"Its consumers do no more than {format_rate(most)} without a cap either: it needs more of them."
        least = arrives
        if steps is not None:
            number = max(steps.least, math.floor(arrives / steps.each_per_min + 1e-9) + 1)
            least = most if number > steps.highest else min(most, number * steps.each_per_min)
        part = cap.room_per_min / self.admission.drain_share
        percent = math.floor(100 * least / part) + 1 if part > 0 else math.inf
        if steps is not None and percent > 1 and least <= part * (percent - 1) / 100 * (1 + 1e-9):
            percent -= 1
        words = f"more than {format_rate(arrives)}" if steps is None else ConsumerCap.of(queue, least).words
        if percent <= 100:
            return f"At {words}, with a drain_share of {percent:,} %, it would."
        return (
            f"At {words} it would, but {queue.dependency} was tested to no more than {format_rate(part)} of it beside its "
            "other traffic: test that to a higher rate, or hold other traffic back."
        )

    def _within(self) -> Iterator[str]:
        for name, item in self.scenario.dependencies.items():
            yield f"{name}: attempts at or below {format_rate(operated_rate(item))}, with errors and latency in objective."

    def _baseline(self, name: str) -> str:
        found = self.measured.get(name)
        for signal in found.recovery.signals if found is not None and found.recovery is not None else ():
            if signal.signal == "first-attempt age":
                return f"{name}: first-attempt age at or below its measured edge, {_edge(signal)}."
        return (
            f"{name}: first-attempt age at its baseline, which is no wait at all in the simulation; none is measured."
        )

    # --- the steps -----------------------------------------------------------------------------------------------------

    def _doors(self, number: int) -> RunbookStep:
        scenario, charges = self.scenario, list[Charge]()
        commands, hold = list[str](), list[str]()
        for kind in client_kinds(scenario):
            hold.append(f"client {kind.name}: {_retries(kind)}")
            charges.append(
                (
                    owner_of(self.estimates, kind.client),
                    tuple(f"{each.CHANGE.id}:clients.{kind.name}" for each in (retry_budget, standard_retries)),
                )
            )
        for name, queue in scenario.queues.items():
            floor = ConsumerCap.of(queue, floor_rate(self.loaded, name))
            stand = "at a standstill" if floor.rate_per_min <= 0 else f"at a floor of {floor.words}"
            if floor.rate_per_min <= 0 and floor.concurrency:
                stand += f", since {floor.concurrency:,} at once is less than can be set"
            hold.append(f"queue {name}: consumers {stand}.")
            commands += _for_queue(name, held(queue, floor))
        charges += self._queue_charges()
        for name, item in scenario.dependencies.items():
            if item.direct_rate_per_min > 0:
                hold.append(f"dependency {name}: direct traffic of {format_rate(item.direct_rate_per_min)}, shed.")
        for pause in self.pauses:
            if pause.status != IN_PLACE:
                hold.append(f"fleet {pause.fleet}: automation that removes capacity.")
                commands += (f"# fleet {pause.fleet}", *pause.apply)
                charges.append(_pausing(pause.fleet, pause.owner))
        if not hold:
            return self._step(number, "The scenario has no client, queue, direct traffic or fleet to hold.")
        admit = [
            f"dependency {name}: control traffic of {format_rate(item.control_rate_per_min)}."
            for name, item in scenario.dependencies.items()
            if item.control_rate_per_min > 0
        ]
        advance = [f"{name}: first tries succeed steadily." for name in scenario.dependencies]
        return self._step(number, admit=admit, hold=hold, commands=commands, advance=advance, charges=charges)

    def _loops(self, number: int) -> RunbookStep:
        admit, advance = [], []
        for name, loop in self.scenario.control_loops.items():
            waiting = f", {counted(loop.waiting_at_restore, 'caller')} waiting" if loop.waiting_at_restore else ""
            admit.append(f"control loop {name}: renewals, {format_number(loop.load_per_s)}/s{waiting}.")
            advance.append(
                f"{name}: {format_number(loop.load_per_s)}/s renewed within {format_number(loop.timeout_s)} s, none waits."
            )
        for name, item in self.scenario.dependencies.items():
            if item.control_rate_per_min > 0:
                admit.append(f"dependency {name}: control traffic of {format_rate(item.control_rate_per_min)}.")
                advance.append(f"{name}: control traffic of {format_rate(item.control_rate_per_min)} succeeds.")
            if item.cache is not None and item.cache.hit_rate > 0:
                goal = WARM_SHARE * item.cache.hit_rate
                admit.append(f"cache of {name}: the fill, ahead of clients.")
                advance.append(
                    f"cache of {name}: hit rate at or above {format_share(goal)}, nine tenths of "
                    f"{format_share(item.cache.hit_rate)} at rest."
                )
        if not admit:
            return self._step(number, "The scenario has no control loop, control traffic or cache to restore.")
        return self._step(number, admit=admit, hold=("all else stays as in step 1.",), advance=advance)

    def _fresh(self, number: int) -> RunbookStep:
        direct = {name: item for name, item in self.scenario.dependencies.items() if item.direct_rate_per_min > 0}
        stacks = self.scenario.call_stacks
        if not direct and not stacks:
            return self._step(number, "The scenario has no direct traffic and no call stack to admit.")
        admit = [
            f"dependency {name}: direct traffic of {format_rate(i.direct_rate_per_min)}." for name, i in direct.items()
        ]
        admit += [f"call stack {name}: requests that still have time left." for name in stacks]
        hold = [
            "requests past their deadline: drop them.",
            *(f"queue {name}: as in step 1." for name in self.scenario.queues),
        ]
        charges = [(owner_of(self.estimates, stack), ()) for stack in stacks.values()]
        return self._step(number, admit=admit, hold=hold, advance=self._within(), charges=charges)

    def _recent(self, number: int) -> RunbookStep:
        queues = self.scenario.queues
        if not queues:
            return self._step(number, "The scenario has no queue, so there is no backlog to drain.")
        admit, hold, commands = list[str](), list[str](), list[str]()
        for item in self.caps:
            queue = queues[item.queue]
            admit.append(f"queue {item.queue}: {ORDER_WORDS[queue.order]}, {self._allowed(item)}.")
            admit += self._passed_on(item)
            commands += _for_queue(item.queue, capped(queue, item.cap))
            arrives = self.estimates.queues[item.queue].load.arrivals.mean_tail_per_min
            if item.cap.rate_per_min <= arrives * (1 + 1e-9):
                hold.append(self._not_drained(item, arrives))
            if queue.order == "fresh_first":
                old = format_minutes(queue.sideline_after_min or 0.0)
                hold.append(f"queue {item.queue}: work older than {old}, set aside.")
            elif queue.order == "fifo":
                stale = queue.goes_stale_after_min
                ends = [item for item in (queue.age_limit_min, queue.deadline_min) if item is not None]
                is_served = stale is not None and all(end > stale for end in ends)
                past = f", past {format_minutes(stale)} too" if stale is not None and is_served else ""
                hold.append(f"queue {item.queue}: nothing of its backlog; in its own order old work goes first{past}.")
            if queue.supersedable_share:
                hold.append(f"queue {item.queue}: work that later work makes unnecessary, expired.")
        advance = [*(self._baseline(name) for name in queues), *self._within()]
        return self._step(
            number, admit=admit, hold=hold, commands=commands, advance=advance, charges=self._queue_charges()
        )

    def _old(self, number: int) -> RunbookStep:
        queues = self.scenario.queues
        replays = {
            item.target.removeprefix("queues."): item for item in bounded_replay.CHANGE.items(self.estimates)
        }  # fmt: skip
        aside = [name for name, item in queues.items() if item.order == "fresh_first"]
        if not replays and not aside:
            return self._step(
                number, "The scenario sets no work aside and has no dead-letter queue, so nothing is replayed."
            )
        admit, hold, commands = list[str](), list[str](), list[str]()
        caps = {item.queue: item.cap for item in self.caps}
        for name in dict.fromkeys((*aside, *replays)):
            what = " and ".join(
                words
                for words, is_here in (("set-aside", name in aside), ("dead-lettered", name in replays))
                if is_here
            )
            item, most = self.estimates.queues[name], caps[name].rate_per_min
            arrives = item.load.arrivals.mean_tail_per_min
            room = max(0.0, most - arrives)
            if item.cap is not None:
                room, _ = bounded_replay.replay_room(item, item.cap, most)
            room = min(room, self.admission.replay_share * most)
            per_s = bounded_replay.replay_per_s(room)
            beside = f"beside {format_rate(arrives)} of new work under its cap of {format_rate(most)}"
            if per_s < 1:
                hold.append(
                    f"queue {name}: {what} work; {format_rate(room)} is left {beside}, too little: after step 6."
                )
                continue
            admit.append(
                f"queue {name}: {what} work at {format_rate(60.0 * per_s)} or less {beside}, by idempotent handlers."
            )
            if name in replays and replays[name].apply:
                commands += _for_queue(name, bounded_replay.replay_commands(queues[name], per_s))
        advance = [
            f"{name}: nothing waits or is set aside, and the business reconciliation matches." for name in queues
        ]
        charges = self._queue_charges(bounded_replay.CHANGE.id)
        return self._step(number, admit=admit, hold=hold, commands=commands, advance=advance, charges=charges)

    def _lift(self, number: int) -> RunbookStep:
        if not self.caps:
            return self._step(number, "The scenario has no queue, so there is no cap to lift.")
        admit, commands, lifts = list[str](), list[str](), self.admission.lifts
        for place in range(lifts):
            last = place == lifts - 1
            number_of = f"lift {place + 1} of {lifts}" if lifts > 1 else "the only lift"
            commands.append(f"# {number_of}, one queue at a time")
            for item in self.caps:
                queue, cap = self.scenario.queues[item.queue], item.lifts[place]
                before = item.lifts[place - 1] if place else item.cap
                # A lift that changes nothing is none; the last one puts back the limits from before all the same.
                if cap.same_as(before) and not last:
                    continue
                commands += _for_queue(item.queue, lifted(queue) if last else capped(queue, cap))
                words = f"queue {item.queue}, lift {place + 1}" if lifts > 1 else f"queue {item.queue}"
                if item.cap.is_as_before:
                    admit.append(f"{words}: limits as before, as in step 4.")
                elif not item.binds:
                    admit.append(
                        f"{words}: limits as before; the cap of step 4 was all that its consumers do, {item.cap.words}."
                    )
                elif last:
                    admit.append(f"{words}: limits as before, {_as_before(queue, cap)}.")
                else:
                    admit.append(f"{words}: {cap.words}.")
        wait = format_minutes(self.admission.hold_min[5])
        hold = (f"each lift for {wait}, before the next one." if lifts > 1 else f"the lift for {wait}.",)
        calm = [f"{name}: no rise in errors or latency in the hold." for name in self.scenario.dependencies]
        advance = [*calm, *self._within()]
        return self._step(
            number, admit=admit, hold=hold, commands=commands, advance=advance, charges=self._queue_charges()
        )  # fmt: skip

    def _removal(self, number: int) -> RunbookStep:
        paused = [item for item in self.pauses if item.undo]
        if not paused:
            return self._step(number, "The scenario has no automation that was paused, so nothing is resumed.")
        admit = [f"fleet {item.fleet}: automation that removes capacity, one process at a time." for item in paused]
        fleets = self.scenario.fleets
        advance = [
            f"{item.fleet}: launches and their network state are normal, "
            f"{counted(fleets[item.fleet].needed, 'instance')} in service."
            for item in paused
        ]
        commands = [command for item in paused for command in (f"# fleet {item.fleet}", *item.undo)]
        charges = [_pausing(item.fleet, item.owner) for item in paused]
        return self._step(number, admit=admit, commands=commands, advance=advance, charges=charges)

    # --- automation that removes capacity ------------------------------------------------------------------------------

    def _pauses(self) -> Iterator[Pause]:
        for item in pause_list.CHANGE.items(self.estimates):
            name = item.target.removeprefix("fleets.")
            yield Pause(
                name, item.status, item.evidence, item.apply, item.undo, tuple(self._traps(name, item)), item.owner
            )

    def _traps(self, name: str, item: PlanItem) -> Iterator[str]:
        automation = {entry.name for entry in self.scenario.fleets[name].removal_automation or () if not entry.paused}
        if any(command == f"# {pause_list.HEALTH_CHECK_TOO}" for command in item.apply):
            yield f"{pause_list.HEALTH_CHECK_TOO}."
        if "ReplaceUnhealthy" in automation:
            yield (
                "ReplaceUnhealthy, once resumed, replaces all that was marked unhealthy meanwhile at once, terminating first: "
                "set instances that serve to Healthy before."
            )
        if "AddToLoadBalancer" in automation:
            yield "What is launched while AddToLoadBalancer is suspended is not registered later: register it by hand."
        if "AZRebalance" in automation:
            yield "With Terminate suspended, AZRebalance may go a tenth over the maximum: suspend both."
        if item.undo:
            yield "Never suspend Launch alone: terminations go on without it."
            yield "After more than 24 h without a launch the provider may suspend processes itself: look before you resume."


def is_lift(line: str) -> bool:
    """True for a line that begins a lift of step 6."""
    return line.startswith(("# lift ", "# the only lift"))


def is_name(line: str) -> bool:
    """True for a line that names the queue or fleet of the commands after it."""
    return line.startswith(("# queue ", "# fleet "))


def _for_queue(name: str, commands: Iterable[str]) -> Iterator[str]:
    """Commands of one queue behind a line that names it: a mapping's id alone tells nobody which queue is meant."""
    yield f"# queue {name}"
    yield from commands


def _as_before(queue: Queue, cap: ConsumerCap) -> str:
    """What the consumers of a queue do without a cap of the recovery."""
    limit, own = queue.concurrency_limit, format_rate(cap.rate_per_min)
    return f"{own}, all that its consumers do" if limit is None else f"{own} with {limit:,} at once at most"


def _edge(signal: SignalRecovery) -> str:
    unit = signal.series.unit
    return f"{format_number(signal.edge)}{f' {unit}' if unit else ''}"


def _retries(kind: ClientKind) -> str:
    """What holds the retries of a kind of client, as one sentence."""
    many = counted(kind.client.number, "client")
    view = None if kind.policy is None else kind.view()
    if view is None:
        return f"how {many} retry is not known; see that a quota or budget holds them."
    if view.burst_retries is None:
        return f"nothing holds the retries of {many}: set the standard mode or a budget before this step can hold them."
    return f"retries of {many} held to what their limits have left, at most {counted(view.burst_retries, 'retry')}."


def _case(variant: Variant) -> str:
    if any(item.collapsed_at_restore for item in variant.system.dependencies):
        return "dependencies collapsed at the restore"
    return "dependencies healthy at the restore"
