"""The race of automation that applies numbered plans: every interleaving of checks, applies and clean-ups.

Appliers take plans, check that theirs is newer than the active one, apply it, and clean up older plans. Between any two
steps of one of them all others may run: a step may stall for as long as it takes. The states are few, so all of them are
visited, breadth first, and the first one whose record is empty is reached by a shortest sequence.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from afterload.errors import ModelError
from afterload.model.checks import whole

__all__ = ["PUBLISHED", "Automation", "RaceResult", "explore"]

CheckAt: TypeAlias = Literal["pick-up", "apply"]
CleanUp: TypeAlias = Literal["older than applied", "keep generations", "never the active", "none"]
Action: TypeAlias = Literal["picks up", "checks", "applies", "is refused", "lists", "cleans up"]


@dataclass(frozen=True)
class Automation:
    """How a team's automation applies plans.

    Attributes:
        appliers: how many run side by side, at least 1.
        plans: numbers of the plans, rising; the first is active at the start.
        check_at: "pick-up": a plan is compared with the active one when it is taken, and applied later without another
            look; "apply": it is compared right before the write, as a step of its own.
        clean_up: what an applier deletes after its apply: all plans "older than applied" ones; all but the newest
            ``generations`` up to the one applied ("keep generations"); all older ones but "never the active"; "none".
        generations: plans kept by "keep generations", at least 1, the one just applied included.
        is_clean_up_atomic: whether choosing and deleting plans is one step; if not, others may run in between.
        version_guard: compare-and-set: an apply succeeds only if the active plan is still the one that was checked.

    Raises:
        ModelError: a value out of its range, or plans that do not rise.

    Source: event summary, on the automation that manages the DNS records of a service.
    """

    appliers: int = 3
    plans: tuple[int, ...] = (40, 41, 43)
    check_at: CheckAt = "pick-up"
    clean_up: CleanUp = "older than applied"
    generations: int = 1
    is_clean_up_atomic: bool = True
    version_guard: bool = False

    def __post_init__(self) -> None:
        whole("appliers", self.appliers)
        whole("generations", self.generations)
        plans = tuple(whole(f"plans[{i}]", plan, least=0) for i, plan in enumerate(self.plans))
        if not plans or any(later <= earlier for earlier, later in itertools.pairwise(plans)):
            raise ModelError(f"plans are {plans}; give at least one, in rising order")
        object.__setattr__(self, "plans", plans)
        if self.check_at not in ("pick-up", "apply"):
            raise ModelError(f"check_at is {self.check_at!r}; give 'pick-up' or 'apply'")
        if self.clean_up not in ("older than applied", "keep generations", "never the active", "none"):
            raise ModelError(
                f"clean_up is {self.clean_up!r}; give 'older than applied', 'keep generations', 'never the active' or 'none'"
            )


# Event summary: three appliers, a check before the apply, clean-up of plans older than the newest applied.
PUBLISHED = Automation()


@dataclass(frozen=True)
class Step:
    """One step of a sequence.

    Attributes:
        applier: 1 to the number of appliers.
        action: what it does.
        plan: the plan that it works on.
        active: the active plan after the step; ``None`` when the record is empty.
        deleted: plans deleted by the step.
    """

    applier: int
    action: Action
    plan: int
    active: int | None
    deleted: tuple[int, ...] = ()

    def __str__(self) -> str:
        text = f"applier {self.applier} {self.action} {self.plan}"
        if self.action == "cleans up":
            gone = ", ".join(map(str, self.deleted)) or "nothing"
            text = f"applier {self.applier} cleans up after {self.plan}: deletes {gone}"
        return f"{text}; the record is empty" if self.active is None else f"{text}; active is {self.active}"


@dataclass(frozen=True)
class RaceResult:
    """All that can happen to one automation.

    Attributes:
        states: states reachable from the start, all of them visited.
        transitions: steps between them.
        empty_states: states among them whose record is empty.
        shortest: a shortest sequence that empties the record, the lower applier and plan first among equals; ``()``
            where none exists.
        shortest_count: how many sequences are as short.
        can_refill: whether any step that can follow the shortest sequence ever fills the record again.
        refused_after: plans that later appliers hold back from in the empty state, since there is no active plan
            to compare with.
    """

    states: int
    transitions: int
    empty_states: int
    shortest: tuple[Step, ...]
    shortest_count: int
    can_refill: bool
    refused_after: tuple[int, ...]

    @property
    def is_safe(self) -> bool:
        """Whether no interleaving at all empties the record."""
        return self.empty_states == 0


class _Applier(NamedTuple):
    """``phase``: "idle", "holds" (picked up), "checked", "applied" or "listed"; ``seen`` the active plan at its check."""

    phase: str = "idle"
    plan: int = -1
    seen: int = -1
    listed: tuple[int, ...] = ()


_IDLE = _Applier()


class _State(NamedTuple):
    active: int | None
    store: tuple[int, ...]
    appliers: tuple[_Applier, ...]


def explore(automation: Automation = PUBLISHED, *, most_states: int = 500_000) -> RaceResult:
    """Visit every state that some interleaving reaches.

    A plan that has been deleted cannot be applied any more. Deleting the active plan empties the record. A check against
    an empty record is refused, since there is nothing to compare with; that is what keeps later appliers from repairing it.

    Parameters:
        automation: the rules.
        most_states: refuse to go on beyond this many.

    Raises:
        ModelError: more than ``most_states`` states, so that "none found" would mean nothing.

    Source: event summary: with the published rules the sequence found is the published one.
    """
    most = whole("most_states", most_states)
    start = _State(automation.plans[0], automation.plans, (_IDLE,) * automation.appliers)
    depth: dict[_State, int] = {start: 0}
    ways: dict[_State, int] = {start: 1}
    came_from: dict[_State, tuple[_State, Step]] = {}
    waiting = deque([start])
    transitions, empty_states, shortest_count = 0, 0, 0
    first: _State | None = None
    while waiting:
        state = waiting.popleft()
        if state.active is None:
            empty_states += 1
            first = state if first is None else first
            if depth[state] == depth[first]:
                shortest_count += ways[state]
        for step, following in _steps(automation, state):
            transitions += 1
            if following not in depth:
                if len(depth) >= most:
                    raise ModelError(
                        f"{automation.appliers} appliers and {len(automation.plans)} plans have more than {most:,} states;"
                        " give fewer of either, since a search that stops early proves nothing"
                    )
                depth[following] = depth[state] + 1
                ways[following] = ways[state]
                came_from[following] = (state, step)
                waiting.append(following)
            elif depth[following] == depth[state] + 1:
                ways[following] += ways[state]
    if first is None:
        return RaceResult(len(depth), transitions, 0, (), 0, False, ())
    sequence: list[Step] = []
    at = first
    while at in came_from:
        at, step = came_from[at]
        sequence.append(step)
    sequence.reverse()
    return RaceResult(
        states=len(depth),
        transitions=transitions,
        empty_states=empty_states,
        shortest=tuple(sequence),
        shortest_count=shortest_count,
        can_refill=_can_refill(automation, first),
        refused_after=tuple(plan for plan in first.store if plan > automation.plans[0]),
    )


def _steps(automation: Automation, state: _State) -> Iterator[tuple[Step, _State]]:
    """Every step that some applier can take next, with the state after it."""
    for place, applier in enumerate(state.appliers):
        for action, plan, active, deleted, after in _moves(automation, state, applier):
            appliers = (*state.appliers[:place], after, *state.appliers[place + 1 :])
            store = tuple(kept for kept in state.store if kept not in deleted) if deleted else state.store
            yield Step(place + 1, action, plan, active, deleted), _State(active, store, appliers)


def _moves(
    automation: Automation, state: _State, applier: _Applier
) -> Iterator[tuple[Action, int, int | None, tuple[int, ...], _Applier]]:
    """What one applier can do: action, plan, active plan after it, plans deleted, and the applier after it."""
    active, plan = state.active, applier.plan
    # Only the guard remembers what was seen; without it such states are one.
    seen = active if automation.version_guard and active is not None else -1
    if applier.phase == "idle":
        for taken in state.store:
            if automation.check_at == "apply":
                yield "picks up", taken, active, (), _Applier("holds", taken)
            elif active is not None and taken > active:
                yield "checks", taken, active, (), _Applier("checked", taken, seen)
    elif applier.phase == "holds":
        if active is not None and plan > active and plan in state.store:
            yield "checks", plan, active, (), _Applier("checked", plan, seen)
        else:
            yield "is refused", plan, active, (), _IDLE
    elif applier.phase == "checked":
        is_unchanged = active == applier.seen
        if plan in state.store and (is_unchanged or not automation.version_guard):
            after = _IDLE if automation.clean_up == "none" else _Applier("applied", plan)
            yield "applies", plan, plan, (), after
        else:
            yield "is refused", plan, active, (), _IDLE
    elif applier.phase == "applied":
        deletes = _to_delete(automation, state, plan)
        if automation.is_clean_up_atomic:
            yield "cleans up", plan, (None if active in deletes else active), deletes, _IDLE
        else:
            yield "lists", plan, active, (), _Applier("listed", plan, -1, deletes)
    else:
        deletes = tuple(listed for listed in applier.listed if listed in state.store)
        yield "cleans up", plan, (None if active in deletes else active), deletes, _IDLE


def _to_delete(automation: Automation, state: _State, applied: int) -> tuple[int, ...]:
    older = tuple(plan for plan in state.store if plan < applied)
    if automation.clean_up == "keep generations":
        kept = automation.generations - 1
        return older[: len(older) - kept] if kept < len(older) else ()
    if automation.clean_up == "never the active":
        return tuple(plan for plan in older if plan != state.active)
    return older


def _can_refill(automation: Automation, empty: _State) -> bool:
    seen, waiting = {empty}, deque([empty])
    while waiting:
        for _, following in _steps(automation, waiting.popleft()):
            if following.active is not None:
                return True
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False
