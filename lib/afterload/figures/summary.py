"""A scenario in a few lines, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.figures.words import span, unbooted
from afterload.findings.live_words import awaited_words
from afterload.findings.windows import other_events
from afterload.units import format_count, format_instant, format_minutes, format_number, format_rate

__all__ = ["summary"]


def summary(estimates: Estimates) -> list[str]:
    """What the scenario holds and what it comes to."""
    return list(_lines(estimates))


def _lines(estimates: Estimates) -> Iterator[str]:
    loaded, scenario = estimates.loaded, estimates.loaded.scenario
    incident, zone = scenario.incident, scenario.time_zone
    yield f"{loaded.name}: valid. Team {scenario.team}{', hypothetical' if scenario.hypothetical else ''}."
    yield (
        f"Incident: {incident.name}, {format_instant(incident.trigger, zone)} to "
        f"{format_instant(incident.restored_at, zone)}, {format_minutes(incident.outage_min)}."
    )
    yield f"Objective: {format_minutes(scenario.recovery_objective_min)} from the restore."
    for queue in estimates.queues.values():
        rate = format_rate(queue.load.arrivals.mean_tail_per_min)
        yield (
            f"Queue {queue.name}: {rate} in, {format_rate(queue.service_rate_now_per_min)} out; "
            f"{format_count(queue.recovery.backlog_at_restore)} at the restore; drain {span(queue.drain_min)}."
        )
    for stack in estimates.stacks.values():
        yield f"Call stack {stack.name}: {len(stack.stack.layers)} layers, {format_number(stack.result.multiplier)} times."
    for name, client in scenario.clients.items():
        yield f"Clients {name}: {client.number:,} of {client.sdk}, mode {client.mode}."
    for fleet in estimates.fleets.values():
        yield (
            f"Fleet {fleet.name}: {format_count(fleet.missing)} instances missing, in service after "
            f"{format_minutes(fleet.in_service_min)}{unbooted(fleet)}."
        )
    for item in estimates.queues.values():
        for doubt in item.doubts:
            yield f"{doubt.word} (queues.{item.name}): {doubt.text}."
    for path, why in other_events(loaded):
        yield f"Of another event ({path}): {why}."
    for path, why in loaded.outdated.items():
        yield f"Left out ({path}): {why}."
    if awaited := awaited_words(loaded):
        yield f"Live: {awaited}."
