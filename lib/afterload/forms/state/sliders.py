"""Sliders for the quantities that matter, made for what a scenario has: where each stands, its range, and its steps."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from afterload import limits
from afterload.scenario import LoadedScenario
from afterload.scenario.schema import Fleet, Queue
from afterload.units import format_offset
from afterload.yamltree import DataPath

__all__ = ["Slider", "place_in", "sliders_of"]

Group = Literal["Queues", "Retries", "Launches"]
# A range ends at about this many times the value, and has about so many steps.
SPAN, STEPS = 3.0, 100
MOST_CONCURRENCY, MOST_TRIES = 200, 10
MOST_AGE_MIN = 24 * 60.0


@dataclass(frozen=True)
class Slider:
    """One quantity of the scenario as a number.

    Attributes:
        key: its name among the sliders, which stays while the scenario has it.
        label: what it is.
        value: the number now; low, high, step: its range. A value outside of them widens the range.
        path: where its value stands; ``kind`` how it is written there.
        unit: what follows the value in a label, if it has no unit of its own.
        none_at_high: True for a limit: at its high end there is none.
        origin: for an outage: its beginning, to which the number is added.
    """

    key: str
    group: Group
    label: str
    value: float
    low: float
    high: float
    step: float
    path: DataPath
    kind: Literal["rate", "duration", "share", "count", "end"]
    none_at_high: bool = False
    unit: str = ""
    origin: Any = None

    def written(self, number: float) -> tuple[DataPath, Any]:
        """Where a position is written and as what; None where it is no limit at all."""
        number = min(max(number, self.low), self.high)
        if self.none_at_high and number >= self.high:
            return self.path[:-1] if self.path[-1] == "concurrency" else self.path, None
        if self.kind == "end":
            end = self._end(number)
            return self.path, end.isoformat(timespec="seconds" if end.second else "minutes")
        if self.kind == "count":
            return self.path, round(number)
        if self.kind == "share":
            return self.path, f"{number:.10g} %"
        unit = "/min" if self.kind == "rate" else " min"
        return self.path, f"{number:,.10g}{unit}"

    def _end(self, number: float) -> datetime:
        """The end of an outage of so many minutes, to the second, which is as exact as a file needs."""
        end: datetime = self.origin + timedelta(seconds=round(60 * number))
        return end.replace(microsecond=0)

    @property
    def is_no_limit(self) -> bool:
        """True where it stands at the end that is no limit."""
        return self.none_at_high and self.value >= self.high

    @property
    def positions(self) -> tuple[float, ...]:
        """Where it may stand, rising: its range in steps, and its value as it is, which need not be one of them."""
        steps = math.floor((self.high - self.low) / self.step + 1e-9)
        grid = [float(f"{self.low + place * self.step:.12g}") for place in range(steps + 1)]
        # The value and the ends count as they are; a step beside one of them is that one.
        exact = sorted({float(self.low), float(self.value), float(self.high)})
        return tuple(sorted([*(number for number in grid if place_in(exact, number) is None), *exact]))

    def titled(self, number: float) -> str:
        """The label with a position as it will be written."""
        _, value = self.written(number)
        if self.kind == "end":
            end = datetime.fromisoformat(value)
            clock = f"{end:%H:%M:%S}" if end.second else f"{end:%H:%M}"
            text = f"{number:,.10g} min, until {clock} {format_offset(end)}"
        elif value is None:
            text = "none"
        else:
            text = f"{value:,}{self.unit}" if isinstance(value, int) else f"{value}{self.unit}"
        return f"{self.label}: {text}"


def place_in(positions: Sequence[float], number: float) -> int | None:
    """The place of a number among rising positions; None where it is none of them."""
    after = bisect_left(positions, number)
    near = (place for place in (after - 1, after) if 0 <= place < len(positions))
    return next((place for place in near if math.isclose(positions[place], number, rel_tol=1e-9, abs_tol=1e-9)), None)


def sliders_of(loaded: LoadedScenario) -> tuple[Slider, ...]:
    """The sliders of a scenario, group by group."""
    scenario = loaded.scenario
    found: list[Slider] = []
    outage = scenario.incident.outage_min
    if scenario.queues or scenario.dependencies:
        origin = scenario.incident.trigger
        found.append(
            Slider("outage", "Queues", "Outage", outage, 1, _nice(2 * outage), 1,
                   ("incident", "restored_at"), "end", origin=origin)
        )  # fmt: skip
    for name, queue in scenario.queues.items():
        found += _of_queue(name, queue)
    for name, stack in scenario.call_stacks.items():
        found.append(
            Slider(f"{name} failing", "Retries", f"{name}: attempts that fail", 100 * stack.failure_probability, 0, 100, 1,
                   ("call_stacks", name, "failure_probability"), "share")
        )  # fmt: skip
        for place, layer in enumerate(stack.layers):
            found.append(
                Slider(f"{name} tries {place}", "Retries", f"{name}: tries of {layer.name}", layer.tries, 1,
                       max(MOST_TRIES, layer.tries), 1, ("call_stacks", name, "layers", place, "tries"), "count")
            )  # fmt: skip
    for name, fleet in scenario.fleets.items():
        found += _of_fleet(name, fleet)
    return tuple(found)


def _of_queue(name: str, queue: Queue) -> Iterator[Slider]:
    at: DataPath = ("queues", name)
    constant = queue.arrival_rate.constant_per_min
    if constant is not None:
        yield _rate(f"{name} arrivals", f"{name}: arrival rate", constant, (*at, "arrival_rate"), 0)
    yield _rate(f"{name} service", f"{name}: service rate", queue.service_rate_per_min, (*at, "service_rate"), 1)
    if queue.item_time_s is not None and queue.reserved_concurrency is None and queue.provisioned_pollers is None:
        cap = queue.drain_cap.concurrency if queue.drain_cap else None
        least = limits.whole("lambda.sqs.max_concurrency.minimum") if queue.service == "sqs-lambda" else 1
        # One position above what the service rate takes, all at once, is a cap that caps nothing.
        most = max(MOST_CONCURRENCY, cap or 0, math.ceil(_nice(queue.service_rate_per_min * queue.item_time_s / 60)))
        yield Slider(f"{name} cap", "Queues", f"{name}: drain cap",
                     most + 1 if cap is None else cap, least, most + 1, 1, (*at, "drain_cap", "concurrency"), "count",
                     none_at_high=True, unit=" at once")  # fmt: skip
    if queue.service != "lambda-async":
        limit = queue.age_limit_min
        most_age = max(MOST_AGE_MIN, _nice(limit or 0))
        yield Slider(f"{name} age", "Queues", f"{name}: age limit",
                     most_age + 5 if limit is None else limit, 5, most_age + 5, 5, (*at, "age_limit"), "duration",
                     none_at_high=True)  # fmt: skip


def _of_fleet(name: str, fleet: Fleet) -> Iterator[Slider]:
    if fleet.needed <= fleet.running:
        return
    label = f"{name}: launch limits granted"
    path: DataPath = ("fleets", name, "launch", "throttle_factor")
    shape = fleet.launch
    # Below this no request could ever pass.
    least = max(1 / shape.request_burst, shape.instances_per_request / shape.instance_burst) / (
        1 - shape.other_callers_share
    )
    now, low = 100 * shape.throttle_factor, math.ceil(100 * least - 1e-9)
    yield Slider(f"{name} throttle", "Launches", label, now, min(now, low), 100, 1, path, "share")


def _rate(key: str, label: str, value: float, path: DataPath, low: float) -> Slider:
    high = _nice(SPAN * value) or 1000.0
    step = _nice(high / STEPS)
    return Slider(key, "Queues", label, value, min(low * step, value), high, step, path, "rate")


def _nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 and so on at or above a value; 0 for 0."""
    if value <= 0:
        return 0.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(factor * size for factor in (1.0, 2.0, 5.0, 10.0) if factor * size >= value * (1 - 1e-12))
