"""Queues from YAML to result, against closed forms worked out by hand.

The rows of the reference table are those of the planning guide's worked examples and of the published summary of the
event of October 2025.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from afterload.errors import ApproximationWarning, LowerBoundWarning, MissingEvidenceWarning
from afterload.estimates import Estimates, QueueEstimate
from afterload.model.caps import implied_headroom

Results = Callable[..., Estimates]
GUIDE = """\
dependencies:
  table: {tested_rate: "3,000/min", direct_rate: 600/min}
queues:
  q:
    arrival_rate: 1,200/min
    service_rate: 1,800/min
    item_time: 2 s
    dependency: table
"""


# A dependency that bears far more than it was tested to: no drain pushes it down.
BORNE = "dependencies.table.capacity=1,000,000/min"


def one(results: Results, *overrides: str, body: str = GUIDE, **head: str) -> QueueEstimate:
    return results(body, *overrides, **head).queues["q"]


def texts(item: QueueEstimate) -> list[str]:
    return [doubt.text for doubt in item.doubts]


def test_the_guides_worked_example(results: Results) -> None:
    item = one(results)
    assert item.recovery.backlog_at_restore == pytest.approx(206_400)
    assert item.drain_min == pytest.approx(344)
    assert item.fresh_age_back_min == pytest.approx(344)
    assert item.stale_min == pytest.approx(516)
    assert item.recovery.peak_backlog == pytest.approx(206_400)
    assert item.recovery.max_age_min == pytest.approx(172)
    assert (item.expired_recorded, item.lost, item.rejected) == (0, 0, 0)
    assert item.catch_up_rate_per_min == pytest.approx(1_200 + 206_400 / 240)
    assert item.doubts == ()


@pytest.mark.parametrize("rate", ["1/min", "500/min", "90,000/h", "7/s"])
def test_an_hour_at_twice_the_rate_takes_another_hour_whatever_the_rate(results: Results, rate: str) -> None:
    twice = {"1/min": "2/min", "500/min": "1,000/min", "90,000/h": "180,000/h", "7/s": "14/s"}[rate]
    body = f'queues: {{q: {{arrival_rate: "{rate}", service_rate: "{twice}"}}}}\n'
    assert one(results, body=body, restored_at="2025-10-20T01:00Z").drain_min == pytest.approx(60)


@pytest.mark.parametrize(("sink", "recorded", "lost"), [("", 0, 188_400), ("somewhere", 188_400, 0)])
def test_an_age_limit_of_15_min(results: Results, sink: str, recorded: float, lost: float) -> None:
    changes = ["queues.q.age_limit=15 min", *([f"queues.q.on_failure_destination={sink}"] if sink else [])]
    item = one(results, *changes)
    assert item.recovery.backlog_at_restore == pytest.approx(18_000)
    assert item.recovery.expired == pytest.approx(188_400)
    assert item.drain_min == pytest.approx(30)
    assert item.expired_recorded == pytest.approx(recorded)
    assert item.lost == pytest.approx(lost)


@pytest.mark.parametrize("service", [1, 600, 1199, 1200])
@pytest.mark.parametrize("objective", [10, 60, 240, 1000])
def test_never_comes_with_the_catch_up_rate(results: Results, service: int, objective: int) -> None:
    item = one(results, f"queues.q.service_rate={service}/min", objective=f"{objective} min")
    assert (item.drain_min, item.fresh_age_back_min, item.stale_min) == (None, None, None)
    assert item.catch_up_rate_per_min == pytest.approx(1_200 + 206_400 / objective)
    # The rate is exact: with it the backlog is gone in just that time.
    again = one(
        results, f"queues.q.service_rate_per_min={item.catch_up_rate_per_min!r}", BORNE, objective=f"{objective} min"
    )
    assert again.drain_min == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize(
    ("service", "cap", "drain", "overloads"),
    [
        ("1,800/min", None, 344, False),
        ("1,800/min", 80, 344, False),
        ("6,000/min", None, 43, True),
        ("6,000/min", 80, 172, False),
        ("6,000/min", 81, 206_400 / (2_430 - 1_200), True),
        ("6,000/min", 41, 206_400 / 30, False),
        ("6,000/min", 40, None, False),
    ],
)
def test_the_drain_cap(results: Results, service: str, cap: int | None, drain: float | None, overloads: bool) -> None:
    changes = [BORNE, f"queues.q.service_rate={service}", *([f"queues.q.drain_cap.concurrency={cap}"] if cap else [])]
    item = one(results, *changes)
    assert item.cap is not None
    assert (item.cap.safe_concurrency, item.cap.safe_rate_per_min, item.cap.room_per_min) == (80, 2_400, 2_400)
    assert item.cap.overloads is overloads
    assert item.drain_min == (None if drain is None else pytest.approx(drain))


def test_control_traffic_goes_first_in_the_drain_cap_too(results: Results) -> None:
    # 3,000 - 600 - 90 leave 2,310/min; 77 at once of 2 s each are 2,310/min.
    item = one(results, "dependencies.table.control_rate=90/min")
    assert item.cap is not None
    assert (item.cap.safe_concurrency, item.cap.safe_rate_per_min, item.cap.room_per_min) == (77, 2_310, 2_310)
    assert item.cap.beside_words == "600/min of direct traffic and 90/min of control traffic"


def test_an_uncapped_ramp_passes_the_room_after_15_s(results: Results) -> None:
    for change in ("queues.q.service=sqs-lambda", "queues.q.ramp=lambda-sqs"):
        item = one(results, "queues.q.service_rate=6,000/min", change)
        assert item.cap is not None
        assert item.cap.ramp_passes_room_after_s == pytest.approx(15)
    slow = one(results, "queues.q.ramp={start: 5, per_min: 300, ceiling: 80}", "queues.q.service_rate=6,000/min")
    assert slow.cap is not None
    assert slow.cap.ramp_passes_room_after_s is None
    assert slow.cap.drain_rate_per_min == 2_400
    assert not slow.cap.overloads
    no_ramp = one(results)
    assert no_ramp.cap is not None
    assert no_ramp.cap.ramp_passes_room_after_s is None


def test_a_ramp_delays_the_drain_by_what_it_does_not_serve(results: Results) -> None:
    plain = one(results, "queues.q.service_rate=2,400/min")
    item = one(results, "queues.q.service_rate=2,400/min", "queues.q.ramp=lambda-sqs")
    # From 5 to 80 at once in 0.25 min: half of the difference, 37.5 x 30 a minute, is missed for 0.25 min.
    missed = 0.25 * (2_400 - 150) / 2
    assert plain.drain_min == pytest.approx(172)
    assert item.drain_min == pytest.approx(172 + missed / 1_200)


def test_the_published_event_implies_its_headroom(results: Results) -> None:
    headroom = implied_headroom(289, 80)
    assert headroom == pytest.approx(4.6125)
    body = f"queues: {{q: {{arrival_rate: 100/min, service_rate_per_min: {100 * headroom}}}}}\n"
    item = one(results, body=body, trigger="2025-10-19T23:51-07:00", restored_at="2025-10-20T04:40-07:00")
    assert item.drain_min == pytest.approx(80)


def test_nobody_tells_what_a_cap_needs(results: Results) -> None:
    assert one(results, body="queues: {q: {arrival_rate: 1/min, service_rate: 2/min}}\n").cap is None
    item = one(results, "queues.q.item_time=none")
    assert item.cap is not None
    assert (item.cap.safe_concurrency, item.cap.safe_rate_per_min) == (None, None)
    assert item.cap.room_per_min == 2_400
    full = one(results, "dependencies.table.direct_rate=3,500/min")
    assert full.cap is not None
    assert (full.cap.room_per_min, full.cap.safe_concurrency, full.cap.safe_rate_per_min) == (0, 0, 0)
    assert full.cap.overloads


def test_partial_service_is_kept(results: Results) -> None:
    item = one(results, "queues.q.served_in_outage=200/min")
    assert item.recovery.backlog_at_restore == pytest.approx(172_000)
    assert item.drain_min == pytest.approx(172_000 / 600)
    # Oldest first: what has not been served is the last 1,000/1,200 of the outage.
    assert item.recovery.max_age_min == pytest.approx(172 * 1_000 / 1_200)
    enough = one(results, "queues.q.served_in_outage=1,300/min")
    assert (enough.recovery.backlog_at_restore, enough.drain_min, enough.stale_min) == (0, 0, 0)


def test_what_waited_before_the_trigger_adds_to_the_backlog(results: Results) -> None:
    item = one(results, "queues.q.backlog_before=6000")
    assert item.recovery.backlog_at_restore == pytest.approx(212_400)
    assert item.drain_min == pytest.approx(354)


def test_a_superseded_share_and_a_deadline_take_work_off(results: Results) -> None:
    dropped = one(results, "queues.q.superseded_share=25 %")
    assert dropped.recovery.superseded == pytest.approx(51_600)
    assert dropped.drain_min == pytest.approx(154_800 / 600)
    late = one(results, "queues.q.deadline=20 min")
    assert late.recovery.discarded_past_deadline == pytest.approx(1_200 * 152)
    assert late.drain_min == pytest.approx(40)


class TestRejecting:
    def test_a_rejecting_queue_has_nothing_to_drain(self, results: Results) -> None:
        item = one(results, "queues.q.during_outage=reject")
        assert item.rejected == pytest.approx(206_400)
        assert (item.recovery.backlog_at_restore, item.drain_min, item.stale_min) == (0, 0, 0)
        assert [(doubt.kind, doubt.word) for doubt in item.doubts] == [(LowerBoundWarning, "Lower bound")]
        assert "new attempts" in item.doubts[0].text

    def test_what_is_still_served_is_not_rejected(self, results: Results) -> None:
        item = one(results, "queues.q.during_outage=reject", "queues.q.served_in_outage=300/min")
        assert item.rejected == pytest.approx(900 * 172)

    def test_a_quiet_hour_does_not_make_up_for_a_busy_one(self, results: Results) -> None:
        hours = [0, 1000, 400] + [10] * 21
        body = (
            f"queues: {{q: {{arrival_rate: {{hour_of_day_per_min: {hours}}}, service_rate: 5000/min, "
            "during_outage: reject, served_in_outage: 500/min}}\n"
        )
        item = one(results, body=body)
        # 00:00 to 02:52: nothing, then 1,000 against 500 for an hour, then 400 against 500.
        assert item.rejected == pytest.approx(500 * 60)
        # The restore finds the rate of its own hour: 400/min for 8 min, then 10/min.
        assert item.load.arrivals.rates_per_min[:2] == (400, 10)
        assert item.load.arrivals.edges_min[:2] == (0, 8)


class TestDefaults:
    def test_an_asynchronous_invocation_has_six_hours(self, results: Results) -> None:
        body = "queues: {q: {service: lambda-async, arrival_rate: 10/min, service_rate: 20/min}}\n"
        item = one(results, body=body, trigger="2025-10-19T00:00Z", restored_at="2025-10-19T10:00Z")
        assert item.load.max_age_min == 360
        assert item.recovery.expired == pytest.approx(10 * 240)
        assert item.recovery.backlog_at_restore == pytest.approx(3_600)
        assert item.lost == pytest.approx(2_400)
        assert [doubt.kind for doubt in item.doubts] == [MissingEvidenceWarning]
        assert "default of 6 h" in item.doubts[0].text
        given = one(results, "queues.q.age_limit=1 h", body=body)
        assert given.load.max_age_min == 60
        assert given.doubts == ()

    def test_an_sqs_queue_keeps_four_days(self, results: Results) -> None:
        body = "queues: {q: {service: sqs-lambda, arrival_rate: 10/min, service_rate: 20/min}}\n"
        item = one(results, body=body)
        assert item.load.retention_min == 4 * 1440
        assert [(doubt.kind, doubt.word) for doubt in item.doubts] == [(MissingEvidenceWarning, "Default used")]
        assert "4 days" in item.doubts[0].text
        assert one(results, "queues.q.retention=14 days", body=body).doubts == ()

    @pytest.mark.parametrize("service", ["other", "stream-lambda"])
    def test_other_queues_get_neither(self, results: Results, service: str) -> None:
        item = one(results, f"queues.q.service={service}")
        assert (item.load.max_age_min, item.load.retention_min) == (None, None)

    def test_fresh_first_without_a_threshold_sets_all_aside(self, results: Results) -> None:
        item = one(results, "queues.q.order=fresh_first")
        assert item.fresh_age_back_min == pytest.approx(0, abs=1e-9)
        assert item.drain_min == pytest.approx(344)
        assert [doubt.kind for doubt in item.doubts] == [MissingEvidenceWarning]
        ten = one(results, "queues.q.order=fresh_first", "queues.q.sideline_after=10 min")
        assert ten.fresh_age_back_min == pytest.approx(1_200 * 10 / 600)
        assert ten.drain_min == pytest.approx(344)
        assert ten.doubts == ()
        assert one(results, "queues.q.order=lifo").fresh_age_back_min == pytest.approx(0, abs=1e-9)


class TestRetention:
    # The oldest work waits 172 min.
    @pytest.mark.parametrize(("retention", "kind"), [(171, "lost"), (173, "near"), (214, "near"), (216, None)])
    def test_the_doubt_comes_near_retention(self, results: Results, retention: int, kind: str | None) -> None:
        item = one(results, f"queues.q.retention={retention} min")
        found = {"lost": LowerBoundWarning, "near": ApproximationWarning, None: None}[kind]
        assert [doubt.kind for doubt in item.doubts] == ([] if found is None else [found])
        assert item.lost == pytest.approx(1_200 if kind == "lost" else 0)

    @pytest.mark.parametrize("limit", ["retention=6 h", "age_limit=6 h"])
    def test_what_a_backlog_without_end_loses_in_the_end_is_a_rate(self, results: Results, limit: str) -> None:
        item = one(results, "queues.q.service_rate=1,000/min", f"queues.q.{limit}")
        assert item.drain_min is None
        # Its head ages by a sixth of a minute in each, from 172 min at the restore to 360.
        assert item.recovery.lost_per_min == pytest.approx(200)
        assert item.recovery.holds_from_min == pytest.approx((360 - 172) * 6, abs=1.0)
        assert one(results, "queues.q.service_rate=1,000/min").doubts == ()


STREAM = """\
queues:
  q:
    service: stream-lambda
    arrival_rate: 1,200/min
    service_rate: 1,800/min
    stream: {shards: 10, batch_size: 100, batch_time: 20 s}
