"""Capacity while launches fail, what each scaling process does to it, and targets that flap."""

import math
from dataclasses import replace

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.capacity import PROCESSES, DesiredChange, Fleet, LaunchImpairment, Protection
from afterload.model.capacity_course import capacity_course, compare_protections
from afterload.model.flapping import HealthChecks, TargetThresholds, flapping_course
from afterload.model.launches import RUN_INSTANCES, TERMINATE_INSTANCES, launch, removal_time_s

HOUR_S = 3600


def suspend(*names, **more):
    return Protection(suspended=frozenset(names), **more)


# Service documentation, API throttling: capacity goes ten times faster than it comes.
def test_removal_is_ten_times_as_fast_as_replacement():
    assert TERMINATE_INSTANCES.instances_per_s == 10 * RUN_INSTANCES.instances_per_s
    fleet = Fleet(6000, 6000, instances_per_request=100)
    # All marked within a minute, launches possible again at once: the buckets alone decide.
    course = capacity_course(fleet, LaunchImpairment(60, unhealthy_per_min=5999, failures_spend=False))
    gone_at = float(course.times_s[int(np.argmin(course.capacity))])
    assert course.removed == 5999
    assert course.launched == 5999
    assert gone_at == pytest.approx(removal_time_s(5999), rel=0.02)
    alone = launch(5999, instances_per_request=100).in_service_s
    assert course.full_s == pytest.approx(alone, rel=0.01)
    # Launches that failed have spent the burst: all 5,999 come at 2 a second, less what one request still saves up.
    spent = capacity_course(fleet, LaunchImpairment(60, unhealthy_per_min=5999))
    assert (5999 - 100) / 2 <= spent.full_s <= 5999 / 2


@pytest.mark.parametrize("size", [1, 7, 100])
def test_launches_agree_with_the_closed_buckets(size):
    """A group scaled out at the end of an impairment launches as section 4 of docs/model.md says."""
    fleet = Fleet(10, 10, 3010, boot_s=45, network_s=15, instances_per_request=size)
    course = capacity_course(fleet, LaunchImpairment(0, changes=(DesiredChange(1, 3000),)))
    expected = launch(3000, instances_per_request=size, boot_s=45, network_s=15).in_service_s
    assert course.full_s == pytest.approx(1 + expected, abs=size / 2 + 2)
    assert course.launched == 3000


# Planning guide: what is removed while launches fail is not replaced.
def test_health_checks_empty_a_fleet_that_serves():
    fleet, outage = Fleet(1000, 800), LaunchImpairment(HOUR_S, unhealthy_per_min=10)
    course = capacity_course(fleet, outage)
    assert course.lowest == 400
    assert course.removed == course.launched == 600
    # Below 800 from minute 20 on; afterwards 2 a second, the burst being spent on launches that failed.
    assert course.back_s == pytest.approx(400 / 2, abs=2)
    assert course.below_needed_s == pytest.approx(HOUR_S - 1200 + course.back_s, abs=10)
    assert course.full_s == pytest.approx(600 / 2, abs=2)


# Service documentation, scaling processes: what each does while launches fail.
@pytest.mark.parametrize(
    ("process", "lowest", "removed"),
    [
        ("HealthCheck", 1000, 0),
        ("ReplaceUnhealthy", 1000, 0),
        ("Terminate", 1000, 0),
        ("Launch", 400, 600),
        ("AZRebalance", 400, 600),
        ("AlarmNotification", 400, 600),
        ("ScheduledActions", 400, 600),
        ("InstanceRefresh", 400, 600),
        ("AddToLoadBalancer", 400, 600),
    ],
)
def test_each_process_suspended_alone(process, lowest, removed):
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10)
    course = capacity_course(Fleet(1000, 800), outage, suspend(process))
    assert (course.lowest, course.removed) == (lowest, removed)
    if process == "Launch":
        assert course.full_s is None
        assert course.back_s is None
        assert course.below_needed_s is None
        assert course.launched == 0
    if process == "AddToLoadBalancer":
        assert course.unregistered == 600
        assert course.back_s is None


