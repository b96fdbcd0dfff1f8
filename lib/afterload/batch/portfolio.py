"""The portfolio: the records of all teams as one, with totals, the changes that buy most, shared limits and trends."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from afterload.batch.shared import SharedLimit, shared_limits
from afterload.errors import InputError, ModelError

__all__ = [
    "INDEX_VERSION",
    "ChangeTotal",
    "Failure",
    "Portfolio",
    "Row",
    "Totals",
    "Trend",
    "Word",
    "build_portfolio",
    "limit_numbers",
]

INDEX_VERSION = 1
# The form of a record that this portfolio reads; afterload.batch.record writes it.
RECORD_VERSION = 1
Record = Mapping[str, Any]
Word = Literal["better", "worse", "same", "new", "changed"]
# Numbers of a run that differ by less than this share are the same.
SAME = 1e-6
# What a trend is told of, with whether less is better; None: neither is.
TEAM_NUMBERS: Mapping[str, bool | None] = {
    "fresh_min": True, "drain_min": True, "planned_fresh_min": True, "lost": True, "peak_attempts_per_min": True,
    "multiplier": True, "launch_min": True,
}  # fmt: skip
TOTAL_NUMBERS: Mapping[str, bool | None] = {
    "teams": None, "met": False, "missed": True, "not_judged": None, "failed": True, "stale_min": True, "never": True,
    "planned_stale_min": True, "planned_never": True, "broken_limits": True, "late_min": True,
}  # fmt: skip
CHANGE_NUMBERS: Mapping[str, bool | None] = {
    "teams": None,
    "bought_min": None,
    "stale_bought_min": None,
    "ends_never": None,
}
# Of these None is never, and not a number that is missing.
NEVERS = ("fresh_min", "drain_min", "planned_fresh_min", "joint_min")
LIMIT_NUMBERS: Mapping[str, bool | None] = {"limit": False, "asked": True, "joint_min": True, "late_min": True}


@dataclass(frozen=True)
class Trend:
    """One number against the last run. ``before`` and ``after`` are None for never or for not known."""

    word: Word
    before: float | None
    after: float | None

    @property
    def moved(self) -> float | None:
        """after - before; None where that is no number."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class Failure:
    """A team without a record: what kind of failure, and its words."""

    team_id: str
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
    """

    record: Record
    trends: Mapping[str, Trend] = field(default_factory=dict)
    broken: tuple[SharedLimit, ...] = ()

    @property
    def id(self) -> str:
        """Stable name of the team."""
        return str(self.record["id"])

    @property
    def met(self) -> bool | None:
        """Whether all its objectives are met; None where nothing could be judged."""
        met: bool | None = self.record["met"]
        return met

    @property
    def results(self) -> Mapping[str, Any]:
        """The headline numbers."""
        results: Mapping[str, Any] = self.record["results"]
        return results

    @cached_property
    def top_change(self) -> Mapping[str, Any] | None:
        """The open line of its plan that buys most: an end to never, else minutes of drain, else minutes stale; or None."""

        def worth(line: Mapping[str, Any]) -> tuple[bool, float, float]:
            return line["ends_never"], line["bought_min"] or 0.0, line["stale_bought_min"] or 0.0

        return max((line for line in self.record["plan"] if any(worth(line))), key=worth, default=None)


@dataclass(frozen=True)
class ChangeTotal:
    """One change of the catalogue over all teams.

    Attributes:
        teams, lines: teams that have it open, and lines of their plans.
        bought_min: sum of the minutes of drain that each line buys alone.
        stale_bought_min: the same of minutes stale.
        ends_never: teams whose drain it brings from never to some time, alone.
        effort_days: sum over the lines.
        saves, costs_effort: by currency: cost of the stale minutes that it saves in one event, and of its effort, over the
            teams that give costs.
        top_team: id of the team for which it buys most.
    """

    id: str
    title: str
    teams: int
    lines: int
    bought_min: float
    stale_bought_min: float
    ends_never: int
    effort_days: float
    saves: Mapping[str, float]
    costs_effort: Mapping[str, float]
    top_team: str
    trends: Mapping[str, Trend] = field(default_factory=dict)


@dataclass(frozen=True)
class Totals:
    """Sums over all teams. Minutes are those of teams whose time has an end; ``never`` counts the others."""

    teams: int
    met: int
    missed: int
    not_judged: int
    failed: int
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
    """All teams as one. ``gone`` are teams of the last run that this one does not have; ``compared`` says if there was one."""

    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    totals: Totals
    changes: tuple[ChangeTotal, ...]
    shared: tuple[SharedLimit, ...]
    trends: Mapping[str, Trend]
    limit_trends: Mapping[str, Mapping[str, Trend]]
    gone: tuple[tuple[str, str], ...] = ()
    compared: bool = False

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Teams' names by id; where two share one, with the id behind it."""
        count = Counter(row.record["team"] for row in self.rows)
        return {
            row.id: row.record["team"] if count[row.record["team"]] == 1 else f"{row.record['team']} ({row.id})"
            for row in self.rows
        }


