"""What belongs together, what is said where nothing is known, and sums that a rule owes: by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from afterload.findings.audit.concurrency import shares
from afterload.findings.audit.links import is_address, tail
from afterload.readers.reading import Inventory

Make = Callable[..., Any]


class TestLinks:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("arn:aws:sqs:us-east-1:111122223333:orders", "orders"),
            ("https://sqs.us-east-1.amazonaws.com/111122223333/orders/", "orders"),
            ("arn:aws:lambda:us-east-1:111122223333:function:worker:live", "worker"),
            ("arn:aws:kinesis:us-east-1:111122223333:stream/frames", "frames"),
            ("plain name/with: odd parts", "plain name/with: odd parts"),
            ('module.a["x/y"].aws_sqs_queue.dead[0]', 'module.a["x/y"].aws_sqs_queue.dead[0]'),
            ("", ""),
            (None, ""),
        ],
    )
    def test_the_name_in_an_arn_or_url(self, name: str | None, expected: str) -> None:
        assert tail(name) == expected

    def test_addresses_of_terraform(self) -> None:
        assert is_address("aws_sqs_queue.orders")
        assert is_address('module.a.module.b[0].aws_lambda_function.f["k.v"]')
        assert not is_address("orders.fifo")
        assert not is_address("my aws_sqs_queue.orders")

    def test_a_mapping_is_found_by_function_and_queue(self, make: Make, rows: Any) -> None:
        names = {"function": "worker", "queue_url": rows.URL}
        exported = (rows.mapping("a" * 36, maximum_concurrency=100), rows.mapping("b" * 36, **rows.MAIL))
        made = make(rows.queue(resources=names), exported)
        assert made.one("cap-over-tested-rate").target == "queues.orders"

    def test_two_mappings_that_fit_are_asked_about(self, make: Make, rows: Any) -> None:
        exported = (
            rows.mapping(maximum_concurrency=100),
            rows.mapping(rows.OTHER, maximum_concurrency=100, **rows.MAIL),
        )
        made = make(rows.queue(resources={"function": "worker"}), exported)
        assert made.found("cap-over-tested-rate") == []
        [gap] = [gap for gap in made.audit.gaps if gap.rule == "no-drain-cap"]
        assert f"{rows.UUID}, {rows.OTHER} fit equally" in gap.missing

    def test_names_of_resources_are_not_guessed(self, make: Make, rows: Any) -> None:
        """A queue of the scenario that has the name of an exported one is not that one, unless resources say so."""
        made = make(rows.queue(resources=None), (rows.mapping(maximum_concurrency=None), rows.sqs(retention_s=9_000)))
        assert made.found("retention-short") == []
        unnamed = next(item for item in made.found("no-drain-cap") if item.target == f"mapping {rows.UUID}")
        assert unnamed.cost.amount is None
        assert f"resources.event_source_mapping: {rows.UUID}" in unnamed.cost.missing

    def test_the_newest_export_counts(self, make: Make, rows: Any) -> None:
        old = list(rows.observations([rows.mapping(maximum_concurrency=None)], "old.json"))
        later = old[0].origin.exported_at + timedelta(days=1)
        new = [
            replace(item, value=50, origin=replace(item.origin, file="new.json", exported_at=later))
            for item in old
            if item.attribute == "maximum_concurrency"
        ]
        for order in ((*old, *new), (*new, *old)):
            assert make(rows.queue(), Inventory(tuple(order))).found("no-drain-cap") == []

    def test_the_date_is_that_of_the_teams_zone(self, make: Make, rows: Any) -> None:
        early = [
            replace(item, origin=replace(item.origin, exported_at=item.origin.exported_at - timedelta(hours=4)))
            for item in rows.observations([rows.mapping(maximum_concurrency=None)])
        ]
        # 05:30 UTC is still the evening before in Los Angeles.
        assert "2026-07-31" in make(rows.queue(), Inventory(tuple(early))).one("no-drain-cap").where


class TestConcurrency:
    def test_an_uncapped_mapping_that_already_overloads_is_high(self, make: Make, rows: Any) -> None:
        item = make(rows.queue(service_rate="6,000/min"), (rows.mapping(maximum_concurrency=None),)).one("no-drain-cap")
        # 6,000/min of consumers, not the 30,000/min that the account's 1,000 at once could do, less 2,400/min.
        assert (item.severity, item.cost.amount) == ("high", pytest.approx(3_600))
        assert "Consumers drain at 6,000/min. table was tested to 3,000/min" in item.cost.words
        assert "2,400/min fit: 3,600/min too many" in item.cost.words
        assert (
            "in theory, by concurrency alone, they could reach 1,000 at once x 60 / 2 s = 30,000/min" in item.cost.words
        )

    def test_consumers_that_fit_cost_nothing_today_whatever_a_cap_would_allow(self, make: Make, rows: Any) -> None:
        for rule, cap in (("no-drain-cap", None), ("cap-over-tested-rate", 100)):
            item = make(rows.queue(), (rows.mapping(maximum_concurrency=cap),)).one(rule)
            assert (item.severity, item.cost.short) == ("medium", "0/min")
            assert "Consumers drain at 1,800/min, which fits" in item.cost.words
            assert "too many" not in item.cost.words
        assert "The cap would let through 100 at once x 60 / 2 s = 3,000/min." in item.cost.words

    def test_what_the_audit_and_the_plan_say_of_a_drain_is_one_number(self, make: Make, rows: Any) -> None:
        """55/s behind 58/s less 5/s: 3,300/min where 3,180/min fit, of a cap too high as of none."""
        fields = {"arrival_rate": "40/s", "service_rate": "55/s", "item_time": "300 ms"}
        parts = {**rows.queue(**fields), "dependencies": {"table": {"tested_rate": "58/s", "direct_rate": "5/s"}}}
        for rule, cap in (("no-drain-cap", None), ("cap-over-tested-rate", 900)):
            item = make(parts, (rows.mapping(maximum_concurrency=cap),)).one(rule)
            assert (item.severity, item.cost.short) == ("high", "120/min")
            assert "3,300/min" in item.cost.words

    def test_reserved_concurrency_bounds_what_consumers_do(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(maximum_concurrency=None), rows.function(reserved_concurrency=100))
        # 100 x 30 of 6,000/min, less 2,400.
        assert make(rows.queue(service_rate="6,000/min"), exported).one("no-drain-cap").cost.amount == pytest.approx(
            600
        )

    def test_reserved_concurrency_and_account_bound_the_ramp(self, make: Make, rows: Any) -> None:
        account = ("lambda.account", "account", {"concurrency": 3_000})
        item = make(rows.queue(), (account, rows.mapping(maximum_concurrency=None))).one("no-drain-cap")
        assert "1,250 at once x 60 / 2 s = 37,500/min, where its ramp ends" in item.cost.words
        exported = (account, rows.mapping(maximum_concurrency=None), rows.function(reserved_concurrency=200))
        item = make(rows.queue(), exported).one("no-drain-cap")
        assert "200 at once x 60 / 2 s = 6,000/min" in item.cost.words
        assert "the reserved concurrency of worker" in item.cost.words

    def test_a_reservation_that_fits_is_enough(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(maximum_concurrency=None), rows.function(reserved_concurrency=80))
        made = make(rows.queue(), exported)
        assert made.found("no-drain-cap") == []
        # But pollers then take more than may run: 1,250 - 80.
        assert made.one("caps-over-reserved").cost.amount == 1_170

    def test_advice_on_concurrency_shows_its_sum(self, make: Make, rows: Any) -> None:
        exported = (
            ("lambda.account", "account", {"concurrency": 1_000}),
            rows.mapping(maximum_concurrency=None),
            rows.function("billing", reserved_concurrency=300),
            rows.function("mail", reserved_concurrency=150),
        )
        quota = make(rows.queue(), exported).one("no-drain-cap").quota
        assert "the account has 1,000 concurrent executions (export.json" in quota
        assert "reserve 450 of them (billing 300, mail 150), which leaves 550" in quota
        assert "worker shares what is left" in quota
        alone = make(rows.queue(), exported[1:2]).one("no-drain-cap").quota
        assert "the service's default, not exported" in alone
        assert "no exported function reserves any" in alone

    def test_every_advice_on_concurrency_has_a_sum(self, make: Make, cases: dict[str, Any]) -> None:
        for rule in ("no-drain-cap", "cap-over-tested-rate", "caps-over-reserved", "caps-over-account",
                     "provisioned-with-cap", "function-stopped"):  # fmt: skip
            assert make(*cases[rule].fires).one(rule).quota.startswith("Quota: the account has")

    def test_caps_that_fit_alone_and_not_together(self, make: Make, rows: Any) -> None:
        mail = {**rows.QUEUE, "resources": {"event_source_mapping": rows.OTHER}}
        parts = {"queues": {"orders": rows.QUEUE, "mail": mail}, "dependencies": rows.DEPENDENCIES}
        made = make(parts, (rows.mapping(maximum_concurrency=60), rows.mapping(rows.OTHER, maximum_concurrency=40)))
        item = made.one("cap-over-tested-rate")
        # 60 x 30 + 40 x 30 - 2,400; shares of the room: 80 x 0.6 and 80 x 0.4.
        assert (item.target, item.cost.amount) == ("dependencies.table", pytest.approx(600))
        assert [command.rpartition("=")[2] for command in item.steps.apply] == ["48", "32"]
        assert [command.rpartition("=")[2] for command in item.steps.undo] == ["60", "40"]
        fits = make(parts, (rows.mapping(maximum_concurrency=48), rows.mapping(rows.OTHER, maximum_concurrency=32)))
        assert fits.found("cap-over-tested-rate") == []

    def test_a_cap_beside_a_queue_without_one_gets_its_part_of_the_room(self, make: Make, rows: Any) -> None:
        """1,800/min each share 2,400/min of room: 1,200/min each, 40 at once of 2 s."""
        mail = {**rows.QUEUE, "resources": {"event_source_mapping": rows.OTHER}}
        parts = {"queues": {"orders": rows.QUEUE, "mail": mail}, "dependencies": rows.DEPENDENCIES}
        made = make(parts, (rows.mapping(maximum_concurrency=60), rows.mapping(rows.OTHER, maximum_concurrency=None)))
        bare, over = made.one("no-drain-cap"), made.one("cap-over-tested-rate")
        assert (bare.target, over.target) == ("queues.mail", "queues.orders")
        assert over.cost.amount == pytest.approx(60 * 30 - 1_200)
        assert "2,400/min fit, of which its part beside mail is 1,200/min: 600/min too many" in over.cost.words
        assert [item.steps.apply[0].rpartition("=")[2] for item in (bare, over)] == ["40", "40"]
        # What an export shows of the other queue counts, not what the scenario says: 20 at once do 600/min of 2,400.
        shown = make(parts, (rows.mapping(maximum_concurrency=None), rows.mapping(rows.OTHER, maximum_concurrency=20)))
        assert shown.one("no-drain-cap").steps.apply[0].endswith("MaximumConcurrency=60")

    def test_pollers_are_a_cap_of_ten_each(self, make: Make, rows: Any) -> None:
        pollers = {"maximum_concurrency": None, "provisioned_minimum": 3, "provisioned_maximum": 12}
        made = make(rows.queue(), (rows.mapping(**pollers),))
        assert made.found("no-drain-cap") == []
        item = made.one("cap-over-tested-rate")
        # 80 at once are eight pollers.
        assert "The cap would let through 120 at once x 60 / 2 s = 3,600/min" in item.cost.words
        assert item.steps.apply[0].endswith("--provisioned-poller-config MinimumPollers=3,MaximumPollers=8")
        assert item.steps.undo[0].endswith("--provisioned-poller-config MinimumPollers=3,MaximumPollers=12")

    def test_pollers_cannot_be_fewer_than_two(self, make: Make, rows: Any) -> None:
        pollers = {"maximum_concurrency": None, "provisioned_minimum": 2, "provisioned_maximum": 12}
        # 2,400/min at 0.4 s an item: 16 at once.
        item = make(rows.queue(item_time="0.4 s"), (rows.mapping(**pollers),)).one("cap-over-tested-rate")
        assert item.steps.apply[0].endswith("--provisioned-poller-config '{}' --scaling-config MaximumConcurrency=16")
        parts = {**rows.queue(), "dependencies": {"table": {"tested_rate": "1,000/min", "direct_rate": "600/min"}}}
        item = make(parts, (rows.mapping(**pollers),)).one("cap-over-tested-rate")
        # 400/min x 2 s / 60 = 13 at once.
        assert item.steps.apply[0].endswith("--provisioned-poller-config '{}' --scaling-config MaximumConcurrency=13")

    def test_no_cap_is_advised_where_direct_traffic_leaves_no_room(self, make: Make, rows: Any) -> None:
        parts = {**rows.queue(), "dependencies": {"table": {"tested_rate": "600/min", "direct_rate": "600/min"}}}
        item = make(parts, (rows.mapping(maximum_concurrency=None),)).one("no-drain-cap")
        assert item.severity == "high"
        assert item.cost.amount == pytest.approx(1_800)
        assert all(line.startswith("# ") for line in item.steps.apply)

    @pytest.mark.parametrize(
        ("total", "wanted", "expected"),
        [
            (100, (60, 60), (50, 50)),
            (100, (300, 100), (75, 25)),
            (100, (1_000, 1), (98, 2)),
            (4, (50, 50), (2, 2)),
            (3, (50, 50), None),
        ],
    )
    def test_shares(self, total: int, wanted: tuple[int, ...], expected: tuple[int, ...] | None) -> None:
        assert shares(total, wanted) == expected

    def test_a_fifo_queue_is_not_asked_for_a_cap(self, make: Make, rows: Any) -> None:
        made = make(rows.queue(), (rows.mapping(maximum_concurrency=None), rows.sqs(fifo=True)))
        assert made.found("no-drain-cap") == []
        item = made.one("fifo-groups")
        assert item.severity == "low"
        assert "1,800/min x 2 s / 60 = 60 message groups" in item.cost.words
        binds = make(rows.queue(), (rows.mapping(maximum_concurrency=40), rows.sqs(fifo=True))).one("fifo-groups")
        assert binds.severity == "medium"
        assert "that would bind first" in binds.cost.words


class TestAsynchronousEvents:
    def test_a_function_that_nothing_invokes_asynchronously_needs_no_destination(self, make: Make, rows: Any) -> None:
        """Readers give the service's defaults for a function without a configuration, which is no sign of use."""
        default = [
            replace(item, origin=replace(item.origin, basis="default"))
            for item in rows.observations([rows.invoke("quiet", max_event_age_s=21_600, on_failure=None)])
        ]
        made = make(rows.queue(), Inventory((*default, *rows.observations([rows.function("quiet"), rows.mapping()]))))
        assert made.found("no-destination") == []
        assert made.found("async-age-default") == []

    def test_the_same_defaults_count_where_the_scenario_says_it_is_used(self, make: Make, rows: Any) -> None:
        default = [
            replace(item, origin=replace(item.origin, basis="default"))
            for item in rows.observations([rows.invoke(max_event_age_s=21_600, on_failure=None)])
        ]
        made = make(rows.ASYNC, Inventory(tuple(default)))
        assert "the service's own" in made.one("async-age-default").where
        item = made.one("no-destination")
        assert item.cost.amount == pytest.approx(202_800)
        assert item.steps.undo == ("aws lambda delete-function-event-invoke-config --function-name worker",)

    def test_a_configured_function_without_a_queue_of_the_scenario(self, make: Make, rows: Any) -> None:
        made = make(rows.queue(), (rows.mapping(), rows.invoke("thumbs", on_failure=None)))
        item = made.one("no-destination")
        assert (item.target, item.severity, item.cost.amount) == ("function thumbs", "low", None)
        assert item.cost.missing == "a queue of the scenario with resources.function: thumbs"

    @pytest.mark.parametrize(("retries", "lost"), [(0, 206_400), (1, 205_200), (2, 202_800)])
    def test_retries_of_a_failing_function_end_after_minutes(
        self, make: Make, rows: Any, retries: int, lost: float
    ) -> None:
        """1,200/min x (172 - 0, 1 and 1 + 2 min)."""
        made = make(rows.ASYNC, (rows.invoke(max_retry_attempts=retries, on_failure=None),))
        assert made.one("no-destination").cost.amount == pytest.approx(lost)

    def test_a_short_age_limit_loses_more_than_retries(self, make: Make, rows: Any) -> None:
        # 15 min old at most: 188,400 of 206,400 expire, less than retries lose.
        item = make(rows.ASYNC, (rows.invoke(on_failure=None),)).one("no-destination")
        assert "the age limit acts: 188,400 items" in item.cost.words

    def test_a_destination_for_successes_stays(self, make: Make, rows: Any) -> None:
        item = make(rows.ASYNC, (rows.invoke(on_failure=None, on_success=rows.QUEUE_ARN),)).one("no-destination")
        for command in (*item.steps.apply, *item.steps.undo):
            assert f'"OnSuccess":{{"Destination":"{rows.QUEUE_ARN}"}}' in command

    def test_without_the_age_at_which_work_goes_stale_it_is_asked_for(self, make: Make, rows: Any) -> None:
        item = make(rows.queue(service="lambda-async"), (rows.invoke(max_event_age_s=21_600),)).one("async-age-default")
        assert (item.severity, item.cost.amount, item.cost.missing) == ("low", None, "queues.orders.goes_stale_after")


