"""Figures of a measured recovery and of a back-test: what the metrics show, beside what was normal or predicted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from afterload.figures.charts import (
    AFTER,
    BEFORE,
    GREY,
    LINE_LEGEND,
    MOST_VALUES,
    Clock,
    alt,
    chart_of,
    coloured,
    finish,
    rows_apart,
    rules,
    thin,
    tip,
)
from afterload.figures.figure import Figure, Number, Table
from afterload.figures.words import minutes_or_never, span
from afterload.findings.backtest import BackTest
from afterload.findings.measured import MeasuredRecovery, SignalRecovery
from afterload.model.curves import FloatArray
from afterload.units import format_count, format_minutes, format_number, format_rate, format_share

__all__ = ["back_test_figure", "measured_recovery_figure"]

NOT_IN_DATA = "not in the data"
UNITS = {"Seconds": "s", "Milliseconds": "ms", "Percent": "%", "Count": "items"}


def _values(times: FloatArray, values: FloatArray, clock: Clock, limit: int, what: str) -> list[dict[str, Any]]:
    kept = thin(times, values, limit=limit)
    return [
        {
            "at": clock.at(datetime.fromtimestamp(float(times[i]), clock.trigger.tzinfo)),
            "value": _short(values[i]),
            "what": what,
        }
        for i in kept
    ]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _marks(clock: Clock, restore: datetime, back_min: float | None, span_min: float) -> Any:
    marks: list[tuple[int | float, str]] = [(clock.at(clock.trigger), "trigger"), (clock.at(restore), "restored")]
    if back_min is not None and back_min > 0:
        marks.append((clock.at(restore) + round(back_min * 60_000), "back"))
    return rules(marks, "at", temporal=True, rows=rows_apart(marks, span_min * 60_000))


def measured_recovery_figure(measured: MeasuredRecovery, source: str = "") -> Figure:
    """Each signal over time with the band that is normal, the restore, and when it was back for good.

    Parameters:
        measured: the finding.
        source: what to say of where the metrics came from; the files' names if empty.
    """
    clock = Clock(measured.zone, measured.trigger)
    each = MOST_VALUES // max(1, len(measured.signals)) - 6
    view = _view(measured)
    panels = [_panel(item, measured, clock, each, view) for item in measured.signals]
    chart = alt.vconcat(*panels, spacing=14) if len(panels) > 1 else panels[0]
    records = [_record(item) for item in measured.signals]
    dwell = measured.signals[0].dwell_min
    notes = [f"{doubt.word}: {doubt.text}." for item in measured.signals for doubt in item.doubts]
    return Figure(
        title="Measured recovery",
        chart=finish(chart),
        table=Table.of(
            records,
            caption="Minutes after the restore until a signal is back and stays back",
        ),
        source=source or ", ".join(dict.fromkeys(item.series.origin.file for item in measured.signals)),
        method=(
            f"Back = the start of the first stretch after the restore in which every point is within the band for {dwell:g} min "
            "without a gap; time without data is not counted as back. The band ends at "
            + "; ".join(dict.fromkeys(item.edge_words for item in measured.signals))
            + ". The recovery is the time until first-attempt age is back."
        ),
        alt="Lines of measured signals. " + " ".join(_sentence(item) for item in measured.signals),
        notes=tuple(dict.fromkeys(notes)),
    )


def _unit(item: SignalRecovery) -> str:
    unit = item.series.unit or ""
    return UNITS.get(unit, unit)


def _amount(value: float, item: SignalRecovery) -> str:
    return f"{format_number(max(0.0, value))} {_unit(item)}".strip()


def _back(item: SignalRecovery) -> str:
    if item.back_min is None:
        return f"{NOT_IN_DATA}, which end {span(max(0.0, item.seen_until_min))} after it"
    if item.back_min == 0:
        return "normal at the restore" if item.left else "never left its band"
    return span(item.back_min)


def _record(item: SignalRecovery) -> dict[str, Any]:
    return {
        "signal": item.signal,
        "metric": item.series.title,
        "median before": Number(_amount(item.normal.median, item)),
        "normal up to": Number(_amount(item.edge, item)),
        "back after the restore": Number(_back(item)),
        "exact to": Number(format_minutes(item.resolution_min)),
    }


def _sentence(item: SignalRecovery) -> str:
    normal = f"{item.signal} has a median of {_amount(item.normal.median, item)} before the trigger"
    if item.back_min is None:
        return f"{normal} and is not back in the data."
    when = "within its band at the restore" if item.back_min == 0 else f"back {span(item.back_min)} after the restore"
    return f"{normal} and is {when}."


def _text(value: Any) -> str:
    return str(value)


def _view(measured: MeasuredRecovery) -> tuple[float, float]:
    """The span that every panel shows, in seconds: at most the baseline's, up to some time after the last return."""
    restore, trigger = measured.restore.timestamp(), measured.trigger.timestamp()
    last = max(item.seen_until_min if item.back_min is None else item.back_min for item in measured.signals)
    end = restore + 60 * max(0.0, last)
    start = max(min(item.normal.from_s for item in measured.signals), trigger - 0.5 * (end - trigger) - 3_600.0)
    return start, end + max(1_800.0, 0.1 * (end - start))


