"""The kinds of cloud resource that readers know, their attributes with unit and source, and the commands that export them.

Sources. ``cli`` names a member of an AWS CLI export, below the object of one resource, as the service models name it.
``terraform`` names an attribute of the AWS provider's resource, below ``values`` of ``terraform show -json``; blocks are
lists there, of which the first element is meant. A slash goes one level down. Where neither is given, the reader computes
the attribute, and its text says from what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ATTRIBUTES", "TERRAFORM_TYPES", "Attribute", "commands_for"]

Form = Literal["whole", "number", "flag", "text", "list", "set", "computed"]


@dataclass(frozen=True)
class Attribute:
    """One attribute of a kind of resource.

    Attributes:
        unit: its unit; empty for names and flags.
        text: what it is, and what None means where that says more than unset.
        form: form of the value: whole, number, flag, text, list (a tuple of texts), set (a sorted one), or computed from
            several members.
        cli: member of the AWS CLI export; empty if it is not shown there.
        terraform: attribute of the Terraform resource; empty if it is not shown there.
        default: key in ``data/limits.yaml`` of the service's own value where it is unset. ``{source}`` stands for ``sqs``
            or ``stream``.
        sources: source kinds of a mapping that have it; empty: all.
        none: numbers that mean "no limit" or "off", given as None.
        least: the least number that has a meaning.
    """

    unit: str
    text: str
    form: Form
    cli: str = ""
    terraform: str = ""
    default: str = ""
    sources: tuple[str, ...] = ()
    none: tuple[int, ...] = ()
    least: int = 0


_STREAMS = ("kinesis", "dynamodb", "kafka")
_SHARDS = ("kinesis", "dynamodb")
_TARGETS = "target_group_health."
_HEALTH = "minimum_healthy_targets"

ATTRIBUTES: dict[str, dict[str, Attribute]] = {
    # Named by UUID, or by Terraform address before it has one.
    "lambda.mapping": {
        "function": Attribute("", "Name of the function that it invokes, from its ARN", "computed"),
        "qualifier": Attribute("", "Alias or version that it invokes; None: the unpublished one", "computed"),
        "event_source": Attribute(
            "", "ARN of its source; the Terraform address where a plan does not know the ARN yet", "text",
            "EventSourceArn", "event_source_arn",
        ),
        "source_kind": Attribute(
            "", "sqs, kinesis, dynamodb, kafka, mq or documentdb, from the ARN or the self-managed source", "computed"
        ),
        "queue": Attribute("", "Name of the queue that it reads, from the ARN", "computed", sources=("sqs",)),
        "state": Attribute("", "Enabled, Disabled, or on the way to one", "text", "State"),
        "batch_size": Attribute(
            "records", "Most records of one invocation", "whole", "BatchSize", "batch_size",
            "lambda.{source}.batch_size.default",
        ),
        "batching_window_s": Attribute(
            "s", "Longest wait for a fuller batch", "whole",
            "MaximumBatchingWindowInSeconds", "maximum_batching_window_in_seconds",
        ),
        "maximum_concurrency": Attribute(
            "concurrent", "Most invocations at once; None: no cap of its own", "whole",
            "ScalingConfig/MaximumConcurrency", "scaling_config/maximum_concurrency", sources=("sqs",), none=(0,),
        ),
        "provisioned_minimum": Attribute(
            "pollers", "Least pollers in provisioned mode; None: not in that mode", "computed",
            "ProvisionedPollerConfig/MinimumPollers", "provisioned_poller_config/minimum_pollers",
            sources=("sqs", "kafka"),
        ),
        "provisioned_maximum": Attribute(
            "pollers", "Most pollers in provisioned mode; None: not in that mode", "computed",
            "ProvisionedPollerConfig/MaximumPollers", "provisioned_poller_config/maximum_pollers",
            sources=("sqs", "kafka"),
        ),
        "max_record_age_s": Attribute(
            "s", "Age at which a record is given up; -1: never", "whole",
            "MaximumRecordAgeInSeconds", "maximum_record_age_in_seconds", "lambda.stream.max_age_s.default", _STREAMS, (), -1,
        ),
        "max_retry_attempts": Attribute(
            "retries", "Retries of a failed batch; -1: without end", "whole",
            "MaximumRetryAttempts", "maximum_retry_attempts", "lambda.stream.retries.default", _STREAMS, (), -1,
        ),
        "parallelization_factor": Attribute(
            "batches", "Batches of one shard at once", "whole", "ParallelizationFactor", "parallelization_factor",
            "lambda.stream.parallelization.default", _SHARDS,
        ),
        "on_failure": Attribute(
            "", "ARN of where given-up records are reported; None: nowhere", "text",
            "DestinationConfig/OnFailure/Destination", "destination_config/on_failure/destination_arn",
            sources=_STREAMS,
        ),
        "bisect_on_error": Attribute(
            "", "Whether a failed batch is halved for its retry; None: not set, so it is not", "flag",
            "BisectBatchOnFunctionError", "bisect_batch_on_function_error", sources=_STREAMS,
        ),
        "response_types": Attribute(
            "", "ReportBatchItemFailures: only failed records of a batch come back", "list",
            "FunctionResponseTypes", "function_response_types", sources=("sqs", *_SHARDS),
        ),
    },
    # Named by function name; a published version or alias has its own name after a colon.
    "lambda.function": {
        "arn": Attribute("", "ARN of the function", "text", "FunctionArn", "arn"),
        "timeout_s": Attribute("s", "Longest run", "whole", "Timeout", "timeout", "lambda.function.timeout_s.default"),
        "memory_mb": Attribute("MB", "Memory", "whole", "MemorySize", "memory_size", "lambda.function.memory_mb.default"),
        "runtime": Attribute("", "Runtime, such as python3.12; None: a container image", "text", "Runtime", "runtime"),
        "reserved_concurrency": Attribute(
            "concurrent", "Concurrency kept for it and bounding it, from get-function or get-function-concurrency; "
            "None: none reserved; 0: it never runs", "computed", "", "reserved_concurrent_executions", none=(-1,),
        ),
        "provisioned_concurrency": Attribute(
            "concurrent", "Environments kept ready for this version or alias", "computed",
            "RequestedProvisionedConcurrentExecutions", "provisioned_concurrent_executions",
        ),
        "dead_letter_target": Attribute(
            "", "ARN of the queue or topic for failed asynchronous events; None: none", "text",
            "DeadLetterConfig/TargetArn", "dead_letter_config/target_arn",
        ),
        "aws_retry_mode": Attribute(
            "", "AWS_RETRY_MODE of its environment; None: not set there", "computed",
            "Environment/Variables/AWS_RETRY_MODE", "environment/variables/AWS_RETRY_MODE",
        ),
        "aws_max_attempts": Attribute(
            "attempts", "AWS_MAX_ATTEMPTS of its environment (the first attempt counts); None: not set there", "computed",
            "Environment/Variables/AWS_MAX_ATTEMPTS", "environment/variables/AWS_MAX_ATTEMPTS",
        ),
    },
    # Named as lambda.function. Whether the function is invoked asynchronously at all is not shown.
    "lambda.async": {
        "max_event_age_s": Attribute(
            "s", "Age at which an event is given up", "whole", "MaximumEventAgeInSeconds", "maximum_event_age_in_seconds",
            "lambda.async.max_age_s.default",
        ),
        "max_retry_attempts": Attribute(
            "retries", "Retries after an error of the function", "whole", "MaximumRetryAttempts", "maximum_retry_attempts",
            "lambda.async.retries.default",
        ),
        "on_failure": Attribute(
            "", "ARN of where given-up events go; None: nowhere", "text",
            "DestinationConfig/OnFailure/Destination", "destination_config/on_failure/destination",
        ),
        "on_success": Attribute(
            "", "ARN of where results go; None: nowhere", "text",
            "DestinationConfig/OnSuccess/Destination", "destination_config/on_success/destination",
        ),
    },
    # One for each account and region: named "account", since the export names neither.
    "lambda.account": {
        "concurrency": Attribute(
            "concurrent", "Concurrency of all functions together", "whole", "AccountLimit/ConcurrentExecutions"
        ),
        "unreserved_concurrency": Attribute(
            "concurrent", "What is left of it for functions without a reservation", "whole",
            "AccountLimit/UnreservedConcurrentExecutions",
        ),
    },
    # Named by queue name.
    "sqs.queue": {
        "url": Attribute("", "URL of the queue", "text", "", "url"),
        "arn": Attribute("", "ARN of the queue", "text", "QueueArn", "arn"),
        "visibility_timeout_s": Attribute(
            "s", "Time that a received message stays hidden", "whole", "VisibilityTimeout", "visibility_timeout_seconds",
            "sqs.visibility_timeout_s.default",
        ),
        "retention_s": Attribute(
            "s", "Age at which a message is deleted", "whole", "MessageRetentionPeriod", "message_retention_seconds",
            "sqs.retention_s.default",
        ),
        "delay_s": Attribute("s", "Delay of every message", "whole", "DelaySeconds", "delay_seconds", "sqs.delay_s.default"),
        "fifo": Attribute("", "Whether it is a FIFO queue, from FifoQueue or the end of its name", "computed"),
        "redrive_target": Attribute(
            "", "ARN of its dead-letter queue, from the JSON text of RedrivePolicy; None: none", "computed"
        ),
        "max_receive_count": Attribute(
            "receives", "Receives before a message goes there, from the same text; None: never", "computed"
        ),
        "approximate_messages": Attribute("messages", "Visible, about", "whole", "ApproximateNumberOfMessages"),
        "approximate_in_flight": Attribute("messages", "In flight, about", "whole", "ApproximateNumberOfMessagesNotVisible"),
        "approximate_delayed": Attribute("messages", "Delayed, about", "whole", "ApproximateNumberOfMessagesDelayed"),
    },
    # Named by group name.
    "autoscaling.group": {
        "arn": Attribute("", "ARN of the group", "text", "AutoScalingGroupARN", "arn"),
        "minimum": Attribute("capacity_unit", "Least capacity", "whole", "MinSize", "min_size"),
        "maximum": Attribute("capacity_unit", "Most capacity", "whole", "MaxSize", "max_size"),
        "desired": Attribute("capacity_unit", "Capacity asked for", "whole", "DesiredCapacity", "desired_capacity"),
        "capacity_unit": Attribute(
            "", "instances; units where instance types have weights; vcpu or memory-mib", "computed"
        ),
        "in_service": Attribute("instances", "Instances in the state InService", "computed"),
        "unhealthy": Attribute("instances", "Instances marked other than Healthy", "computed"),
        "standby": Attribute("instances", "Instances in the state Standby", "computed"),
        "protected": Attribute("instances", "Instances protected from scale-in", "computed"),
        "health_check_types": Attribute(
            "", "EC2, ELB, EBS, VPC_LATTICE: what may mark an instance unhealthy", "computed",
            "HealthCheckType", "health_check_type",
        ),
        "grace_s": Attribute(
            "s", "Time after launch in which health checks do not count", "whole",
            "HealthCheckGracePeriod", "health_check_grace_period", "autoscaling.grace_s.default",
        ),
        "default_cooldown_s": Attribute(
            "s", "Wait between two simple scaling actions", "whole", "DefaultCooldown", "default_cooldown",
            "autoscaling.cooldown_s.default",
        ),
        "instance_warmup_s": Attribute(
            "s", "Time until a new instance counts in metrics; None: not set", "whole",
            "DefaultInstanceWarmup", "default_instance_warmup", none=(-1,),
        ),
        "suspended_processes": Attribute(
            "", "Processes that are suspended, by name", "set", "", "suspended_processes"),
        "capacity_rebalance": Attribute(
            "", "Whether Spot instances at risk are replaced before they are taken; None: not set, so they are not", "flag",
            "CapacityRebalance", "capacity_rebalance",
        ),
        "max_instance_lifetime_s": Attribute(
            "s", "Age at which an instance is replaced; None: never", "whole",
            "MaxInstanceLifetime", "max_instance_lifetime", none=(0,),
        ),
        "scale_in_protection": Attribute(
            "", "Whether new instances are protected from scale-in; None: not set, so they are not", "flag",
            "NewInstancesProtectedFromScaleIn", "protect_from_scale_in",
        ),
        "minimum_healthy_percentage": Attribute(
            "%", "Share that stays in service during replacement; None: terminates first", "whole",
            "InstanceMaintenancePolicy/MinHealthyPercentage", "instance_maintenance_policy/min_healthy_percentage",
            none=(-1,),
        ),
        "maximum_healthy_percentage": Attribute(
            "%", "Share that may run during replacement; None: not set", "whole",
            "InstanceMaintenancePolicy/MaxHealthyPercentage", "instance_maintenance_policy/max_healthy_percentage",
            none=(-1,),
        ),
        "impaired_zone": Attribute(
            "", "ReplaceUnhealthy or IgnoreUnhealthy in an impaired zone; None: not set", "text",
            "AvailabilityZoneImpairmentPolicy/ImpairedZoneHealthCheckBehavior",
        ),
        "termination_policies": Attribute("", "Which instance goes first", "list", "TerminationPolicies", "termination_policies"),
        "target_groups": Attribute("", "ARNs of its target groups", "list", "TargetGroupARNs", "target_group_arns"),
    },
    # Named by target group name. The four health thresholds come from describe-target-group-attributes.
    "elb.target_group": {
        "arn": Attribute("", "ARN of the target group", "text", "TargetGroupArn", "arn"),
        "target_type": Attribute("", "instance, ip, lambda or alb", "text", "TargetType", "target_type"),
        "protocol": Attribute("", "Protocol; None: a Lambda target", "text", "Protocol", "protocol"),
        "health_check_enabled": Attribute(
            "", "Whether targets are checked", "flag", "HealthCheckEnabled", "health_check/enabled"
        ),
        "health_check_interval_s": Attribute(
            "s", "Time between two checks of a target", "whole", "HealthCheckIntervalSeconds", "health_check/interval"
        ),
        "health_check_timeout_s": Attribute(
            "s", "Wait for an answer", "whole", "HealthCheckTimeoutSeconds", "health_check/timeout"
        ),
        "healthy_threshold": Attribute(
            "checks", "Successes in a row that make it healthy", "whole",
            "HealthyThresholdCount", "health_check/healthy_threshold",
        ),
        "unhealthy_threshold": Attribute(
            "checks", "Failures in a row that make it unhealthy", "whole",
            "UnhealthyThresholdCount", "health_check/unhealthy_threshold",
        ),
        "dns_minimum_count": Attribute(
            "targets", "Healthy targets below which the zone leaves DNS; None: off", "computed",
            f"{_TARGETS}dns_failover.{_HEALTH}.count", f"target_group_health/dns_failover/{_HEALTH}_count",
            "elb.target_group.minimum_count.default",
        ),
        "dns_minimum_percentage": Attribute(
            "%", "Share of healthy targets below which the zone leaves DNS; None: off", "computed",
            f"{_TARGETS}dns_failover.{_HEALTH}.percentage", f"target_group_health/dns_failover/{_HEALTH}_percentage",
        ),
        "routing_minimum_count": Attribute(
            "targets", "Healthy targets below which all targets get traffic; None: off", "computed",
            f"{_TARGETS}unhealthy_state_routing.{_HEALTH}.count",
            f"target_group_health/unhealthy_state_routing/{_HEALTH}_count",
            "elb.target_group.minimum_count.default",
        ),
        "routing_minimum_percentage": Attribute(
            "%", "Share of healthy targets below which all targets get traffic; None: off", "computed",
            f"{_TARGETS}unhealthy_state_routing.{_HEALTH}.percentage",
            f"target_group_health/unhealthy_state_routing/{_HEALTH}_percentage",
        ),
        "deregistration_delay_s": Attribute(
            "s", "Wait before a leaving target is let go", "computed",
            "deregistration_delay.timeout_seconds", "deregistration_delay",
        ),
        "slow_start_s": Attribute(
            "s", "Time in which a new target gets a rising share; 0: none", "computed",
            "slow_start.duration_seconds", "slow_start",
        ),
    },
    # One for each entry of a Retry list: MACHINE/STATE[i], states of branches and maps by their own names.
    "states.retry": {
        "errors": Attribute("", "Error names that it retries", "list", "ErrorEquals"),
        "interval_s": Attribute(
            "s", "Wait before the first retry", "whole", "IntervalSeconds", "", "states.retry.interval_s.default"
        ),
        "max_attempts": Attribute(
            "retries", "Retries; 0: none", "whole", "MaxAttempts", "", "states.retry.max_attempts.default"
        ),
        "backoff": Attribute("", "Factor from one wait to the next", "number", "BackoffRate", "", "states.retry.backoff.default"),
        "max_delay_s": Attribute("s", "Longest wait; None: no cap", "whole", "MaxDelaySeconds"),
        "jitter": Attribute("", "FULL or NONE; None: not set, so none", "text", "JitterStrategy"),
    },
}  # fmt: skip

# Resource types of the Terraform AWS provider that are read, and what each shows.
TERRAFORM_TYPES: dict[str, str] = {
    "aws_lambda_event_source_mapping": "lambda.mapping",
    "aws_lambda_function": "lambda.function",
    "aws_lambda_function_event_invoke_config": "lambda.async",
    "aws_lambda_provisioned_concurrency_config": "lambda.function",
    "aws_sqs_queue": "sqs.queue",
    "aws_sqs_queue_redrive_policy": "sqs.queue",
    "aws_autoscaling_group": "autoscaling.group",
    "aws_lb_target_group": "elb.target_group",
    "aws_alb_target_group": "elb.target_group",
    "aws_sfn_state_machine": "states.retry",
}

# Words in capitals stand for what the person fills in.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "lambda.mapping": ("aws lambda list-event-source-mappings --output json",),
    "lambda.function": (
        "aws lambda list-functions --output json",
        "aws lambda get-function-concurrency --function-name FUNCTION --output json",
    ),
    "lambda.async": ("aws lambda list-function-event-invoke-configs --function-name FUNCTION --output json",),
    "lambda.account": ("aws lambda get-account-settings --output json",),
    "sqs.queue": (
        "aws sqs list-queues --output json",
        "aws sqs get-queue-attributes --queue-url QUEUE_URL --attribute-names All --output json",
    ),
    "autoscaling.group": ("aws autoscaling describe-auto-scaling-groups --output json",),
    "elb.target_group": (
        "aws elbv2 describe-target-groups --output json",
        "aws elbv2 describe-target-group-attributes --target-group-arn TARGET_GROUP_ARN --output json",
    ),
    "states.retry": ("aws stepfunctions describe-state-machine --state-machine-arn STATE_MACHINE_ARN --output json",),
}


def commands_for(kind: str) -> tuple[str, ...]:
    """The AWS CLI commands that export all attributes of a kind of resource; words in capitals are to be filled in.

    Terraform instead: ``terraform show -json`` exports every kind but ``lambda.account``.
    """
    return _COMMANDS[kind]
