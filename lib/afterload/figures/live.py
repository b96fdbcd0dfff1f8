"""The live chapter: a recovery that is going on, in words, as a projection, with its steps and its readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from afterload.figures.charts import AFTER, BEFORE, Clock, alt, chart_of, evenly, finish, rows_apart, rules, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.findings.live import Live
from afterload.findings.live_words import awaited_words, clock, is_open, live_lines, times_words
from afterload.scenario import LoadedScenario, Reading
from afterload.units import format_count, format_minutes, format_rate, format_share

__all__ = ["live_figure", "live_readings_table", "live_steps_table", "live_words"]

NOTHING = (
    "No recovery is going on here: keep readings with afterload eta --log and name the file under live to follow one."
)
NONE_YET = "There is no reading yet."
MOST_READINGS = 300
# Points of the fan, and how far it goes beyond the end that is likely.
FAN_POINTS, BEYOND = 60, 1.15
# How far it goes where no end is in sight.
NO_END_MIN = 360.0


def live_words(live: Live | None, loaded: LoadedScenario | None = None) -> Prose:
    """The answer in words, as ``afterload eta`` prints it; without one, what the scenario waits for."""
    if live is not None:
        return sentence_list(live_lines(live))
    awaited = "" if loaded is None else awaited_words(loaded)
    return paragraph(f"{awaited}." if awaited else NOTHING)


def live_figure(loaded: LoadedScenario, live: Live | None, log: str | None = None) -> Figure | Prose:
    """The readings, and the backlog from now on between P10 and P90. ``log``: where readings stand."""
    if live is None:
        return paragraph(NOTHING if loaded.scenario.live is None else NONE_YET)
    # At the offset of the last reading, as the words have it: the event of the scenario may be of another season.
    times = Clock(loaded.scenario.time_zone, live.now)
    now = times.at(live.now)
    seen, notes = evenly(live.readings, MOST_READINGS)
    with_flight = all(item.in_flight is not None for item in live.readings)
    points = [
        {
            "at": times.at(item.at),
            "items": item.depth + ((item.in_flight or 0.0) if with_flight else 0.0),
            "what": "seen",
        }
        for item in seen
    ]
    fan = _fan(live, now)
    span = (max([now, *(item["at"] for item in fan)]) - points[0]["at"]) / 60_000
    x = times.axis("at", span)
    y = alt.Y("items", type="quantitative", title="items waiting", axis=alt.Axis(format=",~f"))
    tooltip = [
        alt.Tooltip("what", type="nominal"), alt.Tooltip("items", type="quantitative", format=",.0f"),
    ]  # fmt: skip
    layers = [
        chart_of(points)
        .mark_line(point=alt.OverlayMarkDef(size=46, color=BEFORE), color=BEFORE, strokeWidth=1.4)
        .encode(x=x, y=y, tooltip=tooltip)
    ]  # fmt: skip
    if fan:
        base = chart_of(fan)
        band = base.mark_area(opacity=0.22, color=AFTER).encode(
            x=x, y=alt.Y("low", type="quantitative", title="items waiting", axis=alt.Axis(format=",~f")), y2="high",
            tooltip=[tip("low", ",.0f", "P10"), tip("high", ",.0f", "P90")],
        )  # fmt: skip
        layers = [band, base.mark_line(color=AFTER, strokeWidth=2.2).encode(x=x, y=y, tooltip=tooltip), *layers]
    marks: list[tuple[int | float, str]] = []
    known = live.known
    if known.restored_at is not None and known.restored_at <= live.now:
        marks.append((times.at(known.restored_at), "restored"))
        if known.objective_min is not None:
            marks.append((times.at(known.restored_at) + round(known.objective_min * 60_000), "objective"))
    if live.change is not None:
        marks.append((times.at(live.readings[live.change.place].at), "net rate changed"))
    named = loaded.scenario.live.log if loaded.scenario.live is not None else "readings"
    chart = alt.layer(*layers)
    if marks:
        chart = chart + rules(
            marks,
            "at",
            temporal=True,
            rows=rows_apart(marks, _reach([times.at(live.readings[0].at), now, *(item["at"] for item in fan)], marks)),
        )
    return Figure(
        title=f"The backlog of {live.queue}, seen and expected",
        chart=finish(chart, height=300),
        table=_times_table(live),
        source=f"{named if log is None else log}, {loaded.name}",
        method=_method(live),
        alt=f"{_drawn_words(live, bool(fan))} {live_lines(live)[0]}",
        notes=(*notes, *(f"{doubt.word}: {doubt.text}." for doubt in live.doubts)),
    )


def _reach(drawn: Sequence[int], marks: Sequence[tuple[int | float, str]]) -> float:
    """How long the axis is, in ms: it holds the lines with a label too."""
    places = [*drawn, *(at for at, _ in marks)]
    return float(max(places) - min(places))


def _drawn_words(live: Live, has_fan: bool) -> str:
    count = len(live.readings)
    seen = "Point of 1 reading" if count == 1 else f"Line of {count:,} readings"
    return f"{seen}, and a band of the backlog expected from P10 to P90." if has_fan else f"{seen}."


def _fan(live: Live, now: int) -> list[dict[str, Any]]:
    projection = live.projection
    if projection is None or live.kind == "empty":
        return []
    ends = [value for value in (live.empty.p90, live.empty.p50) if value is not None]
    end = min(BEYOND * ends[0], 4 * (live.empty.p50 or ends[0])) if ends else NO_END_MIN
    found = []
    for minutes in np.linspace(0.0, end, FAN_POINTS).tolist():
        low, middle, high = (projection.depth(minutes, share, live.ahead) for share in (0.1, 0.5, 0.9))
        found.append(
            {
                "at": now + round(minutes * 60_000), "low": round(low, 1), "items": round(middle, 1),
                "high": round(high, 1), "what": "expected",
            }
        )  # fmt: skip
    return found


def _method(live: Live) -> str:
    if live.projection is None:
        return "No net rate is known yet, so nothing is expected: readings only."
    if len(live.readings) == 1:
        text = (
            "Time to empty = backlog / (service rate less arrival rate). P10 and P90 from how sure the rates are: a tenth for "
            "one that is planned, a twentieth for one that is read, as standard deviations."
        )
    else:
        text = (
            f"The last {live.used:,} readings as a random walk with a steady drift, by generalised least squares. How much "
            "chance moves the backlog, and how far readings err, is weighed by how well each explains the readings."
        )
    if "arrivals" in live.ahead_words:
        text += " Arrivals from now on follow the scenario's profile, scaled to what arrives now."
    if "ramp" in live.ahead_words:
        text += " The service rate follows the ramp of the consumers."
    return text


def _times_table(live: Live) -> Table:
    """The headline times and rates with their spread."""
    unsure = is_open(live)
    rows = [
        ("backlog empty", "not known yet" if unsure else times_words(live.empty)),
        ("first attempts on time", "not known yet" if unsure and live.fresh.p50 != 0 else times_words(live.fresh)),
    ]
    if live.capped is not None:
        rows.insert(0, ("backlog empty at the safe cap", times_words(live.capped)))
    if live.net is not None and live.net_low is not None and live.net_high is not None:
        rows.append(("net drain", _signed(live.net, live.net_low, live.net_high)))
    if live.arrival is not None:
        rows.append(("arrivals", f"{format_rate(live.arrival.per_min)} {live.arrival.words}"))
    if live.service is not None:
        rows.append(("service", f"{format_rate(live.service.per_min)} {live.service.words}"))
    return Table(("what", "from the last reading on"), tuple(rows))


def _signed(net: float, low: float, high: float) -> str:
    def words(value: float) -> str:
        return format_rate(value) if value >= 0 else f"growth of {format_rate(-value)}"

    return f"{words(net)} (P10 {words(low)}, P90 {words(high)})"


def live_steps_table(live: Live | None) -> Table | Prose:
    """The seven steps of admission: what may go, what must wait, and why."""
    if live is None:
        return paragraph(NONE_YET)
    rows = tuple((str(step.number), step.name, step.state, f"{step.why}.") for step in live.steps)
    return Table(("#", "step", "now", "why"), rows, frozenset({"#"}), caption="The seven steps of admission, now")


def live_readings_table(live: Live | None) -> Table | Prose:
    """Every reading, as it was kept."""
    if live is None:
        return paragraph(NONE_YET)
    rows = tuple(_row(live, item, place) for place, item in enumerate(live.readings))
    columns = ("at", "waiting", "oldest", "arrive", "served", "in flight", "errors", "attempts", "in the answer")
    return Table(columns, rows, frozenset(columns[1:8]), caption=f"Readings of {live.queue}")


def _part(live: Live, place: int) -> str:
    """Whether a reading is part of the answer, and why not."""
    if place >= len(live.readings) - live.used:
        return "yes"
    if live.kind == "empty":
        return "no: nothing waits any more"
    if live.change is not None and place < live.change.place:
        return "no: before the change"
    if any(item.depth <= 0 for item in live.readings[place:]):
        return "no: before the queue was empty"
    return f"no: only the last {live.used:,} count"


def _row(live: Live, item: Reading, place: int) -> tuple[str, ...]:
    return (
        clock(item.at, live),
        format_count(item.depth),
        "" if item.age_min is None else format_minutes(item.age_min),
        "" if item.arrival_per_min is None else format_rate(item.arrival_per_min),
        "" if item.service_per_min is None else format_rate(item.service_per_min),
        "" if item.in_flight is None else format_count(item.in_flight),
        "" if item.error_share is None else format_share(item.error_share),
        "" if item.attempts_per_min is None else format_rate(item.attempts_per_min),
        _part(live, place),
    )
