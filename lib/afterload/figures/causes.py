"""What began an event and what sustained it, with the computed figures of the scenario beside each class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from afterload.estimates import Estimates, FleetEstimate, QueueEstimate, StackEstimate
from afterload.figures.figure import Prose, Table
from afterload.figures.retries import calls_in_words
from afterload.figures.words import NEVER, paragraph, span, unbooted
from afterload.findings.dependencies import DependencyStanding, dependency_standings
from afterload.findings.postmortem import Cause, CauseName, causes
from afterload.plan.change import counted, failing
from afterload.recovery.build import Coupling
from afterload.units import format_count, format_duration, format_minutes, format_number, format_rate

__all__ = ["causes_table"]

CAPTION = "What began it and what sustained it"
# Sentences of one class; a scenario may hold hundreds of queues.
MOST_SENTENCES = 3
T = TypeVar("T")


def causes_table(estimates: Estimates, coupling: Coupling | None) -> Table | Prose:
    """Each class: what the account says, what is computed here, and how the two go together."""
    found = causes(estimates, coupling)
    if not found:
        return paragraph("This scenario has no postmortem, so no causes are named.")
    standings = dependency_standings(coupling)
    figures: dict[CauseName, str] = {
        "load spike": _spike(estimates, standings),
        "capacity decrease": _decrease(estimates),
        "workload amplification": _workload(estimates, standings),
        "capacity degradation amplification": _degradation(estimates, standings),
        "backlog": _few(estimates.queues.values(), _backlog, _drain),
        "launch limits": _few(_lacking(estimates), _launches, lambda item: item.launches.in_service_s),
    }
    rows = tuple(
        (f"{cause.role}: {cause.name}", _together(cause), figures[cause.name] or "no figure") for cause in found
    )
    return Table(("class", "account and figures", "computed here"), rows, caption=CAPTION)


def _together(cause: Cause) -> str:
    said = {True: "named", False: "not named", None: "the account does not say"}[cause.named]
    if cause.shown is None:
        return said
    if cause.named is None:
        return f"{said}; the figures {'show it' if cause.shown else 'do not show it'}"
    if cause.named:
        return f"{said}, and the figures show it" if cause.shown else f"{said}, but the figures do not show it"
    return f"{said}, though the figures show it" if cause.shown else f"{said}, and the figures do not show it"


def _few(items: Iterable[T], words: Callable[[T], str], weight: Callable[[T], float]) -> str:
    """A sentence for each of the few items of most weight, and how many more there are."""
    ordered = sorted(items, key=weight, reverse=True)
    texts = [words(item) for item in ordered[:MOST_SENTENCES]]
    more = len(ordered) - MOST_SENTENCES
    return " ".join([*texts, f"And {format_count(more)} more."] if more > 0 else texts)


def _spike(estimates: Estimates, standings: Sequence[DependencyStanding]) -> str:
    def words(item: DependencyStanding) -> str:
        usual = item.direct + sum(
            queue.queue.calls_of(item.name) * queue.load.arrivals.mean_tail_per_min
            for queue in estimates.queues.values()
        )
        times = f", {format_number(item.load / usual)} times the usual {format_rate(usual)}" if usual > 0 else ""
        return f"The restore itself brings {item.name} {format_rate(item.load)} of direct traffic and drains{times}."

    return _few(standings, words, lambda item: item.load)


def _decrease(estimates: Estimates) -> str:
    outage = f"The dependency was away for {span(estimates.loaded.scenario.incident.outage_min)}."
    lacking = _few(
        _lacking(estimates),
        lambda item: (
            f"{item.name} had {format_count(item.fleet.running)} of {format_count(item.fleet.needed)} instances at the restore."
        ),
        lambda item: item.missing,
    )
    return f"{outage} {lacking}".strip()


def _workload(estimates: Estimates, standings: Sequence[DependencyStanding]) -> str:
    def words(item: StackEstimate) -> str:
        chance = failing(item.stack.failure_probability)
        return f"{item.name}: one call becomes {calls_in_words(item.result.multiplier)} at the bottom when {chance}."

    stacks = _few(estimates.stacks.values(), words, lambda item: item.result.multiplier)
    costs = _few(
        standings,
        lambda item: (
            f"A request to {item.name} costs {format_number(item.mean_attempts)} attempts on average while it fails."
        ),
        lambda item: item.mean_attempts,
    )
    return f"{stacks} {costs}".strip()


def _degradation(estimates: Estimates, standings: Sequence[DependencyStanding]) -> str:
    hidden = _few(
        standings,
        lambda item: (
            f"{item.name} bears {format_rate(item.capacity)}, and heals by itself up to its hidden capacity of "
            f"{format_rate(item.hidden)}, at the mean attempts of all its callers; the "
            f"recovery brings {format_rate(item.load)}: {item.kind}."
        ),
        lambda item: item.load / item.hidden,
    )
    removable = [
        item
        for item in estimates.fleets.values()
        if any(not entry.paused for entry in item.fleet.removal_automation or ())
    ]
    removal = _few(
        removable,
        lambda item: (
            f"Automation could remove what runs of {item.name} "
            f"{f'within {format_duration(item.removal_s / 60)}' if item.removal_s > 0 else 'at once'}; launching all it "
            f"needs takes {format_duration(item.relaunch.in_service_s / 60)}."
        ),
        lambda item: item.relaunch.in_service_s,
    )
    return f"{hidden} {removal}".strip()


def _backlog(item: QueueEstimate) -> str:
    end = f"drained {NEVER}" if item.drain_min is None else f"drained {span(item.drain_min)} after it"
    return f"{item.name}: {counted(item.recovery.backlog_at_restore, 'item')} waiting at the restore, {end}."


def _drain(item: QueueEstimate) -> float:
    return float("inf") if item.drain_min is None else item.drain_min


def _lacking(estimates: Estimates) -> list[FleetEstimate]:
    return [item for item in estimates.fleets.values() if item.missing > 0]


def _launches(item: FleetEstimate) -> str:
    wait = item.launches.wait_s / 60
    held = f"{format_duration(wait)} of it in launch limits" if wait > 0 else "none of it in launch limits"
    return (
        f"{item.name}: {counted(item.missing, 'missing instance')} in service {format_minutes(item.in_service_min)} after the "
        f"restore, {held}{unbooted(item)}."
    )
