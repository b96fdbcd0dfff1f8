"""Scenarios for the plan: one that touches every branch, and changes of single parts of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterload.estimates import Estimates, estimate
from afterload.plan import Plan, PlanItem, build_plan
from afterload.scenario import load_scenario

MAPPING = "00000000-1111-2222-3333-444444444444"
HEAD: dict[str, Any] = {
    "team": "T",
    "owner": "T on-call",
    "time_zone": "UTC",
    "recovery_objective": "240 min",
    "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
}
QUEUE: dict[str, Any] = {
    "arrival_rate": "1,200/min", "service_rate": "1,800/min", "item_time": "2 s", "dependency": "table",
}  # fmt: skip
DEPENDENCIES = {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min"}}


class Made:
    """A scenario as data, its results and its plan."""

    def __init__(self, path: Path, data: dict[str, Any], overrides: list[str]) -> None:
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        self.data = data
        self.estimates: Estimates = estimate(load_scenario(path, overrides))
        self.plan: Plan = build_plan(self.estimates)

    def line(self, name: str) -> PlanItem:
        """The line with this id."""
        return next(item for item in self.plan.items if item.id == name)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Made]:
    """Make a scenario of the head and these parts."""
    return lambda *overrides, **parts: Made(tmp_path / "t.yaml", {**copy.deepcopy(HEAD), **parts}, list(overrides))


@pytest.fixture
def queue(make: Callable[..., Made]) -> Callable[..., Made]:
    """The guide's queue with these fields changed; a field that is None is left out."""

    def write(*overrides: str, **fields: Any) -> Made:
        given = {key: value for key, value in {**QUEUE, **fields}.items() if value is not None}
        return make(*overrides, queues={"q": given}, dependencies=DEPENDENCIES)

    return write


