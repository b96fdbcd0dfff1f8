"""A recovery that is going on: when the backlog is empty, from the readings so far and from what else is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from afterload.errors import ApproximationWarning, InputError, LowerBoundWarning, MissingEvidenceWarning
from afterload.estimates import Doubt
from afterload.findings.admission import SafeCap, Step, admission_steps, is_failing, safe_cap
from afterload.findings.live_known import READ_SHARE, Known, StatedRate, known_of
from afterload.model.live import Ahead, Change, Projection, find_change, fit_readings, from_rates, rounding_of
from afterload.scenario import LoadedScenario, Reading
from afterload.scenario.problems import nearest
from afterload.scenario.readings import of_queue
from afterload.units import format_duration, format_rate, format_share

__all__ = ["Live", "LiveKind", "Times", "live", "live_answer"]

LiveKind = Literal["empty", "draining", "growing", "unknown"]
SHARES = (0.1, 0.5, 0.9)
# A drain, or a growth, is told as such where it is this sure.
SURE = 0.9
# What the age says and what is stated may differ by so much before it is worth a word.
APART = 0.25
NEAR_RETENTION = 0.8
# A look again comes after a tenth of what is left, and within these bounds.
NEXT_SHARE, NEXT_LEAST_MIN, NEXT_MOST_MIN = 0.1, 5.0, 30.0
# What a reading leaves out is taken from an earlier one of the last minutes.
RECENT_MIN = 30.0
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
    """Minutes from the last reading that P10, P50 and P90 of what is likely stay within; None: not within 30 days."""

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
        ahead: what arrives beyond the present rate, where the scenario knows arrivals over time.
        change: a net drain that became another one.
        cap: what may be drained; None where no dependency is given.
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
    change: Change | None
    cap: SafeCap | None
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
    def since_restore_min(self) -> float | None:
        """Minutes from the restore to the last reading; None where the restore is not known or is later."""
        restored = self.known.restored_at
        if restored is None or restored > self.now:
            return None
        return (self.now - restored).total_seconds() / 60

    @property
    def waiting_steps(self) -> tuple[Step, ...]:
        """Steps that must wait."""
        return tuple(step for step in self.steps if step.state == "wait")


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


class _Answer:
    def __init__(self, readings: tuple[Reading, ...], known: Known) -> None:
        self.readings, self.known, self.last = readings, known, readings[-1]
        self.used = 1
        self.doubts: list[Doubt] = []
        with_flight = all(item.in_flight is not None for item in readings)
        self.depths = [item.depth + (item.in_flight or 0.0 if with_flight else 0.0) for item in readings]
        self.minutes = [(item.at - readings[0].at).total_seconds() / 60 for item in readings]
        self.seen = self._seen()
        self.arrival = self._arrival()

    def _seen(self) -> Reading:
        """The last reading, with what it leaves out taken from the one before, where that is not long ago."""
        recent = [item for item in self.readings if self.last.at - item.at <= timedelta(minutes=RECENT_MIN)]

        def latest(name: str) -> float | None:
            return next((value for item in recent[::-1] if (value := getattr(item, name)) is not None), None)

        return replace(
            self.last, arrival_per_min=latest("arrival_per_min"), service_per_min=latest("service_per_min"),
            error_share=latest("error_share"), attempts_per_min=latest("attempts_per_min"),
        )  # fmt: skip

    def _since_empty(self) -> int:
        """The first reading after the queue was last seen empty: an empty queue cannot drain, so earlier ones tell nothing."""
        empty = [place for place, depth in enumerate(self.depths[:-1]) if depth <= 0]
        return empty[-1] + 1 if empty else 0

    def live(self) -> Live:
        known, last, left = self.known, self.last, self.depths[-1]
        first = self._since_empty()
        change, projection, used = None, None, 1
        if left > 0 and len(self.readings) - first > 1:
            change = find_change(self.minutes[first:], self.depths[first:], self._flow())
            if change is not None:
                change = replace(change, place=change.place + first)
                first = change.place
            used = len(self.readings) - first
            projection = fit_readings(self.minutes[first:], self.depths[first:], self._flow())
        elif left > 0:
            projection = self._from_rates()
        self.used = used
        ahead = self._ahead() if projection is not None else None
        kind = _kind(left, projection)
        empty = self._empty(kind, projection, ahead)
        net = None if projection is None else projection.net_per_min
        service = self._service(net)
        failing = is_failing(self.seen, known.side, service.per_min if service is not None else None)
        cap = safe_cap(known.side, known.item_time_s, self.seen, bool(failing), service)
        self._say(change, projection)
        next_min, why = self._next(kind, empty, projection, failing)
        answer = Live(
            queue=last.queue, now=last.at, readings=self.readings, used=used, left=left, kind=kind, empty=empty,
            fresh=self._fresh(kind, empty, left), net=net,
            net_low=None if projection is None else projection.net_quantile(0.1),
            net_high=None if projection is None else projection.net_quantile(0.9),
            arrival=self.arrival, service=service, projection=projection, ahead=ahead, change=change, cap=cap,
            failing=failing, steps=(), next_min=next_min, next_why=why, known=known, doubts=tuple(self.doubts),
        )  # fmt: skip
        steps = admission_steps(
            known, failing, cap, kind, service, bool(change is not None and change.slower), answer.empty_at,
            answer.since_restore_min, self.seen.error_share,
        )  # fmt: skip
        return replace(answer, steps=steps)

    # --- rates -----------------------------------------------------------------------------------------------------------

    def _arrival(self) -> StatedRate | None:
        """What arrives now: as read off, else as depth over age show it where work leaves in its order, else as planned."""
        known = self.known
        planned = self._planned()
        by_age = self._by_age()
        read = self.seen.arrival_per_min
        if read is not None:
            found: StatedRate | None = StatedRate(read, READ_SHARE * read, "as read")
        else:
            found = by_age or planned
        other = planned if found is by_age else by_age
        if found is not None and other is not None and abs(other.per_min - found.per_min) > APART * found.per_min > 0:
            words = (
                f"arrivals are {format_rate(found.per_min)} {found.words} and {format_rate(other.per_min)} {other.words}: "
                "the age may be that of an item which always fails, or work left without being served"
            )
            self.doubts.append(Doubt(ApproximationWarning, words))
        if known.age_limit_min is not None:
            limit = format_duration(known.age_limit_min)
            words = f"work older than {limit} expires: part of what leaves the queue was not served"
            self.doubts.append(Doubt(ApproximationWarning, words))
        return found

    def _planned(self) -> StatedRate | None:
        known = self.known
        if known.arrival is None or known.profile is None:
            return known.arrival
        now = float(known.profile.rate_at(known.minutes(self.last.at)))
        share = known.arrival.sd_per_min / known.arrival.per_min if known.arrival.per_min > 0 else 0.0
        return StatedRate(now, share * now, known.arrival.words)

    def _by_age(self) -> StatedRate | None:
        known = self.known
        recent = timedelta(minutes=RECENT_MIN)
        aged = [item for item in self.readings if item.age_min and item.depth > 0 and self.last.at - item.at <= recent]
        if known.order != "fifo" or not aged or known.age_limit_min is not None:
            return None
        last = aged[-1]
        assert last.age_min is not None
        rate = last.depth / last.age_min
        if known.profile is not None:
            # The mean of the last hours, brought to what the hour now has.
            end = known.minutes(last.at)
            start = max(0.0, end - last.age_min)
            came = float(known.profile.cumulative(end) - known.profile.cumulative(start)) if end > start else 0.0
            if came > 0:
                rate *= float(known.profile.rate_at(end)) * (end - start) / came
        return StatedRate(rate, READ_SHARE * rate, "by depth and age")

    def _flow(self) -> float | None:
        """Arrivals and services together over the readings; None where arrivals are not known."""
        if self.arrival is None:
            return None
        gone = (self.depths[0] - self.depths[-1]) / self.minutes[-1] if self.minutes[-1] > 0 else 0.0
        return max(1.0, self.arrival.per_min + max(0.0, self.arrival.per_min + gone))

    def _from_rates(self) -> Projection | None:
        read = self.seen.service_per_min
        service = self.known.service if read is None else StatedRate(read, READ_SHARE * read, "as read")
        if service is None or self.arrival is None:
            return None
        spread = (service.sd_per_min**2 + self.arrival.sd_per_min**2) ** 0.5
        return from_rates(
            self.depths[-1], service.per_min - self.arrival.per_min, spread, service.per_min + self.arrival.per_min,
            rounding_of(self.depths[-1]) / 12**0.5,
        )  # fmt: skip

    def _service(self, net: float | None) -> StatedRate | None:
        """What is served: from one reading as stated, from more as the net drain and the arrivals show it."""
        if self.used == 1:
            read = self.seen.service_per_min
            return self.known.service if read is None else StatedRate(read, READ_SHARE * read, "as read")
        if net is None or self.arrival is None:
            return None
        return StatedRate(max(0.0, self.arrival.per_min + net), self.arrival.sd_per_min, "by the readings")

    def _ahead(self) -> Ahead | None:
        """What the scenario's profile brings beyond the rate of now; None where arrivals do not change."""
        profile, arrival = self.known.profile, self.arrival
        if profile is None or arrival is None:
            return None
        now = self.known.minutes(self.last.at)
        at_now, before = float(profile.rate_at(now)), float(profile.cumulative(now))
        if at_now <= 0:
            return None
        scale = arrival.per_min / at_now

        def ahead(minutes: float) -> float:
            return scale * (float(profile.cumulative(now + minutes)) - before - at_now * minutes)

        return ahead

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

    def _say(self, change: Change | None, projection: Projection | None) -> None:
        known, last = self.known, self.last
        if self.used == 1 and projection is not None:
            self.doubts.append(
                Doubt(MissingEvidenceWarning, "one reading: the net rate is what the rates say, not what was seen")
            )
        if self.used == 2 and projection is not None:
            words = "two readings: how far counts err cannot be seen from them, so the span is wide"
            self.doubts.append(Doubt(ApproximationWarning, words))
        if projection is not None and self.used > 1 and known.service is not None and self.arrival is not None:
            stated = known.service.per_min - self.arrival.per_min
            if stated > 0 and projection.net_per_min < (1 - APART) * stated:
                said = f"{format_rate(known.service.per_min)} {known.service.words}"
                words = (
                    f"the readings show {_net_words(projection.net_per_min)}, where {said} lets expect a drain of "
                    f"{format_rate(stated)}"
                )
                self.doubts.append(Doubt(ApproximationWarning, words))
        limit = known.retention_min
        if limit is not None and last.age_min is not None and last.age_min >= NEAR_RETENTION * limit:
            words = f"the oldest work is {format_duration(last.age_min)} old, near the retention of {format_duration(limit)}"
            self.doubts.append(Doubt(LowerBoundWarning, words))
        if self.known.profile is None and projection is not None:
            self.doubts.append(Doubt(ApproximationWarning, "arrivals and consumers are taken to stay as they are now"))
        if known.side is not None and known.side.drain_share < 1:
            words = (
                f"other queues drain into {known.side.name} too: this one gets "
                f"{format_share(known.side.drain_share)} of the room, by service rates"
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
