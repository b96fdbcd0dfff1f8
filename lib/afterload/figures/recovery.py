"""The recovery chapter: backlog, age, attempts and capacity on one time axis, with the steps of admission as bands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from afterload.figures.charts import COLOURS, GREY, LINE_LEGEND, Clock, alt, chart_of, finish, thin
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import NEVER, paragraph, sentence_list, span
from afterload.model.coupled import GUIDE_STEPS, CoupledResult
from afterload.model.uncertainty import Spread
from afterload.recovery.build import Coupling
from afterload.recovery.result import CoupledEstimate, Variant
from afterload.units import format_count, format_minutes, format_rate, format_share

__all__ = [
    "coupled_sentences",
    "dependency_sentences",
    "losing_sentences",
    "movers_figure",
    "rate_from",
    "recovery_answer",
    "recovery_figure",
    "steps_figure",
    "variants_figure",
]

NOTHING = "This scenario has neither queues nor dependencies, so there is nothing to couple."
WITHOUT_END = "without end"
SHADES = ("#e8eef5", "#d3e0ee")


def _reached(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _drains(variant: Variant) -> list[float | None]:
    return [_reached(value) for value in variant.result.drain_min[0]]


def _worst(values: list[float | None]) -> float | None:
    """The longest of several times; None (never) if one of them is; None as well if there are none."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _band(spread: Spread) -> str:
    shown = [NEVER if value is None else format_minutes(value) for value in (spread.p10, spread.p50, spread.p90)]
    return f"P10 {shown[0]}, P50 {shown[1]}, P90 {shown[2]}"


def recovery_answer(estimate: CoupledEstimate | None) -> Prose:
    """The coupled recovery in words: as the scenario is, and how it could go."""
    if estimate is None:
        return paragraph(NOTHING)
    lines = []
    coupling = estimate.coupling
    for place, name in enumerate(coupling.queues):
        drain = _drains(estimate.today)[place]
        text = f"{name}: the backlog is {_after(drain, estimate.today.result)}."
        if name in estimate.drain:
            text += f" Over the uncertain inputs: {_band(estimate.drain[name])}."
            if 0 < estimate.drain[name].never < 1:
                text += f" {format_share(estimate.drain[name].never)} of the draws never get there."
        lines.append(text)
    for place, name in enumerate(coupling.dependencies):
        peak = float(estimate.today.result.peak_attempts_per_min[0, place])
        lines.append(
            f"{name}: at most {format_rate(peak)} of attempts{_collapse_words(estimate.today.result, place, coupling)}."
        )
    lines += losing_sentences(estimate)
    if not estimate.today.is_certain:
        lines.append(UNCERTAIN)
    lines += coupled_sentences(estimate)
    lines += [f"{doubt.word} ({doubt.text})." for doubt in coupling.doubts]
    return sentence_list(lines)


def _collapse_words(result: CoupledResult, place: int, coupling: Coupling) -> str:
    """How long a dependency is down, for a sentence: without end, the rate at which requests fail, since no count ends."""
    collapsed, end = float(result.time_collapsed_min[0, place]), span(float(result.end_min[0]))
    if np.isnan(result.healed_at_min[0, place]):
        if not bool(result.never[0]):
            return f", and it is still down {end} after the restore, where the simulation ends"
        return f", and it stays down without end{_failing_words(result, place, coupling)}"
    if collapsed <= 0:
        return "; it does not collapse"
    return f", and {span(collapsed)} collapsed{f' of the first {end}' if bool(result.never[0]) else ''}"


def _failing_words(result: CoupledResult, place: int, coupling: Coupling) -> str:
    each = float(result.unserved_per_min[0, place])
    return (
        f"; direct requests that fail: {rate_from(each, result.unserved_from_min[0, place], coupling)}"
        if each > 0
        else ""
    )


