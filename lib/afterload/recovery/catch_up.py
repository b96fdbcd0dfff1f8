"""The service rate that clears a backlog within a given time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from afterload.model.checks import number
from afterload.model.coupled import CoupledQueue, CoupledSystem, Input, simulate
from afterload.model.queues import QueueLoad

__all__ = ["catch_up_rate_per_min"]

# Where a limit takes a part of the work, so many rates are tried at once; each round narrows the rate by as much.
TRIED = 33
CLOSE_SHARE = 1e-9


def catch_up_rate_per_min(load: QueueLoad, within_min: float) -> float:
    """The constant service rate from the restore on that empties the backlog within a given time.

    Parameters:
        load: the queue; its own service rate, cap and ramp are left aside.
        within_min: minutes after the restore, more than 0.

    Returns:
        Items a minute: the least over ``0 < t <= within_min`` of (backlog + arrivals until ``t``) / ``t``, which is
        ``lambda + B / within_min`` for constant arrivals. Where an age limit or a deadline takes a part of the
        work in the drain, the lower rate that is just done in time, to one part in 10^9.

    Raises:
        ModelError: ``within_min`` is not a finite number above 0.

    Source: docs/model.md section 1.
    """
    within = number("within_min", within_min, above=0.0)
    queue = CoupledQueue(replace(load, cap_concurrency=None, ramp=None, service_rate_per_min=0.0))
    system = CoupledSystem(load.outage_min, load.outage_min, (queue,))
    left = simulate(system, horizon_min=1.0)
    waiting = float(left.backlog_at_restore[0, 0] - left.superseded[0, 0])
    restore, profile = load.outage_min, load.arrivals
    ends = np.append(profile.breakpoints(restore, restore + within), restore + within)
    work = waiting + profile.cumulative(ends) - float(profile.cumulative(restore))
    rate = float(np.min(work / (ends - restore)))
    if waiting <= 0.0:
        rate = min(rate, float(profile.rate_at(restore)))
    if load.max_age_min is None and load.retention_min is None and load.deadline_min is None:
        return rate
    low, high = 0.0, rate
    while high - low > CLOSE_SHARE * rate:
        tried = np.linspace(low, high, TRIED)
        found = simulate(system, {Input("queue", 0, "service_rate_per_min"): tried}, horizon_min=within + 1.0)
        enough = np.flatnonzero(found.drain_min[:, 0] <= within * (1.0 + CLOSE_SHARE))
        first = int(enough[0]) if len(enough) else TRIED - 1
        low, high = float(tried[max(0, first - 1)]), float(tried[first])
    return high
