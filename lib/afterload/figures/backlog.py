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
from afterload.figures.recovery import coupled_words, differing_queues
from afterload.figures.words import NEVER, minutes_or_never, paragraph, sentence_list, span
from afterload.model.backlog import recover
from afterload.plan.change import counted
from afterload.recovery.rates import CapEstimate
from afterload.recovery.result import CoupledEstimate
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
# Queues that a note names; a scenario may have hundreds.
MOST_NAMED = 5
NO_QUEUES = "This scenario has no queues, so nothing piles up behind the dependency."
FIRST_ATTEMPT = (
    "First-attempt age is the age of work when it is tried for the first time. In order of arrival it is back at "
    "baseline only when the backlog is gone; with fresh work first it is back earlier, while old work still drains."
)


def _sources(estimates: Estimates) -> str:
    given = {item.queue.source for item in estimates.queues.values() if item.queue.source}
    words = "; ".join(sorted(given))
    return f"{estimates.loaded.name}{f' ({words})' if words else ''}"


def backlog_answer(estimates: Estimates, recovery: CoupledEstimate | None = None) -> Prose:
    """Each queue in words: what waits at the restore, when it is gone, what is lost.

    That is of each queue alone; where the coupled ``recovery`` is another one, that is said beside it.
    """
    if not estimates.queues:
        return paragraph(NO_QUEUES)
    objective, coupled = estimates.loaded.scenario.recovery_objective_min, _coupled(estimates, recovery)
    return sentence_list([_sentence(item, objective, coupled.get(item.name)) for item in estimates.queues.values()])


def _coupled(estimates: Estimates, recovery: CoupledEstimate | None) -> dict[str, str]:
    """By queue, how the coupled recovery differs from that of the queue alone; only those where it does."""
    if recovery is None:
        return {}
    differing = differing_queues(recovery, estimates.queues)
    return {name: coupled_words(recovery, name) for name in estimates.queues if name in differing}


def _alone(estimates: Estimates, recovery: CoupledEstimate | None) -> tuple[str, ...]:
    """A note for figures of queues alone, where that is not the whole."""
    found = _coupled(estimates, recovery)
    shown = [f"{name}: {words}." for name, words in list(found.items())[:MOST_NAMED]]
    more = len(found) - len(shown)
    if more > 0:
        shown.append(f"And {format_count(more)} more.")
    if not found:
        return ()
    return (f"This is each queue alone, which is not what counts. {' '.join(shown)} See the chapter on the recovery.",)


def _of_what(notes: tuple[str, ...]) -> str:
    """What an alternative text adds to its lines where a note says that they are not what counts."""
    return " of each queue alone" if notes else ""


def _weight(item: QueueEstimate) -> float:
    return float("inf") if item.stale_min is None else item.stale_min


def _drawn(estimates: Estimates) -> tuple[list[QueueEstimate], tuple[str, ...]]:
    return drawn(estimates.queues.values(), _weight)


def shown_queues(estimates: Estimates) -> frozenset[str]:
    """Queues that the chart of the backlog draws."""
    return frozenset(item.name for item in _drawn(estimates)[0])


def _sentence(item: QueueEstimate, objective: float, coupled: str | None) -> str:
    back, now = item.decisive, item.recovery
    wait = "waits" if round(now.backlog_at_restore) == 1 else "wait"
    parts = [f"{item.name}: {counted(now.backlog_at_restore, 'item')} {wait} at the restore"]
    if item.drain_min is None:
        parts.append(
            f"and the backlog never drains at these rates; {format_rate(item.catch_up_rate_per_min)} would drain it within the "
            f"objective of {format_minutes(objective)}"
        )
    elif item.drain_min == 0:
        parts.append(
            "so there is nothing to drain" if now.backlog_at_restore == 0 else "and all are dropped or discarded"
        )
    else:
        alone = ", the queue alone, " if coupled else " "
        parts.append(f"and{alone}{'takes' if wait == 'waits' else 'take'} {span(item.drain_min)} to drain")
    if item.stale_min is not None and item.stale_min > 0:
        parts.append(f"so that processing is stale for {span(item.stale_min)}")
    link = ", " if parts[1].startswith("so ") else " "
    sentences = [f"{parts[0]}{link}{parts[1]}{', ' + parts[2] if len(parts) > 2 else ''}."]
    if coupled:
        sentences.append(f"That is not what counts: {coupled}; see the chapter on the recovery.")
    if item.slowest is not None:
        sentences.append(f"Its busiest shard decides: it holds {format_count(back.backlog_at_restore)} of them.")
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
        recovery = item.decisive
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


