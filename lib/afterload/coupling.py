"""From a scenario to the coupled model and back: what acts on what, which numbers are uncertain, what comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np

from afterload import limits
from afterload.arrivals import arrival_profile
from afterload.clients import ClientKind, client_kinds
from afterload.errors import ApproximationWarning, MissingEvidenceWarning
from afterload.estimates import Doubt, queue_inputs
from afterload.model.backlog import cap_rate_per_min
from afterload.model.coupled import (
    Admission,
    CapSteps,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledResult,
    CoupledSystem,
    Input,
    Trace,
    cap_rate,
    certainty,
    simulate,
    trace,
)
from afterload.model.curves import FloatArray, RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import Mover, Range, Spread, draw, movers, spread
from afterload.scenario import LoadedScenario, Queue

__all__ = [
    "ClientRetries",
    "CoupledEstimate",
    "Coupling",
    "StepCap",
    "Variant",
    "admission_of",
    "cap_steps",
    "consumers_rate",
    "couple",
    "drain_room",
    "draw_recovery",
    "estimate_recovery",
    "room_beside",
    "step_caps",
]

DRAWS = 1_000
SEED = 20_251_020
# Attempts of a client that the scenario does not describe: the standard mode of the common SDKs.
USUAL_ATTEMPTS = 3.0


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


@dataclass(frozen=True)
class Variant:
    """One way in which the same recovery can go."""

    name: str
    system: CoupledSystem
    trace: Trace
    is_certain: bool = True

    @property
    def result(self) -> CoupledResult:
        """Results, one draw."""
        return self.trace.result


@dataclass(frozen=True)
class CoupledEstimate:
    """The coupled recovery of one scenario: as it is, what else could happen, and how sure that is.

    ``drawn`` has the results of all draws, of which every percentile is taken; None without uncertain inputs.
    """

    coupling: Coupling
    today: Variant
    others: tuple[Variant, ...]
    drain: Mapping[str, Spread] = field(default_factory=dict)
    fresh: Mapping[str, Spread] = field(default_factory=dict)
    movers: tuple[Mover[Input], ...] = ()
    draws: int = 0
    drawn: CoupledResult | None = None


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


@dataclass(frozen=True)
class ClientRetries:
    """All clients of one dependency while every call fails.

    Attributes:
        attempts: attempts a call of the most eager kind; None: no client is described.
        held: retries that the limits of all clients let through before they bind; infinite without a limit.
        sustained: attempts a call of the most eager kind after that.
        successes: first-try successes that bring ``held`` back; 0 where none do.
    """

    attempts: float | None = None
    held: float = 0.0
    sustained: float = 1.0
    successes: float = 0.0

    @property
    def refill_per_success(self) -> float:
        """Retries that one success brings back."""
        return self.held / self.successes if self.successes > 0 and math.isfinite(self.held) else 0.0

    def with_kind(self, kind: ClientKind, doubts: list[Doubt]) -> ClientRetries:
        """These clients and one more kind; what had to be assumed of it is added to the doubts."""
        view = kind.view(1.0)
        number = kind.client.number
        if kind.policy is None:
            attempts = sustained = USUAL_ATTEMPTS
            held, successes = math.inf, 0.0
            words = f"how often it tries a call is not known: {attempts:g} attempts without a limit assumed"
            doubts.append(Doubt(MissingEvidenceWarning, f"clients.{kind.name}: {words}"))
        elif view is None:
            # At a very high call rate only the share of the traffic counts, which every rate allows.
            attempts = sustained = max(1.0, kind.policy.sustained(replace(kind.load(1.0), calls_per_s=1e9)) or 1.0)
            held, successes = 0.0, 0.0
            words = f"no calls are given, so its limit is taken at {attempts:.3g} attempts a call from the start"
            doubts.append(Doubt(MissingEvidenceWarning, f"clients.{kind.name}: {words}"))
        else:
            held = math.inf if view.burst_retries is None else view.burst_retries
            # Without a count one failing call can use up all that a client holds.
            attempts = 1.0 + held / number if view.open_loop is None else view.open_loop
            sustained = max(1.0, view.sustained or 1.0)
            successes = number * (view.successes_to_refill or 0.0)
        return ClientRetries(
            max(self.attempts or 0.0, attempts),
            self.held + held,
            max(self.sustained, sustained),
            self.successes + successes,
        )


class _Builder:
    def __init__(self, loaded: LoadedScenario, memo: dict[Any, Any]) -> None:
        self.loaded = loaded
        self.memo = memo
        self.scenario = loaded.scenario
        self.doubts: list[Doubt] = []
        self.queue_names = tuple(self.scenario.queues)
        self.dependency_names = tuple(self.scenario.dependencies)
        self.fleet_names = tuple(self.scenario.fleets)
        self.retries: dict[str, ClientRetries] = {}

    def client_retries(self, dependency: str) -> ClientRetries:
        """How the clients of a dependency retry while every call fails: each kind by its own policy."""
        if dependency in self.retries:
            return self.retries[dependency]
        found = ClientRetries()
        for kind in client_kinds(self.scenario):
            if kind.client.dependency == dependency:
                found = found.with_kind(kind, self.doubts)
        self.retries[dependency] = found
        return found

    def dependency(self, name: str) -> CoupledDependency:
        item = self.scenario.dependencies[name]
        retries = self.client_retries(name)
        attempts, held = retries.attempts, retries.held
        stacks = [
            math.prod(layer.tries for layer in stack.layers)
            for stack in self.scenario.call_stacks.values()
            if stack.dependency == name
        ]
        direct = item.attempts_while_failing
        if direct is None:
            known = [value for value in (attempts, *map(float, stacks)) if value is not None]
            direct = max(known) if known else USUAL_ATTEMPTS
            if not known:
                self.doubts.append(
                    Doubt(
                        MissingEvidenceWarning,
                        f"{name}: no client or call stack says how often a failing call is tried: {direct:g} attempts assumed",
                    )
                )
        if any(value > (attempts or 1.0) for value in stacks):
            # A stack of loops above the clients is not held by the clients' quotas.
            held = math.inf
        cache = item.cache
        return CoupledDependency(
            capacity_per_min=item.capacity_per_min or item.tested_rate_per_min,
            control_per_min=item.control_rate_per_min,
            fresh_per_min=item.direct_rate_per_min,
            attempts_failing=max(1.0, direct),
            goodput_share=item.goodput_while_collapsed,
            collapsed_at_restore=item.state_at_restore == "collapsed",
            retry_tokens=held if attempts is not None else math.inf,
            sustained_attempts=min(max(1.0, direct), retries.sustained),
            refill_per_success=retries.refill_per_success,
            hit_at_rest=cache.hit_rate if cache else 0.0,
            hit_at_restore=cache.hit_rate_at_restore if cache else 0.0,
            cache_fill_min=cache.fill_time_min if cache else 0.0,
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
        attempts = item.attempts_while_failing
        if attempts is None:
            known = self.client_retries(item.dependency).attempts if item.dependency else None
            attempts = known or USUAL_ATTEMPTS
        dependency = self.dependency_names.index(item.dependency) if item.dependency in self.dependency_names else None
        return CoupledQueue(
            load,
            dependency=dependency,
            attempts_failing=max(1.0, attempts),
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


def room_beside(loaded: LoadedScenario, dependency: str) -> float:
    """Items a minute that a dependency bears beside its control and direct traffic."""
    item = loaded.scenario.dependencies[dependency]
    bears = item.capacity_per_min or item.tested_rate_per_min
    return max(0.0, bears - item.control_rate_per_min - item.direct_rate_per_min)


def drain_room(loaded: LoadedScenario, dependency: str) -> float:
    """Items a minute that all drains of a dependency may have in steps 4 and 5: a share of what other traffic leaves."""
    return loaded.scenario.admission.drain_share * room_beside(loaded, dependency)


def cap_steps(queue: Queue) -> CapSteps | None:
    """What a cap on the consumers of a queue can be: whole items at once, or pollers, within the bounds of the service.

    None where the scenario has no ``item_time``, and for a stream's mapping: that takes no concurrency, so a rate holds it.
    """
    if queue.item_time_s is None or queue.service == "stream-lambda":
        return None
    each = cap_rate_per_min(1.0, queue.item_time_s)
    if queue.service != "sqs-lambda":
        return CapSteps(each)
    if queue.provisioned_pollers is not None:
        pollers = limits.whole("lambda.sqs.pollers.minimum"), limits.whole("lambda.sqs.pollers.maximum")
        return CapSteps(limits.whole("lambda.sqs.poller.concurrency") * each, *pollers)
    bounds = (limits.whole(f"lambda.sqs.max_concurrency.{end}") for end in ("minimum", "maximum"))
    return CapSteps(each, *bounds)


def consumers_rate(queue: Queue) -> float:
    """What the consumers of a queue do at most without a cap of the recovery: by their rate, their limits and their ramp."""
    rate = queue.service_rate_per_min
    if queue.item_time_s is not None:
        for most in (queue.concurrency_limit, queue.ramp.ceiling if queue.ramp is not None else None):
            if most is not None:
                rate = min(rate, cap_rate_per_min(float(most), queue.item_time_s))
    return rate


@dataclass(frozen=True)
class StepCap:
    """The cap of one queue in steps 4 and 5. Items a minute.

    Attributes:
        part_per_min: the queue's part, by service rates, of what control and direct traffic leave; infinite without a dependency.
        room_per_min: the share of that which drains get.
        rate_per_min: what the consumers do under the cap: the highest that can be set and fits that room.
        most_per_min: what they do without a cap.
    """

    part_per_min: float
    room_per_min: float
    rate_per_min: float
    most_per_min: float

    @property
    def binds(self) -> bool:
        """True if the cap is below what the consumers can do."""
        return self.rate_per_min < self.most_per_min * (1 - 1e-9)


def step_caps(loaded: LoadedScenario) -> dict[str, StepCap]:
    """By queue: the cap of steps 4 and 5, as the simulation has it."""
    scenario, found = loaded.scenario, {}
    share = scenario.admission.drain_share
    for name, queue in scenario.queues.items():
        most = consumers_rate(queue)
        if queue.dependency not in scenario.dependencies:
            found[name] = StepCap(math.inf, math.inf, most, most)
            continue
        others = scenario.queues.values()
        total = sum(other.service_rate_per_min for other in others if other.dependency == queue.dependency)
        part = room_beside(loaded, queue.dependency) * queue.service_rate_per_min / total
        found[name] = StepCap(part, share * part, cap_rate(share * part, most, cap_steps(queue)), most)
    return found


def _lifts(loaded: LoadedScenario) -> int:
    """How many lifts step 6 takes: those of the scenario, and no more than there are caps that differ by a whole step.

    The last one puts back the limits from before, so it is one even where that is less than a whole step more. Where no cap
    binds there is nothing to lift in steps: one lift does.
    """
    needed = 1
    for name, cap in step_caps(loaded).items():
        if not cap.binds:
            continue
        steps = cap_steps(loaded.scenario.queues[name])
        if steps is None:
            return loaded.scenario.admission.lifts
        low = max(round(cap.rate_per_min / steps.each_per_min), steps.least - 1)
        high = min(math.ceil(cap.most_per_min / steps.each_per_min - 1e-9), steps.highest + 1)
        needed = max(needed, int(high - low))
    return min(loaded.scenario.admission.lifts, needed)


def admission_of(loaded: LoadedScenario) -> Admission:
    """The admission plan of a scenario as the coupled model takes it."""
    plan = loaded.scenario.admission
    holds = plan.holds_min
    return Admission(
        floor_share=plan.floor_share,
        drain_share=plan.drain_share,
        replay_share=plan.replay_share,
        lifts=_lifts(loaded),
        hold_min=(holds[0], holds[1], holds[2], holds[3], holds[4], holds[5], holds[6]),
    )


def estimate_recovery(coupling: Coupling, draws: int = DRAWS, seed: int = SEED) -> CoupledEstimate:
    """The coupled recovery as the scenario is, in the other starting state, and under the guide's admission.

    Uncertain inputs give P10, P50 and P90 from ``draws`` draws; the same seed gives the same numbers.
    """
    system = coupling.system
    today = _variant("as the scenario is", system)
    others = []
    if system.dependencies:
        flipped = _started(system, collapsed=not any(item.collapsed_at_restore for item in system.dependencies))
        state = "collapsed" if flipped.dependencies[0].collapsed_at_restore else "healthy"
        others.append(_variant(f"if dependencies are {state} at the restore", flipped))
        worst = system if any(item.collapsed_at_restore for item in system.dependencies) else flipped
        held = replace(worst, admission=admission_of(coupling.loaded))
        if system.admission is None:
            others.append(_variant("collapsed, recovered by the seven steps", held))
    if not coupling.ranges:
        return CoupledEstimate(coupling, today, tuple(others))
    generator = np.random.default_rng(seed)
    result = _drawn(coupling, draws, generator)

    def answer(inputs: dict[Input, FloatArray]) -> FloatArray:
        answers = simulate(system, inputs).drain_min
        return np.where(np.isnan(answers).any(axis=1), np.nan, np.nanmax(np.nan_to_num(answers, nan=-1.0), axis=1))

    names = coupling.queues
    return CoupledEstimate(
        coupling,
        today,
        tuple(others),
        {name: spread(result.drain_min[:, place]) for place, name in enumerate(names)},
        {name: spread(result.fresh_age_back_min[:, place]) for place, name in enumerate(names)},
        tuple(movers(coupling.ranges, answer, generator)) if names else (),
        draws,
        result,
    )


def draw_recovery(
    coupling: Coupling, draws: int = DRAWS, seed: int = SEED
) -> tuple[CoupledResult, CoupledResult | None]:
    """The recovery at the likely inputs and its draws, None without uncertain ones: those of :func:`estimate_recovery`.

    For whoever needs no more of it, such as a gate.
    """
    likely = trace(coupling.system).result
    return likely, _drawn(coupling, draws, np.random.default_rng(seed)) if coupling.ranges else None


def _drawn(coupling: Coupling, draws: int, generator: np.random.Generator) -> CoupledResult:
    return simulate(coupling.system, draw(coupling.ranges, draws, generator))


def _variant(name: str, system: CoupledSystem) -> Variant:
    return Variant(name, system, trace(system), bool(certainty(system).certain[0]))


def _started(system: CoupledSystem, collapsed: bool) -> CoupledSystem:
    return replace(
        system, dependencies=tuple(replace(item, collapsed_at_restore=collapsed) for item in system.dependencies)
    )
