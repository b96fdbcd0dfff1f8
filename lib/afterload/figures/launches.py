"""The launches chapter: how long missing capacity takes, and what could take more away."""

from __future__ import annotations

from typing import Any

import numpy as np

from afterload.estimates import Estimates, FleetEstimate
from afterload.figures.charts import LINE_LEGEND, alt, chart_of, coloured, drawn, finish, points_each, thin, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list, unbooted
from afterload.plan.change import counted
from afterload.units import format_count, format_duration, format_minutes, format_share

__all__ = ["automation_table", "launch_data", "launch_figure", "launches_answer"]

NO_FLEETS = "This scenario has no fleets, so no launches are computed."
BINDS = {
    "requests": "request bucket",
    "instances": "instance bucket",
    "both": "both buckets",
    "neither": "neither bucket",
}


def launches_answer(estimates: Estimates) -> Prose:
    """Each fleet in words."""
    if not estimates.fleets:
        return paragraph(NO_FLEETS)
    return sentence_list([_sentence(item) for item in estimates.fleets.values()])


def _sentence(item: FleetEstimate) -> str:
    fleet = item.fleet
    if item.missing == 0:
        return (
            f"{item.name}: {counted(fleet.running, 'instance')} {'runs' if fleet.running == 1 else 'run'} and "
            f"{format_count(fleet.needed)} {'is' if fleet.needed == 1 else 'are'} needed, so nothing has to be launched."
        )
    start = format_duration(item.launches.start_delay_s / 60)
    if item.launches.binding == "neither":
        waiting = "the launch limits hold nothing back"
    else:
        binds = BINDS[item.launches.binding]
        waiting = f"{format_duration(item.launches.wait_s / 60)} of it for the launch limits ({binds})"
    if item.fleet.launches_from_min > 0:
        waiting = f"launches succeed after {format_duration(item.fleet.launches_from_min)}; then {waiting}"
    boots = f", {start} to boot and to be reachable" if item.launches.start_delay_s > 0 else ", 0 s to boot"
    if without := unbooted(item):
        # The delay of the network alone would read as if the boot were in it.
        boots = (f", {start} to be reachable" if item.launches.start_delay_s > 0 else "") + without
    return (
        f"{item.name}: {counted(item.missing, 'missing instance')} {'is' if item.missing == 1 else 'are'} in service "
        f"{format_minutes(item.in_service_min)} after the restore: {waiting}{boots}."
    )


def _points(item: FleetEstimate, limit: int) -> list[dict[str, Any]]:
    launches, running = item.launches, item.fleet.running
    times = item.fleet.launches_from_min + (launches.times_s + launches.start_delay_s) / 60
    counts = running + launches.instances.astype(float)
    times = np.concatenate([[0.0], times, [max(times[-1] * 1.05, times[-1] + 1.0)]])
    counts = np.concatenate([[float(running)], counts, [counts[-1]]])
    # Of requests admitted at the same moment only the last count shows.
    last = np.append(np.diff(times) > 0, True)
    times, counts = times[last], counts[last]
    return [
        {"fleet": item.name, "minutes": round(float(times[place]), 4), "serving": int(counts[place])}
        for place in thin(times, counts, limit=limit)
    ]


