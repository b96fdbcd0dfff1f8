"""The plan as CSV, Markdown and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from afterload import __version__
from afterload.estimates import Estimates
from afterload.plan.build import Plan
from afterload.plan.change import DO, PlanItem
from afterload.plan.compare import Snapshot
from afterload.plan.first import First, first_changes
from afterload.plan.kept import COLUMNS, FORMULA, GONE, Kept, added, added_columns, entries, gone, owner_agreed
from afterload.plan.measures import COLUMNS as MEASURE_COLUMNS
from afterload.plan.measures import measure_lines, still_words
from afterload.plan.whole import Worsened, mind, worsened, worsened_words
from afterload.plan.wording import effort_and_risk, minutes_bought, money_words, stale_bought, worth
from afterload.plan.worth import Worth
from afterload.units import format_minutes

__all__ = [
    "entered_words",
    "fenced",
    "formula_safe",
    "plain_markdown",
    "plan_csv",
    "plan_json",
    "plan_markdown",
    "plan_records",
]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")


def plan_records(plan: Plan, kept: Kept | None = None) -> list[dict[str, Any]]:
    """One record a line of the plan, in order, with numbers as numbers and None where they are not known.

    ``kept`` is what people entered in an earlier run's file; entries of lines that are gone stand at the end.
    """
    entered = kept or {}
    records = [_record(place, plan, item, entered) for place, item in enumerate(plan.items, 1)]
    blank = dict.fromkeys(records[0])
    records += [
        {
            **blank,
            "id": name,
            "status": GONE,
            **{column: entry.get(column, "") for column in COLUMNS},
            "added": added(entry),
            "apply": [],
            "undo": [],
            "terraform": [],
            "edit": {},
            "measures": {},
            "parts": {},
        }
        for name, entry in gone(entered, (item.id for item in plan.items)).items()
    ]
    return records


def _record(place: int, plan: Plan, item: PlanItem, kept: Kept) -> dict[str, Any]:
    change = plan.change(item)
    entry = kept.get(item.id, {})
    return {
        "id": item.id,
        "place": place,
        "change": change.title,
        "target": item.target,
        "status": item.status,
        "owner": item.owner,
        **{name: entry.get(name, "") for name in COLUMNS},
        "added": added(entry),
        "evidence": item.evidence,
        "worth": worth(item),
        "mind": mind(plan, item),
        "drain_today_min": _rounded(item.today_min),
        "drain_planned_min": _rounded(item.planned_min),
        "bought_min": _rounded(item.bought_min),
        "cost_min": _rounded(item.cost_min),
        "apply": list(item.apply),
        "undo": list(item.undo),
        "terraform": list(item.terraform),
        "edit": dict(item.edit),
        "effort_days": plan.effort_days(item),
        **_money(plan, item),
        "measures": _measures(item.worths or {}),
        "parts": _by_part(item.worths or {}),
        "risk": change.risk,
        "why": change.why,
        "exercise": change.exercise,
        "reference": change.reference,
    }


def _money(plan: Plan, item: PlanItem) -> dict[str, Any]:
    """Headroom with its unit-hours a month, and amounts in the team's currency; None for what is not known."""
    head, costs, net = item.headroom, plan.costs, plan.net(item)
    stale = None if item.stale is None else item.stale.bought
    has_effort = costs is not None and costs.person_day and item.status == DO
    return {
        "headroom_unit": None if head is None else head.kind,
        "headroom_units": None if head is None else _rounded(head.units),
        "headroom_unit_hours_month": None if head is None else _rounded(head.unit_hours_month),
        "headroom_cost_month": None if head is None else _rounded(head.cost_month(costs)),
        "effort_cost": _rounded(plan.effort_days(item) * costs.person_day) if costs and has_effort else None,
        # Of the state that the money is of, else as the scenario starts.
        "stale_bought_min": _rounded(stale if net is None else net.stale_min),
        "net_year": None if net is None else _rounded(net.amount),
        "currency": None if costs is None else costs.currency,
    }