def rate_from(per_min: float, since: float, coupling: Coupling) -> str:
    """What goes on without an end, as a rate with the time from which it holds: "7,200/min from 12:05 on"."""
    scenario, since = coupling.loaded.scenario, float(since)
    if not since > 0:
        return f"{format_rate(per_min)} from the restore on"
    zone, restored = scenario.time_zone, scenario.incident.restored_at
    at = (restored + timedelta(minutes=since)).astimezone(zone)
    day = "" if at.date() == restored.astimezone(zone).date() else f"{at:%Y-%m-%d} "
    return f"{format_rate(per_min)} from {day}{at:%H:%M} on"


def losing_sentences(estimate: CoupledEstimate | None) -> list[str]:
    """Queues that lose work without an end, as the scenario starts."""
    if estimate is None:
        return []
    result, coupling = estimate.today.result, estimate.coupling
    return [
        f"Queue {name}: items lost without an end: {rate_from(float(each), since, coupling)}."
        for name, each, since in zip(coupling.queues, result.lost_per_min[0], result.lost_from_min[0], strict=True)
        if each > 0
    ]


def _collapsed(result: CoupledResult, place: int) -> str:
    """The same for a cell of a table."""
    text, end = format_minutes(float(result.time_collapsed_min[0, place])), format_minutes(float(result.end_min[0]))
    if np.isnan(result.healed_at_min[0, place]):
        return WITHOUT_END if bool(result.never[0]) else f"not over within {end}"
    return f"{text} of the first {end}" if bool(result.never[0]) and result.time_collapsed_min[0, place] > 0 else text


def _unserved(result: CoupledResult, place: int, coupling: Coupling) -> str:
    """Direct requests that fail or are held back: how many, or at which rate where that has no end."""
    each = float(result.unserved_per_min[0, place])
    if each > 0:
        return rate_from(each, result.unserved_from_min[0, place], coupling)
    count = format_count(float(result.failed_direct[0, place] + result.shed[0, place]))
    ended = bool(result.never[0]) or not np.isnan(result.healed_at_min[0, place])
    return count if ended else f"{count} in the first {format_minutes(float(result.end_min[0]))}"


# What a queue loses, by column of its table.
LOSSES = {"expired": "expired", "lost": "lost_to_retention", "dead-lettered": "dead_lettered"}


def _losses(result: CoupledResult, place: int, coupling: Coupling) -> dict[str, str]:
    """What a queue loses, by kind: counts; the rate of all of them where that has no end."""
    counts = {name: float(getattr(result, field)[0, place]) for name, field in LOSSES.items()}
    each, kinds = float(result.lost_per_min[0, place]), sum(count > 0 for count in counts.values())
    if not each > 0:
        open_end = not bool(result.never[0]) and np.isnan(result.drain_min[0, place])
        end = f" up to {format_minutes(float(result.end_min[0]))}" if open_end else ""
        return {name: f"{format_count(count)}{end if count else ''}" for name, count in counts.items()}
    rate = f"{rate_from(each, result.lost_from_min[0, place], coupling)}{' in all' if kinds > 1 else ''}"
    return {name: rate if count or not kinds else "0" for name, count in counts.items()}


def dependency_sentences(estimate: CoupledEstimate | None) -> list[str]:
    """Dependencies that are collapsed at some time after the restore, as the scenario starts, and whether they heal."""
    if estimate is None:
        return []
    result, found = estimate.today.result, []
    for place, name in enumerate(estimate.coupling.dependencies):
        collapsed = float(result.time_collapsed_min[0, place])
        stays = bool(np.isnan(result.healed_at_min[0, place]))
        if not stays and collapsed <= 0:
            continue
        if not stays:
            how = f"collapsed for {span(collapsed)} after the restore, then heals"
        elif bool(result.never[0]):
            how = f"collapsed without end at these rates{_failing_words(result, place, estimate.coupling)}"
        else:
            how = f"collapsed, and not healed within {span(float(result.end_min[0]))} of the restore, where the simulation ends"
        peak = format_rate(float(result.peak_attempts_per_min[0, place]))
        found.append(f"Dependency {name}: {how}; at most {peak} of attempts.")
    return found