def _panel(item: SignalRecovery, measured: MeasuredRecovery, clock: Clock, each: int, view: tuple[float, float]) -> Any:
    series = item.series
    start, end = view
    inside = (series.times >= start) & (series.times <= end)
    times, values = series.times[inside], series.values[inside]
    unit = _unit(item)
    title = f"{item.signal}, {unit}" if unit else item.signal
    span_min = (end - start) / 60
    axis = clock.axis("at", span_min)
    y = alt.Y("value", type="quantitative", title=title, axis=alt.Axis(format=",~f"))
    line = (
        chart_of(_values(times, values, clock, each, item.signal))
        .mark_line(strokeWidth=2, color=AFTER, point=alt.OverlayMarkDef(size=16, opacity=0.01))
        .encode(
            x=axis,
            y=y,
            tooltip=[
                tip("what"),
                tip("value", ",.4~g", title),
                alt.Tooltip("at", type="temporal", title=clock.title, format="%d %b %H:%M:%S"),
            ],
        )
    )
    floor = min(0.0, float(values.min())) if len(values) else 0.0
    band = (
        chart_of([{"low": _short(floor), "high": _short(item.edge)}])
        .mark_rect(color=GREY, opacity=0.15)
        .encode(y=alt.Y("low", type="quantitative"), y2="high:Q")
    )
    marks = _marks(clock, measured.restore, item.back_min, span_min)
    panel = band + line + marks
    return panel.properties(width=760, height=150) if len(measured.signals) > 1 else panel