def everything() -> dict[str, Any]:
    """Parts that touch every branch of every change."""
    stale = {**QUEUE, "goes_stale_after": "15 min"}
    arn = "arn:aws:sqs:us-east-1:111122223333:dead"
    names = {"function": "worker", "event_source_mapping": MAPPING, "queue_url": "https://example.org/q"}
    queues = {
        "sqs": {**stale, "service": "sqs-lambda", "resources": names, "retention": "4 days"},
        "sqs-capped-high": {**stale, "service": "sqs-lambda", "drain_cap": {"concurrency": 200}, "resources": names},
        "sqs-capped-low": {**stale, "service": "sqs-lambda", "drain_cap": {"concurrency": 50}, "resources": names},
        "sqs-nameless": {**stale, "service": "sqs-lambda"},
        "sqs-wide": {**stale, "service": "sqs-lambda", "dependency": "wide", "resources": names},
        "sqs-provisioned": {**stale, "service": "sqs-lambda", "provisioned_pollers": {"minimum": 9, "maximum": 40},
                            "resources": names},
        "sqs-few-pollers": {**stale, "service": "sqs-lambda", "provisioned_pollers": {"minimum": 2, "maximum": 8}},
        "sqs-reserved": {**stale, "service": "sqs-lambda", "reserved_concurrency": 60},
        "async-reserved": {**stale, "service": "lambda-async", "reserved_concurrency": 500,
                           "resources": {"function": "reserved"}},
        "async": {**stale, "service": "lambda-async", "resources": names},
        "async-limited": {**stale, "service": "lambda-async", "age_limit": "1 h", "on_failure_destination": arn,
                          "drain_cap": {"concurrency": 500}, "resources": names},
        "async-patient": {**stale, "service": "lambda-async", "goes_stale_after": "12 h", "resources": names},
        "async-hasty": {**stale, "service": "lambda-async", "goes_stale_after": "5 s", "resources": names},
        "async-done": {**stale, "service": "lambda-async", "age_limit": "15 min", "on_failure_destination": arn},
        "stream": {**stale, "service": "stream-lambda", "resources": names, "on_failure_destination": arn,
                   "stream": {"shards": 4, "batch_size": 100, "batch_time": "1 s"}},
        "stream-limited": {**stale, "service": "stream-lambda", "age_limit": "2 h", "resources": names,
                           "stream": {"shards": 4, "batch_size": 100, "batch_time": "1 s", "hottest_share": 0.4}},
        "stream-patient": {**stale, "service": "stream-lambda", "goes_stale_after": "30 days", "resources": names,
                           "stream": {"shards": 4, "batch_size": 100, "batch_time": "1 s", "retries": 2}},
        "other": stale,
        "other-capped": {**stale, "drain_cap": {"concurrency": 100}},
        "unknown": {"arrival_rate": "5/min", "service_rate": "6/min"},
        "lasting": {"arrival_rate": "5/min", "service_rate": "6/min", "goes_stale_after": "none"},
        "timeless": {**stale, "item_time": "none"},
        "never": {**stale, "service_rate": "1,000/min", "service": "sqs-lambda"},
        "full": {**stale, "dependency": "full", "service": "sqs-lambda"},
        "rejecting": {**stale, "during_outage": "reject"},
        **more_queues(names, arn),
    }  # fmt: skip
    # Each of these has the room of its table for itself; all others share theirs.
    alone = (
        "sqs",
        "sqs-capped-high",
        "sqs-capped-low",
        "sqs-provisioned",
        "sqs-few-pollers",
        "sqs-reserved",
        "async-reserved",
        "sqs-short",
    )
    for name in alone:
        queues[name] = {**queues[name], "dependency": f"table-{name}"}
    clients = {
        "old": {"sdk": "boto3", "version": "1.43.0", "number": 5},
        "old-dynamodb": {"sdk": "botocore", "version": "1.40.1", "service": "dynamodb", "number": 1},
        "new": {"sdk": "boto3", "version": "1.44.8", "number": 5},
        "unversioned": {"sdk": "boto3", "number": 5},
        "java": {"sdk": "java-v2", "mode": "legacy", "number": 5},
        "java-few": {"sdk": "java-v2", "mode": "legacy", "max_attempts": 2, "number": 5},
        "many": {"sdk": "go-v2", "mode": "standard", "max_attempts": 9, "number": 5},
        "once": {"sdk": "cpp", "max_attempts": 1, "number": 5},
        "azure": {"sdk": "azure-python", "number": 5},
        "google": {"sdk": "google-api-core", "number": 5},
        "grpc": {"sdk": "grpc", "number": 5},
        "plain": {"sdk": "other", "number": 5},
        "steps": {"sdk": "step-functions", "number": 40},
        "steps-spread": {"sdk": "step-functions", "number": 40, "jitter": "full", "retry_limit": "token-bucket"},
        "loop": {"sdk": "other", "number": 20, "max_attempts": 4, "jitter": "none"},
        "lone": {"sdk": "azure-python", "number": 1},
        "grpc-retrying": {"sdk": "grpc", "number": 5, "max_attempts": 4},
        "wide-fleet": {"sdk": "go-v2", "number": 500, "dependency": "wide"},
        "held-fleet": {"sdk": "go-v2", "number": 5, "dependency": "full"},
        "quick-fleet": {"sdk": "go-v2", "number": 2000, "dependency": "wide", "restarts": "900/min"},
        "slow-fleet": {"sdk": "go-v2", "number": 2000, "dependency": "wide", "restarts": "901/min"},
        "heavy": {"sdk": "go-v2", "number": 2000, "dependency": "tight"},
    }
    layers = [{"name": "a", "tries": 3}, {"name": "b", "tries": 1}, {"name": "c", "tries": 2}]
    stacks = {
        "deep": {"layers": layers},
        "partly": {"layers": layers, "failure_probability": 0.5},
        "single": {"layers": layers[:1]},
        "calm": {"layers": layers[1:2]},
        "good": {"layers": layers[:2]},
    }
    group = {"auto_scaling_group": "asg"}
    fleets = {
        "fleet": {"running": 600, "needed": 3600, "resources": group,
                  "removal_automation": ["ReplaceUnhealthy", {"name": "AZRebalance", "paused": True}, "Terminate",
                                         {"name": "reaper", "pause": "reaperctl off", "resume": "reaperctl on"},
                                         "mystery"]},
        "nameless": {"running": 1, "needed": 1, "removal_automation": ["InstanceRefresh", "HealthCheck"]},
        "unknown": {"running": 0, "needed": 5},
        "safe": {"running": 3, "needed": 5, "removal_automation": []},
        "paused": {"running": 3, "needed": 5, "removal_automation": [{"name": "Terminate", "paused": True}]},
        "empty": {"running": 0, "needed": 0, "removal_automation": ["ScheduledActions", "AlarmNotification"]},
        **more_fleets(group),
    }  # fmt: skip
    dependencies = {
        **DEPENDENCIES,
        **{f"table-{name}": DEPENDENCIES["table"] for name in alone},
        "wide": {"tested_rate": "90,000/min"},
        "full": {"tested_rate": "600/min", "direct_rate": "600/min"},
        "tight": {"tested_rate": "80/min", "direct_rate": "20/min"},
        "cold": {**DEPENDENCIES["table"], "capacity": "90,000/min",
                 "cache": {"hit_rate": 0.5, "hit_rate_at_restore": 0, "fill_time": "20 min"}},
        "freezing": {**DEPENDENCIES["table"], "cache": {"hit_rate": 0.9}},
        "measured": {"tested_rate": "9,000/min", "capacity": "9,000/min", "direct_rate": "900/min",
                     "attempts_while_failing": 3, "cache": {"hit_rate": 0.5, "hit_rate_at_restore": 0.5}},
        "roomy": {"tested_rate": "9,000/min", "direct_rate": "900/min", "attempts_while_failing": 9},
        "roomy-too": {"tested_rate": "9,000/min", "direct_rate": "900/min", "attempts_while_failing": 9},
        "unmeasured": {"tested_rate": "9,000/min"},
        "icy": {"tested_rate": "9,000/min", "direct_rate": "900/min", "attempts_while_failing": 30,
                "cache": {"hit_rate": 0.95, "fill_time": "0 min"}},
        "controlled": {"tested_rate": "900/min", "control_rate": "400/min", "direct_rate": "100/min",
                       "attempts_while_failing": 3},
        "lightly": {"tested_rate": "90,000/min", "direct_rate": "600/min", "cache": {"hit_rate": 0.5}},
    }  # fmt: skip
    pool = {"burst": 200, "burst_over": "1 s", "item_time": "1.5 s"}
    pools = {
        "unpooled": {**pool, "queue": 100},
        "unbounded": {**pool, "workers": 10},
        "bounded": {**pool, "queue": 100, "workers": 10},
        "neither": pool,
        "single": {**pool, "burst": 1},
    }
    return {
        "dependencies": dependencies, "queues": queues, "clients": clients, "call_stacks": stacks, "fleets": fleets,
        "worker_pools": pools, "control_loops": control_loops(), "plan_automation": {"appliers": 3},
    }  # fmt: skip


