"""The plan chapter: every change with its evidence, worth, price, commands and exercise."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

from afterload.figures.figure import Prose, Table
from afterload.figures.words import sentence_list
from afterload.plan import DO, IN_PLACE, NEEDS_EVIDENCE, Plan, PlanItem
from afterload.plan.change import counted
from afterload.plan.measures import COLUMNS, measure_lines, still_words
from afterload.plan.whole import mind, worsened_words
from afterload.plan.wording import effort_and_risk, minutes_bought, money_words, worth

__all__ = ["plan_answer", "plan_details", "plan_table"]


ORDER_WORDS = {
    "guide": "the guide's order of change, then minutes bought",
    "minutes": "minutes bought",
    "effort": "minutes bought a person-day",
    "cost": "what a year with the change saves in stale minutes, less its lost items, effort and headroom",
}


def plan_answer(plan: Plan) -> Prose:
    """The plan in words: how many lines are open, and the first of them."""
    count = {status: sum(item.status == status for item in plan.items) for status in (DO, NEEDS_EVIDENCE, IN_PLACE)}
    lines = [
        f"{counted(count[DO], 'change').capitalize()} {_is(count[DO])} to do, {count[NEEDS_EVIDENCE] or 'none'} "
        f"{'needs' if count[NEEDS_EVIDENCE] == 1 else 'need'} evidence first, {count[IN_PLACE] or 'none'} "
        f"{_is(count[IN_PLACE])} in place."
    ]
    timed = [item for item in plan.open if item.bought_min]
    if timed:
        best = max(timed, key=lambda item: item.bought_min or 0.0)
        lines.append(
            f"The change with the most minutes is {plan.change(best).title.lower()} on {best.target}: {worth(best)}"
        )
    lines += worsened_words(plan)
    lines.append(
        f"Order: {ORDER_WORDS[plan.order]}. Minutes are those of the coupled recovery with the change alone; a change "
        "without minutes says what else it bounds, and one that buys nothing here says so. Words in capitals in a "
        "command, such as MAPPING_UUID, stand for your own names."
    )
    if plan.appraisal is not None and timed:
        draws = plan.appraisal.draws
        lines.append(
            "In brackets behind a measure stands P10 to P90 of its difference "
            + (f"over {draws:,} draws of the uncertain inputs." if draws else
               "over draws of uncertain inputs: this scenario has none, so that both are the difference itself.")
        )  # fmt: skip
    if plan.absent:
        names = ", ".join(change.title[0].lower() + change.title[1:] for change in plan.absent)
        lines.append(
            f"The scenario has nothing for {len(plan.absent)} of {len(plan.changes)} changes of the catalogue: {names}."
        )
    return sentence_list(lines)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def plan_table(plan: Plan) -> Table:
    """All lines of the plan, short; each leads to its section of :func:`plan_details`."""
    records = [
        {
            "#": str(place),
            "change": plan.change(item).title,
            "where": item.target,
            "status": item.status,
            "minutes bought": minutes_bought(item),
            "owner": item.owner,
        }
        for place, item in enumerate(plan.about, 1)
    ]
    if not records:
        return Table(
            ("#", "change", "where", "status", "minutes bought", "owner"), (), caption="The plan has no lines here"
        )
    formats: dict[str, Any] = dict.fromkeys(records[0], str) | {"#": _same, "minutes bought": _same}
    table = Table.of(records, formats, caption="The plan in order", status="status")
    return replace(table, linked="change", links=tuple(_anchor(place) for place in range(1, len(records) + 1)))


def _anchor(place: int) -> str:
    """The name in the page of the section of one line."""
    return f"plan-line-{place}"


def _same(text: str) -> str:
    return text


def plan_details(plan: Plan) -> Prose:
    """Every line whole: owner, evidence and worth, and behind a summary measures, price, exercise and commands."""
    html, text = [], []
    for place, item in enumerate(plan.about, 1):
        change = plan.change(item)
        title = f"{place}. {change.title}{f': {item.target}' if item.target else ''}"
        facts = [
            ("Owner", item.owner),
            ("Why", change.why),
            ("Evidence", item.evidence),
            ("Worth", worth(item)),
            ("Mind", mind(plan, item)),
        ]
        rest = [
            ("Money", money_words(plan, item)),
            ("Effort and risk", effort_and_risk(plan, item)),
            ("Exercise", change.exercise),
            ("Reference", change.reference),
        ]
        rows, others = _facts(facts), _facts(rest)
        html.append(
            f'<section class="af-change" id="{_anchor(place)}"><h3>{escape(title)} '
            f'<span class="af-status-{item.status.replace(" ", "-")}">{item.status}</span></h3><dl>{rows}</dl>'
            f'<details class="af-more"><summary>{_summary(item)} of line {place}</summary>{_measures_html(item)}<dl>{others}'
            f"{_block('Apply', item.apply)}{_block('Undo', item.undo)}{_block('Terraform', item.terraform)}</dl>"
            "</details></section>"
        )
        lines = [f"{title} [{item.status}]", *(f"  {name}: {value}" for name, value in facts if value)]
        lines += [f"  {line}" for line in _measures_text(item)]
        lines += [f"  {name}: {value}" for name, value in rest if value]
        for word, commands in (("Apply", item.apply), ("Undo", item.undo), ("Terraform", item.terraform)):
            lines += [f"  {word}: {command}" for command in commands]
        text.append("\n".join(lines))
    return Prose("".join(html), "\n\n".join(text))


def _summary(item: PlanItem) -> str:
    """What stands behind the summary of a line, in words."""
    parts = ["Measures"] if item.worths is not None else []
    parts += ["price"] if item.status == DO else []
    parts += ["commands"] if item.apply or item.undo or item.terraform else []
    parts += ["exercise"]
    words = f"{', '.join(parts)} and reference"
    return words[0].upper() + words[1:]


def _facts(facts: list[tuple[str, str]]) -> str:
    return "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts if value)


def _measures_html(item: PlanItem) -> str:
    """The measures that a line moves, as a table that scrolls in its own frame, and those that it does not move."""
    found = measure_lines(item)
    # The keyboard reaches what scrolls.
    frame = '<div class="af-measures" tabindex="0">'
    table = f"{frame}{Table(COLUMNS, found.rows).to_html()}</div>" if found.rows else ""
    return f"{table}<p>{escape(still_words(found))}</p>" if item.worths is not None else ""


def _measures_text(item: PlanItem) -> list[str]:
    if item.worths is None:
        return []
    found = measure_lines(item)
    rows = Table(COLUMNS, found.rows).to_text().split("\n") if found.rows else []
    return [*rows, still_words(found)]


def _block(word: str, commands: tuple[str, ...]) -> str:
    if not commands:
        return ""
    return f"<dt>{word}</dt><dd><pre><code>{escape(chr(10).join(commands))}</code></pre></dd>"
