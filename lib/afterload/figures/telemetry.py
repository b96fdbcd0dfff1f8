"""The measured chapter: what the team's own metrics show of its recovery, and how well the model would have told it."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.figures.charts import Clock
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.measured import back_test_figure, measured_recovery_figure
from afterload.figures.words import paragraph, sentence_list, span
from afterload.findings.attempts import AttemptRatio
from afterload.findings.telemetry import Measured, MeasuredQueue
from afterload.scenario import LoadedScenario
from afterload.scenario.evidence import standing
from afterload.units import format_duration, format_number, format_rate, format_share

__all__ = ["attempts_table", "back_tested", "measured_answer", "measured_signals", "throughput_table"]

NONE = "This scenario names no telemetry, so nothing of the recovery was measured."


def measured_answer(loaded: LoadedScenario, measured: Measured) -> Prose:
    """The measured recovery in words, against the objective, with what could not be measured and why."""
    if not measured.queues:
        return paragraph(NONE)
    return sentence_list(_sentences(loaded, measured))


def _sentences(loaded: LoadedScenario, measured: Measured) -> Iterator[str]:
    objective = loaded.scenario.recovery_objective_min
    for queue in measured.queues:
        name = queue.name or "The team"
        if queue.recovery is not None:
            age = queue.recovery.of("first-attempt age")
            if age is not None and age.back_min is not None:
                verdict = "met" if age.back_min <= objective else f"missed by {span(age.back_min - objective)}"
                yield (
                    f"{name}: first-attempt age was back at its baseline {span(age.back_min)} after the restore and stayed "
                    f"there; the objective of {span(objective)} was {verdict}."
                )
            elif age is not None:
                yield (
                    f"{name}: first-attempt age is not back at its baseline in the data, which end "
                    f"{span(max(0.0, age.seen_until_min))} after the restore."
                )
            for item in queue.recovery.signals:
                if item.signal != "first-attempt age":
                    back = (
                        "is not back in the data" if item.back_min is None else f"was back after {span(item.back_min)}"
                    )
                    yield f"{name}: {item.signal} {back}."
        yield from _test_sentences(queue)
        if queue.test is not None and _is_hindsight(loaded, queue.name):
            yield (
                f"{queue.name}: its service rate was measured in this very drain, so the back-test shows that the model holds "
                "with the right rates, not that they could have been known."
            )
        yield from (f"{name}, not measured: {words}." for words in queue.why_not)
    yield from (f"Not measured: {words}." for words in measured.why_not)
    yield from (f"{remark}." if not str(remark).endswith(".") else str(remark) for remark in measured.remarks[:12])
    if len(measured.remarks) > 12:
        yield f"And {len(measured.remarks) - 12} more remarks about the files."


def _is_hindsight(loaded: LoadedScenario, queue: str) -> bool:
    """The scenario's service rate comes from the same file as what was served in the drain."""
    evidence = loaded.scenario.evidence.get(f"queues.{queue}.service_rate")
    files = {item.file for item in loaded.scenario.telemetry if item.queue == queue and item.signal == "served"}
    basis = standing(loaded, f"queues.{queue}.service_rate").basis
    return evidence is not None and basis == "measured" and evidence.file in files


def _test_sentences(queue: MeasuredQueue) -> Iterator[str]:
    test, drain = queue.test, queue.drain
    if drain is not None:
        took = "is not over in the data" if drain.drain_min is None else f"took {span(drain.drain_min)}"
        yield f"{queue.name}: the backlog of {drain.backlog_at_restore:,.0f} at the restore {took}."
    if test is None or drain is None:
        return
    foretold = "never" if test.predicted.drain_min is None else span(test.predicted.drain_min)
    if test.error_min is not None and test.error_share is not None:
        sign = "longer" if test.error_min > 0 else "shorter"
        yield (
            f"{queue.name}: with what was known at the restore the model says {foretold}: {format_duration(abs(test.error_min))} "
            f"{sign} than it was ({format_share(abs(test.error_share))})."
        )
    else:
        yield f"{queue.name}: with what was known at the restore the model says {foretold}."
    if test.off is not None:
        swap = next(item for item in test.swaps if item.assumption == test.off)
        yield f"{queue.name}: the {test.off} was off most: {swap.words}."


def _slowest(measured: Measured) -> MeasuredQueue | None:
    found = [queue for queue in measured.queues if queue.recovery is not None]

    def back(queue: MeasuredQueue) -> float:
        times = [item.back_min for item in queue.recovery.signals] if queue.recovery else []
        return max((float("inf") if time is None else time for time in times), default=0.0)

    return max(found, key=back, default=None)


def measured_signals(measured: Measured) -> Figure | Prose:
    """Every signal of the slowest queue over time."""
    queue = _slowest(measured)
    if queue is None or queue.recovery is None:
        return paragraph("No signal was measured: name first_attempt_age, errors, latency or backlog under telemetry.")
    return measured_recovery_figure(queue.recovery)


def back_tested(loaded: LoadedScenario, measured: Measured) -> Figure | Prose:
    """The drain as it was foretold at the restore, beside what happened, of the queue with the longest drain."""
    found = [queue for queue in measured.queues if queue.test is not None]
    if not found:
        return paragraph("No drain was measured: it needs telemetry of arrivals, served and backlog of one queue.")
    tests = [queue.test for queue in found if queue.test is not None]
    longest = max(tests, key=lambda test: test.observed.drain_min or float("inf"))
    return back_test_figure(longest, Clock.of(loaded))


def throughput_table(measured: Measured) -> Table | Prose:
    """What went in and out of each queue while its backlog drained, and the headroom that shows."""
    drains = [queue.drain for queue in measured.queues if queue.drain is not None]
    names = [queue.name for queue in measured.queues if queue.drain is not None]
    if not drains:
        return paragraph("Without a measured drain there is no throughput to show.")
    rows = []
    for name, drain in zip(names, drains, strict=True):
        came, gone = drain.arrival, drain.service
        rows.append(
            (
                name,
                format_rate(drain.before.median),
                "" if came is None else format_rate(came.mean),
                ""
                if gone is None
                else f"{format_rate(gone.median)} (P10 {format_rate(gone.low)}, P90 {format_rate(gone.high)})",
                "" if drain.headroom_of_rates is None else f"{format_number(drain.headroom_of_rates)} times",
                "" if drain.headroom_of_times is None else f"{format_number(drain.headroom_of_times)} times",
            )
        )
    columns = (
        "queue",
        "arrivals before",
        "arrivals in the drain",
        "served in the drain",
        "headroom by rates",
        "by times",
    )
    return Table(columns, tuple(rows), caption="Throughput while the backlog drained")


def attempts_table(measured: Measured) -> Table | Prose:
    """Attempts for each logical request, layer by layer."""
    if not measured.layers:
        return paragraph("Attempts for each request were not measured: name requests and attempts under telemetry.")
    rows = tuple(
        (layer.name, *(_ratio(part) for part in (layer.before, layer.outage, layer.after)), _most(layer.outage))
        for layer in measured.layers
    )
    columns = ("layer", "before", "in the outage", "after the restore", "most in a period")
    return Table(columns, rows, caption="Attempts for each logical request")


def _ratio(part: AttemptRatio) -> str:
    return "not measured" if part.per_request is None else format_number(part.per_request)


def _most(part: AttemptRatio) -> str:
    return "" if part.most is None else format_number(part.most)
