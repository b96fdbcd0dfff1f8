"""Published limits and client presets: the figures as their sources give them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from afterload import limits
from afterload.errors import NotFoundError, UnitError
from afterload.resources import resource
from afterload.yamltree import read_file

# Value, unit and where it is published. "AWS service model" is the API definition that botocore carries.
PUBLISHED = {
    "lambda.async.max_age_s.default": (21_600, "s", "AWS service model, lambda: MaximumEventAgeInSeconds"),
    "lambda.async.max_age_s.minimum": (60, "s", "AWS service model, lambda: MaximumEventAgeInSeconds"),
    "lambda.async.max_age_s.maximum": (21_600, "s", "AWS service model, lambda: MaximumEventAgeInSeconds"),
    "lambda.async.retries.default": (2, "retries", "AWS service model, lambda: MaximumRetryAttempts"),
    "lambda.async.first_retry_wait_s": (60, "s", "AWS Lambda developer guide, errors of asynchronous invocation"),
    "lambda.async.second_retry_wait_s": (120, "s", "AWS Lambda developer guide, errors of asynchronous invocation"),
    "lambda.sqs.ramp.start": (5, "concurrent", "AWS Lambda developer guide, scaling of SQS event source mappings"),
    "lambda.sqs.ramp.per_min": (300, "concurrent a minute", "AWS Lambda developer guide, scaling of SQS mappings"),
    "lambda.sqs.ramp.ceiling": (1_250, "concurrent", "AWS Lambda developer guide, scaling of SQS mappings"),
    "lambda.sqs.poller.concurrency": (10, "concurrent", "AWS Lambda developer guide, provisioned mode of SQS mappings"),
    "lambda.sqs.visibility_factor": (6, "function timeouts", "AWS Lambda developer guide, configuring an SQS queue"),
    "lambda.account_concurrency.default": (1_000, "concurrent", "AWS Lambda developer guide, quotas"),
    "lambda.sqs.max_concurrency.minimum": (2, "concurrent", "AWS service model, lambda: MaximumConcurrency"),
    "lambda.sqs.max_concurrency.maximum": (1_000, "concurrent", "AWS service model, lambda: MaximumConcurrency"),
    "lambda.sqs.pollers.minimum": (2, "pollers", "AWS service model, lambda: ProvisionedPollerConfig"),
    "lambda.sqs.pollers.minimum.highest": (200, "pollers", "AWS service model, lambda: MinimumNumberOfPollers"),
    "lambda.sqs.pollers.maximum": (10_000, "pollers", "AWS service model, lambda: MaximumNumberOfPollers"),
    "lambda.sqs.pollers.ramp.per_min": (1_000, "concurrent a minute", "AWS Lambda developer guide, provisioned mode"),
    "lambda.sqs.batch_size.default": (10, "records", "AWS service model, lambda: CreateEventSourceMapping BatchSize"),
    "lambda.stream.batch_size.default": (
        100,
        "records",
        "AWS service model, lambda: CreateEventSourceMapping BatchSize",
    ),
    "lambda.stream.max_age_s.default": (-1, "s", "AWS service model, lambda: MaximumRecordAgeInSeconds"),
    "lambda.stream.retries.default": (-1, "retries", "AWS service model, lambda: MaximumRetryAttempts of a mapping"),
    "lambda.stream.parallelization.default": (1, "batches", "AWS service model, lambda: ParallelizationFactor"),
    "lambda.sqs.pollers.minimum.default": (2, "pollers", "AWS service model, lambda: MinimumPollers"),
    "lambda.sqs.pollers.maximum.default": (200, "pollers", "AWS service model, lambda: MaximumPollers"),
    "lambda.kafka.pollers.minimum.default": (1, "pollers", "AWS service model, lambda: MinimumPollers"),
    "lambda.kafka.pollers.maximum.default": (200, "pollers", "AWS service model, lambda: MaximumPollers"),
    "lambda.function.timeout_s.default": (3, "s", "AWS service model, lambda: CreateFunction Timeout"),
    "lambda.function.memory_mb.default": (128, "MB", "AWS service model, lambda: CreateFunction MemorySize"),
    "sqs.visibility_timeout_s.default": (30, "s", "AWS service model, sqs: VisibilityTimeout"),
    "sqs.delay_s.default": (0, "s", "AWS service model, sqs: DelaySeconds"),
    "autoscaling.grace_s.default": (0, "s", "AWS service model, autoscaling: HealthCheckGracePeriod"),
    "autoscaling.cooldown_s.default": (300, "s", "AWS service model, autoscaling: DefaultCooldown"),
    "elb.target_group.minimum_count.default": (1, "targets", "AWS service model, elbv2: TargetGroupAttribute Key"),
    "states.retry.interval_s.default": (1, "s", "AWS Step Functions developer guide, error handling: IntervalSeconds"),
    "states.retry.max_attempts.default": (3, "retries", "AWS Step Functions developer guide: MaxAttempts"),
    "states.retry.backoff.default": (2, "factor", "AWS Step Functions developer guide: BackoffRate"),
    "sqs.retention_s.default": (345_600, "s", "AWS service model, sqs: MessageRetentionPeriod"),
    "sqs.retention_s.maximum": (1_209_600, "s", "AWS service model, sqs: MessageRetentionPeriod"),
    "sqs.visibility_timeout_s.maximum": (43_200, "s", "AWS service model, sqs: VisibilityTimeout"),
    "sqs.max_receive_count.maximum": (1_000, "receives", "documentation of constructs for Amazon SQS (AWS samples)"),
    "kinesis.retention_s.minimum": (86_400, "s", "Amazon Kinesis developer guide, data retention period"),
    "kinesis.retention_s.maximum": (31_536_000, "s", "AWS service model, kinesis: 8,760 hours"),
    "lambda.stream.max_record_age_s.maximum": (604_800, "s", "AWS service model, lambda: MaximumRecordAgeInSeconds"),
    "lambda.stream.retries.maximum": (10_000, "retries", "AWS service model, lambda: MaximumRetryAttempts"),
    "sqs.redrive_per_s.maximum": (500, "messages/s", "AWS service model, sqs: MaxNumberOfMessagesPerSecond"),
    "ec2.run_instances.request_burst": (5, "requests", "Amazon EC2 developer guide, request throttling"),
    "ec2.run_instances.request_refill_per_s": (2, "requests/s", "Amazon EC2 developer guide, request throttling"),
    "ec2.run_instances.instance_burst": (1_000, "instances", "Amazon EC2 developer guide, resource rate limits"),
    "ec2.run_instances.instance_refill_per_s": (2, "instances/s", "Amazon EC2 developer guide, resource rate limits"),
    "ec2.terminate_instances.request_burst": (100, "requests", "Amazon EC2 developer guide, request throttling"),
    "ec2.terminate_instances.request_refill_per_s": (5, "requests/s", "Amazon EC2 developer guide, request throttling"),
    "ec2.terminate_instances.instance_burst": (1_000, "instances", "Amazon EC2 developer guide, resource rate limits"),
    "ec2.terminate_instances.instance_refill_per_s": (20, "instances/s", "Amazon EC2 developer guide, resource rates"),
    "elb.health_check.interval_s.default": (30, "s", "AWS service model, elbv2: HealthCheckIntervalSeconds"),
    "elb.health_check.interval_s.minimum": (5, "s", "AWS service model, elbv2: HealthCheckIntervalSeconds"),
    "elb.health_check.interval_s.maximum": (300, "s", "AWS service model, elbv2: HealthCheckIntervalSeconds"),
    "elb.health_check.unhealthy_count.default": (2, "checks", "AWS service model, elbv2: UnhealthyThresholdCount"),
    "elb.health_check.healthy_count.default": (5, "checks", "AWS service model, elbv2: HealthyThresholdCount"),
    "elb.health_check.count.minimum": (2, "checks", "AWS service model, elbv2: HealthCheckThresholdCount"),
    "elb.health_check.count.maximum": (10, "checks", "AWS service model, elbv2: HealthCheckThresholdCount"),
}


KEYS = set(
    "attempts quota source note before cost throttling_cost timeout_cost base_s throttling_base_s cap_s jitter "
    "first_at_once deadline_s dynamodb dynamodb-streams".split()
)


def table(name: str) -> dict[str, dict[str, object]]:
    data: dict[str, dict[str, object]] = read_file(resource("data", name))[0].data
    return data


@pytest.mark.parametrize("key", PUBLISHED)
def test_a_limit_is_as_published(key: str) -> None:
    value, unit, _ = PUBLISHED[key]
    found = limits.limit(key)
    assert (found.key, found.value, found.unit) == (key, value, unit)
    assert limits.value(key) == limits.whole(key) == value


def test_every_limit_of_the_data_is_checked_here() -> None:
    assert set(table("limits.yaml")) == set(PUBLISHED)


@pytest.mark.parametrize("key", PUBLISHED)
def test_every_limit_has_a_source_and_a_unit_and_no_other_keys(key: str) -> None:
    row = table("limits.yaml")[key]
    assert row["source"] in limits.SOURCES
    assert row["unit"]
    assert set(row) <= {"value", "unit", "source", "note"}
    assert limits.limit(key).source == limits.SOURCES[str(row["source"])]


def test_what_a_service_model_says_of_its_own_ranges_fits() -> None:
    assert limits.value("lambda.async.max_age_s.minimum") < limits.value("lambda.async.max_age_s.maximum")
    assert limits.value("sqs.retention_s.default") == 4 * 86_400
    assert limits.value("sqs.retention_s.maximum") == 14 * 86_400
    removed, launched = (limits.value(f"ec2.{call}_instances.instance_refill_per_s") for call in ("terminate", "run"))
    assert removed == 10 * launched


def test_an_unknown_limit_names_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match=r"there is no limit 'sqs.age'; known: autoscaling.cooldown_s.default, "):
        limits.limit("sqs.age")


def test_the_ramp_of_a_preset() -> None:
    assert limits.ramp_preset("lambda-sqs") == {"start": 5, "per_min": 300, "ceiling": 1250}
    with pytest.raises(UnitError) as caught:
        limits.ramp_preset("lambda-kinesis")
    assert caught.value.accepted == "lambda-sqs, or start, per_min and ceiling"


# SDK, version, mode, service: the mode in force, attempts in all (None: no count), tokens (None: no quota).
PRESETS = [
    # botocore and boto3, source of releases 1.43 and 1.44: botocore/retries/standard.py, data/_retry.json
    ("boto3", "1.43.11", "default", "other", "legacy", 5, None),
    ("boto3", "1.43.11", "default", "dynamodb", "legacy", 10, None),
    ("boto3", "1.44.0", "default", "other", "standard", 3, 500),
    ("boto3", "1.44.8", "default", "dynamodb", "standard", 4, 500),
    ("boto3", "1.9.253", "default", "other", "legacy", 5, None),
    ("boto3", "1.100.0", "default", "other", "standard", 3, 500),
    ("boto3", "2.0", "default", "other", "standard", 3, 500),
    ("boto3", "1", "default", "other", "legacy", 5, None),
    ("boto3", "v1.44", "default", "other", "standard", 3, 500),
    ("boto3", "1.44.0rc1", "default", "other", "standard", 3, 500),
    ("boto3", "1.43.11", "legacy", "dynamodb", "legacy", 10, None),
    ("boto3", "1.43.11", "standard", "other", "standard", 3, 500),
    # before 1.44 standard mode has no attempts of its own for DynamoDB
    ("boto3", "1.43.11", "adaptive", "dynamodb", "adaptive", 3, 500),
    ("boto3", "1.43.11", "standard", "dynamodb", "standard", 3, 500),
    ("boto3", "1.44.8", "default", "dynamodb-streams", "standard", 4, 500),
    ("boto3", "1.43.11", "default", "dynamodb-streams", "legacy", 5, None),
    ("botocore", "1.43.99", "default", "dynamodb", "legacy", 10, None),
    ("botocore", "1.44", "default", "dynamodb", "standard", 4, 500),
    # AWS SDKs and tools reference guide, retry behaviour; each SDK's own developer guide
    ("aws-cli-v2", "2.31.0", "default", "other", "standard", 3, 500),
    ("aws-cli-v2", "2.31.0", "legacy", "other", "legacy", 5, None),
    ("java-v2", "2.31.0", "default", "other", "legacy", 4, 500),
    ("java-v2", "2.31.0", "standard", "other", "standard", 3, 500),
    ("java-v2", "2.31.0", "default", "dynamodb", "legacy", 9, 500),
    ("js-v3", None, "default", "other", "standard", 3, 500),
    ("go-v2", None, "default", "other", "standard", 3, 500),
    ("dotnet", None, "default", "other", "standard", 3, 500),
    ("cpp", None, "default", "other", "legacy", 11, None),
    ("cpp", None, "standard", "other", "standard", 3, 500),
    # Azure Core for Python, RetryPolicy: 10 retries; Google API core, retry.Retry: a deadline, no count
    ("azure-python", None, "default", "other", "legacy", 11, None),
    ("google-api-core", None, "default", "other", "legacy", None, None),
    # AWS Step Functions developer guide, Retry: MaxAttempts 3 after the first try
    ("step-functions", None, "default", "other", "legacy", 4, None),
    # gRPC proposal A6: retries only by service config
    ("grpc", None, "default", "other", "legacy", 1, None),
    ("other", None, "default", "other", "legacy", None, None),
]


@pytest.mark.parametrize(("sdk", "version", "mode", "service", "in_force", "attempts", "quota"), PRESETS)
def test_a_client_retries_as_published(
    sdk: str, version: str | None, mode: str, service: str, in_force: str, attempts: int | None, quota: int | None
) -> None:
    found = limits.client_preset(sdk, version, mode, service)
    assert (found.sdk, found.mode, found.attempts, found.quota) == (sdk, in_force, attempts, quota)
    assert found.source in limits.SOURCES.values()
    assert found.mode_known


@pytest.mark.parametrize("sdk", ["boto3", "botocore"])
def test_without_a_version_the_older_default_is_taken_and_doubted(sdk: str) -> None:
    found = limits.client_preset(sdk, None, "default")
    assert (found.mode, found.attempts, found.mode_known) == ("legacy", 5, False)
    assert limits.client_preset(sdk, None, "standard").mode_known


def test_every_preset_of_the_data_is_checked_here() -> None:
    modes = {(sdk, mode) for sdk, rows in table("clients.yaml").items() for mode in rows if mode != "default"}
    checked = {(sdk, in_force) for sdk, _, _, _, in_force, _, _ in PRESETS}
    rest = modes - checked
    # Adaptive is standard with a rate limiter before it, and the CLI is botocore: the same attempts and quota.
    for sdk, mode in rest:
        assert mode in ("adaptive", "standard", "legacy")
        assert limits.client_preset(sdk, None, mode).attempts == (5 if mode == "legacy" else 3)
    assert all(mode != "legacy" or sdk == "botocore" for sdk, mode in rest)


@pytest.mark.parametrize("sdk", sorted(table("clients.yaml")))
def test_every_preset_has_a_source_and_no_other_keys(sdk: str) -> None:
    rows = table("clients.yaml")[sdk]
    for mode, row in rows.items():
        if mode == "default":
            assert isinstance(row, list)
            assert all(set(rule) <= {"before", "mode"} and rule["mode"] in rows for rule in row)
            assert "before" not in row[-1]
            continue
        sets = row if isinstance(row, list) else [row]
        assert "before" not in sets[-1]
        for figures in sets:
            assert figures["source"] in limits.SOURCES
            assert {"attempts", "quota", "source"} <= set(figures) <= KEYS
            for service in {"dynamodb", "dynamodb-streams"} & set(figures):
                assert set(figures[service]) <= KEYS - {"source", "note", "before"}
            assert (figures["quota"] == "none") == ("cost" not in figures)


def test_a_preset_of_adaptive_is_that_of_standard() -> None:
    for sdk, rows in table("clients.yaml").items():
        if "adaptive" in rows:
            one, two = (limits.client_preset(sdk, None, mode) for mode in ("standard", "adaptive"))
            assert (one.attempts, one.quota) == (two.attempts, two.quota)


def test_an_unknown_sdk_names_the_nearest_and_all() -> None:
    with pytest.raises(UnitError, match=r"'Boto' is not a known SDK; nearest: boto") as caught:
        limits.check_sdk("Boto")
    assert caught.value.accepted == ", ".join(sorted(table("clients.yaml")))
    with pytest.raises(UnitError, match="'ruby-v3' is not a known SDK"):
        limits.client_preset("ruby-v3", None, "default")


def test_a_mode_that_an_sdk_lacks_names_those_it_has() -> None:
    with pytest.raises(UnitError, match="go-v2 has no preset for mode legacy") as caught:
        limits.client_preset("go-v2", None, "legacy")
    assert caught.value.accepted == "default, standard, adaptive"


@pytest.mark.parametrize("version", ["latest", "", "x1.44", ".44", "²", "-1.44", "9" * 5000])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(UnitError, match="is not a version") as caught:
        limits.client_preset("boto3", version, "default")
    assert "1.44.8" in caught.value.accepted
    assert len(str(caught.value)) < 200


def test_the_code_names_no_limit_that_the_data_lacks() -> None:
    folder = Path(limits.__file__).parent
    named = set()
    for file in folder.rglob("*.py"):
        named |= set(re.findall(r"[\"']((?:lambda|sqs|ec2)\.[a-z_]+\.[a-z_.]+)[\"']", file.read_text(encoding="utf-8")))
    assert named
    assert {name for name in named if name not in PUBLISHED and name != limits.RAMPS["lambda-sqs"]} == set()


def test_the_launch_model_uses_the_published_limits():
    from afterload.model.launches import RUN_INSTANCES, TERMINATE_INSTANCES

    for name, model in (("run_instances", RUN_INSTANCES), ("terminate_instances", TERMINATE_INSTANCES)):
        assert model.request_burst == limits.value(f"ec2.{name}.request_burst")
        assert model.requests_per_s == limits.value(f"ec2.{name}.request_refill_per_s")
        assert model.instance_burst == limits.value(f"ec2.{name}.instance_burst")
        assert model.instances_per_s == limits.value(f"ec2.{name}.instance_refill_per_s")
