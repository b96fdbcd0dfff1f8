"""Exports of the AWS CLI: what each is read as, and what it is not taken for."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from tests.readers.cloud import exports as given
from tests.readers.cloud.tables import defaults, said, table, values

from afterload import limits
from afterload.errors import InputError, NotFoundError
from afterload.readers.cloud import is_cloud_file, read_cloud_file


def test_mappings(read) -> None:
    found = read(given.MAPPINGS)
    assert values(found, "lambda.mapping", given.CAPPED) == {
        "function": "worker", "qualifier": "live", "event_source": f"{given.SQS}:orders", "source_kind": "sqs",
        "queue": "orders", "state": "Enabled", "batch_size": 10, "batching_window_s": 0, "maximum_concurrency": 20,
        "provisioned_minimum": None, "provisioned_maximum": None, "response_types": ("ReportBatchItemFailures",),
    }  # fmt: skip
    uncapped = values(found, "lambda.mapping", given.UNCAPPED)
    assert uncapped["maximum_concurrency"] is None
    assert (uncapped["state"], uncapped["qualifier"], uncapped["queue"]) == ("Disabled", None, "emails.fifo")
    assert "maximum_concurrency" not in defaults(found, "lambda.mapping", given.UNCAPPED)
    # What a queue's mapping does not have is not there, rather than unset.
    assert not {"max_record_age_s", "parallelization_factor", "on_failure"} & set(uncapped)
    assert values(found, "lambda.mapping", given.STREAM) == {
        "function": "clicks", "qualifier": None, "event_source": f"arn:aws:kinesis:eu-west-1:{given.ACCOUNT}:stream/clicks",
        "source_kind": "kinesis", "state": "Enabled", "batch_size": 100, "batching_window_s": 5, "max_record_age_s": -1,
        "max_retry_attempts": 3, "parallelization_factor": 2, "on_failure": f"{given.SQS}:lost-clicks",
        "bisect_on_error": True, "response_types": (),
    }  # fmt: skip
    kafka = values(found, "lambda.mapping", given.KAFKA)
    assert (kafka["source_kind"], kafka["event_source"], kafka["qualifier"]) == ("kafka", None, None)
    # One bound of provisioned mode is set: the other is the service's own.
    assert (kafka["provisioned_minimum"], kafka["provisioned_maximum"]) == (4, 200)
    assert defaults(found, "lambda.mapping", given.KAFKA) == {
        "provisioned_maximum", "max_record_age_s", "max_retry_attempts",
    }  # fmt: skip
    assert (kafka["max_record_age_s"], kafka["max_retry_attempts"]) == (-1, -1)
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("arn:aws:dynamodb:eu-west-1:1:table/t/stream/2025-10-01T00:00:00.000", "dynamodb"),
        ("arn:aws:kafka:eu-west-1:1:cluster/c/u", "kafka"),
        ("arn:aws:mq:eu-west-1:1:broker:b:b-1", "mq"),
        ("arn:aws:rds:eu-west-1:1:cluster:docs", "documentdb"),
        ("arn:aws-cn:sqs:cn-north-1:1:q", "sqs"),
        ("arn:aws:newservice:eu-west-1:1:x", None),
    ],
)
def test_kinds_of_event_sources(read, source: str, kind: str | None) -> None:
    mapping = {**given.MAPPINGS["EventSourceMappings"][1], "EventSourceArn": source}
    found = read(mapping)
    assert values(found, "lambda.mapping", given.UNCAPPED).get("source_kind") == kind
    assert ("event source is not known" in said(found, "doubt")) == (kind is None)


def test_places_and_dates(read, tmp_path) -> None:
    found = read(given.MAPPINGS)
    seen = found.resource("lambda.mapping", given.CAPPED).seen("maximum_concurrency")
    assert seen.origin.place == "EventSourceMappings[0].ScalingConfig.MaximumConcurrency"
    assert seen.origin.file == str(tmp_path / "export.json")
    assert seen.origin.exported_at.tzinfo is not None


def test_asynchronous_configurations(read) -> None:
    found = read(given.INVOKE_CONFIGS)
    assert values(found, "lambda.async", "notify") == {
        "max_event_age_s": 900, "max_retry_attempts": 0, "on_failure": f"{given.SQS}:lost", "on_success": None,
    }  # fmt: skip
    assert values(found, "lambda.async", "notify:live") == {
        "max_event_age_s": limits.whole("lambda.async.max_age_s.default"), "max_retry_attempts": 1,
        "on_failure": None, "on_success": None,
    }  # fmt: skip
    assert defaults(found, "lambda.async", "notify:live") == {"max_event_age_s"}
    assert table(read(given.INVOKE_CONFIG)) == {row for row in table(found) if row[1] == "notify"}


DEFAULTS = {"max_event_age_s": 21_600, "max_retry_attempts": 2, "on_failure": None, "on_success": None}


@pytest.mark.parametrize("subject", ["notify", f"{given.LAMBDA}:notify", f"{given.LAMBDA}:notify:$LATEST"])
def test_a_function_without_asynchronous_configuration_has_the_defaults(read, subject: str) -> None:
    found = read({"FunctionEventInvokeConfigs": []}, subject=subject)
    assert values(found, "lambda.async", "notify") == DEFAULTS
    assert defaults(found, "lambda.async", "notify") == {"max_event_age_s", "max_retry_attempts"}


def test_an_empty_list_of_asynchronous_configurations_asks_for_whom(read) -> None:
    found = read({"FunctionEventInvokeConfigs": []})
    assert found.observations == ()
    assert "does not say for which function" in said(found, "ask")


def test_the_error_that_says_there_is_no_configuration_is_an_answer(read) -> None:
    text = (
        "\nAn error occurred (ResourceNotFoundException) when calling the GetFunctionEventInvokeConfig operation: "
        f"The function {given.LAMBDA}:notify:$LATEST doesn't have an EventInvokeConfig\n"
    )
    found = read(text)
    assert values(found, "lambda.async", "notify") == DEFAULTS
    assert found.remarks == ()


def test_functions(read) -> None:
    found = read(given.FUNCTIONS)
    assert values(found, "lambda.function", "worker") == {
        "arn": f"{given.LAMBDA}:worker", "timeout_s": 30, "memory_mb": 256, "runtime": "python3.12",
        "dead_letter_target": f"{given.SQS}:dead", "aws_retry_mode": "standard", "aws_max_attempts": 4,
    }  # fmt: skip
    plain = values(found, "lambda.function", "mailer")
    assert (plain["runtime"], plain["dead_letter_target"], plain["aws_retry_mode"]) == (None, None, None)
    # No list shows reserved concurrency, so nothing is said of it.
    assert "reserved_concurrency" not in plain
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("concurrency", "expected"),
    [({"ReservedConcurrentExecutions": 50}, 50), ({"ReservedConcurrentExecutions": 0}, 0), ({}, None), (None, None)],
)
def test_get_function_shows_what_is_reserved(read, concurrency: Any, expected: int | None) -> None:
    found = read({**given.GET_FUNCTION, "Concurrency": concurrency})
    assert values(found, "lambda.function", "worker")["reserved_concurrency"] == expected


def test_an_environment_that_could_not_be_read_is_not_an_empty_one(read) -> None:
    function = {**given.FUNCTION, "Environment": {"Error": {"ErrorCode": "AccessDenied", "Message": given.SECRET}}}
    found = read(function)
    assert "aws_retry_mode" not in values(found, "lambda.function", "worker")
    assert "environment could not be read" in said(found, "refused")


@pytest.mark.parametrize(("mode", "attempts"), [("fastest", "4"), ("standard", "many"), (7, "1.5")])
def test_retry_settings_of_no_known_form_are_not_repeated(read, mode: Any, attempts: str) -> None:
    function = {**given.FUNCTION, "Environment": {"Variables": {"AWS_RETRY_MODE": mode, "AWS_MAX_ATTEMPTS": attempts}}}
    found = read(function)
    text = said(found, "refused")
    assert "AWS_" in text
    assert "fastest" not in text
    assert "many" not in text


def test_versions_and_aliases_have_names_of_their_own(read) -> None:
    version = {**given.FUNCTION, "FunctionArn": f"{given.LAMBDA}:worker:12", "Version": "12", "Timeout": 60}
    found = read({"Functions": [given.FUNCTION, version]})
    assert values(found, "lambda.function", "worker")["timeout_s"] == 30
    assert values(found, "lambda.function", "worker:12")["timeout_s"] == 60
    assert values(read(given.PROVISIONED), "lambda.function", "worker:live") == {"provisioned_concurrency": 12}


def test_concurrency_without_a_name(read) -> None:
    found = read(given.CONCURRENCY, subject=f"{given.LAMBDA}:worker")
    assert values(found, "lambda.function", "worker") == {"reserved_concurrency": 7}
    asked = read(given.CONCURRENCY)
    assert asked.observations == ()
    assert "--function-name" in said(asked, "ask")


@pytest.mark.parametrize("text", ["", "\n \r\n", "\ufeff", "{}\n"])
def test_an_empty_file_means_unset_only_for_a_function_that_is_named(read, text: str) -> None:
    found = read(text, subject="worker")
    assert values(found, "lambda.function", "worker") == {"reserved_concurrency": None}
    assert "file holds nothing" in said(found, "doubt")
    asked = read(text)
    assert asked.observations == ()
    assert "for which function" in said(asked, "ask")
    assert read(text, subject=given.GROUP).observations == ()
    assert read(text, subject=f"{given.URL}/orders").observations == ()


def test_account_settings(read) -> None:
    found = values(read(given.ACCOUNT_SETTINGS), "lambda.account", "account")
    assert found == {"concurrency": 1000, "unreserved_concurrency": 950}


def test_queues(read) -> None:
    found = read(given.QUEUE)
    assert values(found, "sqs.queue", "orders") == {
        "arn": f"{given.SQS}:orders", "visibility_timeout_s": 180, "retention_s": 345_600, "delay_s": 0, "fifo": False,
        "redrive_target": f"{given.SQS}:orders-dead", "max_receive_count": 5, "approximate_messages": 206_400,
        "approximate_in_flight": 12, "approximate_delayed": 0,
    }  # fmt: skip
    assert found.remarks == ()
    listed = read(given.QUEUES)
    assert values(listed, "sqs.queue", "emails.fifo") == {"url": f"{given.URL}/emails.fifo", "fifo": True}
    assert table(read(given.QUEUES["QueueUrls"])) == table(listed)


def test_a_queue_without_redrive_policy_has_none(read) -> None:
    queue = copy.deepcopy(given.QUEUE)
    del queue["Attributes"]["RedrivePolicy"]
    queue["Attributes"]["FifoQueue"] = "true"
    found = values(read(queue), "sqs.queue", "orders")
    assert (found["redrive_target"], found["max_receive_count"], found["fifo"]) == (None, None, True)


@pytest.mark.parametrize(
    "policy", ["{not json", "[]", "{}", '{"deadLetterTargetArn": 5, "maxReceiveCount": "x"}', "[" * 9999]
)
def test_a_redrive_policy_of_no_known_form_is_not_taken_for_none(read, policy: str) -> None:
    queue = copy.deepcopy(given.QUEUE)
    queue["Attributes"]["RedrivePolicy"] = policy
    found = read(queue)
    assert "redrive_target" not in values(found, "sqs.queue", "orders")
    assert "Attributes.RedrivePolicy" in said(found, "refused")


def test_a_receive_count_may_be_a_string(read) -> None:
    queue = copy.deepcopy(given.QUEUE)
    policy = {"deadLetterTargetArn": f"{given.SQS}:d", "maxReceiveCount": "7"}
    queue["Attributes"]["RedrivePolicy"] = json.dumps(policy)
    assert values(read(queue), "sqs.queue", "orders")["max_receive_count"] == 7


def test_attributes_that_were_not_asked_for_are_not_unset(read) -> None:
    found = read({"Attributes": {"QueueArn": f"{given.SQS}:orders", "VisibilityTimeout": "30"}})
    assert values(found, "sqs.queue", "orders") == {
        "arn": f"{given.SQS}:orders", "visibility_timeout_s": 30, "fifo": False,
    }  # fmt: skip
    assert "--attribute-names All" in said(found, "partial")
    nameless = read({"Attributes": {"VisibilityTimeout": "30"}})
    assert "--queue-url" in said(nameless, "ask")
    assert values(
        read({"Attributes": {"VisibilityTimeout": "30"}}, subject=f"{given.URL}/orders"), "sqs.queue", "orders"
    )


def test_groups(read) -> None:
    found = read(given.SCALING_GROUPS)
    assert values(found, "autoscaling.group", "web") == {
        "arn": given.SCALING_GROUPS["AutoScalingGroups"][0]["AutoScalingGroupARN"],
        "minimum": 2, "maximum": 12, "desired": 4, "capacity_unit": "instances", "in_service": 2, "unhealthy": 1,
        "standby": 1, "protected": 1, "health_check_types": ("EC2", "ELB"), "grace_s": 120, "default_cooldown_s": 300,
        "instance_warmup_s": 60, "suspended_processes": ("AZRebalance", "ReplaceUnhealthy"), "capacity_rebalance": True,
        "max_instance_lifetime_s": 604_800, "scale_in_protection": False, "minimum_healthy_percentage": 90,
        "maximum_healthy_percentage": None, "impaired_zone": None, "termination_policies": ("OldestInstance", "Default"),
        "target_groups": (given.GROUP,),
    }  # fmt: skip
    render = values(found, "autoscaling.group", "render")
    assert (render["capacity_unit"], render["suspended_processes"], render["capacity_rebalance"]) == ("units", (), None)
    assert (render["instance_warmup_s"], render["max_instance_lifetime_s"]) == (None, None)
    assert found.remarks == ()


def test_a_group_without_its_instances_has_no_counts(read) -> None:
    group = {key: value for key, value in given.SCALING_GROUPS["AutoScalingGroups"][0].items() if key != "Instances"}
    found = read({"AutoScalingGroups": [group]})
    assert "in_service" not in values(found, "autoscaling.group", "web")
    assert "counts of instances are not known" in said(found, "partial")


def test_target_groups(read) -> None:
    found = read(given.TARGET_GROUPS)
    assert values(found, "elb.target_group", "web") == {
        "arn": given.GROUP, "target_type": "instance", "protocol": "HTTP", "health_check_enabled": True,
        "health_check_interval_s": 30, "health_check_timeout_s": 5, "healthy_threshold": 5, "unhealthy_threshold": 2,
    }  # fmt: skip


THRESHOLDS = {
    "dns_minimum_count": 3, "dns_minimum_percentage": None, "routing_minimum_count": 1, "routing_minimum_percentage": 25,
    "deregistration_delay_s": 300, "slow_start_s": 0,
}  # fmt: skip


def test_target_group_attributes_are_named_by_the_file_and_say_so(read) -> None:
    found = read(given.TARGET_GROUP_ATTRIBUTES, name="checkout-web.json")
    assert values(found, "elb.target_group", "checkout-web") == THRESHOLDS
    assert "checkout-web is the name of the file" in said(found, "doubt")


@pytest.mark.parametrize("subject", ["web", given.GROUP])
def test_target_group_attributes_are_named_by_the_caller(read, subject: str) -> None:
    found = read(given.TARGET_GROUP_ATTRIBUTES, subject=subject)
    assert values(found, "elb.target_group", "web") == THRESHOLDS
    assert found.remarks == ()


def test_several_nameless_target_groups_ask(read) -> None:
    text = json.dumps(given.TARGET_GROUP_ATTRIBUTES)
    found = read(f"{text}\n{text}\n")
    assert found.observations == ()
    assert "2 outputs of describe-target-group-attributes" in said(found, "ask")
    command = f"$ aws elbv2 describe-target-group-attributes --target-group-arn={given.GROUP}\n"
    named = read(f"{command}{text}\n{command.replace('/web/', '/api/')}{text}\n")
    assert values(named, "elb.target_group", "web") == values(named, "elb.target_group", "api") == THRESHOLDS
    assert named.remarks == ()


def test_attributes_of_a_load_balancer_are_refused(read) -> None:
    with pytest.raises(InputError, match="neither of a queue nor of a target group"):
        read({"Attributes": [{"Key": "idle_timeout.timeout_seconds", "Value": "60"}]})


def test_retries_of_a_state_machine(read) -> None:
    found = read(given.STATE_MACHINE)
    assert values(found, "states.retry", "checkout/Charge[0]") == {
        "errors": ("Lambda.TooManyRequestsException",), "interval_s": 2, "max_attempts": 6, "backoff": 1.5,
        "max_delay_s": 30, "jitter": "FULL",
    }  # fmt: skip
    # Defaults of the language: 1 s, 3 retries, factor 2, no cap, no jitter.
    assert values(found, "states.retry", "checkout/Charge[1]") == {
        "errors": ("States.ALL",), "interval_s": 1, "max_attempts": 3, "backoff": 2.0, "max_delay_s": None, "jitter": None,
    }  # fmt: skip
    assert defaults(found, "states.retry", "checkout/Charge[1]") == {"interval_s", "max_attempts", "backoff"}
    assert values(found, "states.retry", "checkout/One[0]")["max_attempts"] == 0
    by_file = read(given.DEFINITION, name="checkout.asl.json")
    assert {row[1] for row in table(by_file)} == {
        f"checkout.asl/{name}" for name in ("Charge[0]", "Charge[1]", "One[0]")
    }
    assert table(read(given.DEFINITION, subject="checkout")) == table(found)


# Forms of files


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_of_shells(read, encoding: str, end: str) -> None:
    text = json.dumps(given.MAPPINGS, indent=4).replace("\n", end)
    text = f"\ufeff{text}" if encoding == "utf-16-le" else text
    assert table(read(text, encoding=encoding)) == table(read(given.MAPPINGS))


@pytest.mark.parametrize("name", given.EXPORTS)
@pytest.mark.parametrize("form", ["response", "metadata", "list", "named", "minified", "prompt", "doubled"])
def test_wrapped_exports_read_the_same(read, name: str, form: str) -> None:
    value, subject = given.EXPORTS[name][2], given.SUBJECTS.get(name)
    alone = read(value, subject=subject)
    text = json.dumps(value, indent=4)
    wrapped: Any = {
        "response": {"Response": value},
        "metadata": {**value, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}},
        "list": [value],
        "named": {"eu-west-1": {"result": value}},
        "minified": json.dumps(value, separators=(",", ":")),
        "prompt": f"[ec2-user@host ~]$ aws x y --output json\n{text}\n[ec2-user@host ~]$ exit\n2025-10-20 INFO done [1]\n",
        "doubled": f"{text}\n{text}",
    }[form]
    found = read(wrapped, subject=subject)
    if name == "describe-target-group-attributes" and form == "doubled":
        assert table(found) == table(alone)
        return
    assert table(found) == table(alone)
    assert [item.text for item in found.remarks] == [item.text for item in alone.remarks]


def test_commands_above_their_output_name_it(read) -> None:
    parts = [
        (
            "$ aws --profile p lambda get-function-concurrency \\\n    --function-name worker",
            {"ReservedConcurrentExecutions": 5},
        ),
        (
            "PS C:\\> aws lambda get-function-concurrency `\r\n  --function-name mailer",
            {"ReservedConcurrentExecutions": 6},
        ),
        ("% aws lambda list-function-event-invoke-configs --function-name=notify", {"FunctionEventInvokeConfigs": []}),
        (f"$ aws sqs get-queue-attributes --queue-url {given.URL}/orders --attribute-names All", given.QUEUE),
    ]
    found = read("\n".join(f"{command}\n{json.dumps(value, indent=2)}" for command, value in parts))
    assert values(found, "lambda.function", "worker") == {"reserved_concurrency": 5}
    assert values(found, "lambda.function", "mailer") == {"reserved_concurrency": 6}
    assert values(found, "lambda.async", "notify") == DEFAULTS
    assert values(found, "sqs.queue", "orders")["url"] == f"{given.URL}/orders"
    seen = found.resource("lambda.function", "mailer").seen("reserved_concurrency")
    assert seen.origin.place == "line 8 ReservedConcurrentExecutions"


def pages(*tokens: str | None) -> str:
    items = given.MAPPINGS["EventSourceMappings"]
    return "\n".join(
        json.dumps({"EventSourceMappings": [item], **({"NextToken": token} if token else {})})
        for item, token in zip(items, tokens, strict=False)
    )


def test_a_token_that_is_left_over_makes_the_read_partial(read) -> None:
    found = read(pages("eyJzZWNyZXQi"))
    assert "--max-items" in said(found, "partial")
    assert "eyJzZWNyZXQi" not in said(found, "partial")
    assert "--no-paginate" in said(read({**given.TARGET_GROUPS, "NextMarker": "m"}), "partial")
    assert said(read(pages(None)), "partial") == ""
    assert said(read({**given.MAPPINGS, "NextMarker": None}), "partial") == ""


def test_pages_after_each_other_are_one_list_with_a_doubt(read) -> None:
    found = read(pages("a", "b", "c", None))
    assert table(found) == table(read(given.MAPPINGS))
    assert said(found, "partial") == ""
    assert "3 of 4 pages" in said(found, "doubt")


def test_filtered_exports_do_not_show_what_is_unset(read) -> None:
    """``--query 'EventSourceMappings[].{UUID: UUID, FunctionArn: FunctionArn}'``."""
    slim = [{"UUID": given.CAPPED, "FunctionArn": f"{given.LAMBDA}:worker"}]
    found = read(slim)
    assert values(found, "lambda.mapping", given.CAPPED) == {"function": "worker", "qualifier": None}
    assert "--query" in said(found, "partial")


def test_nulls_are_unset_and_numbers_may_be_strings(read) -> None:
    mapping = {**given.MAPPING, "ScalingConfig": None, "BatchSize": "25", "ProvisionedPollerConfig": None}
    found = values(read(mapping), "lambda.mapping", given.CAPPED)
    assert (found["maximum_concurrency"], found["batch_size"]) == (None, 25)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-5, "is -5, not a whole number of 0 or more"),
        ("1e3000", "not a whole number"),
        (2.5, "is 2.5, not a whole number"),
        (True, "is true, not a whole number"),
        ([], "is a list, not a whole number"),
        (["x"], "is a list, not a whole number"),
        ({"a": 1}, "is an object, not a whole number"),
        (10**30, "not a whole number of 0 or more"),
        (given.SECRET, f"is a text of {len(given.SECRET)} characters, not a whole number"),
        ("(sensitive value)", "is redacted"),
        ("***", "is redacted"),
        ("<removed>", "is redacted"),
        (float("nan"), "not a whole number"),
        (float("inf"), "not a whole number"),
    ],
)
def test_a_value_of_a_wrong_form_is_a_remark_and_no_value(read, value: Any, words: str) -> None:
    found = read({**given.FUNCTION, "Timeout": value})
    assert "timeout_s" not in values(found, "lambda.function", "worker")
    assert said(found, "refused").startswith("Timeout is ")
    assert words in said(found, "refused")
    assert given.SECRET not in said(found, "refused")


def test_names_that_cannot_be_printed_are_refused(read) -> None:
    for name in ("a\nb", "\ud800", "", 5, "x" * 3000):
        found = read({"AutoScalingGroups": [{**given.SCALING_GROUPS["AutoScalingGroups"][0], "AutoScalingGroupName": name},
                                            given.SCALING_GROUPS["AutoScalingGroups"][1]]})  # fmt: skip
        assert {row[1] for row in table(found)} == {"render"}
        assert "AutoScalingGroups[0] has no AutoScalingGroupName" in said(found, "refused")


def test_the_same_name_in_two_regions_is_a_doubt(read) -> None:
    other = {
        **given.FUNCTION,
        "FunctionArn": given.FUNCTION["FunctionArn"].replace("eu-west-1", "us-east-1"),
        "Timeout": 9,
    }
    found = read([given.FUNCTION, other])
    assert "two regions or accounts" in said(found, "doubt")
    assert "timeout_s has 2 values" in said(found, "doubt")
    assert len([item for item in found.observations if item.attribute == "timeout_s"]) == 2


def test_an_empty_list_is_read_with_a_doubt(read) -> None:
    found = read({"EventSourceMappings": []})
    assert found.observations == ()
    assert "list-event-source-mappings lists none" in said(found, "doubt")


# What is refused


FORMATS = {
    # As the AWS CLI's own formatters print them.
    "table": (
        "---------------------------------\n|    ListEventSourceMappings    |\n+-------------------------------+\n"
        "||     EventSourceMappings     ||\n|+------------+----------------+|\n||  BatchSize |  5             ||\n"
    ),
    "text": f"EVENTSOURCEMAPPINGS\t5\t{given.SQS}:orders\t{given.LAMBDA}:worker\tEnabled\t{given.CAPPED}\nSCALINGCONFIG\t5\n",
    "yaml": f"EventSourceMappings:\n- BatchSize: 5\n  UUID: {given.CAPPED}\n",
    "yaml-stream": f"- EventSourceMappings:\n  - BatchSize: 5\n    UUID: {given.CAPPED}\n",
}


@pytest.mark.parametrize("form", FORMATS)
def test_other_formats_are_refused_with_the_command(read, tmp_path, form: str) -> None:
    expected = f"in the format {form.removesuffix('-stream')}.*run aws lambda list-event-source-mappings --output json"
    with pytest.raises(InputError, match=expected) as caught:
        read(FORMATS[form])
    assert str(tmp_path / "export.json") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("ATTRIBUTES\tarn:aws:sqs:eu-west-1:1:q\tQueueArn", "aws sqs get-queue-attributes"),
        ("AutoScalingGroups:\n- MinSize: 1\n", "aws autoscaling describe-auto-scaling-groups"),
        ("TARGETGROUPS\tTrue\n", "aws elbv2 describe-target-groups"),
        ("QueueUrls:\n- https://x/y\n", "aws sqs list-queues"),
        ("anything: 1\n", "the command with --output json"),
    ],
)
def test_other_formats_name_the_command_where_they_show_it(read, text: str, command: str) -> None:
    with pytest.raises(InputError, match=f"run {command}"):
        read(text)


def test_errors_of_the_cli_are_named_without_their_messages(read) -> None:
    error = (
        "An error occurred (AccessDeniedException) when calling the ListEventSourceMappings operation: User: "
        f"arn:aws:iam::1:user/{given.SECRET} is not authorized"
    )
    with pytest.raises(InputError, match="AccessDeniedException of ListEventSourceMappings") as caught:
        read(error)
    assert given.SECRET not in str(caught.value)
    found = read(f"{json.dumps(given.QUEUE)}\n\n{error}\n")
    assert "AccessDeniedException of ListEventSourceMappings" in said(found, "refused")
    assert given.SECRET not in said(found, "refused")


@pytest.mark.parametrize(
    "text", ["hello\n", '{"a": {"b": [1, 2]}}', "[1, 2]", '"text"', "{} {}", "[[[[[[]]]]]]", "{'a': 1}"]
)
def test_other_files_are_refused(read, text: str) -> None:
    with pytest.raises(InputError, match=r"export\.json"):
        read(text)


def test_one_document_of_several_that_is_none_is_a_remark(read) -> None:
    found = read(f'{json.dumps(given.QUEUE)}\n{{"MetricDataResults": []}}\n')
    assert table(found) == table(read(given.QUEUE))
    assert [item.line for item in found.remarks if item.kind == "refused"] == [2]


def test_broken_json_in_the_middle_keeps_what_is_whole(read) -> None:
    text = json.dumps(given.MAPPINGS, indent=4)
    broken = text.replace(f'"{given.STREAM}"', f"'{given.STREAM}'")
    found = read(broken + "\n" + json.dumps(given.QUEUE, indent=4))
    assert {row[1] for row in table(found)} == {given.CAPPED, given.UNCAPPED, "orders"}
    assert "is broken" in said(found, "partial")


def test_files_that_are_not_there(tmp_path) -> None:
    with pytest.raises(NotFoundError):
        read_cloud_file(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_cloud_file(tmp_path)
    assert not is_cloud_file(tmp_path / "none.json")
    assert not is_cloud_file(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", given.EXPORTS)
def test_exports_are_told_from_other_files(tmp_path, name: str, encoding: str) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps(given.EXPORTS[name][2]), encoding=encoding)
    assert is_cloud_file(path)


@pytest.mark.parametrize(
    "text",
    ["", "time,value\n1,2\n", '{"MetricDataResults": [{"Id": "m"}]}', '{"status": "success", "data": {"result": []}}',
     "team: orders\nqueues: {a: {resources: {queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/a'}}}\n", "time,message\n1,"
     "An error occurred (Throttling) when calling the PutItem operation\n", '[{"name": "event", "start": "2025-10-20"}]'],
)  # fmt: skip
def test_other_files_are_not_taken_for_exports(tmp_path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert not is_cloud_file(path)
