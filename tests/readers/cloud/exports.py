"""Exports of the AWS CLI written by hand, one for each operation, with what each should be read as.

Their members are checked against the output shapes of botocore in test_shapes.py. SECRET stands in every place whose
content must never be repeated.
"""

from __future__ import annotations

import json
from typing import Any

SECRET = "hunter2-do-not-show"
ACCOUNT = "123456789012"
LAMBDA = f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function"
SQS = f"arn:aws:sqs:eu-west-1:{ACCOUNT}"
URL = f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}"
GROUP = f"arn:aws:elasticloadbalancing:eu-west-1:{ACCOUNT}:targetgroup/web/73e2d6bc24d8a067"
CAPPED = "14e0db71-5d35-4eb5-b481-8945cf9d10c2"
UNCAPPED = "24e0db71-5d35-4eb5-b481-8945cf9d10c2"
STREAM = "34e0db71-5d35-4eb5-b481-8945cf9d10c2"
KAFKA = "44e0db71-5d35-4eb5-b481-8945cf9d10c2"
MODIFIED = "2025-10-01T09:00:00.123000+00:00"

MAPPINGS: dict[str, Any] = {
    "EventSourceMappings": [
        {
            "UUID": CAPPED,
            "BatchSize": 10,
            "MaximumBatchingWindowInSeconds": 0,
            "EventSourceArn": f"{SQS}:orders",
            "FunctionArn": f"{LAMBDA}:worker:live",
            "LastModified": MODIFIED,
            "State": "Enabled",
            "StateTransitionReason": "USER_INITIATED",
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "ScalingConfig": {"MaximumConcurrency": 20},
            "FilterCriteria": {"Filters": [{"Pattern": SECRET}]},
        },
        {
            "UUID": UNCAPPED,
            "BatchSize": 5,
            "EventSourceArn": f"{SQS}:emails.fifo",
            "FunctionArn": f"{LAMBDA}:mailer",
            "LastModified": MODIFIED,
            "State": "Disabled",
            "StateTransitionReason": "USER_INITIATED",
        },
        {
            "UUID": STREAM,
            "StartingPosition": "LATEST",
            "BatchSize": 100,
            "MaximumBatchingWindowInSeconds": 5,
            "ParallelizationFactor": 2,
            "EventSourceArn": f"arn:aws:kinesis:eu-west-1:{ACCOUNT}:stream/clicks",
            "FunctionArn": f"{LAMBDA}:clicks",
            "LastModified": MODIFIED,
            "LastProcessingResult": "OK",
            "State": "Enabled",
            "StateTransitionReason": "User action",
            "DestinationConfig": {"OnFailure": {"Destination": f"{SQS}:lost-clicks"}},
            "MaximumRecordAgeInSeconds": -1,
            "BisectBatchOnFunctionError": True,
            "MaximumRetryAttempts": 3,
            "TumblingWindowInSeconds": 0,
            "FunctionResponseTypes": [],
        },
        {
            "UUID": KAFKA,
            "StartingPosition": "TRIM_HORIZON",
            "BatchSize": 100,
            "FunctionArn": f"{LAMBDA}:ledger:$LATEST",
            "LastModified": MODIFIED,
            "State": "Enabled",
            "Topics": ["ledger"],
            "SelfManagedEventSource": {"Endpoints": {"KAFKA_BOOTSTRAP_SERVERS": ["kafka:9092"]}},
            "SourceAccessConfigurations": [{"Type": "SASL_SCRAM_512_AUTH", "URI": SECRET}],
            "ProvisionedPollerConfig": {"MinimumPollers": 4},
        },
    ]
}
MAPPING: dict[str, Any] = MAPPINGS["EventSourceMappings"][0]
INVOKE_CONFIG: dict[str, Any] = {
    "LastModified": MODIFIED,
    "FunctionArn": f"{LAMBDA}:notify:$LATEST",
    "MaximumRetryAttempts": 0,
    "MaximumEventAgeInSeconds": 900,
    "DestinationConfig": {"OnSuccess": {}, "OnFailure": {"Destination": f"{SQS}:lost"}},
}
INVOKE_CONFIGS: dict[str, Any] = {
    "FunctionEventInvokeConfigs": [
        INVOKE_CONFIG,
        {"LastModified": MODIFIED, "FunctionArn": f"{LAMBDA}:notify:live", "MaximumRetryAttempts": 1},
    ]
}
FUNCTION: dict[str, Any] = {
    "FunctionName": "worker",
    "FunctionArn": f"{LAMBDA}:worker",
    "Runtime": "python3.12",
    "Role": f"arn:aws:iam::{ACCOUNT}:role/worker",
    "Handler": "app.handler",
    "CodeSize": 1234,
    "Description": SECRET,
    "Timeout": 30,
    "MemorySize": 256,
    "LastModified": "2025-10-01T09:00:00.000+0000",
    "CodeSha256": "x",
    "Version": "$LATEST",
    "DeadLetterConfig": {"TargetArn": f"{SQS}:dead"},
    "Environment": {"Variables": {"AWS_RETRY_MODE": "standard", "AWS_MAX_ATTEMPTS": "4", "DB_PASSWORD": SECRET}},
    "TracingConfig": {"Mode": "PassThrough"},
    "RevisionId": "r",
    "PackageType": "Zip",
}
PLAIN_FUNCTION: dict[str, Any] = {
    "FunctionName": "mailer",
    "FunctionArn": f"{LAMBDA}:mailer",
    "Role": f"arn:aws:iam::{ACCOUNT}:role/mailer",
    "CodeSize": 1234,
    "Timeout": 3,
    "MemorySize": 128,
    "LastModified": "2025-10-01T09:00:00.000+0000",
    "Version": "$LATEST",
    "PackageType": "Image",
}
GET_FUNCTION: dict[str, Any] = {
    "Configuration": FUNCTION,
    "Code": {"RepositoryType": "S3", "Location": f"https://awslambda.example/{SECRET}"},
    "Tags": {"team": SECRET},
    "Concurrency": {"ReservedConcurrentExecutions": 50},
}
FUNCTIONS: dict[str, Any] = {"Functions": [FUNCTION, PLAIN_FUNCTION]}
CONCURRENCY: dict[str, Any] = {"ReservedConcurrentExecutions": 7}
PROVISIONED: dict[str, Any] = {
    "ProvisionedConcurrencyConfigs": [
        {
            "FunctionArn": f"{LAMBDA}:worker:live",
            "RequestedProvisionedConcurrentExecutions": 12,
            "AvailableProvisionedConcurrentExecutions": 12,
            "AllocatedProvisionedConcurrentExecutions": 12,
            "Status": "READY",
            "LastModified": MODIFIED,
        }
    ]
}
ACCOUNT_SETTINGS: dict[str, Any] = {
    "AccountLimit": {
        "TotalCodeSize": 80530636800,
        "CodeSizeUnzipped": 262144000,
        "CodeSizeZipped": 52428800,
        "ConcurrentExecutions": 1000,
        "UnreservedConcurrentExecutions": 950,
    },
    "AccountUsage": {"TotalCodeSize": 9426, "FunctionCount": 8},
}
QUEUE: dict[str, Any] = {
    "Attributes": {
        "QueueArn": f"{SQS}:orders",
        "ApproximateNumberOfMessages": "206400",
        "ApproximateNumberOfMessagesNotVisible": "12",
        "ApproximateNumberOfMessagesDelayed": "0",
        "CreatedTimestamp": "1442426968",
        "LastModifiedTimestamp": "1442426968",
        "VisibilityTimeout": "180",
        "MaximumMessageSize": "262144",
        "MessageRetentionPeriod": "345600",
        "DelaySeconds": "0",
        "ReceiveMessageWaitTimeSeconds": "20",
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{SQS}:orders-dead", "maxReceiveCount": 5}),
        "Policy": json.dumps({"Statement": SECRET}),
        "SqsManagedSseEnabled": "true",
    }
}
QUEUES: dict[str, Any] = {"QueueUrls": [f"{URL}/orders", f"{URL}/emails.fifo"]}
SCALING_GROUPS: dict[str, Any] = {
    "AutoScalingGroups": [
        {
            "AutoScalingGroupName": "web",
            "AutoScalingGroupARN": f"arn:aws:autoscaling:eu-west-1:{ACCOUNT}:autoScalingGroup:930d940e:autoScalingGroupName/web",
            "MinSize": 2,
            "MaxSize": 12,
            "DesiredCapacity": 4,
            "DefaultCooldown": 300,
            "AvailabilityZones": ["eu-west-1a", "eu-west-1b"],
            "LoadBalancerNames": [],
            "TargetGroupARNs": [GROUP],
            "HealthCheckType": "EC2,ELB",
            "HealthCheckGracePeriod": 120,
            "Instances": [
                {
                    "InstanceId": f"i-{number:017x}",
                    "InstanceType": "t3.large",
                    "AvailabilityZone": "eu-west-1a",
                    "LifecycleState": state,
                    "HealthStatus": health,
                    "ProtectedFromScaleIn": protected,
                }
                for number, (state, health, protected) in enumerate(
                    [
                        ("InService", "Healthy", True),
                        ("InService", "Unhealthy", False),
                        ("Standby", "Healthy", False),
                        ("Pending:Wait", "Healthy", False),
                    ]
                )
            ],
            "CreatedTime": MODIFIED,
            "SuspendedProcesses": [
                {"ProcessName": "ReplaceUnhealthy", "SuspensionReason": SECRET},
                {"ProcessName": "AZRebalance", "SuspensionReason": "User suspended"},
            ],
            "VPCZoneIdentifier": "subnet-1,subnet-2",
            "EnabledMetrics": [],
            "Tags": [
                {"ResourceId": "web", "ResourceType": "auto-scaling-group", "Key": "k", "Value": SECRET,
                 "PropagateAtLaunch": True},
            ],
            "TerminationPolicies": ["OldestInstance", "Default"],
            "NewInstancesProtectedFromScaleIn": False,
            "CapacityRebalance": True,
            "MaxInstanceLifetime": 604800,
            "DefaultInstanceWarmup": 60,
            "InstanceMaintenancePolicy": {"MinHealthyPercentage": 90, "MaxHealthyPercentage": -1},
            "TrafficSources": [{"Identifier": GROUP, "Type": "elbv2"}],
        },
        {
            "AutoScalingGroupName": "render",
            "AutoScalingGroupARN": f"arn:aws:autoscaling:eu-west-1:{ACCOUNT}:autoScalingGroup:a:autoScalingGroupName/render",
            "MinSize": 0,
            "MaxSize": 100,
            "DesiredCapacity": 40,
            "DefaultCooldown": 300,
            "AvailabilityZones": ["eu-west-1a"],
            "TargetGroupARNs": [],
            "HealthCheckType": "EC2",
            "HealthCheckGracePeriod": 0,
            "Instances": [],
            "CreatedTime": MODIFIED,
            "SuspendedProcesses": [],
            "TerminationPolicies": ["Default"],
            "NewInstancesProtectedFromScaleIn": False,
            "MixedInstancesPolicy": {
                "LaunchTemplate": {
                    "LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": "1"},
                    "Overrides": [{"InstanceType": "c5.large", "WeightedCapacity": "2"}],
                }
            },
        },
    ]
}  # fmt: skip
TARGET_GROUPS: dict[str, Any] = {
    "TargetGroups": [
        {
            "TargetGroupArn": GROUP,
            "TargetGroupName": "web",
            "Protocol": "HTTP",
            "Port": 80,
            "VpcId": "vpc-1",
            "HealthCheckProtocol": "HTTP",
            "HealthCheckPort": "traffic-port",
            "HealthCheckEnabled": True,
            "HealthCheckIntervalSeconds": 30,
            "HealthCheckTimeoutSeconds": 5,
            "HealthyThresholdCount": 5,
            "UnhealthyThresholdCount": 2,
            "HealthCheckPath": f"/{SECRET}",
            "Matcher": {"HttpCode": "200"},
            "LoadBalancerArns": [],
            "TargetType": "instance",
            "ProtocolVersion": "HTTP1",
        }
    ]
}
TARGET_GROUP_ATTRIBUTES: dict[str, Any] = {
    "Attributes": [
        {"Key": "target_group_health.dns_failover.minimum_healthy_targets.count", "Value": "3"},
        {"Key": "target_group_health.dns_failover.minimum_healthy_targets.percentage", "Value": "off"},
        {"Key": "target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", "Value": "1"},
        {"Key": "target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage", "Value": "25"},
        {"Key": "deregistration_delay.timeout_seconds", "Value": "300"},
        {"Key": "slow_start.duration_seconds", "Value": "0"},
        {"Key": "stickiness.app_cookie.cookie_name", "Value": SECRET},
    ]
}
DEFINITION: dict[str, Any] = {
    "StartAt": "Charge",
    "States": {
        "Charge": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"Payload": SECRET},
            "Retry": [
                {"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 2, "MaxAttempts": 6,
                 "BackoffRate": 1.5, "MaxDelaySeconds": 30, "JitterStrategy": "FULL"},
                {"ErrorEquals": ["States.ALL"]},
            ],
            "Next": "Each",
        },
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "One",
                "States": {
                    "One": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True,
                            "Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 0}]},
                },
            },
            "End": True,
        },
    },
}  # fmt: skip
STATE_MACHINE: dict[str, Any] = {
    "stateMachineArn": f"arn:aws:states:eu-west-1:{ACCOUNT}:stateMachine:checkout",
    "name": "checkout",
    "status": "ACTIVE",
    "definition": json.dumps(DEFINITION),
    "roleArn": f"arn:aws:iam::{ACCOUNT}:role/checkout",
    "type": "STANDARD",
    "creationDate": MODIFIED,
}

