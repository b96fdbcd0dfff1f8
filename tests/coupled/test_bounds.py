"""All that bounds a queue, each against hand arithmetic: what holds it back, for how long, and what it costs."""

from dataclasses import replace

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.coupled import (
    BOUNDS,
    Admission,
    Autoscaler,
    Call,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Course,
    Input,
    Partitions,
    RetryPool,
    simulate,
    trace,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

FIRST = QueueLoad(RateProfile.constant(1200), service_rate_per_min=1800, outage_min=172)
HOUR = QueueLoad(RateProfile.constant(600), service_rate_per_min=1800, outage_min=60, item_time_s=2)


def system(queue, *dependencies, **more):
    return CoupledSystem(queue.load.outage_min, queue.load.outage_min, (queue,), dependencies, **more)


def minutes_by_bound(result, queue=0):
    return {
        name: round(float(value), 6) for name, value in zip(BOUNDS, result.bound_min[0, queue], strict=True) if value
    }


@pytest.mark.parametrize(
    ("shares", "drain"),
    # The busiest of ten takes 170 of 1,000/min and serves a tenth of 2,000/min: 10,200 / 30. A quarter is never served.
    [((0.17, *[0.83 / 9] * 9), 340.0), ((0.25, *[0.75 / 9] * 9), np.nan), ((0.1,) * 10, 60.0)],
)
def test_the_busiest_partition_decides(shares, drain):
    load = QueueLoad(RateProfile.constant(1000), 2000, 60)
    seen = simulate(system(CoupledQueue(load, partitions=Partitions(shares, 200))))
    assert seen.drain_min[0, 0] == pytest.approx(drain, nan_ok=True)
    assert seen.backlog_at_restore[0, 0] == pytest.approx(60_000)


def test_batches_hold_a_partition_back_whatever_its_consumers_can_do():
    # 12 partitions of 100 a minute serve 1,200: the backlog of 206,400 stays.
    even = Partitions((1 / 12,) * 12, 100)
    seen = simulate(system(CoupledQueue(replace(FIRST, service_rate_per_min=4000), partitions=even)))
    assert np.isnan(seen.drain_min[0, 0])
    assert seen.never[0]
    assert set(minutes_by_bound(seen)) == {"batches"}


def test_fewer_consumers_than_partitions_take_sets_of_them():
    # 5 partitions over 2 consumers: the first has three of them, 0.7 of 600/min, and serves half of 900: 25,200 / 30.
    parts = Partitions((0.3, 0.2, 0.2, 0.2, 0.1), consumers=2)
    assert [lane.arrival_share for lane in parts.lanes()] == pytest.approx([0.7, 0.3])
    load = QueueLoad(RateProfile.constant(600), 900, 60)
    seen = simulate(system(CoupledQueue(load, partitions=parts)))
    assert seen.drain_min[0, 0] == pytest.approx(25_200 / 30)
    # What the other half has served by then does not wait.
    assert seen.peak_backlog[0, 0] == pytest.approx(36_000)


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        ({"consumers_per_min": 900}, "consumers"),
        ({"reserved_per_min": 900}, "reserved concurrency"),
        ({"pool_per_min": 900}, "connection pool"),
        ({"load": replace(HOUR, cap_concurrency=30)}, "cap"),
        ({"course": Course((-1.0,), (0.5,))}, "course"),
        ({"load": replace(HOUR, service_rate_per_min=900)}, "service rate"),
        ({"load": replace(HOUR, ramp=Ramp(30, 0, 30))}, "ramp"),
        ({"autoscaler": Autoscaler("depth", 1e9, 90, 10, 10, 10)}, "autoscaler"),
        ({"partitions": Partitions((0.5, 0.5), 450)}, "batches"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_least_binds_and_is_named(bounds, name):
    # 36,000 wait at the restore, and 300/min are left beside what arrives, whatever holds the consumers to 900/min.
    seen = simulate(system(CoupledQueue(**{"load": HOUR, **bounds})))
    assert seen.drain_min[0, 0] == pytest.approx(120)
    held = minutes_by_bound(seen)
    assert held[name] == pytest.approx(120, abs=1.0)
    assert trace(system(CoupledQueue(**{"load": HOUR, **bounds}))).bound[70, 0] == BOUNDS.index(name)


def test_a_fleet_bounds_the_service_rate_and_not_the_cap():
    # Half of the fleet serves 900/min, and so do 30 at once: the least of both, not their product.
    load = replace(HOUR, cap_concurrency=30)
    half = CoupledFleet(50, 100, launches_from_min=600)
    seen = simulate(system(CoupledQueue(load, fleet=0), fleets=(half,)))
    assert seen.drain_min[0, 0] == pytest.approx(120)


def test_instances_come_whole():
    # Three of four serve 900/min and the fourth comes after 30.4 min, when 18,000 + 30.4 x 0 are left beside 900/min in.
    load = QueueLoad(RateProfile.constant(900), 1200, 20)
    item = CoupledFleet(3, 4, launch_burst=1, start_delay_min=30.4)
    seen = simulate(system(CoupledQueue(load, fleet=0), fleets=(item,)))
    assert seen.drain_min[0, 0] == pytest.approx(30.4 + 18_000 / 300)
    # Without a burst, one a 10 min: from 2 of 4 at 300/min each with 600/min in, so 300 and then 600 a minute drain.
    slow = CoupledFleet(2, 4, launch_per_min=0.1)
    load = QueueLoad(RateProfile.constant(600), 1200, 20)
    seen = simulate(system(CoupledQueue(load, fleet=0), fleets=(slow,)))
    assert seen.drain_min[0, 0] == pytest.approx(20 + 9_000 / 600)


def test_consumers_that_wait_for_time_outs_are_a_closed_loop():
    # 60 consumers: an item takes 2 s, and ten attempts of 1 s more when they fail, so 300 items and 3,000 attempts a minute.
    queue = CoupledQueue(replace(FIRST, item_time_s=2), 0, 10, timeout_s=1)
    down = CoupledDependency(2999, collapsed_at_restore=True)
    seen = simulate(system(queue, down))
    assert seen.never[0]
    assert seen.peak_attempts_per_min[0, 0] == pytest.approx(3000)
    assert simulate(system(queue, replace(down, capacity_per_min=3001))).drain_min[0, 0] == pytest.approx(344)
    # With waits of 25 s between the attempts it is 97.3 items and 973 attempts.
    patient = replace(queue, backoff_s=25)
    seen = simulate(system(patient, replace(down, capacity_per_min=2000)))
    assert seen.drain_min[0, 0] == pytest.approx(344)
    assert np.isnan(simulate(system(patient, replace(down, capacity_per_min=972))).healed_at_min[0, 0])


def test_attempts_in_flight_are_worked_off_before_it_heals():
    # 12,000 attempts a minute with time-outs of half a minute: 6,000 are in flight when the quotas run out at once, and
    # 1,000 of 2,000/min are left to work them off.
    direct = CoupledDependency(
        2000, fresh_per_min=1000, attempts_failing=12, collapsed_at_restore=True, retry_tokens=110_000,
        sustained_attempts=1, timeout_min=0.5,
    )  # fmt: skip
    seen = simulate(CoupledSystem(10, 10, (), (direct,)))
    assert seen.healed_at_min[0, 0] == pytest.approx(10 + 6000 / 1000)
    assert simulate(CoupledSystem(10, 10, (), (replace(direct, timeout_min=0),))).healed_at_min[0, 0] == pytest.approx(
        10
    )


@pytest.mark.parametrize("throttle", [{"collapses": False}, {"goodput_share": 1}, {"throttle_per_min": 1000}])
def test_a_throttle_does_its_full_work_and_rejects_the_rest(throttle):
    load = QueueLoad(RateProfile.constant(600), 1200, 60)
    capacity = 1e6 if "throttle_per_min" in throttle else 1000
    seen = simulate(system(CoupledQueue(load, 0, 3), CoupledDependency(capacity, attempts_failing=3, **throttle)))
    assert seen.drain_min[0, 0] == pytest.approx(36_000 / 400)
    assert seen.time_collapsed_min[0, 0] == 0
    # Three attempts each rejected with r, so that r ** 3 = 1 - 1,000 / 1,200 fail in the end: 1,000 / (1 - r) attempts.
    assert seen.peak_attempts_per_min[0, 0] == pytest.approx(1000 / (1 - (1 / 6) ** (1 / 3)))
    assert minutes_by_bound(seen)["dependency"] == pytest.approx(90, abs=1)


def test_what_rejects_collapses_too_when_attempts_pass_its_capacity():
    load = QueueLoad(RateProfile.constant(600), 1200, 60)
    both = CoupledDependency(2223, attempts_failing=3, throttle_per_min=1000)
    queue = CoupledQueue(load, 0, 3)
    assert simulate(system(queue, both)).never[0]
    assert simulate(system(queue, replace(both, capacity_per_min=2224))).drain_min[0, 0] == pytest.approx(90)


def test_an_item_is_served_when_all_its_dependencies_serve_it():
    load = QueueLoad(RateProfile.constant(600), 1800, 60)
    calls = (Call(0), Call(1, 2.0))
    front, behind = CoupledDependency(5000), CoupledDependency(2000, collapses=False)
    # The second bears 1,000 items of two calls: 36,000 / 400.
    seen = simulate(system(CoupledQueue(load, calls=calls), front, behind))
    assert seen.drain_min[0, 0] == pytest.approx(90)
    # In series what the first rejects does not reach the second, which would not bear it.
    front = CoupledDependency(900, collapses=False)
    behind = CoupledDependency(2700, attempts_failing=3)
    queue = CoupledQueue(load, attempts_failing=3, calls=calls)
    seen = simulate(system(queue, front, behind))
    assert seen.drain_min[0, 0] == pytest.approx(120)
    assert seen.time_collapsed_min[0, 1] == 0
    assert simulate(system(replace(queue, fan_out=True), front, behind)).never[0]


def test_direct_traffic_has_a_profile_and_users_come_back():
    # 500/min, then 1,500 from 30 to 40 min after the restore: twice as much for ten minutes at a throttle of 1,000.
    direct = RateProfile([0, 90, 100, 101], [500, 1500, 500])
    item = CoupledDependency(1000, fresh_per_min=500, direct=direct, collapses=False)
    waits = CoupledQueue(replace(HOUR, service_rate_per_min=900))
    seen = simulate(system(waits, item))
    assert seen.failed_direct[0, 0] == pytest.approx(5000)
    # 2,000/min more at the restore, falling by e in 10 min: above 500/min for 10 ln 4 min, 20,000 x 3/4 - 500 x that.
    back = CoupledDependency(1000, fresh_per_min=500, surge_per_min=2000, surge_decay_min=10, collapses=False)
    seen = simulate(CoupledSystem(60, 60, (), (back,)), step_min=0.25, horizon_min=100)
    assert seen.failed_direct[0, 0] == pytest.approx(15_000 - 5000 * np.log(4), rel=1e-3)


def test_a_partial_outage_serves_what_is_left_and_a_dip_comes_again():
    # 40 % of 1,000/min in the outage of 60 min, with 600/min in and 1,200/min of consumers: 200/min wait, 400/min drain.
    load = QueueLoad(RateProfile.constant(600), 1200, 60)
    course = Course((-60.0, 0.0), (0.4, 1.0))
    item = CoupledDependency(1000, collapses=False, course=course)
    seen = simulate(system(CoupledQueue(load, 0), item))
    assert seen.backlog_at_restore[0, 0] == pytest.approx(12_000)
    assert seen.drain_min[0, 0] == pytest.approx(30)
    # Nothing from 20 to 30: 4,000 wait then, and 6,000 more.
    again = replace(item, course=Course((-60.0, 0.0, 20.0, 30.0), (0.4, 1.0, 0.0, 1.0)))
    seen = simulate(system(CoupledQueue(load, 0), again))
    assert seen.drain_min[0, 0] == pytest.approx(30 + 10_000 / 400)


def test_deliveries_that_fail_in_the_outage_are_dead_lettered():
    # Five deliveries half a minute apart: the first item goes after 2 min. 600 deliveries a minute take 120 items.
    load = QueueLoad(RateProfile.constant(600), 600, 60, backlog_before=6000)
    queue = CoupledQueue(load, max_receives=5, receives_in_outage=True, redelivery_min=0.5)
    seen = simulate(system(queue), horizon_min=10)
    assert seen.dead_lettered[0, 0] == pytest.approx(120 * 58)
    # With 2 s an item and three attempts of 1 s, 600/min become 240.
    slow = replace(queue, load=replace(load, item_time_s=2), attempts_failing=3, timeout_s=1)
    assert simulate(system(slow), horizon_min=10).dead_lettered[0, 0] == pytest.approx(48 * 58)
    assert simulate(system(replace(queue, receives_in_outage=False)), horizon_min=10).dead_lettered[0, 0] == 0


def test_control_loops_that_lapsed_come_first_and_hold_step_two():
    # 9,000 leases at 900/min beside 100/min: ten minutes, and 5 more for which the signal must hold; step 1 holds 5 as well.
    load = QueueLoad(RateProfile.constant(10), 100, 10)
    item = CoupledDependency(2000, control_per_min=100, control_backlog=9000, control_catch_up_per_min=900)
    seen = simulate(system(CoupledQueue(load, 0), item, admission=Admission()))
    assert seen.step_begun_min[0, 3] == pytest.approx(10 + 5)
    assert seen.peak_attempts_per_min[0, 0] >= 1000
    with pytest.raises(ModelError, match="control_catch_up_per_min"):
        replace(item, control_catch_up_per_min=0)


def test_consumers_that_start_together_tip_a_dependency_that_bears_their_rate():
    # 20 consumers of 2 s make 600/min; started within a second they make 1,200/min for that second.
    load = QueueLoad(RateProfile.constant(200), 600, 60, item_time_s=2)
    item = CoupledDependency(1000, attempts_failing=3)
    for spread, down in ((1 / 60, True), (2 / 60, False), (None, False)):
        seen = simulate(system(CoupledQueue(load, 0, 3, start_spread_min=spread), item))
        assert bool(seen.never[0]) is down


def test_a_queue_keeps_the_quota_of_its_own_clients():
    # Its own two attempts heal where those of the direct callers, five, would not.
    load = QueueLoad(RateProfile.constant(300), 600, 60)
    item = CoupledDependency(1300, attempts_failing=5, collapsed_at_restore=True)
    own = CoupledQueue(load, 0, 2, retries=RetryPool(tokens=6000, sustained=1.0))
    assert simulate(system(own, item)).healed_at_min[0, 0] == 0
    seen = simulate(system(own, replace(item, capacity_per_min=1100)))
    assert seen.healed_at_min[0, 0] == pytest.approx(6000 / 600)


def hpa(samples, start, target=50.0):
    """Replicas as the documented algorithm makes them of metrics, one look each 15 s: two policies up, none down."""
    wanted, looks = start, []
    for value in samples:
        ratio = value / (target * wanted)
        wish = wanted if abs(ratio - 1) <= 0.1 else int(np.ceil(wanted * ratio - 1e-9))
        wanted = min(max(wish, 2), max(wanted + 4, 2 * wanted), 40)
        looks.append(wanted)
    return looks


def test_an_autoscaler_on_depth_adds_what_its_policies_allow_and_what_starts_late_serves_late():
    load = QueueLoad(RateProfile.constant(600), 6000, 10)
    scaler = Autoscaler("depth", 50, 30, 2, 40, 2, start_min=1.0, down_percent=0)
    seen = trace(system(CoupledQueue(load, autoscaler=scaler)))
    # 6,000 wait and 540/min are missing, so that the wish is above 40 for as long as replicas double: 2, 6, 12, 24, 40.
    assert hpa([6000] * 4, 2) == [6, 12, 24, 40]
    at = dict(zip(seen.times_min.tolist(), seen.replicas[:, 0].tolist(), strict=True))
    # Looks at 0.25, 0.5, 0.75 and 1 min; each serves a minute later.
    assert (at[1.0], at[2.0], at[3.0]) == (2, 24, 40)
    served = 2 * 30 * 1.25 + 30 * 0.25 * (6 + 12 + 24)
    left = 6000 + 600 * 2 - served
    assert seen.result.drain_min[0, 0] == pytest.approx(2 + left / (40 * 30 - 600), abs=1e-6)


def test_an_autoscaler_takes_away_only_after_its_window():
    load = QueueLoad(RateProfile.constant(300), 6000, 10)
    scaler = Autoscaler("utilisation", 0.5, 30, 2, 100, 60, down_window_min=5.0)
    other = CoupledQueue(QueueLoad(RateProfile.constant(1), 1, 10))
    seen = trace(CoupledSystem(10, 10, (CoupledQueue(load, autoscaler=scaler), other)), horizon_min=30)
    at = dict(zip(seen.times_min.tolist(), seen.replicas[:, 0].tolist(), strict=True))
    drained = float(seen.result.drain_min[0, 0])
    # Busy all the time until 3,000 items are gone, it wants more; five minutes after the last such look, 20 replicas at a half.
    assert at[float(np.floor(drained + 4))] >= 60
    assert at[30.0] == 20


def test_a_longer_outage_moves_the_restore_and_not_the_trigger():
    # 600/min in the first hour from the trigger and 3,000 after it: 30 more minutes of outage hold 90,000 items more.
    profile = RateProfile([0, 60, 61], [600, 3000])
    queue = CoupledQueue(QueueLoad(profile, 4000, 60))
    seen = simulate(system(queue), {Input("outage", 0, "outage_min"): [60.0, 90.0, 30.0]})
    assert seen.backlog_at_restore[:, 0] == pytest.approx([36_000, 36_000 + 90_000, 18_000])
    assert seen.drain_min[:2, 0] == pytest.approx([36.0, 126.0])


def test_refused_work_is_refused_for_as_long_as_the_outage_lasts():
    queue = CoupledQueue(QueueLoad(RateProfile.constant(600), 1200, 60, backlog_before=100), rejects_in_outage=True)
    seen = simulate(system(queue), {Input("outage", 0, "outage_min"): [60.0, 90.0]})
    assert seen.backlog_at_restore[:, 0] == pytest.approx([100, 100])


def test_losses_without_an_end_are_a_rate_and_the_time_from_which_it_holds():
    # 100/min more than are served; the oldest is 30 min old when 30 x 1,200 wait, which 34,400 at the restore reach at once.
    load = replace(FIRST, service_rate_per_min=1100, max_age_min=30)
    seen = simulate(system(CoupledQueue(load)))
    assert seen.never[0]
    assert seen.lost_per_min[0, 0] == pytest.approx(100)
    # Kept for four days, the backlog grows from 206,400 at 100/min up to what four days bring: 1,200 x 5,760.
    kept = replace(FIRST, service_rate_per_min=1100, retention_min=5760)
    seen = simulate(system(CoupledQueue(kept)))
    assert seen.lost_per_min[0, 0] == pytest.approx(100)
    assert seen.lost_from_min[0, 0] == pytest.approx((1200 * 5760 - 206_400) / 100, rel=1e-6)
    assert np.isnan(simulate(system(CoupledQueue(FIRST))).lost_from_min[0, 0])
    # Behind a dependency that never heals, direct requests fail from the restore on.
    down = CoupledDependency(2000, fresh_per_min=100, attempts_failing=3, collapsed_at_restore=True)
    seen = simulate(system(CoupledQueue(kept, 0, 3), down))
    assert (seen.unserved_per_min[0, 0], seen.unserved_from_min[0, 0]) == (100, 0)
