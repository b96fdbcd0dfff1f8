"""Time the whole change plan of a team, and the reading of a large Terraform plan.

    python tools/bench_plan.py [--rounds N]

The plan: 20 entries or more of the catalogue to do, each simulated alone, in its place and left out, in both starting states,
with 1,000 draws of uncertain inputs; on one core, in processor seconds. Terraform: a plan of 50 MB as ``terraform show -json``
prints it, beside Python's own json, which reads the text and understands nothing of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One core: before numpy is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from afterload.estimates import estimate  # noqa: E402
from afterload.plan import DO, Plan, build_plan  # noqa: E402
from afterload.readers.cloud import read_cloud_file  # noqa: E402
from afterload.scenario import LoadedScenario, load_scenario  # noqa: E402

WITHIN_S = 2.0
SIZE_MB = 50


def spent(work: Callable[[], object], rounds: int) -> float:
    """Processor seconds, the median of some rounds after a first one."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def team(folder: Path) -> LoadedScenario:
    """A team with something for most of the catalogue, and uncertain inputs."""
    queue: dict[str, Any] = {
        "arrival_rate": "1,200/min", "service_rate": "1,800/min", "item_time": "2 s", "dependency": "table",
    }  # fmt: skip
    head = {
        "team": "bench", "time_zone": "UTC", "recovery_objective": "240 min",
        "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
    }  # fmt: skip
    keys = {"failure_share": 0.02, "effect_despite_failure": 0.2, "key_life": "1 h"}
    parts = {
        "dependencies": {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min"}},
        "queues": {
            "orders": {**queue, "service": "sqs-lambda", "goes_stale_after": "15 min", "max_receives": 3, "retention": "2 h",
                       "supersedable_share": 0.2, "idempotency": keys, "fleet": "workers"},
            "mail": {**queue, "arrival_rate": "100/min", "service_rate": "300/min", "service": "lambda-async"},
        },
        "clients": {
            "api": {"sdk": "boto3", "version": "1.43.0", "number": 200, "dependency": "table"},
            "flows": {"sdk": "step-functions", "number": 20, "dependency": "table"},
            "batch": {"sdk": "go-v2", "number": 200, "dependency": "table"},
        },
        "call_stacks": {"k": {"layers": [{"name": "a", "tries": 3}, {"name": "b", "tries": 3}]}},
        "fleets": {"workers": {"running": 600, "needed": 900, "removal_automation": ["ReplaceUnhealthy"],
                               "launches_from": "30 min", "removal_rate": "10/min",
                               "target_group": {"targets": [200, 200, 200]}}},
        "control_loops": {"leases": {"load": "40/s", "capacity": "100/s", "timeout": "2 s"}},
        "plan_automation": "published",
        "worker_pools": {"p": {"burst": 200, "burst_over": "1 s", "item_time": "1.5 s", "queue": 100}},
        "uncertain": {"queues.orders.arrival_rate": {"low": "1,100/min", "high": "1,300/min"},
                      "queues.orders.service_rate": {"low": "1,700/min", "high": "1,900/min"}},
    }  # fmt: skip
    path = folder / "bench.yaml"
    path.write_text(json.dumps({**head, **parts}), encoding="utf-8")
    return load_scenario(path)


def plans(folder: Path, rounds: int) -> None:
    shown = [
        ("example orders", load_scenario("builtin:scenarios/orders.yaml")),
        ("a team with most of the catalogue", team(folder)),
    ]
    for name, loaded in shown:
        built: list[Plan] = []
        seconds = spent(lambda loaded=loaded, built=built: built.append(build_plan(estimate(loaded))), rounds)  # type: ignore[misc]
        plan = built[-1]
        todo = [item for item in plan.items if item.status == DO]
        entries = len({item.change for item in todo})
        draws = plan.appraisal.draws if plan.appraisal else 0
        verdict = "within" if seconds <= WITHIN_S else "NOT within"
        what = f"plan, {name}: {len(todo)} lines of {entries} entries, {draws} draws"
        print(f"{what:<84} {seconds:>8.3f} s  {verdict} {WITHIN_S:g} s")


def terraform(folder: Path, rounds: int) -> None:
    path = folder / "plan.json"
    resources: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    size = number = 0
    while size < SIZE_MB * 1_000_000:
        queue = {"name": f"queue-{number}", "message_retention_seconds": 345_600, "visibility_timeout_seconds": 30,
                 "tags": {f"tag-{place}": "x" * 40 for place in range(20)}}  # fmt: skip
        item = {"address": f"aws_sqs_queue.q{number}", "mode": "managed", "type": "aws_sqs_queue", "name": f"q{number}",
                "provider_name": "registry.terraform.io/hashicorp/aws", "schema_version": 0, "values": queue}  # fmt: skip
        change = {"address": item["address"], "mode": "managed", "type": "aws_sqs_queue", "name": item["name"],
                  "change": {"actions": ["create"], "before": None, "after": queue, "after_unknown": {"arn": True}}}  # fmt: skip
        resources.append(item)
        changes.append(change)
        size += len(json.dumps(item)) + len(json.dumps(change))
        number += 1
    document = {"format_version": "1.2", "terraform_version": "1.11.4", "resource_changes": changes,
                "planned_values": {"root_module": {"resources": resources}},
                "configuration": {"root_module": {}}}  # fmt: skip
    path.write_text(json.dumps(document), encoding="utf-8")
    megabytes = path.stat().st_size / 1e6
    found = read_cloud_file(path)
    assert len(found.of("sqs.queue")) == number
    ours = spent(lambda: read_cloud_file(path), rounds)
    plain = spent(lambda: json.loads(path.read_text(encoding="utf-8")), rounds)
    what = f"Terraform plan of {megabytes:.0f} MB, {number:,} queues; json alone {plain:.2f} s"
    print(f"{what:<84} {ours:>8.3f} s  {ours / plain:.1f} x json")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the whole plan, and the reading of a large Terraform plan.")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(
        f"Python {platform.python_version()}, one core of {os.cpu_count()}, {platform.machine()}; {rounds} rounds, medians"
    )
    with tempfile.TemporaryDirectory(prefix="afterload-bench-") as folder:
        plans(Path(folder), rounds)
        terraform(Path(folder), rounds)


if __name__ == "__main__":
    main()
