"""Fair shares, joint drains and joint launches against independent calculations: search, small steps, exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.model.launches import RUN_INSTANCES, BucketLimits, launch
from afterload.model.sharing import Draining, LaunchDemand, drain_together, launch_together, max_min_share

amounts = st.floats(0, 1e6, allow_nan=False).map(lambda value: round(value, 3))


def test_shares_of_the_textbook_example() -> None:
    # Worked example (Keshav, An Engineering Approach to Computer Networking, section 9.2.2): 10 among
    # 2, 2.6, 4 and 5 gives 2, 2.6, 2.7 and 2.7.
    assert max_min_share(10, [2, 2.6, 4, 5]) == pytest.approx([2, 2.6, 2.7, 2.7])


@given(total=amounts, demands=st.lists(amounts, min_size=1, max_size=12))
def test_shares_are_those_of_a_search_for_the_level(total: float, demands: list[float]) -> None:
    seen = max_min_share(total, demands)
    low, high = 0.0, max(demands)
    for _ in range(200):
        level = (low + high) / 2
        if sum(min(level, item) for item in demands) > total:
            high = level
        else:
            low = level
    level = max(demands) if sum(demands) <= total else low
    assert seen == pytest.approx([min(level, item) for item in demands], rel=1e-9, abs=1e-6)
    assert seen.sum() <= total * (1 + 1e-12) + 1e-9


def test_shares_refuse_what_is_no_demand() -> None:
    with pytest.raises(ModelError, match="demands"):
        max_min_share(1, [1, float("nan")])
    with pytest.raises(ModelError, match="total"):
        max_min_share(-1, [1])


def test_one_queue_drains_as_by_hand() -> None:
    # 206,400 items at 1,800 - 1,200 a minute: 344 min, the worked example of docs/model.md section 1.
    queue = Draining(206_400, (0.0,), (1_200.0,), 1_800)
    assert drain_together([queue], 2_400) == pytest.approx((344,))
    # The limit binds: 1,500 - 1,200.
    assert drain_together([queue], 1_500) == pytest.approx((688,))
    assert drain_together([queue], 1_200) == (None,)


def test_two_queues_on_one_rate_by_hand() -> None:
    # 1,000 a minute for two that could do 800 each: 500 each. The first falls by 400 a minute and is empty after 10 min.
    # Then it takes its 100, the second gets 800 and falls by 600: 4,000 of its 8,000 were gone (500 - 100) x 10.
    first = Draining(4_000, (0.0,), (100.0,), 800)
    second = Draining(8_000, (0.0,), (100.0,), 800)
    assert drain_together([first, second], 1_000) == pytest.approx((10, 10 + 4_000 / 700))


def test_units_weigh_concurrency() -> None:
    # 10 at once for items of 6 s and 60 s: 5 at once each, which is 50 and 5 items a minute.
    short = Draining(500, (0.0,), (0.0,), 1_000, units=0.1)
    long = Draining(500, (0.0,), (0.0,), 1_000, units=1.0)
    # After 10 min the short one is done; 450 long items at 10 a minute take 45 more.
    assert drain_together([short, long], 10) == pytest.approx((10, 55))


def by_small_steps(queues: list[Draining], limit: float, step: float, horizon: float) -> list[float | None]:
    """The same fluid in small steps of time, with a level found by halving."""
    backlog = [item.backlog for item in queues]
    ended: list[float | None] = [0.0 if value == 0 else None for value in backlog]
    for number in range(int(horizon / step)):
        now = number * step
        arrive = [item.arrivals_per_min[sum(start <= now for start in item.starts_min) - 1] * step for item in queues]
        wants = [
            min(item.rate_per_min * step, waiting + new)
            for item, waiting, new in zip(queues, backlog, arrive, strict=True)
        ]
        low, high = 0.0, max(want * item.units for want, item in zip(wants, queues, strict=True)) + 1e-12
        for _ in range(60):
            level = (low + high) / 2
            used = sum(min(level, want * item.units) for want, item in zip(wants, queues, strict=True))
            low, high = (low, level) if used > limit * step else (level, high)
        for place, (want, item) in enumerate(zip(wants, queues, strict=True)):
            backlog[place] = max(0.0, backlog[place] + arrive[place] - min(high, want * item.units) / item.units)
            if backlog[place] <= 1e-7 and ended[place] is None:
                ended[place] = now + step
    return ended


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_joint_drain_is_that_of_small_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    queues = []
    for _ in range(rng.integers(2, 4)):
        starts = (0.0, *np.cumsum(rng.uniform(3, 12, rng.integers(0, 3))).tolist())
        arrivals = tuple(rng.uniform(0, 60, len(starts)).tolist())
        queues.append(
            Draining(
                float(rng.uniform(0, 900)), starts, arrivals, float(rng.uniform(40, 200)), float(rng.uniform(0.3, 2))
            )
        )
    limit = float(rng.uniform(40, 250))
    horizon, step = 60.0, 0.02
    seen = drain_together(queues, limit)
    stepped = by_small_steps(queues, limit, step, horizon)
    for exact, coarse in zip(seen, stepped, strict=True):
        if coarse is None:
            assert exact is None or exact > horizon - 1
        else:
            assert exact == pytest.approx(coarse, rel=0.02, abs=0.15)


def by_fractions(demands: list[LaunchDemand], limits: BucketLimits, full: Fraction) -> list[Fraction | None]:
    """The merged requests through two buckets whose levels are updated in exact fractions."""
    burst = [Fraction(limits.request_burst), Fraction(limits.instance_burst)]
    refill = [Fraction(limits.requests_per_s), Fraction(limits.instances_per_s)]
    levels = [full * each for each in burst]
    now = Fraction(0)
    admitted = [0] * len(demands)
    left = [item.instances for item in demands]
    last: list[Fraction | None] = [Fraction(0)] * len(demands)
    for place, item in enumerate(demands):
        if min(item.per_request, item.instances) > limits.instance_burst:
            last[place], left[place] = None, 0
    while any(left):
        ready = [place for place, rest in enumerate(left) if rest and Fraction(demands[place].start_s) <= now]
        if not ready:
            then = min(Fraction(demands[place].start_s) for place, rest in enumerate(left) if rest)
        else:
            place = min(ready, key=lambda place: (admitted[place], place))
            size = min(demands[place].per_request, left[place])
            need = [Fraction(1), Fraction(size)]
            then = now + max(
                Fraction(0), *((want - level) / speed for want, level, speed in zip(need, levels, refill, strict=True))
            )
        levels = [
            min(most, level + speed * (then - now)) for most, level, speed in zip(burst, levels, refill, strict=True)
        ]
        now = then
        if ready:
            levels = [level - want for level, want in zip(levels, need, strict=True)]
            left[place] -= size
            admitted[place] += 1
            last[place] = now
    return last


fleets = st.builds(
    LaunchDemand,
    st.integers(0, 300),
    st.sampled_from((1, 3, 20, 60)),
    st.sampled_from((0.0, 0.5, 30.0, 100.0)),
)


@settings(deadline=None)
@given(
    demands=st.lists(fleets, min_size=1, max_size=5),
    limits=st.sampled_from((RUN_INSTANCES, BucketLimits(5, 2, 50, 0.5), BucketLimits(1, 0.25, 100, 4))),
    quarters=st.integers(0, 4),
)
def test_joint_launches_are_those_of_merged_buckets(
    demands: list[LaunchDemand], limits: BucketLimits, quarters: int
) -> None:
    seen = launch_together(demands, limits, quarters / 4)
    exact = by_fractions(demands, limits, Fraction(quarters, 4))
    assert [value is None for value in seen] == [value is None for value in exact]
    assert [value or 0.0 for value in seen] == pytest.approx([float(value or 0) for value in exact])


def test_one_fleet_launches_as_alone() -> None:
    assert launch_together([LaunchDemand(3_000, 100)]) == (launch(3_000, instances_per_request=100).wait_s,)


def test_ten_fleets_take_as_long_as_one_of_their_size() -> None:
    # Ten fleets of 300, 100 at a time, are 3,000 at 100 a request: 1,000 s for the last one; model.md section 4.
    seen = launch_together([LaunchDemand(300, 100)] * 10)
    assert max(value or 0 for value in seen) == pytest.approx(1_000)
    assert launch_together([LaunchDemand(300, 100)]) == (0.0,)
