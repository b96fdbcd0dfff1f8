"""Make the exports of the shipped example "payments", and import them: a team that fills its scenario from files alone.

    python tools/example_exports.py

An incident of one queue is simulated minute by minute with Poisson arrivals and service (seeded); its counts are written in the
form of the AWS CLI and of a Prometheus query, its settings as the CLI prints them. Then `afterload import` fills the scenario.
Everything is hypothetical.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

TOP = Path(__file__).resolve().parents[1]
FOLDER = TOP / "data" / "scenarios" / "payments"
SCENARIO = TOP / "data" / "scenarios" / "payments.yaml"
EXPORTED = datetime(2026, 3, 5, 9, 30, tzinfo=UTC)
START = datetime(2026, 3, 3, 10, 0, tzinfo=UTC)
TRIGGER = datetime(2026, 3, 3, 16, 0, tzinfo=UTC)
RESTORED = datetime(2026, 3, 3, 17, 30, tzinfo=UTC)
END = datetime(2026, 3, 3, 23, 0, tzinfo=UTC)
ARRIVALS, CAPACITY = 640.0, 980.0
ARN = "arn:aws:{service}:eu-west-1:111122223333:{name}"
STEP = timedelta(minutes=5)


def course() -> dict[str, np.ndarray]:
    """Items a minute and the age of the oldest, from START to END."""
    generator = np.random.default_rng(20_260_303)
    minutes = int((END - START).total_seconds() // 60)
    down, back = (int((at - START).total_seconds() // 60) for at in (TRIGGER, RESTORED))
    arrived = generator.poisson(ARRIVALS, minutes)
    able = generator.poisson(CAPACITY, minutes)
    able[down:back] = 0
    waiting, served, depth = np.zeros(minutes, dtype=int), np.zeros(minutes, dtype=int), 0
    for minute in range(minutes):
        served[minute] = min(depth + arrived[minute], able[minute])
        depth += int(arrived[minute] - served[minute])
        waiting[minute] = depth
    came, gone = np.cumsum(arrived), np.cumsum(served)
    heads = np.searchsorted(came, gone, side="right")
    age = np.where(waiting > 0, np.arange(minutes) - heads + 1, 0) * 60.0
    return {"sent": arrived, "deleted": served, "waiting": waiting, "age": age}


def statistics(label: str, statistic: str, values: np.ndarray, unit: str) -> dict[str, Any]:
    """One answer of get-metric-statistics, points in no order, as the service gives them."""
    points = []
    for place in range(0, len(values), 5):
        part = values[place : place + 5]
        value = {"Sum": part.sum(), "Average": part.mean(), "Maximum": part.max()}[statistic]
        at = START + timedelta(minutes=place)
        points.append({"Timestamp": at.isoformat(), statistic: round(float(value), 2), "Unit": unit})
    order = np.random.default_rng(1).permutation(len(points))
    return {"Label": label, "Datapoints": [points[place] for place in order]}


def settings() -> dict[str, Any]:
    """What the AWS CLI shows of the queue, its consumer and its fleet."""
    queue, function = (
        ARN.format(service="sqs", name="payments"),
        ARN.format(service="lambda", name="function:payments-worker"),
    )
    mapping = {
        "UUID": "3f0b6f6e-8f4d-4b1c-9a55-5d6f0d1f7c21", "BatchSize": 10, "MaximumBatchingWindowInSeconds": 0,
        "EventSourceArn": queue, "FunctionArn": function, "LastModified": "2025-11-18T10:02:11+00:00", "State": "Enabled",
        "StateTransitionReason": "USER_INITIATED", "FunctionResponseTypes": [],
    }  # fmt: skip
    redrive = {"deadLetterTargetArn": ARN.format(service="sqs", name="payments-dlq"), "maxReceiveCount": 3}
    attributes = {
        "QueueArn": queue, "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "4",
        "ApproximateNumberOfMessagesDelayed": "0", "CreatedTimestamp": "1700000000", "LastModifiedTimestamp": "1731900000",
        "VisibilityTimeout": "60", "MaximumMessageSize": "262144", "MessageRetentionPeriod": "345600", "DelaySeconds": "0",
        "ReceiveMessageWaitTimeSeconds": "20", "RedrivePolicy": json.dumps(redrive), "SqsManagedSseEnabled": "true",
    }  # fmt: skip
    return {
        "mappings.json": {"EventSourceMappings": [mapping]},
        "queue.json": {"Attributes": attributes},
        "functions.json": {
            "Functions": [
                {
                    "FunctionName": "payments-worker", "FunctionArn": function, "Runtime": "python3.12", "Timeout": 90,
                    "MemorySize": 512, "LastModified": "2025-11-18T10:00:03.000+0000", "Version": "$LATEST",
                    "Environment": {"Variables": {"AWS_RETRY_MODE": "legacy"}},
                }
            ]
        },
    }  # fmt: skip


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    seen = course()
    files: dict[str, Any] = {
        **settings(),
        "sent.json": statistics("NumberOfMessagesSent", "Sum", seen["sent"], "Count"),
        "deleted.json": statistics("NumberOfMessagesDeleted", "Sum", seen["deleted"], "Count"),
        "visible.json": statistics("ApproximateNumberOfMessagesVisible", "Average", seen["waiting"], "Count"),
        "age.json": statistics("ApproximateAgeOfOldestMessage", "Maximum", seen["age"], "Seconds"),
    }
    for name, content in files.items():
        path = FOLDER / name
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.utime(path, (EXPORTED.timestamp(),) * 2)
    SCENARIO.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "afterload.cli", "import", *(str(FOLDER / name) for name in files), "-o", str(SCENARIO),
        "--team", "Payments", "--zone", "Europe/Dublin",
        "--set", "incident.name=outage of the ledger on 3 March 2026", "--set", f"incident.trigger={TRIGGER.isoformat()}",
        "--set", f"incident.restored_at={RESTORED.isoformat()}", "--set", "queues.payments.item_time=1.5 s",
        "--set", "hypothetical=true", "--set", "as_of=2026-03-12T00:00Z",
    ]  # fmt: skip
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
