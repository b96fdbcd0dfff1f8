"""Flapping targets in the launches chapter: new targets that get traffic before their network state exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from afterload.figures.charts import LONG_LEGEND, alt, chart_of, coloured, finish, points_each, thin, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.impairments import TODAY, FlappingEstimate
from afterload.plan.change import counted, share
from afterload.units import format_count, format_duration

__all__ = ["flapping_figure"]

NO_GROUPS = (
    "No fleet gives a target group (target_group, with launch.network_delay), so it is not known whether its new targets would "
    "flap."
)


def flapping_figure(found: Sequence[FlappingEstimate], reasons: Sequence[str], source: str) -> Figure | Prose:
    """Targets that get traffic and can serve it, as it is and with each remedy, for the group that lacks most."""
    if not found:
        return sentence_list(reasons) if reasons else paragraph(NO_GROUPS)
    item = max(found, key=lambda each: each.fleet.needed - each.courses[TODAY][each.shown].lowest)
    shown = {name: runs[item.shown] for name, runs in item.courses.items()}
    values = [
        {"remedy": name, "minutes": round(float(course.times_s[place]) / 60, 4), "serving": int(course.capacity[place])}
        for name, course in shown.items()
        for place in _places(course.capacity, points_each(len(item.courses)))
    ]
    lines = (
        chart_of(values)
        .mark_line(interpolate="step-after", strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("minutes", type="quantitative", title="minutes after the new targets enter"),
            y=alt.Y("serving", type="quantitative", title="targets that serve", axis=alt.Axis(format=",~f")),
            color=coloured("remedy", list(item.courses), legend=LONG_LEGEND),
            tooltip=[tip("remedy"), tip("minutes", ",.1f"), tip("serving", ",", "targets that serve")],
        )
    )
    needed = (
        chart_of([{"needed": item.fleet.needed}])
        .mark_rule(strokeDash=[5, 4], color="black")
        .encode(y=alt.Y("needed", type="quantitative"), tooltip=[tip("needed", ",")])
    )
    cut = [
        f"{each.name} is followed for the first {format_duration(each.window_s / 60)} only."
        for each in found
        if each.is_cut
    ]
    today = shown[TODAY]
    return Figure(
        title=f"Targets of {item.name} that serve while new ones flap",
        chart=finish(lines + needed),
        table=Table.of([record for each in found for record in _records(each)]),
        source=f"{source}; random checks of {len(item.courses[TODAY])} fixed seeds",
        method=(
            "All new targets enter at once and count as healthy; their network state comes evenly over the network delay, and "
            "until then each check of one passes with pass_share. Every change of health costs the checker further checks, and "
            "checks beyond its rate count as failed, for targets that work as well. Below its routing threshold a zone sends to "
            "all of its targets (fail open); below its DNS threshold it leaves DNS, unless no zone would be left. The table has "
            "the worst of all runs, the chart the run in which least serves as it is. The dashed line is what is needed."
        ),
        notes=(*cut, *(f"Left out, {reason}" for reason in reasons)),
        alt=(
            f"Lines of targets that serve. As it is {item.name} goes from {counted(float(today.capacity[0]), 'target')} down "
            f"to {format_count(today.lowest)} where {format_count(item.fleet.needed)} are needed, and "
            f"{'no zone leaves DNS' if not today.zone_exits else f'zones leave DNS {_times(today.zone_exits)}'}; "
            + "; ".join(f"{name}: {format_count(course.lowest)}" for name, course in shown.items() if name != TODAY)
            + "."
        ),
    )


def _places(curve: np.ndarray[Any, np.dtype[np.float64]], limit: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where a stepped curve changes and where it ends; spread evenly, with its least point, where that is too much."""
    changes = np.flatnonzero(np.diff(curve, prepend=curve[0] - 1.0))
    if len(changes) >= limit:
        return thin(np.arange(len(curve), dtype=np.float64), -curve, limit=limit)
    return np.unique(np.append(changes, len(curve) - 1)).astype(np.int64)


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _records(item: FlappingEstimate) -> Iterator[dict[str, Any]]:
    for name, runs in item.courses.items():
        below = max(course.below_needed_s for course in runs)
        leave = sum(course.zone_exits > 0 for course in runs)
        settled = sum(course.is_settled for course in runs)
        yield {
            "fleet": item.name,
            "what is done": name,
            "least that serve": Number(format_count(min(course.lowest for course in runs))),
            "below what is needed for": "not at all" if below == 0 else format_duration(below / 60),
            "zones leave DNS": _of(leave, len(runs)),
            "most connections that fail": share(max(float(np.max(course.error_share)) for course in runs)),
            "changes of health": Number(format_count(max(int(np.sum(course.changes)) for course in runs))),
            "checks too late, at most": share(max(float(np.max(course.late_share)) for course in runs)),
            "settled at the end": _of(settled, len(runs)),
        }


def _of(count: int, runs: int) -> str:
    return {0: "in no run", runs: "in every run"}.get(count, f"in {count} of {runs} runs")
