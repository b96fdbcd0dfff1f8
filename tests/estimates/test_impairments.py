"""Control loops, removals against launches and flapping targets from YAML to result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from afterload.estimates import estimate
from afterload.impairments import (
    MOST_SENDS,
    MOST_SIMULATED,
    RUNS,
    TODAY,
    ControlEstimate,
    FlappingEstimate,
    RemovalEstimate,
    estimate_control_loops,
    estimate_flapping,
    estimate_removals,
)
from afterload.model.coupled import simulate
from afterload.recovery.build import couple
from afterload.scenario import LoadedScenario

Load = Callable[..., LoadedScenario]
# The example of "Analyzing Metastable Failures", HotOS 2025, with a crowd at the restore in place of its ten minutes of spike.
LOOP = """\
clients: {c: {sdk: boto3, number: 1}}
control_loops:
  leases: {load: 5/s, capacity: 10/s, timeout: 5 s, retries: 5, queue_cap: 150, waiting_at_restore: 300}
"""
FLEET = """\
fleets:
  f:
    running: 420
    needed: 390
    launches_from: 75 min
    removal_rate: 3/min
    removal_automation: [ReplaceUnhealthy, AZRebalance, AlarmNotification, ScheduledActions, InstanceRefresh]
    launch: {boot_time: 3 min, network_delay: 30 min}
