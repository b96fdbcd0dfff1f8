"""The page over all teams, and the same as JSON: what a director reads after a run.

The page asks for nothing: styles, scripts and data are in it, and its policy runs no other script. Without scripts it is a plain
table. It holds no clock and no path of the machine, so that the same results give the same bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from afterload import __version__
from afterload.batch.changes import ChangeTotal, worth_of
from afterload.batch.charts import changes_figure, stale_figure
from afterload.batch.portfolio import INDEX_VERSION, Failure, Portfolio, Row, limit_numbers
from afterload.batch.shared import METHODS, SharedLimit, SharedPart
from afterload.batch.trends import Trend
from afterload.batch.wording import (
    as_time,
    change_text,
    days,
    dropped_text,
    first_text,
    first_title,
    headline,
    limit_name,
    limit_sentence,
    money,
    objective_text,
    shared_miss,
    summary,
    trend_text,
    trend_word,
)
from afterload.figures.figure import Figure
from afterload.findings.phrases import counted
from afterload.resources import resource
from afterload.units import format_count, format_duration, format_minutes, format_number, format_rate

__all__ = ["index_html", "index_json"]

LINKS: Mapping[str, str] = {
    "plan_md": "plan", "plan_csv": "CSV", "plan_json": "JSON", "runbook": "runbook", "notebook": "notebook",
}  # fmt: skip
# Name, heading and kind: numbers to the right, ranks like numbers but to the left, text.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("team", "Team", "text"),
    ("met", "Objective", "rank"),
    ("fresh", "Minutes stale", "num"),
    ("planned", "With the plan", "num"),
    ("drain", "Drain", "num"),
    ("multiplier", "Multiplier", "num"),
    ("launch", "Launch time", "num"),
    ("queue", "Worst queue", "text"),
    ("change", "Top change", "rank"),
    ("trend", "Trend", "rank"),
    ("shared", "Shared limits broken", "rank"),
)


@dataclass(frozen=True)
class Cell:
    """One cell of the portfolio: its text, a smaller note below it, and what it is sorted by (empty: always last).

    ``own`` says of the note that it has a team's own words in it, which a search finds; numbers are not searched.
    """

    text: str
    sort: str = ""
    note: str = ""
    tone: str = ""
    own: bool = False


NONE = Cell("–", "", "", "none")


@dataclass(frozen=True)
class Line:
    """One row of the portfolio as the page shows it."""

    id: str
    name: str
    packet: str
    links: tuple[tuple[str, str], ...]
    state: str
    flags: str
    hypothetical: bool
    cells: Mapping[str, Cell]
    place: str = ""


def index_json(portfolio: Portfolio) -> str:
    """The portfolio as JSON, to be read by other tools and as the next run's ``previous``."""
    document = {
        "index": INDEX_VERSION,
        "afterload": __version__,
        "totals": asdict(portfolio.totals),
        "teams": [
            {
                **row.record,
                "broken_limits": [limit.key for limit in row.broken],
                "missed_together": [asdict(item) for item in row.missed_together],
                "trends": {name: asdict(trend) for name, trend in row.trends.items()},
            }
            for row in portfolio.rows
        ],
        "changes": [_without_empty(asdict(item)) for item in portfolio.changes],
        "shared": [
            {**asdict(limit), **limit_numbers(limit), "over": limit.over, "teams": list(limit.teams)}
            for limit in portfolio.shared
        ],
        "failures": [_failure(item) for item in portfolio.failures],
        "not_done": [_failure(item) for item in portfolio.not_done],
        "trends": {name: asdict(trend) for name, trend in portfolio.trends.items()},
        "compared_teams": portfolio.compared_teams,
        "gone": [{"id": key, "team": name} for key, name in portfolio.gone],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _failure(item: Failure) -> dict[str, str]:
    return {"id": item.team_id, "team": item.team, "scenario": item.scenario, "kind": item.kind, "text": item.text}


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value != {}}


