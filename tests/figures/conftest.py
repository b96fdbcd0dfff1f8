"""Workbooks of the shipped examples and of odd scenarios."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from afterload.chapters import Workbook
from afterload.scenario import load_scenario

HEAD: dict[str, Any] = {
    "team": "T",
    "time_zone": "UTC",
    "recovery_objective": "240 min",
    "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
}
QUEUE = {"arrival_rate": "1,200/min", "service_rate": "1,800/min", "item_time": "2 s", "dependency": "table"}
TABLE = {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min"}}
HTML = "<b>bold</b></script><script>alert(1)</script> & \"quoted\" 'single'"
LONG = "x" * 200
FAILING = {
    "running": 400, "needed": 360, "launches_from": "75 min", "removal_rate": "3/min",
    "launch": {"boot_time": "3 min", "network_delay": "20 min"},
}  # fmt: skip
TARGETS = {"targets": [40, 40, 40], "new_targets": [40, 40, 40], "check_interval": "10 s", "checker_rate": "25/s",
           "checks_per_change": 4, "dns_share": "60 %"}  # fmt: skip
LOOP = {"load": "5/s", "capacity": "10/s", "timeout": "5 s", "retries": 5, "queue_cap": 150, "waiting_at_restore": 300}
CAUSES = ["backlog", "workload amplification", "capacity degradation amplification", "launch limits"]


def account(text: str, number: int = 1) -> dict[str, Any]:
    """A postmortem in which every text is the same."""
    return {
        "summary": f"{text}.\n\nAnd {text}.", "impact": f"{text}.", "detected_by": text, "timeline": "own.csv",
        "impact_numbers": [{"what": text, "value": 12.5, "unit": text}] * number,
        "roles": [{"role": text, "held_by": text}] * number,
        "detected_at": "2025-10-20T00:10Z", "mitigated_at": "2025-10-20T03:00Z", "recovered_at": "2025-10-20T03:00Z",
        "trigger_kind": "load spike", "sustained_by": CAUSES,
        "interactions": [dict.fromkeys(("controller", "action", "feedback", "missing"), text)] * number,
        "actions": [{"text": text, "owner": text, "change": text}] * number,
    }  # fmt: skip


STREAM = {"shards": 10, "batch_size": 100, "batch_time": "20 s"}

KEYS = {"failure_share": "5 %", "effect_despite_failure": 0.5, "redelivery_share": 0.01}
LIMITS = (
    "grpc-throttling",
    "envoy-budget",
    "finagle-budget",
    "linkerd-budget",
    "google-adaptive-throttling",
    "token-bucket",
)
SDKS = ("boto3", "aws-cli-v2", "java-v2", "go-v2", "cpp", "azure-python", "google-api-core", "grpc", "other")
RETRIES: dict[str, Any] = {
    "dependencies": TABLE,
    "call_stacks": {"s": {"dependency": "table", "failure_probability": "30 %", "layers": [{"name": "l", "tries": 2}]}},
    "clients": {
        **{sdk: {"sdk": sdk, "number": 10**place, "dependency": "table"} for place, sdk in enumerate(SDKS)},
        **{limit: {"sdk": "other", "number": 1, "retry_limit": limit} for limit in LIMITS},
        **{f"{limit} with calls": {"sdk": "other", "number": 2, "calls": "7/min", "retry_limit": limit, "dependency": "table"}
           for limit in LIMITS},
        **{f"{error} errors": {"sdk": "java-v2", "mode": "legacy", "number": 3, "calls": "1/h", "errors": error}
           for error in ("transient", "throttling", "timeout")},
        "many tries": {"sdk": "boto3", "number": 5, "max_attempts": 1000, "calls": "1/s"},
        "half a name": {"sdk": "boto3", "mode": "standard", "number": 1},
    },
    "worker_pools": {
        "one of all": {"queue": 0, "workers": 1, "burst": 1, "item_time": "1 ms"},
        "no room": {"queue": 0, "workers": 1, "burst": 5, "item_time": "1 h"},
        "large": {"queue": 500, "workers": 70, "burst": 20000, "burst_over": "1 min", "item_time": "3 s"},
        "neither": {"burst": 1000, "burst_over": "2 s", "item_time": "50 ms"},
    },
    "queues": {
        "keys": {**QUEUE, "idempotency": {**KEYS, "key_life": "1 h"}},
        "no keys": {**QUEUE, "idempotency": KEYS, "max_receives": 1},
        "newest first": {**QUEUE, "order": "lifo", "idempotency": {**KEYS, "key_life": "3 h"}},
        "never": {**QUEUE, "service_rate": "900/min", "idempotency": {**KEYS, "key_life": "3 h"}},
        "given": {**QUEUE, "idempotency": {**KEYS, "key_life": "24 h", "oldest_replay": "4 days"}},
        "nothing waits": {**QUEUE, "arrival_rate": "0/min", "idempotency": {**KEYS, "key_life": "24 h"}},
    },
}  # fmt: skip


def odd(folder: Path) -> dict[str, dict[str, Any]]:
    """Parts of scenarios that no ordinary team has."""
    start = datetime(2025, 10, 6, tzinfo=UTC)
    rows = [f"{(start + timedelta(minutes=i)).isoformat()},{900 + (i * 7) % 613}" for i in range(14 * 1440)]
    (folder / "fortnight.csv").write_text("at,rate_per_min\n" + "\n".join(rows) + "\n", encoding="utf-8")
    events = [f"{(start + timedelta(minutes=i)).isoformat()},s{i % 9},k{i % 4},event {i}" for i in range(3000)]
    (folder / "events.csv").write_text("at,subsystem,kind,event\n" + "\n".join(events) + "\n", encoding="utf-8")
    windows = [
        f"w{i},{(start + timedelta(days=13, minutes=i)).isoformat()},{(start + timedelta(days=14, minutes=i + 60)).isoformat()}"
        for i in range(700)
    ]
    (folder / "windows.csv").write_text("service,start,end\n" + "\n".join(windows) + "\n", encoding="utf-8")
    entries = "".join(
        f'2025-10-20T00:{n:02}:00Z,"{HTML}","{HTML}","{n}",disputed\n'.replace('"quoted"', "q") for n in range(60)
    )
    (folder / "own.csv").write_text(f"at,event,note,source,status\n{entries}", encoding="utf-8")
    seen = "at,queue,depth,age_min,errors\n2025-10-20T02:52Z,{0},206400,172,1 %\n"
    (folder / "one.csv").write_text(seen.format("q"), encoding="utf-8")
    more = "".join(f"2025-10-20T{3 + n // 6:02}:{n % 6}0Z,q,{206_437 + 900 * n},,\n" for n in range(60))
    (folder / "growing.csv").write_text(seen.format("q") + more, encoding="utf-8")
    for name in (HTML, "🛒 bestellung 注文 é", LONG):
        text = name.replace('"', '""')
        (folder / f"{len(name)}.csv").write_text(seen.format(f'"{text}"'), encoding="utf-8")
    hourly = {"hour_of_day_per_min": [300 + 90 * (hour % 12) for hour in range(24)]}
    layers = [{"name": f"l{i}", "tries": 2} for i in range(50)]
    client = {"c": {"sdk": "boto3", "number": 1}}
    return {
        "nothing but clients": {"clients": client, "postmortem": {"summary": "It broke.", "sustained_by": ["nothing"]}},
        "never drains": {"queues": {"q": {**QUEUE, "service_rate": "1,200/min"}}, "dependencies": TABLE,
                         "postmortem": {"summary": "It broke.", "recovered_at": "2025-10-20T02:52Z"}},
        "never, kept for a day": {"queues": {"q": {**QUEUE, "service_rate": "100/min", "retention": "1 day",
                                                   "service": "sqs-lambda"}}, "dependencies": TABLE},
        "zero backlog": {"queues": {"q": {**QUEUE, "served_in_outage": "1,300/min"}}, "dependencies": TABLE},
        "no arrivals": {"queues": {"q": {**QUEUE, "arrival_rate": "0/min"}}, "dependencies": TABLE},
        "one item": {"queues": {"q": {"arrival_rate_per_h": 0, "service_rate": "1/min", "backlog_before": 1}}},
        "single everything": {
            "queues": {"q": {**QUEUE, "order": "lifo"}}, "dependencies": TABLE,
            "call_stacks": {"s": {"layers": [{"name": "only", "tries": 1}]}}, "clients": client,
            "fleets": {"f": {"running": 0, "needed": 1, "removal_automation": ["Terminate"]}},
        },
        "rejecting": {"queues": {"q": {**QUEUE, "during_outage": "reject", "backlog_before": 900}}, "dependencies": TABLE},
        "everything is lost": {"queues": {"q": {**QUEUE, "age_limit": "1 s", "superseded_share": 1, "deadline": "1 ms"}},
                               "dependencies": TABLE},
        "30 queues": {
            "queues": {f"q{i}": {**QUEUE, "arrival_rate": hourly if i % 2 else f"{100 + i}/min",
                                 "service_rate": f"{900 + 37 * i}/min"} for i in range(30)},
            "dependencies": TABLE,
        },
        "many of all": {
            "queues": {f"q{i}": {**QUEUE, "goes_stale_after": "5 min"} for i in range(60)}, "dependencies": TABLE,
            "call_stacks": {f"s{i}": {"layers": layers, "failure_probability": 0.3} for i in range(45)},
            "fleets": {f"f{i}": {"running": 0, "needed": 900 + i} for i in range(45)},
            "postmortem": account("much", 50),
        },
        "two weeks at one minute": {
            "queues": {"q": {**QUEUE, "arrival_rate": {"series": "fortnight.csv"}}}, "dependencies": TABLE,
            "incident": {**HEAD["incident"], "timeline": "events.csv", "impacts": "windows.csv"},
            "postmortem": {"summary": "It broke.", "trigger_kind": "capacity decrease"},
        },
        "hot stream": {"queues": {"q": {**QUEUE, "service": "stream-lambda", "stream": {**STREAM, "hottest_share": 0.14}}},
                       "dependencies": TABLE},
        "stream that never drains": {"queues": {"q": {**QUEUE, "stream": {**STREAM, "hottest_share": 0.5}}},
                                     "dependencies": TABLE},
        "capped with a ramp": {"queues": {"q": {**QUEUE, "service_rate": "6,000/min", "ramp": "lambda-sqs",
                                                "drain_cap": {"concurrency": 60}}}, "dependencies": TABLE},
        "fleets that shrink": {
            "fleets": {
                **{f"f{i}": {**FAILING, "removal": {"checks_failing": i / 5, "rebalancing": 20, "refreshing": 9,
                                                    "alarm_scale_in": i, "scheduled_scale_in": 1}} for i in range(5)},
                "all at once": {**FAILING, "removal_rate": "0/min", "removal": {"checks_failing": 1},
                                "removal_automation": ["ReplaceUnhealthy"], "target_group": TARGETS},
                "to the last": {**FAILING, "running": 1, "needed": 1, "removal_floor": 0},
                "own": {**FAILING, "removal_automation": ["reaper"]},
                "paused": {**FAILING, "removal_automation": [{"name": "ReplaceUnhealthy", "paused": True}],
                           "target_group": {"targets": [10]}},
                "for days": {**FAILING, "launches_from": "40 days", "removal": {"velocity_limit": "0/min"},
                             "target_group": {**TARGETS, "routing_share": 1, "dns_share": 1, "targets": [0, 0, 0]}},
                "none": {**FAILING, "running": 0, "needed": 0},
                "vast": {**FAILING, "running": 0, "needed": 900_000, "target_group": {"targets": [1]}},
                "of many targets": {**FAILING, "target_group": {**TARGETS, "targets": [2_000] * 6,
                                                                "new_targets": [2_000] * 6}},
            },
        },
        "control loops": {
            "clients": client,
            "control_loops": {
                "stuck": LOOP,
                "endless": {**LOOP, "retries": "none", "queue_cap": "none", "load": "0/s", "waiting_at_restore": 1_000},
                "too full": {**LOOP, "waiting_at_restore": 9_000_000},
                "vast": {**LOOP, "load": "50,000/s", "capacity": "100,000/s", "queue_cap": "1,500,000",
                         "waiting_at_restore": "3,000,000"},
                "idle": {**LOOP, "waiting_at_restore": 0},
                "tiny": {**LOOP, "capacity": "1/min", "load": "2/h", "timeout": "10 ms", "queue_cap": 1,
                         "waiting_at_restore": 1},
                "newest first": {**LOOP, "order": "lifo"},
                "dropping": {**LOOP, "discards_expired": True, "load": "50/s"},
            },
        },
        "a queue that grows for ever": {"clients": client, "control_loops": {
            "endless": {**LOOP, "retries": "none", "queue_cap": "none", "waiting_at_restore": 1_000},
        }},
        "one live reading": {"queues": {"q": {**QUEUE, "arrival_rate": hourly}}, "dependencies": TABLE,
                             "live": {"queue": "q", "log": "one.csv"}},
        "a live backlog that grows": {"queues": {"q": {**QUEUE, "dependency": "none", "order": "lifo"}},
                                      "live": {"queue": "q", "log": "growing.csv"}},
        "nothing but a control loop": {"control_loops": {"stuck": LOOP}},
        "nothing but plan automation": {"plan_automation": "published"},
        "nothing but a dependency": {"dependencies": TABLE},
        "fresh first": {"queues": {"q": {**QUEUE, "order": "fresh_first", "sideline_after": "10 min"}},
                        "dependencies": TABLE},
        "retries of every kind": RETRIES,
        **{
            kind: {
                "team": name, "owner": name,
                "queues": {name: {**QUEUE, "dependency": name, "goes_stale_after": "15 min", "source": name,
                                  "on_failure_destination": name, "resources": {"function": name}}},
                "dependencies": {name: TABLE["table"]},
                "call_stacks": {name: {"layers": [{"name": name, "tries": 2}, {"name": f"{name[:190]} 2", "tries": 3}]}},
                "clients": {name: {"sdk": "boto3", "number": 3}},
                "fleets": {name: {"running": 1, "needed": 9, "removal_automation": [name, "Terminate"],
                                  "resources": {"auto_scaling_group": name}}},
                "postmortem": account(name),
                "live": {"queue": name, "log": f"{len(name)}.csv"},
            }
            for kind, name in (("names with HTML", HTML), ("names with emoji", "🛒 bestellung 注文 é"), ("long names", LONG))
        },
    }  # fmt: skip


EXAMPLES = ("orders", "checkout-api", "render-fleet", "orders-live")
# The example whose values came from files, with telemetry; here for its charts.
IMPORTED = "payments"
ODD = (
    "nothing but clients", "never drains", "never, kept for a day", "zero backlog", "no arrivals", "one item",
    "single everything", "rejecting", "everything is lost", "30 queues", "many of all", "two weeks at one minute",
    "hot stream", "stream that never drains", "capped with a ramp", "fleets that shrink", "control loops",
    "a queue that grows for ever", "one live reading", "a live backlog that grows",
    "nothing but a control loop", "nothing but plan automation", "nothing but a dependency",
    "fresh first",
    "retries of every kind", "names with HTML",
    "names with emoji", "long names",
)  # fmt: skip
SECTIONS = (
    "answer", "evidence", "inputs_answer", "inputs_table", "inputs_missing", "inputs_remarks",
    "doubts", "timeline_answer", "impact_windows", "events", "backlog_answer", "backlog",
    "first_attempt_age", "catch_up", "dependency_load", "retries_answer", "calls_by_layer", "multiplier",
    "clients_answer", "clients", "client_fleets", "retry_waves", "worker_pools_answer", "worker_pools",
    "idempotency_answer", "idempotency",
    "launches_answer", "launches", "removal", "removal_remedies", "removal_traps", "flapping", "control_loops",
    "timeout_goodput", "timeout_remedies", "dependency_answer", "hidden_capacity", "triggers", "recovery_answer",
    "recovery_course", "recovery_cases", "recovery_steps", "recovery_movers", "race_answer", "race", "plan_answer",
    "plan_table", "worth", "waterfall", "before_after", "plan_details",
    "runbook_answer", "runbook_table", "runbook_details", "runbook_pauses", "exercises_answer", "exercises_table",
    "exercises_details", "measured_answer", "measured_signals", "throughput",
    "measured_attempts", "back_test", "live_answer", "live_course",
    "live_steps", "live_readings", "postmortem_answer", "postmortem_impact", "postmortem_timeline", "postmortem_alignment",
    "postmortem_split", "postmortem_durations", "postmortem_causes", "postmortem_interactions", "postmortem_actions",
    "postmortem_proposals", "postmortem_gaps", "comparison_answer", "comparison_inputs", "comparison_results",
    "comparison_plan", "audit_answer", "audit", "audit_details", "audit_gaps", "provenance",
)  # fmt: skip


@pytest.fixture(scope="session")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Workbook]:
    """The workbook of an example or of an odd scenario, by name; each is computed once."""
    folder = tmp_path_factory.mktemp("odd")
    parts = odd(folder)
    assert tuple(parts) == ODD

    @cache
    def made(name: str) -> Workbook:
        if name in (*EXAMPLES, IMPORTED):
            return Workbook(load_scenario(f"builtin:scenarios/{name}.yaml"))
        path = folder / f"{ODD.index(name)}.yaml"
        path.write_text(json.dumps({**copy.deepcopy(HEAD), **parts[name]}, ensure_ascii=False), encoding="utf-8")
        return Workbook(load_scenario(path))

    return made


@pytest.fixture(scope="session")
def shown(workbook: Callable[[str], Workbook]) -> Callable[[str], dict[str, Any]]:
    """Every section of a workbook, by the name of its method."""

    @cache
    def sections(name: str) -> dict[str, Any]:
        return {section: getattr(workbook(name), section)() for section in SECTIONS}

    return sections


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", [*EXAMPLES, *ODD])
