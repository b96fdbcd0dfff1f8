"""What a threshold or a time of the figures holds for is said beside it."""

from __future__ import annotations

from afterload.chapters import Workbook
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"


def test_both_thresholds_of_healing_say_which_retries_they_hold():
    """3,000/min over the attempts of all callers, and over those of these clients alone, are two numbers."""
    book = Workbook(load_scenario(ORDERS, ["clients.order-worker.mode=legacy"]))
    chapter = book.dependency_answer().text
    assert "the mean over direct traffic and drains with the retries of all their clients and layers" in chapter
    assert "so its hidden capacity, up to which it heals by itself, is" in chapter
    audit = book.audit_details().text
    assert (
        "If all load of orders-table came from clients like these, with no layer of retries above them, it would heal by itself "
        "only below 3,000/min / "
    ) in audit
    assert "The chapter on the dependency has all its callers." in audit


def test_what_can_be_removed_at_once_is_no_time():
    """20 instances are within the burst of TerminateInstances, so no limit holds their removal back; 600 take some time."""

    def within(running: int) -> str:
        table = Workbook(load_scenario(ORDERS, [f"fleets.checkout-api.running={running}"])).removal()
        return next(row for row in table.rows if row[0] == "checkout-api")[3]

    assert (within(20), within(0), within(600)) == ("at once, within the burst", "nothing to remove", "100 s")
