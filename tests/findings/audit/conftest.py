"""One case for each rule: where it fires, the same setting where it does not, and the setting removed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from afterload.estimates import Estimates, estimate
from afterload.findings.audit import Audit, Finding, build_audit
from afterload.readers.reading import Inventory, Observation, Origin
from afterload.scenario import load_scenario

EXPORTED = datetime(2026, 8, 1, 9, 30, tzinfo=UTC)
UUID = "00000000-1111-2222-3333-444444444444"
OTHER = "99999999-1111-2222-3333-444444444444"
ACCOUNT = "us-east-1:111122223333"
QUEUE_ARN, DEAD_ARN = f"arn:aws:sqs:{ACCOUNT}:orders", f"arn:aws:sqs:{ACCOUNT}:orders-dead"
STREAM_ARN = f"arn:aws:kinesis:{ACCOUNT}:stream/frames"
URL = "https://sqs.us-east-1.amazonaws.com/111122223333/orders"
GROUP_ARN = f"arn:aws:elasticloadbalancing:{ACCOUNT}:targetgroup/web/0123456789abcdef"
HEAD: dict[str, Any] = {
    "team": "T",
    "time_zone": "America/Los_Angeles",
    "recovery_objective": "240 min",
    # 172 min, as in the worked example of the planning guide.
    "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
}
# 206,400 wait at the restore, 600/min are spare: 344 min of drain.
QUEUE: dict[str, Any] = {
    "service": "sqs-lambda", "arrival_rate": "1,200/min", "service_rate": "1,800/min", "item_time": "2 s",
    "dependency": "table",
    "resources": {"function": "worker", "event_source_mapping": UUID, "queue_url": URL},
}  # fmt: skip
DEPENDENCIES = {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min"}}
SHARDS = {"shards": 4, "batch_size": 100, "batch_time": "1 s"}
FLEET: dict[str, Any] = {
    "running": 600, "needed": 3600,
    "launch": {"instances_per_request": 100, "boot_time": "120 s", "network_delay": "30 s"},
    "resources": {"auto_scaling_group": "web"},
}  # fmt: skip
ALL_REMOVAL = ("ReplaceUnhealthy", "AZRebalance", "Terminate", "AlarmNotification", "ScheduledActions")

Row = tuple[str, str, dict[str, Any]]


def queue(**fields: Any) -> dict[str, Any]:
    """A scenario of the guide's queue with these fields changed; a field that is None is left out."""
    given = {key: value for key, value in {**QUEUE, **fields}.items() if value is not None}
    return {"queues": {"orders": given}, "dependencies": DEPENDENCIES}


def fleet(**fields: Any) -> dict[str, Any]:
    return {"fleets": {"web": {**FLEET, **fields}}}


def mapping(uuid: str = UUID, **attributes: Any) -> Row:
    given = {"function": "worker", "event_source": QUEUE_ARN, "source_kind": "sqs", "state": "Enabled", "batch_size": 10,
             "maximum_concurrency": 80, "provisioned_minimum": None, "provisioned_maximum": None}  # fmt: skip
    return "lambda.mapping", uuid, {**given, **attributes}


def stream(**attributes: Any) -> Row:
    given = {"function": "worker", "event_source": STREAM_ARN, "source_kind": "kinesis", "state": "Enabled",
             "max_record_age_s": 3_600, "max_retry_attempts": 3, "on_failure": DEAD_ARN, "bisect_on_error": True}  # fmt: skip
    return "lambda.mapping", UUID, {**given, **attributes}


def function(name: str = "worker", **attributes: Any) -> Row:
    return (
        "lambda.function",
        name,
        {"timeout_s": 5, "reserved_concurrency": None, "dead_letter_target": None, **attributes},
    )


def invoke(name: str = "worker", **attributes: Any) -> Row:
    given = {"max_event_age_s": 900, "max_retry_attempts": 2, "on_failure": DEAD_ARN, "on_success": None}
    return "lambda.async", name, {**given, **attributes}


