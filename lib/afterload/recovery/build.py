"""From a scenario to the coupled model: what acts on what, and which numbers are uncertain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from afterload.arrivals import arrival_profile
from afterload.errors import ApproximationWarning
from afterload.model.coupled import (
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Input,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import Range
from afterload.recovery.admission import admission_of
from afterload.recovery.doubts import Doubt
from afterload.recovery.inputs import queue_inputs
from afterload.recovery.rates import (
    cap_steps,
    client_retries,
    direct_attempts,
    operated_rate,
    queue_attempts,
    stack_attempts,
)
from afterload.scenario import LoadedScenario

__all__ = ["Coupling", "couple"]


@dataclass(frozen=True)
class Coupling:
    """A scenario as one coupled system, with the names behind its places and its uncertain inputs."""

    loaded: LoadedScenario
    system: CoupledSystem
    queues: tuple[str, ...]
    dependencies: tuple[str, ...]
    fleets: tuple[str, ...]
    ranges: Mapping[Input, Range]
    labels: Mapping[Input, str]
    doubts: tuple[Doubt, ...] = ()


def _shifted(profile: RateProfile, minutes: float) -> RateProfile:
    """The same arrivals, with nothing before them for so many minutes."""
    if minutes <= 0:
        return profile
    edges = (0.0, *(minutes + float(edge) for edge in profile.edges_min))
    return RateProfile(edges, (0.0, *(float(rate) for rate in profile.rates_per_min)), cycle_min=profile.cycle_min)


# Fields of a scenario that can have a range, with the model's name for each.
UNCERTAIN: dict[str, dict[str, str]] = {
    "incident": {"outage": "outage_min"},
    "queues": {
        "arrival_rate": "arrivals",
        "service_rate": "service_rate_per_min",
        "attempts_while_failing": "attempts_failing",
        "backlog_before": "backlog_before",
        "age_limit": "max_age_min",
        "superseded_share": "superseded_share",
    },
    "dependencies": {
        "capacity": "capacity_per_min",
        "tested_rate": "capacity_per_min",
        "direct_rate": "fresh_per_min",
        "attempts_while_failing": "attempts_failing",
        "goodput_while_collapsed": "goodput_share",
    },
    "fleets": {"running": "running", "needed": "needed", "launches_from": "launches_from_min"},
}


class _Builder:
    def __init__(self, loaded: LoadedScenario, memo: dict[Any, Any]) -> None:
        self.loaded = loaded
        self.memo = memo
        self.scenario = loaded.scenario
        self.doubts: list[Doubt] = []
        self.queue_names = tuple(self.scenario.queues)
        self.dependency_names = tuple(self.scenario.dependencies)
        self.fleet_names = tuple(self.scenario.fleets)

    def dependency(self, name: str) -> CoupledDependency:
        item = self.scenario.dependencies[name]
        retries, direct = (
            client_retries(self.scenario, name, self.doubts),
            direct_attempts(self.scenario, name, self.doubts),
        )
        held = retries.held if retries.attempts is not None else math.inf
        if (stack_attempts(self.scenario, name) or 0.0) > (retries.attempts or 1.0):
            # A stack of loops above the clients is not held by the clients' quotas.
            held = math.inf
        cache = item.cache
        return CoupledDependency(
            capacity_per_min=item.capacity_per_min or item.tested_rate_per_min,
            control_per_min=item.control_rate_per_min,
            fresh_per_min=item.direct_rate_per_min,
            attempts_failing=direct,
            goodput_share=item.goodput_while_collapsed,
            collapsed_at_restore=item.state_at_restore == "collapsed",
            retry_tokens=held,
            sustained_attempts=min(direct, retries.sustained),
            refill_per_success=retries.refill_per_success,
            hit_at_rest=cache.hit_rate if cache else 0.0,
            hit_at_restore=cache.hit_rate_at_restore if cache else 0.0,
            cache_fill_min=cache.fill_time_min if cache else 0.0,
            room_per_min=operated_rate(item),
        )

    def load(self, name: str, lead_min: float) -> QueueLoad:
        """A queue's load with arrivals from ``lead_min`` before the restore."""
        item, incident = self.scenario.queues[name], self.scenario.incident
        # The objects are kept beside the result, so that no other one gets their identity.
        key = (name, id(item), id(incident), lead_min)
        if key not in self.memo:
            inputs = queue_inputs(self.loaded, name)
            if item.during_outage == "reject":
                profile, _ = arrival_profile(self.loaded, name, incident.restored_at)
                profile = _shifted(profile, lead_min)
            else:
                profile, _ = arrival_profile(self.loaded, name, incident.restored_at - timedelta(minutes=lead_min))
            load = replace(inputs.load, arrivals=profile, outage_min=incident.outage_min)
            self.memo[key] = (item, incident, load)
        found: QueueLoad = self.memo[key][2]
        return found

    def queue(self, name: str, lead_min: float) -> CoupledQueue:
        item = self.scenario.queues[name]
        load = self.load(name, lead_min)
        if item.stream is not None:
            self.doubts.append(
                Doubt(
                    ApproximationWarning, f"queues.{name}: shards are taken together; the slowest one may take longer"
                )
            )
        dependency = self.dependency_names.index(item.dependency) if item.dependency in self.dependency_names else None
        return CoupledQueue(
            load,
            dependency=dependency,
            attempts_failing=queue_attempts(self.scenario, name),
            max_receives=item.max_receives,
            fleet=self.fleet_names.index(item.fleet) if item.fleet in self.fleet_names else None,
            cap_steps=cap_steps(item),
        )

    def fleet(self, name: str) -> CoupledFleet:
        item = self.scenario.fleets[name]
        shape = item.launch
        kept = shape.throttle_factor * (1 - shape.other_callers_share)
        active = any(not entry.paused for entry in item.removal_automation or ())
        return CoupledFleet(
            running=item.running,
            needed=item.needed,
            launch_burst=shape.instance_burst * kept * shape.buckets_full,
            launch_per_min=60 * shape.instance_refill_per_s * kept,
            request_burst=shape.request_burst * shape.instances_per_request * kept * shape.buckets_full,
            request_per_min=60 * shape.request_refill_per_s * shape.instances_per_request * kept,
            start_delay_min=(shape.boot_time_s + shape.network_delay_s) / 60,
            launches_from_min=item.launches_from_min,
            removal_per_min=item.removal_rate_per_min,
            automation_active=active,
            removal_floor=item.removal_floor,
        )

    def uncertain(self) -> tuple[dict[Input, Range], dict[Input, str]]:
        ranges: dict[Input, Range] = {}
        labels: dict[Input, str] = {}
        for path, (low, likely, high) in self.loaded.ranges.items():
            if self.is_idle(path):
                words = f"its range counts for nothing here, since {path.rpartition('.')[0]}.capacity is given"
                self.doubts.append(Doubt(ApproximationWarning, f"{path}: {words}"))
                continue
            key = self.input_of(path)
            scale = 1 / likely if key.name == "arrivals" and likely > 0 else 1.0
            ranges[key] = Range(low * scale, likely * scale, high * scale)
            labels[key] = path
        return ranges, labels

    def is_idle(self, path: str) -> bool:
        """Whether a range is of a tested rate that stands for no capacity, since that is given."""
        part, _, rest = path.partition(".")
        name, _, field_name = rest.rpartition(".")
        tested = part == "dependencies" and field_name == "tested_rate"
        return tested and self.scenario.dependencies[name].capacity_per_min is not None

    def input_of(self, path: str) -> Input:
        """The model's input that a path of the scenario names."""
        part, _, rest = path.partition(".")
        if part == "incident":
            return Input("outage", 0, "outage_min")
        name, _, field_name = rest.rpartition(".")
        places = {"queues": self.queue_names, "dependencies": self.dependency_names, "fleets": self.fleet_names}
        kinds = {"queues": "queue", "dependencies": "dependency", "fleets": "fleet"}
        return Input(kinds[part], places[part].index(name), UNCERTAIN[part][field_name])  # type: ignore[arg-type]


def couple(loaded: LoadedScenario, memo: dict[Any, Any] | None = None) -> Coupling | None:
    """A scenario as one coupled system; None where it has no queue and no dependency to couple.

    Whoever couples many variants of one scenario gives the same ``memo`` each time: queues that are the same object in two
    of them are prepared once.
    """
    scenario = loaded.scenario
    if not scenario.queues and not scenario.dependencies:
        return None
    builder = _Builder(loaded, {} if memo is None else memo)
    ranges, labels = builder.uncertain()
    outage = scenario.incident.outage_min
    longest = ranges.get(Input("outage", 0, "outage_min"), Range(outage, outage, outage)).high
    lead = max(outage, longest)
    plan = scenario.admission
    system = CoupledSystem(
        outage_min=outage,
        lead_min=lead,
        queues=tuple(builder.queue(name, lead) for name in builder.queue_names),
        dependencies=tuple(builder.dependency(name) for name in builder.dependency_names),
        fleets=tuple(builder.fleet(name) for name in builder.fleet_names),
        admission=admission_of(loaded) if plan.in_place else None,
    )
    return Coupling(
        loaded, system, builder.queue_names, builder.dependency_names, builder.fleet_names, ranges, labels,
        tuple(builder.doubts),
    )  # fmt: skip
