"""Launch buckets against docs/model.md section 4 and against a simulation millisecond by millisecond."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.launches import in_service_by

from afterload.errors import ModelError
from afterload.model.launches import (
    RUN_INSTANCES,
    TERMINATE_INSTANCES,
    BucketLimits,
    launch,
    long_run_per_min,
    removal_time_s,
)


def test_thousand_in_one_request_model_md_section_4():
    seen = launch(1000, instances_per_request=1000)
    assert seen.wait_s == 0
    assert seen.binding == "neither"
    assert in_service_by(seen, 0) == 1000


def test_three_thousand_at_a_hundred_a_request_model_md_section_4():
    seen = launch(3000, instances_per_request=100)
    assert seen.wait_s == pytest.approx(1000)
    assert seen.binding == "instances"
    assert seen.requests_alone_s == 12.5
    assert seen.instances_alone_s == 1000
    assert len(seen.times_s) == 30


def test_three_thousand_one_by_one_model_md_section_4():
    seen = launch(3000, instances_per_request=1)
    assert seen.wait_s == pytest.approx(1497.5)
    assert seen.binding == "requests"
    assert seen.times_s[:7].tolist() == [0, 0, 0, 0, 0, 0.5, 1.0]


def test_long_run_model_md_section_4():
    assert long_run_per_min() == 120
    assert long_run_per_min(instances_per_request=100) == 120
    assert long_run_per_min(TERMINATE_INSTANCES, instances_per_request=1000) == 1200
    assert long_run_per_min(throttle_factor=0.5, other_callers_share=0.5) == 30


def test_removal_is_ten_times_as_fast_facts_md_section_5():
    n, size = 20_000, 1000
    launched = launch(n, instances_per_request=size).wait_s
    assert removal_time_s(n, instances_per_request=size) == pytest.approx(launched / 10)
    # One by one the request bucket binds: (20,000 - 100) / 5.
    assert removal_time_s(n) == pytest.approx(19_900 / 5)


def test_boot_and_network_come_after_the_buckets():
    seen = launch(10, boot_s=60, network_s=30)
    assert seen.wait_s == 2.5
    assert seen.in_service_s == 92.5
    assert [in_service_by(seen, t) for t in (0, 89.9, 90, 90.5, 92.4, 92.5, 1e6)] == [0, 0, 5, 6, 9, 10, 10]


def test_last_request_may_be_smaller():
    seen = launch(250, instances_per_request=100)
    assert seen.instances.tolist() == [100, 200, 250]


def test_nothing_to_launch_takes_no_time():
    seen = launch(0, boot_s=60)
    assert (seen.wait_s, seen.in_service_s, seen.binding, in_service_by(seen, 5)) == (0, 0, "neither", 0)


def test_spent_buckets_start_from_nothing():
    assert launch(100, instances_per_request=100, buckets_full=0).wait_s == pytest.approx(50)
    assert launch(1, buckets_full=0).wait_s == pytest.approx(0.5)
    assert launch(1, buckets_full=0).binding == "both"


def test_a_share_of_nine_tenths_still_leaves_a_hundred():
    assert launch(100, BucketLimits(10, 2, 1000, 2), instances_per_request=100, other_callers_share=0.9).wait_s == 0


@pytest.mark.parametrize("kwargs", [{"throttle_factor": 0.5}, {"other_callers_share": 0.5}])
def test_request_larger_than_the_bucket_is_refused_with_a_way_out(kwargs):
    with pytest.raises(ModelError, match=r"600 instances is larger .* 500 .* ask for at most 500"):
        launch(2000, instances_per_request=600, **kwargs)
    with pytest.raises(ModelError, match="ask for at most 500"):
        long_run_per_min(instances_per_request=600, **kwargs)


def test_bucket_below_one_request_is_refused():
    with pytest.raises(ModelError, match=r"throttle_factor 0\.1 .* request bucket of 0\.5"):
        launch(10, throttle_factor=0.1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", -1),
        ("n", 2.5),
        ("instances_per_request", 0),
        ("throttle_factor", 0),
        ("throttle_factor", 1.01),
        ("other_callers_share", 1),
        ("other_callers_share", -0.1),
        ("buckets_full", 1.1),
        ("buckets_full", math.nan),
        ("boot_s", -1),
        ("network_s", math.inf),
    ],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ModelError, match=field):
        launch(**{"n": 10, field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("request_burst", 0.5), ("requests_per_s", 0), ("instance_burst", 0), ("instances_per_s", -1)]
)
def test_buckets_without_meaning_are_refused(field, value):
    limits = {"request_burst": 5, "requests_per_s": 2, "instance_burst": 1000, "instances_per_s": 2, field: value}
    with pytest.raises(ModelError, match=field):
        BucketLimits(**limits)


def by_millisecond(sizes, request_burst, requests_per_s, instance_burst, instances_per_s, full):
    """Levels in thousandths, refilled every millisecond; one request after another, as soon as both buckets bear it."""
    requests, instances = int(request_burst * 1000 * full), int(instance_burst * 1000 * full)
    times, now = [], 0
    for size in sizes:
        while requests < 1000 or instances < 1000 * size:
            now += 1
            requests = min(request_burst * 1000, requests + requests_per_s)
            instances = min(instance_burst * 1000, instances + instances_per_s)
        requests -= 1000
        instances -= 1000 * size
        times.append(now / 1000)
    return times


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 120),
    size=st.integers(1, 20),
    request_burst=st.integers(1, 8),
    requests_per_s=st.integers(1, 20),
    instance_burst=st.integers(20, 40),
    instances_per_s=st.integers(4, 40),
    full=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_buckets_agree_with_every_millisecond(
    n, size, request_burst, requests_per_s, instance_burst, instances_per_s, full
):
    limits = BucketLimits(request_burst, requests_per_s, instance_burst, instances_per_s)
    seen = launch(n, limits, instances_per_request=size, buckets_full=full)
    sizes = np.diff(np.concatenate(([0], seen.instances)))
    assert sizes.sum() == n
    expected = by_millisecond(
        sizes.tolist(), request_burst, requests_per_s, instance_burst, instances_per_s, full
    )  # fmt: skip
    # Each wait is rounded up to a millisecond, at most.
    late = np.asarray(expected) - seen.times_s
    assert np.all(late >= -1e-9)
    assert np.all(late <= 0.001 * (np.arange(len(late)) + 1) + 1e-9)
    assert seen.wait_s >= max(seen.requests_alone_s, seen.instances_alone_s) - 1e-9


def test_throttle_and_others_scale_the_buckets():
    plain = launch(500, BucketLimits(2.5, 1, 250, 1), instances_per_request=50)
    scaled = launch(500, BucketLimits(10, 4, 1000, 4), instances_per_request=50, throttle_factor=0.5,
                    other_callers_share=0.5)  # fmt: skip
    assert scaled.times_s.tolist() == pytest.approx(plain.times_s.tolist())


def test_hundred_thousand_requests_are_quick():
    began = time.perf_counter()
    seen = launch(100_000, RUN_INSTANCES)
    assert time.perf_counter() - began < 2
    assert seen.wait_s == pytest.approx((100_000 - 5) / 2, rel=1e-12)
