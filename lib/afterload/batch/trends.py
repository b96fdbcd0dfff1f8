"""Numbers of a run against those of the last one: read from its ``index.json``, and compared only where both runs have them.

Sums are compared over the teams that have results in both runs, from the records of both: a team that failed, came or went
moves no sum. Sums of times take only teams whose time has an end in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from afterload.errors import InputError

__all__ = [
    "INDEX_VERSION",
    "RECORD_VERSION",
    "Earlier",
    "Record",
    "Trend",
    "Word",
    "read_earlier",
    "sum_trend",
    "trends_of",
]

INDEX_VERSION = 1
# The form of a record that is read here; afterload.batch.record writes it.
RECORD_VERSION = 1
Record = Mapping[str, Any]
Word = Literal["better", "worse", "same", "new", "changed"]
# Numbers of two runs that differ by less than this share are the same.
SAME = 1e-6
# Of these None is never, and not a number that is missing.
NEVERS = ("fresh_min", "drain_min", "planned_fresh_min", "joint_min")


@dataclass(frozen=True)
class Trend:
    """One number against the last run. ``before`` and ``after`` are None for never or for not known.

    ``teams`` says over how many teams a sum was taken in both runs; None for what is no sum over teams.
    """

    word: Word
    before: float | None
    after: float | None
    teams: int | None = None

    @property
    def moved(self) -> float | None:
        """after - before; None where that is no number."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class Earlier:
    """The last run: its records and shared limits by stable name, the names of its teams, and those without results."""

    records: Mapping[str, Record]
    names: Mapping[str, str]
    without: frozenset[str]
    limits: Mapping[str, Mapping[str, Any]]


def read_earlier(index: Mapping[str, Any]) -> Earlier:
    """Read an ``index.json``. Raises :class:`InputError` for anything but an index of this version."""
    try:
        version = index["index"]
        if version != INDEX_VERSION:
            raise InputError(
                f"the last run's index.json has form {version!r}, not {INDEX_VERSION}: no trend can be told"
            )
        without = [*index["failures"], *index.get("not_done", ())]
        return Earlier(
            {str(item["id"]): item for item in index["teams"]},
            {
                **{str(item["id"]): str(item.get("team") or item["scenario"]) for item in without},
                **{str(item["id"]): str(item["team"]) for item in index["teams"]},
            },
            frozenset(str(item["id"]) for item in without),
            {str(item["key"]): {**item, "teams": frozenset(item["teams"])} for item in index["shared"]},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise no_index(problem) from None


def no_index(problem: Exception) -> InputError:
    """What to say of an index that holds something else than a portfolio."""
    return InputError(
        f"the last run's index.json holds no portfolio of Afterload ({type(problem).__name__}: {problem}); "
        "remove it or name another"
    )


def trends_of(
    after: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    numbers: Mapping[str, bool | None],
    teams: int | None = None,
) -> dict[str, Trend]:
    """Trends by name of the number.

    Parameters:
        after, before: numbers of this and of the last run; None where the last one has nothing of the kind.
        numbers: which to tell of, and whether less of it is better; None: neither is.
        teams: over how many teams they are sums.
    """
    if before is None:
        return {name: Trend("new", None, after.get(name), teams) for name in numbers if after.get(name) is not None}
    # Where a time is there at all, None of it is never: worse than any number.
    is_never = after.get("couples", True) and before.get("couples", True)
    found = {}
    for name, less_is_better in numbers.items():
        one, other = _number(before.get(name)), _number(after.get(name))
        # Launch times and sums always have an end: None of those is not there.
        times = name in NEVERS and is_never
        if one is None and other is None:
            if times:
                found[name] = Trend("same", None, None, teams)
            continue
        if (one is None or other is None) and not times:
            found[name] = Trend("new" if one is None else "changed", one, other, teams)
            continue
        first, second = (math.inf if value is None else value for value in (one, other))
        found[name] = Trend(_word(first, second, less_is_better), one, other, teams)
    return found


def sum_trend(after: Mapping[str, Record], before: Mapping[str, Record], name: str) -> Trend:
    """The trend of a sum of times over the teams whose time has an end in both runs, or that have nothing queued in both."""
    first = second = 0.0
    teams = 0
    for key, now in after.items():
        results, last = now["results"], before[key]["results"]
        if bool(results["couples"]) != bool(last["couples"]):
            continue
        if not results["couples"]:
            teams += 1
        elif results[name] is not None and last[name] is not None:
            first, second, teams = first + last[name], second + results[name], teams + 1
    return Trend(_word(first, second, True), first, second, teams)


def _word(before: float, after: float, less_is_better: bool | None) -> Word:
    if math.isclose(before, after, rel_tol=SAME):
        return "same"
    if less_is_better is None:
        return "changed"
    return "better" if (after < before) == less_is_better else "worse"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
