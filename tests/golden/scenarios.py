"""Scenarios made by chance, as varied as teams are: :func:`scenario_text` gives the same text for the same seed.

Every one is valid, and none needs a file beside it. All that a scenario can say about a recovery occurs in some of them: one to
four queues with and without a dependency, fleets, streams, limits of age, orders, ramps, caps, clients of several SDKs, call
stacks, dependencies that start healthy or collapsed, caches, control traffic, the seven steps, uncertain values, profiles of the
day and zones whose clocks change.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

__all__ = ["scenario_text"]

QUEUES = ("jobs", "events", "mails", "exports")
DEPENDENCIES = ("table", "ledger")
FLEETS = ("workers", "web")
# When the trouble began, by zone: in half of them the clocks change in the outage or in the recovery.
TRIGGERS: tuple[tuple[str, str], ...] = (
    ("America/Los_Angeles", "2025-11-02T07:20+00:00"),
    ("America/Los_Angeles", "2026-03-08T08:40+00:00"),
    ("Europe/Berlin", "2025-10-25T23:10+00:00"),
    ("Europe/Berlin", "2026-03-28T22:30+00:00"),
    ("Australia/Lord_Howe", "2026-04-04T12:00+00:00"),
    ("Asia/Kolkata", "2026-02-10T03:15+00:00"),
    ("America/Sao_Paulo", "2026-05-05T13:45+00:00"),
    ("UTC", "2026-01-20T16:00+00:00"),
)
# Share of the mean rate in each hour of a day.
DAY = (
    0.4, 0.3, 0.3, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.3, 1.4, 1.5, 1.5, 1.5, 1.4, 1.4, 1.3, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.5,
)  # fmt: skip
SDKS: tuple[dict[str, Any], ...] = (
    {"sdk": "boto3", "version": "1.43.11", "mode": "standard"},
    {"sdk": "boto3", "version": "1.44.8", "service": "dynamodb"},
    {"sdk": "boto3"},
    {"sdk": "java-v2", "version": "2.31.0", "mode": "standard"},
    {"sdk": "java-v2", "version": "2.29.4", "errors": "timeout"},
    {"sdk": "go-v2", "version": "1.36.0", "mode": "adaptive", "max_attempts": 6},
    {"sdk": "js-v3", "version": "3.750.0", "errors": "throttling"},
    {"sdk": "cpp"},
    {"sdk": "azure-python"},
    {"sdk": "other", "max_attempts": 4, "retry_limit": "token-bucket"},
    {"sdk": "other", "retry_limit": {"kind": "envoy-budget", "attempt_time": "120 ms"}},
    {"sdk": "grpc", "retry_limit": {"kind": "grpc-throttling", "max_tokens": 100}},
)


def scenario_text(seed: int) -> str:
    """A valid scenario as YAML, the same for the same seed."""
    return "\n".join(_lines(_Team(seed).scenario())) + "\n"


def _lines(part: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in part.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            # JSON of a scalar or a list is YAML too.
            yield f"{indent}{name}: {json.dumps(value)}"


def _rate(per_min: float) -> str:
    """A rate as people write it."""
    if per_min >= 1_000 and per_min % 60 == 0:
        return f"{per_min / 60:g}/s"
    return f"{per_min:,.6g}/min" if per_min < 1e6 else f"{per_min:.0f}/min"


class _Team:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.outage_min = self.pick(20, 45, 61.5, 90, 172, 172, 300, 600)
        count = self.pick(0, 1, 1, 1, 2)
        self.dependencies = DEPENDENCIES[:count]
        self.fleets = FLEETS[: self.pick(0, 0, 1, 2)]
        self.queues: dict[str, dict[str, Any]] = {}
        # What each can do, for rates that go with each other.
        self.arrivals: dict[str, float] = {}
        self.services: dict[str, float] = {}

    def pick(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def scenario(self) -> dict[str, Any]:
        zone, trigger = self.pick(*TRIGGERS)
        restored = datetime.fromisoformat(trigger) + timedelta(minutes=self.outage_min)
        for name in QUEUES[: self.pick(1, 1, 2, 2, 3, 4)]:
            self.queues[name] = self.queue(name)
        found: dict[str, Any] = {
            "team": f"Made up {self.seed}",
            "time_zone": zone,
            "hypothetical": True,
            "recovery_objective": f"{self.pick(30, 60, 120, 240, 480)} min",
            "incident": {"name": "made up", "trigger": trigger, "restored_at": restored.isoformat()},
            "shared": {"account": f"1111000{self.seed % 5:05d}", "region": "us-east-1"},
            "dependencies": {name: self.dependency(name) for name in self.dependencies},
            "queues": self.queues,
            "call_stacks": self.call_stacks(),
            "clients": self.clients(),
            "fleets": {name: self.fleet() for name in self.fleets},
            "admission": self.admission(),
            "costs": self.costs(),
        }
        found["uncertain"] = self.uncertain(found)
        return {name: part for name, part in found.items() if part != {}}

    # --- queues --------------------------------------------------------------------------------------------------------

    def queue(self, name: str) -> dict[str, Any]:
        arrivals = self.pick(30, 60, 180, 400, 900, 1_200, 2_400, 4_800) * self.chance.randint(80, 120) / 100
        service = max(1.0, round(arrivals * self.pick(0.97, 1.15, 1.3, 1.3, 1.5, 1.5, 1.8, 1.8, 2.2, 3.0, 4.0)))
        self.arrivals[name], self.services[name] = arrivals, service
        kind = self.pick("sqs-lambda", "sqs-lambda", "lambda-async", "stream-lambda", "other", "other")
        found: dict[str, Any] = {"service": kind, "arrival_rate": _rate(arrivals), "service_rate": _rate(service)}
        if self.often(0.25):
            found["service_rate"] = _rate(round(1.4 * service))
            self.services[name] = round(1.4 * service)
            found["arrival_rate"] = {"hour_of_day_per_min": [round(arrivals * share, 2) for share in DAY]}
        item_s = self.pick(None, 0.4, 1, 2, 5)
        if item_s is not None:
            found["item_time"] = f"{item_s} s"
            self.limits(found, service * item_s / 60)
        if self.dependencies and self.often(0.85):
            found["dependency"] = self.pick(*self.dependencies)
            if self.often(0.3):
                found["attempts_while_failing"] = self.pick(1, 2, 3.5, 9)
            if self.often(0.45):
                found["max_receives"] = self.pick(1, 3, 10)
        if self.fleets and self.often(0.6):
            found["fleet"] = self.pick(*self.fleets)
        if kind == "stream-lambda":
            found["stream"] = self.stream(service)
        self.ages(found, kind)
        self.before(found, arrivals)
        return found

    def limits(self, found: dict[str, Any], busy: float) -> None:
        """Caps and ramps about the items that are worked on at once."""
        cap = max(2, round(busy * self.pick(0.6, 0.8, 0.95, 1.2, 2)))
        way = self.pick("none", "none", "cap", "reserved", "pollers", "ramp", "ramp and cap")
        if way in ("cap", "ramp and cap") and cap <= 1_000 and found["service"] != "stream-lambda":
            found["drain_cap"] = {"concurrency": cap}
        if way == "reserved":
            found["reserved_concurrency"] = cap
        if way == "pollers" and found["service"] == "sqs-lambda":
            found["provisioned_pollers"] = {"minimum": 2, "maximum": max(2, round(cap / 10))}
        if way in ("ramp", "ramp and cap"):
            start = round(cap * self.pick(0, 0.1, 0.5))
            least = max(1, round(cap / 30))
            found["ramp"] = {"start": start, "per_min": self.pick(least, 5 * least), "ceiling": max(start, 2 * cap)}

    def stream(self, service: float) -> dict[str, Any]:
        shards = self.pick(1, 4, 10, 24)
        size, lanes = self.pick(10, 100), self.pick(1, 2)
        seconds = max(0.01, round(60 * shards * lanes * size / service / self.pick(0.9, 1.2, 2), 2))
        found = {"shards": shards, "parallelisation": lanes, "batch_size": size, "batch_time": f"{seconds} s"}
        if shards > 1 and self.often(0.6):
            found["hottest_share"] = f"{min(90.0, round(100 / shards * self.pick(1.2, 1.8, 3), 2))} %"
        if self.often(0.7):
            found["retries"] = self.pick(2, 5)
        return found

    def ages(self, found: dict[str, Any], kind: str) -> None:
        """The order, and how old work may become."""
        found["order"] = self.pick("fifo", "fifo", "lifo", "fresh_first")
        if found["order"] == "fresh_first" and self.often(0.8):
            found["sideline_after"] = f"{self.pick(5, 15, 60)} min"
        if self.often(0.35):
            found["age_limit"] = f"{self.pick(10, 45, 120, 355)} min"
            if self.often(0.6):
                found["on_failure_destination"] = "arn:aws:sqs:us-east-1:111122223333:expired"
        if self.often(0.25):
            found["retention"] = self.pick("90 min", "4 h", "1 days", "4 days")
        if self.often(0.2):
            found["deadline"] = f"{self.pick(7, 30, 150)} min"
        if self.often(0.3):
            found["goes_stale_after"] = f"{self.pick(5, 30, 90)} min"
        if kind == "other" and self.often(0.2):
            found["superseded_share"] = f"{self.pick(10, 40)} %"
        elif self.often(0.15):
            found["supersedable_share"] = f"{self.pick(10, 40)} %"

    def before(self, found: dict[str, Any], arrivals: float) -> None:
        """What waited at the trigger, and what went on in the outage."""
        if self.often(0.2):
            found["backlog_before"] = round(arrivals * self.pick(5, 40))
        if self.often(0.15):
            found["during_outage"] = "reject"
        if self.often(0.2):
            found["served_in_outage"] = _rate(round(arrivals * self.pick(0.2, 0.7)))

    # --- what they call and run on -------------------------------------------------------------------------------------

    def dependency(self, name: str) -> dict[str, Any]:
        drains = sum(self.services[key] for key, queue in self.queues.items() if queue.get("dependency") == name)
        drains = drains or 600.0
        direct = round(drains * self.pick(0, 0, 0.3, 0.8))
        control = round(drains * self.pick(0, 0, 0.05))
        tested = round((drains + direct + control) * self.pick(0.7, 0.95, 1.1, 1.3, 1.3, 1.6, 2, 3, 6))
        if direct and self.often(0.15):
            # What reaches it beside the queues is too much already.
            tested = round(0.95 * (direct + control))
        found: dict[str, Any] = {"tested_rate": _rate(max(1, tested))}
        if direct:
            found["direct_rate"] = _rate(direct)
        if control:
            found["control_rate"] = _rate(control)
        if self.often(0.25):
            found["capacity"] = _rate(round(tested * self.pick(1.05, 1.2)))
        if self.often(0.3):
            found["attempts_while_failing"] = self.pick(1, 2, 3, 6.5)
        if self.often(0.6):
            found["goodput_while_collapsed"] = f"{self.pick(5, 30, 60, 85)} %"
        if self.often(0.65):
            found["state_at_restore"] = "collapsed"
        if self.often(0.3):
            found["timeout"] = self.pick("500 ms", "2 s", "10 s")
        if self.often(0.25):
            cold = self.pick(0, 20, 40)
            found["cache"] = {
                "hit_rate": "80 %",
                "hit_rate_at_restore": f"{cold} %",
                "fill_time": self.pick("10 min", "1 h"),
            }
        if self.often(0.3):
            found["shared_as"] = f"common {name}"
        return found

    def call_stacks(self) -> dict[str, Any]:
        found = {}
        for name in ("checkout", "search")[: self.pick(0, 0, 1, 2)]:
            layers = self.chance.sample(("browser", "gateway", "service", "client"), self.pick(2, 3, 4))
            found[name] = {
                "layers": [{"name": layer, "tries": self.pick(1, 2, 3, 4)} for layer in layers],
                "failure_probability": self.pick(1, "40 %", "95 %"),
                "request_rate": _rate(self.pick(600, 2_400)),
            }
            if self.dependencies and self.often(0.4):
                found[name]["dependency"] = self.pick(*self.dependencies)
        return found

    def clients(self) -> dict[str, Any]:
        found = {}
        for name in ("worker", "site", "batch")[: self.pick(0, 1, 2, 2, 3)]:
            found[name] = {**self.pick(*SDKS), "number": self.pick(5, 40, 200)}
            if self.often(0.8):
                found[name]["calls"] = _rate(self.pick(6, 30, 300))
            if self.dependencies and self.often(0.95):
                found[name]["dependency"] = self.pick(*self.dependencies)
        return found

    def fleet(self) -> dict[str, Any]:
        needed = self.pick(20, 120, 600, 1_500)
        found: dict[str, Any] = {
            "running": round(needed * self.pick(0.2, 0.5, 0.8, 1)),
            "needed": needed,
            "launch": {
                "instances_per_request": self.pick(1, 5, 20),
                "boot_time": self.pick("60 s", "150 s", "4 min"),
                "network_delay": self.pick("0 s", "30 s"),
            },
            "removal_automation": self.pick([], ["ReplaceUnhealthy"], ["ReplaceUnhealthy", "AZRebalance"]),
        }
        if self.often(0.3):
            found["launch"]["throttle_factor"] = self.pick(0.5, 0.8)
        if self.often(0.4):
            found |= {"launches_from": self.pick("20 min", "75 min"), "removal_rate": _rate(self.pick(1, 4))}
            if self.often(0.5):
                found["removal_floor"] = round(needed * 0.3)
        return found

    # --- the rest ------------------------------------------------------------------------------------------------------

    def admission(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.often(0.45):
            found["in_place"] = True
        if self.often(0.3):
            found |= {"drain_share": f"{self.pick(50, 90)} %", "lifts": self.pick(1, 2, 5)}
        if self.often(0.2):
            found |= {"floor_share": "10 %", "hold_the_doors": "2 min", "lift_limits": "10 min"}
        return found

    def costs(self) -> dict[str, Any]:
        if self.often(0.7):
            return {}
        hours = {"instance_hour": 0.2, "consumer_hour": 0.05, "capacity_hour": 0.01}
        return {"stale_minute": self.pick(40, 250), "lost_item": 0.5, "person_day": 900, **hours}

    def uncertain(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Ranges about what the scenario says, in half of all scenarios."""
        if self.often(0.5):
            return {}
        ranges: dict[str, Any] = {}
        for name, queue in self.queues.items():
            if self.often(0.6) and isinstance(queue["arrival_rate"], str):
                ranges[f"queues.{name}.arrival_rate"] = self.ends(self.arrivals[name], 0.9, 1.15)
            elif not isinstance(queue["arrival_rate"], str):
                ranges[f"queues.{name}.arrival_rate"] = {"low": "90 %", "high": "120 %"}
            if self.often(0.6):
                ranges[f"queues.{name}.service_rate"] = self.ends(self.services[name], 0.85, 1.1)
        if self.often(0.3):
            low, high = self.outage_min * 0.75, self.outage_min * 1.5
            ranges["incident.outage"] = {"low": f"{low:g} min", "high": f"{high:g} min"}
        for name, item in found["dependencies"].items():
            if "goodput_while_collapsed" in item:
                ranges[f"dependencies.{name}.goodput_while_collapsed"] = {"low": "0 %", "high": "90 %"}
        return ranges

    @staticmethod
    def ends(likely: float, low: float, high: float) -> dict[str, Any]:
        return {"low": f"{low * likely:.6g}/min", "high": f"{high * likely:.6g}/min"}
