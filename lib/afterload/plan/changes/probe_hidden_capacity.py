"""An exercise that measures what a dependency bears, and what a failing request costs there."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem
from afterload.plan.loads import DependencyLoad, recovery_loads
from afterload.units import format_rate

ID = "probe-hidden-capacity"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for load in recovery_loads(estimates).values():
        if load.requests:
            yield _item(estimates, load)


def _item(estimates: Estimates, load: DependencyLoad) -> PlanItem:
    loaded, target = estimates.loaded, f"dependencies.{load.name}"
    at = Place(ID, estimates, "dependencies", load.name)
    dependency = loaded.scenario.dependencies[load.name]
    line = at.where("tested_rate")
    missing = [
        name
        for name, value in (
            ("capacity", dependency.capacity_per_min),
            ("attempts_while_failing", dependency.attempts_while_failing),
        )
        if value is None
    ]
    hidden = f"a hidden capacity of {format_rate(load.hidden_capacity)}"
    if not missing:
        line = at.where("capacity")
        return at.in_place(f"It bears {format_rate(load.capacity)} ({line}), {hidden} at {load.each_text}.")
    fields = " and ".join(f"{target}.{name}" for name in missing)
    return at.do(
        f"Not measured: {fields}. The tested rate is {format_rate(dependency.tested_rate_per_min)} ({line}).",
        bounds=(
            f"By what is known now it has {hidden}: {format_rate(load.capacity)} at {load.each_text}. "
            f"Direct traffic and drains are {format_rate(load.requests)}."
        ),
        price="A test at load, outside production or at a quiet hour.",
        apply=(f"# raise the load of {load.name} in a test account until attempts fail: that is its capacity",
               "# let every attempt fail for a minute, and count attempts for each logical request",
               f"# lower the load until it heals by itself, and compare with {format_rate(load.hidden_capacity)}{_mixed(load)}"),
        undo=("# take the load away",),
    )  # fmt: skip


def _mixed(load: DependencyLoad) -> str:
    return ", which is for direct traffic and drains as they mix here" if load.direct > 0 and load.drains > 0 else ""


CHANGE = Change(
    id=ID,
    order=5,
    title="An exercise that finds the hidden capacity of each dependency",
    why="Whether a dependency heals by itself is decided by a number that no dashboard shows.",
    exercise="Repeat it after every change of retries or capacity, and keep the two figures with the scenario.",
    reference='"Metastable Failures in the Wild", OSDI 2022; planning guide, exercises',
    items=_items,
    effort_days=2,
    risk="A push that does not end takes the dependency down: have the command that ends it ready.",
)