def sqs(name: str = "orders", **attributes: Any) -> Row:
    given = {"url": URL.replace("orders", name), "arn": QUEUE_ARN.replace("orders", name), "visibility_timeout_s": 60,
             "retention_s": 345_600, "fifo": False, "redrive_target": None, "max_receive_count": None,
             "approximate_messages": 0}  # fmt: skip
    return "sqs.queue", name, {**given, **attributes}


def dead(**attributes: Any) -> Row:
    return sqs("orders-dead", **{"retention_s": 1_209_600, **attributes})


def group(**attributes: Any) -> Row:
    given = {"minimum": 100, "maximum": 5_000, "desired": 600, "in_service": 600, "unhealthy": 0, "grace_s": 300,
             "health_check_types": ("EC2",), "suspended_processes": ALL_REMOVAL, "capacity_rebalance": False,
             "target_groups": (GROUP_ARN,)}  # fmt: skip
    return "autoscaling.group", "web", {**given, **attributes}


def targets(**attributes: Any) -> Row:
    given = {"arn": GROUP_ARN, "dns_minimum_count": 1, "dns_minimum_percentage": 60, "routing_minimum_count": 1,
             "routing_minimum_percentage": 50}  # fmt: skip
    return "elb.target_group", "web", {**given, **attributes}


def retry(**attributes: Any) -> Row:
    given = {"interval_s": 1, "max_attempts": 3, "backoff": 2.0, "max_delay_s": None, "jitter": "FULL"}
    return "states.retry", "billing/Charge[0]", {**given, **attributes}


DEFAULT_THRESHOLDS = {"dns_minimum_percentage": None, "routing_minimum_percentage": None}
SOURCE = {"redrive_target": DEAD_ARN}
TABLE_40K = {"dependencies": {"table": {"tested_rate": "40,000/min", "direct_rate": "600/min"}}}


@dataclass(frozen=True)
class Case:
    """Scenario parts and exported rows: where a rule fires, where the same setting does not matter, and without it."""

    target: str
    severity: str
    amount: float | None
    unit: str
    fires: tuple[dict[str, Any], tuple[Row, ...]]
    context: tuple[dict[str, Any], tuple[Row, ...]]
    fixed: tuple[dict[str, Any], tuple[Row, ...]]


ASYNC = queue(service="lambda-async", goes_stale_after="15 min")
STREAM = queue(service="stream-lambda", goes_stale_after="15 min", retention="24 h", stream={**SHARDS, "retries": 3})
MAIL = {"event_source": QUEUE_ARN.replace("orders", "mail")}
CLIENT = {"sdk": "boto3", "version": "1.43.0", "number": 5, "dependency": "table"}
LAYERS = [{"name": "a", "tries": 3}, {"name": "b", "tries": 1}, {"name": "c", "tries": 2}]


def client(**fields: Any) -> dict[str, Any]:
    return {"clients": {"c": {**CLIENT, **fields}}, "dependencies": DEPENDENCIES}


def stack(layers: list[dict[str, Any]], probability: float = 1) -> dict[str, Any]:
    return {"call_stacks": {"s": {"layers": layers, "failure_probability": probability}}}


def keys(life_min: float, oldest_min: float | None = None) -> dict[str, Any]:
    """The guide's queue with idempotency keys, as the schema of a later version has them."""
    return {**queue(), "idempotency": SimpleNamespace(key_life_min=life_min, oldest_replay_min=oldest_min)}


