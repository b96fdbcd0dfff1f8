"""Recover by the seven steps of admission, where a dependency that is down would stay down."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem, owner_of, where
from afterload.plan.loads import DependencyLoad, recovery_loads
from afterload.recovery.admission import admission_of
from afterload.scenario.coupled_schema import AdmissionPlan
from afterload.units import format_duration, format_rate, format_share

ID = "admission-steps"
TARGET = "admission"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    loads = recovery_loads(estimates)
    if loads:
        # Of the dependencies that stay down the one whose attempts are known, and of these the one furthest over.
        order = sorted(
            loads.values(), key=lambda load: (load.stays_down, not load.unknown, load.failing / load.capacity)
        )
        yield _item(estimates, order[-1])


def _item(estimates: Estimates, load: DependencyLoad) -> PlanItem:
    plan, owner = estimates.loaded.scenario.admission, owner_of(estimates)
    lifts = admission_of(estimates.loaded).lifts
    if plan.in_place:
        line = where(estimates.loaded, TARGET, "in_place")
        return PlanItem(ID, TARGET, IN_PLACE, f"The team recovers by the seven steps ({line}).", owner=owner)
    line = where(estimates.loaded, "dependencies", load.name)
    if load.requests == 0:
        words = f"Nothing in the scenario calls {load.name} ({line})."
        return PlanItem(ID, TARGET, NOT_HERE, words, owner=owner)
    each = f"{load.each_text}{', as assumed' if load.unknown else ''}"
    evidence = (
        f"{format_rate(load.requests)} at {load.name} become {format_rate(load.failing)} of attempts while all of them fail, "
        f"{each}; its capacity is {format_rate(load.capacity)} ({line})"
    )
    if not load.stays_down:
        words = f"{evidence}: it heals by itself, with nothing held back."
        return PlanItem(ID, TARGET, NOT_HERE, words, owner=owner)
    if load.unknown:
        words = f"{evidence}. Whether it then stays down needs {load.unknown}."
        return PlanItem(ID, TARGET, NEEDS_EVIDENCE, words, owner=owner)
    return PlanItem(
        ID, TARGET, DO, f"{evidence}: once down, it stays down.",
        bounds=f"The steps take {format_duration(_least_min(plan, lifts))} at least, which is how long their signals have to "
        "hold.",
        price=_price(plan, load),
        owner=owner, apply=_commands(plan, lifts),
        undo=("# open the doors: lift every cap and hold nothing back",),
        edit={f"{TARGET}.in_place": True},
    )  # fmt: skip


def _least_min(plan: AdmissionPlan, lifts: int) -> float:
    """All holds, that of the sixth step once for every lift."""
    return sum(plan.holds_min) + (lifts - 1) * plan.lift_limits_min


def _price(plan: AdmissionPlan, load: DependencyLoad) -> str:
    if load.direct == 0:
        return "Nothing drains before step 4."
    minutes = plan.hold_the_doors_min + plan.control_loops_min
    return (
        f"{format_rate(load.direct)} of direct traffic at {load.name} is held back until step 3, for "
        f"{format_duration(minutes)} at least, and nothing drains before step 4."
    )


def _commands(plan: AdmissionPlan, lifts: int) -> tuple[str, ...]:
    holds = [format_duration(minutes) for minutes in plan.holds_min]
    floor = f"{format_share(plan.floor_share)} of their consumers" if plan.floor_share else "no consumers"
    return (
        f"# 1: hold direct traffic back, keep {floor}, pause removals; go on after {holds[0]} in which nothing is down",
        f"# 2: control loops alone, until caches are warm and {holds[1]} have passed",
        f"# 3: direct traffic, for {holds[2]} within its objective",
        f"# 4: drains at {format_share(plan.drain_share)} of the room beside it, until first-attempt age is back for {holds[3]}",
        f"# 5: work that was set aside, until every backlog is empty for {holds[4]}",
        f"# 6: lift the caps {f'in {lifts:,} steps, {holds[5]} each' if lifts > 1 else f'at once, and hold for {holds[5]}'}",
        f"# 7: resume what removes capacity, after {holds[6]} with full fleets",
    )


CHANGE = Change(
    id=ID,
    order=6,
    title="Recovery by the seven steps of admission",
    why="A dependency that is down gets more attempts than one that is up, so that nothing but less load brings it back.",
    exercise=(
        "In a test account push the dependency over, take the steps in order, and see it heal in step 1 and stay up in "
        "every later one."
    ),
    reference="recovery planning guide, order of admission",
    items=_items,
    effort_days=5,
    risk="Steps taken in haste start anew at step 1: wait for each signal, and let one person decide.",
)
