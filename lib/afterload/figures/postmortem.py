"""The postmortem chapter: the team's account of the event beside what is computed. Texts only; charts stand apart."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from afterload.errors import ModelError
from afterload.estimates import Estimates
from afterload.figures.alignment import alignment_of
from afterload.figures.causes import causes_table
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.postmortem_charts import MISSED, NO_POSTMORTEM, durations_figure, timeline_figure
from afterload.figures.timeline import clock_time
from afterload.figures.words import minutes_or_never, paragraph, span
from afterload.findings import split_windows
from afterload.findings.postmortem import causes, durations, gaps
from afterload.model.windows import split
from afterload.plan import DO, Plan
from afterload.plan.change import counted
from afterload.plan.kept import Kept, owner_agreed
from afterload.plan.wording import worth
from afterload.recovery.build import Coupling
from afterload.scenario import LoadedScenario
from afterload.scenario.evidence_schema import Action, Postmortem
from afterload.units import format_count, format_instant, format_minutes, format_number

__all__ = [
    "actions_table",
    "gaps_table",
    "impact_table",
    "interactions_table",
    "postmortem_answer",
    "proposals_table",
    "sections",
    "split_table",
]

IMPACT, SPLIT = "Impact", "Before and after the restore"
INTERACTIONS = "Interactions that were not controlled well enough"
ACTIONS, PROPOSALS, GAPS = "Actions", "Proposed from the change plan", "What this account leaves open"


def sections(
    estimates: Estimates, plan: Plan, coupling: Coupling | None, kept: Kept | None = None
) -> tuple[tuple[str, Figure | Table | Prose], ...]:
    """The chapter in order, each part with its heading, for the form that stands alone. One source for both forms."""
    loaded = estimates.loaded
    parts: tuple[tuple[str, Figure | Table | Prose], ...] = (
        ("Summary", postmortem_answer(loaded)),
        (IMPACT, impact_table(estimates)),
        ("Timeline", timeline_figure(loaded)),
        ("Our events beside the provider's timeline", alignment_of(loaded)),
        (SPLIT, split_table(loaded)),
        ("Durations", durations_figure(estimates)),
        ("What began it and what sustained it", causes_table(estimates, coupling)),
        (INTERACTIONS, interactions_table(loaded)),
        (ACTIONS, actions_table(loaded, plan)),
        (PROPOSALS, proposals_table(loaded, plan, kept or {})),
        (GAPS, gaps_table(estimates, plan, coupling)),
    )
    return parts


def postmortem_answer(loaded: LoadedScenario) -> Prose:
    """What happened in the team's words, then the intervals and the roles."""
    scenario, account = loaded.scenario, loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    made_up = "Hypothetical: this account and its numbers are made up." if scenario.hypothetical else ""
    lines = [*_paragraphs(account.summary), *_paragraphs(f"Impact: {account.impact}" if account.impact else "")]
    lines.append(_intervals(loaded, account))
    if account.roles:
        lines.append(f"Roles: {'; '.join(f'{role.role}: {role.held_by}' for role in account.roles)}.")
    html = f'<p class="af-warning">{made_up}</p>' if made_up else ""
    html += "".join(f"<p>{escape(line)}</p>" for line in lines)
    return Prose(html, "\n".join([made_up, *lines] if made_up else lines))


