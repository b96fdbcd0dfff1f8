"""From a scenario's queue to the model: its load, with what was assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from afterload import limits
from afterload.arrivals import arrival_profile
from afterload.errors import ApproximationWarning, LowerBoundWarning, MissingEvidenceWarning
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.recovery.doubts import Doubt
from afterload.recovery.rates import own_ramp
from afterload.scenario import LoadedScenario, Queue
from afterload.units import format_duration

__all__ = ["QueueInputs", "queue_inputs"]


@dataclass(frozen=True)
class QueueInputs:
    """A queue as the model takes it, with what was assumed. ``rejected`` is what the outage refused."""

    load: QueueLoad
    rejected: float
    doubts: tuple[Doubt, ...]


def queue_inputs(loaded: LoadedScenario, name: str, queue: Queue | None = None) -> QueueInputs:
    """The load of one queue of a scenario; give ``queue`` for a changed one in its place."""
    incident = loaded.scenario.incident
    queue = queue or loaded.scenario.queues[name]
    doubts: list[Doubt] = []
    rejecting = queue.during_outage == "reject"
    origin = incident.restored_at if rejecting else incident.trigger
    arrivals, assumed = arrival_profile(loaded, name, origin)
    doubts += [Doubt(ApproximationWarning, text) for text in assumed]
    rejected = 0.0
    if rejecting:
        whole, _ = arrival_profile(loaded, name, incident.trigger)
        rejected = _refused(whole, queue.served_in_outage_per_min, incident.outage_min)
        doubts.append(
            Doubt(LowerBoundWarning, "refused callers may come back: their new attempts are not in the arrival rate")
        )
    age_limit, retention = _limits(queue, doubts)
    load = QueueLoad(
        arrivals=arrivals,
        service_rate_per_min=queue.service_rate_per_min,
        outage_min=0.0 if rejecting else incident.outage_min,
        backlog_before=queue.backlog_before,
        served_in_outage_per_min=queue.served_in_outage_per_min,
        max_age_min=age_limit,
        retention_min=retention,
        deadline_min=queue.deadline_min,
        superseded_share=queue.superseded_share,
        item_time_s=queue.item_time_s,
        cap_concurrency=queue.concurrency_limit,
        ramp=own_ramp(queue),
        order=queue.order,
        sideline_after_min=_sideline(queue, doubts),
    )
    return QueueInputs(load, rejected, tuple(doubts))


def _refused(arrivals: RateProfile, served_per_min: float, outage_min: float) -> float:
    """Items refused in the outage: what arrives above what is served, moment by moment."""
    edges = np.concatenate(([0.0], arrivals.breakpoints(0.0, outage_min), [outage_min]))
    rates = arrivals.rate_at((edges[:-1] + edges[1:]) / 2)
    return float(np.sum(np.maximum(0.0, rates - served_per_min) * np.diff(edges)))


def _limits(queue: Queue, doubts: list[Doubt]) -> tuple[float | None, float | None]:
    age_limit, retention = queue.age_limit_min, queue.retention_min
    if queue.service == "lambda-async" and age_limit is None:
        age_limit = limits.value("lambda.async.max_age_s.default") / 60
        words = f"no age limit is set, so the service's default of {format_duration(age_limit)} acts"
        doubts.append(Doubt(MissingEvidenceWarning, words))
    if queue.service == "sqs-lambda" and retention is None:
        retention = limits.value("sqs.retention_s.default") / 60
        words = f"no retention is given, so the service's default of {format_duration(retention)} acts"
        doubts.append(Doubt(MissingEvidenceWarning, words))
    return age_limit, retention


def _sideline(queue: Queue, doubts: list[Doubt]) -> float | None:
    if queue.order != "fresh_first":
        return None
    if queue.sideline_after_min is None:
        doubts.append(Doubt(MissingEvidenceWarning, "no sideline_after is given, so everything old is set aside"))
    return queue.sideline_after_min or 0.0
