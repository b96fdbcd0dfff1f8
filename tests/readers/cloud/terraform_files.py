"""Plans and states as ``terraform show -json`` prints them, written by hand, and the documented format as a JSON schema.

The schema follows Terraform's documentation of its JSON output format (values, change, configuration and expression
representations). It was also held against the output of Terraform 1.11 for resources of its builtin provider.
"""

from __future__ import annotations

import re
from typing import Any

from tests.readers.cloud.exports import LAMBDA, SECRET, SQS, URL

ANY: dict[str, Any] = {}
TEXT = {"type": "string"}
INDEX = {"type": ["integer", "string"]}


def an_object(required: str, optional: str = "", **members: Any) -> dict[str, Any]:
    names = {*required.split(), *optional.split(), *members}
    return {
        "type": "object",
        "required": required.split(),
        "additionalProperties": False,
        "properties": {name: members.get(name, ANY) for name in names},
    }


RESOURCE = an_object(
    "address mode type name provider_name schema_version values sensitive_values", "index depends_on tainted deposed_key",
    address=TEXT, mode={"enum": ["managed", "data"]}, type=TEXT, name=TEXT, provider_name=TEXT, index=INDEX,
    schema_version={"type": "integer"}, values={"type": "object"}, sensitive_values={"type": ["object", "boolean"]},
)  # fmt: skip
MODULE = an_object(
    "", resources={"type": "array", "items": RESOURCE}, address=TEXT,
    child_modules={"type": "array", "items": {"$ref": "#/$defs/module"}},
)  # fmt: skip
VALUES = an_object("root_module", "outputs", root_module={"$ref": "#/$defs/module"})
CHANGE = an_object(
    "actions before after after_unknown", "before_sensitive after_sensitive replace_paths importing generated_config",
    actions={"enum": [["no-op"], ["create"], ["read"], ["update"], ["delete", "create"], ["create", "delete"], ["delete"]]},
    after_unknown={"type": ["object", "boolean"]},
)  # fmt: skip
RESOURCE_CHANGE = an_object(
    "address mode type name provider_name change", "index module_address previous_address deposed action_reason",
    address=TEXT, change=CHANGE, index=INDEX,
)  # fmt: skip
BLOCK = an_object(
    "address mode type name provider_config_key schema_version",
    "expressions provisioners count_expression for_each_expression depends_on", expressions={"type": "object"},
)  # fmt: skip
CALL = an_object(
    "source module", "expressions count_expression for_each_expression version_constraint depends_on",
    module={"$ref": "#/$defs/config"}, expressions={"type": "object"},
)  # fmt: skip
CONFIG = an_object(
    "", "outputs variables", resources={"type": "array", "items": BLOCK},
    module_calls={"type": "object", "additionalProperties": CALL},
)  # fmt: skip
DEFS = {"$defs": {"module": MODULE, "config": CONFIG}}
VERSION = {"type": "string", "pattern": r"^(0\.[12]|1\.\d+)$"}
PLAN_SCHEMA = {
    **an_object(
        "format_version terraform_version planned_values resource_changes configuration",
        "variables output_changes prior_state resource_drift relevant_attributes checks timestamp applyable complete errored",
        format_version=VERSION, planned_values=VALUES, resource_changes={"type": "array", "items": RESOURCE_CHANGE},
        configuration=an_object("root_module", "provider_config", root_module={"$ref": "#/$defs/config"}),
    ),
    **DEFS,
}  # fmt: skip
STATE_SCHEMA = {
    **an_object("format_version terraform_version values", "checks", format_version=VERSION, values=VALUES),
    **DEFS,
}

PROVIDER = "registry.terraform.io/hashicorp/aws"


