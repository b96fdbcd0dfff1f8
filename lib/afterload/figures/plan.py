"""The plan chapter: every change with its evidence, worth, price, commands and exercise."""

from __future__ import annotations

from html import escape
from typing import Any

from afterload.estimates import Estimates
from afterload.figures.charts import AFTER, BEFORE, alt, drawn, finish
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.plan import DO, IN_PLACE, NEEDS_EVIDENCE, Plan, PlanItem
from afterload.plan.change import counted
from afterload.plan.wording import minutes_bought, worth
from afterload.units import format_minutes

__all__ = ["plan_answer", "plan_details", "plan_table", "worth_figure"]


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
    lines.append(
        "Order: the guide's order of change, then minutes bought. Minutes stand where backlog arithmetic gives them; "
        "a change whose minutes need the coupled model shows the quantity that it bounds. Words in capitals in a "
        "command, such as MAPPING_UUID, stand for your own names."
    )
    return sentence_list(lines)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def plan_table(plan: Plan) -> Table:
    """All lines of the plan, short."""
    records = [
        {
            "#": str(place),
            "change": plan.change(item).title,
            "where": item.target,
            "status": item.status,
            "minutes bought": minutes_bought(item),
            "owner": item.owner,
        }
        for place, item in enumerate(plan.items, 1)
    ]
    formats: dict[str, Any] = dict.fromkeys(records[0], str) | {"#": _same, "minutes bought": _same}
    return Table.of(records, formats, caption="The plan in order", status="status")


def _same(text: str) -> str:
    return text


def worth_figure(plan: Plan, estimates: Estimates) -> Figure | Prose:
    """Drain today and with each change alone."""
    timed = [item for item in plan.open if item.today_min is not None and item.planned_min is not None]
    if not timed:
        return paragraph(
            "No open change has minutes from backlog arithmetic alone, so there is no drain to compare. Each line below "
            "says what it bounds."
        )
    values: list[dict[str, Any]] = []
    records = []
    shown, notes = drawn(timed, lambda item: abs((item.today_min or 0.0) - (item.planned_min or 0.0)))
    for item in timed:
        label = _label(item)
        if item in shown:
            values += [
                {"change": label, "when": "today", "drain": round(item.today_min or 0.0, 4)},
                {"change": label, "when": "with this change", "drain": round(item.planned_min or 0.0, 4)},
            ]
        records.append(
            {
                "change": label,
                "drain today": item.today_min,
                "drain with it": item.planned_min,
                "minutes bought": item.bought_min,
                "minutes it costs": item.cost_min,
                "price": item.price or "none in work or time",
            }
        )
    bars = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("drain", type="quantitative", title="drain after the restore, min", axis=alt.Axis(format=",~f")),
            y=alt.Y("change", type="nominal", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
            yOffset=alt.YOffset("when", type="nominal", sort=["today", "with this change"]),
            color=alt.Color(
                "when",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=["today", "with this change"], range=[BEFORE, AFTER]),
            ),
            tooltip=[
                alt.Tooltip("change", type="nominal"),
                alt.Tooltip("when", type="nominal"),
                alt.Tooltip("drain", type="quantitative", title="drain, min", format=",.1f"),
            ],
        )
    )
    return Figure(
        title="Drain today and with each change alone",
        chart=finish(bars, height=max(110, 60 * len(shown))),
        table=Table.of(
            records,
            {
                "change": str,
                "drain today": format_minutes,
                "drain with it": format_minutes,
                "minutes bought": format_minutes,
                "minutes it costs": format_minutes,
                "price": str,
            },
        ),
        source=f"{estimates.loaded.name} and the closed forms of the backlog chapter",
        method="The queue is computed again with this change alone; the difference of the two drains is what it buys.",
        notes=notes,
        alt="Pairs of bars, the drain today and with one change. "
        + " ".join(
            f"{_label(item)}: {format_minutes(item.today_min or 0.0)} today, {format_minutes(item.planned_min or 0.0)} with it."
            for item in timed
        ),
    )


def _label(item: PlanItem) -> str:
    return f"{item.change} on {item.target.removeprefix('queues.')}"


def plan_details(plan: Plan) -> Prose:
    """Every line whole: evidence, worth, price, owner, commands, exercise, reference."""
    html, text = [], []
    for place, item in enumerate(plan.items, 1):
        change = plan.change(item)
        title = f"{place}. {change.title}{f': {item.target}' if item.target else ''}"
        facts = [
            ("Owner", item.owner),
            ("Why", change.why),
            ("Evidence", item.evidence),
            ("Worth", worth(item)),
            ("Exercise", change.exercise),
            ("Reference", change.reference),
        ]
        shown = [(name, value) for name, value in facts if value]
        rows = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in shown)
        html.append(
            f'<section class="af-change"><h3>{escape(title)} '
            f'<span class="af-status-{item.status.replace(" ", "-")}">{item.status}</span></h3><dl>{rows}'
            f"{_block('Apply', item.apply)}{_block('Undo', item.undo)}</dl></section>"
        )
        lines = [f"{title} [{item.status}]", *(f"  {name}: {value}" for name, value in shown)]
        for word, commands in (("Apply", item.apply), ("Undo", item.undo)):
            lines += [f"  {word}: {command}" for command in commands]
        text.append("\n".join(lines))
    return Prose("".join(html), "\n\n".join(text))


def _block(word: str, commands: tuple[str, ...]) -> str:
    if not commands:
        return ""
    return f"<dt>{word}</dt><dd><pre><code>{escape(chr(10).join(commands))}</code></pre></dd>"