class TestStreams:
    def test_retries_that_end_in_the_outage_give_up_its_records(self, make: Make, rows: Any) -> None:
        item = make(rows.STREAM, (rows.stream(on_failure=None, max_record_age_s=None),)).one("no-destination")
        # Four tries of 1 s: 1,200/min x (172 - 4 / 60) min.
        assert item.cost.amount == pytest.approx(206_320)
        assert "not the records" in item.note

    def test_endless_retries_give_up_nothing(self, make: Make, rows: Any) -> None:
        endless = rows.stream(on_failure=None, max_record_age_s=None, max_retry_attempts=None)
        assert make(rows.STREAM, (endless,)).found("no-destination") == []

    def test_what_piles_up_behind_a_record_that_always_fails(self, make: Make, cases: dict[str, Any]) -> None:
        item = make(*cases["stream-retries-endless"].fires).one("stream-retries-endless")
        # A quarter of 1,200/min for 1,440 min.
        assert "432,000 records pile up behind it on the busiest shard, at 300/min" in item.cost.words
        # Twice the outage of 172 min, so that the outage itself does not use up the age.
        assert item.steps.apply[0].endswith("--maximum-record-age-in-seconds 20640 --bisect-batch-on-function-error")
        assert item.steps.undo[0].endswith("--maximum-record-age-in-seconds -1 --no-bisect-batch-on-function-error")

    def test_a_negative_age_means_none(self, make: Make, rows: Any) -> None:
        minus = rows.stream(max_retry_attempts=-1, max_record_age_s=-1)
        assert make(rows.STREAM, (minus,)).one("stream-retries-endless").severity == "medium"


