"""The backlog chapter: what piles up, how long it drains, how old fresh work is meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from afterload.estimates import Estimates, QueueEstimate
from afterload.figures.charts import (
    COLOURS,
    GREY,
    LINE_LEGEND,
    MOST_LINES,
    Clock,
    alt,
    chart_of,
    drawn,
    finish,
    points_each,
    rules,
    thin,
)
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import NEVER, minutes_or_never, paragraph, sentence_list, span
from afterload.model.coupled import Input, simulate
from afterload.plan.change import counted
from afterload.recovery.rates import CapEstimate
from afterload.units import format_count, format_duration, format_minutes, format_rate

__all__ = [
    "age_figure",
    "backlog_answer",
    "backlog_figure",
    "catch_up_figure",
    "curve_data",
    "dependency_figure",
    "shown_queues",
]

MOST_DRAINS = 400
NO_QUEUES = "This scenario has no queues, so nothing piles up behind the dependency."
FIRST_ATTEMPT = (
    "First-attempt age is the age of work when it is tried for the first time. In order of arrival it is back at "
    "baseline only when the backlog is gone; with fresh work first it is back earlier, while old work still drains."
)


def _sources(estimates: Estimates) -> str:
    given = {item.queue.source for item in estimates.queues.values() if item.queue.source}
    words = "; ".join(sorted(given))
    return f"{estimates.loaded.name}{f' ({words})' if words else ''}"


def backlog_answer(estimates: Estimates) -> Prose:
    """Each queue in words: what waits at the restore, when it is gone, what is lost."""
    if not estimates.queues:
        return paragraph(NO_QUEUES)
    objective = estimates.loaded.scenario.recovery_objective_min
    return sentence_list([_sentence(item, objective) for item in estimates.queues.values()])


def _weight(item: QueueEstimate) -> float:
    return float("inf") if item.stale_min is None else item.stale_min


def _drawn(estimates: Estimates) -> tuple[list[QueueEstimate], tuple[str, ...]]:
    return drawn(estimates.queues.values(), _weight)


def shown_queues(estimates: Estimates) -> frozenset[str]:
    """Queues that the chart of the backlog draws."""
    return frozenset(item.name for item in _drawn(estimates)[0])


def _sentence(item: QueueEstimate, objective: float) -> str:
    back = item.recovery
    wait = "waits" if round(back.backlog_at_restore) == 1 else "wait"
    parts = [f"{item.name}: {counted(back.backlog_at_restore, 'item')} {wait} at the restore"]
    if item.drain_min is None:
        parts.append(
            f"and the backlog never drains at these rates; {format_rate(item.catch_up_rate_per_min)} would drain it within the "
            f"objective of {format_minutes(objective)}"
        )
    elif item.drain_min == 0:
        parts.append(
            "so there is nothing to drain" if back.backlog_at_restore == 0 else "and all are dropped or discarded"
        )
    else:
        parts.append(f"and {'takes' if wait == 'waits' else 'take'} {span(item.drain_min)} to drain")
    if item.stale_min is not None and item.stale_min > 0:
        parts.append(f"so that processing is stale for {span(item.stale_min)}")
    link = ", " if parts[1].startswith("so ") else " "
    sentences = [f"{parts[0]}{link}{parts[1]}{', ' + parts[2] if len(parts) > 2 else ''}."]
    if item.queue.order != "fifo" and back.fresh_age_back_min is not None:
        sentences.append(f"Fresh work is on time again {span(back.fresh_age_back_min)} after the restore.")
    if item.recovery.expired > 0:
        where = f"recorded in {item.queue.on_failure_destination}" if item.queue.on_failure_destination else "lost"
        sentences.append(f"Expired by the age limit and {where}: {counted(item.recovery.expired, 'item')}.")
    if item.recovery.lost_to_retention > 0:
        sentences.append(f"Retention removes {counted(item.recovery.lost_to_retention, 'item')} for good.")
    if item.recovery.discarded_past_deadline > 0:
        count = counted(item.recovery.discarded_past_deadline, "item")
        sentences.append(f"Consumers discard {count} past the deadline.")
    if item.recovery.superseded > 0:
        sentences.append(f"Superseded and dropped at the restore: {counted(item.recovery.superseded, 'item')}.")
    if item.rejected > 0:
        sentences.append(f"Refused during the outage: {counted(item.rejected, 'item')}.")
    return " ".join(sentences)


def _curves(estimates: Estimates, field: str) -> tuple[list[dict[str, Any]], float]:
    """Points of one curve of every queue, and the minutes that the chart spans."""
    clock = Clock.of(estimates.loaded)
    outage = estimates.loaded.scenario.incident.outage_min
    values: list[dict[str, Any]] = []
    longest = 0.0
    shown, _ = _drawn(estimates)
    for item in shown:
        recovery = item.recovery
        times, curve = recovery.times_min, getattr(recovery, field)
        shift = outage if item.queue.during_outage == "reject" else 0.0
        for place in thin(times, curve, limit=points_each(len(shown))):
            minutes = float(times[place]) + shift
            longest = max(longest, minutes)
            values.append(
                {
                    "queue": item.name,
                    "at": clock.after(minutes),
                    "minutes": round(minutes, 3),
                    "from_restore": round(minutes - outage, 3),
                    "value": round(float(curve[place]), 3),
                }
            )
    return values, longest


def _lines(estimates: Estimates, field: str, title: str) -> Any:
    clock = Clock.of(estimates.loaded)
    incident = estimates.loaded.scenario.incident
    values, longest = _curves(estimates, field)
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=clock.axis("at", longest),
            y=alt.Y("value", type="quantitative", title=title, axis=alt.Axis(format=",~f")),
            color=alt.Color(
                "queue", type="nominal", title=None, scale=alt.Scale(range=list(COLOURS)), legend=LINE_LEGEND
            ),
            tooltip=[
                alt.Tooltip("queue", type="nominal"),
                alt.Tooltip("value", type="quantitative", title=title, format=",.0f"),
                alt.Tooltip("minutes", type="quantitative", title="minutes after the trigger", format=",.0f"),
                alt.Tooltip("from_restore", type="quantitative", title="minutes after the restore", format=",.0f"),
            ],
        )
    )
    marks = [(clock.at(incident.trigger), "trigger"), (clock.at(incident.restored_at), "restored")]
    # The trigger above: apart whatever the outage is, so that the chart keeps its form while that moves.
    return lines + rules(marks, "at", temporal=True, rows=(1, 0))


def backlog_figure(estimates: Estimates) -> Figure | Prose:
    """Items waiting over time."""
    if not estimates.queues:
        return paragraph(NO_QUEUES)
    records = [
        {
            "queue": item.name,
            "arrival rate": item.load.arrivals.mean_tail_per_min,
            "service rate": item.service_rate_now_per_min,
            "waiting at the restore": item.recovery.backlog_at_restore,
            "highest": _highest(item),
            "drain": minutes_or_never(item.drain_min),
            "stale": minutes_or_never(item.stale_min),
            "expired, recorded": item.expired_recorded,
            "lost": item.lost,
        }
        for item in estimates.queues.values()
    ]
    return Figure(
        title="Backlog over time",
        chart=finish(_lines(estimates, "backlog", "items waiting")),
        table=Table.of(
            records,
            {
                "queue": str,
                "arrival rate": format_rate,
                "service rate": format_rate,
                "waiting at the restore": format_count,
                "highest": _text,
                "drain": _text,
                "stale": _text,
                "expired, recorded": format_count,
                "lost": format_count,
            },
            caption="Arrival rates that change over time are shown as the mean of a day or week",
        ),
        source=_sources(estimates),
        method=(
            "The coupled recovery, as the scenario starts: the backlog grows by arrivals less what is served in the outage, and "
            "drains by what consumers, partitions, fleets and dependencies allow together. Where nothing else binds, the drain "
            "is backlog / (service rate - arrival rate). Stale = from the trigger to first-attempt age at baseline."
        ),
        alt="Lines of items waiting. " + " ".join(_curve_words(item) for item in estimates.queues.values()),
        notes=_drawn(estimates)[1],
    )


def _highest(item: QueueEstimate) -> str:
    if item.recovery.peak_backlog is not None:
        return format_count(item.recovery.peak_backlog)
    acting = [limit for limit in (item.load.max_age_min, item.load.retention_min) if limit is not None]
    return f"grows until work is {format_duration(min(acting))} old" if acting else "grows without end"


def _text(value: Any) -> str:
    return str(value)


def _curve_words(item: QueueEstimate) -> str:
    end = "never falls to zero at these rates" if item.drain_min is None else f"is zero {span(item.drain_min)} after it"
    return f"{item.name} holds {format_count(item.recovery.backlog_at_restore)} at the restore and {end}."


def age_figure(estimates: Estimates) -> Figure | Prose:
    """Age of work at its first attempt, over time."""
    if not estimates.queues:
        return paragraph("This scenario has no queues, so there is no first-attempt age to draw.")
    records = [
        {
            "queue": item.name,
            "order": item.queue.order.replace("_", " "),
            "oldest": item.recovery.max_age_min,
            "fresh work on time after": minutes_or_never(item.fresh_age_back_min),
            "age limit": "none" if item.load.max_age_min is None else format_duration(item.load.max_age_min),
            "retention": "none given" if item.load.retention_min is None else format_duration(item.load.retention_min),
        }
        for item in estimates.queues.values()
    ]
    return Figure(
        title="Age of work at its first attempt",
        chart=finish(_lines(estimates, "first_attempt_age_min", "first-attempt age, min")),
        table=Table.of(
            records,
            {
                "queue": str,
                "order": str,
                "oldest": format_minutes,
                "fresh work on time after": _text,
                "age limit": _text,
                "retention": _text,
            },
            caption="Minutes after the restore",
        ),
        source=_sources(estimates),
        method=f"From the cumulative curves: the head of the queue arrived when arrivals passed departures. {FIRST_ATTEMPT}",
        notes=_drawn(estimates)[1],
        alt="Lines of first-attempt age. "
        + " ".join(
            f"{item.name}: the oldest reaches {format_minutes(item.recovery.max_age_min)}; fresh work is on time "
            f"{_back(item.fresh_age_back_min)}."
            for item in estimates.queues.values()
        ),
    )


def _back(minutes: float | None) -> str:
    return NEVER if minutes is None else f"again {span(minutes)} after the restore"


def catch_up_figure(estimates: Estimates) -> Figure | Prose:
    """Drain time against service rate: what more capacity buys."""
    if not estimates.queues:
        return paragraph("This scenario has no queues, so no service rate has to catch up.")
    objective = estimates.loaded.scenario.recovery_objective_min
    values: list[dict[str, Any]] = []
    shown, notes = _drawn(estimates)
    for item in shown:
        # Each point is a whole recovery: many queues get fewer, so that a chapter stays quick.
        values += _drains(estimates, item, max(10, min(40, MOST_DRAINS // len(shown))))
    if not values:
        if any(item.recovery.backlog_at_restore >= 1 for item in shown):
            return paragraph("The backlog never drains at any service rate: what these queues call is down for good.")
        return paragraph("No queue holds a backlog at the restore, so there is nothing to catch up with.")
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("headroom", type="quantitative", title="service rate as a multiple of the arrival rate"),
            y=alt.Y("drain", type="quantitative", title="drain, min", axis=alt.Axis(format=",~f")),
            color=alt.Color(
                "queue", type="nominal", title=None, scale=alt.Scale(range=list(COLOURS)), legend=LINE_LEGEND
            ),
            tooltip=[
                alt.Tooltip("queue", type="nominal"),
                alt.Tooltip("rate", type="quantitative", title="service rate, items/min", format=",.0f"),
                alt.Tooltip("drain", type="quantitative", title="drain, min", format=",.0f"),
            ],
        )
    )
    target = chart_of([{"drain": objective}]).mark_rule(strokeDash=[5, 4], color=GREY)
    target = target.encode(y=alt.Y("drain", type="quantitative"))
    records = [
        {
            "queue": item.name,
            "service rate today": item.service_rate_now_per_min,
            "drain today": minutes_or_never(item.drain_min),
            "rate for the objective": item.catch_up_rate_per_min,
            "more than today": max(0.0, item.catch_up_rate_per_min - item.service_rate_now_per_min),
        }
        for item in estimates.queues.values()
    ]
    return Figure(
        title="What a higher service rate buys",
        chart=finish(lines + target),
        table=Table.of(
            records,
            {
                "queue": str,
                "service rate today": format_rate,
                "drain today": _text,
                "rate for the objective": format_rate,
                "more than today": format_rate,
            },
            caption=f"Objective: first-attempt age at baseline within {format_minutes(objective)} of the restore",
        ),
        source=_sources(estimates),
        method=(
            "The rate that empties the backlog within H minutes: the least c with c t >= backlog + arrivals up to t for "
            "some t within H; for constant rates arrival rate + backlog / H, for a stream by its busiest shard. The curve is "
            "the coupled recovery at other service rates of the queue, without its cap or ramp; the dashed line is the objective."
        ),
        notes=notes,
        alt="Falling curves of drain time against service rate. "
        + " ".join(
            f"{item.name} needs {format_rate(item.catch_up_rate_per_min)} to drain within {format_minutes(objective)}."
            for item in estimates.queues.values()
        ),
    )


def _drains(estimates: Estimates, item: QueueEstimate, points: int) -> list[dict[str, Any]]:
    mean, now, coupling = item.load.arrivals.mean_tail_per_min, item.service_rate_now_per_min, estimates.coupling
    if mean <= 0 or item.recovery.backlog_at_restore <= 0 or coupling is None:
        return []
    grid = np.linspace(1.1, max(3.0, 1.5 * now / mean), points - 1) * mean
    # Today's rate is a point of its own, so that the chart says what the table says.
    rates = np.unique(np.append(grid, now if now > mean else 1.02 * mean))
    place, queues = coupling.queues.index(item.name), list(coupling.system.queues)
    free = replace(queues[place].load, cap_concurrency=None, ramp=None)
    queues[place] = replace(queues[place], load=free)
    system = replace(coupling.system, queues=tuple(queues))
    drains = simulate(system, {Input("queue", place, "service_rate_per_min"): rates}).drain_min[:, place]
    return [
        {
            "queue": item.name,
            "headroom": round(float(rate) / mean, 4),
            "rate": round(float(rate), 2),
            "drain": round(float(drain), 2),
        }
        for rate, drain in zip(rates, drains, strict=True)
        if not np.isnan(drain)
    ]


def dependency_figure(estimates: Estimates) -> Figure | Prose:
    """What drains and direct traffic together ask of each dependency, against its tested rate."""
    if not estimates.queues:
        return paragraph("This scenario has no queues, so no drain adds to what its dependencies bear.")
    capped = [(item, item.cap) for item in estimates.queues.values() if item.cap is not None]
    shown, left_out = drawn(capped, lambda pair: pair[1].drain_rate_per_min, most=10 * MOST_LINES)
    if not capped:
        return paragraph(
            "No queue names a dependency with a tested rate: give dependencies and dependency to see the safe drain cap."
        )
    values: list[dict[str, Any]] = []
    tested: dict[str, float] = {}
    records = []
    has_control = any(cap.control_rate_per_min > 0 for _, cap in capped)
    for item, cap in capped:
        if cap.dependency not in tested:
            tested[cap.dependency] = cap.tested_rate_per_min
            values.append({"dependency": cap.dependency, "part": "direct traffic", "rate": cap.direct_rate_per_min})
            if cap.control_rate_per_min > 0:
                control = {"dependency": cap.dependency, "part": "control traffic", "rate": cap.control_rate_per_min}
                values.append(control)
        if (item, cap) in shown:
            part = f"drain of {item.name}"
            values.append({"dependency": cap.dependency, "part": part, "rate": cap.drain_rate_per_min})
        passes = cap.ramp_passes_room_after_s
        records.append(
            {
                "queue": item.name,
                "dependency": cap.dependency,
                "tested rate": cap.tested_rate_per_min,
                "direct traffic": cap.direct_rate_per_min,
                **({"control traffic": cap.control_rate_per_min} if has_control else {}),
                "room for the drain": cap.room_per_min,
                "drain": cap.drain_rate_per_min,
                "safe cap": "needs item_time" if cap.safe_concurrency is None else format_count(cap.safe_concurrency),
                "at that cap": "" if cap.safe_rate_per_min is None else format_rate(cap.safe_rate_per_min),
                "uncapped ramp passes the room": "no" if passes is None else f"after {format_duration(passes / 60)}",
            }
        )
    order = list(dict.fromkeys(value["part"] for value in values))
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.6})
        .encode(
            x=alt.X("rate", type="quantitative", title="items a minute", axis=alt.Axis(format=",~f")),
            y=alt.Y("dependency", type="nominal", title=None),
            color=alt.Color("part", type="nominal", title=None, sort=order, scale=alt.Scale(range=list(COLOURS))),
            tooltip=[
                alt.Tooltip("dependency", type="nominal"),
                alt.Tooltip("part", type="nominal"),
                alt.Tooltip("rate", type="quantitative", title="items/min", format=",.0f"),
            ],
        )
    )
    ticks = (
        chart_of([{"dependency": name, "tested": rate} for name, rate in tested.items()])
        .mark_tick(thickness=3, size=60, color="black")
        .encode(
            x=alt.X("tested", type="quantitative"),
            y=alt.Y("dependency", type="nominal"),
            tooltip=[alt.Tooltip("tested", type="quantitative", title="tested rate, items/min", format=",.0f")],
        )
    )
    formats = {name: format_rate if name in _RATES else str for name in records[0]}
    shared = len(capped) > len(tested)
    return Figure(
        title="What the drain asks of its dependency",
        chart=finish(bars + ticks, height=max(90, 70 * len(tested))),
        table=Table.of(records, formats | {"safe cap": _text}),
        source=_sources(estimates),
        method=(
            f"Safe cap = floor((tested rate - {'direct and control' if has_control else 'direct'} traffic) x seconds an item / "
            "60); a cap of c items at once gives 60 c / seconds an item. The black tick is the tested rate. The ramp is the "
            "queue's own, or the one published for the service."
        ),
        alt="Stacked bars of load on each dependency. "
        + " ".join(
            f"{name}: {format_rate(_asked(capped, name))} of a tested {format_rate(rate)}."
            for name, rate in tested.items()
        ),
        notes=(
            *((_SHARED,) if shared else ()),
            *left_out,
        ),
    )


_SHARED = (
    "Where several queues drain into one dependency, each safe cap is within its queue's part of the room, by what each can "
    "drain."
)


def _asked(capped: list[tuple[QueueEstimate, CapEstimate]], dependency: str) -> float:
    here = [cap for _, cap in capped if cap.dependency == dependency]
    return here[0].direct_rate_per_min + here[0].control_rate_per_min + sum(cap.drain_rate_per_min for cap in here)


_RATES = frozenset({"tested rate", "direct traffic", "control traffic", "room for the drain", "drain"})


def curve_data(estimates: Estimates, field: str) -> list[list[dict[str, Any]]]:
    """The data alone of the chart of one curve: points, then marks, then each label."""
    clock, incident = Clock.of(estimates.loaded), estimates.loaded.scenario.incident
    marks = [(clock.at(incident.trigger), "trigger"), (clock.at(incident.restored_at), "restored")]
    values = [{"at": at, "label": label} for at, label in marks]
    return [_curves(estimates, field)[0], values, values[1:], values[:1]]
