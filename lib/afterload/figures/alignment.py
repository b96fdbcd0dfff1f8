"""A team's own events beside the provider's timeline, as chart and table."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from afterload.figures.charts import AFTER, BEFORE, GREY, MOST_VALUES, Clock, alt, chart_of, evenly, finish
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.postmortem_charts import NO_POSTMORTEM
from afterload.figures.words import paragraph
from afterload.findings.alignment import Alignment, Follower, align
from afterload.findings.phrases import counted
from afterload.scenario import LoadedScenario, TimelineEvent
from afterload.units import format_instant, format_minutes

__all__ = ["alignment_figure", "alignment_of"]

THEIRS, FOLLOWS, OPEN = "provider", "ours, follows", "ours, not explained"
_LANES = (THEIRS, FOLLOWS, OPEN)


def alignment_of(loaded: LoadedScenario) -> Figure | Prose:
    """The team's own timeline of a scenario beside that of the incident."""
    if loaded.scenario.postmortem is None:
        return paragraph(NO_POSTMORTEM)
    laid = align(loaded.own_timeline, loaded.timeline)
    return alignment_figure(laid, loaded.scenario.time_zone, loaded.name)


def alignment_figure(alignment: Alignment, zone: ZoneInfo, source: str) -> Figure | Prose:
    """Every event of ours beside the one of the provider that it follows. ``source`` says where both timelines are from."""
    if not alignment.followers:
        return paragraph("No events of your own: read a timeline of the incident to lay it beside the provider's.")
    if not alignment.theirs:
        return paragraph("No timeline of the provider: name one to lay your events beside it.")
    every = [*(item.ours.at for item in alignment.followers), *(event.at for event in alignment.theirs)]
    first, last = min(every), max(every)
    clock = Clock(zone, first)
    shown, notes = evenly(alignment.followers, MOST_VALUES // 4)
    theirs, more = evenly(alignment.theirs, MOST_VALUES // 4)
    notes = notes or tuple(f"{note} (The provider's events.)" for note in more)
    points = [_point(event, THEIRS, clock) for event in theirs]
    points += [_point(item.ours, OPEN if item.reason else FOLLOWS, clock) for item in shown]
    links = [part for place, item in enumerate(shown) for part in _link(item, place, clock)]
    span_min = (last - first).total_seconds() / 60
    lane = alt.Y("lane", type="nominal", sort=list(_LANES), scale=alt.Scale(domain=list(_LANES)), title=None)
    x = clock.axis("at", span_min)
    dots = (
        chart_of(points)
        .mark_point(size=90, filled=True, opacity=0.85)
        .encode(
            x=x,
            y=lane,
            color=alt.Color(
                "lane",
                type="nominal",
                title=None,
                legend=None,
                scale=alt.Scale(domain=list(_LANES), range=[GREY, AFTER, BEFORE]),
            ),
            tooltip=[alt.Tooltip(name, type="nominal") for name in ("time", "subsystem", "event")],
        )
    )
    chart: Any = dots
    if links:
        lines = chart_of(links).mark_line(color=GREY, opacity=0.5, strokeWidth=1)
        chart = lines.encode(x=x, y=lane, detail=alt.Detail("link", type="nominal")) + dots
    follow, open_ = len(alignment.explained), len(alignment.unexplained)
    median = alignment.median_lag_min
    middle = "" if median is None else f" with a median lag of {format_minutes(median)}"
    window = format_minutes(alignment.window_min)
    return Figure(
        title="Our events beside the provider's timeline",
        chart=finish(chart, height=180),
        table=Table.of(
            [_row(item, clock) for item in alignment.followers],
            {
                **dict.fromkeys(("time", "subsystem", "our event", "provider's event"), str),
                "lag, min": _lag,
                "note": str,
            },
            caption=f"Times in {zone.key}",
        ),
        source=source,
        notes=notes,
        method=(
            f"Each event of ours stands beside the provider's nearest one at or before it within {window}; one of a matching "
            "subsystem goes before all others. To follow is an order in time, not a cause, and a provider's times are often "
            "rounded to the minute."
        ),
        alt=(
            f"Points on a time axis from {format_instant(first, zone)} to {format_instant(last, zone)}: "
            f"{counted(len(alignment.theirs), 'event')} of the provider, {counted(follow, 'event')} of ours that "
            f"{'follows' if follow == 1 else 'follow'} one of them within {window}{middle}, and "
            f"{counted(open_, 'event')} of ours that the provider's account does not explain."
        ),
    )


def _point(event: TimelineEvent, lane: str, clock: Clock) -> dict[str, Any]:
    return {
        "at": clock.at(event.at),
        "lane": lane,
        "time": _time(event, clock),
        "subsystem": event.subsystem or "(none)",
        "event": _short(event.event),
    }


def _link(item: Follower, place: int, clock: Clock) -> tuple[dict[str, Any], ...]:
    if item.theirs is None or item.reason:
        return ()
    return (
        {"link": place, "at": clock.at(item.theirs.at), "lane": THEIRS},
        {"link": place, "at": clock.at(item.ours.at), "lane": FOLLOWS},
    )


def _row(item: Follower, clock: Clock) -> dict[str, Any]:
    theirs = item.theirs
    notes = {
        "before any": "not explained: before any event of the provider",
        "beyond the window": "not explained: later than the window",
        "": "same subsystem" if item.same_subsystem else "",
    }
    return {
        "time": _time(item.ours, clock),
        "subsystem": item.ours.subsystem,
        "our event": _short(item.ours.event),
        "provider's event": ""
        if theirs is None
        else f"{_time(theirs, clock)} {theirs.subsystem}: {_short(theirs.event)}",
        "lag, min": item.lag_min,
        "note": notes[item.reason],
    }


def _lag(minutes: float) -> str:
    return format_minutes(minutes).removesuffix(" min")


def _time(event: TimelineEvent, clock: Clock) -> str:
    return f"{event.at.astimezone(clock.zone):%Y-%m-%d %H:%M}"


def _short(text: str, most: int = 200) -> str:
    """One line for a chart or a cell; a whole message may have pages."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."