class TestDeadLetters:
    def test_receives_are_raised_until_they_last(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(), rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30), rows.dead())
        item = make(rows.queue(), exported).one("receives-low")
        # 345 x 30 s = 172.5 min is the first that is longer than 172 min.
        assert '"maxReceiveCount\\": 345' in item.steps.apply[0]
        assert '"maxReceiveCount\\": 5}' in item.steps.undo[0]
        again = (exported[0], rows.sqs(**rows.SOURCE, max_receive_count=345, visibility_timeout_s=30), exported[2])
        assert make(rows.queue(), again).found("receives-low") == []
        short = (exported[0], rows.sqs(**rows.SOURCE, max_receive_count=344, visibility_timeout_s=30), exported[2])
        assert make(rows.queue(), short).found("receives-low") == []

    def test_where_receives_alone_do_not_last_they_come_further_apart(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(), rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=5), rows.dead())
        item = make(rows.queue(), exported).one("receives-low")
        # 10,320 s / 1,000 receives: 11 s.
        assert '"VisibilityTimeout":"11"' in item.steps.apply[0]
        assert '"VisibilityTimeout":"5"' in item.steps.undo[0]

    def test_a_paused_consumer_receives_nothing(self, make: Make, rows: Any) -> None:
        queue = rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30)
        made = make(rows.queue(), (rows.mapping(state="Disabled"), queue, rows.dead()))
        assert made.found("receives-low") == []

    def test_work_that_is_refused_in_the_outage_is_not_received(self, make: Make, rows: Any) -> None:
        queue = rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30)
        assert (
            make(rows.queue(during_outage="reject"), (rows.mapping(), queue, rows.dead())).found("receives-low") == []
        )

    def test_redriving_what_the_outage_dead_letters(self, make: Make, rows: Any) -> None:
        queue = rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30)
        item = make(rows.queue(), (rows.mapping(), queue, rows.dead())).one("redrive-rate")
        # 203,400 / 600 spare a minute = 339 min, more than the objective of 240; 10 a second is what is spare.
        assert (item.severity, item.cost.amount) == ("high", pytest.approx(339))
        assert item.steps.apply[0].endswith("--max-number-of-messages-per-second 10")
        assert "203,400 items / 500 a second = 6.78 min" in item.cost.words

    def test_the_services_rate_binds_where_consumers_have_more_to_spare(self, make: Make, rows: Any) -> None:
        parts = rows.queue(service_rate="90,000/min", dependency=None)
        exported = (rows.mapping(maximum_concurrency=None), rows.sqs(**rows.SOURCE, max_receive_count=1_000),
                    rows.dead(approximate_messages=9_000_000))  # fmt: skip
        item = make(parts, exported).one("redrive-rate")
        # 9,000,000 / 30,000 a minute.
        assert item.cost.amount == pytest.approx(300)
        assert item.steps.apply[0].endswith("--max-number-of-messages-per-second 500")

    def test_a_redrive_is_within_the_part_of_the_room(self, make: Make, rows: Any) -> None:
        """6,000/min each share 3,600/min of room: 1,800/min, less 1,200/min of new work are 10 a second."""
        mail = {**rows.QUEUE, "service_rate": "6,000/min", "resources": {"event_source_mapping": rows.OTHER}}
        orders = {**rows.QUEUE, "service_rate": "6,000/min"}
        parts = {"queues": {"orders": orders, "mail": mail},
                 "dependencies": {"table": {"tested_rate": "4,200/min", "direct_rate": "600/min"}}}  # fmt: skip
        exported = (rows.mapping(maximum_concurrency=None), rows.sqs(**rows.SOURCE, max_receive_count=1_000),
                    rows.dead(approximate_messages=90_000))  # fmt: skip
        item = make(parts, exported).one("redrive-rate")
        assert item.cost.amount == pytest.approx(90_000 / 600)
        assert "Within the tested rate of table the queue has 600/min to spare" in item.cost.words
        assert item.steps.apply[0].endswith("--max-number-of-messages-per-second 10")

    def test_consumers_with_nothing_to_spare(self, make: Make, rows: Any) -> None:
        exported = (
            rows.mapping(),
            rows.sqs(**rows.SOURCE, max_receive_count=1_000),
            rows.dead(approximate_messages=900),
        )
        item = make(rows.queue(service_rate="1,200/min"), exported).one("redrive-rate")
        assert item.severity == "high"
        assert "nothing to spare" in item.cost.words
        assert item.steps.apply[0].endswith("--max-number-of-messages-per-second 1")

    def test_visibility_between_one_and_six_time_outs_is_little(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(), rows.function(timeout_s=60), rows.sqs(visibility_timeout_s=180))
        item = make(rows.queue(), exported).one("visibility-short")
        assert (item.severity, item.cost.amount) == ("low", 0)
        assert "A batch fits in 3 times" in item.cost.words
        assert '"VisibilityTimeout":"360"' in item.steps.apply[0]
        assert "advice, not a limit" in item.note

    def test_a_message_is_shown_again_for_each_visibility_timeout_in_a_time_out(self, make: Make, rows: Any) -> None:
        exported = (rows.mapping(), rows.function(timeout_s=900), rows.sqs(visibility_timeout_s=120))
        # 120, 240, ... 840 s: seven more times.
        assert make(rows.queue(), exported).one("visibility-short").cost.amount == pytest.approx(7 * 206_400)


