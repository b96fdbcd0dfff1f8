"""Removals against launches in the launches chapter: a fleet while launches fail, today and with each remedy; the traps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from afterload.figures.charts import LONG_LEGEND, alt, chart_of, coloured, finish, points_each, rules, thin, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import NEVER, paragraph, sentence_list
from afterload.impairments import TODAY, RemovalEstimate
from afterload.model.capacity_course import CapacityCourse
from afterload.plan.change import counted
from afterload.units import format_count, format_duration, format_number, format_rate

__all__ = ["removal_figure", "removal_traps"]

NO_CASES = (
    "No fleet loses instances while launches fail: give launches_from, and removal_rate or removal.checks_failing, to compare "
    "what could be suspended or limited."
)
CAREFUL = "ReplaceUnhealthy and AZRebalance suspended, health reset"
# Remedies whose lines are drawn, if they differ from today and from each other; the table has all.
DRAWN = (
    "ReplaceUnhealthy suspended",
    CAREFUL,
    "HealthCheck suspended",
    "velocity limit",
    "standby",
    "provisioned before",
)
DAY_MIN = 1_440.0


def removal_figure(found: Sequence[RemovalEstimate], reasons: Sequence[str], source: str) -> Figure | Prose:
    """Instances in service while launches fail and after, today and with each remedy, for the fleet that lacks most."""
    if not found:
        return sentence_list([NO_CASES, *reasons]) if reasons else paragraph(NO_CASES)
    item = max(found, key=lambda each: (len(each.courses) > 1, each.fleet.needed - each.today.lowest))
    lines = _drawn(item)
    ends_min = _shown_until_min(item)
    values = [
        {"remedy": label, "minutes": minutes, "serving": serving}
        for label, course in lines.items()
        for minutes, serving in _points(course, ends_min, points_each(len(lines)))
    ]
    colour = coloured("remedy", list(lines), legend=LONG_LEGEND)
    curves = (
        chart_of(values)
        .mark_line(interpolate="step-after", strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("minutes", type="quantitative", title="minutes after the restore", axis=alt.Axis(format=",~f")),
            y=alt.Y("serving", type="quantitative", title="instances' worth of work", axis=alt.Axis(format=",~f")),
            color=colour,
            tooltip=[tip("remedy"), tip("minutes", ",.1f"), tip("serving", ",.1f", "instances' worth of work")],
        )
    )
    needed = (
        chart_of([{"needed": item.fleet.needed}])
        .mark_rule(strokeDash=[5, 4], color="black")
        .encode(y=alt.Y("needed", type="quantitative"), tooltip=[tip("needed", ",")])
    )
    others = [each.name for each in found if len(each.courses) == 1]
    assumed = [each.name for each in found if each.fleet.removal_automation is None]
    notes = []
    if assumed:
        notes.append(
            f"Without removal_automation, so every process of Auto Scaling is taken to run: {', '.join(assumed)}."
        )
    if others:
        notes.append(f"Without remedies, to keep the simulation short: {', '.join(others)}.")
    notes += [f"Left out, {reason}" for reason in reasons]
    return Figure(
        title=f"Instances of {item.name} while launches fail",
        chart=finish(curves + needed + rules([(item.impaired_min, "launches succeed")], "minutes")),
        table=Table.of([record for each in found for record in _records(each)]),
        source=f"{source}; limits of RunInstances and TerminateInstances: published request throttling, if not overridden",
        method=(
            "From the restore on, launches fail until launches_from. HealthCheck marks instances at removal_rate; "
            "ReplaceUnhealthy terminates what is marked, then launches; AZRebalance launches, then terminates; InstanceRefresh "
            "terminates, then launches; alarms and schedules change the desired capacity; Terminate carries removals out. "
            "Launches and terminations pass their token buckets. Each row changes one thing; what is suspended is resumed "
            "when launches succeed. Standby keeps a marked instance, out of service, until then. A step takes a second, or "
            "half a percent of the time since something last happened. The dashed line is what is needed."
        ),
        notes=tuple(notes),
        alt=(
            f"Lines of what the instances of {item.name} can serve. As it is they fall to "
            f"{format_number(item.today.lowest)} where {format_count(item.fleet.needed)} are needed; "
            + "; ".join(
                f"{label}: {format_number(course.lowest)}" for label, course in lines.items() if label != "as it is"
            )
            + ("." if len(lines) > 1 else "no remedy is drawn.")
        ),
    )


def _labels(item: RemovalEstimate) -> dict[str, str]:
    """What each remedy is, with its size."""
    sized = {
        "velocity limit": f"at most {format_rate(item.velocity_per_min)} removed",
        "standby": "standby instead of termination",
        "provisioned before": f"{format_count(item.provisioned)} more provisioned before",
    }
    return {name: sized.get(name, name) for name in item.courses}


def _drawn(item: RemovalEstimate) -> dict[str, CapacityCourse]:
    labels, lines = _labels(item), {TODAY: item.today}
    for name in DRAWN:
        course = item.courses.get(name)
        if course is not None and not any(_is_same(course, other) for other in lines.values()):
            lines[labels[name]] = course
    return lines


def _is_same(one: CapacityCourse, other: CapacityCourse) -> bool:
    return len(one.times_s) == len(other.times_s) and bool(np.array_equal(one.capacity, other.capacity))


def _shown_until_min(item: RemovalEstimate) -> float:
    """A fifth more than until the last remedy is back, or than the impairment; a slow tail is cut off."""
    back = [course.back_s for course in item.courses.values() if course.back_s is not None]
    last = item.impaired_min + max([0.0, *back]) / 60
    return min(1.2 * last + 1.0, 4.0 * item.impaired_min + 60.0)


def _points(course: CapacityCourse, until_min: float, limit: int) -> Iterator[tuple[float, float]]:
    times, capacity = course.times_s / 60, course.capacity
    shown = times <= until_min
    times, capacity = times[shown], capacity[shown]
    changes = np.flatnonzero(np.diff(capacity, prepend=capacity[0] - 1.0))
    places = changes if len(changes) < limit - 1 else thin(times, -capacity, limit=limit - 1)
    for place in places:
        yield round(float(times[place]), 4), round(float(capacity[place]), 4)
    yield round(until_min, 4), round(float(capacity[-1]), 4)


def _records(item: RemovalEstimate) -> Iterator[dict[str, Any]]:
    labels = _labels(item)
    for name, course in item.courses.items():
        below = course.below_needed_s
        yield {
            "fleet": item.name,
            "what is done": labels[name],
            "least": Number(format_number(course.lowest)),
            "below what is needed for": "without end"
            if below is None
            else "not at all"
            if below == 0
            else _span(below),
            "at what is needed for good": "always" if below == 0 else _after(item, course.back_s),
            "all in service": _after(item, course.full_s),
            "removed": Number(format_count(course.removed)),
            "of these after the resume": Number(format_count(course.removed_after_resume)),
        }


def _span(seconds: float) -> str:
    return format_duration(seconds / 60)


def _after(item: RemovalEstimate, seconds: float | None) -> str:
    return NEVER if seconds is None else f"after {format_duration(item.impaired_min + seconds / 60)}"


def removal_traps(found: Sequence[RemovalEstimate]) -> Prose:
    """What goes wrong when processes are suspended and resumed, with the figures of each fleet."""
    lines = [line for item in found for line in _traps(item)]
    if not lines:
        return paragraph("With nothing to suspend there are no traps of suspending it to show.")
    return sentence_list(lines)


def _traps(item: RemovalEstimate) -> Iterator[str]:
    fleet, name, courses = item.fleet, item.name, item.courses
    today = item.today
    yield (
        f"{name}: launches fail for {format_duration(item.impaired_min)} after the restore. As it is {_least(item, today)} "
        f"while {format_count(fleet.needed)} {'is' if fleet.needed == 1 else 'are'} needed, and {_back(item, today)}."
    )
    launch, resumed, careful = (courses.get(key) for key in ("Launch suspended", "ReplaceUnhealthy suspended", CAREFUL))
    gone = 0 if launch is None else launch.removed - launch.removed_after_resume
    if launch is not None and gone > 0:
        yield (
            f"{name}: Launch suspended alone leaves terminations running: {counted(gone, 'instance')} still "
            f"{'goes' if gone == 1 else 'go'} before it is resumed, and {_least(item, launch)}."
        )
    marked = 0.0 if resumed is None else float(np.max(resumed.marked))
    if resumed is not None and careful is not None and marked > 0 and resumed.removed_after_resume > 0:
        yield (
            f"{name}: ReplaceUnhealthy suspended and then resumed replaces all that was marked unhealthy meanwhile at once, "
            f"terminating first: {counted(marked, 'instance')}, and {_least(item, resumed)}. With their health reset first, "
            f"and AZRebalance suspended too, {_least(item, careful)}."
        )
    yield (
        f"{name}: what is launched while AddToLoadBalancer is suspended is not registered when it is resumed: register "
        "those instances by hand. With Terminate suspended, AZRebalance may go a tenth over the maximum."
    )
    grace, network_s = (fleet.removal.health_check_grace_s if fleet.removal else None), fleet.launch.network_delay_s
    if grace is not None and grace < network_s:
        yield (
            f"{name}: the checks of a new instance count after {_span(grace)}, but its network state takes {_span(network_s)}: "
            "new instances are marked unhealthy before they can be reached and are replaced in a circle, until the grace is "
            "longer or HealthCheck is suspended. The figures above do not hold this."
        )
    if item.impaired_min > DAY_MIN:
        yield (
            f"{name}: after more than 24 h without a successful launch the provider may suspend the group's processes by "
            "itself: look at them before you count on a resume."
        )


def _least(item: RemovalEstimate, course: CapacityCourse) -> str:
    if course.lowest == 0:
        return "nothing is left in service"
    if course.lowest >= item.fleet.running:
        return "none is lost"
    worth = format_number(course.lowest)
    return f"what serves falls to the worth of {worth} {'instance' if worth == '1' else 'instances'}"


def _back(item: RemovalEstimate, course: CapacityCourse) -> str:
    if course.below_needed_s == 0:
        return "that is never too few"
    if course.back_s is None:
        return f"what is needed is there {NEVER}"
    return (
        f"what is needed is there for good {format_duration(item.impaired_min + course.back_s / 60)} after the restore"
    )
