"""What a reading that somebody typed cannot mean: it is refused before it is kept, since it spoils every later answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from afterload.scenario import Reading

__all__ = ["mistyped"]

# A clock may be wrong by this; what is later was mistyped.
FUTURE_MIN = 5.0
# A backlog that is five times as large within so many minutes has a digit too many; one that goes five times as fast as
# consumers can serve has one too few.
TYPO_TIMES, TYPO_MIN, TYPO_LEAST = 5.0, 10.0, 100.0


@dataclass(frozen=True)
class Mistyped:
    """Which part of a reading looks wrong (``at``, ``age`` or ``depth``), and why.

    ``words`` are a sentence without its end that begins with the value; ``or_else`` is what may have happened if it is right.
    """

    part: str
    words: str
    or_else: str = ""

    @property
    def question(self) -> str:
        """What to ask whoever typed it."""
        return f"is it mistyped{f', or {self.or_else}' if self.or_else else ''}?"


def mistyped(
    new: Reading, earlier: Sequence[Reading], now: datetime, service_per_min: float | None = None
) -> Mistyped | None:
    """What looks mistyped in a new reading; None where nothing does.

    Parameters:
        earlier: readings of the same queue.
        now: the time, with a zone.
        service_per_min: what consumers serve, items a minute.
    """
    if new.at > now + timedelta(minutes=FUTURE_MIN):
        return Mistyped("at", f"{new.at.isoformat()} is in the future; it is {now.isoformat()} now")
    if new.age_min is not None and new.age_min > 0 and new.depth == 0:
        return Mistyped("age", f"{new.age_min:g} min cannot be that of the oldest, since nothing waits")
    before = max((item for item in earlier if item.at < new.at), key=lambda item: item.at, default=None)
    if before is None or before.depth < TYPO_LEAST:
        return None
    minutes = (new.at - before.at).total_seconds() / 60
    if minutes <= TYPO_MIN and new.depth > TYPO_TIMES * before.depth:
        return Mistyped(
            "depth",
            f"{new.depth:,.0f} is more than {TYPO_TIMES:g} times the {before.depth:,.0f} of {minutes:.3g} min before",
        )
    if service_per_min is not None and before.depth - new.depth > TYPO_TIMES * service_per_min * max(1.0, minutes):
        return Mistyped(
            "depth",
            f"{new.depth:,.0f} is {before.depth - new.depth:,.0f} less than {minutes:.3g} min before, more than "
            f"{TYPO_TIMES:g} times what {service_per_min:,.4g}/min serve",
            "was the queue purged",
        )
    return None