def test_resuming_replacement_at_once_terminates_everything_marked():
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10)
    trap = capacity_course(Fleet(1000, 800), outage, suspend("ReplaceUnhealthy", resume_at_s=HOUR_S))
    # 600 go in (600 - 100) / 5 = 100 s, while 2 a second come back.
    assert trap.lowest == pytest.approx(1000 - 600 + 2 * 100, abs=5)
    assert trap.removed_after_resume == 600
    # Below 800 from (200 - 100) / (5 - 2) s until 400 are back.
    assert trap.below_needed_s == pytest.approx(200 - 100 / 3, abs=3)
    reset = capacity_course(
        Fleet(1000, 800), outage, suspend("ReplaceUnhealthy", resume_at_s=HOUR_S, resets_health=True)
    )
    assert (reset.lowest, reset.removed, reset.full_s) == (1000, 0, 0)
    also = capacity_course(Fleet(1000, 800), outage, suspend("ReplaceUnhealthy", "HealthCheck", resume_at_s=HOUR_S))
    assert (also.lowest, also.removed) == (1000, 0)


def test_what_was_launched_without_the_load_balancer_stays_out_after_the_resume():
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10, launch_success=1.0)
    course = capacity_course(Fleet(1000, 800), outage, suspend("AddToLoadBalancer", resume_at_s=HOUR_S + 600))
    assert course.unregistered == 600
    assert course.full_s is None


def test_scaling_in_counts_when_nothing_can_come_back():
    changes = (DesiredChange(600, -200), DesiredChange(1200, -100, is_scheduled=True), DesiredChange(5000, 300))
    outage = LaunchImpairment(HOUR_S, changes=changes)
    fleet = Fleet(1000, 800)
    assert capacity_course(fleet, outage).lowest == 700
    assert capacity_course(fleet, outage, suspend("AlarmNotification")).lowest == 900
    assert capacity_course(fleet, outage, suspend("ScheduledActions")).lowest == 800
    held = capacity_course(fleet, outage, suspend("Terminate", resume_at_s=HOUR_S))
    assert float(held.capacity[held.times_s < HOUR_S].min()) == 1000
    assert capacity_course(fleet, outage, suspend("Terminate")).lowest == 1000


def test_rebalance_launches_first_and_refresh_terminates_first():
    rebalance = LaunchImpairment(HOUR_S, rebalance=150)
    moved = capacity_course(Fleet(1000, 800, boot_s=30), rebalance)
    assert (moved.lowest, moved.launched, moved.removed) == (1000, 150, 150)
    assert moved.largest <= 1100
    held = capacity_course(Fleet(1000, 800, boot_s=30), rebalance, suspend("Terminate"))
    assert (held.largest, held.launched, held.removed) == (1100, 100, 0)
    assert capacity_course(Fleet(1000, 800), rebalance, suspend("AZRebalance")).launched == 0
    refresh = LaunchImpairment(HOUR_S, refresh=300)
    replaced = capacity_course(Fleet(1000, 950), refresh)
    assert (replaced.lowest, replaced.removed, replaced.launched) == (900, 300, 300)
    assert replaced.below_needed_s > HOUR_S - 60
    assert capacity_course(Fleet(1000, 950), refresh, suspend("InstanceRefresh")).lowest == 1000


def test_velocity_limit_standby_and_provisioned_capacity():
    fleet = Fleet(1000, 800)
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10, worth_of_unhealthy=0.9)
    runs = compare_protections(fleet, outage, velocity_per_min=2, provisioned=300)
    assert len(runs) == len(PROCESSES) + 5
    assert runs["as it is"].lowest == 400
    # At minute 60: 120 removed, 480 marked at nine tenths.
    assert runs["velocity limit"].lowest == pytest.approx(1000 - 120 - 48, abs=3)
    assert runs["velocity limit"].below_needed_s == 0
    assert (runs["standby"].removed, runs["standby"].full_s) == (0, 0)
    assert runs["standby"].lowest == pytest.approx(400, abs=1)
    assert runs["provisioned before"].lowest == 700
    assert runs["provisioned before"].below_needed_s < runs["as it is"].below_needed_s
    careful = runs["ReplaceUnhealthy and AZRebalance suspended, health reset"]
    assert careful.lowest == pytest.approx(1000 - 60, abs=1)
    assert careful.below_needed_s == 0
    nothing = capacity_course(fleet, outage, Protection(velocity_per_min=0))
    assert (nothing.removed, nothing.full_s, nothing.back_s) == (0, None, 0)