class TestRetention:
    def test_near_retention_is_said_with_what_is_left(self, make: Make, rows: Any) -> None:
        item = make(rows.queue(), (rows.mapping(), rows.sqs(retention_s=12_000))).one("retention-short")
        # 172 min of 200 are more than 80 %.
        assert (item.severity, item.cost.amount) == ("medium", 0)
        assert "with 28 min to spare" in item.cost.words

    def test_a_backlog_that_never_drains_reaches_any_retention(self, make: Make, rows: Any) -> None:
        item = make(rows.queue(service_rate="1,000/min"), (rows.mapping(), rows.sqs())).one("retention-short")
        assert item.severity == "high"
        # Its head ages by 1 - 1,000/1,200 of a minute in each, from 172 min at the restore on: (5,760 - 172) x 6 min.
        assert "200/min from 23 days 6 h 48 min after the restore on are lost" in item.cost.words

    def test_the_exported_retention_counts_and_not_the_stated_one(self, make: Make, rows: Any) -> None:
        made = make(rows.queue(retention="4 days"), (rows.mapping(), rows.sqs(retention_s=9_000)))
        assert made.one("retention-short").cost.amount == pytest.approx(26_400)
        differs = made.one("scenario-differs")
        assert "retention is 4 days in the scenario and 2 h 30 min in the export" in differs.seen