def resource(address: str, values: dict[str, Any], secret: Any = None) -> dict[str, Any]:
    """One resource instance of a values representation; type, name and index are taken from its address."""
    match = re.search(r"(\w+)\.([\w-]+)(\[(?:(\d+)|\"(.*)\")\])?$", address)
    assert match
    index = {"index": int(match[4]) if match[4] else match[5]} if match[3] else {}
    return {
        "address": address, "mode": "managed", "type": match[1], "name": match[2], **index, "provider_name": PROVIDER,
        "schema_version": 0, "values": values, "sensitive_values": secret or {},
    }  # fmt: skip


def change(item: dict[str, Any], unknown: Any = None, actions: tuple[str, ...] = ("create",)) -> dict[str, Any]:
    """The change of an instance."""
    head = {key: item[key] for key in ("address", "mode", "type", "name", "index", "provider_name") if key in item}
    body = {
        "actions": list(actions), "before": None, "after": item["values"], "after_unknown": unknown or {},
        "before_sensitive": False, "after_sensitive": item["sensitive_values"],
    }  # fmt: skip
    return {**head, "change": body}


def block(address: str, **expressions: Any) -> dict[str, Any]:
    """A resource block of a configuration; an expression may be given as its list of references."""
    kind, name = address.split(".")
    shown = {key: {"references": value} if isinstance(value, tuple) else value for key, value in expressions.items()}
    return {
        "address": address, "mode": "managed", "type": kind, "name": name, "provider_config_key": "aws",
        "expressions": shown, "schema_version": 0,
    }  # fmt: skip


def plan(
    resources: list[tuple[dict[str, Any], Any]],
    modules: dict[str, list[tuple[dict[str, Any], Any]]] | None = None,
    config: dict[str, Any] | None = None,
    actions: tuple[str, ...] = ("create",),
    **top: Any,
) -> dict[str, Any]:
    """A plan: instances with what of them is unknown, in the root and in modules by address (nested by their own)."""
    root: dict[str, Any] = {"resources": [item for item, _ in resources]}
    changes = [change(item, unknown, actions) for item, unknown in resources]
    made: dict[str, dict[str, Any]] = {"": root}
    for address, items in (modules or {}).items():
        made[address] = {"resources": [item for item, _ in items], "address": address}
        parent = max((other for other in made if other != address and address.startswith(other)), key=len)
        made[parent].setdefault("child_modules", []).append(made[address])
        changes += [{**change(item, unknown, actions), "module_address": address} for item, unknown in items]
    return {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "variables": {"password": {"value": SECRET}},
        "planned_values": {"root_module": root},
        "resource_changes": changes,
        "configuration": {"provider_config": {"aws": {"name": "aws"}}, "root_module": config or {}},
        "timestamp": "2025-10-21T08:00:00Z",
        "applyable": True,
        "complete": True,
        "errored": False,
        **top,
    }