def coupled_sentences(estimate: CoupledEstimate | None) -> list[str]:
    """What the first page says of the coupled recovery: how it could go worse, and what the seven steps make of it."""
    if estimate is None or not estimate.coupling.dependencies:
        return []
    return [
        f"{item.name[0].upper()}{item.name[1:]}: {_outcome(item, estimate.coupling)}.{'' if item.is_certain else f' {UNCERTAIN}'}"
        for item in estimate.others
    ]


UNCERTAIN = (
    "This verdict is not certain: a load is within 2 % of what its dependency bears, or a finer step moves the result by 1 % "
    "or more."
)


def _after(minutes: float | None, result: CoupledResult) -> str:
    if minutes is not None:
        return f"drained {span(minutes)} after the restore"
    if bool(result.never[0]):
        return "never drained at these rates"
    return f"not drained within {span(float(result.end_min[0]))} of the restore, where the simulation ends"


def _outcome(variant: Variant, coupling: Coupling) -> str:
    result = variant.result
    if not bool(result.never[0]) and np.isnan(result.drain_min[0]).any():
        return f"not over {span(float(result.end_min[0]))} after the restore, where the simulation ends"
    stuck = [
        name for place, name in enumerate(coupling.dependencies) if np.isnan(variant.result.healed_at_min[0, place])
    ]
    if stuck:
        return f"{', '.join(stuck)} stays down, because the load with its retries is above capacity"
    if not coupling.queues:
        return "dependencies heal"
    parts = [f"{name} is {_after(_drains(variant)[place], result)}" for place, name in enumerate(coupling.queues)]
    return ", ".join(parts)


def _layer(values: list[dict[str, Any]], x: Any, title: str) -> Any:
    colour = alt.Color("what", type="nominal", title=None, scale=alt.Scale(range=list(COLOURS)), legend=LINE_LEGEND)
    base = chart_of(values).encode(
        x=x,
        y=alt.Y("value", type="quantitative", title=title, axis=alt.Axis(format=",~f")),
        color=colour,
        tooltip=[
            alt.Tooltip("what", type="nominal"),
            alt.Tooltip("value", type="quantitative", title=title, format=",.0f"),
            alt.Tooltip("from_restore", type="quantitative", title="minutes after the restore", format=",.0f"),
        ],
    )
    return base.mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=20, opacity=0.01))


def _bands(variant: Variant, clock: Clock, outage: float) -> list[dict[str, Any]]:
    begun = variant.result.step_begun_min[0]
    end = float(variant.trace.times_min[-1])
    found = []
    for step in range(1, len(GUIDE_STEPS) + 1):
        if np.isnan(begun[step]):
            continue
        later = [float(begun[other]) for other in range(step + 1, len(begun)) if not np.isnan(begun[other])]
        start, stop = float(begun[step]), later[0] if later else end
        if stop > start:
            found.append(
                {
                    "from": clock.after(outage + start),
                    "to": clock.after(outage + stop),
                    "step": f"{step} {GUIDE_STEPS[step - 1]}",
                    "minutes": round(stop - start, 2),
                    "shade": SHADES[step % 2],
                }
            )
    return found