"""


class TestStream:
    def test_an_even_spread_is_the_queue_itself(self, results: Results) -> None:
        item = one(results, body=STREAM)
        assert item.drain_min == pytest.approx(344)
        assert item.recovery.backlog_at_restore == pytest.approx(206_400)
        assert item.service_rate_now_per_min == pytest.approx(1_800)
        assert any("no end" in text for text in texts(item))
        assert one(results, "queues.q.stream.retries=3", body=STREAM).doubts == ()

    @pytest.mark.parametrize(("share", "drain"), [(0.12, 24_768 / 36), (0.14, 28_896 / 12), (0.15, None), (0.3, None)])
    def test_the_hottest_shard_decides(self, results: Results, share: float, drain: float | None) -> None:
        item = one(results, f"queues.q.stream.hottest_share={share}", "queues.q.stream.retries=0", body=STREAM)
        assert item.drain_min == (None if drain is None else pytest.approx(drain))
        # Every shard has a tenth of the consumers, so ten times what the hottest needs; more than the rate today
        # wherever the objective is missed.
        assert item.catch_up_rate_per_min == pytest.approx(10 * (1_200 * share + 206_400 * share / 240))
        assert item.catch_up_rate_per_min > 1_800

    def test_batches_bound_a_shard(self, results: Results) -> None:
        item = one(results, "queues.q.stream.batch_time=40 s", "queues.q.stream.retries=0", body=STREAM)
        # 100 records in 40 s: 150/min a shard against 120/min of arrivals.
        assert item.drain_min == pytest.approx(20_640 / 30)
        assert item.service_rate_now_per_min == pytest.approx(1_500)
        assert [doubt.kind for doubt in item.doubts] == [ApproximationWarning]
        assert "1,500/min" in item.doubts[0].text
        assert "2,060/min" in item.doubts[0].text
        both = one(
            results, "queues.q.stream.batch_time=40 s", "queues.q.stream.parallelisation=2",
            "queues.q.stream.retries=0", body=STREAM,
        )  # fmt: skip
        assert both.drain_min == pytest.approx(344)
        assert both.doubts == ()

    def test_a_cap_binds_a_stream_too(self, results: Results) -> None:
        changes = ("queues.q.item_time=2 s", "queues.q.drain_cap.concurrency=50")
        item = one(results, *changes, body=STREAM)
        assert item.drain_min == pytest.approx(206_400 / 300)
        assert item.service_rate_now_per_min == pytest.approx(1_500)

    def test_partial_service_and_work_from_before_are_spread_over_shards(self, results: Results) -> None:
        changes = ("queues.q.served_in_outage=200/min", "queues.q.backlog_before=1000")
        item = one(results, *changes, body=STREAM)
        assert item.recovery.backlog_at_restore == pytest.approx(173_000)
        assert item.drain_min == pytest.approx(173_000 / 600)


class TestConcurrency:
    """60 c / d items a minute, whatever gives the concurrency c; Lambda developer guide: 10 for each provisioned poller."""

    FAST = "queues.q.service_rate=6,000/min"

    @pytest.mark.parametrize(
        ("change", "concurrency"),
        [
            ("reserved_concurrency=60", 60),
            ("provisioned_pollers={minimum: 6, maximum: 6}", 60),
            ("drain_cap.concurrency=60", 60),
            ("provisioned_pollers={minimum: 2, maximum: 12}", 120),
        ],
    )
    def test_whatever_bounds_it_bounds_the_drain(self, results: Results, change: str, concurrency: int) -> None:
        item = one(results, BORNE, self.FAST, "queues.q.service=sqs-lambda", f"queues.q.{change}")
        assert item.queue.concurrency_limit == concurrency
        rate = 30 * concurrency
        assert item.cap is not None
        assert item.cap.drain_rate_per_min == rate
        assert item.cap.overloads is (rate > 2_400)
        assert item.drain_min == pytest.approx(206_400 / (rate - 1_200), rel=2e-3)

    def test_the_least_of_them_counts(self, results: Results) -> None:
        both = ("queues.q.reserved_concurrency=100", "queues.q.drain_cap.concurrency=60")
        assert one(results, self.FAST, *both).queue.concurrency_limit == 60
        pollers = ("queues.q.provisioned_pollers={maximum: 20}", "queues.q.reserved_concurrency=70")
        item = one(results, "queues.q.service=sqs-lambda", *pollers)
        assert item.queue.concurrency_limit == 70
        assert one(results).queue.concurrency_limit is None

    def test_provisioned_pollers_come_up_from_their_minimum(self, results: Results) -> None:
        """From 20 at once, 1,000 more a minute, to 100: 80 are reached in 4.8 s of 100's 0.08 min."""
        change = "queues.q.provisioned_pollers={minimum: 2, maximum: 10}"
        item = one(results, BORNE, self.FAST, "queues.q.service=sqs-lambda", change)
        assert item.cap is not None
        assert item.cap.ramp_passes_room_after_s == pytest.approx(60 * (80 - 20) / 1_000)
        # 80 at once too few at first, half of that on average, over 0.08 min: 40 x 30 a minute are missed.
        assert item.drain_min == pytest.approx((206_400 + 0.08 * 40 * 30) / (3_000 - 1_200))

    @pytest.mark.parametrize(("reserved", "doubted"), [(90, True), (100, False)])
    def test_caps_of_one_function_that_only_add_up_to_too_much_are_a_doubt(
        self, results: Results, reserved: int, doubted: bool
    ) -> None:
        """Each cap alone is reachable, and the service takes them; drained at the same time they throttle each other."""
        body = GUIDE + (
            f"    reserved_concurrency: {reserved}\n    drain_cap: {{concurrency: 60}}\n    resources: {{function: worker}}\n"
            "  other: {arrival_rate: 1/min, service_rate: 2/min, item_time: 1 s, drain_cap: {concurrency: 40}, "
            f"reserved_concurrency: {reserved}, resources: {{function: worker}}}}\n"
            "  elsewhere: {arrival_rate: 1/min, service_rate: 2/min, item_time: 1 s, drain_cap: {concurrency: 40}}\n"
        )
        found = results(body).queues
        for name in ("q", "other"):
            words = [doubt.text for doubt in found[name].doubts if doubt.kind is LowerBoundWarning]
            assert (
                any("q, other run the function worker and may use 100 at once together" in text for text in words)
                is doubted
            )
        assert found["elsewhere"].doubts == ()


