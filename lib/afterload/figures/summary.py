"""A scenario in a few lines, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from afterload.estimates import Estimates
from afterload.figures.words import span, unbooted
from afterload.findings.live_words import awaited_words
from afterload.findings.windows import other_events
from afterload.recovery.rates import consumers, operated_rate
from afterload.scenario import LoadedScenario
from afterload.scenario.bounds_schema import ShareCourse
from afterload.units import format_count, format_instant, format_minutes, format_number, format_rate, format_share

__all__ = ["summary"]

# Steps of a course that a line shows.
MOST_SHOWN = 6


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
    yield from _bounds(loaded)
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


def _bounds(loaded: LoadedScenario) -> Iterator[str]:
    """What bounds consumers and dependencies beyond their plain rates."""
    scenario = loaded.scenario
    for name, queue in scenario.queues.items():
        rates = consumers(queue).bounds
        if len(rates) > 1:
            yield f"Consumers of {name}: {', '.join(f'{what} {format_rate(rate)}' for what, rate in rates.items())}."
        if queue.calls:
            calls = (f"{call.dependency} {format_number(call.per_item)} times" for call in queue.calls)
            yield f"Calls of an item of {name}, {'all at once' if queue.fan_out else 'in turn'}: {', '.join(calls)}."
        yield from _course(f"Consumers of {name}", loaded, queue.consumer_course)
    for name, item in scenario.dependencies.items():
        words = [f"tested to {format_rate(item.tested_rate_per_min)}"]
        if operated_rate(item) != item.tested_rate_per_min:
            words.append(f"operated up to {format_rate(operated_rate(item))}")
        if item.capacity_per_min is not None:
            words.append(f"capacity {format_rate(item.capacity_per_min)}")
        if item.above_capacity == "throttle":
            words.append("throttles above its capacity")
        if item.throttles_at_per_min is not None:
            words.append(f"throttles above {format_rate(item.throttles_at_per_min)}")
        if item.direct_rate.constant_per_min is None:
            words.append(f"direct traffic up to {format_rate(item.direct_rate_per_min)}")
        if item.returning_users is not None:
            words.append(f"returning users {format_rate(item.returning_users.extra_rate_per_min)}")
        if len(words) > 1:
            yield f"At {name}: {', '.join(words)}."
        yield from _course(f"Capacity of {name}", loaded, item.capacity_course)


def _course(what: str, loaded: LoadedScenario, course: ShareCourse | None) -> Iterator[str]:
    if course is not None:
        trigger, zone = loaded.scenario.incident.trigger, loaded.scenario.time_zone
        starts, shares = course.minutes(trigger, trigger)
        steps = [
            f"{format_share(share)} from {format_instant(trigger + timedelta(minutes=start), zone)}"
            for start, share in zip(starts, shares, strict=True)
        ]
        yield f"{what}: {'; '.join(steps[:MOST_SHOWN])}{'; ...' if len(steps) > MOST_SHOWN else ''}."