def _measures(worths: Mapping[str, Worth]) -> dict[str, Any]:
    """Every measure by starting state and by way of comparing: before, after, and P10 to P90 of the difference."""
    return {
        case: {
            way: {
                name: {
                    "before": _rounded(part.before), "after": _rounded(part.after),
                    "p10": _rounded(part.p10), "p90": _rounded(part.p90),
                }
                for name, part in parts.items()
            }
            for way, parts in zip(("alone", "in_place", "left_out"), worth.ways, strict=True)
        }
        for case, worth in worths.items()
    }  # fmt: skip


def _by_part(worths: Mapping[str, Worth]) -> dict[str, Any]:
    """The same of each part that the line touches, where there are several of a kind."""
    parts = dict.fromkeys(part for worth in worths.values() for part in worth.parts)
    return {
        part: _measures({case: worth.parts[part] for case, worth in worths.items() if part in worth.parts})
        for part in parts
    }


def _worse(item: Worsened) -> dict[str, Any]:
    return {
        "case": item.case, "part": item.part, "measure": item.measure, "today": _rounded(item.today),
        "planned": _rounded(item.planned), "cause": None if item.cause is None else item.cause.id,
        "without_cause": _rounded(item.without), "words": list(item.words),
    }  # fmt: skip


def _first(first: First) -> dict[str, Any]:
    miss = first.miss
    return {
        "id": first.item.id,
        "missed": None
        if miss is None
        else {
            "part": miss.part, "measure": miss.measure, "value": _rounded(miss.value), "limit": _rounded(miss.limit)
        },
    }  # fmt: skip


def _rounded(minutes: float | None) -> float | None:
    return None if minutes is None else round(minutes, 6)


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "\n".join(value)
    if isinstance(value, dict):
        # As --set takes them.
        value = "\n".join(
            f"{path}={item if isinstance(item, str) else json.dumps(item)}" for path, item in value.items()
        )
    return "" if value is None else formula_safe(value)


