"""Plans and states of Terraform: what is known, what will be, and what a plan does not know yet."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from tests.readers.cloud.exports import DEFINITION, LAMBDA, SECRET, SQS, URL
from tests.readers.cloud.tables import defaults, said, shown, table, values
from tests.readers.cloud.terraform_files import (
    DEEP,
    MAPPING_UUID,
    NEW,
    PLAN_SCHEMA,
    STATE,
    STATE_SCHEMA,
    block,
    plan,
    resource,
    state,
)

from afterload.errors import InputError
from afterload.readers.cloud import is_cloud_file
from afterload.readers.reading import Inventory


@pytest.mark.parametrize(("value", "schema"), [(NEW, PLAN_SCHEMA), (DEEP, PLAN_SCHEMA), (STATE, STATE_SCHEMA)])
def test_fixtures_have_the_documented_format(value: Any, schema: Any) -> None:
    jsonschema.validate(value, schema)


def test_a_plan_finds_function_and_queue_before_they_have_arns(read) -> None:
    found = read(NEW)
    mapping = values(found, "lambda.mapping", "aws_lambda_event_source_mapping.orders")
    assert mapping == {
        "function": "worker", "qualifier": "live", "event_source": "aws_sqs_queue.orders", "source_kind": "sqs",
        "queue": "orders", "state": "Enabled", "batch_size": 10, "batching_window_s": None, "maximum_concurrency": 20,
        "provisioned_minimum": None, "provisioned_maximum": None, "response_types": (),
    }  # fmt: skip
    assert values(found, "lambda.async", "worker") == {
        "max_event_age_s": 21_600, "max_retry_attempts": 1, "on_failure": "aws_sqs_queue.dead", "on_success": None,
    }  # fmt: skip
    assert defaults(found, "lambda.async", "worker") == {"max_event_age_s"}


def test_what_is_unknown_is_neither_unset_nor_default(read) -> None:
    found = read(NEW)
    stream = values(found, "lambda.mapping", "aws_lambda_event_source_mapping.shards[0]")
    # Its own index chooses the stream of the two.
    assert (stream["event_source"], stream["source_kind"]) == ("aws_kinesis_stream.clicks[0]", "kinesis")
    assert (stream["function"], stream["qualifier"], stream["state"]) == ("clicks", "prod", "Disabled")
    assert stream["on_failure"] == "aws_sqs_queue.dead"
    assert stream["batch_size"] == 100
    assert not {"max_record_age_s", "max_retry_attempts", "parallelization_factor"} & set(stream)
    doubts = said(found, "doubt")
    assert (
        "aws_lambda_event_source_mapping.shards[0]: maximum_record_age_in_seconds, maximum_retry_attempts, "
        "parallelization_factor will be known only after the plan is applied"
    ) in doubts
    orders = values(found, "sqs.queue", "orders")
    assert orders["redrive_target"] == "aws_sqs_queue.dead"
    assert "max_receive_count" not in orders
    assert not {"arn", "url"} & set(orders)
    # The name of this one is not known, its other values are, as strings too.
    assert values(found, "sqs.queue", "aws_sqs_queue.dead") == {
        "visibility_timeout_s": 30, "retention_s": 1_209_600, "delay_s": 0, "fifo": False, "redrive_target": None,
        "max_receive_count": None,
    }  # fmt: skip


def test_a_plan_says_what_it_changes_and_when_it_was_made(read) -> None:
    found = read(NEW)
    # The alias and the streams are none of the resources read.
    assert said(found, "doubt").count("is made by this plan, which is not applied") == 6
    assert all(item.origin.planned for item in found.observations)
    assert {item.origin.exported_at for item in found.observations} == {datetime(2025, 10, 21, 8, tzinfo=UTC)}
    unchanged = read(plan([(resource("aws_sqs_queue.q", {"name": "q"}), {})], actions=("no-op",), timestamp="soon"))
    assert said(unchanged, "doubt") == ""
    assert {item.origin.exported_at.year for item in unchanged.observations} != {2025}


@pytest.mark.parametrize("actions", [("update",), ("delete", "create"), ("create", "delete")])
def test_of_a_resource_that_a_plan_changes_what_is_in_force_is_read(read, actions) -> None:
    arn = "arn:aws:sqs:eu-central-1:1:q"
    values_then = {"event_source_arn": arn, "function_name": "f", "scaling_config": [{"maximum_concurrency": 25}]}
    document = plan([(resource("aws_lambda_event_source_mapping.m", values_then), {"uuid": True})], actions=actions)
    before = {**values_then, "scaling_config": [], "batch_size": 5, "uuid": "7b1f"}
    document["resource_changes"][0]["change"]["before"] = before
    found = read(document)
    seen = values(found, "lambda.mapping", "7b1f")
    assert (seen["maximum_concurrency"], seen["batch_size"]) == (None, 5)
    assert not any(item.origin.planned for item in found.observations)
    remark = said(found, "doubt")
    assert "aws_lambda_event_source_mapping.m changes by this plan, which is not applied" in remark
    assert "scaling_config.maximum_concurrency: unset now, 25 by the plan" in remark
    assert "function_name" not in remark


def test_a_secret_of_before_is_not_read_from_a_plan(read) -> None:
    document = plan([(resource("aws_sqs_queue.q", {"name": "q", "delay_seconds": 3}), {})], actions=("update",))
    change = document["resource_changes"][0]["change"]
    change |= {"before": {"name": "q", "delay_seconds": 4}, "before_sensitive": {"delay_seconds": True}}
    found = read(document)
    assert "delay_s" not in values(found, "sqs.queue", "q")
    assert "delay_seconds is marked sensitive" in said(found, "refused")
    assert "4" not in said(found, "doubt")


def test_references_go_through_modules_variables_and_outputs(read) -> None:
    found = read(DEEP)
    inner = values(found, "lambda.mapping", "module.app.module.consumer[0].aws_lambda_event_source_mapping.in")
    assert (inner["function"], inner["queue"]) == ("deep", "c")
    assert inner["event_source"] == 'module.queue["c"].aws_sqs_queue.this'
    each = values(found, "lambda.mapping", 'aws_lambda_event_source_mapping.each["a.b"]')
    assert (each["function"], each["queue"]) == ("deep", "ab")
    # Local values are not in the format: not known, rather than guessed.
    local = values(found, "lambda.mapping", "aws_lambda_event_source_mapping.local")
    assert local["queue"] == "c"
    assert "function" not in local
    assert "aws_lambda_event_source_mapping.local: function_name will be known only after" in said(found, "doubt")


def test_a_reference_to_one_of_several_is_not_guessed(read) -> None:
    queues = [(resource(f"aws_sqs_queue.q[{number}]", {"name": f"q{number}"}), {"arn": True}) for number in range(2)]
    mapping = resource("aws_lambda_event_source_mapping.m", {"function_name": "f", "enabled": True})
    config = {
        "resources": [block("aws_lambda_event_source_mapping.m", event_source_arn=("aws_sqs_queue.q", "var.which"))]
    }
    found = read(plan([*queues, (mapping, {"event_source_arn": True})], config=config))
    seen = values(found, "lambda.mapping", "aws_lambda_event_source_mapping.m")
    assert not {"queue", "event_source", "source_kind"} & set(seen)
    references = ("aws_sqs_queue.q[1].arn", "aws_sqs_queue.q[1]", "aws_sqs_queue.q")
    indexed = {"resources": [block("aws_lambda_event_source_mapping.m", event_source_arn=references)]}
    found = read(plan([*queues, (mapping, {"event_source_arn": True})], config=indexed))
    assert values(found, "lambda.mapping", "aws_lambda_event_source_mapping.m")["queue"] == "q1"


QUEUES = [(resource(f'aws_sqs_queue.q["{key}"]', {"name": key}), {"arn": True}) for key in ("a", "b")]


@pytest.mark.parametrize(
    ("references", "iterated", "queue"),
    [
        # As Terraform 1.11 prints aws_sqs_queue.q[each.key].arn, aws_sqs_queue.q["b"].arn, and each.value with
        # for_each = aws_sqs_queue.q, for_each = {a = aws_sqs_queue.q["b"].arn}, and for_each = var.queues.
        (("aws_sqs_queue.q", "each.key"), ("var.names",), "a"),
        (('aws_sqs_queue.q["b"].arn', 'aws_sqs_queue.q["b"]', "aws_sqs_queue.q"), (), "b"),
        (("each.value.arn", "each.value"), ("aws_sqs_queue.q",), "a"),
        (("each.value",), ('aws_sqs_queue.q["b"].arn', 'aws_sqs_queue.q["b"]', "aws_sqs_queue.q"), "b"),
        (("each.value",), ("var.queues",), None),
        (("aws_sqs_queue.q",), (), None),
    ],
)
def test_indices_of_references(read, references: Any, iterated: Any, queue: str | None) -> None:
    mapping = resource('aws_lambda_event_source_mapping.m["a"]', {"function_name": "f", "enabled": True})
    made = block("aws_lambda_event_source_mapping.m", event_source_arn=references)
    made["for_each_expression"] = {"references": list(iterated)}
    found = read(plan([*QUEUES, (mapping, {"event_source_arn": True})], config={"resources": [made]}))
    assert values(found, "lambda.mapping", mapping["address"]).get("queue") == queue


@pytest.mark.parametrize(
    ("dead", "queue"), [((), "q"), (("local.dead",), None), (("aws_sqs_queue.dead.arn", "aws_sqs_queue.dead"), None)]
)
def test_a_module_named_without_its_output(read, dead: Any, queue: str | None) -> None:
    """module.m[each.key].arn is printed as module.m: it is followed only where its outputs lead to one resource."""
    inner = [(resource(f'module.m["a"].aws_sqs_queue.{name}', {"name": name}), {"arn": True}) for name in ("q", "dead")]
    mapping = resource('aws_lambda_event_source_mapping.m["a"]', {"function_name": "f", "enabled": True})
    outputs = {"arn": {"expression": {"references": ["aws_sqs_queue.q.arn", "aws_sqs_queue.q"]}},
               "dead": {"expression": {"references": list(dead)}}}  # fmt: skip
    config = {
        "resources": [block("aws_lambda_event_source_mapping.m", event_source_arn=("module.m", "each.key"))],
        "module_calls": {"m": {"source": "./m", "module": {"outputs": outputs}}},
    }
    found = read(plan([(mapping, {"event_source_arn": True})], modules={'module.m["a"]': inner}, config=config))
    assert values(found, "lambda.mapping", mapping["address"]).get("queue") == queue


def test_references_in_a_circle_end(read) -> None:
    mapping = resource("module.a.aws_lambda_event_source_mapping.m", {"function_name": "f", "enabled": True})
    inner = {
        "resources": [block("aws_lambda_event_source_mapping.m", event_source_arn=("var.x",))],
        "outputs": {"o": {"expression": {"references": ["var.x"]}}},
    }
    config = {"module_calls": {"a": {"source": "./a", "expressions": {"x": {"references": ["module.a.o", "module.a"]}},
                                     "module": inner}}}  # fmt: skip
    found = read(plan([], modules={"module.a": [(mapping, {"event_source_arn": True})]}, config=config))
    assert values(found, "lambda.mapping", "module.a.aws_lambda_event_source_mapping.m")["function"] == "f"


def test_a_state(read) -> None:
    found = read(STATE)
    assert values(found, "lambda.mapping", MAPPING_UUID) == {
        "function": "worker", "qualifier": None, "event_source": f"{SQS}:orders", "source_kind": "sqs", "queue": "orders",
        "state": "Enabled", "batch_size": 10, "batching_window_s": 0, "maximum_concurrency": None,
        "provisioned_minimum": 3, "provisioned_maximum": 40, "response_types": ("ReportBatchItemFailures",),
    }  # fmt: skip
    assert values(found, "lambda.function", "worker") == {
        "arn": f"{LAMBDA}:worker", "timeout_s": 3, "memory_mb": 128, "runtime": None, "reserved_concurrency": None,
        "dead_letter_target": f"{SQS}:dead", "aws_retry_mode": None, "aws_max_attempts": 5,
    }  # fmt: skip
    assert values(found, "lambda.function", "worker:live") == {"provisioned_concurrency": 12}
    assert values(found, "lambda.async", "worker")["max_event_age_s"] == 21_600
    assert values(found, "sqs.queue", "orders") == {
        "url": f"{URL}/orders", "arn": f"{SQS}:orders", "visibility_timeout_s": 30, "retention_s": 345_600, "delay_s": 0,
        "fifo": False, "redrive_target": f"{SQS}:dead", "max_receive_count": 4,
    }  # fmt: skip
    dead = values(found, "sqs.queue", "dead.fifo")
    assert (dead["url"], dead["fifo"], dead["redrive_target"]) == (f"{URL}/dead.fifo", True, None)
    assert found.remarks == ()


def test_groups_and_target_groups_of_nested_modules(read) -> None:
    found = read(STATE)
    web = values(found, "autoscaling.group", "web")
    assert web == {
        "minimum": 2, "maximum": 12, "desired": 4, "capacity_unit": "instances", "health_check_types": ("ELB",),
        "grace_s": 300, "default_cooldown_s": 300, "instance_warmup_s": 60,
        "suspended_processes": ("AZRebalance", "ReplaceUnhealthy"), "capacity_rebalance": False,
        "max_instance_lifetime_s": None, "scale_in_protection": False, "minimum_healthy_percentage": None,
        "maximum_healthy_percentage": None, "termination_policies": (), "target_groups": ("arn:x",),
    }  # fmt: skip
    spot = values(found, "autoscaling.group", "spot")
    assert (spot["minimum"], spot["maximum"], spot["desired"], spot["grace_s"]) == (0, 10, 5, 0)
    assert (spot["capacity_unit"], spot["capacity_rebalance"], spot["suspended_processes"]) == ("units", True, ())
    assert (spot["minimum_healthy_percentage"], spot["maximum_healthy_percentage"]) == (90, None)
    seen = found.resource("autoscaling.group", "spot").seen("minimum")
    assert seen.origin.place == "module.web.aws_autoscaling_group.web[1].min_size"
    assert values(found, "elb.target_group", "web") == {
        "arn": "arn:y", "target_type": "instance", "protocol": "HTTP", "health_check_enabled": True,
        "health_check_interval_s": 30, "health_check_timeout_s": 5, "healthy_threshold": 3, "unhealthy_threshold": 2,
        "dns_minimum_count": None, "dns_minimum_percentage": 50, "routing_minimum_count": 1,
        "routing_minimum_percentage": None, "deregistration_delay_s": 300, "slow_start_s": 0,
    }  # fmt: skip
    plain = values(found, "elb.target_group", "plain")
    assert (plain["dns_minimum_count"], plain["routing_minimum_count"], plain["dns_minimum_percentage"]) == (1, 1, None)
    assert {"dns_minimum_count", "routing_minimum_count"} <= defaults(found, "elb.target_group", "plain")
    assert not [name for name in values(found, "elb.target_group", "fn") if name.startswith(("dns", "routing"))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("form", ["pretty", "minified", "sorted", "prompt"])
def test_forms_of_files(read, encoding: str, form: str) -> None:
    text = {
        "pretty": json.dumps(STATE, indent=2).replace("\n", "\r\n"),
        "minified": json.dumps(STATE, separators=(",", ":")),
        "sorted": json.dumps(STATE, sort_keys=True),
        "prompt": f"PS C:\\infra> terraform show -json\r\n{json.dumps(STATE)}\r\nPS C:\\infra>",
    }[form]
    assert table(read(text, encoding=encoding)) == table(read(STATE))


def places(inventory: Inventory) -> list[tuple[Any, ...]]:
    return [
        (item.kind, item.resource, item.attribute, item.value, item.origin.place) for item in inventory.observations
    ]


def test_order_of_resources_and_modules_never_matters(read) -> None:
    for document in (NEW, DEEP, STATE):
        turned = json.loads(json.dumps(document), object_pairs_hook=lambda pairs: dict(reversed(pairs)))

        def turn(node: Any) -> Any:
            if isinstance(node, dict):
                node = {key: turn(value) for key, value in node.items()}
                for key in ("resources", "child_modules", "resource_changes"):
                    if key in node:
                        node[key] = node[key][::-1]
            return node

        for key in ("planned_values", "values", "configuration"):
            if key in turned:
                turned[key] = turn(turned[key])
        first, second = read(document), read(turned)
        assert places(first) == places(second)
        assert {item.text for item in first.remarks} == {item.text for item in second.remarks}


def test_sensitive_values_are_not_read(read) -> None:
    function = {"function_name": "f", "timeout": 9, "environment": [{"variables": {"AWS_RETRY_MODE": "standard"}}]}
    secret = {"timeout": True, "environment": [{"variables": True}]}
    found = read(state([resource("aws_lambda_function.f", function, secret)]))
    assert not {"timeout_s", "aws_retry_mode", "aws_max_attempts"} & set(values(found, "lambda.function", "f"))
    assert "aws_lambda_function.f.timeout is marked sensitive" in said(found, "refused")
    machine = resource(
        "aws_sfn_state_machine.m", {"name": "m", "definition": json.dumps(DEFINITION)}, {"definition": True}
    )
    with pytest.raises(InputError, match="definition is marked sensitive"):
        read(state([machine]))
    named = resource(
        "aws_sqs_queue.q", {"name": SECRET, "redrive_policy": SECRET}, {"name": True, "redrive_policy": True}
    )
    assert {row[1] for row in table(read(state([named])))} == {"aws_sqs_queue.q"}


def test_a_whole_resource_may_be_sensitive_in_the_change_alone(read) -> None:
    document = plan([(resource("aws_sqs_queue.q", {"name": "q", "delay_seconds": 7}), {})])
    document["resource_changes"][0]["change"]["after_sensitive"] = {"delay_seconds": True}
    assert "delay_s" not in values(read(document), "sqs.queue", "q")


def test_no_secret_of_a_fixture_is_shown(read) -> None:
    for document in (NEW, DEEP, STATE):
        assert SECRET in json.dumps(document)
        assert SECRET not in shown(read(document))


def test_retries_of_a_state_machine(read) -> None:
    machine = resource("aws_sfn_state_machine.m", {"name": "checkout", "definition": json.dumps(DEFINITION)})
    found = read(state([machine]))
    assert values(found, "states.retry", "checkout/Charge[1]")["max_attempts"] == 3
    seen = found.resource("states.retry", "checkout/One[0]").seen("max_attempts")
    assert seen.origin.place == "aws_sfn_state_machine.m.definition.States.Each.States.One.Retry[0].MaxAttempts"
    unknown = read(plan([(resource("aws_sfn_state_machine.m", {"name": "m"}), {"definition": True})]))
    assert "definition will be known only after" in said(unknown, "doubt")


@pytest.mark.parametrize("version", ["0.1", "0.2", "1.0", "1.2", "1.99"])
def test_known_format_versions(read, version: str) -> None:
    assert table(read({**STATE, "format_version": version})) == table(read(STATE))


@pytest.mark.parametrize("version", ["2.0", "10.1", "", None, 1.0, "1", "x" * 99])
def test_other_format_versions_are_refused(read, version: Any) -> None:
    with pytest.raises(InputError, match=r"not 0\.x or 1\.x .* run terraform show -json PLANFILE"):
        read({**STATE, "format_version": version})


PLAN_TEXT = """
Terraform used the selected providers to generate the following execution
plan. Resource actions are indicated with the following symbols:
  \x1b[32m+\x1b[0m create

Terraform will perform the following actions:

\x1b[1m  # aws_sqs_queue.q\x1b[0m will be created
\x1b[0m  \x1b[32m+\x1b[0m resource "aws_sqs_queue" "q" {
      \x1b[32m+\x1b[0m arn = (known after apply)
    }
"""
STATE_TEXT = '# aws_sqs_queue.q:\nresource "aws_sqs_queue" "q" {\n    name = "q"\n}\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PLAN_TEXT, "is Terraform text for people"),
        (STATE_TEXT, "is Terraform text for people"),
        (PLAN_TEXT.replace("Terraform", "OpenTofu"), "is Terraform text for people"),
        ({"version": 4, "terraform_version": "1.11.4", "serial": 3, "lineage": "x", "outputs": {}, "resources": []},
         "is a raw state file"),
        ('{"@level":"info","@message":"Terraform 1.11.4","terraform":"1.11.4","type":"version"}\n'
         '{"@level":"info","@message":"Plan","type":"change_summary"}\n', "is the log of terraform plan -json"),
    ],
)  # fmt: skip
def test_other_forms_of_terraform_are_refused_with_the_command(read, tmp_path, content: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"{words}.*run terraform show -json PLANFILE"):
        read(content)
    assert is_cloud_file(tmp_path / "export.json")


def test_a_plan_file_is_refused_with_the_command(tmp_path, read) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(
        b"PK\x03\x04\x14\x00\x08\x00\x08\x00\x8a\x16~]\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x09\x00tfplanUT\x05\x00"
    )
    assert is_cloud_file(path)
    with pytest.raises(InputError, match="run terraform show -json PLANFILE"):
        read(path.read_bytes().decode("latin-1"), encoding="latin-1")


@pytest.mark.parametrize("document", [{"format_version": "1.0"}, {"format_version": "1.0", "values": {}},
                                      {"format_version": "1.0", "planned_values": {"root_module": None}}])  # fmt: skip
def test_an_empty_state_is_refused(read, document: Any) -> None:
    with pytest.raises(InputError, match="holds no resources"):
        read(document)


def test_resources_of_other_types_only(read) -> None:
    found = read(state([resource("aws_s3_bucket.b", {"bucket": "b"})]))
    assert found.observations == ()
    assert "none of its resources is of a type that is read" in said(found, "doubt")


def test_data_sources_are_not_resources(read) -> None:
    data = {**resource("aws_sqs_queue.q", {"name": "q"}), "mode": "data", "address": "data.aws_sqs_queue.q"}
    assert read(state([data])).observations == ()


def test_a_plan_that_ended_in_an_error_or_without_changes_is_partial(read) -> None:
    queue = resource("aws_sqs_queue.q", {"name": "q"})
    assert "not complete" in said(read(plan([(queue, {})], errored=True)), "partial")
    found = read(plan([(queue, {})], resource_changes=[]))
    assert "no entry for 1 of 1 resources" in said(found, "partial")
    assert values(found, "sqs.queue", "q") == {"fifo": False}


def test_damaged_members_are_remarks(read) -> None:
    document = copy.deepcopy(STATE)
    first = document["values"]["root_module"]["resources"][0]["values"]
    first.update(scaling_config="x", batch_size={"a": 1}, enabled="maybe", provisioned_poller_config=5)
    found = read(document)
    refused = said(found, "refused")
    for member in ("scaling_config.maximum_concurrency", "batch_size", "enabled", "provisioned_poller_config"):
        assert f"aws_lambda_event_source_mapping.orders.{member}" in refused
    assert not {"batch_size", "maximum_concurrency", "state"} & set(values(found, "lambda.mapping", MAPPING_UUID))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_terraform_files_are_told_from_others(tmp_path, encoding: str) -> None:
    path = tmp_path / "plan.json"
    for document in (NEW, STATE):
        path.write_text(json.dumps(document), encoding=encoding)
        assert is_cloud_file(path)
    # Sorted by jq, with a configuration of many bytes before the version.
    wide = {**NEW, "configuration": {"root_module": {"resources": [block(f"aws_x.y{n}") for n in range(2_000)]}}}
    path.write_text(json.dumps(wide, sort_keys=True), encoding=encoding)
    assert is_cloud_file(path)