def more_fleets(group: dict[str, str]) -> dict[str, Any]:
    """Fleets for the changes about removals, launches and targets."""
    removed = {"running": 600, "needed": 600, "removal_automation": ["ReplaceUnhealthy"], "resources": group,
               "launches_from": "30 min", "removal_rate": "10/min"}  # fmt: skip
    zones = {"targets": [6, 6, 6]}
    return {
        "removed": {**removed, "target_group": zones},
        "removed-slowly": {**removed, "needed": 200, "target_group": {**zones, "routing_count": 4, "dns_count": 4}},
        "floored": {**removed, "removal_floor": 600, "target_group": {"targets": [6, 0]}},
        "floored-low": {**removed, "running": 60, "needed": 12, "launches_from": "6 min", "removal_floor": 3,
                        "target_group": {**zones, "routing_share": 0.2, "dns_share": 0.5}},
        "held": {**removed, "removal_automation": [{"name": "ReplaceUnhealthy", "paused": True}]},
        "batched": {"running": 600, "needed": 3600, "launch": {"instances_per_request": 2, "boot_time": "1 min"}},
        "spent": {"running": 0, "needed": 900, "launch": {"instances_per_request": 50, "instance_burst": 50}},
    }  # fmt: skip


def control_loops() -> dict[str, Any]:
    """Control loops with each reason to stay up or down."""
    loop = {"load": "40/s", "capacity": "100/s", "timeout": "2 s", "retries": 3}
    return {
        "unbounded": {**loop, "waiting_at_restore": 900},
        "bounded-high": {**loop, "queue_cap": 1000},
        "bounded": {**loop, "queue_cap": 200},
        "endless": {**loop, "retries": "none"},
        "newest-first": {**loop, "order": "lifo"},
        "discarding": {**loop, "discards_expired": True},
        "calm": {**loop, "retries": 1},
        "hopeless": {**loop, "load": "0.3/s", "capacity": "0.4/s"},
    }


