"""The portfolio: the records of all teams as one, with totals, the changes that buy most, shared limits and trends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from afterload.batch.changes import ChangeTotal, buys, change_totals, worth_of
from afterload.batch.shared import SharedLimit, shared_limits
from afterload.batch.together import Missed, missed_together
from afterload.batch.trends import (
    INDEX_VERSION,
    RECORD_VERSION,
    Earlier,
    Record,
    Trend,
    no_index,
    read_earlier,
    sum_trend,
    trends_of,
)
from afterload.errors import ModelError

__all__ = ["INDEX_VERSION", "Failure", "Portfolio", "Row", "build_portfolio", "check_previous", "limit_numbers"]

# The kind of a failure that is none: the run was interrupted before the team was done.
NOT_DONE = "cancelled"
# What a trend is told of, with whether less is better; None: neither is.
TEAM_NUMBERS: Mapping[str, bool | None] = {
    "fresh_min": True, "drain_min": True, "planned_fresh_min": True, "lost": True, "peak_attempts_per_min": True,
    "multiplier": True, "launch_min": True,
}  # fmt: skip
TOTAL_NUMBERS: Mapping[str, bool | None] = {
    "met": False, "met_together": False, "missed": True, "missed_together": True, "not_judged": None, "never": True,
    "planned_never": True, "broken_limits": True, "late_min": True,
}  # fmt: skip
TOTAL_TIMES: Mapping[str, str] = {"stale_min": "fresh_min", "planned_stale_min": "planned_fresh_min"}
CHANGE_NUMBERS: Mapping[str, bool | None] = {
    "teams": None,
    "bought_min": None,
    "stale_bought_min": None,
    "ends_never": None,
    "lost_more": None,
}
LIMIT_NUMBERS: Mapping[str, bool | None] = {"limit": False, "asked": True, "joint_min": True, "late_min": True}


@dataclass(frozen=True)
class Failure:
    """A team without a record: what kind of failure, and its words."""

    team_id: str
    team: str
    scenario: str
    kind: str
    text: str


@dataclass(frozen=True)
class Row:
    """One team in the portfolio.

    Attributes:
        record: as :func:`afterload.batch.record.team_record` made it.
        trends: by the name of the number; empty without an earlier run, all ``new`` for a team that it did not have.
        broken: the shared limits of the team that are promised more than once.
        missed_together: objectives that it meets alone and misses together with the teams that share these limits.
    """

    record: Record
    trends: Mapping[str, Trend] = field(default_factory=dict)
    broken: tuple[SharedLimit, ...] = ()
    missed_together: tuple[Missed, ...] = ()

    @property
    def id(self) -> str:
        """Stable name of the team."""
        return str(self.record["id"])

    @property
    def met(self) -> bool | None:
        """Whether it meets all its objectives alone, as its packet has them; None where nothing could be judged."""
        met: bool | None = self.record["met"]
        return met

    @property
    def results(self) -> Mapping[str, Any]:
        """The headline numbers."""
        results: Mapping[str, Any] = self.record["results"]
        return results

    @property
    def first(self) -> list[Mapping[str, Any]]:
        """The lines of its plan that do most for an objective that it misses, each with what it does there."""
        return list(self.record.get("first", ()))

    @cached_property
    def top_change(self) -> Mapping[str, Any] | None:
        """The open line that alone buys most: of these if one buys, else of the whole plan; or None.

        See :func:`afterload.batch.changes.worth_of`.
        """
        lines, first = [line for line in self.record["plan"] if buys(line)], [item["line"] for item in self.first]
        return max([line for line in lines if line["id"] in first] or lines, key=worth_of, default=None)


@dataclass(frozen=True)
class Totals:
    """Sums over all teams. Minutes are those of teams whose time has an end; ``never`` counts the others.

    ``met`` and ``missed`` are each team's own verdict; ``missed_together`` of ``met`` miss theirs where all teams are
    restored together, and ``met_together`` do not.
    """

    teams: int
    met: int
    missed: int
    met_together: int
    missed_together: int
    not_judged: int
    failed: int
    not_done: int
    hypothetical: int
    stale_min: float
    never: int
    planned_stale_min: float
    planned_never: int
    broken_limits: int
    late_min: float
    open_changes: int
    effort_days: float


@dataclass(frozen=True)
class Portfolio:
    """All teams as one.

    Attributes:
        failures, not_done: teams without a record: those that failed, and those that an interrupted run did not get to.
        trends: of the totals, over the teams that have results in both runs; empty after an interrupted run.
        gone: teams of the last run that this one does not have.
        compared: there was a last run.
        compared_teams: teams that have results in both runs.
        last_teams: teams that had results in the last run.
    """

    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    totals: Totals
    changes: tuple[ChangeTotal, ...]
    shared: tuple[SharedLimit, ...]
    trends: Mapping[str, Trend]
    limit_trends: Mapping[str, Mapping[str, Trend]]
    gone: tuple[tuple[str, str], ...] = ()
    compared: bool = False
    compared_teams: int = 0
    last_teams: int = 0
    not_done: tuple[Failure, ...] = ()

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Teams' names by id; where two share one, with the id behind it."""
        named = [(row.id, str(row.record["team"])) for row in self.rows]
        named += [(item.team_id, item.team) for item in (*self.failures, *self.not_done)]
        count = Counter(name for _, name in named)
        return {key: name if count[name] == 1 else f"{name} ({key})" for key, name in named}


