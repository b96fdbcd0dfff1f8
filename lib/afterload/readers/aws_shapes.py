"""Which operation of the AWS CLI a JSON value is the output of, told by its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["shape_of"]


def _is(*members: str, without: tuple[str, ...] = ()) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(key in value for key in members)
            and not any(key in value for key in without)
        )

    return test


def _lists(member: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and isinstance(value.get(member), list)


def _pairs(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("Key"), str) and "Value" in item for item in value)
        and any(item["Key"].startswith(("target_group_health.", "deregistration_delay.")) for item in value)
    )


def _is_function(value: Any) -> bool:
    hints = ("Runtime", "Handler", "CodeSize", "Timeout", "MemorySize")
    return isinstance(value, dict) and "FunctionName" in value and any(hint in value for hint in hints)


def _is_invoke_config(value: Any) -> bool:
    hints = ("MaximumEventAgeInSeconds", "MaximumRetryAttempts", "DestinationConfig")
    return _is("FunctionArn", without=("UUID", "FunctionName"))(value) and any(hint in value for hint in hints)


def _is_queue(value: Any) -> bool:
    attributes = value.get("Attributes") if isinstance(value, dict) else None
    hints = ("QueueArn", "VisibilityTimeout", "MessageRetentionPeriod", "ApproximateNumberOfMessages", "RedrivePolicy")
    return (
        isinstance(attributes, dict)
        and "SubscriptionArn" not in attributes
        and any(hint in attributes for hint in hints)
    )


def _are_urls(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) and "://" in item for item in value)


_SHAPES: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("mappings", _lists("EventSourceMappings")),
    ("invoke configs", _lists("FunctionEventInvokeConfigs")),
    ("functions", _lists("Functions")),
    ("provisioned", _lists("ProvisionedConcurrencyConfigs")),
    ("groups", _lists("AutoScalingGroups")),
    ("target groups", _lists("TargetGroups")),
    ("queues", _lists("QueueUrls")),
    ("queue", _is_queue),
    ("target group attributes", lambda value: isinstance(value, dict) and _pairs(value.get("Attributes"))),
    ("target group attributes", _pairs),
    ("other attributes", _is("Attributes")),
    ("get function", lambda value: isinstance(value, dict) and _is_function(value.get("Configuration"))),
    ("function", _is_function),
    ("mapping", _is("UUID", "FunctionArn")),
    ("invoke config", _is_invoke_config),
    ("group", _is("AutoScalingGroupName", "MinSize")),
    ("target group", _is("TargetGroupArn", "TargetGroupName")),
    ("concurrency", _is("ReservedConcurrentExecutions")),
    ("account", _is("AccountLimit")),
    ("machine", _is("stateMachineArn", "definition")),
    ("definition", _is("StartAt", "States")),
    ("urls", _are_urls),
)


def shape_of(value: Any) -> str:
    """Name of the shape of a value; empty if it is none that is read.

    An object of one resource is known also where ``--query`` has taken it out of its list.
    """
    return next((name for name, recognises in _SHAPES if recognises(value)), "")
