"""What piles up where nothing works a backlog off: shared by the rules about what is switched off."""

from __future__ import annotations

from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost
from afterload.findings.phrases import counted
from afterload.units import format_duration, format_rate

__all__ = ["piles_up"]


def piles_up(facts: Facts, backlog: Backlog) -> Cost:
    """What waits at the end of the objective if nothing is worked off from the trigger on."""
    today = backlog.today
    if today is None:
        return Cost("Its source fills up until retention deletes the oldest work.", missing=backlog.ask_for_queue)
    load, objective = today.load, facts.estimates.loaded.scenario.recovery_objective_min
    arrived = float(load.arrivals.cumulative(load.outage_min + objective))
    items = load.backlog_before + arrived
    rate = format_rate(arrived / (load.outage_min + objective))
    kept = (
        ""
        if load.retention_min is None
        else f" Retention deletes what is older than {format_duration(load.retention_min)}."
    )
    return Cost(
        f"Nothing is worked off: {rate} pile up, {counted(items, 'item')} by the end of the objective, "
        f"{format_duration(load.outage_min + objective)} after the outage began.{kept}",
        items, "items",
    )  # fmt: skip