class TestGroups:
    def test_scale_in_cannot_act_where_the_minimum_runs(self, make: Make, rows: Any) -> None:
        exported = (rows.group(suspended_processes=(), minimum=600),)
        item = make(rows.fleet(), exported).one("removal-active")
        assert item.seen == "can run while launches fail: ReplaceUnhealthy, AZRebalance, ScheduledActions"

    def test_an_empty_group_loses_nothing(self, make: Make, rows: Any) -> None:
        exported = (rows.group(suspended_processes=(), in_service=0, health_check_types=("EC2", "ELB")),)
        made = make(rows.fleet(running=0), exported)
        assert made.found("removal-active") == []
        assert made.found("elb-health-check") == []

    def test_terraform_keeps_what_is_suspended_already(self, make: Make, rows: Any) -> None:
        exported = [
            replace(item, origin=replace(item.origin, place=f"aws_autoscaling_group.web.{item.attribute}"))
            for item in rows.observations([rows.group(suspended_processes=("AZRebalance",))])
        ]
        item = make(rows.fleet(), Inventory(tuple(exported))).one("removal-active")
        names = '"AZRebalance", "ReplaceUnhealthy", "Terminate", "AlarmNotification", "ScheduledActions", "HealthCheck"'
        assert f"suspended_processes = [{names}]" in item.steps.apply
        assert 'suspended_processes = ["AZRebalance"]' in item.steps.undo

    @pytest.mark.parametrize("name", ["elb-health-check", "capacity-rebalance"])
    def test_advice_against_scanners_says_so(self, make: Make, cases: dict[str, Any], name: str) -> None:
        assert "Scanners of good practice advise the opposite" in make(*cases[name].fires).one(name).note

    def test_a_threshold_at_which_the_healthy_ones_can_carry_the_load(self, make: Make, rows: Any) -> None:
        exported = (rows.group(), rows.targets(**rows.DEFAULTS))
        item = make(rows.fleet(needed=420), exported).one("target-group-thresholds")
        # Fewer than 420 of 600, 70 %, cannot.
        assert "percentage,Value=70 " in item.steps.apply[0]
        unknown = make(rows.fleet(), exported).one("target-group-thresholds")
        assert "Value=PERCENT" in unknown.steps.apply[0]

    def test_dns_below_routing(self, make: Make, rows: Any) -> None:
        item = make(rows.fleet(), (rows.group(), rows.targets(dns_minimum_percentage=40))).one(
            "target-group-thresholds"
        )
        assert item.seen == "DNS failover at 40 % of healthy targets, below routing at 50 %"

    def test_a_target_group_of_no_known_group(self, make: Make, rows: Any) -> None:
        item = make(rows.fleet(), (rows.targets(**rows.DEFAULTS),)).one("target-group-thresholds")
        assert (item.severity, item.cost.amount) == ("low", None)
        assert "Auto Scaling group of this target group" in item.cost.missing


