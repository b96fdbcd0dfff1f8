"""Figures of the portfolio: minutes stale by team, and the changes that buy most over all teams."""

from __future__ import annotations

from collections.abc import Sequence

from afterload.batch.changes import ChangeTotal
from afterload.batch.portfolio import Portfolio, Row
from afterload.figures.charts import AFTER, BEFORE, alt, chart_of, coloured, finish, tip
from afterload.figures.figure import Figure, Table
from afterload.findings.phrases import counted
from afterload.units import format_count, format_minutes

__all__ = ["changes_figure", "stale_figure"]

MOST_TEAMS, MOST_CHANGES = 30, 15
STALE_METHOD = (
    "Time from the restore until the first attempts of all of a team's queues are fresh again: the coupled recovery as the "
    "scenario starts, at its likely values. With the plan: the same with every open change of the team's plan in place."
)
CHANGES_METHOD = (
    "Each open line of each team's plan alone, against that team's recovery today; the sum over all teams. What ends a never "
    "comes first, and counts as teams, not as minutes; then it is ranked by minutes stale (first-attempt age back at "
    "baseline), with minutes of drain (empty backlogs) beside. Items dropped: expired, discarded or lost more than today, "
    "summed over the lines that buy and drop more. Two changes at one team overlap, so bars do not add up."
)
_SHORT = 44
# A bar of "never" is drawn this much longer than the longest that ends.
NEVER_LENGTH = 1.15


def _minutes(minutes: float | None) -> str:
    return "never" if minutes is None else format_minutes(minutes)


def stale_figure(portfolio: Portfolio) -> Figure | None:
    """Minutes stale today and with the plan, of the teams that are stale longest; None where none is stale.

    "Never" is drawn longer than every time that there is, and says so.
    """

    def longest(row: Row) -> tuple[bool, float]:
        return row.results["fresh_min"] is None, row.results["fresh_min"] or 0.0

    stale = [row for row in portfolio.rows if row.results["couples"] and longest(row) > (False, 0.0)]
    if not stale:
        return None
    shown = sorted(stale, key=lambda row: (*longest(row), row.id), reverse=True)[:MOST_TEAMS]
    rows = tuple(
        (
            portfolio.names[row.id],
            _minutes(row.results["fresh_min"]),
            _minutes(row.results["planned_fresh_min"]),
        )
        for row in shown
    )
    names = ("fresh_min", "planned_fresh_min")
    known = [row.results[name] for row in shown for name in names if row.results[name] is not None]
    endless, never = NEVER_LENGTH * max([*known, 1.0]), len(known) < 2 * len(shown)
    shown_as = _cut([portfolio.names[row.id] for row in shown])
    values = [
        {
            "team": team,
            "case": case,
            "minutes": endless if row.results[name] is None else row.results[name],
            "says": _minutes(row.results[name]),
            **({"never": "never" if row.results[name] is None else ""} if never else {}),
        }
        for team, row in zip(shown_as, shown, strict=True)
        for case, name in zip(("today", "with the plan"), names, strict=True)
    ]
    notes = ["A bar of “never” is drawn longer than every time that ends."] if never else []
    if len(stale) > len(shown):
        notes.append(f"The {len(shown)} teams that are stale longest of {len(stale):,}; the portfolio has them all.")
    base = chart_of(values).encode(
        y=alt.Y("team", type="nominal", sort=[item["team"] for item in values], title=None),
        x=alt.X("minutes", type="quantitative", title="minutes from the restore to first-attempt age at baseline"),
        yOffset=alt.YOffset("case", type="nominal", sort=["today", "with the plan"]),
        tooltip=[tip("team"), tip("case"), tip("says", title="minutes")],
    )  # fmt: skip
    colour = coloured("case", {"today": BEFORE, "with the plan": AFTER})
    chart = base.mark_bar().encode(color=colour)
    if never:
        chart += base.mark_text(align="right", dx=-4, color="white").encode(text=alt.Text("never", type="nominal"))
    first = f"{rows[0][0]}: {rows[0][1]} today, {rows[0][2]} with the plan"
    return Figure(
        title="Stale longest, today and with the plan",
        chart=finish(chart, max(160, 24 * len(shown)), "Minutes stale by team"),
        table=Table(
            ("Team", "Minutes stale today", "With the plan"), rows, frozenset({"Minutes stale today", "With the plan"})
        ),
        source="scenarios of the teams",
        method=STALE_METHOD,
        alt=f"Bars of minutes stale for {counted(len(shown), 'team')}, today and with the plan. Longest: {first}.",
        notes=tuple(notes),
    )