def launch_figure(estimates: Estimates) -> Figure | Prose:
    """Instances in service over time after the restore."""
    lacking = [item for item in estimates.fleets.values() if item.missing > 0]
    if not estimates.fleets:
        return paragraph("This scenario has no fleets, so there are no launches to draw.")
    if not lacking:
        return paragraph("No fleet lacks instances, so there is nothing to draw.")
    shown, notes = drawn(lacking, lambda item: item.in_service_min)
    values = [point for item in shown for point in _points(item, points_each(len(shown)))]
    colour = coloured("fleet", legend=LINE_LEGEND)
    lines = (
        chart_of(values)
        .mark_line(interpolate="step-after", strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("minutes", type="quantitative", title="minutes after the restore"),
            y=alt.Y("serving", type="quantitative", title="instances in service", axis=alt.Axis(format=",~f")),
            color=colour,
            tooltip=[tip("fleet"), tip("minutes", ",.1f"), tip("serving", ",", "in service")],
        )
    )
    needed = (
        chart_of([{"fleet": item.name, "needed": item.fleet.needed} for item in shown])
        .mark_rule(strokeDash=[5, 4])
        .encode(
            y=alt.Y("needed", type="quantitative"),
            color=colour,
            tooltip=[tip("needed", ",")],
        )
    )
    return Figure(
        title="Instances in service after the restore",
        chart=finish(lines + needed),
        table=Table.of([_record(item) for item in lacking]),
        source=f"{estimates.loaded.name}; launch limits: published request throttling of RunInstances, if not overridden",
        method=(
            "Two token buckets in series: a request passes when the request bucket holds one token and the instance bucket "
            "as many as it asks for; both refill steadily, and launches succeed from launches_from on. Boot and network delay "
            "follow. The dashed line is what is needed. Denied requests are taken to be tried again as soon as they can pass."
        ),
        notes=notes,
        alt="Rising steps of instances in service. "
        + " ".join(
            f"{item.name} goes from {format_count(item.fleet.running)} to {format_count(item.fleet.needed)} within "
            f"{format_minutes(item.in_service_min)}."
            for item in lacking
        ),
    )


def _record(item: FleetEstimate) -> dict[str, Any]:
    launches, shape = item.launches, item.fleet.launch
    return {
        "fleet": item.name,
        "running": Number(format_count(item.fleet.running)),
        "needed": Number(format_count(item.fleet.needed)),
        "missing": Number(format_count(item.missing)),
        "launches succeed from": Number(format_duration(item.fleet.launches_from_min)),
        "a request": Number(format_count(shape.instances_per_request)),
        "wait in the buckets": Number(format_duration(launches.wait_s / 60)),
        "limited by": BINDS[launches.binding],
        "boot and network": Number(format_duration(launches.start_delay_s / 60)),
        "all in service after": Number(format_minutes(item.in_service_min)),
        "limits granted": Number(format_share(shape.throttle_factor * (1 - shape.other_callers_share))),
    }


def automation_table(estimates: Estimates) -> Table | Prose:
    """What can remove capacity from each fleet, how fast, and how long it takes to get it back."""
    if not estimates.fleets:
        return paragraph("This scenario has no fleets, so nothing can take capacity away.")
    records = []
    for item in estimates.fleets.values():
        automation = item.fleet.removal_automation
        records.append(
            {
                "fleet": item.name,
                "can remove capacity": "not given"
                if automation is None
                else ", ".join(f"{entry.name}{' (paused)' if entry.paused else ''}" for entry in automation)
                or "nothing",
                "running": Number(format_count(item.fleet.running)),
                "all removed within": Number(_removed_within(item)),
                "all needed launched within": Number(format_duration(item.relaunch.in_service_s / 60)),
            }
        )
    return Table.of(
        records,
        caption="Removal against replacement, by the published limits of TerminateInstances and RunInstances",
    )


def _removed_within(item: FleetEstimate) -> str:
    """How long the limits of the service hold a removal of all that runs; nothing runs or holds it where that is no time."""
    if item.fleet.running == 0:
        return "nothing to remove"
    return "at once, within the burst" if item.removal_s == 0 else format_duration(item.removal_s / 60)


def launch_data(estimates: Estimates) -> list[list[dict[str, Any]]]:
    """The data alone of the chart of launches: points, then what is needed; empty where nothing is lacking."""
    lacking = [item for item in estimates.fleets.values() if item.missing > 0]
    shown, _ = drawn(lacking, lambda item: item.in_service_min)
    values = [point for item in shown for point in _points(item, points_each(len(shown)))]
    return [values, [{"fleet": item.name, "needed": item.fleet.needed} for item in shown]] if shown else []
