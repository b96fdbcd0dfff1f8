"""The first and the last page of a packet: the answer in plain words, and where it came from."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version

from afterload import limits
from afterload.errors import ApproximationWarning, LowerBoundWarning, MissingEvidenceWarning
from afterload.estimates import Estimates, QueueEstimate
from afterload.figures.evidence import evidence_doubts, rest_words, rests
from afterload.figures.figure import Prose, Table
from afterload.figures.recovery import coupled_sentences, dependency_sentences
from afterload.figures.retries import calls_in_words
from afterload.figures.words import NEVER, doubts, span
from afterload.model.retries import stack as stack_of
from afterload.plan import DO, Plan, PlanItem
from afterload.plan.change import counted, failing
from afterload.plan.first import First, first_changes
from afterload.plan.objectives import within
from afterload.plan.whole import worsened_summary
from afterload.plan.wording import buys_no_minutes, largest_price, short_worth
from afterload.plan.worth import CASES, measured_recovery
from afterload.recovery.doubts import Doubt
from afterload.recovery.result import CoupledEstimate
from afterload.scenario.load import INSIDE
from afterload.units import format_duration, format_instant, format_minutes, format_number, format_rate

__all__ = ["all_doubts", "answer", "headline", "provenance", "spread_sentences"]

# Queues beside the worst one that the answer names.
SHOWN_QUEUES = 6


def headline(estimates: Estimates) -> list[tuple[str, str]]:
    """The few numbers that matter, each as a large text and what it is."""
    found = []
    queue, stack, fleet = estimates.worst_queue, estimates.worst_stack, estimates.slowest_fleet
    if queue is not None:
        if queue.stale_min is None:
            found.append((NEVER, f"fresh work is on time again ({queue.name})"))
        else:
            found.append((format_minutes(queue.stale_min), f"of stale processing ({queue.name})"))
    if stack is not None:
        found.append(
            (
                f"{format_number(stack.result.multiplier)} times",
                f"the calls at the bottom of {stack.name} when {failing(stack.stack.failure_probability)}",
            )
        )
    if fleet is not None and fleet.missing:
        found.append((format_minutes(fleet.in_service_min), f"to launch what {fleet.name} lacks"))
    return found


def spread_headline(estimates: Estimates, recovery: CoupledEstimate | None) -> tuple[str, str, str] | None:
    """P10 to P90 of the time until fresh work is on time, with the verdict at P90 and what it rests on, for the headline.

    None where no input is uncertain. The numbers are those of index and gate: :func:`measured_recovery`.
    """
    times = _spread(estimates, recovery)
    if times is None or recovery is None:
        return None
    objective = estimates.loaded.scenario.recovery_objective_min
    words = f"P10 to P90 until fresh work is on time after the restore; at P90 {_judged(times[1], objective)}"
    shown = " to ".join(dict.fromkeys(_time(minutes) for minutes in times))
    return shown, words, f"{recovery.draws:,} draws of the uncertain inputs"


def spread_sentences(estimates: Estimates, recovery: CoupledEstimate | None) -> list[str]:
    """The same as a sentence; nothing where no input is uncertain."""
    times = _spread(estimates, recovery)
    if times is None or recovery is None:
        return []
    objective = estimates.loaded.scenario.recovery_objective_min
    whose = " of the slowest queue" if len(estimates.queues) > 1 else ""
    ranges = recovery.coupling.ranges
    apart = ", which are taken as independent of each other" if len(ranges) > 1 and not recovery.coupling.tied else ""
    low, high = (_time(minutes) for minutes in times)
    shown = f"{low} (P10) to {high} (P90)" if low != high else f"{high} (P10 and P90 alike)"
    return [
        f"Over {recovery.draws:,} draws of the uncertain inputs{apart}, first-attempt age{whose} is back at baseline "
        f"{shown} after the restore; at P90 {_judged(times[1], objective)}."
    ]


def _spread(estimates: Estimates, recovery: CoupledEstimate | None) -> tuple[float | None, float | None] | None:
    if recovery is None or not recovery.draws or not estimates.queues:
        return None
    measured = measured_recovery(estimates.loaded, recovery)
    return None if measured is None else measured.spread("fresh_min")


def _time(minutes: float | None) -> str:
    return NEVER if minutes is None else format_minutes(minutes)


def _judged(minutes: float | None, objective: float) -> str:
    """The verdict on a time, as a gate has it."""
    if minutes is None:
        return f"the objective of {format_minutes(objective)} is missed without end"
    verdict = "met" if within(minutes, objective) else f"missed by {format_minutes(minutes - objective)}"
    return f"the objective of {format_minutes(objective)} is {verdict}"


def _sentences(estimates: Estimates, recovery: CoupledEstimate | None) -> Iterator[str]:
    queue, stack, fleet = estimates.worst_queue, estimates.worst_stack, estimates.slowest_fleet
    scenario = estimates.loaded.scenario
    objective = scenario.recovery_objective_min
    if queue is not None:
        drawn = recovery is not None and recovery.draws > 0
        yield from _queue_sentences(queue, scenario.incident.outage_min, objective, drawn)
        yield from _other_queues(estimates, queue)
        yield from spread_sentences(estimates, recovery)
    if stack is not None:
        chance = stack.stack.failure_probability
        text = (
            f"One call at the top of {stack.name} becomes {calls_in_words(stack.result.multiplier)} at the bottom while "
            f"{failing(chance)}"
        )
        if chance < 1:
            most = stack_of([layer.tries for layer in stack.stack.layers], 1.0).multiplier
            text += f", and {calls_in_words(most)} if every attempt fails"
        yield f"{text}."
    if fleet is not None and fleet.missing:
        wait = fleet.launches.wait_s / 60
        yield (
            f"{counted(fleet.missing, 'instance')} missing from {fleet.name} {'is' if fleet.missing == 1 else 'are'} in "
            f"service after {format_minutes(fleet.in_service_min)} "
            f"({f'{format_duration(wait)} of it' if wait > 0 else 'none of it'} in launch limits)."
        )
    elif fleet is not None:
        yield "No fleet lacks instances, so nothing waits for launches."


def _other_queues(estimates: Estimates, shown: QueueEstimate) -> Iterator[str]:
    """The backlog of every queue beside the one that is told of at length; of many, those that take longest."""
    others = sorted(
        (item for item in estimates.queues.values() if item.name != shown.name),
        key=lambda item: (item.drain_min is not None, -(item.drain_min or 0.0), item.name),
    )
    if not others:
        return
    parts = [
        f"{item.name} {counted(item.recovery.backlog_at_restore, 'item')} "
        f"({'never drained' if item.drain_min is None else f'drained {format_minutes(item.drain_min)} after it'})"
        for item in others[:SHOWN_QUEUES]
    ]
    more = len(others) - SHOWN_QUEUES
    rest = f", and {counted(more, 'more queue')} in the chapter on the backlog" if more > 0 else ""
    yield f"Waiting at the restore in other queues: {', '.join(parts)}{rest}."


def _queue_sentences(queue: QueueEstimate, outage: float, objective: float, drawn: bool) -> Iterator[str]:
    back, waiting = queue.fresh_age_back_min, queue.recovery.backlog_at_restore
    leaves = f"The outage of {span(outage)} leaves {counted(waiting, 'item')} waiting in {queue.name}"
    if queue.rejected > 0:
        leaves = f"{leaves}, after {counted(queue.rejected, 'item')} refused"
    if back is None:
        needed, served = queue.catch_up_rate_per_min, queue.service_rate_now_per_min
        needs = (
            f" It needs {format_number(needed, 4)}/min of service to meet the objective of {format_minutes(objective)}."
        )
        # More service is no remedy where what it calls does not bear that.
        yield f"{leaves}, and at these rates fresh work is never on time again.{needs if served < needed else ''}"
        return
    if queue.drain_min == 0:
        yield f"{leaves}, {'so there is nothing to drain' if waiting == 0 else 'all of which is dropped or discarded'}."
    elif queue.drain_min is None:
        yield f"{leaves}. At these rates the old work never drains."
    else:
        drain = f"{'It takes' if round(waiting) == 1 else 'They take'} {span(queue.drain_min)} to drain"
        if queue.stale_min is not None and queue.stale_min > 0:
            drain += f", so processing is stale for {span(queue.stale_min)} in all"
        yield f"{leaves}. {drain}."
    when = f"{format_minutes(back)} after the restore" if back > 0 else "at the restore"
    level = " at the likely inputs" if drawn else ""
    yield f"First-attempt age is back at baseline {when}; {_judged(back, objective)}{level}."


def answer(estimates: Estimates, plan: Plan, recovery: CoupledEstimate | None = None) -> Prose:
    """The answer in plain words: the numbers, the verdict, how it could go, and the changes to look at first."""
    scenario, loaded = estimates.loaded.scenario, estimates.loaded
    zone = scenario.time_zone
    about = (
        f"{scenario.team}, {scenario.incident.name}: trigger {format_instant(scenario.incident.trigger, zone)}, "
        f"restored {format_instant(scenario.incident.restored_at, zone)}."
    )
    made_up = "Hypothetical: the numbers of this scenario are made up." if scenario.hypothetical else ""
    big, sentences = (
        headline(estimates),
        [*_sentences(estimates, recovery), *dependency_sentences(recovery), *coupled_sentences(recovery)],
    )
    shown = first_changes(plan, {"fresh": scenario.recovery_objective_min})
    first = [_first_change(plan, item) for item in shown]
    worse, last = worsened_summary(plan), _none_drains([each.item for each in shown])
    changes = loaded.overrides
    changed = f"Values overridden for this run: {', '.join(f'{k}={v}' for k, v in changes.items())}." if changes else ""
    warnings = [text for text in (made_up, changed, *evidence_doubts(loaded)) if text]
    rested = [rest_words(item) for item in rests(estimates)]
    drawn = spread_headline(estimates, recovery)
    if drawn is not None:
        big, rested = [(drawn[0], drawn[1]), *big], [drawn[2], *rested]
    html = [
        '<div class="af-answer">',
        f"<p>{escape(about)}</p>",
        *(f'<p class="af-warning">{escape(text)}</p>' for text in warnings),
        '<div class="af-headline">',
        *(
            f'<div><span class="af-big">{escape(number)}</span> <span class="af-big-label">{escape(words)}</span> '
            f'<span class="af-basis">({escape(basis)})</span></div>'
            for (number, words), basis in zip(big, rested, strict=True)
        ),
        "</div>",
        *(f"<p>{escape(text)}</p>" for text in sentences),
        f'<p class="af-warning">{escape(worse)}</p>' if worse else "",
        "<p><b>First changes</b></p>" if first else "<p>No change of the catalogue is open here.</p>",
        f"<ol>{''.join(f'<li>{escape(text)}</li>' for text in first)}</ol>" if first else "",
        f"<p>{escape(last)}</p>" if last else "",
        "</div>",
    ]
    lines = [about, *warnings]
    lines += [f"{number} {words} ({basis})" for (number, words), basis in zip(big, rested, strict=True)]
    lines += [*sentences, worse]
    lines += [f"{place}. {text}" for place, text in enumerate(first, 1)]
    lines.append(last)
    return Prose("".join(html), "\n".join(line for line in lines if line))


def _first_change(plan: Plan, first: First) -> str:
    """One line of the front page: what, where, its line of the plan, what it buys or that it buys none, and its price."""
    item = first.item
    place = f", line {plan.about.index(item) + 1} of the plan" if item.target else ""
    where = f" ({item.target}{place})" if item.target else ""
    head = f"{plan.change(item).title}{where}."
    if item.status != DO:
        return f"{head} {item.evidence}"
    said = short_worth(item, first)
    texts = (f"{head} {said}", buys_no_minutes(item), largest_price(plan, item, said))
    return " ".join(text for text in texts if text)


def _none_drains(shown: list[PlanItem]) -> str:
    """What is true of every line shown, said once: that none of them alone drains a backlog after a collapse."""
    drains = [item.worths[CASES[1]].alone["empty_min"] for item in shown if item.worths is not None]
    if drains and all(part.before is None and part.after is None for part in drains):
        return "If dependencies are collapsed at the restore, none of these alone makes the backlog drain."
    return ""


def all_doubts(estimates: Estimates, recovery: CoupledEstimate | None = None) -> Prose:
    """Every assumption and doubt behind the figures, those of the coupled recovery too, each with the part it is about."""
    items: list[tuple[str, Doubt]] = [
        (f"queues.{item.name}", doubt) for item in estimates.queues.values() for doubt in item.doubts
    ]
    for name, call_stack in estimates.stacks.items():
        if call_stack.stack.failure_probability < 1:
            words = "attempts are taken to fail independently; in an outage they fail together, which makes more calls"
            items.append((f"call_stacks.{name}", Doubt(ApproximationWarning, words)))
    for name, client in estimates.loaded.scenario.clients.items():
        preset = limits.client_preset(client.sdk, client.version, client.mode, client.service)
        if not preset.mode_known:
            words = f"no version is given, so the older default, {preset.mode} mode, is assumed"
            items.append((f"clients.{name}", Doubt(MissingEvidenceWarning, words)))
        elif not preset.figures_known:
            words = f"no version is given, so the older figures of {preset.mode} mode are assumed"
            items.append((f"clients.{name}", Doubt(MissingEvidenceWarning, words)))
    items += _dependency_doubts(estimates)
    for doubt in () if recovery is None else recovery.coupling.doubts:
        # The words of these begin with the part.
        part, _, words = doubt.text.partition(": ")
        if not any(words == other.text for _, other in items):
            items.append((part, Doubt(doubt.kind, words)))
    if not items:
        text = (
            "Beside published limits, client presets and the defaults of fields that the scenario leaves out nothing was "
            "assumed, and no figure is a known lower bound."
        )
        return Prose(f"<p>{text}</p>", text)
    return doubts(items)


def _dependency_doubts(estimates: Estimates) -> Iterator[tuple[str, Doubt]]:
    """A tested rate that stands in for a capacity: a load test shows what is borne, not where it ends."""
    for name, item in estimates.loaded.scenario.dependencies.items():
        if item.capacity_per_min is None:
            words = (
                f"no capacity is given, so the tested rate of {format_rate(item.tested_rate_per_min)} is taken for it, which "
                "it is only known to bear: it may collapse later and heal sooner than computed"
            )
            yield f"dependencies.{name}", Doubt(LowerBoundWarning, words)


PACKAGES = ("afterload", "numpy", "pandas", "altair", "pydantic", "papermill", "nbclient", "nbconvert", "ipykernel")


def provenance(estimates: Estimates) -> Table:
    """What this packet was made from: input and its digest, overrides, versions."""
    loaded = estimates.loaded
    rows = [("scenario", loaded.name), ("SHA-256 of the inputs", loaded.digest)]
    incident = loaded.scenario.incident
    rows += [(name, path) for name, path in (("timeline", incident.timeline), ("impacts", incident.impacts)) if path]
    if loaded.scenario.postmortem is not None and loaded.scenario.postmortem.timeline is not None:
        rows.append(("own timeline", loaded.scenario.postmortem.timeline))
    for part, section, key, _ in INSIDE:
        for name, item in getattr(loaded.scenario, part).items():
            if file := getattr(getattr(item, section), key, None):
                rows.append((f"{section.replace('_', ' ')} of {name}", file))
    for kind, named in (("export", loaded.scenario.exports), ("telemetry", loaded.scenario.telemetry)):
        rows += [(kind, file) for file in dict.fromkeys(item.file for item in named)]
    rows += [(f"override {path}", str(value)) for path, value in loaded.overrides.items()]
    rows.append(("Python", platform.python_version()))
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    return Table(("what", "which"), tuple(rows), caption="Inputs and versions")