def formula_safe(value: Any) -> Any:
    """Text that a spreadsheet would read as a formula with an apostrophe before it; everything else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def plan_csv(plan: Plan, kept: Kept | None = None) -> str:
    """The plan as CSV. Text that a spreadsheet would read as a formula gets an apostrophe before it.

    The columns agreed_owner, due, progress and note are people's: what they enter there is kept over reruns, and so are the
    columns that they add, which stand after ours.
    """
    out = io.StringIO()
    own = added_columns(kept or {})
    # Measures are a table for each line: they stand in the JSON.
    records = [
        {
            **{key: value for key, value in record.items() if key not in ("measures", "parts", "added")},
            **{name: record["added"].get(name, "") for name in own},
        }
        for record in plan_records(plan, kept)
    ]
    # A heading that people gave is a text like any other.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([formula_safe(name) for name in records[0]])
    writer.writerows([_cell(value) for value in record.values()] for record in records)
    return out.getvalue()


def plan_json(plan: Plan, estimates: Estimates, kept: Kept | None = None) -> str:
    """The plan as JSON, with team, incident, input digest and version."""
    loaded = estimates.loaded
    scenario = loaded.scenario
    document = {
        "team": scenario.team,
        "hypothetical": scenario.hypothetical,
        "incident": scenario.incident.name,
        "trigger": scenario.incident.trigger.isoformat(),
        "restored_at": scenario.incident.restored_at.isoformat(),
        "recovery_objective_min": scenario.recovery_objective_min,
        "input_sha256": loaded.digest,
        "afterload": __version__,
        "worse_than_today": [_worse(item) for item in worsened(plan)],
        "first": [_first(item) for item in first_changes(plan, {"fresh": scenario.recovery_objective_min})],
        "changes": plan_records(plan, kept),
        "snapshot": Snapshot.of(estimates, plan).record(),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", text)


def fenced(lines: tuple[str, ...], language: str) -> list[str]:
    """Lines as a block of code, fenced by more ticks than any of them holds."""
    ticks = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0))
    return [f"{ticks}{language}", *lines, ticks]


def _measure_table(item: PlanItem) -> list[str]:
    """Every measure that a line moves, with P10 to P90 of its difference, as a table."""
    found = measure_lines(item)
    if item.worths is None:
        return []
    if not found.rows:
        return ["", still_words(found)]
    rows = [f"| {' | '.join(plain_markdown(cell) for cell in row)} |" for row in (MEASURE_COLUMNS, *found.rows)]
    return ["", rows[0], f"|{' --- |' * len(MEASURE_COLUMNS)}", *rows[1:], "", still_words(found)]


def entered_words(entry: Mapping[str, str]) -> str:
    """What people entered for a line, in one line of Markdown; empty text for nothing."""
    return "; ".join(f"{plain_markdown(name)} {plain_markdown(text)}" for name, text in entries(entry))


def plan_markdown(plan: Plan, estimates: Estimates, kept: Kept | None = None) -> str:
    """The plan as Markdown: a table of all lines, then each with its evidence, commands and exercise.

    ``kept`` is what people entered in an earlier run's CSV: an agreed owner stands in place of the scenario's, the rest
    with its line, and entries of lines that are gone at the end.
    """
    loaded = estimates.loaded
    entered = kept or {}
    scenario = loaded.scenario
    made_up = " The numbers are hypothetical." if scenario.hypothetical else ""
    lines = [
        f"# Change plan: {plain_markdown(scenario.team)}",
        "",
        f"{plain_markdown(scenario.incident.name)}. Objective: {format_minutes(scenario.recovery_objective_min)}.{made_up}",
        *(line for words in worsened_words(plan) for line in ("", plain_markdown(words))),
        "",
        "| # | Change | Where | Status | Stale bought | Drain bought | Owner |",
        "| ---: | --- | --- | --- | ---: | ---: | --- |",
    ]
    for place, item in enumerate(plan.about, 1):
        owner = owner_agreed(entered, item.id, item.owner)
        minutes = stale_bought(item), minutes_bought(item)
        cells = (str(place), plan.change(item).title, item.target, item.status, *minutes, owner)
        lines.append(f"| {' | '.join(plain_markdown(cell) for cell in cells)} |")
    if plan.absent:
        names = ", ".join(plain_markdown(change.title[0].lower() + change.title[1:]) for change in plan.absent)
        lines += ["", f"The scenario has nothing for: {names}."]
    for place, item in enumerate(plan.about, 1):
        change = plan.change(item)
        lines += [
            "",
            f"## {place}. {plain_markdown(change.title)}{f': {plain_markdown(item.target)}' if item.target else ''}",
            "",
        ]
        lines += [
            f"Status: {item.status}.{f' Owner: {plain_markdown(item.owner)}.' if item.owner else ''} "
            f"{plain_markdown(change.why)}",
            "",
        ]
        if words := entered_words(entered.get(item.id, {})):
            lines += [f"Entered: {words}.", ""]
        lines += [f"Evidence: {plain_markdown(item.evidence)}"]
        if worth(item):
            lines += ["", f"Worth: {plain_markdown(worth(item))}"]
        if mind(plan, item):
            lines += ["", f"Mind: {plain_markdown(mind(plan, item))}"]
        lines += _measure_table(item)
        if money_words(plan, item):
            lines += ["", f"Money: {plain_markdown(money_words(plan, item))}"]
        if effort_and_risk(plan, item):
            lines += ["", f"Effort and risk: {plain_markdown(effort_and_risk(plan, item))}"]
        for word, commands in (("Apply", item.apply), ("Undo", item.undo), ("Terraform", item.terraform)):
            if commands:
                lines += ["", f"{word}:", "", *fenced(commands, "hcl" if word == "Terraform" else "sh")]
        lines += [
            "",
            f"Exercise: {plain_markdown(change.exercise)}",
            "",
            f"Reference: {plain_markdown(change.reference)}",
        ]
    left = gone(entered, (item.id for item in plan.items))
    if left:
        lines += ["", f"## Entered for lines that are {GONE}", ""]
        lines += [f"- {plain_markdown(name)}: {entered_words(entry)}" for name, entry in left.items()]
    lines += ["", f"Input SHA-256 {loaded.digest}, Afterload {__version__}."]
    return "\n".join(lines) + "\n"
