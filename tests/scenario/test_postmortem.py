"""The team's account of the event: its instants in order, its own entries with source and status, its dates as text."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest

from afterload.errors import ScenarioError
from afterload.scenario import load_scenario
from afterload.scenario.instants import out_of_order

HEAD = """\
team: T
time_zone: UTC
recovery_objective: 240 min
incident: { name: E, trigger: "2025-10-20T00:00Z", restored_at: "2025-10-20T02:00Z" }
queues: { q: { arrival_rate: 10/min, service_rate: 20/min } }
"""


def load(write, account):
    return load_scenario(write(f"{HEAD}postmortem:\n{account}"))


def test_a_summary_is_all_that_it_needs(write):
    account = load(write, "  summary: It broke.\n").scenario.postmortem
    assert account.summary == "It broke."
    assert (account.detected_at, account.sustained_by, account.actions) == (None, (), ())
    with pytest.raises(ScenarioError, match=r"postmortem\.summary: is missing; accepted: What happened"):
        load(write, "  impact: It broke.\n")


def test_own_entries_keep_source_status_and_note_and_count_in_the_digest(write):
    own = write(
        "at,event,status,source,note\n2025-10-20T01:00Z,later,,,\n2025-10-20T00:10Z,first,DISPUTED,log,no\n", "o.csv"
    )
    loaded = load(write, "  summary: It broke.\n  timeline: o.csv\n")
    assert [(e.event, e.source, e.status, e.note) for e in loaded.own_timeline] == [
        ("first", "log", "disputed", "no"),
        ("later", "", "", ""),
    ]
    assert loaded.timeline == ()
    own.write_text(own.read_text().replace("log", "page"))
    assert load(write, "  summary: It broke.\n  timeline: o.csv\n").digest != loaded.digest


def test_instants_at_the_same_moment_are_in_order(write):
    account = "  summary: x\n  detected_at: 2025-10-20T00:00Z\n  mitigated_at: 2025-10-20T02:00+02:00\n"
    loaded = load(write, account + "  recovered_at: 2025-10-20T02:00Z\n")
    assert loaded.scenario.postmortem.mitigated_at == datetime(2025, 10, 20, tzinfo=UTC)


def test_every_order_of_the_instants_but_the_right_ones_is_refused():
    """Against the definition: detected, mitigated and recovered follow each other and what they answer to."""
    for hours in permutations(range(1, 6)):
        trigger, restored, detected, mitigated, recovered = hours
        data = {
            "incident": {"trigger": f"2025-10-20T0{trigger}:00Z", "restored_at": f"2025-10-20T0{restored}:00Z"},
            "postmortem": {
                "detected_at": f"2025-10-20T0{detected}:00Z",
                "mitigated_at": f"2025-10-20T0{mitigated}:00Z",
                "recovered_at": f"2025-10-20T0{recovered}:00Z",
            },
        }
        wrong = {
            "detected_at": detected < trigger,
            "mitigated_at": mitigated < max(detected, trigger),
            "recovered_at": recovered < max(mitigated, restored, detected),
        }
        assert {path[1] for path, _, _ in out_of_order(data)} == {name for name, is_wrong in wrong.items() if is_wrong}


@pytest.mark.parametrize("written", [None, 5, "soon", "2025-10-20T00:00", [1]])
def test_what_is_no_instant_is_left_to_its_own_message(written):
    incident = {"trigger": "2025-10-20T00:00Z", "restored_at": written}
    assert list(out_of_order({"incident": incident, "postmortem": {"recovered_at": "2025-10-20T01:00Z"}})) == []
    assert list(out_of_order({"incident": incident, "postmortem": {"detected_at": written}})) == []
    assert list(out_of_order({"incident": written, "postmortem": written})) == []


def test_an_override_can_be_out_of_order_too(write):
    path = write(f"{HEAD}postmortem:\n  summary: x\n  detected_at: 2025-10-20T00:10Z\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, ["postmortem.detected_at=2025-10-19T23:59Z"])
    assert "--set postmortem.detected_at: 2025-10-19T23:59:00+00:00 is before incident.trigger" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "kept"), [("2025-12-01", "2025-12-01"), ("'20251201'", "2025-12-01"), ("none", None)]
)
def test_a_due_date_is_a_day(write, written, kept):
    loaded = load(write, f"  summary: x\n  actions:\n    - {{ text: Mend it, due: {written} }}\n")
    assert loaded.scenario.postmortem.actions[0].due == kept
