"""The words of the page over all teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afterload.batch.portfolio import Portfolio, Trend
from afterload.batch.shared import SharedLimit
from afterload.findings.phrases import counted
from afterload.units import format_count, format_duration, format_minutes, format_number, format_rate

__all__ = [
    "as_time",
    "change_text",
    "headline",
    "limit_name",
    "limit_sentence",
    "money",
    "summary",
    "trend_text",
    "trend_word",
]


def as_time(minutes: float | None) -> str:
    """Minutes, or never."""
    return "never" if minutes is None else format_minutes(minutes)


def trend_word(trend: Trend) -> str:
    """A trend of a time in words: "23 min better", "worse: never now", "same", "new"."""
    if trend.word in ("same", "new", "changed"):
        return trend.word
    if trend.moved is not None:
        return f"{format_minutes(abs(trend.moved))} {trend.word}"
    return f"{trend.word}: {'never now' if trend.after is None else 'never before'}"


def trend_text(trend: Trend | None, unit: str = "min") -> str:
    """A note below a number: what it was in the last run; empty where it is the same or new."""
    if trend is None or trend.word in ("same", "new"):
        return ""
    before = "never" if trend.before is None else f"{format_number(trend.before)} {unit}"
    return f"{trend.word}, was {before}" if trend.word != "changed" else f"was {before}"


def change_text(line: Mapping[str, Any]) -> str:
    """What the top change of a team buys."""
    if line["ends_never"]:
        return "ends never"
    drain, stale = line["bought_min"] or 0.0, line["stale_bought_min"] or 0.0
    return f"{format_minutes(drain)} of drain" if drain > 0 else f"{format_minutes(stale)} of stale work"


def money(amounts: Mapping[str, float]) -> str:
    """Amounts by currency: "12,000 EUR, 300 USD"."""
    return ", ".join(f"{format_count(value)} {currency}" for currency, value in amounts.items() if value > 0)


def _was(portfolio: Portfolio, name: str, unit: str = "") -> str:
    trend = portfolio.trends.get(name)
    if trend is None or trend.word in ("same", "new") or trend.before is None:
        return "as in the last run" if trend is not None and trend.word == "same" else ""
    return f"{trend.word}, {format_count(trend.before)}{unit} in the last run"


def headline(portfolio: Portfolio) -> tuple[dict[str, str], ...]:
    """The big numbers: what each is, a sentence below it, and how it moved."""
    totals = portfolio.totals
    judged = totals.met + totals.missed
    never = f", and {counted(totals.never, 'team')} without end" if totals.never else ""
    planned_never = f", and {counted(totals.planned_never, 'team')} without end" if totals.planned_never else ""
    found = [
        {
            "big": f"{totals.met:,} of {judged:,}",
            "label": "teams within their recovery objective",
            "was": _was(portfolio, "met"),
        },
        {
            "big": f"{format_count(totals.stale_min)} min",
            "label": f"stale in all after the restore, {format_duration(totals.stale_min)}{never}",
            "was": _was(portfolio, "stale_min", " min"),
        },
        {
            "big": f"{format_count(totals.planned_stale_min)} min",
            "label": f"with every open change in place{planned_never}",
            "was": _was(portfolio, "planned_stale_min", " min"),
        },
        {
            "big": format_count(totals.broken_limits),
            "label": f"of {counted(len(portfolio.shared), 'shared limit')} promised more than once",
            "was": _was(portfolio, "broken_limits"),
        },
    ]
    if totals.failed:
        found.append(
            {
                "big": format_count(totals.failed),
                "label": "failed and not in these numbers",
                "was": _was(portfolio, "failed"),
            }
        )
    return tuple(found)


def summary(portfolio: Portfolio) -> tuple[str, ...]:
    """The same in sentences, with what to do first."""
    return tuple(_summary(portfolio))


def _summary(portfolio: Portfolio) -> Iterator[str]:
    totals = portfolio.totals
    rest = f" Nothing is queued to judge at {counted(totals.not_judged, 'team')}." if totals.not_judged else ""
    failed = f"; {totals.failed:,} failed" if totals.failed else ""
    yield (
        f"{counted(totals.teams, 'team').capitalize()}{failed}. The recovery objective is met by {totals.met:,} and missed by "
        f"{totals.missed:,}.{rest}"
    )
    if portfolio.changes and portfolio.changes[0].bought_min > 0:
        top = portfolio.changes[0]
        yield (
            f"The change that buys most is “{top.title}”: {format_minutes(top.bought_min)} of drain at "
            f"{counted(top.teams, 'team')}, for about {format_number(top.effort_days)} person-days."
        )
    broken = [limit for limit in portfolio.shared if limit.broken]
    if broken:
        worst = max(broken, key=lambda limit: (limit.latest.never_together, limit.latest.late_min or 0.0))
        yield (
            f"Of {counted(len(portfolio.shared), 'limit')} that teams share, packets together promise more than there is at "
            f"{len(broken):,}. {limit_sentence(worst, portfolio.names)}"
        )
    elif portfolio.shared:
        yield "What teams share is enough for all of them at once."
    if totals.hypothetical:
        yield f"The numbers of {counted(totals.hypothetical, 'team')} are hypothetical."


def limit_name(limit: SharedLimit, short: bool = False) -> str:
    """What is shared: "Launch buckets of 111122223333, us-east-1", or short for a cell."""
    if limit.kind == "dependency":
        return limit.name.partition(" in ")[0] if short else limit.name
    words = {"concurrency": "Concurrency", "launches": "Launch buckets"}[limit.kind]
    return words.lower() if short else f"{words} of {limit.name}"


def limit_sentence(limit: SharedLimit, names: Mapping[str, str], named: bool = True) -> str:
    """One shared limit in words: what is asked, what there is, and who is later for it."""
    teams = counted(len(limit.teams), "team")
    late = limit.latest
    whose = f"{'Fleet' if limit.kind == 'launches' else 'Queue'} {late.part} of {names[late.team_id]}"
    name = f"{limit_name(limit)}: " if named else ""
    asked, there = format_count(limit.asked), format_count(limit.limit)
    if limit.kind == "launches":
        head = f"{name}{teams} want {asked} instances out of one pair of launch buckets that hold {there}"
    elif limit.kind == "concurrency":
        head = f"{name}{teams} ask for {asked} at once where {there} are there"
    else:
        head = f"{name}{teams} together send {format_rate(limit.asked)} where {format_rate(limit.limit)} are tested"
    if late.never_together:
        return f"{head}. {whose} is done after {as_time(late.alone_min)} alone, and never together."
    if late.late_min is not None and late.late_min > 1e-6:
        return (
            f"{head}. {whose} takes {as_time(late.alone_min)} alone and {as_time(late.joint_min)} together: "
            f"{format_minutes(late.late_min)} late."
        )
    return f"{head}. No backlog or fleet is later for it."
