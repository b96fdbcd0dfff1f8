"""What goes into the model of a queue: its load and its ramp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import RateProfile

__all__ = ["Order", "QueueLoad", "Ramp"]

Order: TypeAlias = Literal["fifo", "lifo", "fresh_first"]


@dataclass(frozen=True)
class Ramp:
    """Concurrency that consumers gain from the restore on: ``min(ceiling, start + per_min * t)``.

    Attributes:
        start: concurrent items at the restore.
        per_min: concurrency gained in a minute.
        ceiling: the most concurrency reached.

    Raises:
        ModelError: a value negative or not finite, a gain so slow that it is none, or a ceiling below the start.

    Source: service documentation: Lambda SQS mappings start at 5, gain 300 a minute, and end at 1,250.
    """

    start: float = 5.0
    per_min: float = 300.0
    ceiling: float = 1250.0

    def __post_init__(self) -> None:
        start = number("ramp.start", self.start)
        gain = number("ramp.per_min", self.per_min)
        if 0.0 < gain < 1e-3:
            raise ModelError(f"ramp.per_min is {gain:g}, less than 0.001 a minute; give 0 for a ramp that stays")
        if number("ramp.ceiling", self.ceiling) < start:
            raise ModelError(f"ramp.ceiling is {self.ceiling:g}, below ramp.start {self.start:g}")


@dataclass(frozen=True)
class QueueLoad:
    """One queue, from the trigger (``t = 0``) through its outage to the end of its backlog.

    Attributes:
        arrivals: new work per minute from the trigger on.
        service_rate_per_min: items a minute that the consumers sustain after the restore.
        outage_min: minutes from the trigger to the restore.
        backlog_before: items waiting at the trigger; taken to have arrived before it at the first rate of
            ``arrivals``, or at the trigger where that rate is 0.
        served_in_outage_per_min: items a minute still served in the outage, oldest first.
        max_age_min: age limit after which an item expires; ``None`` for no limit.
        retention_min: age at which the queue itself drops an item, counted apart; the smaller of the two acts,
            and the age limit where they are equal.
        deadline_min: from the restore on, work older than this when its turn comes is discarded in no time.
        superseded_share: share, 0 to 1, of the backlog at the restore that is dropped then, evenly over ages.
        item_time_s: seconds that one item takes in a consumer; needed by a cap or a ramp.
        cap_concurrency: most items worked on at once from the restore on; ``None`` for no cap.
        ramp: how concurrency grows from the restore on; ``None`` for all of it at once.
        order: from the restore on, ``"fifo"``; ``"fresh_first"``, where items older than the sideline threshold
            leave for a second queue that gets the capacity which fresh work leaves over, in order of arrival; or
            ``"lifo"``, which is fresh first with a threshold of 0. So the backlog behind fresh work is taken
            oldest first, where a strict stack would take its newest first: drain and fresh age are the same, but
            a strict stack lets more expire under an age limit that acts in the drain.
        sideline_after_min: the threshold of ``"fresh_first"``.

    Raises:
        ModelError: a value out of its range, or a cap or ramp without ``item_time_s``.

    Source: docs/model.md section 1.
    """

    arrivals: RateProfile
    service_rate_per_min: float
    outage_min: float
    backlog_before: float = 0.0
    served_in_outage_per_min: float = 0.0
    max_age_min: float | None = None
    retention_min: float | None = None
    deadline_min: float | None = None
    superseded_share: float = 0.0
    item_time_s: float | None = None
    cap_concurrency: float | None = None
    ramp: Ramp | None = None
    order: Order = "fifo"
    sideline_after_min: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.arrivals, RateProfile):
            raise ModelError(f"arrivals is {self.arrivals!r}; give a RateProfile")
        number("service_rate_per_min", self.service_rate_per_min)
        number("outage_min", self.outage_min)
        number("backlog_before", self.backlog_before)
        number("served_in_outage_per_min", self.served_in_outage_per_min)
        for name in ("max_age_min", "retention_min", "deadline_min", "item_time_s"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), above=0.0)
        number("superseded_share", self.superseded_share, most=1.0)
        if self.cap_concurrency is not None:
            number("cap_concurrency", self.cap_concurrency)
        if self.item_time_s is None and (self.cap_concurrency is not None or self.ramp is not None):
            which = "cap_concurrency" if self.cap_concurrency is not None else "ramp"
            raise ModelError(f"{which} is set but item_time_s is not; give the seconds that one item takes")
        if self.order not in get_args(Order):
            raise ModelError(f"order is {self.order!r}; give one of {', '.join(get_args(Order))}")
        if self.order == "fresh_first" and self.sideline_after_min is None:
            raise ModelError("order is 'fresh_first' but sideline_after_min is None; give the threshold in minutes")
        if self.sideline_after_min is not None:
            if self.order != "fresh_first":
                raise ModelError(
                    f"sideline_after_min is {self.sideline_after_min} but order is {self.order!r};"
                    " only 'fresh_first' has a threshold"
                )
            number("sideline_after_min", self.sideline_after_min)
