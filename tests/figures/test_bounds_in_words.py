"""What a threshold or a time of the figures holds for is said beside it."""

from __future__ import annotations

from afterload.chapters import Workbook
from afterload.estimates import estimate
from afterload.figures import Figure
from afterload.figures.backlog import dependency_figure
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"


def test_both_thresholds_of_healing_say_which_retries_they_hold():
    """3,000/min over the attempts of all callers, and over those of these clients alone, are two numbers."""
    book = Workbook(load_scenario(ORDERS, ["clients.order-worker.mode=legacy"]))
    chapter = book.dependency_answer().text
    assert "the mean over direct traffic and drains with the retries of all their clients and layers" in chapter
    assert "so the hidden capacity for this mix, up to which it heals by itself, is" in chapter
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


def test_control_traffic_is_part_of_what_a_dependency_bears() -> None:
    """600 direct, 300 control and a drain of 1,800 are 2,700/min; 2,100/min are left for drains, which 70 at once of 2 s do."""
    loaded = load_scenario("builtin:scenarios/orders.yaml", {"dependencies.orders-table.control_rate": "300/min"})
    figure = dependency_figure(estimate(loaded))
    assert isinstance(figure, Figure)
    assert figure.alt.endswith("orders-table: 2,700/min of a tested 3,000/min.")
    assert figure.table.columns[2:8] == (
        "tested rate", "direct traffic", "control traffic", "room for the drain", "drain", "safe cap",
    )  # fmt: skip
    assert figure.table.rows[0][2:8] == ("3,000/min", "600/min", "300/min", "2,100/min", "1,800/min", "70")
    assert "direct and control traffic" in figure.method
