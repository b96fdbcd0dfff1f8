"""The words of the page over all teams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from afterload.batch.changes import ChangeTotal
from afterload.batch.portfolio import Portfolio, Row
from afterload.batch.shared import SharedLimit
from afterload.batch.trends import Trend
from afterload.findings.phrases import counted
from afterload.plan.measures import amount
from afterload.plan.objectives import written
from afterload.units import format_count, format_duration, format_minutes, format_number, format_rate

__all__ = [
    "as_time",
    "change_text",
    "days",
    "dropped_text",
    "ending_texts",
    "first_text",
    "first_title",
    "headline",
    "limit_name",
    "limit_sentence",
    "money",
    "objective_text",
    "shared_miss",
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
    """What one or more changes of a team buy, and the work that they destroy."""
    drain, stale = line["bought_min"] or 0.0, line["stale_bought_min"] or 0.0
    if line.get("stale_ends_never"):
        words = "ends stale without end"
    elif stale > 0:
        words = f"{format_minutes(stale)} stale"
    elif line["ends_never"]:
        words = "ends a drain without end"
    else:
        words = f"{format_minutes(drain)} of drain"
    more, each = line.get("lost_more") or 0.0, line.get("lost_more_per_min") or 0.0
    if each > 0:
        return f"{words}; drops {format_rate(each)} without end"
    return f"{words}; drops {counted(more, 'item')}" if more >= 1 else words


def first_title(record: Mapping[str, Any], first: list[Mapping[str, Any]]) -> str:
    """The changes of a team for what it misses: "An age limit, at 2 places", "A drain cap + An age limit"."""
    titles = {line["id"]: str(line["title"]) for line in record["plan"]}
    count = Counter(titles[item["line"]] for item in first if item["line"] in titles)
    words = [title if number == 1 else f"{title}, at {number:,} places" for title, number in count.items()]
    more = f" + {len(words) - 2:,} more" if len(words) > 2 else ""
    return f"{' + '.join(words[:2])}{more}"


def first_text(first: list[Mapping[str, Any]], top: Mapping[str, Any] | None) -> str:
    """What each of them does where it is missed, and the most that one buys alone: "playback: 304 min to 16 min"."""
    parts = []
    for item in first:
        values = (amount(item["measure"], {item["measure"]: item[side]}.get) for side in ("before", "after"))
        name = item["part"].partition(".")[2]
        parts.append(f"{name}: {' to '.join(values)}{'' if item['alone'] else ' with the changes above it'}")
    return "; ".join([*parts, *([f"at most {change_text(top)}"] if top is not None else [])])


def dropped_text(more: float, fewer: float) -> tuple[str, str]:
    """Items dropped more than today, and a note of those that are dropped less: "188,400", "206 fewer elsewhere"."""
    return format_count(more), f"{format_count(fewer)} fewer{' elsewhere' if more >= 1 else ''}" if fewer >= 1 else ""


def objective_text(record: Mapping[str, Any]) -> str:
    """What a team was judged by: "within 240 min", "fresh at most 60 min; multiplier at most 10"; empty where by nothing."""
    limits = {str(item["name"]): float(item["limit"]) for item in record["verdicts"]}
    if set(limits) == {"fresh"}:
        return f"within {written('fresh', limits['fresh'])}"
    return "; ".join(f"{name} at most {written(name, limit)}" for name, limit in limits.items())


def _is_own(portfolio: Portfolio) -> bool:
    """Every team was judged by the recovery objective of its scenario, and not by what this run asked for."""
    return all(
        item["name"] == "fresh" and item["limit"] == row.record["objective_min"]
        for row in portfolio.rows
        for item in row.record["verdicts"]
    )


def shared_miss(row: Row) -> str:
    """Of a team that meets its objective alone: its time together, and for which limit; empty where it meets it so too."""
    if not row.missed_together:
        return ""
    worst = max(row.missed_together, key=lambda item: (item.together_min is None, item.together_min or 0.0))
    limit = next(item for item in row.broken if item.key == worst.key)
    return f"{as_time(worst.together_min)} together: {limit_name(limit, short=True)}"


def days(number: float, word: str = "day") -> str:
    """Days of work: "1 day", "2.5 days"."""
    return f"{format_number(number)} {word}{'' if number == 1 else 's'}"


def money(amounts: Mapping[str, float]) -> str:
    """Amounts by currency: "12,000 EUR, 300 USD"; "loses 40 EUR" for one below zero."""
    return ", ".join(
        f"{'loses ' if value < 0 else ''}{format_count(abs(value))} {currency}"
        for currency, value in amounts.items()
        if abs(value) >= 0.5
    )


def _was(portfolio: Portfolio, name: str, unit: str = "") -> str:
    """How a sum moved. Where the runs have other teams, both its values over those that they share, and how many these are."""
    trend = portfolio.trends.get(name)
    if trend is None or trend.word == "new" or trend.before is None or trend.after is None:
        return ""
    whole = trend.teams == len(portfolio.rows) == portfolio.last_teams
    over = "" if whole or trend.teams is None else f", over the {counted(trend.teams, 'team')} to compare"
    if trend.word == "same":
        return f"as in the last run{over}"
    after = "" if whole else f", {format_count(trend.after)}{unit} now"
    return f"{trend.word}, {format_count(trend.before)}{unit} in the last run{after}{over}"


def _other_teams(portfolio: Portfolio) -> str:
    """Which part of the minutes with the plan is of teams that have no end today; no words where there are none."""
    times = [
        (row.results["fresh_min"], row.results["planned_fresh_min"]) for row in portfolio.rows if row.results["couples"]
    ]
    ended = [planned for today, planned in times if today is None and planned is not None]
    both = [planned for today, planned in times if today is not None and planned is not None]
    if not ended:
        return ""
    new = f"{format_minutes(sum(ended))} at {counted(len(ended), 'team')} without end today"
    if not both:
        return f": {new}"
    have = "has" if len(both) == 1 else "have"
    return f": {format_minutes(sum(both))} at {counted(len(both), 'team')} that {have} an end today, and {new}"


def headline(portfolio: Portfolio) -> tuple[dict[str, str], ...]:
    """The big numbers: what each is, a sentence below it, and how it moved."""
    totals = portfolio.totals
    judged = totals.met + totals.missed
    asked = "within their recovery objective" if _is_own(portfolio) else "that meet all objectives of this run"
    alone = f", and {totals.missed_together:,} more only if restored alone" if totals.missed_together else ""
    never = f", and {counted(totals.never, 'team')} without end" if totals.never else ""
    planned_never = f", and {counted(totals.planned_never, 'team')} without end" if totals.planned_never else ""
    found = [
        {
            "big": f"{totals.met_together:,} of {judged:,}",
            "label": f"teams {asked}{alone}",
            "was": _was(portfolio, "met_together"),
        },
        {
            "big": f"{format_count(totals.stale_min)} min",
            "label": f"stale in all after the restore, {format_duration(totals.stale_min)}{never}",
            "was": _was(portfolio, "stale_min", " min"),
        },
        {
            "big": f"{format_count(totals.planned_stale_min)} min",
            "label": f"with every open change in place{_other_teams(portfolio)}{planned_never}",
            "was": _was(portfolio, "planned_stale_min", " min"),
        },
        {
            "big": format_count(totals.broken_limits),
            "label": f"of {counted(len(portfolio.shared), 'shared limit')} promised more than once"
            if portfolio.shared
            else "shared limits: no two teams with results name the same one",
            "was": _was(portfolio, "broken_limits"),
        },
    ]
    if totals.failed:
        found.append(
            {
                "big": format_count(totals.failed),
                "label": "failed and not in these numbers",
                "was": "",
            }
        )
    if totals.not_done:
        found.append(
            {
                "big": format_count(totals.not_done),
                "label": "not done: the run was interrupted",
                "was": "",
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
    not_done = f"; {totals.not_done:,} not done" if totals.not_done else ""
    together = (
        f" Of those that meet it, {totals.missed_together:,} would miss it with all teams restored together."
        if totals.missed_together
        else ""
    )
    asked = "The recovery objective is" if _is_own(portfolio) else "All objectives of this run are"
    yield (
        f"{counted(totals.teams, 'team').capitalize()}{failed}{not_done}. {asked} met by {totals.met:,} and "
        f"missed by {totals.missed:,}.{together}{rest}"
    )
    if totals.not_done:
        yield "The run was interrupted: what is not done is in no sum, and no sum is compared with the last run."
    top = next((item for item in portfolio.changes if item.buys), None)
    if top is not None:
        yield _top_change(top)
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


def _top_change(top: ChangeTotal) -> str:
    # Minutes, days and items of one sentence are those of the same lines: the ones that buy.
    price = (
        f"It drops {counted(top.buying_lost_more, 'item')} there that are done today: expired, discarded or lost."
        if top.buying_lost_more >= 1
        else "No more items expire or are discarded there for it."
    )
    return (
        f"The change that buys most is “{top.title}”: {_gain(top)}, for about "
        f"{days(top.buying_effort_days, 'person-day')}. {price}{_other_lines(top)}"
    )


def _gain(top: ChangeTotal) -> str:
    """What a change ends, the minutes that it buys, and at how many teams."""
    amounts = ((top.stale_bought_min, "stale"), (top.bought_min, "of drain"))
    minutes = " and ".join(f"{format_minutes(value)} {what}" for value, what in amounts if value > 0)
    everywhere = top.buying_teams == top.teams
    where = (
        counted(top.teams, "team")
        if everywhere
        else f"{counted(top.buying_teams, 'team')} of the {top.teams:,} where it is open"
    )
    ends = ending_texts(top)
    if not ends:
        return f"{minutes} at {where}"
    if minutes:
        return f"it {' and '.join(ends)}, and buys {minutes} besides, in all at {where}"
    if len(ends) == 1:
        return f"it {ends[0]}{'' if everywhere else f' of the {top.teams:,} where it is open'}"
    return f"it {' and '.join(ends)}, in all at {where}"


def ending_texts(item: ChangeTotal) -> list[str]:
    """What a change ends that has no end today, and at how many teams: "ends stale without end at 1 team"."""
    # At the same teams fresh work that is on time again is what counts.
    drains = 0 if item.ends_stale == item.ends_drain == item.ends_never else item.ends_drain
    kinds = ((item.ends_stale, "stale"), (drains, "a drain"))
    return [f"ends {what} without end at {counted(number, 'team')}" for number, what in kinds if number]


def _other_lines(top: ChangeTotal) -> str:
    """What the lines that buy nothing would take and drop beside those that buy; no words where all lines buy."""
    others = top.lines - top.buying_lines
    if others == 0:
        return ""
    drops = top.lost_more - top.buying_lost_more
    dropping = f" and drop {counted(drops, 'more item')}" if drops >= 1 else ""
    return (
        f" {counted(others, 'other line').capitalize()}, which {'buys' if others == 1 else 'buy'} nothing alone, would take "
        f"{days(top.effort_days - top.buying_effort_days, 'person-day')} more{dropping}."
    )


def limit_name(limit: SharedLimit, short: bool = False) -> str:
    """What is shared: "Launch buckets of 111122223333, us-east-1", or short for a cell."""
    if limit.kind == "dependency":
        # One that teams name with shared_as is called just so; else account and region stand behind the name.
        own = limit.key == f"dependency {limit.name}"
        return limit.name if own or not short else limit.name.rpartition(" in ")[0]
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
