"""Back-tests: predictions by closed form, and the assumption that was off is the one that was made wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.findings.incident import back_tested, incident

from afterload.errors import InputError
from afterload.findings.backtest import back_test, load_at_restore, predicts
from afterload.findings.drain import observe_drain
from afterload.findings.rates import to_rates
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.scenario import load_scenario


def observed(**more):
    event = incident(**more)
    return observe_drain(
        to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted")),
        event.series(event.waiting, "depth", "average"), event.trigger, event.restore,
    )  # fmt: skip


def assumed(arrival=1_200.0, backlog=206_400.0, service=1_800.0):
    return QueueLoad(RateProfile.constant(arrival), service, 0.0, backlog_before=backlog)


@pytest.mark.parametrize("seed", range(3))
def test_right_assumptions_predict_within_5_percent(seed):
    test = back_tested(assumed(), observed(seed=seed))
    # 206,400 / (1,800 - 1,200) = 344 min.
    assert test.predicted.drain_min == pytest.approx(344)
    assert abs(test.error_share) < 0.05
    assert test.off is None
    assert test.with_all_min == pytest.approx(test.observed.drain_min, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("load", "off", "drain"),
    [
        # B / (mu - lambda) with one value wrong.
        (assumed(service=2_400), "service rate", 206_400 / 1_200),
        (assumed(service=1_500), "service rate", 206_400 / 300),
        (assumed(arrival=900), "arrival rate", 206_400 / 900),
        (assumed(arrival=1_450), "arrival rate", 206_400 / 350),
        (assumed(backlog=100_000), "backlog at the restore", 100_000 / 600),
        (assumed(backlog=400_000), "backlog at the restore", 400_000 / 600),
    ],
)
def test_the_assumption_that_was_made_wrong_is_named(seed, load, off, drain):
    test = back_tested(load, observed(seed=seed))
    assert test.predicted.drain_min == pytest.approx(drain)
    assert test.off == off
    assert test.error_min == pytest.approx(drain - 344, abs=0.05 * 344)
    assert test.error_share == pytest.approx(drain / 344 - 1, abs=0.1)
    swap = next(item for item in test.swaps if item.assumption == off)
    assert swap.closed_share > 0.8
    assert swap.drain_min == pytest.approx(344, rel=0.05)


def test_the_observed_values_alone_change_only_their_own():
    test = back_tested(assumed(arrival=900, service=2_400), observed())
    drains = {swap.assumption: swap.drain_min for swap in test.swaps}
    assert drains["arrival rate"] == pytest.approx(206_400 / 1_200, rel=0.05)
    assert drains["service rate"] == pytest.approx(206_400 / 900, rel=0.05)
    assert test.with_all_min == pytest.approx(test.observed.drain_min, rel=0.02)


def test_a_prediction_of_never_names_what_made_it_so():
    test = back_tested(assumed(service=1_200), observed())
    assert test.predicted.drain_min is None
    assert (test.error_min, test.error_share) == (None, None)
    assert test.off == "service rate"


def test_a_load_that_rose_after_the_restore_is_seen():
    """Assumed as before the trigger, 1,200/min; 1,500/min came, so the drain was 206,400 / 300."""
    test = back_tested(assumed(), observed(later_arrival=1_500, after_min=900))
    assert test.observed.drain_min == pytest.approx(688, rel=0.07)
    assert test.off == "arrival rate"
    assert test.observed.before.median == pytest.approx(1_200, rel=0.01)


def test_a_drain_that_is_not_over_has_no_error_yet():
    test = back_tested(assumed(), observed(after_min=200))
    assert (test.error_min, test.error_share, test.off) == (None, None, None)
    assert any("no error yet" in doubt.text for doubt in test.doubts)


def test_a_load_with_an_outage_is_refused():
    with pytest.raises(InputError, match="begins 172 min before the restore"):
        back_tested(replace(assumed(), outage_min=172.0), observed())


def test_what_a_shipped_scenario_assumed():
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    name = next(iter(loaded.scenario.queues))
    seen = observed()
    load = load_at_restore(loaded, name, seen)
    assert load.outage_min == 0
    assert load.backlog_before == seen.backlog_at_restore
    assert load.arrivals.mean_tail_per_min == seen.before.median
    assert load.service_rate_per_min == loaded.scenario.queues[name].service_rate_per_min
    planned = load_at_restore(loaded, name, seen, "scenario")
    assert planned.arrivals.mean_tail_per_min > 0
    assert back_test(load, seen, predicts(loaded, name)).predicted.drain_min is not None


def test_a_cap_in_the_scenario_is_in_the_assumed_rate():
    """A cap of 50 at 2 s an item is 1,500/min, whatever the consumers could do."""
    load = replace(assumed(service=6_000), item_time_s=2.0, cap_concurrency=50)
    test = back_tested(load, observed())
    swap = next(item for item in test.swaps if item.assumption == "service rate")
    assert swap.assumed == pytest.approx(1_500)
    assert test.off == "service rate"
    assert swap.drain_min == pytest.approx(344, rel=0.05)
