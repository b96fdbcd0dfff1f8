"""What the plan is worth: each change alone, the waterfall from today to planned, and the recovery before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from afterload.errors import ModelError
from afterload.estimates import Estimates
from afterload.figures.charts import AFTER, BEFORE, GREY, LINE_LEGEND, Clock, alt, chart_of, drawn, finish, thin
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph
from afterload.model.coupled import Trace, trace
from afterload.plan import Plan, PlanItem
from afterload.plan.measures import NAMES, amount, before_and_after, part_name
from afterload.plan.wording import signed_minutes
from afterload.plan.worth import CASES, OF_PART, WHOLE, Appraisal, Difference, Worth, applies, edited
from afterload.recovery.build import Coupling, couple
from afterload.units import format_count, format_minutes

__all__ = ["before_after_figure", "waterfall_figure", "worth_figure", "worth_table"]

NOTHING = "No open change of the plan changes a number of the recovery, so there is no worth to draw."
METHOD = (
    "The coupled recovery is computed again with the change's edit of the scenario: alone; in its place, with all changes "
    "above it; and the whole plan without it. Draws of uncertain inputs are the same in all of them."
)
# A bar of "never" is drawn this much longer than the longest that ends.
NEVER_LENGTH = 1.15


def _label(item: PlanItem) -> str:
    return f"{item.change} on {item.target.removeprefix('queues.')}" if item.target else item.change


def _timed(plan: Plan) -> list[PlanItem]:
    return [item for item in plan.open if item.worths is not None]


def _by_queue(item: PlanItem, case: str = CASES[0]) -> dict[str, Worth]:
    """The worth of a line in every queue that it touches; in the whole where it touches none, or there is one."""
    return _worth(item, case).where("empty_min", item.target)


def _never(plan: Plan) -> float:
    """Where "never" is drawn: beyond every time that there is."""
    known = [
        value
        for item in _timed(plan)
        for case in CASES
        for worth in (_worth(item, case), *_by_queue(item, case).values())
        for part in (worth.alone, worth.cumulative)
        for value in (part["empty_min"].before, part["empty_min"].after)
        if value is not None
    ]
    return NEVER_LENGTH * max([*known, 1.0])


def _at(minutes: float | None, never: float) -> float:
    return round(never if minutes is None else minutes, 4)


def _shown(minutes: float | None) -> str:
    return "never" if minutes is None else format_minutes(minutes)


@dataclass(frozen=True)
class _Bars:
    """The drain of one queue today and with one change."""

    label: str
    drain: Difference

    @property
    def weight(self) -> float:
        """How far it moves."""
        return float("inf") if self.drain.ended or self.drain.endless else abs(self.drain.bought or 0.0)


def _bars(item: PlanItem) -> list[_Bars]:
    """A pair of bars for every queue whose drain a line moves; one for the queue that it is told of where it moves none."""
    queues = {part: worth.alone["empty_min"] for part, worth in _by_queue(item).items()}
    moved = {part: drain for part, drain in queues.items() if drain.before != drain.after}
    shown = moved or dict([_worth(item).told("empty_min", item.target)])
    of = {part: "" if part in (WHOLE, item.target) else f": {part_name(part)}" for part in shown}
    return [_Bars(f"{_label(item)}{of[part]}", drain) for part, drain in shown.items()]


def worth_figure(plan: Plan, estimates: Estimates) -> Figure | Prose | Table:
    """Minutes to an empty backlog today and with each change alone, of each queue that it touches; else the table alone."""
    timed = _timed(plan)
    if not timed:
        return paragraph(NOTHING)
    bars = [pair for item in timed for pair in _bars(item)]
    if not any(pair.drain.before != 0 or pair.drain.after != 0 for pair in bars):
        return worth_table(plan)
    shown, notes = drawn(bars, lambda pair: pair.weight)
    never = _never(plan)
    values: list[dict[str, Any]] = []
    for pair in shown:
        for when, minutes in (("today", pair.drain.before), ("with this change", pair.drain.after)):
            values.append({"change": pair.label, "when": when, "drain": _at(minutes, never), "says": _shown(minutes)})
    base = chart_of(values).encode(
        x=alt.X("drain", type="quantitative", title="drain after the restore, min", axis=alt.Axis(format=",~f")),
        y=alt.Y("change", type="nominal", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("when", type="nominal", sort=["today", "with this change"]),
        tooltip=[alt.Tooltip(name, type="nominal") for name in ("change", "when", "says")],
    )
    colour = alt.Color(
        "when", type="nominal", title=None, scale=alt.Scale(domain=["today", "with this change"], range=[BEFORE, AFTER])
    )
    text = base.mark_text(align="left", dx=3).encode(text=alt.Text("says", type="nominal"))
    return Figure(
        title="Drain today and with each change alone",
        chart=finish(base.mark_bar().encode(color=colour) + text, height=max(110, 60 * len(shown))),
        table=worth_table(plan),
        source=f"{estimates.loaded.name}, the coupled recovery as the scenario starts",
        method=f"{METHOD} A drain is that of the queue that the change is at, or of the one named behind it.",
        notes=notes,
        alt="Pairs of bars, the drain today and with one change. "
        + " ".join(
            f"{pair.label}: {_shown(pair.drain.before)} today, {_shown(pair.drain.after)} with it." for pair in shown
        ),
    )


def _worth(item: PlanItem, case: str = CASES[0]) -> Worth:
    if item.worths is None:
        raise ModelError(f"the line {item.id} has no worth: please report this")
    return item.worths[case]


def worth_table(plan: Plan) -> Table:
    """Every open change in every queue that it touches: minutes alone, in its place and left out, range, losses, peak, days."""
    rows = []
    for item in plan.open:
        days = f"{plan.effort_days(item):g}"
        if item.worths is None:
            rows.append((_label(item), "", "", "not computed", "", "", "", "", "", days))
            continue
        for case in CASES:
            peak = _change("peak_attempts_per_min", item.worths[case].alone)
            for part, worth in _by_queue(item, case).items():
                alone, place, out = (way["empty_min"] for way in worth.ways)
                rows.append(
                    (
                        _label(item),
                        case,
                        part_name(part) or "all",
                        _moved(alone),
                        _range(alone),
                        _moved(place),
                        _bought(out),
                        _change("lost", worth.alone),
                        peak,
                        days,
                    )
                )
    columns = (
        "change", "case", "queue", "drain, alone", "P10 to P90 bought", "drain, in its place", "lost without it",
        "items gone", "peak attempts", "person-days",
    )  # fmt: skip
    return Table(columns, tuple(rows), numeric=frozenset({"person-days"}), caption="Worth of every open change")


def _moved(item: Difference) -> str:
    return _shown(item.before) if item.before == item.after else f"{_shown(item.before)} to {_shown(item.after)}"


def _range(item: Difference) -> str:
    if item.p10 is None or item.p90 is None:
        return "not finite"
    return (
        signed_minutes(item.p10)
        if item.p10 == item.p90
        else f"{signed_minutes(item.p10)} to {signed_minutes(item.p90)}"
    )


def _bought(item: Difference) -> str:
    if item.ended:
        return "never ends without it"
    return "ends only without it" if item.endless else signed_minutes(item.bought or 0.0)


def _change(name: str, way: Mapping[str, Difference]) -> str:
    one, other = before_and_after(name, way)
    return one if one == other else f"{one} to {other}"


def waterfall_figure(plan: Plan, estimates: Estimates) -> Figure | Prose:
    """From today to planned, change by change, until the last queue is empty; in both starting states where they differ."""
    timed = _timed(plan)
    if not timed or plan.appraisal is None:
        return paragraph(NOTHING)
    moving = [item for item in timed if any(_steps(item, case) for case in CASES)]
    if not moving:
        return paragraph("No change of the plan moves the time to an empty backlog, in either starting state.")
    shown, notes = drawn(moving, lambda item: max(_height(item, case) for case in CASES))
    never = _never(plan)
    charts = []
    cases = CASES if _cases_differ(plan.appraisal) else CASES[:1]
    for case in cases:
        today, planned = (
            measured[case].likely("empty_min") for measured in (plan.appraisal.today, plan.appraisal.planned)
        )
        values = [_bar("today", 0.0, today, never, "today")]
        values += [_step_bar(item, case, never) for item in shown]
        values.append(_bar("planned", 0.0, planned, never, "planned"))
        charts.append(_waterfall(values, case).properties(width=800, height=max(90, 26 * len(values))))
    chart = alt.vconcat(*charts).resolve_scale(color="shared")
    return Figure(
        title="From today to planned, change by change",
        chart=finish(chart),
        table=_waterfall_table(timed, cases),
        source=f"{estimates.loaded.name}, the coupled recovery",
        method=f"{METHOD} The steps of the likely values add up from today to planned; a bar that ends at the edge is never.",
        notes=notes,
        alt="Bars that lead from the drain of today to that of the whole plan. "
        + " ".join(
            f"{case}: {_shown(plan.appraisal.today[case].likely('empty_min'))} today, "
            f"{_shown(plan.appraisal.planned[case].likely('empty_min'))} planned."
            for case in cases
        ),
    )


def _waterfall_table(items: Sequence[PlanItem], cases: Sequence[str]) -> Table:
    rows = []
    for item in items:
        for case in cases:
            parts = {WHOLE: _worth(item, case)} | _by_queue(item, case)
            for part, worth in parts.items():
                drain = worth.cumulative["empty_min"]
                bought = _moved(drain) if drain.ended or drain.endless else signed_minutes(drain.bought or 0.0)
                who = part_name(part) or "all"
                rows.append((_label(item), case, who, _shown(drain.before), _shown(drain.after), bought, _range(drain)))
    columns = ("change", "case", "queue", "drain before it", "drain with it", "bought", "P10 to P90 bought")
    return Table(columns, tuple(rows), caption="Each change in its place, with all above it")


def _steps(item: PlanItem, case: str) -> bool:
    drain = _worth(item, case).cumulative["empty_min"]
    return drain.before != drain.after


def _height(item: PlanItem, case: str) -> float:
    drain = _worth(item, case).cumulative["empty_min"]
    return float("inf") if drain.ended or drain.endless else abs(drain.bought or 0.0)


def _cases_differ(appraisal: Appraisal) -> bool:
    one, other = (appraisal.today[case].likely("empty_min") for case in CASES)
    three, four = (appraisal.planned[case].likely("empty_min") for case in CASES)
    return (one, three) != (other, four)


def _bar(name: str, start: float, end: float | None, never: float, kind: str) -> dict[str, Any]:
    return {"change": name, "from": start, "to": _at(end, never), "kind": kind, "says": _shown(end)}


def _step_bar(item: PlanItem, case: str, never: float) -> dict[str, Any]:
    drain = _worth(item, case).cumulative["empty_min"]
    before, after = _at(drain.before, never), _at(drain.after, never)
    return {
        "change": _label(item), "from": before, "to": after,
        "kind": "shorter" if after < before else "longer" if after > before else "no change",
        "says": _moved(drain),
    }  # fmt: skip


def _waterfall(values: Sequence[dict[str, Any]], case: str) -> Any:
    kinds = ["today", "shorter", "longer", "no change", "planned"]
    base = chart_of(list(values), title=f"{case}: drain after the restore, min").encode(
        y=alt.Y("change", type="nominal", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[alt.Tooltip(name, type="nominal") for name in ("change", "kind", "says")],
    )
    bars = base.mark_bar(height=16).encode(
        x=alt.X("from", type="quantitative", title=None, axis=alt.Axis(format=",~f")),
        x2=alt.X2("to"),
        color=alt.Color(
            "kind", type="nominal", title=None,
            scale=alt.Scale(domain=kinds, range=[BEFORE, "#009E73", "#CC79A7", GREY, AFTER]),
        ),
    )  # fmt: skip
    text = base.mark_text(align="left", dx=4).encode(
        x=alt.X("end", type="quantitative"), text=alt.Text("says", type="nominal")
    )
    return bars + text.transform_calculate(end="max(datum.from, datum.to)")


def before_after_figure(plan: Plan, estimates: Estimates) -> Figure | Prose:
    """Items waiting and first-attempt age today and with the whole plan, on one axis."""
    edits = [item.edit for item in plan.open if item.edit]
    today = estimates.coupling
    planned = couple(edited(estimates.loaded, edits)) if edits else None
    if today is None or planned is None or not today.queues:
        return paragraph(NOTHING)
    clock = Clock.of(estimates.loaded)
    courses = {"today": trace(today.system), "with the plan": trace(planned.system)}
    if _is_endless(courses["today"]):
        # What never ends is drawn as long as what does, and a day at least.
        length = max(1440.0, 2 * float(courses["with the plan"].times_min[-1]))
        courses["today"] = trace(today.system, horizon_min=length)
    x = clock.axis("at", max(float(item.times_min[-1] - item.times_min[0]) for item in courses.values()))
    panels = []
    for title, curve in (("items waiting", _waiting), ("oldest first-attempt age, min", _age)):
        values = [
            point for name, course in courses.items() for point in _points(name, course, curve(course), clock, today)
        ]
        panels.append(_lines(values, x, title, clock, today).properties(width=800, height=150))
    return Figure(
        title="The recovery before and after the plan",
        chart=finish(alt.vconcat(*panels).resolve_scale(x="shared", color="shared")),
        table=_before_after_table(plan, estimates),
        source=f"{estimates.loaded.name}, the coupled recovery as the scenario starts",
        method="The same simulation with the scenario as it is, and with the edits of all open changes. All queues together.",
        alt="Two curves each of items waiting and of the oldest first-attempt age, today and with the plan. "
        + " ".join(
            f"{name}: a peak of {format_count(float(_waiting(course).max()))} waiting."
            for name, course in courses.items()
        ),
    )


def _is_endless(course: Trace) -> bool:
    return bool(np.isnan(course.result.drain_min).any())


def _waiting(course: Trace) -> Any:
    return (course.live + course.sidelined).sum(axis=1)


def _age(course: Trace) -> Any:
    return course.first_attempt_age_min.max(axis=1)


def _points(name: str, course: Trace, curve: Any, clock: Clock, coupling: Coupling) -> list[dict[str, Any]]:
    outage = coupling.system.outage_min
    return [
        {
            "when": name,
            "at": clock.after(outage + float(course.times_min[place])),
            "from_restore": round(float(course.times_min[place]), 2),
            "value": round(float(curve[place]), 3),
        }
        for place in thin(course.times_min, curve, limit=200)
    ]


def _lines(values: list[dict[str, Any]], x: Any, title: str, clock: Clock, coupling: Coupling) -> Any:
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=x,
            y=alt.Y("value", type="quantitative", title=title, axis=alt.Axis(format=",~f")),
            color=alt.Color(
                "when", type="nominal", title=None, legend=LINE_LEGEND,
                scale=alt.Scale(domain=["today", "with the plan"], range=[BEFORE, AFTER]),
            ),
            tooltip=[
                alt.Tooltip("when", type="nominal"),
                alt.Tooltip("value", type="quantitative", title=title, format=",.0f"),
                alt.Tooltip("from_restore", type="quantitative", title="minutes after the restore", format=",.0f"),
            ],
        )
    )  # fmt: skip
    restored = chart_of([{"at": clock.after(coupling.system.outage_min)}]).mark_rule(strokeDash=[5, 4], color=GREY)
    return lines + restored.encode(alt.X("at", type="temporal", scale=alt.Scale(type="utc")))


def _before_after_table(plan: Plan, estimates: Estimates) -> Table:
    rows = []
    if plan.appraisal is not None:
        for case in CASES:
            today, planned = plan.appraisal.today[case], plan.appraisal.planned[case]
            for name, (words, _) in NAMES.items():
                if not applies(name, estimates.loaded.scenario):
                    continue
                parts = today.parts(name)
                for part in [*parts, WHOLE] if len(parts) > 1 else [WHOLE]:
                    of = part_name(part) or (f"all {OF_PART[name]}" if len(parts) > 1 else "")
                    cells = (amount(name, measured.of(part)) for measured in (today, planned))
                    rows.append((f"{words.removesuffix(' after')}{of and f' ({of})'}", case, *cells))
    return Table(("measure", "case", "today", "with the plan"), tuple(rows), caption="Before and after the whole plan")