def test_halving_the_step_moves_capacity_by_less_than_a_percent():
    fleet = Fleet(3000, 2000, boot_s=60, network_s=60)
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=40, changes=(DesiredChange(1800, -300),), refresh=100)
    one, half = (capacity_course(fleet, outage, step_s=step) for step in (1.0, 0.5))
    for name in ("lowest", "below_needed_s", "back_s", "full_s", "removed", "launched"):
        assert getattr(one, name) == pytest.approx(getattr(half, name), rel=0.01), name


def random_case(seed):
    rng = np.random.default_rng(seed)
    running = int(rng.integers(50, 400))
    fleet = Fleet(
        running, int(rng.integers(40, 400)), desired=running + int(rng.integers(0, 200)), boot_s=float(rng.integers(0, 300)),
        instances_per_request=int(rng.choice([1, 5, 50])), buckets_full=float(rng.choice([0.2, 1.0])),
    )  # fmt: skip
    outage = LaunchImpairment(
        float(rng.integers(600, 20_000)), unhealthy_per_min=float(rng.choice([0.3, 2, 30])), failures_spend=False,
        unhealthy_share=float(rng.choice([0.3, 1.0])), rebalance=int(rng.integers(0, 30)),
    )  # fmt: skip
    return fleet, outage


# The independent reference is the same walk in plain steps of a second.
@pytest.mark.parametrize("seed", range(4))
def test_growing_steps_move_nothing_by_more_than_a_percent(seed):
    fleet, outage = random_case(seed)
    more = {"velocity_per_min": 1.0, "provisioned": 40, "today": Protection(floor=30)}
    exact = compare_protections(fleet, outage, **more)
    grown = compare_protections(fleet, outage, **more, growth=0.005)
    for name, course in exact.items():
        found = grown[name]
        assert found.lowest == pytest.approx(course.lowest, rel=0.01, abs=1), name
        for field in ("below_needed_s", "back_s", "full_s"):
            seen, wanted = getattr(found, field), getattr(course, field)
            assert (seen is None) == (wanted is None), (name, field)
            if wanted is not None:
                assert seen == pytest.approx(wanted, rel=0.01, abs=0.01 * outage.length_s), (name, field)
        # The number of steps grows with the logarithm of the time that they cover.
        assert len(found.times_s) <= 400 + 200 * math.log(1 + found.times_s[-1] / 200) * 2, name


def test_a_group_that_lacks_instances_launches_them_as_the_buckets_allow():
    """docs/model.md section 4: 3,000 instances, 100 a request, 1,000 s in the instance bucket."""
    fleet = Fleet(600, 3600, desired=3600, boot_s=120, network_s=30, instances_per_request=100)
    course = capacity_course(fleet, LaunchImpairment(0))
    assert course.full_s == course.back_s == pytest.approx(1150, abs=2)
    # With empty buckets all 3,000 come at 2 a second.
    empty = capacity_course(replace(fleet, buckets_full=0.0), LaunchImpairment(0))
    assert empty.full_s == pytest.approx(1650, abs=2)
    # Launches that fail for an hour and spend nothing only shift that.
    late = capacity_course(fleet, LaunchImpairment(HOUR_S, failures_spend=False))
    assert late.back_s == pytest.approx(1150, abs=2)
    assert late.below_needed_s == pytest.approx(HOUR_S + 1150, abs=2)


def test_only_a_share_of_the_checks_fails():
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=100, unhealthy_share=0.3)
    course = capacity_course(Fleet(1000, 800), outage)
    assert (course.lowest, course.removed) == (700, 300)
    more = capacity_course(Fleet(1000, 800), outage, Protection(provisioned=200))
    assert (more.lowest, more.removed) == (840, 360)


