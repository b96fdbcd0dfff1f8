"""Shared limits against sums by hand, closed forms and the plain models that packets use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afterload.batch.shared import SharedLimit, shared_limits
from afterload.model.launches import launch

Make = Callable[..., dict[str, Any]]
HERE = {"account": "1", "region": "r"}


def only(records: list[dict[str, Any]], kind: str) -> SharedLimit:
    found = [item for item in shared_limits(records) if item.kind == kind]
    assert len(found) == 1
    return found[0]


def test_twelve_caps_sum_above_the_account(bare: Make, queue: Make) -> None:
    # 12 x 100 at once where 1,000 are there; each drain alone needs its 100 at once for all of 2 s items at 3,000/min.
    records = [
        bare(f"T{n}", shares={**HERE, "queues": [queue(cap_concurrency=100, drain_concurrency=100.0,
             drain_rate_per_min=3000.0, drain_min=206_400 / 1_800)]})
        for n in range(12)
    ]  # fmt: skip
    seen = only(records, "concurrency")
    assert (seen.limit, seen.taken, seen.asked, seen.over, seen.broken) == (1_000, 0, 1_200, 200, True)
    assert len(seen.teams) == 12
    # Alone: 3,000 - 1,200 a minute. Together a twelfth of 1,000 each, 2 s an item: 2,500 - 1,200.
    assert seen.alone_min == pytest.approx(206_400 / 1_800)
    assert seen.joint_min == pytest.approx(206_400 / 1_300)
    assert seen.latest.late_min == pytest.approx(206_400 / 1_300 - 206_400 / 1_800)
    assert any("published default of 1,000" in note for note in seen.notes)


def test_caps_that_fit_promise_nothing_twice(bare: Make, queue: Make) -> None:
    records = [bare(f"T{n}", shares={**HERE, "queues": [queue(cap_concurrency=100)]}) for n in range(10)]
    seen = only(records, "concurrency")
    assert (seen.asked, seen.broken, seen.latest.late_min) == (1_000, False, 0)


def test_caps_above_what_the_drains_need_are_told_apart(bare: Make, queue: Make) -> None:
    records = [bare(f"T{n}", shares={**HERE, "queues": [queue(cap_concurrency=600)]}) for n in range(2)]
    seen = only(records, "concurrency")
    assert (seen.asked, seen.broken, seen.latest.late_min) == (1_200, True, 0)
    assert any("need 120 at once and fit" in note for note in seen.notes)


def test_reserved_concurrency_is_taken_first_and_once_a_function(bare: Make, queue: Make) -> None:
    reserved = {"reserved_concurrency": 300, "cap_concurrency": 300, "function": "worker"}
    records = [
        bare(
            "A", shares={**HERE, "queues": [queue("a", **reserved), queue("b", **reserved)], "reserved_elsewhere": 100}
        ),
        bare("B", shares={**HERE, "queues": [queue("c", cap_concurrency=700)]}),
        bare("C", shares={**HERE, "queues": [queue("d", cap_concurrency=10, drain_concurrency=10.0)]}),
    ]
    seen = only(records, "concurrency")
    assert seen.taken == 400
    assert seen.asked == 400 + 700 + 10
    assert [part.part for part in seen.parts] == ["c", "d"]
    assert seen.broken


def test_what_has_no_item_time_is_told(bare: Make, queue: Make) -> None:
    records = [bare(name, shares={**HERE, "queues": [queue(), queue("x", drain_concurrency=None)]}) for name in "AB"]
    seen = only(records, "concurrency")
    assert seen.asked == 120
    assert any("Not counted" in note and "2 queues" in note for note in seen.notes)


def dependency(
    rate: float, direct: float = 0.0, shared_as: str | None = "ledger", name: str = "db", control: float = 0.0
) -> dict[str, Any]:
    return {
        "name": name,
        "shared_as": shared_as,
        "tested_rate_per_min": rate,
        "direct_rate_per_min": direct,
        "control_rate_per_min": control,
    }


def test_two_drains_on_one_tested_rate(bare: Make, queue: Make) -> None:
    # Planning guide: 1,200 in, 1,800 out, 206,400 waiting: 344 min alone, with 3,000 - 100 a minute for each.
    records = [
        bare(name, shares={"dependencies": [dependency(3_000, 100)], "queues": [queue(dependency="db")]})
        for name in "AB"
    ]
    seen = only(records, "dependency")
    assert (seen.name, seen.limit, seen.taken, seen.asked, seen.broken) == ("ledger", 3_000, 200, 3_800, True)
    assert seen.alone_min == pytest.approx(344)
    # Together 2,800 a minute: 1,400 each, 200 to spare: 1,032 min.
    assert seen.joint_min == pytest.approx(206_400 / 200)
    assert seen.latest.late_min == pytest.approx(1_032 - 344)


def test_control_traffic_is_taken_off_like_direct_traffic(bare: Make, queue: Make) -> None:
    """3,000 less twice 100 is 2,800 a minute for both, however much of the 100 is direct and how much control traffic."""
    for direct, control in ((100.0, 0.0), (0.0, 100.0), (60.0, 40.0)):
        item = dependency(3_000, direct, control=control)
        records = [bare(name, shares={"dependencies": [item], "queues": [queue(dependency="db")]}) for name in "AB"]
        seen = only(records, "dependency")
        assert (seen.taken, seen.asked) == (200, 3_800)
        assert seen.joint_min == pytest.approx(206_400 / 200)


def test_direct_traffic_of_a_dependency_taken_as_one_counts_once(bare: Make, queue: Make) -> None:
    """Without shared_as, direct_rate is all that reaches it: both teams state the same 600/min, and not 1,200/min."""
    load = {"dependency": "db", "backlog": 172_000.0, "arrivals_per_min": [1_000.0]}

    def teams(first: float, second: float, shared_as: str | None) -> list[dict[str, Any]]:
        return [
            bare(
                name, shares={**HERE, "dependencies": [dependency(3_000, direct, shared_as)], "queues": [queue(**load)]}
            )
            for name, direct in (("A", first), ("B", second))
        ]

    seen = only(teams(600, 600, None), "dependency")
    assert (seen.taken, seen.asked, seen.limit) == (600, 600 + 2 * 1_800, 3_000)
    # Alone 1,800 - 1,000 a minute; together 2,400 a minute, half of it each: 200 to spare.
    assert seen.alone_min == pytest.approx(172_000 / 800)
    assert seen.joint_min == pytest.approx(172_000 / 200)
    assert any("taken once" in note for note in seen.notes)
    # Of two statements of one thing the larger holds.
    other = only(teams(0, 600, None), "dependency")
    assert (other.taken, other.asked) == (600, 4_200)
    assert any("from 0 to 600, and the largest holds" in note for note in other.notes)
    # With shared_as it is each team's own: 1,200/min, and nothing to spare of 1,800 for twice 1,000.
    own = only(teams(600, 600, "ledger"), "dependency")
    assert (own.taken, own.asked, own.joint_min) == (1_200, 4_800, None)
    assert not any("taken once" in note for note in own.notes)


def test_a_joint_drain_may_never_end(bare: Make, queue: Make) -> None:
    records = [
        bare(name, shares={"dependencies": [dependency(2_400)], "queues": [queue(dependency="db")]}) for name in "AB"
    ]
    seen = only(records, "dependency")
    assert seen.joint_min is None
    assert seen.latest.never_together
    assert seen.latest.late_min is None


def test_the_lowest_tested_rate_holds_and_direct_callers_count(bare: Make, queue: Make) -> None:
    records = [
        bare("A", shares={"dependencies": [dependency(3_000)], "queues": [queue(dependency="db")]}),
        bare("B", shares={"dependencies": [dependency(2_000, 500)]}),
    ]
    seen = only(records, "dependency")
    assert (seen.limit, seen.taken, seen.asked, seen.broken) == (2_000, 500, 2_300, True)
    assert seen.joint_min == pytest.approx(206_400 / (1_500 - 1_200))
    assert any("from 2,000 to 3,000" in note for note in seen.notes)
    assert seen.teams == ("a", "b")


def test_what_makes_two_dependencies_one(bare: Make) -> None:
    def teams(first: dict[str, Any], second: dict[str, Any]) -> int:
        return len(shared_limits([bare("A", shares=first), bare("B", shares=second)]))

    plain = {**HERE, "dependencies": [dependency(3_000, shared_as=None)]}
    assert teams(plain, plain) == 1
    assert teams(plain, {**plain, "region": "other"}) == 0
    assert teams(plain, {**plain, "account": None}) == 0
    assert teams(plain, {**plain, "dependencies": [dependency(4_000, shared_as=None)]}) == 0
    assert teams({"dependencies": [dependency(1)]}, {"dependencies": [dependency(1, name="other")]}) == 1


def test_fleets_of_one_account_launch_one_after_the_other(bare: Make, fleet: Make) -> None:
    # Ten fleets of 300: alone all within the burst; together 3,000 instances, 1,000 s for the last as one fleet takes.
    records = [bare(f"T{n}", shares={**HERE, "fleets": [fleet()]}) for n in range(10)]
    seen = only(records, "launches")
    whole = launch(3_000, instances_per_request=100, boot_s=150).in_service_s / 60
    assert seen.asked == 3_000
    assert seen.alone_min == pytest.approx(2.5)
    assert seen.joint_min == pytest.approx(whole)
    assert seen.latest.late_min == pytest.approx(whole - 2.5)
    assert seen.broken


def test_launches_within_the_burst_are_not_late(bare: Make, fleet: Make) -> None:
    records = [bare(name, shares={**HERE, "fleets": [fleet(missing=200)]}) for name in "AB"]
    assert not only(records, "launches").broken
    assert not [
        item
        for item in shared_limits([bare(name, shares={**HERE, "fleets": [fleet(missing=0)]}) for name in "AB"])
        if item.kind == "launches"
    ]


def test_the_smallest_buckets_hold(bare: Make, fleet: Make) -> None:
    records = [
        bare("A", shares={**HERE, "fleets": [fleet(other_callers_share=0.4, throttle_factor=0.5)]}),
        bare("B", shares={**HERE, "fleets": [fleet(instances_per_s=1.0)]}),
    ]
    seen = only(records, "launches")
    # Half of 1,000, no other callers; 600 instances: 100 above the burst at 0.5 a second, after the first 500.
    assert seen.limit == 500
    assert seen.joint_min == pytest.approx((100 / 0.5 + 150) / 60)
    assert any("smallest hold" in note for note in seen.notes)


def test_one_team_alone_shares_nothing(bare: Make, queue: Make, fleet: Make) -> None:
    shares = {
        **HERE, "queues": [queue(dependency="db"), queue("b", dependency="db")], "fleets": [fleet(), fleet("b")],
        "dependencies": [dependency(100)],
    }  # fmt: skip
    assert shared_limits([bare("A", shares=shares), bare("B")]) == ()


def test_every_example_has_sound_numbers(records: list[dict[str, Any]]) -> None:
    found = shared_limits(records)
    assert found
    for limit in found:
        assert limit.asked >= limit.taken
        for part in limit.parts:
            for time in (part.alone_min, part.joint_min, part.promised_min, part.late_min):
                assert time is None or 0 <= time < 1e7
