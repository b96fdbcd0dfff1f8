"""The timeline chapter: what happened when, and how long each impact lasted after the restore."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from afterload.figures.charts import (
    AFTER,
    BEFORE,
    MOST_LINES,
    MOST_VALUES,
    Clock,
    alt,
    chart_of,
    coloured,
    drawn,
    evenly,
    finish,
    rules,
    tip,
)
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list, span
from afterload.findings import SplitWindow
from afterload.findings.postmortem import disputed
from afterload.findings.windows import left_out, other_events
from afterload.plan.change import counted
from afterload.scenario import LoadedScenario, TimelineEvent
from afterload.scenario.reference_event import FOLDER
from afterload.units import format_count, format_duration, format_instant

__all__ = ["clock_time", "events_figure", "source_of", "timeline_answer", "windows_figure"]

MOST_TOLD = 10


def source_of(loaded: LoadedScenario, field: str) -> str:
    """Who speaks in a file of the incident: the provider, or the file that the scenario names."""
    path = str(getattr(loaded.scenario.incident, field))
    if path.startswith(FOLDER):
        return "provider's published summary of the event of 19 and 20 October 2025 in us-east-1"
    return f"{path}, named in {loaded.name}"


def clock_time(at: datetime, zone: ZoneInfo) -> str:
    """A time of day with its date, for cells of a table whose caption names the zone."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def timeline_answer(loaded: LoadedScenario, windows: tuple[SplitWindow, ...]) -> Prose:
    """The incident in words: its two instants and the windows that outlasted the restore."""
    incident, zone = loaded.scenario.incident, loaded.scenario.time_zone
    lines = [
        f"{incident.name}: the dependency failed at {format_instant(incident.trigger, zone)} and was back at "
        f"{format_instant(incident.restored_at, zone)}, {span(incident.outage_min)} later."
    ]
    others = other_events(loaded)
    lasting = [item for item in windows if item.after_min > 0]
    if any(path == "incident.impacts" for path, _ in others):
        # Nothing is said of windows of another event but that they are.
        pass
    elif lasting:
        longest = max(lasting, key=lambda item: item.after_min)
        lines.append(
            f"{len(lasting)} of {counted(len(windows), 'impact window')} {'reaches' if len(lasting) == 1 else 'reach'} past "
            f"the restore. The longest, {longest.window.service}, lasted {format_count(longest.after_min)} min after it and "
            f"{format_count(longest.before_min)} min before it."
        )
    elif windows:
        which = (
            "The only impact window does not reach"
            if len(windows) == 1
            else f"None of {len(windows)} impact windows reaches"
        )
        lines.append(f"{which} past the restore.")
    elif not loaded.impacts:
        lines.append("The scenario names no file of impact windows, so nothing is split at the restore.")
    lines += [f"Of another event: {path}: {why}." for path, why in others]
    lines += _left_out(loaded)
    return sentence_list(lines)


def _left_out(loaded: LoadedScenario) -> list[str]:
    """A sentence for each reason for which windows of the file count nowhere."""
    zone, reasons = loaded.scenario.time_zone, dict[str, list[str]]()
    for window, why in left_out(loaded):
        at = f"{clock_time(window.start, zone)} to {clock_time(window.end, zone)}"
        reasons.setdefault(why, []).append(f"{window.service} ({at})")
    more = {
        why: f" and {len(names) - MOST_TOLD:,} more" if len(names) > MOST_TOLD else "" for why, names in reasons.items()
    }
    return [f"Not counted, {why}: {', '.join(names[:MOST_TOLD])}{more[why]}." for why, names in reasons.items()]


def windows_figure(loaded: LoadedScenario, windows: tuple[SplitWindow, ...]) -> Figure | Prose:
    """Impact windows split at the restore."""
    if not windows:
        none = "name a CSV file under incident.impacts to see them against the restore"
        return paragraph(f"No impact windows: {'no window of the file counts' if loaded.impacts else none}.")
    incident, clock = loaded.scenario.incident, Clock.of(loaded)
    restore = incident.restored_at
    values, records = [], []
    shown, notes = drawn(windows, lambda item: item.total_min, most=10 * MOST_LINES)
    for item in windows:
        window = item.window
        parts = (
            ("before the restore", window.start, min(window.end, restore), item.before_min),
            ("after the restore", max(window.start, restore), window.end, item.after_min),
        )
        values += [
            {
                "service": window.service,
                "part": part,
                "start": clock.at(start),
                "end": clock.at(end),
                "from": clock_time(start, clock.zone),
                "to": clock_time(end, clock.zone),
                "minutes": round(minutes, 3),
            }
            for part, start, end, minutes in parts
            if minutes > 0 and item in shown
        ]
        records.append(
            {
                "service": window.service,
                "start": ("at the latest " if window.start_is_lower_bound else "")
                + clock_time(window.start, clock.zone),
                "end": clock_time(window.end, clock.zone),
                "before, min": Number(format_count(item.before_min)),
                "after, min": Number(format_count(item.after_min)),
                "total, min": Number(format_count(item.total_min)),
                "note": window.note,
            }
        )
    order = [item.window.service for item in shown]
    width = (max(w.window.end for w in windows) - min(w.window.start for w in windows)).total_seconds() / 60
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.7})
        .encode(
            x=clock.axis("start", width),
            x2=alt.X2("end"),
            y=alt.Y("service", type="nominal", sort=order, title=None, axis=alt.Axis(labelLimit=220)),
            color=coloured("part", {"before the restore": BEFORE, "after the restore": AFTER}),
            tooltip=[tip("service"), tip("part"), tip("from"), tip("to"), tip("minutes", ",")],
        )
    )
    line = rules([(clock.at(restore), "dependency restored")], "start", temporal=True)
    before = sum(item.before_min for item in windows)
    after = sum(item.after_min for item in windows)
    longest = max(windows, key=lambda item: item.after_min)
    return Figure(
        title="Impact before and after the restore",
        chart=finish(bars + line, height=max(120, 30 * len(shown))),
        table=Table.of(
            records,
            caption=f"Times in {clock.zone.key}",
        ),
        source=source_of(loaded, "impacts"),
        notes=notes,
        method=(
            "Each window is cut at the restore: before = max(0, min(end, restore) - start), "
            "after = max(0, end - max(start, restore)). A start marked 'at the latest' may be earlier."
        ),
        alt=(
            f"Bars for {counted(len(windows), 'impact window')} on a time axis, cut at {format_instant(restore, clock.zone)}. "
            f"Together {format_count(before)} min before the restore and {format_count(after)} min after it; "
            f"{longest.window.service} reaches furthest, {format_count(longest.after_min)} min past it."
        ),
    )