CASES: dict[str, Case] = {
    # 1,800/min of consumers, where 3,000 - 600 = 2,400/min fit; min(1,250, 1,000 of the account) x 60 / 2 do not.
    "no-drain-cap": Case(
        "queues.orders", "medium", 0, "items/min",
        (queue(), (mapping(maximum_concurrency=None),)),
        ({**queue(), **TABLE_40K}, (mapping(maximum_concurrency=None),)),
        (queue(), (mapping(maximum_concurrency=50),)),
    ),
    # The same behind a cap of 100 x 60 / 2 = 3,000/min; with 4 s an item it is 1,500/min.
    "cap-over-tested-rate": Case(
        "queues.orders", "medium", 0, "items/min",
        (queue(), (mapping(maximum_concurrency=100),)),
        (queue(item_time="4 s"), (mapping(maximum_concurrency=100),)),
        (queue(), (mapping(maximum_concurrency=80),)),
    ),
    # 60 + 60 - 100.
    "caps-over-reserved": Case(
        "function worker", "medium", 20, "concurrent",
        (queue(), (function(reserved_concurrency=100), mapping(maximum_concurrency=60),
                   mapping(OTHER, maximum_concurrency=60, **MAIL))),
        (queue(), (function(reserved_concurrency=100), mapping(maximum_concurrency=60),
                   mapping(OTHER, maximum_concurrency=60, state="Disabled", **MAIL))),
        (queue(), (function(reserved_concurrency=120), mapping(maximum_concurrency=60),
                   mapping(OTHER, maximum_concurrency=60, **MAIL))),
    ),
    # 600 + 600 - 1,000.
    "caps-over-account": Case(
        "account", "medium", 200, "concurrent",
        (queue(), (("lambda.account", "account", {"concurrency": 1_000}), mapping(maximum_concurrency=600),
                   mapping(OTHER, function="mailer", maximum_concurrency=600, **MAIL))),
        (queue(), (("lambda.account", "account", {"concurrency": 3_000}), mapping(maximum_concurrency=600),
                   mapping(OTHER, function="mailer", maximum_concurrency=600, **MAIL))),
        (queue(), (("lambda.account", "account", {"concurrency": 1_000}), mapping(maximum_concurrency=400),
                   mapping(OTHER, function="mailer", maximum_concurrency=600, **MAIL))),
    ),
    # 20 pollers x 10 - 50; the same cap without provisioned mode is what it says.
    "provisioned-with-cap": Case(
        "queues.orders", "medium", 150, "concurrent",
        (queue(), (mapping(maximum_concurrency=50, provisioned_minimum=2, provisioned_maximum=20),)),
        (queue(), (mapping(maximum_concurrency=50),)),
        (queue(), (mapping(maximum_concurrency=None, provisioned_minimum=2, provisioned_maximum=5),)),
    ),
    # 1,800/min x 2 s / 60 = 60 groups; 20/min need one.
    "fifo-groups": Case(
        "queues.orders", "low", None, "items",
        (queue(), (mapping(), sqs(fifo=True))),
        (queue(service_rate="20/min", arrival_rate="10/min"), (mapping(), sqs(fifo=True))),
        (queue(), (mapping(), sqs(fifo=False))),
    ),
    # Drain 206,400 / 600 = 344 min; 15 min of arrivals, 18,000, drain in 30 min.
    "async-age-default": Case(
        "queues.orders", "medium", 314, "min",
        (ASYNC, (function(), invoke(max_event_age_s=21_600))),
        (queue(service="lambda-async", goes_stale_after="none"), (function(), invoke(max_event_age_s=21_600))),
        (ASYNC, (function(), invoke(max_event_age_s=900))),
    ),
    # Four shards of 300/min and 450/min each: the same 344 and 30 min.
    "stream-age-unlimited": Case(
        "queues.orders", "medium", 314, "min",
        (STREAM, (stream(max_record_age_s=None),)),
        ({**STREAM, "queues": {"orders": {**STREAM["queues"]["orders"], "goes_stale_after": "none"}}},
         (stream(max_record_age_s=None),)),
        (STREAM, (stream(max_record_age_s=900),)),
    ),
    # Until the stream's retention: 24 h.
    "stream-retries-endless": Case(
        "queues.orders", "high", 1_440, "min",
        (STREAM, (stream(max_retry_attempts=None, max_record_age_s=None, bisect_on_error=False),)),
        (STREAM, (stream(max_retry_attempts=None, max_record_age_s=3_600, bisect_on_error=False),)),
        (STREAM, (stream(max_retry_attempts=5, max_record_age_s=None, bisect_on_error=False),)),
    ),
    # Three tries in 1 + 2 min: 1,200/min x (172 - 3) min.
    "no-destination": Case(
        "queues.orders", "high", 202_800, "items",
        (ASYNC, (function(), invoke(on_failure=None))),
        (ASYNC, (function(dead_letter_target=DEAD_ARN), invoke(on_failure=None))),
        (ASYNC, (function(), invoke(on_failure=DEAD_ARN))),
    ),
    # 1,200/min x (172 - 150) min.
    "retention-short": Case(
        "queues.orders", "high", 26_400, "items",
        (queue(), (mapping(), sqs(retention_s=9_000))),
        ({**queue(), "incident": {**HEAD["incident"], "restored_at": "2025-10-20T01:00Z"}}, (mapping(), sqs(retention_s=9_000))),
        (queue(), (mapping(), sqs(retention_s=345_600))),
    ),
    # Five receives 30 s apart: 2.5 min of its age are gone when it is moved.
    "dead-letter-retention": Case(
        "queue orders-dead", "low", 2.5, "min",
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=5, visibility_timeout_s=30), dead(retention_s=345_600))),
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=5, visibility_timeout_s=30, fifo=True), dead(retention_s=345_600))),
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=5, visibility_timeout_s=30), dead())),
    ),
    # Shown once more in 60 s: 206,400 x 1.
    "visibility-short": Case(
        "queues.orders", "high", 206_400, "deliveries",
        (queue(), (mapping(), function(timeout_s=60), sqs(visibility_timeout_s=30))),
        (queue(), (mapping(), function(timeout_s=5), sqs(visibility_timeout_s=30))),
        (queue(), (mapping(), function(timeout_s=60), sqs(visibility_timeout_s=360))),
    ),
    # 90,000 / 600 spare a minute.
    "redrive-rate": Case(
        "queues.orders", "medium", 150, "min",
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=1_000), dead(approximate_messages=90_000))),
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=1_000), dead(approximate_messages=0))),
        (queue(), (mapping(), sqs(), dead(approximate_messages=90_000))),
    ),
    # 5 x 30 s = 2.5 min: 1,200/min x 169.5 min. 5 x 40 min last longer than the outage.
    "receives-low": Case(
        "queues.orders", "high", 203_400, "items",
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=5, visibility_timeout_s=30), dead())),
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=5, visibility_timeout_s=2_400), dead())),
        (queue(), (mapping(), sqs(**SOURCE, max_receive_count=345, visibility_timeout_s=30), dead())),
    ),
    # 1,200/min x (172 + 240) min.
    "mapping-disabled": Case(
        "queues.orders", "high", 494_400, "items",
        (queue(), (mapping(state="Disabled"),)),
        (queue(), (mapping(state="Disabled"), mapping(OTHER, function="green"))),
        (queue(), (mapping(state="Enabled"),)),
    ),
    "function-stopped": Case(
        "queues.orders", "high", 494_400, "items",
        (queue(), (mapping(), function(reserved_concurrency=0))),
        (queue(), (mapping(), function("retired", reserved_concurrency=0))),
        (queue(), (mapping(), function(reserved_concurrency=90))),
    ),
    "mapping-state": Case(
        "queues.orders", "low", None, "items",
        (queue(), (mapping(state="Sleeping"),)),
        (queue(), (mapping(state="Disabled"),)),
        (queue(), (mapping(state="Enabled"),)),
    ),
    # 50 at once are 1,500/min: 206,400 / 300 = 688 min, not 344. At a service rate of 1,500/min both agree.
    "scenario-differs": Case(
        "queues.orders", "medium", 344, "min",
        (queue(drain_cap={"concurrency": 80}), (mapping(maximum_concurrency=50),)),
        (queue(service_rate="1,500/min"), (mapping(maximum_concurrency=50),)),
        (queue(drain_cap={"concurrency": 50}), (mapping(maximum_concurrency=50),)),
    ),
    # (3,600 - 1,000) / 2 a second + 150 s = 1,450 s.
    "removal-active": Case(
        "fleets.web", "high", 1_450 / 60, "min",
        (fleet(), (group(suspended_processes=()),)),
        (fleet(removal_automation=[{"name": name, "paused": True} for name in ALL_REMOVAL]), (group(suspended_processes=()),)),
        (fleet(), (group(suspended_processes=ALL_REMOVAL),)),
    ),
    "launch-suspended": Case(
        "fleets.web", "high", 600, "instances",
        (fleet(), (group(suspended_processes=("Launch",)),)),
        (fleet(), (group(suspended_processes=("Launch", "Terminate")),)),
        (fleet(), (group(suspended_processes=()),)),
    ),
    "resume-replaces": Case(
        "fleets.web", "high", 40, "instances",
        (fleet(), (group(suspended_processes=("ReplaceUnhealthy",), unhealthy=40),)),
        (fleet(), (group(suspended_processes=("ReplaceUnhealthy",), unhealthy=0),)),
        (fleet(), (group(suspended_processes=(), unhealthy=40),)),
    ),
    # 3,600 - 600 are launched.
    "unregistered-launches": Case(
        "fleets.web", "medium", 3_000, "instances",
        (fleet(), (group(suspended_processes=("AddToLoadBalancer",)),)),
        (fleet(needed=600), (group(suspended_processes=("AddToLoadBalancer",)),)),
        (fleet(), (group(suspended_processes=()),)),
    ),
    "elb-health-check": Case(
        "fleets.web", "high", 600, "instances",
        (fleet(), (group(suspended_processes=(), health_check_types=("EC2", "ELB")),)),
        (fleet(), (group(suspended_processes=("HealthCheck",), health_check_types=("EC2", "ELB")),)),
        (fleet(), (group(suspended_processes=(), health_check_types=("EC2",)),)),
    ),
    # 120 s + 30 s to serve.
    "grace-short": Case(
        "fleets.web", "high", 3_000, "instances",
        (fleet(), (group(suspended_processes=(), health_check_types=("EC2", "ELB"), grace_s=60),)),
        (fleet(), (group(suspended_processes=(), health_check_types=("EC2",), grace_s=60),)),
        (fleet(), (group(suspended_processes=(), health_check_types=("EC2", "ELB"), grace_s=150),)),
    ),
    # 3,000: (3,000 - 1,000) / 2 = 1,000 s; 3,600: 1,300 s.
    "capacity-rebalance": Case(
        "fleets.web", "medium", 5, "min",
        (fleet(), (group(capacity_rebalance=True),)),
        (fleet(), (group(capacity_rebalance=True, suspended_processes=("Launch", "Terminate")),)),
        (fleet(), (group(capacity_rebalance=False),)),
    ),
    "target-group-thresholds": Case(
        "target group web", "medium", 600, "times",
        (fleet(), (group(), targets(**DEFAULT_THRESHOLDS))),
        (fleet(), (group(in_service=1), targets(**DEFAULT_THRESHOLDS))),
        (fleet(), (group(), targets())),
    ),
    # botocore, data/_retry.json: 5 attempts.
    "legacy-retries": Case(
        "clients.c", "high", 5, "attempts",
        (client(), ()), (client(max_attempts=1), ()), (client(mode="standard"), ()),
    ),
    # 3 x 2.
    "stacked-retries": Case(
        "call_stacks.s", "high", 6, "attempts",
        (stack(LAYERS), ()), (stack(LAYERS, 0), ()), (stack(LAYERS[1:]), ()),
    ),
    # 1,000 clients x 500 // 14; 2,400/min are spare, or 89,400/min.
    "full-buckets": Case(
        "clients.c", "medium", 35_000, "attempts",
        (client(version="1.44.8", number=1_000), ()),
        ({**client(version="1.44.8", number=1_000), "dependencies": {"table": {"tested_rate": "90,000/min"}}}, ()),
        (client(version="1.44.8", number=60), ()),
    ),
    # 14 days less 24 h.
    "key-life-short": Case(
        "queues.orders", "high", 20_160 - 1_440, "min",
        (keys(1_440), (mapping(), sqs(**SOURCE, max_receive_count=1_000), dead())),
        (keys(1_440), (mapping(), sqs(**SOURCE, max_receive_count=1_000), dead(retention_s=43_200))),
        (keys(20_160), (mapping(), sqs(**SOURCE, max_receive_count=1_000), dead())),
    ),
    # One attempt and three retries.
    "states-without-jitter": Case(
        "state billing/Charge[0]", "medium", 4, "attempts",
        (queue(), (retry(jitter=None),)), (queue(), (retry(jitter=None, max_attempts=0),)), (queue(), (retry(),)),
    ),
}  # fmt: skip