def _values(estimate: CoupledEstimate, variant: Variant, clock: Clock) -> tuple[list[list[dict[str, Any]]], float]:
    coupling, course = estimate.coupling, variant.trace
    outage = coupling.system.outage_min
    curves = 3 * len(coupling.queues) + 2 * len(coupling.dependencies) + len(coupling.fleets)
    kept = thin(
        course.times_min, *(course.live.T[:4] if course.live.size else ()), limit=max(8, min(200, 900 // curves))
    )
    # Attempts and launches are simulated from the restore on, and each row holds those of the step that ends with it.
    begun = np.flatnonzero(course.times_min > 0.0)[:1]
    kept = np.union1d(kept, begun)
    times = course.times_min[kept]

    def points(what: str, curve: Any, since: float = -np.inf) -> list[dict[str, Any]]:
        return [
            {
                "what": what,
                "at": clock.after(outage + float(t)),
                "from_restore": round(float(t), 2),
                "value": round(float(v), 3),
            }
            for t, v in zip(times, curve[kept], strict=True)
            if t >= since
        ]

    begin = float(course.times_min[begun[0]]) if begun.size else 0.0
    backlog = [
        point
        for place, name in enumerate(coupling.queues)
        for what, curve in ((f"{name}, live", course.live), (f"{name}, set aside", course.sidelined))
        if curve[:, place].any()
        for point in points(what, curve[:, place])
    ]
    ages = [
        point
        for place, name in enumerate(coupling.queues)
        for point in points(name, course.first_attempt_age_min[:, place])
    ]
    load: list[dict[str, Any]] = []
    for place, name in enumerate(coupling.dependencies):
        load += points(f"attempts on {name}", course.attempts_per_min[:, place], begin)
        capacity = np.full_like(course.times_min, coupling.system.dependencies[place].capacity_per_min)
        load += points(f"capacity of {name}", capacity)
    serving = [
        point
        for place, name in enumerate(coupling.fleets)
        for point in points(f"{name} in service", course.in_service[:, place], begin)
    ]
    return [backlog, ages, load, serving], float(course.times_min[-1] - course.times_min[0])


def recovery_figure(estimate: CoupledEstimate | None) -> Figure | Prose | Table:
    """The course of the recovery as the scenario is."""
    return (
        paragraph(NOTHING) if estimate is None else _course(estimate, estimate.today, "The recovery as the scenario is")
    )


def steps_figure(estimate: CoupledEstimate | None) -> Figure | Prose | Table:
    """The course of the recovery under the seven steps of admission."""
    if estimate is None:
        return paragraph(NOTHING)
    held = [item for item in (estimate.today, *estimate.others) if item.system.admission is not None]
    if not held:
        return paragraph("No dependency is given, so the steps of admission hold nothing back.")
    return _course(estimate, held[0], "The recovery by the seven steps of admission")


def _course(estimate: CoupledEstimate, variant: Variant, title: str) -> Figure:
    coupling = estimate.coupling
    clock, outage = Clock.of(coupling.loaded), coupling.system.outage_min
    panels, length = _values(estimate, variant, clock)
    x = clock.axis("at", length)
    bands = _bands(variant, clock, outage)
    charts = []
    for values, name in zip(
        panels, ("items waiting", "first-attempt age, min", "attempts a minute", "instances"), strict=True
    ):
        if not values:
            continue
        chart = _layer(values, x, name)
        if bands:
            chart = alt.layer(_shade(bands), chart).resolve_scale(color="independent")
        restored = chart_of([{"at": clock.after(outage)}]).mark_rule(strokeDash=[5, 4], color=GREY)
        restored = restored.encode(alt.X("at", type="temporal", scale=alt.Scale(type="utc")))
        charts.append((chart + restored).properties(width=800, height=150))
    stacked = alt.vconcat(*charts).resolve_scale(color="independent", x="shared")
    result = variant.result
    records = [
        {
            "queue": name,
            "waiting at the restore": float(result.backlog_at_restore[0, place]),
            "fresh work on time after": _text(result, result.fresh_age_back_min[0, place]),
            "empty after": _text(result, result.drain_min[0, place]),
            **_losses(result, place, coupling),
        }
        for place, name in enumerate(coupling.queues)
    ]
    begins = _begins(coupling)
    steps = [f"{band['step']} {format_minutes(band['minutes'])}" for band in bands]
    return Figure(
        title=title,
        chart=finish(stacked),
        table=Table.of(records, _FORMATS) if records else _dependency_table(variant, coupling),
        source=coupling.loaded.name,
        method=(
            "One simulation in steps of a minute: arrivals, live and set-aside backlog, expiry, consumer ramp and caps, "
            "state of each dependency, retries and their quotas, launches, and the seven steps, each left when its signal "
            "has held. A dependency collapses when attempts pass its capacity, and heals when the load with its retries fits."
        ),
        alt=(
            f"Curves of the recovery on one time axis, {variant.name}. "
            + " ".join(f"{record['queue']} is empty {record['empty after']}." for record in records)
            + (f" Bands of the steps: {'; '.join(steps)}." if steps else "")
            + f" {begins}"
        ).strip(),
        notes=tuple(text for text in (f"Steps: {'; '.join(steps)}." if steps else "", begins, _ends(variant)) if text),
    )


def _begins(coupling: Coupling) -> str:
    """What the curves leave out before the restore; no words where they leave out nothing."""
    what = [*(["attempts"] if coupling.dependencies else []), *(["instances in service"] if coupling.fleets else [])]
    if not what:
        return ""
    words = " and ".join(what)
    return (
        f"{words[0].upper()}{words[1:]} are simulated from the restore on, so their lines and the table begin there; what piles "
        "up in the outage is known from the rates."
    )


def _ends(variant: Variant) -> str:
    """Where curves stop that go on; no words where everything comes to an end."""
    result = variant.result
    if not np.isnan(np.concatenate((result.drain_min[0], result.healed_at_min[0]))).any():
        return ""
    end = span(float(result.end_min[0]))
    why = "from where on it only repeats itself" if bool(result.never[0]) else "where the simulation ends"
    return f"Curves and counts are up to {end} after the restore, {why}: this recovery has not ended there."


def _shade(bands: list[dict[str, Any]]) -> Any:
    return (
        chart_of(bands)
        .mark_rect(opacity=0.8)
        .encode(
            x=alt.X("from", type="temporal", scale=alt.Scale(type="utc")),
            x2=alt.X2("to"),
            color=alt.Color("shade", type="nominal", scale=None, legend=None),
            tooltip=[
                alt.Tooltip("step", type="nominal"),
                alt.Tooltip("minutes", type="quantitative", format=",.0f"),
            ],
        )
    )


def _cell(text: str) -> str:
    """A number that is text already; unlike ``str`` it is set to the right."""
    return text


_FORMATS: dict[str, Any] = {
    "queue": str,
    "waiting at the restore": format_count,
    "fresh work on time after": str,
    "empty after": str,
    "expired": _cell,
    "lost": _cell,
    "dead-lettered": _cell,
}


def _text(result: CoupledResult, value: float) -> str:
    """Minutes, or that they never come, or that the simulation ended before."""
    reached = _reached(float(value))
    if reached is not None:
        return format_minutes(reached)
    return NEVER if bool(result.never[0]) else f"not within {format_minutes(float(result.end_min[0]))}"


def _dependency_table(variant: Variant, coupling: Coupling) -> Table:
    records = [
        {
            "dependency": name,
            "time collapsed": _collapsed(variant.result, place),
            "most attempts": format_rate(float(variant.result.peak_attempts_per_min[0, place])),
            "healed": _text(variant.result, variant.result.healed_at_min[0, place]),
            "direct requests that fail": _unserved(variant.result, place, coupling),
        }
        for place, name in enumerate(coupling.dependencies)
    ]
    return Table.of(records, dict.fromkeys(records[0], str))


def variants_figure(estimate: CoupledEstimate | None) -> Figure | Prose | Table:
    """The same recovery in its other starting state, and under the seven steps."""
    if estimate is None:
        return paragraph(NOTHING)
    coupling = estimate.coupling
    variants = (estimate.today, *estimate.others)
    if not coupling.queues:
        return paragraph("No queue drains here; the words above say whether the dependencies heal.")
    values: list[dict[str, Any]] = []
    records = []
    for variant in variants:
        for place, name in enumerate(coupling.queues):
            drain = _drains(variant)[place]
            records.append(
                {
                    "case": variant.name,
                    "queue": name,
                    "fresh work on time after": _text(variant.result, variant.result.fresh_age_back_min[0, place]),
                    "empty after": _text(variant.result, variant.result.drain_min[0, place]),
                    "time collapsed": _longest_collapse(variant.result),
                    "most attempts": format_rate(float(variant.result.peak_attempts_per_min[0].max(initial=0.0))),
                }
            )
            if drain is not None:
                values.append({"case": variant.name, "queue": name, "drain": round(drain, 2)})
    if not values:
        return Table.of(records, dict.fromkeys(records[0], str), caption="None of these recoveries comes to an end")
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("drain", type="quantitative", title="empty after the restore, min", axis=alt.Axis(format=",~f")),
            y=alt.Y("case", type="nominal", title=None, sort=[v.name for v in variants], axis=alt.Axis(labelLimit=300)),
            yOffset=alt.YOffset("queue", type="nominal") if len(coupling.queues) > 1 else alt.Undefined,
            color=alt.Color("queue", type="nominal", title=None, scale=alt.Scale(range=list(COLOURS))),
            tooltip=[
                alt.Tooltip("case", type="nominal"),
                alt.Tooltip("queue", type="nominal"),
                alt.Tooltip("drain", type="quantitative", title="empty after, min", format=",.0f"),
            ],
        )
    )
    return Figure(
        title="The same recovery in other circumstances",
        chart=finish(bars, height=max(90, 42 * len(variants) * max(1, len(coupling.queues)))),
        table=Table.of(records, dict.fromkeys(records[0], str)),
        source=coupling.loaded.name,
        method=(
            "The same simulation with the other state at the restore, and with the seven steps. A case without a bar "
            "never ends."
        ),
        alt="Bars of the time to an empty backlog. "
        + " ".join(f"{record['queue']}, {record['case']}: {record['empty after']}." for record in records),
    )


