"""Measure recovery: from dependency restored to first-attempt age back at baseline."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import DO, IN_PLACE, Change, PlanItem, where
from afterload.units import format_minutes

ID = "measure-recovery"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    loaded = estimates.loaded
    scenario, worst = loaded.scenario, estimates.worst_queue
    owner = scenario.owner or "no owner yet"
    objective = (
        f"the objective is {format_minutes(scenario.recovery_objective_min)} ({where(loaded, 'recovery_objective')})"
    )
    if worst is None:
        computed = "no queue in the scenario gives a computed interval"
    elif worst.fresh_age_back_min is None:
        computed = f"computed for {worst.name}: never at these rates"
    else:
        computed = f"computed for {worst.name}: {format_minutes(worst.fresh_age_back_min)}"
    measured = scenario.recovery_measured_min
    if measured is not None:
        line = where(loaded, "recovery_measured")
        yield PlanItem(
            ID, "team", IN_PLACE, f"Last measured at {format_minutes(measured)} ({line}); {computed}; {objective}.",
            owner=owner,
        )  # fmt: skip
        return
    yield PlanItem(
        ID, "team", DO, f"The interval has not been measured; {computed}; {objective}.",
        bounds="Bounds nothing by itself: it shows whether the other changes worked, and whether this model holds here.",
        price="One metric for each queue." if estimates.queues else "One metric for each entry point.",
        owner=owner,
        apply=(
            *_where_to_measure(estimates),
            "aws cloudwatch put-metric-data --namespace Recovery --metric-name FirstAttemptAge --unit Seconds --value AGE",
        ),
        undo=("# stop publishing the metric",),
    )  # fmt: skip


_AGE = {
    "sqs-lambda": "# in each SQS consumer, when ApproximateReceiveCount is 1: age = now - SentTimestamp",
    "stream-lambda": "# in each stream consumer, for batches that are not retried: age = now - time of arrival in the stream",
    "lambda-async": "# asynchronous invocations report their age by themselves: metric AsyncEventAge of the function",
    "other": "# in each consumer, at the first attempt: age = now - time when the item was queued",
}


def _where_to_measure(estimates: Estimates) -> tuple[str, ...]:
    services = {item.queue.service for item in estimates.queues.values()}
    if not services:
        return (
            "# at each entry point, for requests that are not retries: age = time of the answer - time of the request",
        )
    return tuple(words for service, words in _AGE.items() if service in services)


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
    effort_days=2,
    risk="Nothing breaks; but a metric that counts retries as first attempts hides what it should show.",
)
