"""What an account of an event and the computed figures say of each other: entries, durations, what sustained it, gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from afterload.estimates import Estimates
from afterload.findings.dependencies import dependency_standings
from afterload.recovery.build import Coupling
from afterload.scenario import LoadedScenario, TimelineEvent
from afterload.scenario.evidence_schema import Postmortem

__all__ = ["CLASSES", "Cause", "CauseName", "Duration", "Entry", "causes", "disputed", "durations", "entries", "gaps"]

CauseName = Literal[
    "load spike",
    "capacity decrease",
    "workload amplification",
    "capacity degradation amplification",
    "backlog",
    "launch limits",
]
# Of the metastable model (HotOS 2021, OSDI 2022) the first four; then what outlasts any trigger.
CLASSES: dict[CauseName, Literal["trigger", "sustained by"]] = {
    "load spike": "trigger",
    "capacity decrease": "trigger",
    "workload amplification": "sustained by",
    "capacity degradation amplification": "sustained by",
    "backlog": "sustained by",
    "launch limits": "sustained by",
}


@dataclass(frozen=True)
class Entry:
    """One line of the timeline with who says so; ``is_own`` for the team's own entries."""

    event: TimelineEvent
    source: str
    is_own: bool


def entries(loaded: LoadedScenario, others: str, account: str) -> tuple[Entry, ...]:
    """All entries in order of time: those of ``incident.timeline``, the team's own, and the instants of its account.

    ``others`` and ``account`` are who speaks where an entry does not say: the incident's file, and the team. An instant
    of the account at the time of an own entry is left to that entry.
    """
    found = [Entry(event, event.source or others, False) for event in loaded.timeline]
    own = [Entry(event, event.source or account, True) for event in loaded.own_timeline]
    held = {entry.event.at for entry in own}
    found += own + [Entry(event, account, True) for event in _instants(loaded) if event.at not in held]
    return tuple(sorted(found, key=lambda entry: (entry.event.at, entry.is_own)))


def _instants(loaded: LoadedScenario) -> Iterator[TimelineEvent]:
    account = loaded.scenario.postmortem
    if account is None:
        return
    by = f" by {account.detected_by}" if account.detected_by else ""
    for at, kind, words in (
        (account.detected_at, "detection", f"Detected{by}"),
        (account.mitigated_at, "mitigation", "Harm bounded"),
        (account.recovered_at, "recovery", "Everything normal again"),
    ):
        if at is not None:
            yield TimelineEvent(at, None, "", kind, words)


def disputed(timeline: tuple[TimelineEvent, ...]) -> tuple[TimelineEvent, ...]:
    """The entries on which sources disagree."""
    return tuple(event for event in timeline if event.status == "disputed")


@dataclass(frozen=True)
class Duration:
    """One interval of the response.

    Attributes:
        name: what it is the time to.
        begins, ends: fields of the scenario that bound it.
        start, end: the instants; None where the account does not give them.
    """

    name: str
    begins: str
    ends: str
    start: datetime | None
    end: datetime | None

    @property
    def minutes(self) -> float | None:
        """Its length; None where an end of it is not given."""
        if self.start is None or self.end is None:
            return None
        return (self.end - self.start).total_seconds() / 60


def durations(loaded: LoadedScenario) -> tuple[Duration, ...]:
    """Time to detect, mitigate, restore and recover, and the whole; none without a postmortem.

    A scenario whose instants are out of order is refused when it is read, so no interval is negative.
    """
    account, incident = loaded.scenario.postmortem, loaded.scenario.incident
    if account is None:
        return ()
    trigger, restored = ("incident.trigger", incident.trigger), ("incident.restored_at", incident.restored_at)
    detected = ("postmortem.detected_at", account.detected_at)
    recovered = ("postmortem.recovered_at", account.recovered_at)
    spans = (
        ("detect", trigger, detected),
        ("mitigate", detected, ("postmortem.mitigated_at", account.mitigated_at)),
        ("restore", trigger, restored),
        ("recover", restored, recovered),
        ("whole event", trigger, recovered),
    )
    return tuple(Duration(name, start[0], end[0], start[1], end[1]) for name, start, end in spans)