def test_queues_that_share_a_dependency_share_its_room(results: Results) -> None:
    body = GUIDE + (
        "  second: {arrival_rate: 100/min, service_rate: 900/min, item_time: 4 s, dependency: table}\n"
        "  alone: {arrival_rate: 100/min, service_rate: 900/min}\n"
    )
    found = results(body)
    first, second = found.queues["q"].cap, found.queues["second"].cap
    assert first is not None
    assert second is not None
    assert (first.room_per_min, second.room_per_min) == (2_400, 2_400)
    # 1,800/min and 900/min share the room as two to one: 1,600/min at 2 s, 800/min at 4 s.
    assert (first.part_per_min, second.part_per_min) == (pytest.approx(1_600), pytest.approx(800))
    assert (first.safe_concurrency, second.safe_concurrency) == (53, 53)
    assert (first.others, second.others) == (("second",), ("q",))
    assert (first.safe_rate_per_min, second.safe_rate_per_min) == (pytest.approx(1_590), pytest.approx(795))
    assert found.queues["alone"].cap is None
    assert found.worst_queue is not None
    assert found.worst_queue.name == "q"


def test_a_queue_that_never_drains_is_worst_of_all(results: Results) -> None:
    body = GUIDE + "  small: {arrival_rate: 2/min, service_rate: 1/min}\n"
    worst = results(body).worst_queue
    assert worst is not None
    assert worst.name == "small"


def test_an_hourly_profile_drains_through_its_peak(results: Results) -> None:
    hours = [60] * 3 + [240] * 3 + [60] * 18
    body = f"queues: {{q: {{arrival_rate: {{hour_of_day_per_min: {hours}}}, service_rate: 120/min}}}}\n"
    item = one(results, body=body, restored_at="2025-10-20T02:00Z")
    # 02:00: 7,200 wait. 03:00: 3,600. The peak adds 120/min for 3 h: 25,200 at 06:00, gone at 60/min in 420 min.
    assert item.recovery.backlog_at_restore == pytest.approx(7_200)
    assert item.recovery.peak_backlog == pytest.approx(25_200)
    assert item.drain_min == pytest.approx(240 + 420)
    # A minute-by-minute count comes to the same minute.
    waiting, minute = 7_200.0, 120
    while waiting > 0:
        waiting += hours[minute // 60 % 24] - 120
        minute += 1
    assert minute - 120 == item.drain_min