def index_html(portfolio: Portfolio) -> str:
    """The portfolio as one page."""
    figures = {"stale": stale_figure(portfolio), "changes": changes_figure(portfolio)}
    has_charts = any(figures.values())
    scripts = [*(VEGA if has_charts else ()), "packet.js"]
    texts = [_static(name) for name in scripts] + [_own("index.js")]
    page = _environment().get_template("index.html.j2").render(
        version=__version__,
        policy=" ".join(_digest(text) for text in texts),
        styles=Markup(_static("packet.css") + _own("index.css")),
        libraries=[Markup(text) for text in texts[:-2]],
        scripts=[Markup(text) for text in texts[-2:]],
        title="Recovery load of all teams",
        headline=headline(portfolio),
        summary=summary(portfolio),
        portfolio=portfolio,
        columns=COLUMNS,
        lines=list(_lines(portfolio)),
        incomplete=[row for row in portfolio.rows if row.record.get("failures")],
        limits=[_limit(portfolio, limit) for limit in portfolio.shared],
        changes=[_change(portfolio, item) for item in portfolio.changes],
        figures={name: None if figure is None else _figure(figure) for name, figure in figures.items()},
        methods=METHODS,
        compared=portfolio.compared,
    )  # fmt: skip
    return page if page.endswith("\n") else f"{page}\n"