# Service, operation as botocore names it, export.
EXPORTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "list-event-source-mappings": ("lambda", "ListEventSourceMappings", MAPPINGS),
    "get-event-source-mapping": ("lambda", "GetEventSourceMapping", MAPPING),
    "list-function-event-invoke-configs": ("lambda", "ListFunctionEventInvokeConfigs", INVOKE_CONFIGS),
    "get-function-event-invoke-config": ("lambda", "GetFunctionEventInvokeConfig", INVOKE_CONFIG),
    "get-function-configuration": ("lambda", "GetFunctionConfiguration", FUNCTION),
    "get-function": ("lambda", "GetFunction", GET_FUNCTION),
    "list-functions": ("lambda", "ListFunctions", FUNCTIONS),
    "get-function-concurrency": ("lambda", "GetFunctionConcurrency", CONCURRENCY),
    "list-provisioned-concurrency-configs": ("lambda", "ListProvisionedConcurrencyConfigs", PROVISIONED),
    "get-account-settings": ("lambda", "GetAccountSettings", ACCOUNT_SETTINGS),
    "get-queue-attributes": ("sqs", "GetQueueAttributes", QUEUE),
    "list-queues": ("sqs", "ListQueues", QUEUES),
    "describe-auto-scaling-groups": ("autoscaling", "DescribeAutoScalingGroups", SCALING_GROUPS),
    "describe-target-groups": ("elbv2", "DescribeTargetGroups", TARGET_GROUPS),
    "describe-target-group-attributes": ("elbv2", "DescribeTargetGroupAttributes", TARGET_GROUP_ATTRIBUTES),
    "describe-state-machine": ("stepfunctions", "DescribeStateMachine", STATE_MACHINE),
}
# What says whom a nameless export is about.
SUBJECTS = {"get-function-concurrency": "worker", "describe-target-group-attributes": "web"}