class TestRetries:
    def test_waves_of_the_default_retry(self, make: Make, rows: Any) -> None:
        item = make(rows.queue(), (rows.retry(jitter=None),)).one("states-without-jitter")
        # 1 s, then 2, then 4.
        assert "1, 3, 7 s later" in item.cost.words
        capped = make(rows.queue(), (rows.retry(jitter="NONE", max_delay_s=2),)).one("states-without-jitter")
        assert "1, 3, 5 s later" in capped.cost.words

    def test_a_mode_that_only_the_version_tells(self, make: Make, rows: Any) -> None:
        parts = rows.client()
        del parts["clients"]["c"]["version"]
        item = make(parts).one("legacy-retries")
        assert item.severity == "low"
        assert "if its version is an old one" in item.seen

    def test_the_environment_of_a_function(self, make: Make, rows: Any) -> None:
        legacy = rows.function(aws_retry_mode="legacy", runtime="python3.12")
        item = make(rows.queue(), (legacy, rows.mapping())).one("legacy-retries")
        assert (item.target, item.cost.amount) == ("function worker", 5)
        set_there = rows.function(aws_retry_mode="legacy", aws_max_attempts=2, runtime="nodejs22.x")
        assert make(rows.queue(), (set_there, rows.mapping())).one("legacy-retries").cost.amount == 2
        other = rows.function(aws_retry_mode="legacy", runtime="nodejs22.x")
        assert make(rows.queue(), (other, rows.mapping())).one("legacy-retries").cost.amount is None
        once = rows.function(aws_retry_mode="legacy", aws_max_attempts=1, runtime="python3.12")
        assert make(rows.queue(), (once, rows.mapping())).found("legacy-retries") == []

    def test_hidden_capacity_of_legacy_clients(self, make: Make, rows: Any) -> None:
        item = make(rows.client()).one("legacy-retries")
        assert "only below 3,000/min / 5 = 600/min; with 3 attempts below 1,000/min" in item.cost.words

    def test_a_fleet_holds_a_burst_for_each_client(self, make: Make, rows: Any) -> None:
        """Observed on botocore: 35 transient or 100 throttling retries of 500 tokens."""
        item = make(rows.client(version="1.44.8", number=1_000)).one("full-buckets")
        assert "1,000 x 35 = 35,000 retries of transient errors" in item.cost.words
        assert "1,000 x 100 = 100,000 of throttling" in item.cost.words

    def test_keys_are_compared_with_what_the_scenario_says_of_replays(self, make: Make, rows: Any) -> None:
        item = make(rows.keys(1_440, 5_760), (rows.mapping(),)).one("key-life-short")
        # 96 h of work and keys of 24 h.
        assert item.cost.amount == pytest.approx(4_320)
        assert make(rows.keys(1_440), (rows.mapping(),)).found("key-life-short") == []


