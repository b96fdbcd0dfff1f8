"""Measure recovery: from dependency restored to first-attempt age back at baseline."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import DO, IN_PLACE, Change, PlanItem
from afterload.units import format_minutes

__all__ = ["CHANGE"]

ID = "measure-recovery"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    loaded = estimates.loaded
    scenario, worst = loaded.scenario, estimates.worst_queue
    owner = scenario.owner or "no owner yet"
    objective = (
        f"the objective is {format_minutes(scenario.recovery_objective_min)} ({loaded.where('recovery_objective')})"
    )
    if worst is None:
        computed = "no queue in the scenario gives a computed interval"
    elif worst.fresh_age_back_min is None:
        computed = f"computed for {worst.name}: never at these rates"
    else:
        computed = f"computed for {worst.name}: {format_minutes(worst.fresh_age_back_min)}"
    measured = scenario.recovery_measured_min
    if measured is not None:
        where = loaded.where("recovery_measured")
        yield PlanItem(
            ID, "team", IN_PLACE, f"Last measured at {format_minutes(measured)} ({where}); {computed}; {objective}.",
            owner=owner,
        )  # fmt: skip
        return
    yield PlanItem(
        ID, "team", DO, f"The interval has not been measured; {computed}; {objective}.",
        bounds="Bounds nothing by itself: it shows whether the other changes worked, and whether this model holds here.",
        price="One metric for each queue.",
        owner=owner,
        apply=(
            "# in each consumer, when ApproximateReceiveCount is 1: age = now - SentTimestamp",
            "aws cloudwatch put-metric-data --namespace Recovery --metric-name FirstAttemptAge --unit Seconds --value AGE",
        ),
        undo=("# stop publishing the metric",),
    )  # fmt: skip


CHANGE = Change(
    id=ID,
    order=5,
    title="Measure recovery from dependency restored to first-attempt age at baseline",
    why="An incident is not over when the dependency is back, and nobody improves what is not measured.",
    exercise=(
        "Hold the dependency away for about three hours in a test account, restore it, and measure until first-attempt "
        "age is back at its baseline and stays there."
    ),
    reference="recovery planning guide, order of change",
    items=_items,
)
