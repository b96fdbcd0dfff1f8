"""Fleets and call stacks from YAML to result, and impact windows row by row."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.estimates import Estimates, estimate
from afterload.findings import split_windows
from afterload.scenario import load_scenario

Results = Callable[..., Estimates]
FLEET = "fleets: {f: {running: 600, needed: 3600, launch: {instances_per_request: 100}}}\n"
EXPECTED = Path(__file__).parents[1] / "data" / "us-east-1-2025-10-20" / "impact_windows_expected.csv"


@pytest.mark.parametrize(
    ("running", "needed", "size", "wait_s", "binding"),
    [
        (600, 3600, 100, 1_000, "instances"),
        (0, 3000, 1, 1_497.5, "requests"),
        (0, 1000, 1000, 0, "neither"),
        (0, 3, 1, 0, "neither"),
        (3600, 3600, 100, 0, "neither"),
        (4000, 3600, 100, 0, "neither"),
        (0, 1010, 1, 502.5, "requests"),
        (0, 995, 1, 495, "requests"),
    ],
)
def test_the_launch_rows(results: Results, running: int, needed: int, size: int, wait_s: float, binding: str) -> None:
    fleet = results(
        FLEET, f"fleets.f.running={running}", f"fleets.f.needed={needed}",
        f"fleets.f.launch.instances_per_request={size}",
    ).fleets["f"]  # fmt: skip
    assert fleet.missing == max(0, needed - running)
    assert fleet.launches.wait_s == pytest.approx(wait_s)
    assert fleet.launches.binding == binding
    assert fleet.in_service_min == pytest.approx(wait_s / 60)


def test_boot_and_network_come_after_the_wait_but_only_for_what_is_launched(results: Results) -> None:
    slow = ("fleets.f.launch.boot_time=2 min", "fleets.f.launch.network_delay=30 s")
    assert results(FLEET, *slow).fleets["f"].in_service_min == pytest.approx((1_000 + 150) / 60)
    none = results(FLEET, *slow, "fleets.f.running=3600").fleets["f"]
    assert (none.missing, none.in_service_min) == (0, 0)


def test_launches_that_fail_for_a_time_come_that_much_later(results: Results) -> None:
    late = results(FLEET, "fleets.f.launches_from=75 min").fleets["f"]
    assert late.in_service_min == pytest.approx(75 + 1_000 / 60)
    assert late.launches.wait_s == pytest.approx(1_000)
    none = results(FLEET, "fleets.f.launches_from=75 min", "fleets.f.running=3600").fleets["f"]
    assert none.in_service_min == 0


@pytest.mark.parametrize(
    ("change", "wait_s"),
    [
        ("fleets.f.launch.throttle_factor=0.5", 2_500),
        ("fleets.f.launch.other_callers_share=50 %", 2_500),
        ("fleets.f.launch.buckets_full=0", 1_500),
        ("fleets.f.launch.instance_burst=2000", 500),
        ("fleets.f.launch.instance_refill_per_s=4", 500),
        ("fleets.f.launch.request_refill_per_s=0.02", 1_250),
    ],
)
def test_every_launch_limit_counts(results: Results, change: str, wait_s: float) -> None:
    assert results(FLEET, change).fleets["f"].launches.wait_s == pytest.approx(wait_s)


def test_removal_and_relaunch(results: Results) -> None:
    fleet = results(FLEET).fleets["f"]
    # 600 terminations of one each: (600 - 100) / 5; then all 3,600 have to be launched: (3,600 - 1,000) / 2.
    assert fleet.removal_s == pytest.approx(100)
    assert fleet.relaunch.wait_s == pytest.approx(1_300)
    small = results(FLEET, "fleets.f.running=100").fleets["f"]
    assert small.removal_s == 0


def test_the_slowest_fleet_is_the_one_that_waits(results: Results) -> None:
    body = "fleets: {idle: {running: 5, needed: 5}, quick: {running: 0, needed: 2}}\n"
    slowest = results(body).slowest_fleet
    assert slowest is not None
    assert slowest.name == "quick"
    assert results("clients: {c: {sdk: boto3, number: 1}}\n").slowest_fleet is None


@pytest.mark.parametrize(
    ("tries", "probability", "multiplier", "success"),
    [
        ([3, 3, 3, 3, 3], 1, 243, 0),
        ([4], 0.5, 1.875, 0.9375),
        ([2, 3], 0.5, (1 + 0.125) * 1.75, 1 - 0.125**2),
        ([1, 1], 0.3, 1, 0.7),
        ([7], 0, 1, 1),
    ],
)
def test_stacks(results: Results, tries: list[int], probability: float, multiplier: float, success: float) -> None:
    layers = ", ".join(f"{{name: l{place}, tries: {number}}}" for place, number in enumerate(tries))
    body = f"call_stacks: {{s: {{failure_probability: {probability}, layers: [{layers}]}}}}\n"
    found = results(body).stacks["s"].result
    assert found.multiplier == pytest.approx(multiplier)
    assert found.success_probability == pytest.approx(success)


def test_the_guides_stack_layer_by_layer() -> None:
    found = estimate(load_scenario("builtin:scenarios/orders.yaml")).stacks["checkout"].result
    assert found.calls_per_top_call == pytest.approx((3, 9, 27, 81, 243))


def test_impact_windows_row_by_row() -> None:
    """Against the minutes of the published summary of the event, before and after 02:40."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        expected = [
            (row["service"], int(row["minutes_before"]), int(row["minutes_after"]), int(row["minutes_total"]))
            for row in csv.DictReader(file)
        ]
    windows = split_windows(load_scenario("builtin:scenarios/orders.yaml"))
    found = [(item.window.service, item.before_min, item.after_min, item.total_min) for item in windows]
    assert found == expected
    assert len(found) == 12


@pytest.mark.parametrize(
    ("restored_at", "before", "after"),
    [("02:20", 1, 1), ("02:22", 2, 0), ("23:59", 2, 0), ("02:19", 0, 2), ("02:21", 2, 0), ("00:10", 0, 2)],
)
def test_a_window_on_either_side_of_the_restore(tmp_path: Path, restored_at: str, before: int, after: int) -> None:
    (tmp_path / "w.csv").write_text("service,start,end\nS,2025-10-20T02:19Z,2025-10-20T02:21Z\n", encoding="utf-8")
    (tmp_path / "t.yaml").write_text(
        f"team: T\ntime_zone: UTC\nrecovery_objective: 1 h\n"
        f"incident: {{name: E, trigger: 2025-10-20T00:00Z, restored_at: '2025-10-20T{restored_at}Z', impacts: w.csv}}\n"
        "clients: {c: {sdk: boto3, number: 1}}\n",
        encoding="utf-8",
    )
    (window,) = split_windows(load_scenario(tmp_path / "t.yaml"))
    assert (window.before_min, window.after_min) == (before, after)


def test_an_empty_scenario_part_has_no_worst(results: Results) -> None:
    found = results("clients: {c: {sdk: boto3, number: 1}}\n")
    assert (found.worst_queue, found.worst_stack, found.slowest_fleet) == (None, None, None)
    assert (found.queues, found.stacks, found.fleets) == ({}, {}, {})