def build_portfolio(
    records: Iterable[Record],
    failures: Iterable[tuple[str, str, str, str]] = (),
    previous: Mapping[str, Any] | None = None,
) -> Portfolio:
    """Make the portfolio.

    Parameters:
        records: one a team, each with an id of its own.
        failures: team id, scenario, kind and words of each team without a record.
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
    failed = tuple(Failure(*map(str, item)) for item in sorted(failures))
    shared = shared_limits(ordered)
    last = None if previous is None else _previous(previous)
    broken: dict[str, list[SharedLimit]] = defaultdict(list)
    for limit in shared:
        if limit.broken:
            for team in limit.teams:
                broken[team].append(limit)
    rows = tuple(
        Row(
            record,
            {} if last is None else _trends(record["results"], last["teams"].get(record["id"]), TEAM_NUMBERS),
            tuple(broken[record["id"]]),
        )
        for record in ordered
    )
    totals = _totals(rows, failed, shared)
    changes = _changes(rows, None if last is None else last["changes"])
    here = {row.id for row in rows} | {item.team_id for item in failed}
    gone = () if last is None else tuple((key, last["names"][key]) for key in sorted(last["names"]) if key not in here)
    return Portfolio(
        rows=rows,
        failures=failed,
        totals=totals,
        changes=changes,
        shared=shared,
        trends={} if last is None else _trends(vars(totals), last["totals"], TOTAL_NUMBERS),
        limit_trends={}
        if last is None
        else {
            limit.key: _trends(limit_numbers(limit), last["shared"].get(limit.key), LIMIT_NUMBERS) for limit in shared
        },
        gone=gone,
        compared=last is not None,
    )


def limit_numbers(limit: SharedLimit) -> dict[str, float | None]:
    """The numbers of a shared limit that a trend is told of."""
    return {
        "limit": limit.limit,
        "asked": limit.asked,
        "alone_min": limit.alone_min,
        "joint_min": limit.joint_min,
        "late_min": limit.latest.late_min,
    }


def check_previous(index: Mapping[str, Any]) -> None:
    """Raise :class:`InputError` where an index is none that :func:`build_portfolio` can compare with."""
    _previous(index)


def _previous(index: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of the last run by stable name. Raises :class:`InputError` for anything but an index of this version."""
    try:
        version = index["index"]
        if version != INDEX_VERSION:
            raise InputError(
                f"the last run's index.json has form {version!r}, not {INDEX_VERSION}: no trend can be told"
            )
        return {
            "teams": {str(item["id"]): dict(item["results"]) for item in index["teams"]},
            "names": {
                **{str(item["id"]): str(item["scenario"]) for item in index["failures"]},
                **{str(item["id"]): str(item["team"]) for item in index["teams"]},
            },
            "totals": dict(index["totals"]),
            "changes": {str(item["id"]): dict(item) for item in index["changes"]},
            "shared": {str(item["key"]): dict(item) for item in index["shared"]},
        }
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InputError(
            f"the last run's index.json holds no portfolio of Afterload ({type(problem).__name__}: {problem}); "
            "remove it or name another"
        ) from None


