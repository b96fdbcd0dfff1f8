"""Exports of a scenario become one inventory, and the same settings give the same findings from any of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from afterload.chapters import Workbook
from afterload.readers.cloud import ATTRIBUTES
from afterload.scenario import load_scenario

UUID = "00000000-1111-2222-3333-444444444444"
ARN = "arn:aws:sqs:us-east-1:111122223333:orders"
FUNCTION = "arn:aws:lambda:us-east-1:111122223333:function:worker"
MAPPING = {
    "UUID": UUID, "BatchSize": 10, "EventSourceArn": ARN, "FunctionArn": FUNCTION, "State": "Enabled",
    "LastModified": 1_700_000_000.0, "MaximumBatchingWindowInSeconds": 0,
}  # fmt: skip
# As the service gives them: every value is a text, and the redrive policy JSON in a text.
ATTRIBUTES_OF_QUEUE = {
    "QueueArn": ARN, "CreatedTimestamp": "1700000000", "VisibilityTimeout": "30", "MessageRetentionPeriod": "9000",
    "DelaySeconds": "0", "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
    "RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{ARN}-dead", "maxReceiveCount": 5}),
}  # fmt: skip
GROUP = {
    "AutoScalingGroupName": "web", "MinSize": 1, "MaxSize": 5000, "DesiredCapacity": 600, "DefaultCooldown": 300,
    "HealthCheckType": "EC2,ELB", "HealthCheckGracePeriod": 60, "CreatedTime": "2024-01-01T00:00:00Z",
    "AvailabilityZones": ["us-east-1a"], "SuspendedProcesses": [], "CapacityRebalance": False, "TargetGroupARNs": [],
    "Instances": [{"InstanceId": "i-1", "LifecycleState": "InService", "HealthStatus": "Healthy"}],
}  # fmt: skip
TERRAFORM = {
    "format_version": "1.2", "terraform_version": "1.9.0",
    "values": {"root_module": {"resources": [
        {"address": "aws_lambda_event_source_mapping.orders", "mode": "managed", "type": "aws_lambda_event_source_mapping",
         "name": "orders", "values": {
             "uuid": UUID, "event_source_arn": ARN, "function_arn": FUNCTION, "function_name": FUNCTION, "enabled": True,
             "state": "Enabled", "batch_size": 10, "scaling_config": [], "provisioned_poller_config": []}},
        {"address": "aws_sqs_queue.orders", "mode": "managed", "type": "aws_sqs_queue", "name": "orders", "values": {
            "name": "orders", "arn": ARN, "url": "https://sqs.us-east-1.amazonaws.com/111122223333/orders",
            "visibility_timeout_seconds": 30, "message_retention_seconds": 9000, "delay_seconds": 0, "fifo_queue": False,
            "redrive_policy": json.dumps({"deadLetterTargetArn": f"{ARN}-dead", "maxReceiveCount": 5})}},
    ]}},
}  # fmt: skip
Save = Callable[..., Workbook]


@pytest.fixture
def save(tmp_path: Path, rows: Any) -> Save:
    """A workbook of the guide's queue and a fleet with these exports; text or JSON by file name."""

    def write(exports: list[dict[str, Any]], files: dict[str, Any]) -> Workbook:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        data = {
            "team": "T", "time_zone": "UTC", "recovery_objective": "4 h", "exports": exports,
            "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
            **rows.queue(), **rows.fleet(),
        }  # fmt: skip
        (tmp_path / "t.yaml").write_text(json.dumps(data), encoding="utf-8")
        return Workbook(load_scenario(tmp_path / "t.yaml"))

    return write


def found(workbook: Workbook) -> dict[str, float | None]:
    return {item.id: item.cost.amount for item in workbook.findings.findings}


def test_a_scenario_without_exports_has_an_empty_inventory(save: Save) -> None:
    workbook = save([], {})
    assert workbook.findings.inventory.observations == ()
    assert workbook.findings.inventory.remarks == ()