def independence(coupling: Coupling) -> str:
    """That inputs are taken as independent, where there are several and none are tied; empty text elsewhere."""
    return "independent of each other, " if len(coupling.ranges) > 1 and not coupling.tied else ""


def _longest_collapse(result: CoupledResult) -> str:
    """Of all dependencies, the one that is down longest."""
    down = np.where(np.isnan(result.healed_at_min[0]), np.inf, result.time_collapsed_min[0])
    return _collapsed(result, int(down.argmax())) if down.size else format_minutes(0.0)


def movers_figure(estimate: CoupledEstimate | None) -> Figure | Prose | Table:
    """Which uncertain input moves the answer most."""
    if estimate is None:
        return paragraph(NOTHING)
    if not estimate.movers:
        return paragraph(
            "No value of the scenario has a range. Give low and high under uncertain to see P10, P50 and P90, and which "
            "input moves the answer most."
        )
    coupling = estimate.coupling
    records, values = [], []
    for mover in estimate.movers:
        label = coupling.labels[mover.key]
        records.append(
            {
                "input": label,
                "empty after, at its P10": NEVER if mover.at_low is None else format_minutes(mover.at_low),
                "empty after, at its P90": NEVER if mover.at_high is None else format_minutes(mover.at_high),
                "moves the answer by": "from an end to none" if mover.swing is None else format_minutes(mover.swing),
            }
        )
        if mover.at_low is not None and mover.at_high is not None:
            low, high = sorted((mover.at_low, mover.at_high))
            values.append({"input": label, "low": round(low, 2), "high": round(high, 2)})
    if not values:
        return Table.of(records, dict.fromkeys(records[0], str), caption="What each input decides")
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.6}, color=COLOURS[0])
        .encode(
            x=alt.X("low", type="quantitative", title="last backlog empty after, min", scale=alt.Scale(zero=False)),
            x2=alt.X2("high"),
            y=alt.Y(
                "input",
                type="nominal",
                sort=[str(v["input"]) for v in values],
                title=None,
                axis=alt.Axis(labelLimit=300),
            ),
            tooltip=[
                alt.Tooltip("input", type="nominal"),
                alt.Tooltip("low", type="quantitative", format=",.0f"),
                alt.Tooltip("high", type="quantitative", format=",.0f"),
            ],
        )
    )
    first = records[0]
    return Figure(
        title="Which input moves the answer most",
        chart=finish(bars, height=max(90, 36 * len(values))),
        table=Table.of(records, dict.fromkeys(records[0], str)),
        source=f"{coupling.loaded.name}, ranges under uncertain",
        method=(
            f"{estimate.draws:,} draws of all uncertain inputs, each from a PERT distribution of its low, likely and high value, "
            f"{independence(coupling)}with a fixed seed. The bars move one input from its own P10 to its own P90 and hold "
            "the others at their likely values."
        ),
        alt=f"Bars, widest first. {first['input']} moves the answer by {first['moves the answer by']}.",
    )