class TestStates:
    @pytest.mark.parametrize(
        ("state", "severity"), [("Updating", "info"), ("Creating", "info"), ("Deleting", "info"), ("Odd", "low")]
    )
    def test_states_that_are_not_settled(self, make: Make, rows: Any, state: str, severity: str) -> None:
        assert make(rows.queue(), (rows.mapping(state=state),)).one("mapping-state").severity == severity

    def test_a_state_that_is_not_exported_is_a_gap(self, make: Make, rows: Any) -> None:
        kind, name, given = rows.mapping()
        del given["state"]
        made = make(rows.queue(), ((kind, name, given),))
        [gap] = [gap for gap in made.audit.gaps if gap.rule == "mapping-state"]
        assert gap.command == f"aws lambda get-event-source-mapping --uuid {rows.UUID}"

    def test_an_unset_cap_and_an_unexported_one_are_two_things(self, make: Make, rows: Any) -> None:
        kind, name, given = rows.mapping()
        for attribute in ("maximum_concurrency", "provisioned_minimum", "provisioned_maximum"):
            del given[attribute]
        made = make(rows.queue(), ((kind, name, given),))
        assert made.found("no-drain-cap") == []
        assert [gap.missing for gap in made.audit.gaps if gap.rule == "no-drain-cap"] == [
            "ScalingConfig of its mapping"
        ]


