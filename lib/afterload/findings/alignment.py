"""A team's own events beside the provider's timeline: which follow which, and what the provider's account leaves open."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Literal

from afterload.errors import ModelError
from afterload.scenario import TimelineEvent

__all__ = ["Alignment", "Follower", "align"]

Reason = Literal["", "before any", "beyond the window"]


@dataclass(frozen=True)
class Follower:
    """One event of the team, and the provider's event that it follows.

    Attributes:
        ours: the team's event.
        theirs: the provider's event that it is laid beside: for one beyond the window, the nearest before it; None where
            the provider has none before it.
        lag_min: minutes from the start of theirs to the start of ours; None where there is none.
        same_subsystem: theirs is of a matching subsystem.
        reason: why the provider's account does not explain it; empty where it may.
    """

    ours: TimelineEvent
    theirs: TimelineEvent | None
    lag_min: float | None
    same_subsystem: bool
    reason: Reason = ""


@dataclass(frozen=True)
class Alignment:
    """The team's events in order, each beside the provider's.

    To follow is an order in time, not a cause.
    """

    followers: tuple[Follower, ...]
    theirs: tuple[TimelineEvent, ...]
    window_min: float

    @property
    def explained(self) -> tuple[Follower, ...]:
        """Those that follow an event of the provider within the window."""
        return tuple(item for item in self.followers if not item.reason)

    @property
    def unexplained(self) -> tuple[Follower, ...]:
        """Those before any of the provider's events, or later than the window after the last one before them."""
        return tuple(item for item in self.followers if item.reason)

    @property
    def median_lag_min(self) -> float | None:
        """The middle lag of those within the window, in minutes; None where there are none."""
        lags = [item.lag_min for item in self.explained if item.lag_min is not None]
        return median(lags) if lags else None


def align(
    ours: Sequence[TimelineEvent],
    theirs: Sequence[TimelineEvent],
    window_min: float = 60.0,
    depends_on: Mapping[str, Iterable[str]] | None = None,
) -> Alignment:
    """Lay events beside the provider's: each beside the nearest one at or before it, within a window.

    One of a matching subsystem goes before all others in the window. Names match where they share a word; ``depends_on``
    names further subsystems of the provider that one of ours depends on. Of several at one time the first in order of
    subsystem, kind and text is taken, so that the order of the lists never matters.

    Parameters:
        ours: the team's events.
        theirs: the provider's events.
        window_min: how long after one of theirs one of ours may follow it, in minutes; more than zero.
        depends_on: our subsystem to names of theirs.

    Raises :class:`ModelError` for a window that is not a number above zero.
    """
    if not 0 < window_min < float("inf"):
        raise ModelError(f"the window is {window_min} min: give minutes above zero")
    window = timedelta(minutes=min(window_min, timedelta.max.total_seconds() / 60 / 2))
    # Of one minute the last is found first, so these stand in reverse.
    account = sorted(sorted(theirs, key=_words, reverse=True), key=_start)
    starts = [_start(event) for event in account]
    names = {event.subsystem for event in ours}
    wanted = {name: _tokens(name, *(depends_on or {}).get(name, ())) for name in names}
    tokens = [_tokens(event.subsystem) for event in account]
    followers = []
    for event in sorted(sorted(ours, key=_words), key=_start):
        place = bisect_right(starts, _start(event))
        oldest = _start(event) - window
        inside = range(place - 1, -1, -1)
        near = next((at for at in inside if starts[at] < oldest or wanted[event.subsystem] & tokens[at]), None)
        matching = near if near is not None and starts[near] >= oldest else None
        followers.append(_beside(event, account, starts, place, matching, oldest))
    return Alignment(tuple(followers), tuple(account), window_min)


def _beside(
    event: TimelineEvent,
    account: Sequence[TimelineEvent],
    starts: Sequence[datetime],
    place: int,
    matching: int | None,
    oldest: datetime,
) -> Follower:
    if place == 0:
        return Follower(event, None, None, False, "before any")
    chosen = place - 1 if matching is None else matching
    lag_min = (_start(event) - starts[chosen]).total_seconds() / 60
    reason: Reason = "" if starts[chosen] >= oldest else "beyond the window"
    return Follower(event, account[chosen], lag_min, matching is not None, reason)


def _start(event: TimelineEvent) -> datetime:
    return event.at.astimezone(UTC)


def _words(event: TimelineEvent) -> tuple[str, str, str]:
    return event.subsystem, event.kind, event.event


def _tokens(*names: str) -> frozenset[str]:
    """Words of subsystem names, without those that say nothing, so that "AWS Lambda" is not "AWS Batch"."""
    words = {word for name in names for word in re.findall(r"[^\W_]+", name.casefold())}
    return frozenset(words - _EMPTY or words)


_EMPTY = frozenset("a and api apis aws amazon azure cloud for gcp google of our service services system the".split())
