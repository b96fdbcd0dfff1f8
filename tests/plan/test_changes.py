"""The five changes of the planning guide: their order, their statuses, and what each buys by the closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afterload.estimates import Estimates, estimate
from afterload.findings.live_known import known_of
from afterload.plan import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, PlanItem, build_plan
from afterload.plan.wording import minutes_bought, worth
from afterload.scenario import load_scenario

ORDER = [
    "full-jitter", "retry-budget", "stagger-restarts", "standard-retries",
    "age-limit", "dlq-receives", "failure-destination", "retention", "stream-retry-end",
    "bounded-pool", "bounded-replay", "deadline-discard", "drain-cap", "fresh-first", "idempotency-keys", "ramp-limit",
    "superseded",
    "pause-list", "target-group-thresholds", "velocity-limit",
    "measure-recovery", "probe-hidden-capacity",
    "admission-steps", "control-loop-bound", "dependency-headroom", "launch-batch", "more-consumers",
    "provisioned-capacity", "version-guard", "warm-cache",
]  # fmt: skip
STEPS = [1] * 4 + [2] * 5 + [3] * 8 + [4] * 3 + [5] * 2 + [6] * 8
Make = Callable[..., Any]


def shipped(name: str) -> Estimates:
    return estimate(load_scenario(f"builtin:scenarios/{name}.yaml"))


def test_the_guides_order(whole: Any) -> None:
    places = [whole.plan.change(item).order for item in whole.plan.items]
    assert places == sorted(places)
    assert [change.id for change in whole.plan.changes] == ORDER
    assert [change.order for change in whole.plan.changes] == STEPS


@pytest.mark.parametrize("example", ["orders", "checkout-api", "render-fleet"])
def test_every_change_has_a_line_in_every_plan(example: str) -> None:
    plan = build_plan(shipped(example))
    assert sorted({item.change for item in plan.items}) == sorted(ORDER)


def test_within_a_step_what_is_to_do_and_buys_most_is_first(whole: Any) -> None:
    rank = {DO: 0, NEEDS_EVIDENCE: 1, IN_PLACE: 2, NOT_HERE: 3}
    for step in set(STEPS):
        lines = [item for item in whole.plan.items if whole.plan.change(item).order == step]
        keys = [(rank[item.status], -best(item)) for item in lines]
        assert keys == sorted(keys)


def best(item: PlanItem) -> float:
    """What a line buys at the queue that it is told of, in the better starting state."""
    told = [worth.told("empty_min", item.target)[1].gain for worth in (item.worths or {}).values()]
    return round(max([0.0, *told]), 6)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("standard-retries:clients.old", DO),
        ("standard-retries:clients.old-dynamodb", DO),
        ("standard-retries:clients.new", IN_PLACE),
        ("standard-retries:clients.unversioned", NEEDS_EVIDENCE),
        ("standard-retries:clients.java", DO),
        ("standard-retries:clients.java-few", DO),
        ("standard-retries:clients.many", DO),
        ("standard-retries:clients.once", IN_PLACE),
        ("standard-retries:clients.azure", NOT_HERE),
        ("standard-retries:clients.google", NOT_HERE),
        ("standard-retries:clients.grpc", IN_PLACE),
        ("standard-retries:clients.plain", NOT_HERE),
        ("standard-retries:call_stacks.deep", DO),
        ("standard-retries:call_stacks.partly", DO),
        ("standard-retries:call_stacks.single", IN_PLACE),
        ("standard-retries:call_stacks.calm", IN_PLACE),
        ("standard-retries:call_stacks.good", IN_PLACE),
        ("age-limit:queues.sqs", DO),
        ("age-limit:queues.async-limited", DO),
        ("age-limit:queues.async-done", IN_PLACE),
        ("age-limit:queues.unknown", NEEDS_EVIDENCE),
        ("age-limit:queues.lasting", NOT_HERE),
        ("drain-cap:queues.sqs", DO),
        ("drain-cap:queues.sqs-capped-low", IN_PLACE),
        ("drain-cap:queues.sqs-capped-high", DO),
        ("drain-cap:queues.sqs-provisioned", DO),
        ("drain-cap:queues.sqs-few-pollers", IN_PLACE),
        ("drain-cap:queues.sqs-reserved", IN_PLACE),
        ("drain-cap:queues.async-reserved", DO),
        ("drain-cap:queues.unknown", NEEDS_EVIDENCE),
        ("drain-cap:queues.timeless", NEEDS_EVIDENCE),
        ("drain-cap:queues.full", NEEDS_EVIDENCE),
        ("pause-list:fleets.fleet", DO),
        ("pause-list:fleets.unknown", NEEDS_EVIDENCE),
        ("pause-list:fleets.safe", IN_PLACE),
        ("pause-list:fleets.paused", IN_PLACE),
        ("measure-recovery:team", DO),
    ],
)
def test_statuses(whole: Any, line: str, status: str) -> None:
    item = whole.line(line)
    assert item.status == status
    assert item.evidence
    # What is to do says how, and how to undo it; nothing else asks anyone to change anything.
    assert bool(item.undo) is (status == DO)
    assert bool(item.apply) >= (status == DO)


def test_a_change_about_nothing_does_not_apply(make: Make) -> None:
    made = make(clients={"c": {"sdk": "boto3", "version": "1.44.0", "number": 1}})
    found = {item.change: item.status for item in made.plan.items}
    about = {"standard-retries": IN_PLACE, "stagger-restarts": NEEDS_EVIDENCE, "measure-recovery": DO}
    assert found == dict.fromkeys(ORDER, NOT_HERE) | about
    made = make(fleets={"f": {"running": 1, "needed": 1}}, recovery_measured="3 h")
    found = {item.change: item.status for item in made.plan.items}
    about = {"pause-list": NEEDS_EVIDENCE, "provisioned-capacity": IN_PLACE, "measure-recovery": IN_PLACE}
    assert found == dict.fromkeys(ORDER, NOT_HERE) | about
    assert made.line("standard-retries").target == ""
    assert "Last measured at 180 min" in made.line("measure-recovery:team").evidence


class TestAgeLimit:
    def test_the_guides_limit_buys_314_min_and_expires_188_400(self, queue: Make) -> None:
        item = queue(goes_stale_after="15 min").line("age-limit:queues.q")
        assert item.today_min == pytest.approx(344)
        assert item.planned_min == pytest.approx(30)
        assert item.bought_min == pytest.approx(314)
        assert item.cost_min == 0
        assert "Buys 314 min of drain (344 min to 30 min)" in worth(item)
        assert "Expires 188,400 items, recorded in a destination and not processed." in item.price

    @pytest.mark.parametrize(("limit", "planned"), [("30 min", 60), ("1 h", 120), ("171 min", 342), ("4 h", 344)])
    def test_any_limit_by_the_closed_form(self, queue: Make, limit: str, planned: float) -> None:
        item = queue(goes_stale_after=limit).line("age-limit:queues.q")
        assert item.planned_min == pytest.approx(planned)
        if planned == 344:
            assert "Buys no minutes here: the drain stays at 344 min." in worth(item)
            assert "Expires nothing in this outage." in worth(item)

    def test_a_longer_limit_than_the_work_lives_is_not_enough(self, queue: Make) -> None:
        item = queue(age_limit="1 h", goes_stale_after="15 min", on_failure_destination="d").line("age-limit:queues.q")
        assert (item.status, item.planned_min) == (DO, pytest.approx(30))
        assert item.bought_min == pytest.approx(90)

    def test_a_shorter_limit_stays(self, queue: Make) -> None:
        made = queue(age_limit="5 min", goes_stale_after="15 min")
        assert made.line("age-limit:queues.q").status == IN_PLACE
        assert made.estimates.queues["q"].drain_min == pytest.approx(10)

    def test_the_services_own_limit_is_named(self, queue: Make) -> None:
        item = queue(service="lambda-async", goes_stale_after="15 min").line("age-limit:queues.q")
        assert "the service's 6 h act" in item.evidence

    def test_never_today_and_never_after(self, queue: Make) -> None:
        item = queue(service_rate="1,000/min", goes_stale_after="15 min").line("age-limit:queues.q")
        assert (item.today_min, item.planned_min, item.bought_min, item.cost_min) == (None, None, 0, 0)
        assert "Does not make the backlog drain" in worth(item)
        assert minutes_bought(item) == "none"

    def test_never_today_but_in_time_with_it(self, queue: Make) -> None:
        # Capped below arrivals by a ramp's ceiling it never drains; nothing older than a minute: it still does not.
        hours = [2_000] * 3 + [100] * 21
        made = queue(
            arrival_rate={"hour_of_day_per_min": hours}, service_rate="300/min", goes_stale_after="15 min",
            item_time=None,
        )  # fmt: skip
        item = made.line("age-limit:queues.q")
        assert item.today_min is None
        # The last 15 min before 03:00 are all that is left to serve; from then on 200/min are spare.
        assert item.planned_min is not None
        assert "Brings the drain from never to" in worth(item)
        assert "None" not in worth(item)


def parcels(cap: int | None = None) -> dict[str, Any]:
    """Two queues that drain into one table."""
    labels = {"arrival_rate": "2,000/min", "service_rate": "3,500/min", "item_time": "1.5 s", "dependency": "table",
              "service": "sqs-lambda", "max_receives": 5, "visibility_timeout": "3 min"}  # fmt: skip
    tracking = {"arrival_rate": "40/s", "service_rate": "50/s", "item_time": "400 ms", "dependency": "table",
                "service": "sqs-lambda"}  # fmt: skip
    return {"labels": {**labels, **({"drain_cap": {"concurrency": cap}} if cap else {})}, "tracking": tracking}


class TestDrainCap:
    def test_a_cap_that_binds_nothing_says_so(self, queue: Make) -> None:
        item = queue().line("drain-cap:queues.q")
        assert (item.bought_min, item.cost_min) == (0, 0)
        assert "Buys no minutes here: the drain stays at 344 min." in worth(item)
        assert "A cap of 80 at once bounds the drain at 2,400/min" in worth(item)
        assert item.price == ""
        assert minutes_bought(item) == "0 min"

    def test_a_cap_that_costs_minutes_shows_them(self, queue: Make) -> None:
        # The dependency bears more than it was tested to, so that the drain at full speed does not push it down.
        item = queue("dependencies.table.capacity=10,000/min", service_rate="6,000/min").line("drain-cap:queues.q")
        assert item.today_min == pytest.approx(43)
        assert item.planned_min == pytest.approx(172)
        assert (item.bought_min, item.cost_min) == (0, pytest.approx(129))
        assert "Costs 129 min of drain (43 min to 172 min)." in worth(item)
        assert "6,000/min where 2,400/min fit" in worth(item)
        assert minutes_bought(item) == "costs 129 min"

    def test_a_cap_that_prevents_a_collapse_ends_never(self, queue: Make) -> None:
        # 6,000/min on 2,400/min of room push the dependency down, and nobody lets go of it.
        item = queue(service_rate="6,000/min").line("drain-cap:queues.q")
        assert (item.today_min, item.planned_min) == (None, pytest.approx(172))
        assert "Brings the drain from never to 172 min." in worth(item)
        assert minutes_bought(item) == "never to 172 min"
        assert item.buys

    def test_a_cap_too_low_to_drain_says_never(self, queue: Make) -> None:
        item = queue("dependencies.table.direct_rate=1,900/min", "dependencies.table.capacity=10,000/min").line(
            "drain-cap:queues.q"
        )
        assert (item.today_min, item.planned_min) == (pytest.approx(344), None)
        assert (item.bought_min, item.cost_min) == (None, None)
        assert "With it the backlog never drains, instead of within 344 min." in worth(item)
        assert minutes_bought(item) == "344 min to never"

    def test_never_with_or_without_it(self, queue: Make) -> None:
        item = queue(service_rate="1,000/min").line("drain-cap:queues.q")
        assert "Buys no minutes here: with or without it the backlog never drains." in worth(item)
        assert "higher tested rate" not in worth(item)

    @pytest.mark.parametrize("service", ["sqs-lambda", "other"])
    def test_a_cap_that_only_rounding_makes_too_low_is_not_asked_for(self, make: Make, service: str) -> None:
        """52 a second of 0.3 s are 15.6 at once within 15.9 of room: 15 would hold them back, and nothing needs that."""
        fields = {"arrival_rate": "20/s", "service_rate": "52/s", "item_time": "300 ms", "dependency": "table",
                  "service": service}  # fmt: skip
        tables = {"table": {"tested_rate": "58/s", "direct_rate": "5/s"}}
        item = make(queues={"q": fields}, dependencies=tables).line("drain-cap:queues.q")
        assert (item.status, item.edit, item.apply) == (NOT_HERE, {}, ())
        assert "Its drain fits the room of 3,180/min as it is; the highest cap within that, 15 at once" in item.evidence
        assert "would hold it back to 3,000/min only because a cap is a whole number." in item.evidence
        # At 50 a second that cap holds nobody back, and it bounds the ramp; at 54 the room does not take all.
        for rate in ("50/s", "54/s"):
            other = make(queues={"q": {**fields, "service_rate": rate}}, dependencies=tables)
            assert other.line("drain-cap:queues.q").status == DO
        # Where the rate may be as high as 54 a second, neither is it sure to fit.
        unsure = {"queues.q.service_rate": {"low": "48/s", "high": "54/s"}}
        assert make(queues={"q": fields}, dependencies=tables, uncertain=unsure).line("drain-cap:queues.q").status == DO

    def test_a_drain_below_the_least_cap_needs_none(self, make: Make) -> None:
        """1.5 items of 1 s at once fit 1.8; the service takes no cap below 2."""
        fields = {"arrival_rate": "1/s", "service_rate": "1.5/s", "item_time": "1 s", "dependency": "table",
                  "service": "sqs-lambda"}  # fmt: skip
        tables = {"table": {"tested_rate": "6.8/s", "direct_rate": "5/s"}}
        item = make(queues={"q": fields}, dependencies=tables).line("drain-cap:queues.q")
        assert item.status == NOT_HERE
        assert "where no cap does: 2 at once is the least that can be set." in item.evidence

    def test_a_ramp_is_named_where_it_passes_the_room(self, queue: Make) -> None:
        fast = queue(service="sqs-lambda", service_rate="6,000/min").line("drain-cap:queues.q")
        assert "An uncapped ramp passes the room 15 s after the start." in fast.bounds
        slow = queue(service="sqs-lambda").line("drain-cap:queues.q")
        assert "Only the consumers' own rate keeps the drain below that" in slow.bounds

    def test_queues_that_share_a_dependency_are_told_so(self, make: Make) -> None:
        fields = {"arrival_rate": "100/min", "service_rate": "1,800/min", "item_time": "2 s", "dependency": "table"}
        tables = {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min"}}
        made = make(queues={"a": fields, "b": fields}, dependencies=tables)
        text = made.line("drain-cap:queues.a").evidence
        assert (
            "b drains into it too, together 3,600/min, which do not fit the 2,400/min of room; its part, by what each can "
            "drain, is 1,200/min." in text
        )
        alone = make(queues={"a": fields}, dependencies=tables)
        assert "into it too" not in alone.line("drain-cap:queues.a").evidence

    @pytest.mark.parametrize("cap", [None, 100])
    def test_all_caps_of_one_dependency_fit_together(self, make: Make, cap: int | None) -> None:
        """7,500/min of room by 3,500 and 3,000: parts of 4,038 and 3,461/min, so 100 at once of 1.5 s and 23 of 0.4 s."""
        made = make(
            queues=parcels(cap), dependencies={"table": {"tested_rate": "9,000/min", "direct_rate": "1,500/min"}}
        )
        caps = {name: made.line(f"drain-cap:queues.{name}") for name in ("labels", "tracking")}
        assert caps["tracking"].status == DO
        assert caps["tracking"].edit == {"queues.tracking.drain_cap": {"concurrency": 23}}
        assert caps["labels"].status == (DO if cap is None else IN_PLACE)
        assert cap is not None or caps["labels"].edit == {"queues.labels.drain_cap": {"concurrency": 100}}
        assert 1_500 + 100 * 60 / 1.5 + 23 * 60 / 0.4 <= 9_000
        assert "while labels drains too, within 4,038/min." in caps["tracking"].bounds
        # The live chapter and its command share the room by the same rule.
        side, cap_today = known_of(made.estimates.loaded, "tracking").side, made.estimates.queues["tracking"].cap
        assert side is not None
        assert cap_today is not None
        assert side.drain_share * 7_500 == pytest.approx(cap_today.part_per_min)

    def test_in_provisioned_mode_the_pollers_are_bounded_instead(self, whole: Any, queue: Make) -> None:
        """The service takes no MaximumConcurrency then; each poller has 10 at once, so 80 at once are 8 pollers."""
        item = whole.line("drain-cap:queues.sqs-provisioned")
        assert "40 provisioned pollers, so a cap of 400 at once" in item.evidence
        assert item.apply[0].endswith("--provisioned-poller-config MinimumPollers=8,MaximumPollers=8")
        assert item.undo[0].endswith("--provisioned-poller-config MinimumPollers=9,MaximumPollers=40")
        assert "A cap of 80 at once bounds the drain at 2,400/min" in item.bounds
        assert item.edit == {"queues.sqs-provisioned.provisioned_pollers": {"minimum": 8, "maximum": 8}}
        assert "provisioned_poller_config {\n    minimum_pollers = 8\n    maximum_pollers = 8\n  }" in item.terraform[0]
        pollers = {"service": "sqs-lambda", "provisioned_pollers": {"minimum": 2, "maximum": 40}}
        odd = queue(**pollers, item_time="2.1 s").line("drain-cap:queues.q")
        # 2,400/min at 2.1 s are 84 at once, so 8 pollers.
        assert odd.apply[0].endswith("MinimumPollers=2,MaximumPollers=8")
        tight = queue("dependencies.table.tested_rate=900/min", **pollers).line("drain-cap:queues.q")
        # 300/min at 2 s are 10 at once: one poller, where two are the least.
        assert tight.status == NEEDS_EVIDENCE

    def test_a_reserved_concurrency_is_a_cap_too(self, whole: Any) -> None:
        assert "a reserved concurrency of 60 at once" in whole.line("drain-cap:queues.sqs-reserved").evidence
        item = whole.line("drain-cap:queues.async-reserved")
        assert item.apply[-1].endswith("--reserved-concurrent-executions 80")
        assert item.undo[-1].endswith("--reserved-concurrent-executions 500")

    def test_a_cap_of_a_stream_is_computed_for_its_shards(self, queue: Make) -> None:
        shards = {"shards": 10, "batch_size": 100, "batch_time": "5 s"}
        item = queue(service="stream-lambda", service_rate="6,000/min", stream=shards).line("drain-cap:queues.q")
        assert item.planned_min == pytest.approx(172)


class TestRetries:
    def test_a_stack_keeps_the_lowest_layer_that_retries(self, whole: Any) -> None:
        deep = whole.line("standard-retries:call_stacks.deep")
        assert "from 6 to 2 by leaving retries to c" in deep.bounds
        # It costs no success, so that is no price.
        assert "stays at 0 %" in deep.bounds
        assert deep.price == ""
        assert deep.apply == ("# set 1 try in: a", "# keep 2 tries in: c")
        assert deep.undo == ("# set 3 tries again in: a",)
        partly = whole.line("standard-retries:call_stacks.partly")
        # q = 0.5: c makes 1.5 and fails with 0.25, a makes 1 + 0.25 + 0.0625.
        assert "from 1.97 to 1.5, and from 6 to 2 when every attempt fails, by" in partly.bounds
        assert "falls from 98.4 % to 75 %" in partly.price

    @pytest.mark.parametrize(
        ("client", "text"),
        [
            ("old", "from 5 to 3 and gives each client a quota of 500 tokens"),
            ("old-dynamodb", "from 10 to 3 and gives"),
            ("java", "from 4 to 3."),
            ("java-few", "Keeps at most 2 attempts a call, with the backoff of standard mode"),
            ("many", "from 9 to 3."),
        ],
    )
    def test_a_client_never_gets_more_attempts_than_it_has(self, whole: Any, client: str, text: str) -> None:
        item = whole.line(f"standard-retries:clients.{client}")
        assert text in item.bounds
        if client == "java-few":
            assert "export AWS_MAX_ATTEMPTS=2" in item.apply[1]
            assert item.undo == ("export AWS_RETRY_MODE=legacy", "export AWS_MAX_ATTEMPTS=2")

    def test_one_of_a_thing_is_one(self, whole: Any) -> None:
        assert whole.line("standard-retries:clients.old-dynamodb").evidence.startswith("1 client of botocore")
        assert whole.line("standard-retries:call_stacks.good").evidence.startswith("1 of 2 layers retries")
        assert whole.line("standard-retries:call_stacks.single").evidence.startswith("The only layer retries")
        assert whole.line("standard-retries:call_stacks.calm").evidence.startswith("The only layer does not retry")


class TestPauseList:
    def test_a_health_check_that_is_paused_already_is_not_resumed_too_early(self, make: Make) -> None:
        automation = ["ReplaceUnhealthy", {"name": "HealthCheck", "paused": True}]
        item = make(fleets={"f": {"running": 9, "needed": 9, "removal_automation": automation}}).line(
            "pause-list:fleets.f"
        )
        assert item.apply[0].endswith("--scaling-processes ReplaceUnhealthy")
        assert "Already paused then: HealthCheck." in item.evidence

    def test_a_known_process_with_a_command_of_its_own_uses_it(self, make: Make) -> None:
        automation = ["ReplaceUnhealthy", {"name": "HealthCheck", "pause": "hc off", "resume": "hc on"}]
        item = make(fleets={"f": {"running": 9, "needed": 9, "removal_automation": automation}}).line(
            "pause-list:fleets.f"
        )
        assert item.apply[-1] == "hc off"
        assert item.undo[-1] == "hc on"
        assert "HealthCheck" not in item.apply[0]

    def test_removal_against_replacement(self, whole: Any) -> None:
        bounds = whole.line("pause-list:fleets.fleet").bounds
        assert "600 running instances could be terminated within 100 s" in bounds
        # 3,600 one at a time: (3,600 - 5) / 2 s.
        assert "launching the 3,600 that are needed would then take 30 min" in bounds
        assert "1 running instance could" in whole.line("pause-list:fleets.nameless").bounds
        assert "no instances in service, 0 needed" in whole.line("pause-list:fleets.empty").bounds


def test_measuring_speaks_of_what_the_team_has(make: Make, queue: Make) -> None:
    api = make(clients={"c": {"sdk": "boto3", "number": 1}}).line("measure-recovery:team")
    assert not any("SentTimestamp" in command for command in api.apply)
    assert "entry point" in api.apply[0]
    assert "entry point" in api.price
    sqs = queue(service="sqs-lambda").line("measure-recovery:team")
    assert "SentTimestamp" in sqs.apply[0]
    assert "computed for q: 344 min; the objective is 240 min (t.yaml line 1)" in sqs.evidence
    assert "never at these rates" in queue(service_rate="1/min").line("measure-recovery:team").evidence


def test_the_owner_falls_back_to_the_teams_then_to_nobody(make: Make) -> None:
    parts: dict[str, Any] = {
        "queues": {"q": {"arrival_rate": "1/min", "service_rate": "2/min"}},
        "clients": {"c": {"sdk": "boto3", "number": 2}},
        "call_stacks": {"s": {"layers": [{"name": "a", "tries": 3}]}},
        "fleets": {"f": {"running": 6, "needed": 9}},
    }
    # A line about nothing has no owner.
    assert {item.owner for item in make(**parts).plan.items if item.target} == {"T on-call"}
    assert {item.owner for item in make("owner=none", **parts).plan.items if item.target} == {"no owner yet"}
    for part in parts.values():
        next(iter(part.values()))["owner"] = "Someone"
    plan = make(**parts).plan
    assert {item.owner for item in plan.items if item.target not in ("", "team")} == {"Someone"}


@pytest.mark.parametrize(
    ("fields", "overrides", "line", "where"),
    [
        ({"age_limit_s": 900, "goes_stale_after_s": 60}, (), "age-limit:queues.q", "t.yaml line 1"),
        ({"goes_stale_after": "9 min"}, ("queues.q.goes_stale_after_s=60",), "age-limit:queues.q",
         "--set queues.q.goes_stale_after_s"),
        ({}, ("queues.q.drain_cap.concurrency=90",), "drain-cap:queues.q", "--set queues.q.drain_cap.concurrency"),
        ({"service_rate": None, "service_rate_per_s": 30}, (), "drain-cap:queues.q", "t.yaml line 1"),
    ],
)  # fmt: skip
def test_evidence_says_where_a_value_came_from_under_any_of_its_names(
    queue: Make, fields: dict[str, Any], overrides: tuple[str, ...], line: str, where: str
) -> None:
    item = queue(*overrides, **fields).line(line)
    assert f"({where})" in item.evidence
    assert "(default)" not in item.evidence


def test_no_line_claims_that_a_given_value_is_a_default(whole: Any) -> None:
    assert [item.id for item in whole.plan.items if "(default)" in item.evidence] == []