def observations(rows: Iterable[Row], file: str = "export.json", at: datetime = EXPORTED) -> Iterable[Observation]:
    """The rows as a reader of the AWS CLI gives them."""
    for kind, name, attributes in rows:
        for attribute, value in attributes.items():
            yield Observation(kind, name, attribute, value, Origin(file, f"{kind}.{attribute}", at))


class Made:
    """A scenario as data with exported rows, and its audit."""

    def __init__(self, path: Path, parts: Mapping[str, Any], rows: Iterable[Row] | Inventory) -> None:
        data = {**copy.deepcopy(HEAD), **parts}
        standin = data.pop("idempotency", None)
        if not any(part in data for part in ("queues", "clients", "call_stacks", "fleets")):
            data = {**data, **queue()}
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        self.estimates: Estimates = estimate(load_scenario(path))
        if standin is not None:
            queues = {
                name: replace(item, queue=item.queue.model_copy(update={"idempotency": standin}))
                for name, item in self.estimates.queues.items()
            }
            self.estimates = replace(self.estimates, queues=queues)
        inventory = rows if isinstance(rows, Inventory) else Inventory(tuple(observations(rows)))
        self.audit: Audit = build_audit(self.estimates, inventory)

    def found(self, rule: str) -> list[Finding]:
        """Findings of one rule."""
        return [item for item in self.audit.findings if item.rule == rule]

    def one(self, rule: str) -> Finding:
        """The only finding of a rule."""
        [item] = self.found(rule)
        return item


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Made]:
    """Audit scenario parts with exported rows."""
    return lambda parts, rows=(): Made(tmp_path / "t.yaml", parts, rows)


@pytest.fixture
def cases() -> dict[str, Case]:
    """Every rule's case."""
    return CASES


@pytest.fixture
def rows() -> SimpleNamespace:
    """Makers of exported rows, and of scenario parts."""
    return SimpleNamespace(
        mapping=mapping, stream=stream, function=function, invoke=invoke, sqs=sqs, dead=dead, group=group, targets=targets,
        retry=retry, queue=queue, fleet=fleet, client=client, stack=stack, keys=keys, observations=observations,
        QUEUE=QUEUE, FLEET=FLEET, DEPENDENCIES=DEPENDENCIES, SOURCE=SOURCE, SHARDS=SHARDS, UUID=UUID, OTHER=OTHER, URL=URL,
        ASYNC=ASYNC, STREAM=STREAM, MAIL=MAIL, DEAD_ARN=DEAD_ARN, QUEUE_ARN=QUEUE_ARN, DEFAULTS=DEFAULT_THRESHOLDS,
    )  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "rule" in metafunc.fixturenames:
        metafunc.parametrize("rule", list(CASES))