def back_test_figure(test: BackTest, clock: Clock, source: str = "") -> Figure:
    """The backlog that was predicted at the restore beside the one that was measured.

    Parameters:
        test: the finding.
        clock: of the incident, in the team's zone.
        source: what to say of where the metrics came from; the file's name if empty.
    """
    observed = test.observed
    restore = observed.restore
    series = observed.backlog.series
    start, at = observed.trigger.timestamp(), restore.timestamp()
    true = observed.drain_min if observed.drain_min is not None else observed.backlog.seen_until_min
    predicted = test.predicted.drain_min
    shown = max(true, predicted if predicted is not None else 1.5 * true)
    end = at + 60 * (1.1 * shown + 10)
    inside = (series.times >= start) & (series.times <= end)
    values = _values(series.times[inside], series.values[inside], clock, MOST_VALUES // 2, "measured")
    curve = test.predicted.times_min <= 1.1 * shown + 10
    values += _values(
        at + 60 * test.predicted.times_min[curve], test.predicted.backlog[curve], clock, MOST_VALUES // 3, "predicted"
    )
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=clock.axis("at", (end - start) / 60),
            y=alt.Y("value", type="quantitative", title="items waiting", axis=alt.Axis(format=",~f")),
            color=coloured("what", {"measured": AFTER, "predicted": BEFORE}, legend=LINE_LEGEND),
            strokeDash=alt.StrokeDash(
                "what",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=["measured", "predicted"], range=[[1, 0], [6, 4]]),
                legend=None,
            ),
            tooltip=[
                tip("what"),
                tip("value", ",.0f", "items waiting"),
                alt.Tooltip("at", type="temporal", title=clock.title, format="%d %b %H:%M"),
            ],
        )
    )
    marks = _marks(clock, restore, observed.drain_min, (end - start) / 60)
    return Figure(
        title="The drain as predicted at the restore, and as it was",
        chart=finish(lines + marks),
        table=Table.of(
            [_first(test), *(_swapped(swap, test) for swap in test.swaps), *_last(test)],
            {"prediction": str, "value": str, "drain": _text, "error": _text},
            caption=f"Measured drain: {_true(test)}",
        ),
        source=source or series.origin.file,
        method=(
            "The fluid queue from the restore on, with the backlog and the rates that were known then; below it the same with "
            "one observed value in place of each assumption. Error = predicted less measured. Observed rates are means over the "
            "drain; the observed backlog is what was served less what arrived in it."
        ),
        alt=f"Two lines of items waiting, measured and predicted. {_words(test)}",
        notes=(_words(test), *dict.fromkeys(f"{doubt.word}: {doubt.text}." for doubt in test.doubts)),
    )


def _true(test: BackTest) -> str:
    if test.observed.drain_min is None:
        return (
            f"not over in the data, which end {span(max(0.0, test.observed.backlog.seen_until_min))} after the restore"
        )
    return span(test.observed.drain_min)


def _error(minutes: float | None, test: BackTest) -> str:
    true = test.observed.drain_min
    if minutes is None or not true:
        return ""
    difference = minutes - true
    size = f"{format_minutes(abs(difference))} ({format_share(abs(difference) / true)})"
    if round(abs(difference), 2) == 0:
        return "none"
    return f"{size} too {'long' if difference > 0 else 'short'}"


def _first(test: BackTest) -> dict[str, Any]:
    load = test.load
    value = (
        f"{format_rate(load.arrivals.mean_tail_per_min)} in, {format_rate(test.predicted.service_rate_per_min)} served"
    )
    return {
        "prediction": "as known at the restore",
        "value": f"{format_count(load.backlog_before)} waiting, {value}",
        "drain": minutes_or_never(test.predicted.drain_min),
        "error": _error(test.predicted.drain_min, test),
    }


def _swapped(swap: Any, test: BackTest) -> dict[str, Any]:
    return {
        "prediction": f"observed {swap.assumption}",
        "value": swap.words,
        "drain": minutes_or_never(swap.drain_min),
        "error": _error(swap.drain_min, test),
    }


def _last(test: BackTest) -> list[dict[str, Any]]:
    if len(test.swaps) < 3:
        return []
    drain = test.with_all_min
    return [
        {
            "prediction": "all observed values",
            "value": "",
            "drain": minutes_or_never(drain),
            "error": _error(drain, test),
        }
    ]


def _words(test: BackTest) -> str:
    predicted = test.predicted.drain_min
    said = "never to drain" if predicted is None else f"to drain in {span(predicted)}"
    text = f"The backlog was predicted {said}; the measured drain is {_true(test)}."
    if test.off is not None:
        swap = next(item for item in test.swaps if item.assumption == test.off)
        text += f" The {test.off} was off most: {swap.words}."
    elif test.error_share is not None and abs(test.error_share) <= 0.05:
        text += " The prediction holds within 5 %."
    elif test.error_share is not None:
        text += " No single assumption explains the difference."
    return text