def _trends(
    after: Mapping[str, Any], before: Mapping[str, Any] | None, numbers: Mapping[str, bool | None]
) -> dict[str, Trend]:
    if before is None:
        return {name: Trend("new", None, after.get(name)) for name in numbers if after.get(name) is not None}
    # Where a time is there at all, None of it is never: worse than any number.
    is_never = after.get("couples", True) and before.get("couples", True)
    found = {}
    for name, less_is_better in numbers.items():
        one, other = _number(before.get(name)), _number(after.get(name))
        # Launch times and sums always have an end: None of those is not there.
        times = name in NEVERS and is_never
        if one is None and other is None:
            if times:
                found[name] = Trend("same", None, None)
            continue
        if (one is None or other is None) and not times:
            found[name] = Trend("new" if one is None else "changed", one, other)
            continue
        first, second = (math.inf if value is None else value for value in (one, other))
        if math.isclose(first, second, rel_tol=SAME):
            word: Word = "same"
        elif less_is_better is None:
            word = "changed"
        else:
            word = "better" if (second < first) == less_is_better else "worse"
        found[name] = Trend(word, one, other)
    return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _totals(rows: Sequence[Row], failures: Sequence[Failure], shared: Sequence[SharedLimit]) -> Totals:
    coupled = [row.results for row in rows if row.results["couples"]]
    broken = [limit for limit in shared if limit.broken]
    return Totals(
        teams=len(rows) + len(failures),
        met=sum(row.met is True for row in rows),
        missed=sum(row.met is False for row in rows),
        not_judged=sum(row.met is None for row in rows),
        failed=len(failures),
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


def _changes(rows: Sequence[Row], last: Mapping[str, Mapping[str, Any]] | None) -> tuple[ChangeTotal, ...]:
    """Every open change over all teams: what buys most minutes first, then what ends a never for most teams."""
    lines: dict[str, list[tuple[Row, Mapping[str, Any]]]] = defaultdict(list)
    for row in rows:
        for line in row.record["plan"]:
            lines[line["change"]].append((row, line))
    found = []
    for change, uses in lines.items():
        saves: dict[str, float] = defaultdict(float)
        effort: dict[str, float] = defaultdict(float)
        for row, line in uses:
            costs = row.record["costs"]
            if costs is not None and line["saves"] is not None:
                saves[costs["currency"]] += line["saves"]
                effort[costs["currency"]] += line["effort_days"] * costs["person_day"]
        top, _ = max(uses, key=lambda use: (use[1]["ends_never"], use[1]["bought_min"] or 0.0))
        total = ChangeTotal(
            id=change,
            title=uses[0][1]["title"],
            teams=len({row.id for row, _ in uses}),
            lines=len(uses),
            bought_min=sum(line["bought_min"] or 0.0 for _, line in uses),
            stale_bought_min=sum(line["stale_bought_min"] or 0.0 for _, line in uses),
            ends_never=len({row.id for row, line in uses if line["ends_never"]}),
            effort_days=sum(line["effort_days"] for _, line in uses),
            saves=dict(sorted(saves.items())),
            costs_effort=dict(sorted(effort.items())),
            top_team=top.id,
        )
        if last is not None:
            total = ChangeTotal(**{**vars(total), "trends": _trends(vars(total), last.get(change), CHANGE_NUMBERS)})
        found.append(total)
    return tuple(sorted(found, key=lambda item: (-item.bought_min, -item.stale_bought_min, -item.ends_never, item.id)))