def more_queues(names: dict[str, str], arn: str) -> dict[str, Any]:
    """Queues for the changes about limits that are there already, order, ramps, replays and keys."""
    lasting = {**QUEUE, "goes_stale_after": "none"}
    shards = {"shards": 4, "batch_size": 100, "batch_time": "1 s"}
    keys = {"failure_share": 0.02, "effect_despite_failure": 0.2, "redelivery_share": 0.001}
    return {
        "async-lasting": {**lasting, "service": "lambda-async", "resources": names, "order": "lifo"},
        "async-lasting-limited": {**lasting, "service": "lambda-async", "age_limit": "1 h", "resources": names,
                                  "deadline": "30 min", "goes_stale_after": "1 h"},
        "stream-ended": {**lasting, "service": "stream-lambda", "resources": names, "stream": {**shards, "retries": 2}},
        "stream-short": {**lasting, "dependency": "none", "service": "stream-lambda", "resources": names,
                         "retention": "2 h", "stream": shards},
        "other-stream": {**lasting, "stream": {**shards, "batch_time": "2 s"}},
        "sqs-short": {**lasting, "service": "sqs-lambda", "resources": names, "retention": "2 h", "max_receives": 3,
                      "supersedable_share": 0.3},
        "sqs-shorter": {**lasting, "service": "sqs-lambda", "retention": "2 h", "service_rate": "1,000/min",
                        "max_receives": 400, "replay_rate": "600/min", "supersedable_share": 0},
        "sqs-hurried": {**lasting, "service": "sqs-lambda", "resources": names, "max_receives": 5, "replay_rate": "2/s",
                        "visibility_timeout": "5 s", "on_failure_destination": arn, "supersedable_share": 0.2,
                        "superseded_share": 0.2, "dependency": "wide"},
        "sqs-endless": {**lasting, "service": "sqs-lambda", "max_receives": "none", "superseded_share": 0.2},
        "other-short": {**lasting, "retention": "2 h", "max_receives": 2, "dependency": "wide"},
        "stale-short": {**lasting, "retention": "2 h", "goes_stale_after": "1 h", "age_limit": "1 h"},
        "sqs-fast": {**lasting, "service": "sqs-lambda", "service_rate": "6,000/min", "resources": names,
                     "drain_cap": {"concurrency": 70}, "dependency": "cold"},
        "other-fast": {**lasting, "service_rate": "6,000/min", "dependency": "cold"},
        "other-ramped": {**lasting, "service_rate": "6,000/min", "dependency": "cold",
                         "ramp": {"start": 59, "per_min": 0, "ceiling": 59}},
        "other-rushed": {**lasting, "service_rate": "6,000/min", "ramp": "lambda-sqs"},
        "other-frozen": {**lasting, "service_rate": "6,000/min", "dependency": "freezing"},
        "keyed": {**lasting, "idempotency": {**keys, "key_life": "24 h"}},
        "keyed-briefly": {**lasting, "idempotency": {**keys, "key_life": "1 h"}},
        "unkeyed": {**lasting, "idempotency": {**keys, "oldest_replay": "4 days"}},
        "roomy": {**lasting, "dependency": "roomy", "fleet": "batched"},
        "roomy-timeless": {**lasting, "dependency": "roomy-too", "item_time": "none"},
        "roomy-capped": {**lasting, "dependency": "roomy-too", "item_time": "2 s", "drain_cap": {"concurrency": 60}},
        "held-failing": {**lasting, "dependency": "controlled", "attempts_while_failing": 3},
        "harmless": {**lasting, "idempotency": {"failure_share": 0, "effect_despite_failure": 0}},
    }  # fmt: skip


@pytest.fixture
def all_parts() -> dict[str, Any]:
    """Every branch of every change in one scenario."""
    return everything()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The plan of all that."""
    return Made(tmp_path_factory.mktemp("whole") / "t.yaml", {**copy.deepcopy(HEAD), **everything()}, [])
