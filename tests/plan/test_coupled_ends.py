"""Changes that judge by the age of work: by that of the coupled recovery, where the queue alone would drain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.plan.test_catalogue import KEYS, LASTING, SLOW, STAYS, one

from afterload.plan import DO, IN_PLACE, NOT_HERE
from afterload.plan.coupled_ends import coupled_ends
from afterload.plan.worth import CASES

Make = Callable[..., Any]


def stays(**fields: Any) -> dict[str, Any]:
    """A queue that alone drains in as long as its outage took, at a dependency that its retries keep down for good."""
    return {**STAYS, "queues": {"q": {**STAYS["queues"]["q"], **fields}}}


def test_a_queue_alone_has_the_end_of_its_queue(make: Make) -> None:
    end = coupled_ends(make(**one(**LASTING)).estimates)["q"]
    assert end.drains
    assert not end.grows
    # The oldest has waited for the outage at the restore, and what comes after it for less.
    assert end.oldest_min == pytest.approx(172, abs=1)
    assert (end.lost, end.expired, end.dead_lettered) == (0, 0, 0)


def test_work_that_is_never_served_grows_older(make: Make) -> None:
    made = make(**stays())
    end = coupled_ends(made.estimates)["q"]
    assert made.estimates.queues["q"].drain_min == pytest.approx(172)
    assert not end.drains
    assert end.grows
    assert end.oldest_min > 172 + 60


@pytest.mark.parametrize("retention", ["2 h", "3 h", "4 h", "6 h", "4 days"])
@pytest.mark.parametrize("scenario", [one(**LASTING), stays()], ids=["drains", "never drains"])
def test_a_retention_in_place_loses_nothing(make: Make, scenario: dict[str, Any], retention: str) -> None:
    made = make(**{**scenario, "queues": {"q": {**scenario["queues"]["q"], "retention": retention}}})
    line = made.line("retention:queues.q")
    lost = made.plan.appraisal.today[CASES[0]].likely("lost")
    drains = made.plan.appraisal.today[CASES[0]].likely("empty_min") is not None
    assert (line.status == IN_PLACE) == (drains and lost == 0)


def test_a_retention_cannot_help_where_the_backlog_never_drains(make: Make) -> None:
    made = make(**stays(retention="3 h"))
    line = made.line("retention:queues.q")
    assert line.status == NOT_HERE
    assert "A longer retention alone cannot help: first make the backlog drain." in line.evidence
    # The items that a gate counts are those that the line counts.
    lost = made.plan.appraisal.today[CASES[0]].likely("lost")
    assert lost > 0
    assert f"{lost:,.0f} items as far as the recovery is followed" in line.evidence
    assert "Alone the queue drains, with work 2 h 52 min old at most." in line.evidence


def test_a_retention_that_loses_work_alone_says_that_no_longer_one_is_enough_together(make: Make) -> None:
    line = make(**stays(retention="2 h")).line("retention:queues.q")
    assert line.status == DO
    assert "no retention is long enough before another change makes it drain" in line.bounds
    assert "with everything acting on each other" in line.evidence
    drains = make(**one(**LASTING, retention="2 h")).line("retention:queues.q")
    assert "everything acting" not in drains.evidence + drains.bounds


def test_an_age_limit_keeps_work_younger_than_its_retention(make: Make) -> None:
    line = make(**stays(retention="4 h", age_limit="3 h")).line("retention:queues.q")
    assert line.status == IN_PLACE
    assert "3 h old at most" in line.evidence


def test_keys_outlive_what_waits_until_its_retention(make: Make) -> None:
    keys = {**KEYS, "key_life": "3 h"}
    assert make(**one(**LASTING, idempotency=keys)).line("idempotency-keys:queues.q").status == IN_PLACE
    line = make(**stays(retention="4 days", idempotency=keys)).line("idempotency-keys:queues.q")
    assert line.status == DO
    assert "as old as the retention, 4 days" in line.evidence
    assert line.edit == {"queues.q.idempotency.key_life": f"{4 * 86_400} s"}
    assert line.bounds.startswith("Part of what is done again comes after its key has expired")
    endless = make(**stays(idempotency=keys)).line("idempotency-keys:queues.q")
    assert endless.status == NOT_HERE
    assert "No key lives long enough: first make it drain." in endless.evidence
    given = make(**stays(retention="4 days", idempotency={**keys, "oldest_replay": "2 h"}))
    assert given.line("idempotency-keys:queues.q").status == IN_PLACE


def test_a_destination_counts_what_expires_together(make: Make) -> None:
    made = make(**stays(age_limit="4 h"))
    line = made.line("failure-destination:queues.q")
    lost = made.plan.appraisal.today[CASES[0]].likely("lost")
    assert lost > 0
    assert f"{lost:,.0f} items as far as the recovery is followed, nothing with it" in line.bounds
    assert (
        "reaches the limit of 4 days" in make(**stays(age_limit="4 days")).line("failure-destination:queues.q").bounds
    )
    assert (
        "In this one nothing expires"
        in make(**one(**LASTING, age_limit="4 h")).line("failure-destination:queues.q").bounds
    )


def test_deliveries_that_outlast_the_outage_alone_say_what_follows_it(make: Make) -> None:
    made = make(**stays(max_receives=400))
    line = made.line("dlq-receives:queues.q")
    lost = made.plan.appraisal.today[CASES[0]].likely("lost")
    assert lost > 0
    assert line.status == IN_PLACE
    assert f"with everything acting on each other {lost:,.0f} items are dead-lettered" in line.evidence
    assert "everything" not in make(**one(**SLOW, max_receives=400)).line("dlq-receives:queues.q").evidence