VEGA = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(resource("templates", "batch")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["link"] = _link
    return found


@cache
def _static(name: str) -> str:
    return resource("templates", "nbconvert", "afterload", "static", name).read_text(encoding="utf-8")


@cache
def _own(name: str) -> str:
    return resource("templates", "batch", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The digest of an inline script as a policy names it; the page writes a line break before each."""
    digest = base64.b64encode(sha256(f"\n{text}".encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _link(path: str) -> str:
    """A relative path as an address: nothing in it can be read as a scheme, a host or a query."""
    return quote(path.lstrip("/"), safe="/-_.~")


def _figure(figure: Figure) -> dict[str, Any]:
    # Nothing in the data may end the script element that it stands in.
    chart = json.dumps(figure.chart, ensure_ascii=False, allow_nan=False, sort_keys=True)
    for char in "<>&\u2028\u2029":
        chart = chart.replace(char, f"\\u{ord(char):04x}")
    return {"title": figure.title, "alt": figure.alt, "chart": Markup(chart), "html": Markup(figure.to_html())}


def _lines(portfolio: Portfolio) -> Iterator[Line]:
    """Rows as they stand without a script: stale longest first, then what could not be judged, failures last."""
    rows = sorted(portfolio.rows, key=lambda row: (_never_first(row), portfolio.names[row.id].casefold(), row.id))
    # Where all teams' numbers are made up, the summary says it once.
    made_up = portfolio.totals.hypothetical == len(rows)
    for row in rows:
        state = {True: "met", False: "missed", None: "not judged"}[row.met]
        links = row.record["links"]
        flags = [state.replace(" ", "-"), *(["shared"] if row.broken else [])]
        # Whoever looks for objectives that are missed wants those that are missed together too.
        flags += ["missed", "missed-together"] if row.missed_together else []
        worse = row.trends.get("fresh_min")
        flags += ["failed"] if row.record.get("failures") else []
        flags += ["worse"] if worse is not None and worse.word == "worse" else []
        yield Line(
            row.id,
            portfolio.names[row.id],
            links.get("packet", ""),
            tuple((words, links[name]) for name, words in LINKS.items() if name in links),
            state,
            " ".join(flags),
            bool(row.record["hypothetical"]) and not made_up,
            _cells(row, portfolio),
            _place(row),
        )
    for item in portfolio.failures:
        cells = {name: NONE for name, _, _ in COLUMNS} | {
            "met": Cell("failed", "3", "", "failed"),
            "change": Cell(item.kind, "", "see what failed", "failed"),
        }
        yield Line(item.team_id, portfolio.names[item.team_id], "", (), "failed", "failed", False, cells)
    for item in portfolio.not_done:
        cells = {name: NONE for name, _, _ in COLUMNS} | {"met": Cell("not done", "", "", "not-judged")}
        yield Line(item.team_id, portfolio.names[item.team_id], "", (), "not done", "not-done", False, cells)


def _place(row: Row) -> str:
    """Account, region and owner of a team: shown below its name, so that a search finds them."""
    shares = row.record["shares"]
    return ", ".join(str(each) for each in (shares["account"], shares["region"], row.record["owner"]) if each)


def _never_first(row: Row) -> tuple[int, float]:
    if not row.results["couples"]:
        return 1, 0.0
    fresh = row.results["fresh_min"]
    return 0, float("-inf") if fresh is None else -fresh


def _cells(row: Row, portfolio: Portfolio) -> dict[str, Cell]:
    results, trends = row.results, row.trends
    couples = bool(results["couples"])
    place = {True: ("met", "0"), False: ("missed", "2"), None: ("not judged", "1")}[row.met]
    within = objective_text(row.record)
    if row.missed_together:
        place, within = ("met alone, missed together", "1.5"), f"{within}; {shared_miss(row)}"
    spread = ""
    if couples and results["draws"] and results["fresh_p10_min"] != results["fresh_p90_min"]:
        spread = f"P10 to P90: {as_time(results['fresh_p10_min'])} to {as_time(results['fresh_p90_min'])}"
    fresh = trends.get("fresh_min")
    broken = dict.fromkeys(limit_name(limit, short=True) for limit in row.broken)
    return {
        "team": Cell(portfolio.names[row.id]),
        "met": Cell(
            place[0], place[1], within, "missed-together" if row.missed_together else place[0].replace(" ", "-"), own=True
        ),
        "fresh": _time(results["fresh_min"], couples, spread),
        "planned": _time(results["planned_fresh_min"], couples, trend_text(trends.get("planned_fresh_min"))),
        "drain": _time(results["drain_min"], couples, trend_text(trends.get("drain_min"))),
        "multiplier": NONE
        if results["multiplier"] is None
        else Cell(
            f"{format_number(results['multiplier'])} ×", repr(results["multiplier"]), trend_text(trends.get("multiplier"), "×")
        ),
        "launch": NONE
        if results["launch_min"] is None
        else Cell(
            format_minutes(results["launch_min"]), repr(results["launch_min"]),
            trend_text(trends.get("launch_min")) or results["slowest_fleet"], own=True,
        ),
        "queue": NONE if results["worst_queue"] is None else Cell(results["worst_queue"], results["worst_queue"]),
        "change": _top(row),
        "trend": NONE if fresh is None else Cell(trend_word(fresh), _trend_sort(fresh), "", fresh.word),
        "shared": NONE if not broken else Cell(
            format_count(len(row.broken)), repr(len(row.broken)), ", ".join(broken), "broken", own=True
        ),
    }  # fmt: skip


def _top(row: Row) -> Cell:
    """The changes of a team for what it misses, with what each does there; else the one that buys most."""
    top = row.top_change
    if row.first:
        sort = 0.0 if top is None else _worth(top)
        return Cell(first_title(row.record, row.first), repr(sort), first_text(row.first, top))
    return NONE if top is None else Cell(top["title"], repr(_worth(top)), change_text(top))


def _worth(line: Mapping[str, Any]) -> float:
    """For sorting: an end of stale without end, then minutes stale; what only shortens a drain comes below any of these."""
    ends_stale, stale, ends_drain, drain = worth_of(line)
    if ends_stale or stale > 0:
        return 1e12 if ends_stale else stale
    return -1.0 if ends_drain else -2.0 - 1.0 / (1.0 + drain)


def _time(minutes: float | None, is_there: bool, note: str = "") -> Cell:
    if not is_there:
        return NONE
    if minutes is None:
        return Cell("never", "1e999", note, "never")
    if not note and minutes >= 120:
        note = format_duration(minutes)
    return Cell(format_minutes(minutes), repr(minutes), note)


def _trend_sort(trend: Trend) -> str:
    """Worse is more: the most minutes lost come first when sorted from high to low."""
    if trend.moved is not None:
        return repr(trend.moved)
    return {"worse": "1e999", "better": "-1e999"}.get(trend.word, "0")


def _limit(portfolio: Portfolio, limit: SharedLimit) -> dict[str, Any]:
    parts = sorted(limit.parts, key=lambda part: (not part.never_together, -(part.late_min or 0.0), -part.asks))
    trend = portfolio.limit_trends.get(limit.key, {}).get("late_min")
    latest = limit.latest
    is_on_time = not (latest.never_together or (latest.late_min or 0.0) > 1e-6)
    late = "never ends" if latest.never_together else format_minutes(latest.late_min or 0.0)
    return {
        "key": limit.key,
        "name": limit.name,
        "title": limit_name(limit),
        "kind": {"dependency": "Dependency", "concurrency": "Concurrency", "launches": "Launch buckets"}[limit.kind],
        "broken": limit.broken,
        "teams": counted(len(limit.teams), "team"),
        "sentence": limit_sentence(limit, portfolio.names, named=False),
        "asked": _amount(limit, limit.asked),
        "limit": _amount(limit, limit.limit),
        "late": late,
        "late_note": "" if is_on_time else f"{as_time(latest.alone_min)} alone, {as_time(latest.joint_min)} together",
        "whose": "" if is_on_time else f"{latest.part}, {portfolio.names[latest.team_id]}",
        "trend": trend_text(trend),
        "taken": _amount(limit, limit.taken) if limit.taken else "",
        "taken_words": {"dependency": "direct and control traffic", "concurrency": "reserved"}.get(limit.kind, ""),
        "parts": [_part(portfolio, limit, part) for part in parts],
        "notes": limit.notes,
    }


def _amount(limit: SharedLimit, value: float) -> str:
    if limit.kind == "dependency":
        return format_rate(value)
    return f"{format_count(value)} {'at once' if limit.kind == 'concurrency' else 'instances'}"


def _part(portfolio: Portfolio, limit: SharedLimit, part: SharedPart) -> dict[str, str]:
    late = "–" if part.late_min is None else format_minutes(part.late_min)
    return {
        "team": portfolio.names[part.team_id],
        "part": part.part,
        "asks": _amount(limit, part.asks),
        "alone": as_time(part.alone_min),
        "joint": as_time(part.joint_min),
        "late": "never instead" if part.never_together else late,
        "promised": as_time(part.promised_min),
    }


def _change(portfolio: Portfolio, item: ChangeTotal) -> dict[str, Any]:
    dropped, fewer = dropped_text(item.lost_more, item.lost_fewer)
    own = "" if item.top_min is None else format_minutes(item.top_min)
    trend = item.trends.get("stale_bought_min")
    was = trend_text(trend)
    # A sum over other teams than those of this row says over how many it was taken.
    if was and trend is not None and trend.teams not in (None, len(portfolio.rows)):
        was = f"{format_minutes(trend.after or 0.0)} {was} at the {counted(trend.teams or 0, 'team')} to compare"
    return {
        "title": item.title,
        "stale": _minutes(item.stale_bought_min, item.ends_stale),
        "stale_note": _beside(item.stale_bought_min, item.ends_stale, item.stale_cost_min),
        "bought": _minutes(item.bought_min, item.ends_drain),
        "bought_note": _beside(item.bought_min, item.ends_drain, item.cost_min),
        "dropped": dropped,
        "dropped_note": fewer,
        "never": format_count(item.ends_never) if item.ends_never else "–",
        "never_note": f"brings a never at {counted(item.makes_never, 'team')}" if item.makes_never else "",
        "buying": f"{counted(item.buying_teams, 'team')}, {counted(item.buying_lines, 'line')}" if item.buys else "–",
        "open": f"{counted(item.teams, 'team')}, {counted(item.lines, 'line')}",
        "effort": days(item.effort_days),
        "saves": money(item.saves) or "–",
        "costs": money(item.costs_effort) or "–",
        "buys": item.buys,
        "top": "–" if item.top_team is None else portfolio.names[item.top_team],
        "top_note": own,
        "trend": was,
    }


def _minutes(bought: float, ended: int) -> str:
    """A sum of minutes; a dash for none of a change that ends a never, which the note tells."""
    return "–" if ended and bought <= 0 else format_minutes(bought)


def _beside(bought: float, ended: int, cost: float) -> str:
    """What a sum of minutes leaves out: teams at which the change ends what has no end, and minutes that it costs."""
    ends = f"{'and ' if bought > 0 else ''}ends a never at {counted(ended, 'team')}" if ended else ""
    costs = f"costs {format_minutes(cost)} elsewhere" if cost > 1e-6 else ""
    return "; ".join(text for text in (ends, costs) if text)
