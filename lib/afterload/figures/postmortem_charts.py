"""The two charts of the postmortem chapter: who says what happened when, and how long each part of the response took."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from afterload.estimates import Estimates
from afterload.figures.charts import (
    AFTER,
    BEFORE,
    GREY,
    MOST_LINES,
    MOST_VALUES,
    Clock,
    alt,
    chart_of,
    drawn,
    evenly,
    finish,
    rules,
    tip,
)
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.timeline import clock_time, source_of
from afterload.figures.words import minutes_or_never, paragraph
from afterload.findings.postmortem import Duration, Entry, durations, entries
from afterload.plan.change import counted
from afterload.scenario import LoadedScenario
from afterload.units import format_count, format_minutes

__all__ = ["MISSED", "NO_POSTMORTEM", "durations_figure", "timeline_figure"]

NO_POSTMORTEM = "This scenario has no postmortem: give one to see the account of the event beside the figures."
MISSED = "missed by {}"
STATUS_COLOURS = {"confirmed": AFTER, "reported": GREY, "disputed": BEFORE, "not given": "#a9a9a9"}
COLUMNS = ("time", "source", "status", "subsystem", "kind", "what")


def timeline_figure(loaded: LoadedScenario) -> Figure | Prose:
    """The provider's entries against the team's own, each with its source and status."""
    if loaded.scenario.postmortem is None:
        return paragraph(NO_POSTMORTEM)
    provider = "the provider" if not loaded.timeline else source_of(loaded, "timeline")
    found = entries(loaded, provider, f"account of {loaded.scenario.team}")
    if not found:
        return paragraph("No entry: give detected_at and its like, or name a CSV file under postmortem.timeline.")
    incident, clock = loaded.scenario.incident, Clock.of(loaded)
    values = [_value(entry, clock) for entry in found]
    number = {
        source: [value["source"] for value in values].count(source)
        for source in dict.fromkeys(v["source"] for v in values)
    }
    sources, left_out = drawn(number, lambda source: number[source], most=MOST_LINES)
    shown, thinned = evenly([value for value in values if value["source"] in sources], MOST_VALUES)
    points = (
        chart_of(shown)
        .mark_point(size=90, filled=True, opacity=0.85)
        .encode(
            x=clock.axis("at", (found[-1].event.at - found[0].event.at).total_seconds() / 60),
            y=alt.Y("source", type="nominal", sort=sources, title=None, axis=alt.Axis(labelLimit=260, grid=True)),
            color=alt.Color(
                "status", type="nominal", title=None,
                scale=alt.Scale(domain=list(STATUS_COLOURS), range=list(STATUS_COLOURS.values())),
            ),
            shape=alt.Shape(
                "side", type="nominal", title=None,
                scale=alt.Scale(domain=["of the incident", "own"], range=["circle", "diamond"]),
            ),
            tooltip=[alt.Tooltip(name, type="nominal") for name in ("time", "source", "status", "what")],
        )
    )  # fmt: skip
    marks = [(clock.at(incident.trigger), "trigger"), (clock.at(incident.restored_at), "restored")]
    own, open_ = sum(entry.is_own for entry in found), sum(entry.event.status == "disputed" for entry in found)
    return Figure(
        title="Timeline",
        chart=finish(points + rules(marks, "at", temporal=True, rows=(1, 0)), height=max(140, 34 * len(sources))),
        table=Table(
            COLUMNS,
            tuple(tuple(str(value[name]) for name in COLUMNS) for value in values),
            caption=f"Times in {clock.zone.key}",
            status="status",
        ),
        source=f"{provider}; {loaded.name} and what it names for the team's own entries",
        method=(
            "Entries of both sides by time. Status as the files give it: confirmed is seen in a log, a metric or a record; "
            "reported is said by somebody; disputed means that sources disagree, and the note says how. The timeline chapter "
            "draws the same events by subsystem."
        ),
        notes=(*left_out, *thinned),
        alt=(
            f"Points on a time axis, one line for each of {counted(len(number), 'source')}: "
            f"{format_count(len(found) - own)} of the incident and {format_count(own)} of the team. "
            f"Sources disagree on {format_count(open_)} of them."
        ),
    )


def _value(entry: Entry, clock: Clock) -> dict[str, Any]:
    event = entry.event
    return {
        "at": clock.at(event.at),
        "time": _moments(event.at, event.end, clock),
        "source": entry.source,
        "status": event.status or "not given",
        "subsystem": event.subsystem,
        "kind": event.kind,
        "what": f"{event.event} (note: {event.note})" if event.note else event.event,
        "side": "own" if entry.is_own else "of the incident",
    }


def _moments(at: datetime, end: datetime | None, clock: Clock) -> str:
    return clock_time(at, clock.zone) + (f" to {end.astimezone(clock.zone):%H:%M}" if end else "")


def durations_figure(estimates: Estimates) -> Figure | Prose:
    """Time to detect, mitigate, restore and recover, with what the scenario sets and computes beside it."""
    loaded = estimates.loaded
    found = durations(loaded)
    if not found:
        return paragraph(NO_POSTMORTEM)
    clock = Clock.of(loaded)
    values = [
        {
            "interval": item.name,
            "start": clock.at(item.start),
            "end": clock.at(item.end),
            "from": clock_time(item.start, clock.zone),
            "to": clock_time(item.end, clock.zone),
            "minutes": round(item.minutes or 0.0, 3),
        }
        for item in found
        if item.start is not None and item.end is not None
    ]
    longest = max(item.minutes or 0.0 for item in found)
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.6}, color=AFTER)
        .encode(
            x=clock.axis("start", longest),
            x2=alt.X2("end"),
            y=alt.Y("interval", type="nominal", sort=[item.name for item in found], title=None),
            tooltip=[
                *(alt.Tooltip(name, type="nominal") for name in ("interval", "from", "to")),
                tip("minutes", ",.1~f"),
            ],
        )
    )
    incident = loaded.scenario.incident
    # The bars begin at the trigger, so only the restore is marked.
    marks = [(clock.at(incident.restored_at), "restored")]
    return Figure(
        title="Durations",
        chart=finish(bars + rules(marks, "start", temporal=True), height=34 * len(values)),
        table=Table(
            ("interval", "from", "to", "minutes", "beside it"),
            tuple(_row(item, clock, _beside(item, estimates)) for item in found),
            frozenset({"minutes"}),
            f"Times in {clock.zone.key}",
        ),
        source=f"{loaded.name}: incident and postmortem",
        method=(
            "Each interval runs between two instants that the scenario gives. Mitigate runs from the detection, recover from "
            "the restore, since the objective is set from there. Computed: first-attempt age back at baseline for the slowest "
            "queue, by backlog arithmetic alone."
        ),
        alt="Bars on a time axis. " + " ".join(f"{item.name.capitalize()}: {_minutes(item)}." for item in found),
    )


def _minutes(item: Duration) -> str:
    return "not given" if item.minutes is None else format_minutes(item.minutes)


def _row(item: Duration, clock: Clock, beside: str) -> tuple[str, ...]:
    begins, ends = (name.split(".")[1] for name in (item.begins, item.ends))
    times = ("not given" if at is None else clock_time(at, clock.zone) for at in (item.start, item.end))
    return f"{item.name}: {begins} to {ends}", *times, _minutes(item), beside


def _beside(item: Duration, estimates: Estimates) -> str:
    if item.name != "recover":
        return ""
    scenario, queue = estimates.loaded.scenario, estimates.worst_queue
    objective = f"objective {format_minutes(scenario.recovery_objective_min)}"
    parts = [objective]
    if item.minutes is not None:
        over = item.minutes - scenario.recovery_objective_min
        parts = [f"{objective}: {'met' if over <= 0 else MISSED.format(format_minutes(over))}"]
    if queue is not None:
        parts.append(f"computed {minutes_or_never(queue.fresh_age_back_min)} ({queue.name})")
    if scenario.recovery_measured_min is not None:
        parts.append(f"last measured {format_minutes(scenario.recovery_measured_min)}")
    return "; ".join(parts)
