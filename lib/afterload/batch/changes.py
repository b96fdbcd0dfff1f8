"""The changes of the catalogue over all teams: what each buys, where, and what it destroys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from afterload.batch.trends import Record, Trend

__all__ = ["ChangeTotal", "buys", "change_totals", "worth_of"]

Line = Mapping[str, Any]


@dataclass(frozen=True)
class ChangeTotal:
    """One change of the catalogue over all teams.

    Attributes:
        teams, lines: teams that have it open, and lines of their plans.
        buying_teams, buying_lines: those of them at which it buys minutes, or ends a never, alone.
        stale_bought_min: sum of the minutes by which first-attempt age is back sooner with each line alone.
        bought_min: the same of minutes of drain.
        stale_cost_min, cost_min: sums of the minutes by which lines make them longer instead.
        ends_never, makes_never: teams at which it brings first-attempt age or the drain from never to some time, alone, and
            the reverse.
        ends_stale, ends_drain: teams at which it ends the one, and the other.
        lost_more, lost_fewer: sums of items expired, discarded or lost more and fewer than today, each line alone.
        buying_lost_more: the first of these over the lines that buy.
        effort_days, buying_effort_days: sums over all lines, and over those that buy alone.
        saves, costs_effort: by currency, over the teams that give costs: what the plan says that it saves in one event, which
            may be below zero, and its effort.
        top_team, top_min: id of the team for which it buys most of the row's measure, and how much: minutes stale; drain
            where it buys none of these; no minutes where it only ends a never. None where it buys nothing alone.
    """

    id: str
    title: str
    teams: int
    lines: int
    buying_teams: int
    buying_lines: int
    stale_bought_min: float
    bought_min: float
    stale_cost_min: float
    cost_min: float
    ends_never: int
    ends_stale: int
    ends_drain: int
    makes_never: int
    lost_more: float
    buying_lost_more: float
    lost_fewer: float
    effort_days: float
    buying_effort_days: float
    saves: Mapping[str, float]
    costs_effort: Mapping[str, float]
    top_team: str | None
    top_min: float | None
    trends: Mapping[str, Trend] = field(default_factory=dict)

    @property
    def buys(self) -> bool:
        """It buys minutes or ends a never somewhere, alone."""
        return self.buying_lines > 0


def worth_of(line: Line) -> tuple[bool, float, bool, float]:
    """What a line of a plan is ranked by: an end to stale without end, minutes stale, an end of the drain, minutes of drain."""
    return (
        bool(line.get("stale_ends_never")),
        line["stale_bought_min"] or 0.0,
        bool(line["ends_never"]),
        line["bought_min"] or 0.0,
    )


def buys(line: Line) -> bool:
    """The line alone buys minutes or ends a never."""
    return any(worth_of(line))


def change_totals(records: Iterable[Record]) -> tuple[ChangeTotal, ...]:
    """Every open change over the teams: what ends a never first, at most teams; then by minutes stale, then of drain."""
    lines: dict[str, list[tuple[Record, Line]]] = defaultdict(list)
    for record in records:
        for line in record["plan"]:
            lines[line["change"]].append((record, line))
    found = [_total(change, uses) for change, uses in lines.items()]
    return tuple(sorted(found, key=_place))


def _place(item: ChangeTotal) -> tuple[int, int, float, float, str]:
    """No number of minutes is worth as much as the end of what has none."""
    return -item.ends_stale, -item.ends_never, -item.stale_bought_min, -item.bought_min, item.id


def _total(change: str, uses: list[tuple[Record, Line]]) -> ChangeTotal:
    saves: dict[str, float] = defaultdict(float)
    effort: dict[str, float] = defaultdict(float)
    for record, line in uses:
        costs = record["costs"]
        if costs is not None and line["saves"] is not None:
            saves[costs["currency"]] += line["saves"]
            effort[costs["currency"]] += line["effort_days"] * costs["person_day"]
    buying = [(record, line) for record, line in uses if buys(line)]
    top, most = _top(buying)

    def total(name: str) -> float:
        return float(sum(line.get(name) or 0.0 for _, line in uses))

    return ChangeTotal(
        id=change,
        title=uses[0][1]["title"],
        teams=_teams(uses),
        lines=len(uses),
        buying_teams=_teams(buying),
        buying_lines=len(buying),
        stale_bought_min=total("stale_bought_min"),
        bought_min=total("bought_min"),
        stale_cost_min=total("stale_cost_min"),
        cost_min=total("cost_min"),
        ends_never=_teams(use for use in uses if use[1]["ends_never"] or use[1].get("stale_ends_never")),
        ends_stale=_teams(use for use in uses if use[1].get("stale_ends_never")),
        ends_drain=_teams(use for use in uses if use[1]["ends_never"]),
        makes_never=_teams(use for use in uses if use[1].get("makes_never")),
        lost_more=_dropped(uses),
        buying_lost_more=_dropped(buying),
        lost_fewer=float(sum(max(0.0, -(line.get("lost_more") or 0.0)) for _, line in uses)),
        effort_days=total("effort_days"),
        buying_effort_days=float(sum(line["effort_days"] for _, line in buying)),
        saves=dict(sorted(saves.items())),
        costs_effort=dict(sorted(effort.items())),
        top_team=top,
        top_min=most,
    )


def _dropped(uses: Iterable[tuple[Record, Line]]) -> float:
    return float(sum(max(0.0, line.get("lost_more") or 0.0) for _, line in uses))


def _teams(uses: Iterable[tuple[Record, Line]]) -> int:
    return len({record["id"] for record, _ in uses})


def _top(buying: list[tuple[Record, Line]]) -> tuple[str | None, float | None]:
    """The team for which a change buys most of the first measure of which it buys any; the first by name of equal ones."""
    for name in ("stale_bought_min", "bought_min"):
        sums: dict[str, float] = defaultdict(float)
        for record, line in buying:
            sums[record["id"]] += line[name] or 0.0
        best = max(sums, key=lambda key: sums[key], default=None)
        if best is not None and sums[best] > 0:
            return best, sums[best]
    return (str(buying[0][0]["id"]), None) if buying else (None, None)