def build_portfolio(
    records: Iterable[Record],
    failures: Iterable[tuple[str, str, str, str, str]] = (),
    previous: Mapping[str, Any] | None = None,
) -> Portfolio:
    """Make the portfolio.

    Parameters:
        records: one a team, each with an id of its own.
        failures: id, name, scenario, kind and words of each team without a record; of kind ``cancelled`` for those that an
            interrupted run did not get to.
        previous: the ``index.json`` of the last run, as read.

    Raises:
        InputError: ``previous`` is not an index that this version can compare with.
        ModelError: two records share an id, or one has another form.
    """
    ordered = sorted(records, key=lambda record: (str(record["team"]).casefold(), str(record["id"])))
    repeated = [name for name, count in Counter(record["id"] for record in ordered).items() if count > 1]
    if repeated:
        raise ModelError(f"two teams share the id {repeated[0]!r}: please report this")
    other = [record["record"] for record in ordered if record["record"] != RECORD_VERSION]
    if other:
        raise ModelError(f"a team's record has form {other[0]!r}, not {RECORD_VERSION}: run that team again")
    without = [Failure(*map(str, item)) for item in sorted(failures)]
    failed = tuple(item for item in without if item.kind != NOT_DONE)
    not_done = tuple(item for item in without if item.kind == NOT_DONE)
    last = None if previous is None else read_earlier(previous)
    shared = shared_limits(ordered)
    common = {} if last is None else {record["id"]: record for record in ordered if record["id"] in last.records}
    before = {} if last is None else {key: last.records[key] for key in common}
    # The records of the last run are looked at as a whole before a number of any is taken.
    earlier = _earlier_sums(before)
    rows = _rows(ordered, shared, last)
    changes = change_totals(ordered)
    trends: Mapping[str, Trend] = {}
    limit_trends: Mapping[str, Mapping[str, Trend]] = {}
    if last is not None and not not_done:
        # The end of an interrupted run says nothing of what became better or worse.
        changes, trends = _compared(changes, common, before, earlier)
        limit_trends = _limit_trends(shared, last, {item.team_id for item in without})
    here = {row.id for row in rows} | {item.team_id for item in without}
    gone = () if last is None else tuple((key, last.names[key]) for key in sorted(last.names) if key not in here)
    return Portfolio(
        rows=rows,
        failures=failed,
        totals=replace(
            _totals(rows, shared), teams=len(rows) + len(without), failed=len(failed), not_done=len(not_done)
        ),
        changes=changes,
        shared=shared,
        trends=trends,
        limit_trends=limit_trends,
        gone=gone,
        compared=last is not None,
        compared_teams=len(common),
        last_teams=0 if last is None else len(last.records),
        not_done=not_done,
    )