def test_a_floor_stops_removals_and_lets_them_go_on_above_it():
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10, failures_spend=False)
    course = capacity_course(Fleet(1000, 800), outage, Protection(floor=700))
    # 600 are marked; 300 go before the floor, the others once as many have come back.
    assert (course.lowest, course.removed, course.launched) == (700, 600, 600)
    assert course.full_s == pytest.approx(600 / 2, rel=0.05)
    stays = capacity_course(Fleet(1000, 800), outage, Protection(floor=1000))
    assert (stays.lowest, stays.removed, stays.full_s) == (1000, 0, None)


def test_protections_come_on_top_of_what_is_in_place_today():
    outage = LaunchImpairment(HOUR_S, unhealthy_per_min=10)
    today = Protection(suspended=frozenset({"ReplaceUnhealthy"}), floor=100)
    runs = compare_protections(Fleet(1000, 800), outage, velocity_per_min=1, provisioned=10, today=today)
    # What is suspended today is resumed with the rest, so today is that trap.
    assert runs["as it is"] is runs["ReplaceUnhealthy suspended"]
    assert runs["as it is"].removed_after_resume == 600
    assert runs["Terminate suspended"].removed_after_resume == 600
    # Processes with nothing to do are not simulated again.
    for process in ("AZRebalance", "InstanceRefresh", "AlarmNotification", "ScheduledActions"):
        assert runs[f"{process} suspended"] is runs["as it is"]
    busy = LaunchImpairment(HOUR_S, changes=(DesiredChange(600, -50, is_scheduled=True),), refresh=5, rebalance=5)
    runs = compare_protections(Fleet(1000, 800), busy, velocity_per_min=1, provisioned=10)
    same = {name for name, course in runs.items() if course is runs["as it is"]}
    assert same == {"as it is", "AlarmNotification suspended"}


@pytest.mark.parametrize("seed", range(12))
def test_instances_are_conserved_and_never_negative(seed):
    rng = np.random.default_rng(seed)
    fleet = Fleet(int(rng.integers(5, 300)), int(rng.integers(0, 300)), boot_s=float(rng.integers(0, 200)))
    outage = LaunchImpairment(
        float(rng.integers(0, 1500)),
        unhealthy_per_min=float(rng.integers(0, 60)),
        launch_success=float(rng.choice([0, 0.3, 1])),
        changes=[
            DesiredChange(float(rng.integers(0, 2000)), int(rng.integers(-80, 80)), bool(rng.integers(2)))
            for _ in range(3)
        ],
        rebalance=int(rng.integers(0, 40)),
        refresh=int(rng.integers(0, 40)),
        worth_of_unhealthy=0.5,
    )
    protection = Protection(
        suspended=frozenset(rng.choice(PROCESSES, size=2, replace=False).tolist()),
        resume_at_s=None if seed % 3 == 0 else float(rng.integers(0, 2500)),
        velocity_per_min=None if seed % 2 else 5.0,
        uses_standby=seed % 4 == 0,
    )
    course = capacity_course(fleet, outage, protection)
    assert float(course.running[-1]) == fleet.in_service + course.launched - course.removed
    for values in (course.capacity, course.running, course.marked, course.desired):
        assert float(values.min()) >= 0
    assert np.all(course.capacity <= course.running)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fleet(0, 0),
        lambda: Fleet(10, 5, maximum=9),
        lambda: Fleet(10, 5, desired=20, maximum=15),
        lambda: Fleet(10, 5, buckets_full=1.5),
        lambda: LaunchImpairment(1, unhealthy_share=2),
        lambda: Protection(floor=-1),
        lambda: capacity_course(Fleet(5, 5), LaunchImpairment(1), growth=2),
        lambda: LaunchImpairment(-1),
        lambda: LaunchImpairment(1, launch_success=1.1),
        lambda: Protection(suspended=frozenset({"Lunch"})),
        lambda: DesiredChange(0, 1.5),
        lambda: capacity_course(Fleet(5, 5, instances_per_request=2000), LaunchImpairment(1)),
    ],
)
def test_bad_settings_are_refused(make):
    with pytest.raises(ModelError):
        make()


# --- flapping targets -------------------------------------------------------------------------------------------------

