"""Impact windows split at the moment when the dependency was restored, and records that are of another event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from afterload.model.windows import split
from afterload.scenario import ImpactWindow, LoadedScenario, TimelineEvent
from afterload.scenario.reference_event import NAME, is_another_event
from afterload.units import format_instant

__all__ = ["SplitWindow", "left_out", "other_events", "split_windows"]

# An account may begin with what came before the trigger, such as a deployment; effects may come late.
BEFORE, LATE = timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True)
class SplitWindow:
    """Minutes of one impact window before and after the restore."""

    window: ImpactWindow
    before_min: float
    after_min: float

    @property
    def total_min(self) -> float:
        """Minutes of the whole window."""
        return self.before_min + self.after_min


def split_windows(loaded: LoadedScenario) -> tuple[SplitWindow, ...]:
    """Split every impact window of a scenario's incident at its restore, in the order of the file.

    before = max(0, min(end, restore) - start); after = max(0, end - max(start, restore)).
    """
    restore = loaded.scenario.incident.restored_at

    def minutes(at: datetime) -> float:
        return (at - restore).total_seconds() / 60

    counted = (window for window in loaded.impacts if not _why_left_out(window, loaded))
    parts = ((window, split(minutes(window.start), minutes(window.end), 0.0)) for window in counted)
    return tuple(SplitWindow(window, before, after) for window, (before, after) in parts)


def left_out(loaded: LoadedScenario) -> tuple[tuple[ImpactWindow, str], ...]:
    """The windows of a scenario's file that count nowhere, each with why."""
    return tuple((window, why) for window in loaded.impacts if (why := _why_left_out(window, loaded)))


def _why_left_out(window: ImpactWindow, loaded: LoadedScenario) -> str:
    incident = loaded.scenario.incident
    if window.end < incident.trigger or window.start > incident.restored_at + LATE:
        return "not of this incident"
    if window.start == window.end:
        return "no length"
    return "no impact" if window.is_planned else ""


def other_events(loaded: LoadedScenario) -> tuple[tuple[str, str], ...]:
    """What a scenario's incident says that is of another event than its times: the field, and why, in words.

    Impact windows are where each ends before the trigger or begins more than :data:`LATE` after the restore; a timeline where
    each event does, or lies more than :data:`BEFORE` before the trigger; the name is where it is that of the reference event.
    """
    return tuple(_other_events(loaded))


def _other_events(loaded: LoadedScenario) -> Iterator[tuple[str, str]]:
    incident, zone = loaded.scenario.incident, loaded.scenario.time_zone
    trigger, last = incident.trigger, incident.restored_at + LATE
    times = f"{format_instant(trigger, zone)} to {format_instant(incident.restored_at, zone)}"
    if incident.name == NAME and is_another_event(trigger):
        yield (
            "incident.name",
            f"{NAME} is the reference event, and the incident is of {times}: give this one its own name",
        )
    if loaded.impacts and all(window.end < trigger or window.start > last for window in loaded.impacts):
        count = len(loaded.impacts)
        which = "its only impact window lies" if count == 1 else f"all {count:,} impact windows lie"
        ends = min(w.start for w in loaded.impacts), max(w.end for w in loaded.impacts)
        yield "incident.impacts", _outside(which, ends, loaded)
    accounts = {"incident.timeline": loaded.timeline, "postmortem.timeline": loaded.own_timeline}
    for field, events in accounts.items():
        if events and all(_end(event) < trigger - BEFORE or event.at > last for event in events):
            count = len(events)
            which = "its only event lies" if count == 1 else f"all {count:,} events lie"
            ends = min(event.at for event in events), max(map(_end, events))
            yield field, _outside(which, ends, loaded)


def _end(event: TimelineEvent) -> datetime:
    return event.end or event.at


def _outside(which: str, ends: tuple[datetime, datetime], loaded: LoadedScenario) -> str:
    zone = loaded.scenario.time_zone
    return (
        f"{which} outside the incident, from {format_instant(ends[0], zone)} to {format_instant(ends[1], zone)}: give those of "
        "this event, or take the file out"
    )