def _rows(records: Sequence[Record], shared: Sequence[SharedLimit], last: Earlier | None = None) -> tuple[Row, ...]:
    broken: dict[str, list[SharedLimit]] = defaultdict(list)
    for limit in shared:
        if limit.broken:
            for team in limit.teams:
                broken[team].append(limit)
    rows = []
    for record in records:
        before = None if last is None else last.records.get(record["id"])
        trends = {}
        if last is not None:
            trends = trends_of(record["results"], None if before is None else before["results"], TEAM_NUMBERS)
        mine = tuple(broken[record["id"]])
        rows.append(Row(record, trends, mine, missed_together(record, mine)))
    return tuple(rows)


def _compared(
    changes: tuple[ChangeTotal, ...],
    common: Mapping[str, Record],
    before: Mapping[str, Record],
    earlier: tuple[Totals, dict[str, Mapping[str, Any]]],
) -> tuple[tuple[ChangeTotal, ...], dict[str, Trend]]:
    """The changes with their trends, and those of the totals: over the teams with results in both runs, from their records."""
    if not common:
        return changes, {}
    old, old_changes = earlier
    now, now_changes = _sums(common)
    trends = {name: sum_trend(common, before, of_team) for name, of_team in TOTAL_TIMES.items()}
    trends |= trends_of(vars(now), vars(old), TOTAL_NUMBERS, len(common))
    return tuple(
        replace(
            item,
            trends=trends_of(now_changes.get(item.id, {}), old_changes.get(item.id), CHANGE_NUMBERS, len(common)),
        )
        for item in changes
    ), trends


def _sums(records: Mapping[str, Record]) -> tuple[Totals, dict[str, Mapping[str, Any]]]:
    """Totals of some teams, and their changes by name."""
    limits = shared_limits(list(records.values()))
    totals = _totals(_rows(list(records.values()), limits), limits)
    return totals, {item.id: vars(item) for item in change_totals(records.values())}


def _earlier_sums(records: Mapping[str, Record]) -> tuple[Totals, dict[str, Mapping[str, Any]]]:
    try:
        return _sums(records)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise no_index(problem) from None


def check_previous(index: Mapping[str, Any]) -> None:
    """Raise :class:`InputError` where an index is none that :func:`build_portfolio` can compare with."""
    _earlier_sums(read_earlier(index).records)


def _limit_trends(shared: Sequence[SharedLimit], last: Earlier, without: set[str]) -> dict[str, Mapping[str, Trend]]:
    """Trends by limit: none where a team takes part in it in one run, and has no results in the other."""
    found: dict[str, Mapping[str, Trend]] = {}
    for limit in shared:
        before = last.limits.get(limit.key)
        moved = set(limit.teams) ^ (frozenset() if before is None else before["teams"])
        if not moved & (without | last.without):
            found[limit.key] = trends_of(limit_numbers(limit), before, LIMIT_NUMBERS)
    return found


def limit_numbers(limit: SharedLimit) -> dict[str, float | None]:
    """The numbers of a shared limit that a trend is told of."""
    return {
        "limit": limit.limit,
        "asked": limit.asked,
        "alone_min": limit.alone_min,
        "joint_min": limit.joint_min,
        "late_min": limit.latest.late_min,
    }


def _totals(rows: Sequence[Row], shared: Sequence[SharedLimit]) -> Totals:
    coupled = [row.results for row in rows if row.results["couples"]]
    broken = [limit for limit in shared if limit.broken]
    met = sum(row.met is True for row in rows)
    missed_together = sum(bool(row.missed_together) for row in rows)
    return Totals(
        teams=len(rows),
        met=met,
        missed=sum(row.met is False for row in rows),
        met_together=met - missed_together,
        missed_together=missed_together,
        not_judged=sum(row.met is None for row in rows),
        failed=0,
        not_done=0,
        hypothetical=sum(bool(row.record["hypothetical"]) for row in rows),
        stale_min=sum(item["fresh_min"] or 0.0 for item in coupled),
        never=sum(item["fresh_min"] is None for item in coupled),
        planned_stale_min=sum(item["planned_fresh_min"] or 0.0 for item in coupled),
        planned_never=sum(item["planned_fresh_min"] is None for item in coupled),
        broken_limits=len(broken),
        late_min=max((limit.latest.late_min or 0.0 for limit in broken), default=0.0),
        open_changes=sum(len(row.record["plan"]) for row in rows),
        effort_days=sum(line["effort_days"] for row in rows for line in row.record["plan"]),
    )
