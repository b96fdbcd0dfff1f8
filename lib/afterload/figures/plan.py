"""The plan chapter: every change with its evidence, worth, price, commands and exercise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

from afterload.figures.figure import Prose, Table
from afterload.figures.words import sentence_list
from afterload.plan import DO, IN_PLACE, NEEDS_EVIDENCE, Plan, PlanItem
from afterload.plan.change import counted
from afterload.plan.kept import GONE, NOTHING_ENTERED, Entered, added, entries, gone, owner_agreed
from afterload.plan.measures import COLUMNS, measure_lines, still_words
from afterload.plan.whole import mind, worsened_words
from afterload.plan.wording import effort_and_risk, minutes_bought, money_words, short_worth, stale_bought, worth

__all__ = ["plan_answer", "plan_details", "plan_table"]

# Minutes bought below this are those of rounding.
ROUNDING_MIN = 1e-6

ORDER_WORDS = {
    "guide": "the guide's order of change, then minutes bought",
    "minutes": "minutes bought",
    "effort": "minutes bought a person-day",
    "cost": "what a year with the change saves in stale minutes, less its lost items, effort and headroom",
}


def plan_answer(plan: Plan, entered: Entered = NOTHING_ENTERED) -> Prose:
    """The plan in words: how many lines are open, which buys most, and for how many of them people entered something."""
    count = {status: sum(item.status == status for item in plan.items) for status in (DO, NEEDS_EVIDENCE, IN_PLACE)}
    lines = worsened_words(plan)
    lines += [
        f"{counted(count[DO], 'change').capitalize()} {_is(count[DO])} to do, {count[NEEDS_EVIDENCE] or 'none'} "
        f"{'needs' if count[NEEDS_EVIDENCE] == 1 else 'need'} evidence first, {count[IN_PLACE] or 'none'} "
        f"{_is(count[IN_PLACE])} in place."
    ]
    lines += _best(plan)
    lines += _told(plan, entered)
    lines.append(
        f"Order: {ORDER_WORDS[plan.order]}. Minutes are those of the coupled recovery with the change alone: stale, until "
        "first-attempt age is at baseline, which the objective is about, and of drain, until the backlog is empty; a change "
        "without minutes says what else it bounds, and one that buys nothing here says so. Words in capitals in a "
        "command, such as MAPPING_UUID, stand for your own names."
    )
    if plan.appraisal is not None and any(item.worths is not None for item in plan.open):
        draws = plan.appraisal.draws
        lines.append(
            "In brackets behind a measure stands P10 to P90 of its difference "
            + (f"over {draws:,} draws of the uncertain inputs." if draws else
               "over draws of uncertain inputs: this scenario has none, so that both are the difference itself.")
        )  # fmt: skip
    if plan.absent:
        names = ", ".join(_inside(change.title) for change in plan.absent)
        lines.append(
            f"The scenario has nothing for {len(plan.absent)} of {len(plan.changes)} changes of the catalogue: {names}."
        )
    return sentence_list(lines)


def _best(plan: Plan) -> Iterator[str]:
    """The line that buys most of the drain, in a sentence; what else it bounds and costs stands with the line."""
    ending = [item for item in plan.open if item.drain is not None and item.drain.ended]
    timed = [item for item in plan.open if (item.bought_min or 0.0) > ROUNDING_MIN]
    if ending:
        best = min(ending, key=lambda item: item.planned_min or 0.0)
        which = "The change that alone ends the drain soonest"
    elif timed:
        best, which = max(timed, key=lambda item: item.bought_min or 0.0), "The change with the most minutes"
    else:
        return
    line = f"line {plan.about.index(best) + 1}, {_inside(plan.change(best).title)} on {best.target}"
    yield f"{which} is {line}. {short_worth(best)}"


def _told(plan: Plan, entered: Entered) -> Iterator[str]:
    """For how many lines people entered something, and what became of the rest."""
    if entered.problem:
        yield f"What people entered beside an earlier plan cannot be shown: {entered.problem}."
    told = [entry for entry in entered.kept.values() if any(entry.values())]
    if not told:
        return
    left = gone(entered.kept, (item.id for item in plan.items))
    parts = ["an owner", "a due date", "progress", "a note"]
    if any(any(added(entry).values()) for entry in told):
        parts.append("something in a column of their own")
    words = f"People have entered {', '.join(parts[:-1])} or {parts[-1]} for {counted(len(told), 'line')}"
    if left:
        words += f", of which {len(left)} {_is(len(left))} {GONE}"
    yield f"{words}."


def _inside(title: str) -> str:
    """A title within a sentence."""
    return title[0].lower() + title[1:]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def plan_table(plan: Plan, entered: Entered = NOTHING_ENTERED) -> Table:
    """All lines of the plan, short; each leads to its section of :func:`plan_details`.

    The owner is the one agreed on, where people entered one; due date and progress have columns if any line has them.
    """
    told = {item.id: dict(entries(entered.kept.get(item.id, {}))) for item in plan.about}
    columns = [name for name in ("due", "progress") if any(name in entry for entry in told.values())]
    records = [
        {
            "#": str(place),
            "change": plan.change(item).title,
            "where": item.target,
            "status": item.status,
            "stale bought": stale_bought(item),
            "drain bought": minutes_bought(item),
            "owner": owner_agreed(entered.kept, item.id, item.owner),
            **{name: told[item.id].get(name, "") for name in columns},
        }
        for place, item in enumerate(plan.about, 1)
    ]
    if not records:
        columns = ["#", "change", "where", "status", "stale bought", "drain bought", "owner"]
        return Table(tuple(columns), (), caption="The plan has no lines here")
    formats: dict[str, Any] = dict.fromkeys(records[0], str) | dict.fromkeys(
        ("#", "stale bought", "drain bought"), _same
    )
    table = Table.of(records, formats, caption="The plan in order", status="status")
    return replace(table, linked="change", links=tuple(_anchor(place) for place in range(1, len(records) + 1)))


def _anchor(place: int) -> str:
    """The name in the page of the section of one line."""
    return f"plan-line-{place}"


def _same(text: str) -> str:
    return text


def plan_details(plan: Plan, entered: Entered = NOTHING_ENTERED) -> Prose:
    """Every line whole: owner, evidence and worth, and behind a summary measures, price, exercise and commands.

    What people entered stands with its line; what they entered for lines that are gone, at the end.
    """
    html, text = [], []
    for place, item in enumerate(plan.about, 1):
        change = plan.change(item)
        title = f"{place}. {change.title}{f': {item.target}' if item.target else ''}"
        facts = [
            ("Owner", item.owner),
            *((f"{name[0].upper()}{name[1:]}", told) for name, told in entries(entered.kept.get(item.id, {}))),
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
    for part, words in _left(plan, entered):
        html.append(part)
        text.append(words)
    return Prose("".join(html), "\n\n".join(text))


def _left(plan: Plan, entered: Entered) -> Iterator[tuple[str, str]]:
    """What people entered for lines that are gone, as HTML and as text; nothing where all lines are still there."""
    facts = [
        (name, "; ".join(f"{what} {told}" for what, told in entries(entry)))
        for name, entry in gone(entered.kept, (item.id for item in plan.items)).items()
    ]
    if facts:
        title = f"Entered for lines that are {GONE}"
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in facts)
        html = f'<section class="af-change"><h3>{title}</h3><dl>{rows}</dl></section>'
        yield html, "\n".join([title, *(f"  {name}: {words}" for name, words in facts)])


def _summary(item: PlanItem) -> str:
    """What stands behind the summary of a line, in words."""
    parts = ["Measures"] if item.worths is not None else []
    parts += ["price"] if item.status == DO else []
    parts += ["commands"] if item.apply or item.undo or item.terraform else []
    parts += ["exercise"]
    words = f"{', '.join(parts)} and reference"
    return words[0].upper() + words[1:]


def _facts(facts: list[tuple[str, str]]) -> str:
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts if value)


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