@dataclass(frozen=True)
class Cause:
    """One class of trigger or of what sustains a failure.

    Attributes:
        name: the class.
        role: whether it begins an event or keeps it going.
        named: whether the account names it; None where the account says nothing of this role.
        shown: whether the figures of the scenario show it; None where no figure tells.
    """

    name: CauseName
    role: str
    named: bool | None
    shown: bool | None


def causes(estimates: Estimates, coupling: Coupling | None) -> tuple[Cause, ...]:
    """Every class with what the account and the figures say of it; none without a postmortem."""
    account = estimates.loaded.scenario.postmortem
    if account is None:
        return ()
    shown = _shown(estimates, coupling)
    return tuple(Cause(name, role, _named(account, name, role), shown[name]) for name, role in CLASSES.items())


def _named(account: Postmortem, name: str, role: str) -> bool | None:
    if role == "trigger":
        return None if account.trigger_kind is None else account.trigger_kind == name
    return name in account.sustained_by if account.sustained_by else None


def _shown(estimates: Estimates, coupling: Coupling | None) -> dict[CauseName, bool | None]:
    standings = dependency_standings(coupling)
    fleets, queues = estimates.fleets.values(), estimates.queues.values()
    multiplied = [item.result.multiplier > 1 for item in estimates.stacks.values()] + [
        item.mean_attempts > 1 for item in standings
    ]
    degraded = [item.kind != "stable" for item in standings]
    degraded += [
        any(not entry.paused for entry in item.fleet.removal_automation)
        for item in fleets
        if item.fleet.removal_automation is not None
    ]
    return {
        # Every scenario describes an outage, and no figure of it tells what began that.
        "load spike": None,
        "capacity decrease": None,
        "workload amplification": any(multiplied) if multiplied else None,
        "capacity degradation amplification": any(degraded) if degraded else None,
        "backlog": any(item.drain_min is None or item.drain_min > 0 for item in queues) if queues else None,
        "launch limits": any(item.missing > 0 and item.launches.wait_s > 0 for item in fleets) if fleets else None,
    }


def gaps(loaded: LoadedScenario, found: tuple[Cause, ...]) -> tuple[tuple[str, str], ...]:
    """What an account leaves open, each with the field that it is about. No clock is asked, so none is overdue."""
    account = loaded.scenario.postmortem
    return () if account is None else tuple(_gaps(loaded, account, found))


def _gaps(loaded: LoadedScenario, account: Postmortem, found: tuple[Cause, ...]) -> Iterator[tuple[str, str]]:
    for name in ("detected_at", "mitigated_at", "recovered_at"):
        if getattr(account, name) is None:
            yield name, "is not given"
    if account.trigger_kind is None:
        yield "trigger_kind", "is not given"
    if not account.sustained_by:
        yield "sustained_by", "is not given"
    for cause in found:
        if cause.named and cause.shown is False:
            yield _field(cause), f"'{cause.name}' is named, but the figures of this scenario do not show it"
        elif cause.named is False and cause.shown:
            yield _field(cause), f"'{cause.name}' is not named, though the figures of this scenario show it"
    for event in disputed(loaded.own_timeline):
        if not event.note:
            yield "timeline", f"sources disagree on '{event.event}', and no note says how"
    if not account.interactions:
        yield "interactions", "are not given"
    if not account.actions:
        yield "actions", "are not given"
    for place, action in enumerate(account.actions):
        lacking = [word for word in ("owner", "due") if getattr(action, word) is None]
        if lacking and action.status in ("open", "in progress"):
            words = " and ".join({"owner": "owner", "due": "due date"}[word] for word in lacking)
            yield f"actions.{place}", f"'{action.text}' has no {words}"


def _field(cause: Cause) -> str:
    return "trigger_kind" if cause.role == "trigger" else "sustained_by"