class TestScenarioAlone:
    def test_it_says_that_nothing_is_exported(self, make: Make, rows: Any) -> None:
        parts = {**rows.queue(), **rows.fleet(removal_automation=["ReplaceUnhealthy"])}
        made = make(parts)
        assert made.one("no-drain-cap").where == "not exported, and not in the scenario"
        assert made.one("removal-active").where == "t.yaml line 1; not exported"
        assert {item.rule for item in made.audit.findings} == {"no-drain-cap", "removal-active"}

    def test_what_is_not_exported_is_listed_once_with_its_command(self, make: Make, rows: Any) -> None:
        gaps = make({**rows.queue(), **rows.fleet(removal_automation=[])}).audit.gaps
        assert {(gap.rule, gap.missing.partition(",")[0]) for gap in gaps} == {
            ("exports", "event source mappings"), ("exports", "functions"), ("exports", "concurrency of the account"),
            ("exports", "queue"), ("exports", "Auto Scaling groups"), ("exports", "target groups"),
        }  # fmt: skip
        queue = next(gap for gap in gaps if gap.missing.startswith("queue,"))
        assert queue.command == f"aws sqs get-queue-attributes --queue-url {rows.URL} --attribute-names All"
        asynchronous = {gap.missing for gap in make(rows.ASYNC).audit.gaps}
        assert "asynchronous configuration" in asynchronous
        assert "event source mappings" not in asynchronous
        assert make(rows.client()).audit.gaps == ()

    def test_a_queue_that_is_left_out_of_the_exports(self, make: Make, rows: Any) -> None:
        made = make(rows.queue(), (rows.mapping(), rows.sqs("another")))
        assert [gap.target for gap in made.audit.gaps if gap.rule == "receives-low"] == ["queues.orders"]

    def test_a_cap_in_the_scenario_counts(self, make: Make, rows: Any) -> None:
        assert make(rows.queue(drain_cap={"concurrency": 80})).found("no-drain-cap") == []
        item = make(rows.queue(drain_cap={"concurrency": 100})).one("cap-over-tested-rate")
        assert "100 at once x 60 / 2 s = 3,000/min" in item.cost.words
        assert item.where == "t.yaml line 1; not exported"

    def test_nothing_about_lambda_is_said_of_other_queues(self, make: Make, rows: Any) -> None:
        assert make(rows.queue(service=None)).audit.findings == ()