def events_figure(loaded: LoadedScenario) -> Figure | Prose:
    """Every event of the timeline, by subsystem."""
    events = loaded.timeline
    if not events:
        return paragraph("No timeline: name a CSV file under incident.timeline to see the events.")
    incident, clock = loaded.scenario.incident, Clock.of(loaded)
    values = [_event(event, clock) for event in events]
    shown, notes = evenly(values, MOST_VALUES)
    kinds = list(dict.fromkeys(event.kind or "event" for event in events))
    width = (events[-1].at - events[0].at).total_seconds() / 60
    points = (
        chart_of(shown)
        .mark_point(size=90, filled=True, opacity=0.9)
        .encode(
            x=clock.axis("at", width),
            y=alt.Y(
                "subsystem",
                type="nominal",
                sort=list(dict.fromkeys(str(value["subsystem"]) for value in values)),
                title=None,
                axis=alt.Axis(labelLimit=220, grid=True),
            ),
            color=alt.Color(
                "kind",
                type="nominal",
                title=None,
                sort=kinds,
                scale=alt.Scale(scheme="tableau20"),
                legend=alt.Legend(columns=5, symbolType="circle"),
            ),
            shape=alt.Shape("kind", type="nominal", sort=kinds, title=None, legend=None),
            tooltip=[alt.Tooltip(name, type="nominal") for name in ("time", "subsystem", "kind", "event")],
        )
    )  # fmt: skip
    marks = [(clock.at(incident.trigger), "trigger"), (clock.at(incident.restored_at), "restored")]
    return Figure(
        title="What happened when",
        chart=finish(
            points + rules(marks, "at", temporal=True, rows=(1, 0)),
            height=max(140, 26 * len({v["subsystem"] for v in values})),
        ),
        table=Table.of(
            [
                {
                    "time": value["time"],
                    "after the trigger": value["after"],
                    "subsystem": value["subsystem"],
                    "kind": value["kind"],
                    "event": value["event"],
                }
                for value in values
            ],
            dict.fromkeys(("time", "after the trigger", "subsystem", "kind", "event"), str),
            caption=f"Times in {clock.zone.key}",
        ),
        source=source_of(loaded, "timeline"),
        notes=notes + _disagreements(events, clock.zone),
        method="Events as the file gives them, sorted by time; the lines are the scenario's trigger and restore.",
        alt=(
            f"{counted(len(events), 'event')} of {counted(len({v['subsystem'] for v in values}), 'subsystem')} on a time axis "
            f"from "
            f"{format_instant(events[0].at, clock.zone)} to {format_instant(events[-1].at, clock.zone)}."
        ),
    )


def _disagreements(events: tuple[TimelineEvent, ...], zone: ZoneInfo) -> tuple[str, ...]:
    """A note on the events that another source has otherwise, with what that says where the file tells."""
    found = disputed(events)
    if not found:
        return ()
    told = [f"{clock_time(event.at, zone)} {event.subsystem}: {event.note}" for event in found if event.note]
    more = f": {'; '.join(told[:MOST_TOLD])}{'; and more' if len(told) > MOST_TOLD else ''}" if told else ""
    return (f"Sources disagree on {len(found):,} of {counted(len(events), 'event')}{more}.",)


def _event(event: TimelineEvent, clock: Clock) -> dict[str, str | int]:
    minutes = (event.at - clock.trigger).total_seconds() / 60
    end = f" to {event.end.astimezone(clock.zone):%H:%M}" if event.end else ""
    return {
        "at": clock.at(event.at),
        "time": clock_time(event.at, clock.zone) + end,
        "after": format_duration(minutes) if minutes >= 0 else f"{format_duration(-minutes)} before",
        "subsystem": event.subsystem or "(none)",
        "kind": event.kind or "event",
        "event": event.event,
    }
