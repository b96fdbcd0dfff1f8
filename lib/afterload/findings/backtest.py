"""A drain predicted from what was known at the restore, beside what happened, and which assumption was off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from afterload.arrivals import arrival_profile
from afterload.errors import ApproximationWarning, InputError, LowerBoundWarning
from afterload.findings.drain import ObservedDrain
from afterload.model.coupled import trace
from afterload.model.curves import FloatArray, RateProfile
from afterload.model.queues import QueueLoad
from afterload.recovery.build import couple
from afterload.recovery.doubts import Doubt
from afterload.recovery.inputs import queue_inputs
from afterload.scenario import LoadedScenario
from afterload.units import format_count, format_rate

__all__ = ["BackTest", "back_test", "load_at_restore", "predicts"]

Assumption = Literal["arrival rate", "backlog at the restore", "service rate"]
# A swap that takes less than this share of the error away explains nothing.
LEAST_CLOSED = 0.1
# Errors below this share of the drain are within what counts and periods can tell.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Prediction:
    """A drain from the restore on: its end, None for never, what the consumers sustain, and what waits over time."""

    drain_min: float | None
    service_rate_per_min: float
    times_min: FloatArray
    backlog: FloatArray


Predict = Callable[[QueueLoad], Prediction]


def predicts(loaded: LoadedScenario, queue: str) -> Predict:
    """How a drain of one queue of a scenario is predicted: with all that recovers with it, its courses included."""

    whole = couple(loaded)
    # What the outage leaves to the other queues waits at the restore.
    left = (
        {}
        if whole is None
        else dict(zip(whole.queues, whole.course.result.backlog_at_restore[0].tolist(), strict=True))
    )
    coupling = couple(loaded, waiting=left)
    if coupling is None:
        raise InputError(f"{queue} is no queue of the scenario")
    place, system = coupling.queues.index(queue), coupling.system

    def predict(load: QueueLoad) -> Prediction:
        queues = list(system.queues)
        queues[place] = replace(queues[place], load=load)
        course = trace(replace(system, queues=tuple(queues)))
        drain = float(course.result.drain_min[0, place])
        backlog = course.live[:, place] + course.sidelined[:, place]
        rate = queues[place].own_rate_per_min
        return Prediction(None if math.isnan(drain) else drain, rate, course.times_min, backlog)

    return predict


@dataclass(frozen=True)
class Swap:
    """The prediction with one assumption replaced by what was observed.

    Attributes:
        assumption: which.
        assumed, observed: items a minute, or items.
        drain_min: the prediction then; None: never at these rates.
        closed_share: share of the error that the swap takes away; negative where it makes it larger; None where the first
            prediction or this one is "never".
    """

    assumption: Assumption
    assumed: float
    observed: float
    drain_min: float | None
    closed_share: float | None

    @property
    def words(self) -> str:
        """Assumed and observed for people."""
        write = format_count if self.assumption == "backlog at the restore" else format_rate
        return f"{write(self.assumed)} assumed, {write(self.observed)} observed"


@dataclass(frozen=True, eq=False)
class BackTest:
    """A prediction beside what happened. Minutes after the restore.

    Attributes:
        load: what was assumed, from the restore on.
        predicted: its recovery.
        observed: what the metrics show.
        swaps: the prediction with each observed value alone.
        with_all_min: the prediction with all observed values: what then remains is not explained by the three.
        off: the assumption whose swap takes away most of the error; None where none does, or there is little to explain.
        doubts: what to know.
    """

    load: QueueLoad
    predicted: Prediction
    observed: ObservedDrain
    swaps: tuple[Swap, ...]
    with_all_min: float | None
    off: Assumption | None
    doubts: tuple[Doubt, ...]

    @property
    def error_min(self) -> float | None:
        """Predicted less observed; None where either has no end."""
        predicted, observed = self.predicted.drain_min, self.observed.drain_min
        return None if predicted is None or observed is None else predicted - observed

    @property
    def error_share(self) -> float | None:
        """The error over the observed drain."""
        observed = self.observed.drain_min
        return None if self.error_min is None or not observed else self.error_min / observed


def load_at_restore(loaded: LoadedScenario, queue: str, observed: ObservedDrain, arrivals: str = "seen") -> QueueLoad:
    """What a scenario assumed of a queue, from the restore on, with the backlog that was known then.

    Parameters:
        loaded: the scenario, with its limits, order and caps.
        queue: its name there.
        observed: for the backlog at the restore and the arrivals before the trigger.
        arrivals: ``seen``: the median before the trigger; ``scenario``: what the scenario assumes.
    """
    load = queue_inputs(loaded, queue).load
    profile = RateProfile.constant(observed.before.median)
    if arrivals == "scenario":
        profile, _ = arrival_profile(loaded, queue, observed.restore)
    return replace(load, arrivals=profile, outage_min=0.0, backlog_before=observed.backlog_at_restore)


def back_test(load: QueueLoad, observed: ObservedDrain, predict: Predict) -> BackTest:
    """Predict the drain and say which assumption was off.

    Each observed value replaces its assumption alone: arrivals in the drain, throughput while the backlog drained, and the
    backlog that the flows imply. The swap that takes away most of the error is named.

    Parameters:
        load: what was assumed: arrivals from the restore on, the backlog then, the service rate; its outage has no length.
        observed: what happened.
        predict: how a drain is predicted.

    Raises:
        InputError: the load has an outage, so it does not begin at the restore.
    """
    if load.outage_min != 0:
        raise InputError(f"the load begins {load.outage_min:g} min before the restore; a back-test starts at it")
    predicted = predict(load)
    changes = _changes(load, observed, predicted.service_rate_per_min)
    swaps = tuple(
        _swap(name, assumed, predict(change(load)).drain_min, predicted.drain_min, observed, seen)
        for name, ((assumed, seen), change) in changes.items()
    )
    everything = load
    for _, change in changes.values():
        everything = change(everything)
    with_all = predict(everything).drain_min if len(changes) == 3 else None
    doubts = list(observed.doubts)
    if observed.drain_min is None:
        doubts.append(Doubt(LowerBoundWarning, "the drain is not over in the data, so the prediction has no error yet"))
    if with_all is not None and observed.drain_min and abs(with_all / observed.drain_min - 1) > 2 * SMALL:
        words = (
            "with every observed value the prediction still differs by more than 10 %: expiry, redelivery or rates that changed "
            "during the drain matter here"
        )
        doubts.append(Doubt(ApproximationWarning, words))
    return BackTest(
        load, predicted, observed, swaps, with_all, _off(swaps, predicted.drain_min, observed), tuple(doubts)
    )


_Change = tuple[tuple[float, float], Callable[[QueueLoad], QueueLoad]]


def _changes(load: QueueLoad, observed: ObservedDrain, assumed_per_min: float) -> dict[Assumption, _Change]:
    """For each assumption that was observed: assumed and observed value, and the load with the observed one."""
    found: dict[Assumption, _Change] = {}
    if observed.arrival is not None:
        rate = observed.arrival.mean
        found["arrival rate"] = (
            (load.arrivals.mean_tail_per_min, rate),
            lambda one: replace(one, arrivals=RateProfile.constant(rate)),
        )
    if observed.balance is not None and observed.drain_min is not None:
        items = max(0.0, observed.balance)
        found["backlog at the restore"] = (
            (load.backlog_before, items),
            lambda one: replace(one, backlog_before=items),
        )
    if observed.service is not None:
        # What was sustained already has caps and ramps in it.
        sustained = observed.service.mean
        found["service rate"] = (
            (assumed_per_min, sustained),
            lambda one: replace(one, service_rate_per_min=sustained, cap_concurrency=None, ramp=None),
        )
    return found


def _swap(
    name: Assumption,
    assumed: float,
    drain: float | None,
    predicted: float | None,
    observed: ObservedDrain,
    seen: float,
) -> Swap:
    true, closed = observed.drain_min, None
    if drain is not None and predicted is not None and true is not None and predicted != true:
        closed = 1.0 - abs(drain - true) / abs(predicted - true)
    return Swap(name, assumed, seen, drain, closed)


def _off(swaps: tuple[Swap, ...], predicted: float | None, observed: ObservedDrain) -> Assumption | None:
    true = observed.drain_min
    if true is None:
        return None
    if predicted is None:
        ended = [(abs(swap.drain_min - true), swap) for swap in swaps if swap.drain_min is not None]
        return min(ended, key=lambda item: item[0])[1].assumption if ended else None
    if abs(predicted - true) <= SMALL * true:
        return None
    closing = [swap for swap in swaps if swap.closed_share is not None and swap.closed_share >= LEAST_CLOSED]
    return max(closing, key=lambda swap: swap.closed_share or 0.0).assumption if closing else None