def backlog_figure(estimates: Estimates, recovery: CoupledEstimate | None = None) -> Figure | Prose:
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
    streams = [item.name for item in estimates.queues.values() if item.slowest is not None]
    decides = (f"{', '.join(streams)}: the curve is the busiest shard, which decides.",) if streams else ()
    alone = _alone(estimates, recovery)
    notes = (*alone, *decides, *_drawn(estimates)[1])
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
            "Fluid queue, solved exactly: the backlog grows by arrivals less what is served in the outage, and drains "
            "when cumulative service passes backlog and cumulative arrivals. For constant rates the drain is "
            "backlog / (service rate - arrival rate). Stale = from the trigger to first-attempt age at baseline."
        ),
        alt=f"Lines of items waiting{_of_what(alone)}. "
        + " ".join(_curve_words(item) for item in estimates.queues.values()),
        notes=notes,
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
    what = item.name if item.slowest is None else f"The busiest shard of {item.name}"
    return f"{what} holds {format_count(item.decisive.backlog_at_restore)} at the restore and {end}."


def age_figure(estimates: Estimates, recovery: CoupledEstimate | None = None) -> Figure | Prose:
    """Age of work at its first attempt, over time."""
    if not estimates.queues:
        return paragraph("This scenario has no queues, so there is no first-attempt age to draw.")
    alone = _alone(estimates, recovery)
    records = [
        {
            "queue": item.name,
            "order": item.queue.order.replace("_", " "),
            "oldest": item.decisive.max_age_min,
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
        notes=(*alone, *_drawn(estimates)[1]),
        alt=f"Lines of first-attempt age{_of_what(alone)}. "
        + " ".join(
            f"{item.name}: the oldest reaches {format_minutes(item.decisive.max_age_min)}; fresh work is on time "
            f"{_back(item.fresh_age_back_min)}."
            for item in estimates.queues.values()
        ),
    )


def _back(minutes: float | None) -> str:
    return NEVER if minutes is None else f"again {span(minutes)} after the restore"


def catch_up_figure(estimates: Estimates, recovery: CoupledEstimate | None = None) -> Figure | Prose:
    """Drain time against service rate: what more capacity buys."""
    if not estimates.queues:
        return paragraph("This scenario has no queues, so no service rate has to catch up.")
    alone = _alone(estimates, recovery)
    objective = estimates.loaded.scenario.recovery_objective_min
    values: list[dict[str, Any]] = []
    shown, notes = _drawn(estimates)
    for item in shown:
        # Each point is a whole recovery: many queues, or series of many rows, get fewer, so that a chapter stays quick.
        rows = len(item.load.arrivals.rates_per_min)
        values += _drains(item, max(10, min(40, MOST_DRAINS // len(shown), 60_000 // rows)))
    if not values:
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
            "some t within H; for constant rates arrival rate + backlog / H. The curve is the same queue computed "
            "at other service rates, without cap or ramp; the dashed line is the objective. A stream's rates are those of "
            "all shards together, of which the busiest gets an even share."
        ),
        notes=(*alone, *notes),
        alt=f"Falling curves of drain time against service rate{_of_what(alone)}. "
        + " ".join(
            f"{item.name} needs {format_rate(item.catch_up_rate_per_min)} to drain within {format_minutes(objective)}."
            for item in estimates.queues.values()
        ),
    )


def _drains(item: QueueEstimate, points: int) -> list[dict[str, Any]]:
    load = replace(item.shard_load or item.load, cap_concurrency=None, ramp=None)
    mean = item.load.arrivals.mean_tail_per_min
    if mean <= 0 or item.recovery.backlog_at_restore <= 0:
        return []
    now = item.service_rate_now_per_min
    grid = np.linspace(1.1, max(3.0, 1.5 * now / mean), points - 1) * mean
    found = []
    # Today's rate is a point of its own, so that the chart says what the table says.
    for rate in sorted({*(float(rate) for rate in grid), now if now > mean else 1.02 * mean}):
        drain = recover(replace(load, service_rate_per_min=rate / item.shards)).drain_min
        if drain is not None:
            found.append(
                {
                    "queue": item.name,
                    "headroom": round(rate / mean, 4),
                    "rate": round(rate, 2),
                    "drain": round(drain, 2),
                }
            )
    return found


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
    "drain; the runbook's step 4 gives each a share of that part."
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
