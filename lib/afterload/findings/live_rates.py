"""What arrives and what is served while a recovery goes on: as read off, as depth and age show it, or as planned."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

from afterload.errors import ApproximationWarning
from afterload.findings.live_known import READ_SHARE, Known, StatedRate
from afterload.model.live import Ahead, Projection, from_rates, rounding_of
from afterload.recovery.doubts import Doubt
from afterload.recovery.sustained import SAME_SHARE
from afterload.scenario import Reading
from afterload.units import format_duration, format_rate

__all__ = ["APART", "NEAR_RETENTION", "Rates"]

# What the age says and what is stated may differ by so much before it is worth a word.
APART = 0.25
NEAR_RETENTION = 0.8
# What a reading leaves out is taken from an earlier one of the last minutes.
RECENT_MIN = 30.0


class Rates:
    """What arrives and what is served, as the readings of one queue and what is known beside them show it.

    Attributes:
        readings: by time; ``last`` is the last of them, ``depths`` and ``minutes`` their items and times.
        used: how many of the last ones the net rate rests on; the caller's to set.
        seen: the last reading, with what it leaves out taken from the ones before.
        arrival: what arrives now.
        doubts: what to know.
    """

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
        if known.order != "fifo" or not aged:
            return None
        last = aged[-1]
        assert last.age_min is not None
        if known.age_limit_min is not None and last.age_min >= NEAR_RETENTION * known.age_limit_min:
            return None
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
        service = self._stated_service()
        return None if service is None else self._at_rate(service)

    def _at_rate(self, service: StatedRate) -> Projection | None:
        """The projection from this reading at a service rate; None where arrivals are not known."""
        if self.arrival is None:
            return None
        spread = (service.sd_per_min**2 + self.arrival.sd_per_min**2) ** 0.5
        return from_rates(
            self.depths[-1], service.per_min - self.arrival.per_min, spread, service.per_min + self.arrival.per_min,
            rounding_of(self.depths[-1]) / 12**0.5,
        )  # fmt: skip

    def _stated_service(self) -> StatedRate | None:
        """What is served as read off, else as planned for now: with caps, and where the ramp is."""
        read = self.seen.service_per_min
        return self.known.service_at(self.last.at) if read is None else StatedRate(read, READ_SHARE * read, "as read")

    def _service(self, net: float | None) -> StatedRate | None:
        """What is served: from one reading as stated, from more as the net drain and the arrivals show it."""
        if self.used == 1:
            return self._stated_service()
        if net is None or self.arrival is None:
            return None
        return StatedRate(max(0.0, self.arrival.per_min + net), self.arrival.sd_per_min, "by the readings")

    def _planned_only(self) -> bool:
        """Whether the service rate is what a plan says, and not what was seen."""
        return self.used == 1 and self.seen.service_per_min is None

    def _highest(self, service: StatedRate | None) -> StatedRate | None:
        """The service rate, or as planned where a ramp leads to and what all shards drain: what the dependency has to bear."""
        planned, drain = self.known.service, self.known.drain_per_min
        if not self._planned_only() or planned is None or drain is None:
            return service
        return replace(planned, per_min=drain)

    def _ramp(self, base: StatedRate | None = None, most_per_min: float = math.inf) -> Ahead | None:
        """What consumers serve less later on than the present rate, by the scenario; None where that does not change."""
        known, since = self.known, self.known.since_restore(self.last.at)
        if not self._planned_only() or known.consumers is None or known.sustains is None:
            return None
        consumers = known.sustains(most_per_min)
        base = base or self._stated_service()
        rate = 0.0 if base is None else base.per_min
        if not consumers.changes_after(since) and abs(consumers.rate_at(since) - rate) <= SAME_SHARE * rate:
            return None
        return lambda minutes: rate * minutes - consumers.served(since, since + minutes)

    def _ahead(self, ramp: Ahead | None) -> tuple[Ahead | None, str]:
        """What comes beyond the present rates by the scenario's profile and by a ramp, and which of them; None: neither."""
        more = self._arrivals_ahead()
        if more is None or ramp is None:
            return more or ramp, "the arrivals expected later" if more else "the ramp of its consumers" if ramp else ""
        return (
            lambda minutes: more(minutes) + ramp(minutes),
            "the arrivals expected later and the ramp of its consumers",
        )

    def _arrivals_ahead(self) -> Ahead | None:
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