def state(resources: list[dict[str, Any]], modules: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A state."""
    root: dict[str, Any] = {"resources": resources, **({"child_modules": modules} if modules else {})}
    return {"format_version": "1.0", "terraform_version": "1.11.4", "values": {"root_module": root}}


# A new service: no ARN is known, and everything is found through references.
NEW = plan(
    [
        (
            resource(
                "aws_lambda_function.worker",
                {
                    "function_name": "worker", "timeout": 30, "memory_size": 256, "runtime": "python3.12",
                    "reserved_concurrent_executions": 50, "dead_letter_config": [],
                    "environment": [{"variables": {"AWS_RETRY_MODE": "standard", "DB_PASSWORD": SECRET}}],
                },
                {"environment": [{"variables": {"DB_PASSWORD": True}}]},
            ),
            {"arn": True, "id": True, "environment": [{"variables": {}}]},
        ),
        (
            resource("aws_lambda_alias.live", {"name": "live", "function_version": "1"}),
            {"arn": True, "function_name": True},
        ),
        (
            resource("aws_sqs_queue.orders", {
                "name": "orders", "visibility_timeout_seconds": 180, "message_retention_seconds": 345600,
                "delay_seconds": 0, "fifo_queue": False,
            }),
            {"arn": True, "url": True, "redrive_policy": True},
        ),
        (
            resource("aws_sqs_queue.dead", {
                "name_prefix": "dead-", "visibility_timeout_seconds": "30", "message_retention_seconds": "1209600",
                "fifo_queue": "false", "delay_seconds": None, "redrive_policy": None,
            }),
            {"arn": True, "url": True, "name": True},
        ),
        (
            resource("aws_lambda_event_source_mapping.orders", {
                "batch_size": 10, "enabled": True, "scaling_config": [{"maximum_concurrency": 20}],
                "provisioned_poller_config": [], "destination_config": [], "function_response_types": None,
                "maximum_batching_window_in_seconds": None,
            }),
            {"uuid": True, "function_arn": True, "function_name": True, "event_source_arn": True, "state": True},
        ),
        (
            resource("aws_lambda_event_source_mapping.shards[0]", {
                "batch_size": None, "enabled": False, "function_name": f"{LAMBDA}:clicks:prod",
                "bisect_batch_on_function_error": None, "destination_config": [{"on_failure": [{}]}],
            }),
            {
                "uuid": True, "event_source_arn": True, "maximum_record_age_in_seconds": True,
                "maximum_retry_attempts": True, "parallelization_factor": True,
                "destination_config": [{"on_failure": [{"destination_arn": True}]}],
            },
        ),
        (resource("aws_kinesis_stream.clicks[0]", {"name": "clicks"}), {"arn": True}),
        (resource("aws_kinesis_stream.clicks[1]", {"name": "clicks-1"}), {"arn": True}),
        (
            resource("aws_lambda_function_event_invoke_config.worker", {
                "maximum_event_age_in_seconds": None, "maximum_retry_attempts": 1, "qualifier": None,
                "destination_config": [{"on_failure": [{}], "on_success": []}],
            }),
            {"function_name": True, "destination_config": [{"on_failure": [{"destination": True}], "on_success": []}]},
        ),
    ],
    config={
        "resources": [
            block(
                "aws_lambda_event_source_mapping.orders",
                function_name=("aws_lambda_alias.live.arn", "aws_lambda_alias.live"),
                event_source_arn=("aws_sqs_queue.orders.arn", "aws_sqs_queue.orders"),
            ),
            block(
                "aws_lambda_event_source_mapping.shards",
                event_source_arn=("aws_kinesis_stream.clicks", "count.index"),
                destination_config=[{"on_failure": [{"destination_arn": {"references": [
                    "aws_sqs_queue.dead.arn", "aws_sqs_queue.dead"]}}]}],
            ),
            block("aws_lambda_alias.live", function_name=("aws_lambda_function.worker.function_name",
                                                         "aws_lambda_function.worker")),
            block("aws_sqs_queue.orders", redrive_policy=("aws_sqs_queue.dead.arn", "aws_sqs_queue.dead")),
            block(
                "aws_lambda_function_event_invoke_config.worker",
                function_name=("aws_lambda_function.worker.arn", "aws_lambda_function.worker"),
                destination_config=[{"on_failure": [{"destination": {"references": [
                    "aws_sqs_queue.dead.arn", "aws_sqs_queue.dead"]}}]}],
            ),
        ]
    },
)  # fmt: skip

# The same function and queue made by modules, one level and two levels down.
DEEP = plan(
    [
        (
            resource('aws_lambda_event_source_mapping.each["a.b"]', {"enabled": True, "batch_size": 10}),
            {"function_name": True, "event_source_arn": True, "uuid": True},
        ),
        (
            resource("aws_lambda_event_source_mapping.local", {"enabled": True, "batch_size": 10}),
            {"function_name": True, "event_source_arn": True, "uuid": True},
        ),
    ],
    modules={
        'module.queue["a.b"]': [(resource('module.queue["a.b"].aws_sqs_queue.this', {"name": "ab"}), {"arn": True})],
        'module.queue["c"]': [(resource('module.queue["c"].aws_sqs_queue.this', {"name": "c"}), {"arn": True})],
        "module.app": [(resource("module.app.aws_lambda_function.fn", {"function_name": "deep"}), {"arn": True})],
        "module.app.module.consumer[0]": [
            (
                resource("module.app.module.consumer[0].aws_lambda_event_source_mapping.in", {"enabled": True}),
                {"function_name": True, "event_source_arn": True, "uuid": True},
            )
        ],
    },
    config={
        "resources": [
            block(
                "aws_lambda_event_source_mapping.each",
                function_name=("module.app.function_arn", "module.app"),
                # What Terraform gives for module.queue[each.key].arn.
                event_source_arn=("module.queue", "each.key"),
            ),
            block("aws_lambda_event_source_mapping.local", function_name=("local.fn",),
                  event_source_arn=('module.queue["c"].arn', 'module.queue["c"]', "module.queue")),
        ],
        "module_calls": {
            "queue": {
                "source": "./queue",
                "module": {
                    "outputs": {"arn": {"expression": {"references": ["aws_sqs_queue.this.arn", "aws_sqs_queue.this"]}}},
                    "resources": [block("aws_sqs_queue.this")],
                },
            },
            "app": {
                "source": "./app",
                "expressions": {"queue_arn": {"references": ['module.queue["c"].arn', 'module.queue["c"]']}},
                "module": {
                    "outputs": {"function_arn": {"expression": {"references": [
                        "aws_lambda_function.fn.arn", "aws_lambda_function.fn"]}}},
                    "resources": [block("aws_lambda_function.fn")],
                    "variables": {"queue_arn": {}},
                    "module_calls": {
                        "consumer": {
                            "source": "./consumer",
                            "count_expression": {"constant_value": 1},
                            "expressions": {
                                "source": {"references": ["var.queue_arn"]},
                                "fn": {"references": ["aws_lambda_function.fn.arn", "aws_lambda_function.fn"]},
                            },
                            "module": {
                                "resources": [block("aws_lambda_event_source_mapping.in", function_name=("var.fn",),
                                                    event_source_arn=("var.source",))],
                                "variables": {"source": {}, "fn": {}},
                            },
                        }
                    },
                },
            },
        },
    },
)  # fmt: skip

MAPPING_UUID = "94e0db71-5d35-4eb5-b481-8945cf9d10c2"
# What exists: everything is known, and the provider fills zeros where a service has no such setting.
STATE = state(
    [
        resource("aws_lambda_event_source_mapping.orders", {
            "uuid": MAPPING_UUID, "batch_size": 10, "enabled": True, "event_source_arn": f"{SQS}:orders",
            "function_name": f"{LAMBDA}:worker", "function_arn": f"{LAMBDA}:worker", "state": "Enabled",
            "maximum_batching_window_in_seconds": 0, "maximum_record_age_in_seconds": 0, "maximum_retry_attempts": 0,
            "parallelization_factor": 0, "bisect_batch_on_function_error": False, "scaling_config": [],
            "destination_config": [], "provisioned_poller_config": [{"minimum_pollers": 3, "maximum_pollers": 40}],
            "self_managed_event_source": [], "function_response_types": ["ReportBatchItemFailures"],
        }),
        resource("aws_lambda_function.worker", {
            "function_name": "worker", "arn": f"{LAMBDA}:worker", "timeout": 3, "memory_size": 128, "runtime": "",
            "reserved_concurrent_executions": -1, "dead_letter_config": [{"target_arn": f"{SQS}:dead"}],
            "environment": [{"variables": {"AWS_MAX_ATTEMPTS": "5", "TOKEN": SECRET}}],
        }, {"environment": [{"variables": {"TOKEN": True}}]}),
        resource("aws_lambda_function_event_invoke_config.worker", {
            "function_name": f"{LAMBDA}:worker", "qualifier": "", "maximum_event_age_in_seconds": 0,
            "maximum_retry_attempts": 2, "destination_config": [],
        }),
        resource("aws_lambda_provisioned_concurrency_config.live", {
            "function_name": "worker", "qualifier": "live", "provisioned_concurrent_executions": 12,
        }),
        resource("aws_sqs_queue.orders", {
            "name": "orders", "id": f"{URL}/orders", "url": f"{URL}/orders", "arn": f"{SQS}:orders", "fifo_queue": False,
            "visibility_timeout_seconds": 30, "message_retention_seconds": 345600, "delay_seconds": 0, "redrive_policy": "",
        }),
        resource("aws_sqs_queue_redrive_policy.orders", {
            "queue_url": f"{URL}/orders",
            "redrive_policy": f'{{"deadLetterTargetArn":"{SQS}:dead","maxReceiveCount":4}}',
        }),
        resource("aws_sqs_queue.dead", {
            "name": "dead.fifo", "id": f"{URL}/dead.fifo", "arn": f"{SQS}:dead.fifo", "fifo_queue": True,
            "visibility_timeout_seconds": 30, "message_retention_seconds": 1209600, "delay_seconds": 0, "redrive_policy": "",
        }),
    ],
    [
        {
            "address": "module.web",
            "resources": [
                resource("module.web.aws_autoscaling_group.web[0]", {
                    "name": "web", "min_size": 2, "max_size": 12, "desired_capacity": 4, "health_check_type": "ELB",
                    "health_check_grace_period": 300, "default_cooldown": 300, "default_instance_warmup": 60,
                    "suspended_processes": ["ReplaceUnhealthy", "AZRebalance"], "capacity_rebalance": False,
                    "max_instance_lifetime": 0, "protect_from_scale_in": False, "termination_policies": [],
                    "target_group_arns": ["arn:x"], "instance_maintenance_policy": [], "mixed_instances_policy": [],
                    "tag": [{"key": "k", "value": SECRET, "propagate_at_launch": True}],
                }),
                resource("module.web.aws_autoscaling_group.web[1]", {
                    "name": "spot", "min_size": "0", "max_size": "10", "desired_capacity": "5", "health_check_type": "EC2",
                    "health_check_grace_period": "0", "suspended_processes": None, "capacity_rebalance": "true",
                    "instance_maintenance_policy": [{"min_healthy_percentage": 90, "max_healthy_percentage": -1}],
                    "mixed_instances_policy": [{"launch_template": [{"override": [{"weighted_capacity": "2"}]}]}],
                }),
            ],
            "child_modules": [
                {
                    "address": 'module.web.module.lb["eu"]',
                    "resources": [
                        resource('module.web.module.lb["eu"].aws_lb_target_group.tg', {
                            "name": "web", "arn": "arn:y", "target_type": "instance", "protocol": "HTTP",
                            "deregistration_delay": "300", "slow_start": 0,
                            "health_check": [{"enabled": True, "interval": 30, "timeout": 5, "healthy_threshold": 3,
                                              "unhealthy_threshold": 2}],
                            "target_group_health": [{
                                "dns_failover": [{"minimum_healthy_targets_count": "off",
                                                  "minimum_healthy_targets_percentage": "50"}],
                                "unhealthy_state_routing": [{"minimum_healthy_targets_count": 1,
                                                             "minimum_healthy_targets_percentage": "off"}],
                            }],
                        }),
                        resource('module.web.module.lb["eu"].aws_alb_target_group.fn', {
                            "name": "fn", "target_type": "lambda", "protocol": None, "health_check": [],
                            "target_group_health": [],
                        }),
                        resource('module.web.module.lb["eu"].aws_lb_target_group.plain', {
                            "name": "plain", "target_type": "ip", "protocol": "TCP", "health_check": [],
                            "target_group_health": [], "deregistration_delay": "300",
                        }),
                    ],
                }
            ],
        }
    ],
)  # fmt: skip