SMALL_CHECKER = HealthChecks(checks_per_s=25, extra_checks_per_change=4)


def flap(seed=3, **more):
    setting = {
        "zones": (40, 40, 40),
        "new_per_zone": (40, 40, 40),
        "needed": 100,
        "network_s": 1800,
        "window_s": 3600,
        "thresholds": TargetThresholds(dns_share=0.6),
        **more,
    }
    return flapping_course(np.random.default_rng(seed), **setting)


# Event summary, network load balancers: checks of new targets flap, the checker is overloaded, zones leave DNS.
@pytest.mark.parametrize("seed", range(3))
def test_a_loaded_checker_takes_zones_out_of_dns(seed):
    fine = flap(seed)
    loaded = flap(seed, checks=SMALL_CHECKER)
    assert (fine.zone_exits, float(fine.late_share.max())) == (0, 0)
    assert fine.lowest >= 115
    assert loaded.zone_exits > 5
    assert float(loaded.late_share.max()) > 0.2
    assert loaded.lowest < 100
    assert loaded.below_needed_s > fine.below_needed_s
    assert float(loaded.checks_per_s.max()) > 24
    # Once the network state is there, it settles.
    assert loaded.is_settled


@pytest.mark.parametrize("seed", range(3))
def test_what_helps_against_flapping(seed):
    loaded = flap(seed, checks=SMALL_CHECKER)
    waits = flap(seed, checks=SMALL_CHECKER, enters_when_ready=True)
    assert (waits.lowest, waits.zone_exits, int(waits.changes.sum())) == (120, 0, 0)
    assert float(waits.error_share.max()) == 0
    # Velocity control: one of three zones at most.
    limited = flap(seed, checks=SMALL_CHECKER, removable_share=0.34)
    assert int(np.sum(~limited.in_dns, axis=1).max()) == 1
    assert limited.lowest > loaded.lowest
    assert flap(seed, checks=SMALL_CHECKER, removable_share=0).zone_exits == 0
    assert flap(seed, checks=SMALL_CHECKER, dns_failover=False).lowest > loaded.lowest


def test_below_the_routing_threshold_a_zone_fails_open():
    """A tenth of the targets ready, none new passing: with a high routing threshold all get traffic, ready ones too."""
    common = {"zones": (4,), "new_per_zone": (36,), "needed": 4, "pass_share": 0.0, "window_s": 600, "network_s": 6000}
    opens = flap(**common, thresholds=TargetThresholds(routing_share=0.5, dns_share=0.5))
    assert bool(opens.is_open[-1, 0])
    assert float(opens.error_share[-1]) > 0.5
    closed = flap(**common, thresholds=TargetThresholds(routing_share=0.05, dns_share=0.05))
    assert not bool(closed.is_open[-1, 0])
    assert float(closed.error_share[-1]) == 0
    # A single zone below its DNS threshold stays: with no zone left DNS answers with all.
    assert bool(opens.in_dns.all())
    assert not opens.is_settled


# Service documentation, target group health: the DNS threshold must be at least the routing threshold.
@pytest.mark.parametrize(
    "wrong",
    [
        {"routing_count": 3, "dns_count": 2},
        {"routing_count": 2},
        {"routing_share": 0.5, "dns_share": 0.4},
        {"routing_share": 0.5},
        {"dns_share": 1.5},
        {"dns_count": 0},
    ],
)
def test_a_dns_threshold_below_the_routing_threshold_is_refused(wrong):
    with pytest.raises(ModelError):
        TargetThresholds(**wrong)


def test_thresholds_take_the_larger_of_count_and_share():
    thresholds = TargetThresholds(routing_count=2, dns_count=5, routing_share=0.1, dns_share=0.25)
    assert (thresholds.routing(10), thresholds.dns(10)) == (2, 5)
    assert (thresholds.routing(40), thresholds.dns(40)) == (4, 10)


@pytest.mark.parametrize("wrong", [{"zones": ()}, {"new_per_zone": (1,)}, {"window_s": 1}, {"pass_share": 2}])
def test_bad_flapping_settings_are_refused(wrong):
    with pytest.raises(ModelError):
        flap(**wrong)
