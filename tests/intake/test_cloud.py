"""Cloud settings into a scenario: what is written, what is kept, what is held back, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from afterload.estimates import estimate
from afterload.figures.launches import launches_answer
from afterload.figures.summary import summary
from afterload.intake.cloud import cloud_conflicts, cloud_missing, cloud_proposals
from afterload.intake.fill import fill
from afterload.intake.proposal import Proposal, duration_text
from afterload.readers.reading import Inventory, Observation, Origin
from afterload.resources import resource
from afterload.scenario import load_scenario_text
from afterload.scenario.evidence import standing
from afterload.yamledit import YamlText

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
THEN = datetime(2025, 11, 1, 9, tzinfo=UTC)
UUID = "7b1f9bd8-2c39-4bd4-9d55-0e1e5b0f2a11"
QUEUE_ARN = "arn:aws:sqs:us-east-1:111122223333:orders"
FUNCTION_ARN = "arn:aws:lambda:us-east-1:111122223333:function:order-worker:live"


def observed(kind, name, at=THEN, file="mappings.json", basis="measured", **values):
    return [
        Observation(kind, name, attribute, value, Origin(file, f"{name}.{attribute}", at, basis))
        for attribute, value in values.items()
    ]


def mapping(cap=None, at=THEN, **more):
    return observed(
        "lambda.mapping", UUID, at, function=FUNCTION_ARN, event_source=QUEUE_ARN, source_kind="sqs",
        maximum_concurrency=cap, **more,
    )  # fmt: skip


def imported(text, observations, **options):
    inventory = Inventory(tuple(observations))
    data = YamlText(text, "orders.yaml").data
    return fill(text, "orders.yaml", cloud_proposals(inventory, data), cloud_missing(inventory, data), **options)


def fate(account, name):
    return {item.proposal.name: (item.fate, item.reason) for item in account.outcomes}[name]


def test_what_a_plan_would_set_is_accounted_for_and_not_written():
    planned = [replace(item, origin=replace(item.origin, planned=True)) for item in mapping(cap=20)]
    account = imported(ORDERS, planned)
    word, reason = fate(account, "queues.orders.drain_cap")
    assert word == "planned"
    assert reason == "not in force before the plan is applied: --set queues.orders.drain_cap=... gives it"
    assert not account.changes
    # What is in force counts, also where the plan is newer.
    later = [replace(item, origin=replace(item.origin, exported_at=THEN + timedelta(days=1))) for item in planned]
    account = imported(ORDERS, [*mapping(cap=30), *later])
    loaded = load_scenario_text(account.text, "orders.yaml")
    assert loaded.scenario.queues["orders"].drain_cap.concurrency == 30
    assert cloud_conflicts(Inventory((*mapping(cap=30), *later))) == []


def group(desired, file, at=THEN):
    return observed("autoscaling.group", "workers", at, file, desired=desired)


def test_files_that_contradict_each_other_are_both_in_the_account():
    older, newer = group(80, "groups.json"), group(60, "state.json", THEN + timedelta(days=1))
    seen = [*older, *newer]
    account = imported(ORDERS, seen)
    needed = next(item.proposal for item in account.outcomes if item.proposal.name == "fleets.workers.needed")
    assert needed.value == 60
    assert needed.note.startswith("groups.json says 80")
    (remark,) = cloud_conflicts(Inventory(tuple(seen)))
    assert (remark.kind, remark.file) == ("doubt", "state.json")
    for words in (
        "autoscaling.group workers, desired: 60 here",
        "80 in groups.json",
        "60 counts, since it was exported last",
    ):
        assert words in remark.text
    (same_day,) = cloud_conflicts(Inventory((*older, *group(60, "state.json"))))
    assert same_day.file == "groups.json"
    assert "80 counts, since of the same date, its file is given first" in same_day.text
    assert cloud_conflicts(Inventory((*older, *group(80, "state.json")))) == []


def test_a_mapping_is_matched_with_the_queue_that_it_reads():
    account = imported(ORDERS, mapping(cap=20))
    loaded = load_scenario_text(account.text, "orders.yaml")
    queue = loaded.scenario.queues["orders"]
    assert queue.drain_cap.concurrency == 20
    assert queue.resources.event_source_mapping == UUID
    assert fate(account, "queues.orders.service") == ("same", "")
    assert fate(account, "queues.orders.resources.function") == ("same", "")
    seen = standing(loaded, "queues.orders.drain_cap.concurrency")
    assert (seen.basis, seen.exported_at) == ("measured", THEN)
    assert seen.where == f"mappings.json {UUID}.maximum_concurrency"


def test_comments_and_hand_made_values_stay():
    observations = observed("sqs.queue", "orders", file="queue.json", retention_s=1_209_600, max_receive_count=5)
    account = imported(ORDERS, mapping(cap=20) + observations)
    assert fate(account, "queues.orders.retention") == ("kept", "a value made by hand stands there")
    assert "retention: 4 days\n" in account.text
    assert load_scenario_text(account.text, "orders.yaml").scenario.queues["orders"].max_receives == 5
    for line in ORDERS.splitlines():
        assert line in account.text.splitlines()


def test_a_newer_export_updates_what_an_import_wrote_and_nothing_else():
    first = imported(ORDERS, mapping(cap=20)).text
    second = imported(first, mapping(cap=30, at=THEN + timedelta(days=9)))
    assert fate(second, "queues.orders.drain_cap")[0] == "updated"
    loaded = load_scenario_text(second.text, "orders.yaml")
    assert loaded.scenario.queues["orders"].drain_cap.concurrency == 30
    assert standing(loaded, "queues.orders.drain_cap.concurrency").exported_at == THEN + timedelta(days=9)
    by_hand = second.text.replace("concurrency: 30", "concurrency: 25", 1)
    third = imported(by_hand, mapping(cap=40, at=THEN + timedelta(days=10)))
    assert fate(third, "queues.orders.drain_cap")[0] == "kept"
    assert (
        standing(load_scenario_text(third.text, "orders.yaml"), "queues.orders.drain_cap.concurrency").basis
        == "changed"
    )


def test_the_same_import_again_changes_nothing():
    once = imported(ORDERS, mapping(cap=20)).text
    again = imported(once, mapping(cap=20))
    assert again.text == once
    assert not again.changes


def test_a_cap_that_was_removed_since_is_seen():
    once = imported(ORDERS, mapping(cap=20)).text
    again = imported(once, mapping(cap=None, at=THEN + timedelta(days=1)))
    assert fate(again, "queues.orders.drain_cap")[0] == "updated"
    assert load_scenario_text(again.text, "orders.yaml").scenario.queues["orders"].drain_cap is None


def test_a_value_with_which_the_scenario_would_be_wrong_is_refused_with_the_reason():
    account = imported(ORDERS.replace("    item_time: 2 s\n", ""), mapping(cap=20))
    kind, reason = fate(account, "queues.orders.drain_cap")
    assert kind == "refused"
    assert "item_time is needed" in reason
    load_scenario_text(account.text, "orders.yaml")


def test_a_new_queue_is_held_back_until_its_rates_are_known():
    payments = observed(
        "lambda.mapping", "m2", function="arn:aws:lambda:eu-west-1:111122223333:function:payer", source_kind="sqs",
        event_source="arn:aws:sqs:eu-west-1:111122223333:payments",
    )  # fmt: skip
    account = imported(ORDERS, payments)
    assert fate(account, "queues.payments.service") == ("held", "queues.payments also needs arrival_rate, service_rate")
    assert account.text == ORDERS
    rates = [
        Proposal(("queues", "payments", "arrival_rate"), "300/min", "measured", "sent.json", "series 1", THEN),
        Proposal(("queues", "payments", "service_rate"), "500/min", "guessed"),
    ]
    inventory = Inventory(tuple(payments))
    account = fill(ORDERS, "orders.yaml", [*cloud_proposals(inventory, {}), *rates])
    loaded = load_scenario_text(account.text, "orders.yaml")
    assert loaded.scenario.queues["payments"].service == "sqs-lambda"
    assert standing(loaded, "queues.payments.service_rate").basis == "guessed"
    assert standing(loaded, "queues.payments.arrival_rate").basis == "measured"


def test_what_is_rejected_is_not_written():
    account = imported(ORDERS, mapping(cap=20), rejected={"queues.orders.drain_cap"})
    assert fate(account, "queues.orders.drain_cap")[0] == "rejected"
    assert "drain_cap" not in account.text


def test_of_two_exports_the_newer_counts_whatever_their_order():
    old, new = mapping(cap=20), mapping(cap=30, at=THEN + timedelta(days=1))
    texts = {imported(ORDERS, pair).text for pair in (old + new, new + old)}
    assert len(texts) == 1
    assert load_scenario_text(texts.pop(), "orders.yaml").scenario.queues["orders"].drain_cap.concurrency == 30


def test_streams_and_their_limits():
    text = ORDERS.replace(
        "queues:\n",
        "queues:\n  clicks:\n    service: stream-lambda\n    arrival_rate: 60/min\n    service_rate: 90/min\n"
        "    stream: { shards: 4, batch_size: 10, batch_time: 2 s }\n",
    )
    observations = observed(
        "lambda.mapping", "m3", event_source="arn:aws:kinesis:us-east-1:111122223333:stream/clicks", source_kind="kinesis",
        function="counter", max_record_age_s=-1, max_retry_attempts=-1, parallelization_factor=2, batch_size=100, on_failure=None,
    )  # fmt: skip
    account = imported(text, observations)
    queue = load_scenario_text(account.text, "orders.yaml").scenario.queues["clicks"]
    assert (queue.age_limit_min, queue.stream.retries, queue.stream.parallelisation) == (None, None, 2)
    assert fate(account, "queues.clicks.stream.batch_size")[0] == "kept"
    assert queue.on_failure_destination is None
    assert "age_limit: none" in account.text


def test_asynchronous_functions_by_name_or_by_their_resources():
    text = ORDERS.replace(
        "queues:\n",
        "queues:\n  mails:\n    service: lambda-async\n    arrival_rate: 60/min\n    service_rate: 90/min\n"
        "    resources: { function: mailer }\n",
    )
    observations = observed("lambda.async", "mailer", max_event_age_s=900, on_failure="arn:aws:sqs:::dead")
    account = imported(text, observations)
    queue = load_scenario_text(account.text, "orders.yaml").scenario.queues["mails"]
    assert (queue.age_limit_min, queue.on_failure_destination) == (15, "arn:aws:sqs:::dead")


def test_defaults_carry_their_published_source():
    text = ORDERS.replace("    retention: 4 days\n", "")
    observations = mapping() + observed("sqs.queue", "orders", basis="default", retention_s=345_600)
    account = imported(text, observations)
    seen = standing(load_scenario_text(account.text, "orders.yaml"), "queues.orders.retention")
    assert seen.basis == "default"
    assert seen.value == "4 days"


def test_a_fleet_takes_what_an_export_can_tell():
    observations = observed(
        "autoscaling.group", "checkout-api", desired=4000, in_service=3900, suspended_processes=("AZRebalance",)
    )
    account = imported(ORDERS, observations)
    # How many ran at the restore is not what an export of today shows, and both were written by hand.
    assert {item.proposal.name: item.fate for item in account.outcomes} == {
        "fleets.checkout-api.needed": "kept",
        "fleets.checkout-api.resources.auto_scaling_group": "same",
        "fleets.checkout-api.removal_automation": "kept",
    }
    assert not any("GroupInServiceInstances" in item.command for item in account.missing)
    elsewhere = imported(ORDERS, observed("autoscaling.group", "another", desired=4000, in_service=3900))
    assert any("GroupInServiceInstances" in item.command for item in elsewhere.missing)


def test_what_could_not_be_learned_comes_with_its_command():
    commands = [item.command for item in imported(ORDERS, mapping(cap=20)).missing]
    assert commands == [
        "aws sqs get-queue-attributes --queue-url QUEUE_URL_OF_ORDERS --attribute-names All --output json",
        "aws lambda get-function-concurrency --function-name order-worker --output json",
        "aws lambda list-functions --output json",
    ]


def test_what_a_cap_and_a_fleet_need_is_named_with_its_command():
    """A cap was refused for want of item_time, and nothing said how to learn it; a boot of 0 s was taken unsaid."""

    def lacking(text):
        group = observed("autoscaling.group", "checkout-api", desired=4000)
        return {item.name: item for item in imported(text, mapping(cap=20, batch_size=10) + group).missing}

    names = ("item_time", "boot_time")
    assert not [name for name in lacking(ORDERS) if any(word in name for word in names)]
    less = ORDERS.replace("    item_time: 2 s\n", "")
    boot = next(line for line in less.splitlines(keepends=True) if "boot_time" in line)
    found = lacking(less.replace(boot, ""))
    item = found["queue orders: item_time, the time that one item takes (an invocation takes up to 10 items)"]
    assert "cap of 20 at once" in item.why
    assert "--metric-name Duration --dimensions Name=FunctionName,Value=order-worker" in item.command
    start = found["fleet checkout-api: launch.boot_time, from launch to a running process"]
    assert "--set fleets.checkout-api.launch.boot_time=TIME" in start.why
    assert "describe-scaling-activities --auto-scaling-group-name checkout-api" in start.command


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(345_600, "4 days"), (86_400, "1 day"), (900, "15 min"), (90, "90 s"), (7200, "2 h"), (0.5, "0.5 s")],
)
def test_durations_in_whole_units(seconds, text):
    assert duration_text(seconds) == text


def test_the_headline_of_launches_says_that_no_time_to_boot_is_given():
    """After an import the delay of the network alone stood there as the time to boot and to be reachable."""
    line = "      boot_time: 120 s\n"
    assert ORDERS.count(line) == 1
    text = launches_answer(estimate(load_scenario_text(ORDERS, "orders.yaml"))).text
    assert "2.5 min to boot and to be reachable" in text
    text = launches_answer(estimate(load_scenario_text(ORDERS.replace(line, ""), "orders.yaml"))).text
    assert "to be reachable; no time to boot is given, so it is later than this" in text
    assert "; no time to boot is given" in " ".join(
        summary(estimate(load_scenario_text(ORDERS.replace(line, ""), "orders.yaml")))
    )
    given = ORDERS.replace(line, "      boot_time: 0 s\n")
    assert "to boot and to be reachable" in launches_answer(estimate(load_scenario_text(given, "orders.yaml"))).text