"""
GROUP = FLEET + "    target_group: {targets: [140, 140, 140], new_targets: [60, 60, 60], check_interval: 10 s}\n"


def loop(load: Load, *overrides: str, body: str = LOOP) -> ControlEstimate:
    return estimate_control_loops(load(body, *overrides))[0]


def removal(load: Load, *overrides: str) -> RemovalEstimate:
    found, reasons = estimate_removals(load(FLEET, *overrides))
    assert reasons == ()
    return found[0]


def reason(load: Load, *overrides: str) -> str:
    found, reasons = estimate_removals(load(FLEET, *overrides))
    assert found == ()
    return reasons[0]


def flapping(load: Load, *overrides: str) -> FlappingEstimate:
    found, reasons = estimate_flapping(load(GROUP, *overrides))
    assert reasons == ()
    return found[0]


class TestControlLoops:
    """HotOS 2025: stuck when queue cap / capacity > time-out and load x (1 + retries) > capacity."""

    @pytest.mark.parametrize(
        ("changes", "stuck"),
        [
            ((), True),
            (("queue_cap=35",), False),
            (("queue_cap=50",), False),
            (("queue_cap=90",), True),
            (("load=1.6/s",), False),
            (("load=1.7/s",), True),
            (("retries=0",), False),
            (("retries=none", "queue_cap=none"), True),
            (("order=lifo",), False),
            (("discards_expired=true",), False),
            (("timeout=16 s",), False),
            (("capacity=31/s",), False),
        ],
    )
    def test_the_condition_and_the_simulation_agree(self, load: Load, changes: tuple[str, ...], stuck: bool) -> None:
        item = loop(load, *(f"control_loops.leases.{change}" for change in changes))
        assert item.can_stay_down is stuck
        assert item.runs[TODAY].verdict == ("stays down" if stuck else "heals")

    def test_what_helps(self, load: Load) -> None:
        verdicts = {name: run.verdict for name, run in loop(load).runs.items()}
        assert verdicts.pop(TODAY) == verdicts.pop("clear once") == "stays down"
        assert set(verdicts.values()) == {"heals"}

    def test_the_condition_is_sharp_where_chance_is_not(self, load: Load) -> None:
        """One more than the useful length can stay down by the condition, and soon escapes all the same."""
        item = loop(load, "control_loops.leases.queue_cap=51")
        assert item.can_stay_down
        assert item.runs[TODAY].verdict == "heals"

    def test_clearing_helps_where_callers_have_given_up_by_then(self, load: Load) -> None:
        assert loop(load).cleared_at_s == 12 * 5
        item = loop(load, "control_loops.leases.load=1.9/s", "control_loops.leases.cleared_after=40 s")
        assert item.cleared_at_s == 40
        assert item.runs[TODAY].verdict == "stays down"
        assert item.runs["clear once"].verdict == "heals"
        # Sends of the last time-out before the clearing are those that still fail, and their retries succeed.
        assert item.runs["clear once"].recovery_s == pytest.approx(40, abs=5)

    def test_the_same_twice(self, load: Load) -> None:
        one, two = (loop(load).runs for _ in "ab")
        assert [(run.sends, run.recovery_s) for run in one.values()] == [
            (run.sends, run.recovery_s) for run in two.values()
        ]

    @pytest.mark.parametrize("retries", ["5", "none"])
    def test_a_loop_of_any_size_is_simulated_at_a_smaller_one_with_the_same_answers(
        self, load: Load, retries: str
    ) -> None:
        """Only the ratios count where chance is small: a thousand times the size heals and stays down alike."""
        body = LOOP.replace("retries: 5", f"retries: {retries}").replace("timeout: 5 s", "timeout: 50 s")
        small = loop(
            load, "control_loops.leases.queue_cap=1500", "control_loops.leases.waiting_at_restore=1500", body=body
        )
        sizes = ("load=5,000/s", "capacity=10,000/s", "queue_cap=1,500,000", "waiting_at_restore=1,500,000")
        large = loop(load, *(f"control_loops.leases.{size}" for size in sizes), body=body)
        assert large.scale > 100 * small.scale
        assert large.can_stay_down is small.can_stay_down is True
        for name, run in small.runs.items():
            other = large.runs[name]
            if "not decided" in (run.verdict, other.verdict):
                continue
            assert other.verdict == run.verdict, name
            if run.recovery_s is not None:
                assert other.recovery_s == pytest.approx(run.recovery_s, rel=0.25), name
        decided = [name for name, run in large.runs.items() if run.verdict != "not decided"]
        assert len(decided) >= 4

    def test_run_time_is_bounded(self, load: Load) -> None:
        loops = "\n".join(
            f"  l{i}: {{load: {10**i}/s, capacity: {2 * 10**i}/s, timeout: 5 s, waiting_at_restore: {3 * 10**i}}}"
            for i in range(7)
        )
        found = estimate_control_loops(load(f"clients: {{c: {{sdk: boto3, number: 1}}}}\ncontrol_loops:\n{loops}\n"))
        assert sum(bool(item.runs) for item in found) == MOST_SIMULATED
        assert all(run.sends <= 2 * MOST_SENDS for item in found for run in item.runs.values())
        assert loop(load, "control_loops.leases.waiting_at_restore=0").runs == {}
        assert loop(load, "control_loops.leases.waiting_at_restore=5,000,000").runs == {}


class TestRemovals:
    def test_the_closed_form_of_a_fleet_that_shrinks(self, load: Load) -> None:
        today = removal(load).today
        # 75 min x 3/min; then requests of one instance, 5 at once and 2 a second, and 33 min to boot and be reachable.
        assert (today.lowest, today.removed) == (420 - 225, 225)
        assert today.back_s == pytest.approx((390 - 195 - 5) / 2 + 33 * 60, rel=0.01)
        assert today.full_s == pytest.approx((225 - 5) / 2 + 33 * 60, rel=0.01)
        # Below 390 from minute 10 on, when 30 are gone.
        assert today.below_needed_s == pytest.approx((75 - 10) * 60 + today.back_s, rel=0.01)

    @pytest.mark.parametrize(
        "changes",
        [(), ("removal_floor=300",), ("running=300",), ("needed=420", "running=420"), ("removal_rate=0.5/min",)],
    )
    def test_the_coupled_model_reaches_the_same_minimum(self, load: Load, changes: tuple[str, ...]) -> None:
        """The coupled kernel is an independent simulation: no buckets of terminations, minutes instead of seconds."""
        queue = "queues: {q: {arrival_rate: 10/min, service_rate: 20/min, fleet: f}}\n"
        loaded = load(FLEET + queue, *(f"fleets.f.{change}" for change in changes))
        coupling = couple(loaded)
        assert coupling is not None
        lowest = simulate(coupling.system).lowest_in_service[0, 0]
        assert estimate_removals(loaded)[0][0].today.lowest == pytest.approx(lowest, abs=1)

    def test_without_removals_it_launches_as_the_launches_chapter_says(self, load: Load) -> None:
        """3,000 instances, 100 a request, as in the published example: 19.2 min; an alarm that takes 1 away is all that acts."""
        changes = (
            "fleets.f.running=600", "fleets.f.needed=3600", "fleets.f.launches_from=1 s", "fleets.f.removal_rate=0/min",
            "fleets.f.launch={instances_per_request: 100, boot_time: 120 s, network_delay: 30 s}",
            "fleets.f.removal.rebalancing=1",
        )  # fmt: skip
        loaded = load(FLEET, *changes)
        launches = estimate(loaded).fleets["f"]
        course = estimate_removals(loaded)[0][0].today
        assert launches.in_service_min == pytest.approx((1_150 + 1) / 60)
        assert course.back_s is not None
        assert (1 + course.back_s) / 60 == pytest.approx(launches.in_service_min, rel=0.01)

    @pytest.mark.parametrize(
        ("process", "lowest_while_impaired"),
        [
            ("HealthCheck", 420),
            ("ReplaceUnhealthy", 420),
            ("Terminate", 420),
            ("Launch", 195),
            ("AZRebalance", 195),
            ("AddToLoadBalancer", 195),
            ("AlarmNotification", 195),
            ("ScheduledActions", 195),
            ("InstanceRefresh", 195),
        ],
    )
    def test_each_process_as_its_documentation_says(
        self, load: Load, process: str, lowest_while_impaired: float
    ) -> None:
        """Auto Scaling user guide, suspend and resume processes."""
        course = removal(load).courses[f"{process} suspended"]
        before = course.capacity[course.times_s <= 75 * 60]
        assert float(before.min()) == lowest_while_impaired

    def test_resuming_replaces_all_that_was_marked(self, load: Load) -> None:
        courses = removal(load).courses
        assert courses["ReplaceUnhealthy suspended"].removed_after_resume == 225
        assert courses["ReplaceUnhealthy suspended"].lowest < 250
        careful = courses["ReplaceUnhealthy and AZRebalance suspended, health reset"]
        assert (careful.removed, careful.lowest) == (0, 420)

    def test_every_other_field_counts(self, load: Load) -> None:
        assert removal(load, "fleets.f.removal.checks_failing=25 %").today.lowest == 420 - 105
        at_once = removal(load, "fleets.f.removal_rate=0/min", "fleets.f.removal.checks_failing=50 %").today
        assert at_once.lowest == 210
        # 210 removals: 100 at once and 5 a second.
        assert float(at_once.times_s[np.argmin(at_once.capacity)]) == pytest.approx((210 - 100) / 5, abs=2)
        held = removal(load, "fleets.f.removal.worth_of_unhealthy=0.5").courses["ReplaceUnhealthy suspended"]
        assert float(held.capacity[held.times_s <= 75 * 60].min()) == 420 - 225 / 2
        assert removal(load, "fleets.f.removal_floor=250").today.lowest == 250
        assert removal(load, "fleets.f.removal.alarm_scale_in=50").today.lowest == 420 - 50 - 225
        refresh = removal(load, "fleets.f.removal_rate=0/min", "fleets.f.removal.refreshing=100")
        assert refresh.today.lowest == 378
        assert refresh.courses["InstanceRefresh suspended"].capacity[-1] == 420
        scheduled = removal(load, "fleets.f.removal_rate=0/min", "fleets.f.removal.scheduled_scale_in=40")
        assert scheduled.today.lowest == scheduled.today.capacity[-1] == 380
        assert scheduled.courses["ScheduledActions suspended"].lowest == 420
        assert scheduled.courses["AlarmNotification suspended"].lowest == 380

    def test_remedies_have_sizes_of_their_own(self, load: Load) -> None:
        item = removal(load)
        # Removed no faster than RunInstances brings back in the long run: 120 a minute, by the planning guide.
        assert item.velocity_per_min == pytest.approx(120)
        assert item.provisioned == 390 - 195
        assert item.courses["provisioned before"].below_needed_s == 0
        given = removal(load, "fleets.f.removal={velocity_limit: 1/min, provisioned: 7}")
        assert (given.velocity_per_min, given.provisioned) == (1, 7)
        assert given.courses["velocity limit"].lowest < 420 - 75
        assert given.courses["provisioned before"].lowest == 195 + 7
        none = removal(load, "fleets.f.needed=100")
        assert none.provisioned == 0
        assert "provisioned before" not in none.courses
        # Standby serves nothing until launches succeed, and is back at once.
        standby = item.courses["standby"]
        assert (standby.removed, standby.lowest) == (0, pytest.approx(195, abs=1))
        assert standby.back_s == pytest.approx(0, abs=2)

    def test_what_is_paused_today_is_paused_in_every_row(self, load: Load) -> None:
        paused = "fleets.f.removal_automation=[{name: ReplaceUnhealthy, paused: true}, AZRebalance]"
        item = removal(load, paused)
        assert item.today.removed_after_resume == 225
        assert float(item.courses["Launch suspended"].capacity[0:50].min()) == 420

    def test_why_a_fleet_is_left_out(self, load: Load) -> None:
        assert "launches succeed from the restore on" in reason(load, "fleets.f.launches_from=0 min")
        assert "nothing says that it loses" in reason(load, "fleets.f.removal_rate=0/min")
        assert "nothing says that it loses" in reason(load, "fleets.f.removal_automation=[AZRebalance]")
        assert "no process of Auto Scaling" in reason(load, "fleets.f.removal_automation=[]")
        assert "team's own removes its instances (reaper)" in reason(load, "fleets.f.removal_automation=[reaper]")
        assert "has no instances" in reason(load, "fleets.f.running=0", "fleets.f.needed=0")

    def test_a_fleet_of_any_size_takes_few_steps(self, load: Load) -> None:
        item = removal(load, "fleets.f.running=100", "fleets.f.needed=1,000,000", "fleets.f.launches_from=60 days")
        assert max(len(course.times_s) for course in item.courses.values()) < 6_000
        assert item.today.back_s == pytest.approx(1_000_000 / 2, rel=0.02)


class TestFlapping:
    def test_only_new_targets_fail_without_a_loaded_checker(self, load: Load) -> None:
        item = flapping(load)
        assert len(item.courses[TODAY]) == RUNS
        for course in item.courses[TODAY]:
            assert course.lowest >= 420
            assert float(course.late_share.max()) == 0
            # 180 of 600 targets cannot serve at first.
            assert float(course.error_share[0]) == pytest.approx(0.3, abs=0.01)
        for course in item.courses["targets enter when ready"]:
            assert (course.lowest, int(course.changes.sum()), float(course.error_share.max())) == (420, 0, 0)
        assert set(item.courses) == {
            TODAY, "targets enter when ready", "zones stay in DNS", "at most one zone out of DNS",
        }  # fmt: skip

    def test_a_loaded_checker_takes_zones_out_and_each_remedy_acts(self, load: Load) -> None:
        """Event summary, network load balancers: a loaded checker, healthy targets out, zones out of DNS."""
        item = flapping(
            load, "fleets.f.target_group.checker_rate=65/s", "fleets.f.target_group.checks_per_change=8",
            "fleets.f.target_group.dns_share=60 %",
        )  # fmt: skip
        lowest = {name: min(course.lowest for course in runs) for name, runs in item.courses.items()}
        assert item.courses[TODAY][item.shown].lowest == lowest[TODAY] < 200
        assert all(course.zone_exits > 0 for course in item.courses[TODAY])
        assert all(course.zone_exits == 0 for course in item.courses["zones stay in DNS"])
        # 200 of 600 targets are in a zone: no more leave together.
        for course in item.courses["at most one zone out of DNS"]:
            assert int((~course.in_dns).sum(axis=1).max()) <= 1
        mean = {name: np.mean([course.capacity.mean() for course in runs]) for name, runs in item.courses.items()}
        assert mean[TODAY] < mean["at most one zone out of DNS"] < mean["zones stay in DNS"]
        assert lowest["zones stay in DNS"] < lowest["a zone fails open where it would leave DNS"]
        assert lowest["a checker of twice the rate"] == lowest["targets enter when ready"] == 420

    def test_missing_instances_are_spread_evenly(self, load: Load) -> None:
        changes = ("fleets.f.needed=500", "fleets.f.target_group.new_targets=none")
        assert flapping(load, *changes).new_targets == (27, 27, 26)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (("launch.network_delay=0 s",), "have their network state at once"),
            (("target_group.new_targets=none",), "no instances are missing"),
            (("target_group.new_targets=[0, 0, 0]",), "no instances are missing"),
            (("needed=900,000", "target_group.new_targets=none"), "are more than 2,000: give new_targets"),
        ],
    )
    def test_why_a_target_group_is_left_out(self, load: Load, changes: tuple[str, ...], words: str) -> None:
        found, reasons = estimate_flapping(load(GROUP, *(f"fleets.f.{change}" for change in changes)))
        assert found == ()
        assert words in reasons[0]
        assert estimate_flapping(load(FLEET)) == ((), ())

    def test_the_window_holds_all_changes_unless_it_would_take_too_long(self, load: Load) -> None:
        item = flapping(load)
        assert not item.is_cut
        assert item.window_s == 30 * 60 + 4 * 10 * (2 + 5)
        assert all(course.is_settled for course in item.courses[TODAY])
        vast: dict[str, Any] = {
            "fleets.f.target_group.targets": [2000] * 6, "fleets.f.target_group.new_targets": [2000] * 6,
        }  # fmt: skip
        cut = estimate_flapping(load(GROUP, *(f"{key}={value}" for key, value in vast.items())))[0][0]
        assert cut.is_cut
        assert math.isclose(cut.window_s, 41 * 10)
