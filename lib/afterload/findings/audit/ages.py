"""What an age limit buys: shared by the rules about asynchronous events and about streams that have none."""

from __future__ import annotations

from afterload.estimates import estimate_queue
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Severity
from afterload.findings.phrases import counted, where
from afterload.units import format_duration, format_minutes

__all__ = ["keeps_its_worth", "worth_of_limit"]


def keeps_its_worth(facts: Facts, backlog: Backlog, default_min: float | None) -> bool:
    """True if the scenario says that the work does not go stale before the service's own limit acts."""
    if backlog.stated is None:
        return False
    useful = backlog.stated.queue.goes_stale_after_min
    if useful is None:
        return where(facts.estimates.loaded, "queues", backlog.name, "goes_stale_after") != "default"
    return default_min is not None and useful >= default_min - 1e-9


def worth_of_limit(facts: Facts, backlog: Backlog, limit_min: float | None, now: str) -> tuple[Severity, Cost]:
    """What a limit at which work is worth nothing any more would save of the drain; ``now`` says what acts today."""
    today = backlog.today
    if today is None:
        return "low", Cost(f"{now}.", missing=backlog.ask_for_queue)
    if limit_min is None:
        return "low", Cost(f"{now}.", missing=f"{backlog.target}.goes_stale_after")
    changed = today.queue.model_copy(update={"age_limit_min": limit_min})
    planned = estimate_queue(facts.estimates.loaded, backlog.name, changed)
    expired = counted(planned.recovery.expired, "item")
    words = f"{now}. With a limit of {format_duration(limit_min)} the drain goes from"
    if today.drain_min is None or planned.drain_min is None:
        before, after = (
            "never" if item.drain_min is None else format_minutes(item.drain_min) for item in (today, planned)
        )
        return "medium", Cost(
            f"{words} {before} to {after}, and {expired} expire.", missing="a service rate that drains it"
        )
    saved = max(0.0, today.drain_min - planned.drain_min)
    if saved == 0:
        return "low", Cost(f"{words} {format_minutes(today.drain_min)} to the same: nothing expires here.", 0.0, "min")
    return "medium", Cost(
        f"{words} {format_minutes(today.drain_min)} to {format_minutes(planned.drain_min)}: {format_minutes(saved)} go into "
        f"work that nobody wants any more; {expired} would expire.",
        saved,
        "min",
    )
