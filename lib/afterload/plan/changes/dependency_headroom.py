"""Capacity of a dependency that covers its load while every attempt fails, so that a collapse heals by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem, per_min_text
from afterload.plan.loads import DependencyLoad, recovery_loads
from afterload.plan.price import Headroom
from afterload.units import format_rate

ID = "dependency-headroom"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for load in recovery_loads(estimates).values():
        yield _item(estimates, load)


def _item(estimates: Estimates, load: DependencyLoad) -> PlanItem:
    loaded, target = estimates.loaded, f"dependencies.{load.name}"
    at = Place(ID, estimates, "dependencies", load.name)
    given = loaded.scenario.dependencies[load.name].capacity_per_min
    line = at.where("tested_rate" if given is None else "capacity")
    if load.requests == 0:
        return at.not_here(f"Nothing in the scenario calls it ({line}).")
    if load.unknown:
        return at.asks(
            f"It gets up to {format_rate(load.requests)} ({line}). What that becomes while it fails needs {load.unknown}."
        )
    evidence = (
        f"It bears {format_rate(load.capacity)} ({line}), which is a hidden capacity of {format_rate(load.hidden_capacity)} at "
        f"{load.each_text}; direct traffic and drains are "
        f"{format_rate(load.requests)}"
    )
    if not load.stays_down:
        return at.in_place(f"{evidence}, and fit into it.")
    planned = math.ceil(load.failing - 1e-9)
    return at.do(
        f"{evidence}, more than that: once it is down, it stays down.",
        bounds=f"Hidden capacity goes from {format_rate(load.hidden_capacity)} to {format_rate(load.requests)}. {_shed(load)}",
        price=f"{format_rate(planned - load.capacity)} of capacity more, which nothing uses at rest.{_fewer(load)}",
        apply=(f"# provision {load.name} for {format_rate(planned)} of attempts, and show it by a load test",),
        undo=(f"# provision {load.name} for {format_rate(load.capacity)} again",),
        edit={f"{target}.capacity": per_min_text(planned)},
        headroom=Headroom("capacity", (planned - load.capacity) / 60),
    )  # fmt: skip


def _fewer(load: DependencyLoad) -> str:
    """Whether the capacity that is there would do if nothing were retried."""
    return " What there is would do at one attempt a request." if load.requests <= load.capacity * (1 + 1e-9) else ""


def _shed(load: DependencyLoad) -> str:
    """The same by less load: what has to be held back until it is up."""
    held = (load.failing - load.capacity) / load.each
    if held <= load.direct:
        return f"Without it {format_rate(held)} of direct traffic have to be held back until it is up."
    rest = load.each * load.part.control_per_min
    if load.drain_attempts and rest <= load.capacity:
        share = max(0.0, (load.capacity - rest) / load.drain_attempts)
        most = format_rate(load.drains * min(1.0, share))
        return f"Without it all direct traffic has to be held back until it is up, and drains to {most}."
    return "Without it control loops alone keep it down: nothing but a restart or fewer attempts helps."


CHANGE = Change(
    id=ID,
    order=6,
    title="Capacity that covers the load while everything is retried",
    why="A dependency heals from a collapse only where its load, times the attempts of each request, fits into it.",
    exercise="In a test account push the dependency over at this load, take the push away, and see it come back by itself.",
    reference='"Metastable Failures in the Wild", OSDI 2022; planning guide, hidden capacity',
    items=_items,
    effort_days=5,
    risk="Capacity that no load test has shown is a hope: fewer attempts a request buy the same for less.",
    sized_after=("standard-retries", "retry-budget"),
)
