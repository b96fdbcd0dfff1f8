"""Queues with time-outs in the dependency chapter: goodput against queue length, and what gets a full queue down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from afterload.figures.charts import COLOURS, LONG_LEGEND, alt, chart_of, finish, points_each, rules, thin, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.impairments import TODAY, ControlEstimate
from afterload.model.timeout_events import QueueRun, bound_length
from afterload.model.timeouts import goodput_by_length
from afterload.units import format_count, format_duration, format_number, format_share

__all__ = ["control_loops_answer", "goodput_figure", "remedies_figure"]

NO_LOOPS = (
    "This scenario gives no control loops: with the load, capacity and time-out of its lease renewals, heartbeats and the "
    "like (control_loops) this section shows whether their queue can stay down."
)
# Longer queues than this are drawn at a smaller scale: the curve is the same to the eye.
MOST_LENGTH = 20_000
MINUTE_S = 60.0


def _per_s(rate: float) -> str:
    return f"{format_number(rate)}/s"


def _seconds(seconds: float) -> str:
    return format_duration(seconds / MINUTE_S)


def _worst(estimates: Sequence[ControlEstimate], simulated: bool = False) -> ControlEstimate | None:
    """The loop that a chart shows: one that can stay down before all others, and then the one that is fullest."""
    known = [item for item in estimates if item.runs or not simulated]
    return max(
        known,
        key=lambda item: (item.can_stay_down, item.loop.waiting_at_restore / item.queue.useful_length),
        default=None,
    )


def control_loops_answer(estimates: Sequence[ControlEstimate]) -> Prose:
    """Each control loop in words."""
    return sentence_list([_sentence(item) for item in estimates]) if estimates else paragraph(NO_LOOPS)


def _sentence(item: ControlEstimate) -> str:
    loop, queue = item.loop, item.queue
    return (
        f"{item.name} serves {_per_s(loop.capacity_per_s)} and gets {_per_s(loop.load_per_s)} at rest. With a time-out of "
        f"{_seconds(loop.timeout_s)} a queue of more than {format_number(queue.useful_length)} is served too late. "
        f"{_verdict(item)} {_from_restore(item)}"
    )


def _verdict(item: ControlEstimate) -> str:
    loop, queue = item.loop, item.queue
    offered, longest = queue.offered_when_failing_per_s(loop.load_per_s), queue.longest
    sends = (
        "retries never end"
        if offered is None
        else f"{_per_s(loop.load_per_s)} becomes {_per_s(offered)} while all fail"
    )
    if item.can_stay_down:
        length = (
            "its queue has no bound and can become longer than what is served within the time-out"
            if longest is None
            else f"a full queue of {format_count(longest)} takes {_seconds(longest / loop.capacity_per_s)} to serve, longer than "
            "the time-out"
        )
        more = "" if offered is None else f", more than {_per_s(loop.capacity_per_s)}"
        return f"It can stay down: {length}, and {sends}{more}."
    if loop.order == "lifo":
        return "It cannot stay down: it serves the newest first, whose callers still wait."
    if loop.discards_expired:
        return "It cannot stay down: it drops work whose callers have left."
    if longest is not None and longest <= queue.useful_length:
        return f"It cannot stay down: a queue of at most {format_count(longest)} is served within the time-out."
    return f"It cannot stay down: {sends}, which it can serve."


def _from_restore(item: ControlEstimate) -> str:
    waiting, run = item.loop.waiting_at_restore, item.runs.get(TODAY)
    if waiting == 0:
        return "Nothing waits at the restore (waiting_at_restore), so no recovery is simulated."
    callers = "1 caller that sends" if waiting == 1 else f"{format_count(waiting)} callers that all send"
    if run is None:
        return f"The recovery from {callers} at the restore is not simulated here: it would take too long."
    return f"From {callers} at the restore it {_outcome(run)}."


def _outcome(run: QueueRun) -> str:
    if run.verdict == "heals" and run.recovery_s is not None:
        return "heals at once" if run.recovery_s == 0 else f"heals within {_seconds(run.recovery_s)}"
    if run.verdict == "stays down":
        odds = run.escape_odds
        if odds is None:
            return "stays down, since its queue grows without bound"
        return f"stays down, with a chance of {'less than 1 in a million' if odds < 1e-6 else format_share(odds)} to escape"
    return f"is neither healed nor sure to stay down after {format_count(run.sends)} simulated sends"


def goodput_figure(estimates: Sequence[ControlEstimate], source: str) -> Figure | Prose:
    """Work served in time against the length of the queue, for the loop that is worst off."""
    item = _worst(estimates)
    if item is None:
        return paragraph("Without control loops there is no queue with time-outs to draw.")
    queue, loop = item.queue, item.loop
    useful = queue.useful_length
    marks = [(useful, "useful length")]
    if queue.longest is not None:
        marks.append((queue.longest, "longest queue"))
    if loop.waiting_at_restore:
        marks.append((float(loop.waiting_at_restore), "waiting at the restore"))
    end = max([2.0 * useful, 10.0, *(at for at, _ in marks if at <= 6.0 * useful)]) * 1.05
    scale = max(1, math.ceil(end / MOST_LENGTH))
    lengths = list(range(math.ceil(end / scale) + 1))
    goodput = scale * goodput_by_length(replace(queue, service_rate_per_s=queue.service_rate_per_s / scale), lengths)
    places = thin(goodput, goodput, limit=300)
    values = [{"length": int(place) * scale, "value": round(float(goodput[place]), 6)} for place in places]
    line = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, color=COLOURS[0], point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("length", type="quantitative", title="requests that wait", axis=alt.Axis(format=",~f")),
            y=alt.Y("value", type="quantitative", title="served in time, a second", axis=alt.Axis(format=",~f")),
            tooltip=[tip("length", ",", "requests that wait"), tip("value", ",.2f", "served in time, a second")],
        )
    )
    # Marks close to each other share a line, so that their labels stay apart.
    shown: dict[float, str] = {}
    for at, label in sorted(mark for mark in marks if mark[0] <= end):
        near = next((seen for seen in shown if abs(seen - at) <= 0.12 * end), None)
        shown[at if near is None else near] = label if near is None else f"{shown[near]}, {label}"
    off = [f"{label} ({format_count(at)})" for at, label in marks if at > end]
    notes = (f"Not drawn, far to the right: {', '.join(off)}.",) if off else ()
    return Figure(
        title=f"What {item.name} serves in time, by the length of its queue",
        chart=finish(line + rules(shown.items(), "length")),
        table=Table.of([_record(each) for each in estimates]),
        source=source,
        method=(
            "In order of arrival: capacity times the chance that all that waits ahead is served within the time-out, with "
            "services that take a random (exponential) time. Useful length = capacity x time-out. It can stay down where the "
            "longest queue / capacity > time-out and load x (1 + retries) > capacity. Source of the condition: Analyzing "
            "Metastable Failures, HotOS 2025."
        ),
        notes=notes,
        alt=(
            f"A line that falls from {_per_s(queue.service_rate_per_s)} to nothing around a useful length of "
            f"{format_number(useful)}. {_verdict(item)}"
        ),
    )


def _record(item: ControlEstimate) -> dict[str, Any]:
    loop, queue = item.loop, item.queue
    offered = queue.offered_when_failing_per_s(loop.load_per_s)
    return {
        "control loop": item.name,
        "load at rest": Number(_per_s(loop.load_per_s)),
        "capacity": Number(_per_s(loop.capacity_per_s)),
        "time-out": Number(_seconds(loop.timeout_s)),
        "retries": "without end" if loop.retries is None else format_count(loop.retries),
        "useful length": Number(format_number(queue.useful_length)),
        "longest queue": "no bound" if queue.longest is None else format_count(queue.longest),
        "sends while all fail": "no bound" if offered is None else _per_s(offered),
        "can stay down": "yes" if item.can_stay_down else "no",
    }


def _labels(item: ControlEstimate) -> dict[str, str]:
    """What each simulated remedy is, in full."""
    bound = bound_length(replace(item.queue, service_rate_per_s=item.queue.service_rate_per_s / item.scale))
    if item.queue.queue_cap is not None:
        bound = min(bound, max(1, round(item.queue.queue_cap / item.scale)))
    below = max(1, bound // 2)
    return {
        TODAY: "as it is",
        "clear once": f"emptied once, after {_seconds(item.cleared_at_s)}",
        "bound": f"at most {format_count(bound * item.scale)} wait",
        "newest first": "newest first",
        "admit by size": f"all admitted below {format_count(below * item.scale)}, none from {format_count(bound * item.scale)}",
        "discard expired": "expired work dropped",
    }


def remedies_figure(estimates: Sequence[ControlEstimate], source: str) -> Figure | Prose:
    """Work served in time over time, as it is and with each remedy, for the simulated loop that is worst off."""
    item = _worst(estimates, simulated=True)
    if item is None:
        if not estimates:
            return paragraph("Without control loops there are no remedies to compare.")
        return paragraph("No recovery of a control loop is simulated, so there are no remedies to compare.")
    labels = _labels(item)
    values = []
    for name, run in item.runs.items():
        # The last window is cut short by the end of the run.
        whole = max(1, len(run.times_s) - 1)
        goodput = item.scale * run.goodput_per_s[:whole]
        for place in thin(run.times_s[:whole], goodput, limit=points_each(len(item.runs))):
            at = {"seconds": round(float(run.times_s[place]), 3), "value": round(float(goodput[place]), 4)}
            values.append({"remedy": labels[name], **at})
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=30))
        .encode(
            x=alt.X("seconds", type="quantitative", title="seconds after the restore", axis=alt.Axis(format=",~f")),
            y=alt.Y("value", type="quantitative", title="served in time, a second", axis=alt.Axis(format=",~f")),
            color=alt.Color(
                "remedy",
                type="nominal",
                title=None,
                sort=list(labels.values()),
                scale=alt.Scale(domain=list(labels.values()), range=list(COLOURS[: len(labels)])),
                legend=LONG_LEGEND,
            ),
            tooltip=[tip("remedy"), tip("seconds", ",.0f"), tip("value", ",.1f", "served in time, a second")],
        )
    )
    records = [
        _remedy_record(each, name, run, _labels(each)[name]) for each in estimates for name, run in each.runs.items()
    ]
    scaled = [f"{each.name} at 1/{each.scale:,} of its size" for each in estimates if each.runs and each.scale > 1]
    notes = [f"To keep the simulation short: {', '.join(scaled)}, counts scaled back up."] if scaled else []
    left = [each.name for each in estimates if not each.runs]
    if left:
        notes.append(f"Not simulated: {', '.join(left)}.")
    return Figure(
        title=f"What gets the queue of {item.name} down again",
        chart=finish(lines),
        table=Table.of(records),
        source=f"{source}; random arrivals and services of one fixed seed",
        method=(
            "Every send is followed: at the restore all callers that wait send at once, whoever is not served within the "
            "time-out sends again, and what was left behind is still served. A line ends where its run does: healed, or "
            "nothing in time for as long as all retries take. Time to recover runs from the restore to the last send that "
            "fails; counts run until the run ends. The bound is the useful length less three times its root."
        ),
        notes=tuple(notes),
        alt=f"Work of {item.name} served in time, over time. With its queue "
        + "; ".join(f"{labels[name]} it {_outcome(run)}" for name, run in item.runs.items())
        + ".",
    )


def _remedy_record(item: ControlEstimate, name: str, run: QueueRun, label: str) -> dict[str, Any]:
    return {
        "control loop": item.name,
        "remedy": label,
        "verdict": run.verdict,
        "time to recover": "" if run.recovery_s is None else _seconds(run.recovery_s),
        "sends": Number(format_count(item.scale * run.sends)),
        "served in time": Number(format_count(item.scale * run.in_time)),
        "served too late": Number(format_count(item.scale * run.late)),
        "refused or dropped": Number(format_count(item.scale * run.refused)),
        "given up for good": Number(format_count(item.scale * run.given_up)),
    }