def _paragraphs(text: str) -> list[str]:
    """A text of several lines as paragraphs: an empty line parts them, a single break does not."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _intervals(loaded: LoadedScenario, account: Postmortem) -> str:
    scenario = loaded.scenario
    detect, mitigate, restore, recover, _ = durations(loaded)
    by = f" by {account.detected_by}" if account.detected_by else ""
    parts = [f"Trigger {format_instant(scenario.incident.trigger, scenario.time_zone)}"]
    parts.append("time to detect not given" if detect.minutes is None else f"detected{by} after {span(detect.minutes)}")
    parts.append(
        "time to bound the harm not given"
        if mitigate.minutes is None
        else f"harm bounded {span(mitigate.minutes)} later"
    )
    parts.append(f"dependency back {span(restore.minutes)} after the trigger")
    if recover.minutes is None:
        return f"{'; '.join(parts)}; time to recover not given."
    objective = scenario.recovery_objective_min
    over = recover.minutes - objective
    verdict = "met" if over <= 0 else MISSED.format(format_minutes(over))
    return (
        f"{'; '.join(parts)}; normal again {span(recover.minutes)} after the restore. The objective of "
        f"{format_minutes(objective)} from the restore was {verdict}."
    )


def impact_table(estimates: Estimates) -> Table | Prose:
    """Numbers of the impact: those that the team counted, then those computed from its scenario."""
    account = estimates.loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    rows = [
        (item.what, f"{format_number(item.value, 6)} {item.unit}", "stated", item.source or "not given")
        for item in account.impact_numbers
    ]
    rows += [(what, number, "computed", estimates.loaded.name) for what, number in _computed(estimates)]
    if not rows:
        return paragraph("The account gives no numbers of the impact, and the scenario has no queue to compute any.")
    return Table(("what", "how many", "basis", "source"), tuple(rows), frozenset({"how many"}), IMPACT)


def _computed(estimates: Estimates) -> Iterator[tuple[str, str]]:
    queue = estimates.worst_queue
    if queue is not None:
        waiting = queue.recovery.backlog_at_restore
        yield f"waiting in {queue.name} at the restore", counted(waiting, "item")
        yield f"stale processing of {queue.name}, outage and drain", minutes_or_never(queue.stale_min)
    for words, number in (
        ("refused while the dependency was away", sum(item.rejected for item in estimates.queues.values())),
        ("expired and recorded", sum(item.expired_recorded for item in estimates.queues.values())),
        ("lost without a record", sum(item.lost for item in estimates.queues.values())),
    ):
        if number > 0:
            yield words, counted(number, "item")


def split_table(loaded: LoadedScenario) -> Table | Prose:
    """What reached past the restore: the team's own event, then the windows of the incident, longest first."""
    scenario, account = loaded.scenario, loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    incident, zone = scenario.incident, scenario.time_zone
    rows = []
    if account.recovered_at is not None:
        minutes = [(at - incident.restored_at).total_seconds() / 60 for at in (incident.trigger, account.recovered_at)]
        before, after = split(minutes[0], minutes[1], 0.0)
        rows.append((f"{scenario.team}, this account", incident.trigger, account.recovered_at, before, after))
    windows = split_windows(loaded)
    lasting = sorted((item for item in windows if item.after_min > 0), key=lambda item: -item.after_min)
    rows += [
        (item.window.service, item.window.start, item.window.end, item.before_min, item.after_min) for item in lasting
    ]
    if not rows:
        return paragraph(
            "No impact window reaches past the restore."
            if loaded.impacts
            else "There is nothing to split at the restore: give recovered_at, or name a file under incident.impacts."
        )
    rest = len(windows) - len(lasting)
    ended = f"; {counted(rest, 'more window')} ended before it, and the timeline chapter draws them all" if rest else ""
    return Table(
        ("service", "from", "to", "before, min", "after, min"),
        tuple(
            (name, clock_time(start, zone), clock_time(end, zone), format_count(before), format_count(after))
            for name, start, end, before, after in rows
        ),
        frozenset({"before, min", "after, min"}),
        f"{SPLIT}, times in {zone.key}{ended}",
    )


def interactions_table(loaded: LoadedScenario) -> Table | Prose:
    """Who acted on what feedback, and what was missing."""
    account = loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    if not account.interactions:
        return paragraph("The account names no interaction that was not controlled well enough.")
    rows = tuple((item.controller, item.action, item.feedback, item.missing) for item in account.interactions)
    return Table(("controller", "what it did", "what it saw", "what was missing"), rows, caption=INTERACTIONS)


def actions_table(loaded: LoadedScenario, plan: Plan) -> Table | Prose:
    """Actions by due date, those without one last; what each buys where it carries out a line of the plan."""
    account = loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    if not account.actions:
        return paragraph("The account names no actions.")
    ordered = sorted(account.actions, key=lambda action: (action.due is None, action.due or ""))
    rows = tuple(
        (action.text, action.owner or "not given", action.due or "not given", action.status, _worth(action, plan))
        for action in ordered
    )
    return Table(("action", "owner", "due", "status", "worth, computed"), rows, caption=ACTIONS, status="status")


def _worth(action: Action, plan: Plan) -> str:
    if action.change is None:
        return ""
    line = next((item for item in plan.items if item.id == action.change), None)
    if line is None:
        return "names no line of the change plan"
    return worth(line) if line.status == DO else f"{line.status} by the change plan"


def proposals_table(loaded: LoadedScenario, plan: Plan, kept: Kept) -> Table | Prose:
    """Lines of the plan that are open and that no action carries out; the owner is the one agreed on, if there is one."""
    account = loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    taken = {action.change for action in account.actions}
    left = [item for item in plan.open if item.id not in taken]
    if not left:
        return paragraph("Every open line of the change plan is among the actions, or none is open.")
    owners = [(item, owner_agreed(kept, item.id, item.owner) or "not given") for item in left]
    some = any(owner_agreed(kept, item.id, "") for item in left)
    agreed = "with the owners agreed on in the plan" if some else "agreed by nobody"
    return Table(
        ("change", "worth, computed", "owner", "id for an action"),
        tuple((plan.change(item).title, worth(item), owner, item.id) for item, owner in owners),
        caption=f"{PROPOSALS}: computed, {agreed}",
    )


def gaps_table(estimates: Estimates, plan: Plan, coupling: Coupling | None) -> Table | Prose:
    """What the account leaves open, by its fields."""
    loaded, account = estimates.loaded, estimates.loaded.scenario.postmortem
    if account is None:
        return paragraph(NO_POSTMORTEM)
    known = {item.id for item in plan.items}
    rows = list(gaps(loaded, causes(estimates, coupling)))
    rows += [
        (f"actions.{place}.change", f"'{action.change}' is not a line of the change plan")
        for place, action in enumerate(account.actions)
        if action.change is not None and action.change not in known
    ]
    if not rows:
        return paragraph(
            "The account gives every instant, an owner and a date for every open action, and fits the figures."
        )
    for field, _ in rows:
        if field.split(".")[0] not in Postmortem.model_fields:
            raise ModelError(f"{field} is no field of a postmortem: please report this")
    return Table(
        ("field", "what is open"), tuple((f"postmortem.{field}", words) for field, words in rows), caption=GAPS
    )
