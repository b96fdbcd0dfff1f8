"""A recovery that is going on: when the backlog is empty, from the readings so far and from what else is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from afterload.errors import ApproximationWarning, InputError, LowerBoundWarning, MissingEvidenceWarning
from afterload.findings.admission import SafeCap, Step, admission_steps, is_failing, safe_cap
from afterload.findings.live_known import PLANNED_SHARE, Known, StatedRate, known_of
from afterload.findings.live_rates import APART, NEAR_RETENTION, Rates
from afterload.model.live import MOST_READINGS, Ahead, Change, Projection, find_change, fit_readings, rounding_of
from afterload.recovery.doubts import Doubt
from afterload.scenario import LoadedScenario, Reading
from afterload.scenario.problems import nearest
from afterload.scenario.readings import of_queue
from afterload.units import format_duration, format_rate, format_share

__all__ = ["Live", "LiveKind", "Times", "live", "live_answer"]

LiveKind = Literal["empty", "draining", "growing", "unknown"]
SHARES = (0.1, 0.5, 0.9)
# A drain, or a growth, is told as such where it is this sure.
SURE = 0.9
# A look again comes after a tenth of what is left, and within these bounds.
NEXT_SHARE, NEXT_LEAST_MIN, NEXT_MOST_MIN = 0.1, 5.0, 30.0
# While P90 is more than so many times P10, another reading tells much.
WIDE_TIMES, NEXT_WIDE_MIN = 1.5, 10.0
# With a growing backlog or a failing dependency.
NEXT_SOON_MIN = 5.0
# The longest that SQS keeps work (sqs.retention_s.maximum of data/limits.yaml): what an earlier outage left is gone.
OTHER_EVENT = timedelta(days=14)
# The second reading is due when the net rate can be told to this share of what usually drains: half of what arrives.
WANTED_SHARE = 0.2


@dataclass(frozen=True)
class Times:
    """Minutes from the last reading that P10, P50 and P90 of what is likely stay within; None: not within 1,000 days."""

    p10: float | None
    p50: float | None
    p90: float | None


@dataclass(frozen=True, eq=False)
class Live:
    """The answer for one queue. Rates in items a minute, times in minutes after ``now``.

    Attributes:
        now: the last reading.
        readings: all of it that were given, by time.
        used: how many of the last ones the net rate rests on.
        left: items to be served, those in flight included where every reading has them.
        kind: empty, draining, growing (both with nine tenths of certainty), or unknown.
        empty: when the backlog is empty.
        fresh: when first attempts are on time again.
        net, net_low, net_high: net drain, its P10 and P90, negative where the backlog grows; None where it is not known.
        arrival, service: what arrives and what is served; None where it is not known.
        projection: the course from now on; None where there is no net rate.
        ahead: what arrives and is not served beyond the present rates, where arrivals or consumers change over time.
        ahead_words: which of them do; empty where neither does.
        change: a net drain that became another one.
        cap: what may be drained; None where no dependency is given.
        capped: when the backlog is empty at the safe cap, and ``capped_fresh``; None where the drain is within the cap.
        failing: True if the dependency shows that it does not bear its load; None where nobody looked.
        steps: the seven steps of admission: which must wait, and why.
        next_min: when to look again, and ``next_why``.
        doubts: what to know.
    """

    queue: str
    now: datetime
    readings: tuple[Reading, ...]
    used: int
    left: float
    kind: LiveKind
    empty: Times
    fresh: Times
    net: float | None
    net_low: float | None
    net_high: float | None
    arrival: StatedRate | None
    service: StatedRate | None
    projection: Projection | None
    ahead: Ahead | None
    ahead_words: str
    change: Change | None
    cap: SafeCap | None
    capped: Times | None
    capped_fresh: Times | None
    failing: bool | None
    steps: tuple[Step, ...]
    next_min: float
    next_why: str
    known: Known
    doubts: tuple[Doubt, ...]

    @property
    def empty_at(self) -> datetime | None:
        """When the backlog is empty, at P50."""
        return None if self.empty.p50 is None else self.now + timedelta(minutes=self.empty.p50)

    @property
    def advised_at(self) -> datetime | None:
        """When the backlog is empty if the drain is held to the safe cap, at P50; None where it never is."""
        if self.capped is None:
            return self.empty_at
        return None if self.capped.p50 is None else self.now + timedelta(minutes=self.capped.p50)

    @property
    def since_restore_min(self) -> float | None:
        """Minutes from the restore to the last reading; None where the restore is not known or is later."""
        restored = self.known.restored_at
        if restored is None or restored > self.now:
            return None
        return (self.now - restored).total_seconds() / 60


def live_answer(readings: Sequence[Reading], loaded: LoadedScenario | None = None, queue: str | None = None) -> Live:
    """The answer for one queue of a scenario, or of none.

    Parameters:
        readings: what was seen, of this queue and others, in any order.
        loaded: the scenario.
        queue: which queue; may be left out where only one is meant.

    Raises:
        InputError: there is no reading of the queue, or it is not clear which queue is meant.
    """
    known = sorted({reading.queue for reading in readings})
    if loaded is not None:
        known = list(loaded.scenario.queues)
        chosen = queue or (loaded.scenario.live.queue if loaded.scenario.live is not None else None)
    else:
        chosen = queue
    if chosen is None:
        if len(known) != 1:
            raise InputError(f"which queue is meant? Give one of {', '.join(known) or 'them: there is none'}")
        chosen = known[0]
    if loaded is not None and chosen not in known:
        near = nearest(chosen, known)
        hint = f"; nearest: {near}" if near else ""
        raise InputError(f"{chosen!r} is not a queue of {loaded.name}{hint}; known: {', '.join(known) or 'none'}")
    return live(of_queue(readings, chosen), Known() if loaded is None else known_of(loaded, chosen))


def live(readings: Sequence[Reading], known: Known) -> Live:
    """The answer from readings of one queue.

    Raises:
        InputError: there is no reading, there are several queues, or two readings at one time.
    """
    ordered = tuple(sorted(readings, key=lambda item: item.at))
    _check(ordered)
    restored = known.restored_at
    if restored is None or ordered[-1].at - restored <= OTHER_EVENT:
        return _Answer(ordered, known).live()
    answer = _Answer(ordered, replace(known, restored_at=None)).live()
    days = (ordered[-1].at - restored).days
    words = (
        f"the restore of {restored.astimezone(known.zone):%Y-%m-%d %H:%M %Z} is {days:,} days before this reading and is taken "
        "for another event's: --restored, or restored_at in the scenario, gives this one's"
    )
    return replace(answer, doubts=(Doubt(MissingEvidenceWarning, words), *answer.doubts))


def _check(readings: Sequence[Reading]) -> None:
    if not readings:
        raise InputError("there is no reading of the queue: give the items that wait")
    names = sorted({reading.queue for reading in readings})
    if len(names) > 1:
        raise InputError(f"the readings are of {len(names)} queues, {', '.join(names)}: give those of one")
    for before, after in pairwise(readings):
        if before.at == after.at:
            raise InputError(f"there are two readings at {after.at.isoformat()}: leave one out")


class _Answer(Rates):
    def _since_empty(self) -> int:
        """The first reading after the queue was last seen empty: an empty queue cannot drain, so earlier ones tell nothing."""
        empty = [place for place, depth in enumerate(self.depths[:-1]) if depth <= 0]
        return empty[-1] + 1 if empty else 0

    def live(self) -> Live:
        failing = is_failing(self.seen, self.known.side)
        if failing is False and self.known.consumers is not None and self.known.healthy is not None:
            # What is seen goes over the state in which the scenario begins.
            seen = self.known.healthy()
            self.known = replace(self.known, service=seen.service, consumers=seen.consumers, sustains=seen.sustains)
        known, last, left = self.known, self.last, self.depths[-1]
        first = self._since_empty()
        change, projection, used = None, None, 1
        if left > 0 and len(self.readings) - first > 1:
            change = find_change(self.minutes[first:], self.depths[first:], self._flow())
            if change is not None:
                change = replace(change, place=change.place + first)
                first = change.place
            used = min(len(self.readings) - first, MOST_READINGS)
            projection = fit_readings(self.minutes[first:], self.depths[first:], self._flow())
        elif left > 0:
            projection = self._from_rates()
        self.used = used
        ahead, ahead_words = self._ahead(self._ramp()) if projection is not None else (None, "")
        kind = _kind(left, projection)
        empty = self._empty(kind, projection, ahead)
        net = None if projection is None else projection.net_per_min
        service = self._service(net)
        cap = safe_cap(known.side, known.item_time_s, self.seen, bool(failing), self._highest(service))
        capped = self._capped(cap, kind)
        self._say(kind, projection)
        next_min, why = self._next(kind, empty, projection, failing)
        answer = Live(
            queue=last.queue, now=last.at, readings=self.readings, used=used, left=left, kind=kind, empty=empty,
            fresh=self._fresh(kind, empty, left), net=net,
            net_low=None if projection is None else projection.net_quantile(0.1),
            net_high=None if projection is None else projection.net_quantile(0.9),
            arrival=self.arrival, service=service, projection=projection, ahead=ahead, ahead_words=ahead_words,
            change=change, cap=cap, capped=capped, capped_fresh=None if capped is None else self._fresh(kind, capped, left),
            failing=failing, steps=(), next_min=next_min, next_why=why, known=known, doubts=tuple(self.doubts),
        )  # fmt: skip
        steps = admission_steps(
            known, failing, cap, kind, service, bool(change is not None and change.slower), last.at, answer.advised_at,
            answer.since_restore_min, self.seen.error_share,
        )  # fmt: skip
        return replace(answer, steps=steps)

    def _capped(self, cap: SafeCap | None, kind: LiveKind) -> Times | None:
        """When the backlog is empty with the drain held to the safe cap; None where the drain is within it."""
        if cap is None or cap.excess_per_min <= 0 or kind == "empty":
            return None
        rate = cap.rate_per_min
        service = StatedRate(rate, PLANNED_SHARE * rate, "at the safe cap")
        projection = self._at_rate(service)
        ahead, _ = self._ahead(self._ramp(service, rate))
        return self._empty(_kind(self.depths[-1], projection), projection, ahead)

    # --- times -----------------------------------------------------------------------------------------------------------

    def _empty(self, kind: LiveKind, projection: Projection | None, ahead: Ahead | None) -> Times:
        if kind == "empty":
            return Times(0.0, 0.0, 0.0)
        if projection is None:
            return Times(None, None, None)
        low, middle, high = (projection.empty_min(share, ahead) for share in SHARES)
        return Times(low, middle, high)

    def _fresh(self, kind: LiveKind, empty: Times, left: float) -> Times:
        """First attempts: with the backlog gone where work leaves in its order; else when fresh work has its turn."""
        known = self.known
        if kind == "empty" or known.order == "lifo":
            return Times(0.0, 0.0, 0.0)
        if known.order == "fifo":
            return empty
        live = 0.0 if self.arrival is None else min(left, self.arrival.per_min * known.sideline_min)
        share = live / left if left > 0 else 0.0
        if known.sideline_min > 0 and self.arrival is None:
            return empty
        if share == 0.0:
            return Times(0.0, 0.0, 0.0)
        return Times(*(None if value is None else share * value for value in (empty.p10, empty.p50, empty.p90)))

    def _next(
        self, kind: LiveKind, empty: Times, projection: Projection | None, failing: bool | None
    ) -> tuple[float, str]:
        if kind == "empty":
            return NEXT_SOON_MIN, "to see that it stays empty"
        if failing:
            return NEXT_SOON_MIN, "the dependency does not bear its load"
        if kind == "growing":
            return NEXT_SOON_MIN, "the backlog grows"
        if kind == "unknown":
            return self._until_known(projection), "then the net rate can be told"
        if self.used == 1:
            return self._until_known(projection), "a second reading shows whether it drains as the rates say"
        if empty.p10 is not None and (empty.p90 is None or empty.p90 > WIDE_TIMES * empty.p10):
            return NEXT_WIDE_MIN, "the span is wide, and another reading narrows it"
        left = empty.p50 if empty.p50 is not None else NEXT_MOST_MIN / NEXT_SHARE
        return _whole(NEXT_SHARE * left), "a tenth of what is left"

    def _until_known(self, projection: Projection | None) -> float:
        """Minutes until the net rate can be told to a fifth of what usually drains."""
        arrival = self.arrival.per_min if self.arrival is not None else 0.0
        net = abs(projection.net_per_min) if projection is not None else 0.0
        usual = max(net, 0.5 * arrival, 1e-9)
        step = rounding_of(self.depths[-1])
        flow = self._flow() or 5 * usual
        reading = max(step / 12**0.5, 0.002 * self.depths[-1])
        span = NEXT_LEAST_MIN
        while span < NEXT_MOST_MIN and (flow / span + 2 * reading**2 / span**2) ** 0.5 > WANTED_SHARE * usual:
            span += 1.0
        return span

    # --- what to know ------------------------------------------------------------------------------------------------------

    def _say(self, kind: LiveKind, projection: Projection | None) -> None:
        known, last = self.known, self.last
        self._say_of_consumers(kind)
        if self.used == 1 and projection is not None:
            self.doubts.append(
                Doubt(MissingEvidenceWarning, "one reading: the net rate is what the rates say, not what was seen")
            )
        if self.used == 2 and projection is not None:
            words = "two readings: how far counts err cannot be seen from them, so the span is wide"
            self.doubts.append(Doubt(ApproximationWarning, words))
        planned = known.mean_service(self.readings[-self.used].at, last.at)
        if projection is not None and self.used > 1 and planned is not None and self.arrival is not None:
            stated = planned.per_min - self.arrival.per_min
            if stated > 0 and projection.net_per_min < (1 - APART) * stated:
                said = f"{format_rate(planned.per_min)} {planned.words}"
                shown = f"show {_net_words(projection.net_per_min)}"
                if kind == "unknown":
                    shown = "do not show yet that it drains"
                words = f"the readings {shown}, where {said} lets expect a drain of {format_rate(stated)}"
                self.doubts.append(Doubt(ApproximationWarning, words))
        limit = known.retention_min
        if limit is not None and last.age_min is not None and last.age_min >= NEAR_RETENTION * limit:
            words = f"the oldest work is {format_duration(last.age_min)} old, near the retention of {format_duration(limit)}"
            self.doubts.append(Doubt(LowerBoundWarning, words))
        if self.known.profile is None and projection is not None:
            who = "arrivals" if self._ramp() is not None else "arrivals and consumers"
            self.doubts.append(Doubt(ApproximationWarning, f"{who} are taken to stay as they are now"))
        if known.side is not None and known.side.drain_share < 1:
            words = (
                f"other queues drain into {known.side.name} too: this one gets "
                f"{format_share(known.side.drain_share)} of the room, by what consumers do"
            )
            self.doubts.append(Doubt(ApproximationWarning, words))

    def _say_of_consumers(self, kind: LiveKind) -> None:
        """What caps, ramp, age limits and deadlines make doubtful; before all else, since it may turn the answer."""
        known, read = self.known, self.seen.service_per_min
        if known.cap is not None and known.item_time_s is None:
            words = f"the cap of {known.cap:,} at once is not counted, since nobody says how long an item takes"
            self.doubts.insert(0, Doubt(MissingEvidenceWarning, words))
        bound = known.bound
        if read is not None and bound is not None and read > bound.per_min * (1 + 1e-9):
            words = (
                f"{format_rate(read)} served as read is above the {format_rate(bound.per_min)} of {bound.words}: one of "
                "them, or the time of an item, is not what it is taken for"
            )
            self.doubts.insert(0, Doubt(ApproximationWarning, words))
        if known.on_ramp(self.last.at) and not self._planned_only():
            words = "consumers are still on their ramp, so the drain may become faster than what was seen"
            self.doubts.append(Doubt(ApproximationWarning, words))
        if known.consumers is not None and known.consumers.changes_after(0) and known.restored_at is None:
            self.doubts.append(
                Doubt(ApproximationWarning, "the ramp of the consumers is taken to begin with this reading")
            )
        acting = min((limit for limit in (known.age_limit_min, known.retention_min) if limit is not None), default=None)
        if kind == "growing" and acting is not None:
            words = f"the backlog grows until its oldest work reaches {format_duration(acting)}, and is then removed unserved"
            self.doubts.append(Doubt(LowerBoundWarning, words))
        if known.deadline_min is not None and kind != "empty":
            words = (
                f"consumers discard work older than {format_duration(known.deadline_min)} in no time, which is not counted: "
                "the backlog may be gone sooner"
            )
            self.doubts.append(Doubt(ApproximationWarning, words))


def _net_words(net: float) -> str:
    return f"a drain of {format_rate(net)}" if net >= 0 else f"a growth of {format_rate(-net)}"


def _whole(minutes: float) -> float:
    return float(round(min(NEXT_MOST_MIN, max(NEXT_LEAST_MIN, minutes))))


def _kind(left: float, projection: Projection | None) -> LiveKind:
    if left <= 0:
        return "empty"
    if projection is None:
        return "unknown"
    sure = projection.drains_surely()
    return "draining" if sure >= SURE else "growing" if sure <= 1 - SURE else "unknown"