def _cut(names: Sequence[str]) -> list[str]:
    """Names as long as there is room for; those that look the same when cut get a number, since one name is one bar."""
    found: list[str] = []
    for name in names:
        cut = name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}…"
        number = 2
        while cut in found:
            cut, number = f"{name[: _SHORT - 5]}… ({number})", number + 1
        found.append(cut)
    return found


def changes_figure(portfolio: Portfolio) -> Figure | None:
    """Minutes stale and of drain that each change buys over all teams, with the items that it drops; None where none buys any."""
    buying = [item for item in portfolio.changes if item.buys]
    if not any(item.stale_bought_min > 0 or item.bought_min > 0 for item in buying):
        return None
    shown = buying[:MOST_CHANGES]
    kinds = ("minutes stale", "minutes of drain")
    values = [
        {
            "change": _named(item), "measure": kind, "minutes": minutes, "items dropped": item.buying_lost_more,
            "ends never at": item.ends_never, "teams": item.buying_teams, "open at": item.teams,
        }
        for item in shown
        for kind, minutes in zip(kinds, (item.stale_bought_min, item.bought_min), strict=True)
    ]  # fmt: skip
    chart = (
        chart_of(values)
        .mark_bar()
        .encode(
            y=alt.Y(
                "change", type="nominal", sort=[_named(item) for item in shown], title=None,
                axis=alt.Axis(labelLimit=420),
            ),
            x=alt.X("minutes", type="quantitative", title="minutes bought over all teams, each line alone"),
            yOffset=alt.YOffset("measure", type="nominal", sort=list(kinds)),
            color=alt.Color(
                "measure", type="nominal", title=None, scale=alt.Scale(domain=list(kinds), range=[AFTER, BEFORE])
            ),
            tooltip=[
                tip("change"), tip("measure"), tip("minutes", ",.0f"), tip("items dropped", ",.0f"),
                alt.Tooltip("ends never at", type="quantitative", title="ends a never at teams"),
                alt.Tooltip("teams", type="quantitative", title="buys at teams"),
                alt.Tooltip("open at", type="quantitative", title="open at teams"),
            ],
        )
    )  # fmt: skip
    columns = (
        "Change",
        "Minutes stale bought",
        "Minutes of drain bought",
        "Items dropped",
        "Ends never at teams",
        "Buys at teams",
        "Open at teams",
    )
    rows = tuple(
        (
            item.title, format_minutes(item.stale_bought_min), format_minutes(item.bought_min),
            format_count(item.buying_lost_more), format_count(item.ends_never),
            format_count(item.buying_teams), format_count(item.teams),
        )
        for item in shown
    )  # fmt: skip
    return Figure(
        title="What buys most over all teams",
        chart=finish(chart, max(140, 34 * len(shown)), "Minutes bought by change over all teams"),
        table=Table(columns, rows, frozenset(columns[1:])),
        source="plans of the teams",
        method=CHANGES_METHOD,
        alt=f"Bars of minutes stale and of drain bought by {counted(len(shown), 'change')}. First: {_most(shown[0])}.",
    )


def _named(item: ChangeTotal) -> str:
    """A change behind what its bars cannot show, where no label is cut: that it ends what has no end today."""
    return f"Ends a never at {counted(item.ends_never, 'team')}: {item.title}" if item.ends_never else item.title


def _most(item: ChangeTotal) -> str:
    return (
        f"{_named(item)}, {format_minutes(item.stale_bought_min)} stale and {format_minutes(item.bought_min)} of drain at "
        f"{counted(item.buying_teams, 'team')}, with {format_count(item.buying_lost_more)} items dropped there"
    )