def test_exports_of_the_command_line_and_of_terraform_find_the_same(save: Save) -> None:
    cli = save(
        [{"file": "aws/mappings.json"}, {"file": "aws/queue.json"}],
        {
            "aws/mappings.json": {"EventSourceMappings": [MAPPING]},
            "aws/queue.json": {"Attributes": ATTRIBUTES_OF_QUEUE},
        },
    )
    expected = {
        # 1,800 of 2,400 fit; 1,200 x (172 - 150); 1,200 x (172 - 2.5); 203,400 / 600.
        "no-drain-cap:queues.orders": 0, "retention-short:queues.orders": 26_400,
        "receives-low:queues.orders": 203_400, "redrive-rate:queues.orders": 339,
    }  # fmt: skip
    amounts = found(cli)
    assert {name: amounts[name] for name in expected} == pytest.approx(expected)
    terraform = save([{"file": "state.json"}], {"state.json": TERRAFORM})
    assert {name: found(terraform)[name] for name in expected} == pytest.approx(expected)
    languages = {item.rule: item.steps.language for item in terraform.findings.findings}
    assert (languages["no-drain-cap"], languages["retention-short"], languages["redrive-rate"]) == ("hcl", "hcl", "sh")
    [cap] = [item for item in terraform.findings.findings if item.rule == "no-drain-cap"]
    assert cap.steps.apply == (
        "# in aws_lambda_event_source_mapping.orders, then terraform plan and terraform apply",
        "scaling_config { maximum_concurrency = 80 }",
    )
    assert {item.steps.language for item in cli.findings.findings} == {"sh"}


def test_an_auto_scaling_group_is_read_with_its_instances(save: Save) -> None:
    workbook = save([{"file": "groups.json"}], {"groups.json": {"AutoScalingGroups": [GROUP]}})
    amounts = found(workbook)
    assert amounts["elb-health-check:fleets.web"] == 1
    assert amounts["removal-active:fleets.web"] == pytest.approx(1_450 / 60)
    # 60 s of grace, 150 s to serve.
    assert amounts["grace-short:fleets.web"] == 3_000


def test_files_have_the_names_and_dates_of_the_scenario(save: Save, tmp_path: Path) -> None:
    workbook = save(
        [{"file": "aws/reserved.json", "subject": "worker", "exported_at": "2026-07-01T08:00+02:00"}],
        {"aws/reserved.json": {"ReservedConcurrentExecutions": 50}},
    )
    [seen] = workbook.findings.inventory.observations
    assert (seen.resource, seen.value, seen.origin.file) == ("worker", 50, "aws/reserved.json")
    assert seen.origin.exported_at == datetime(2026, 7, 1, 6, tzinfo=UTC)
    assert str(tmp_path) not in workbook.audit_details().text


def test_a_file_that_cannot_be_read_leaves_a_remark_and_not_a_failure(save: Save, tmp_path: Path) -> None:
    workbook = save(
        [{"file": "bad.json"}, {"file": "queue.json"}],
        {"bad.json": "no export at all", "queue.json": {"Attributes": ATTRIBUTES_OF_QUEUE}},
    )
    inventory = workbook.findings.inventory
    assert inventory.resource("sqs.queue", "orders") is not None
    [remark] = [remark for remark in inventory.remarks if remark.file == "bad.json"]
    assert remark.kind == "refused"
    assert str(tmp_path) not in str(remark)
    assert "bad.json" in workbook.audit_gaps().to_text()  # type: ignore[union-attr]


def test_every_attribute_of_the_cases_is_one_that_readers_know(cases: dict[str, Any], rows: Any) -> None:
    exported = [row for case in cases.values() for part in (case.fires, case.context, case.fixed) for row in part[1]]
    assert exported
    for kind, _, attributes in exported:
        assert set(attributes) <= set(ATTRIBUTES[kind]), kind
    assert {"aws_retry_mode", "aws_max_attempts", "runtime"} <= set(ATTRIBUTES["lambda.function"])
    assert "queue" in ATTRIBUTES["lambda.mapping"]
