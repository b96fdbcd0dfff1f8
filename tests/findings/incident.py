"""A queue's incident with a known course, minute by minute, apart from the code under test.

Arrivals and what consumers can do are Poisson in each minute; the queue is first in, first out. Before the trigger consumers keep
up; from the trigger to the restore they serve nothing; then they serve what they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from afterload.findings.backtest import BackTest, back_test, predicts
from afterload.findings.drain import ObservedDrain
from afterload.model.queues import QueueLoad
from afterload.readers.reading import Origin
from afterload.readers.series import MetricSeries
from afterload.scenario import load_scenario_text

TRIGGER = datetime(2025, 10, 20, 6, 48, tzinfo=UTC)


@dataclass(frozen=True)
class Incident:
    """Each array has one entry a minute from ``start`` on; ages in seconds."""

    trigger: datetime
    restore: datetime
    start: datetime
    arrived: np.ndarray
    served: np.ndarray
    waiting: np.ndarray
    age_s: np.ndarray
    error_rate: np.ndarray
    drained_min: int

    def series(
        self, values: np.ndarray, name: str, statistic: str = "sum", stamp: str = "start", keep=None
    ) -> MetricSeries:
        times = self.start.timestamp() + 60.0 * np.arange(len(values))
        kept = np.ones(len(values), dtype=bool) if keep is None else keep
        return made(times[kept], values[kept].astype(float), name, statistic, stamp)


def made(times, values, name="x", statistic="sum", stamp="start", unit=None, period=60.0) -> MetricSeries:
    from afterload.model.spacing import missing_spans

    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    origin = Origin("made.csv", name, datetime(2025, 11, 1, tzinfo=UTC))
    return MetricSeries(
        name, (), statistic, unit, times, values, period, missing_spans(times, period), origin, 0, stamp
    )


def incident(
    arrival: float = 1_200.0,
    capacity: float = 1_800.0,
    outage_min: int = 172,
    before_min: int = 400,
    after_min: int = 600,
    seed: int = 1,
    later_arrival: float | None = None,
) -> Incident:
    """Run one; ``later_arrival`` replaces the arrival rate from the restore on."""
    rng = np.random.default_rng(seed)
    total = before_min + outage_min + after_min
    back = before_min + outage_min
    rate = np.full(total, arrival)
    rate[back:] = arrival if later_arrival is None else later_arrival
    arrived = rng.poisson(rate)
    able = rng.poisson(np.full(total, capacity))
    able[before_min:back] = 0
    # In normal times consumers keep up within the minute.
    able[:before_min] = np.maximum(able[:before_min], arrived[:before_min])
    waiting, served = np.zeros(total, dtype=int), np.zeros(total, dtype=int)
    queue = 0
    for minute in range(total):
        served[minute] = min(queue + arrived[minute], able[minute])
        queue += arrived[minute] - served[minute]
        waiting[minute] = queue
    comes, goes = np.cumsum(arrived), np.cumsum(served)
    age = np.zeros(total)
    for minute in range(total):
        if waiting[minute]:
            # The head is the item after the last that was served.
            age[minute] = 60 * (minute - int(np.searchsorted(comes, goes[minute], side="right")))
    age += rng.uniform(0.5, 3, total)
    errors = np.where(rng.random(total) < 0.02, 0.004, 0.0)
    errors[before_min:back] = rng.uniform(0.6, 1.0, outage_min)
    errors[back : back + 25] = np.linspace(0.5, 0.05, 25)
    # Empty: nothing of the outage is left, a minute's own noise aside.
    empty = np.flatnonzero(waiting[back:] < 0.5 * max(arrival, 1))
    return Incident(
        TRIGGER,
        TRIGGER + timedelta(minutes=outage_min),
        TRIGGER - timedelta(minutes=before_min),
        arrived, served, waiting, age, errors,
        int(empty[0]) if len(empty) else -1,
    )  # fmt: skip


ONE_QUEUE = """
team: T
time_zone: UTC
recovery_objective: 240 min
incident: {name: E, trigger: "2025-10-20T06:48:00Z", restored_at: "2025-10-20T09:40:00Z"}
queues: {q: {arrival_rate: 1/min, service_rate: 1/min}}
"""


def back_tested(load: QueueLoad, observed: ObservedDrain) -> BackTest:
    """A back-test of a queue that nothing else recovers with."""
    return back_test(load, observed, predicts(load_scenario_text(ONE_QUEUE, "one.yaml"), "q"))
