"""Durations, causes and gaps of an account against numbers worked out by hand, and entries of both sides in order."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from afterload.estimates import estimate
from afterload.findings.dependencies import dependency_standings
from afterload.findings.postmortem import CLASSES, causes, disputed, durations, entries, gaps
from afterload.recovery.build import couple
from afterload.scenario import load_scenario

QUEUE = {"arrival_rate": "1,200/min", "service_rate": "1,800/min", "dependency": "table"}
TABLE = {"table": {"tested_rate": "3,000/min", "direct_rate": "600/min", "attempts_while_failing": 3}}
FULL = {
    "summary": "It broke.",
    "detected_at": "2025-10-20T00:16Z",
    "mitigated_at": "2025-10-20T02:43+02:00",
    "recovered_at": "2025-10-20T08:43Z",
    "trigger_kind": "capacity decrease",
    "sustained_by": ["backlog"],
    "interactions": [{"controller": "a", "action": "b", "feedback": "c", "missing": "d"}],
    "actions": [{"text": "Mend it", "owner": "us", "due": "2025-12-01"}],
}


@pytest.fixture
def loaded(tmp_path):
    def make(account=None, **parts):
        data = {
            "team": "T",
            "time_zone": "UTC",
            "recovery_objective": "240 min",
            "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
            "queues": {"q": QUEUE},
            "dependencies": TABLE,
            **({} if account is None else {"postmortem": account}),
            **parts,
        }
        path = tmp_path / "t.yaml"
        path.write_text(json.dumps({key: part for key, part in data.items() if part is not None}))
        return load_scenario(path)

    return make


def test_durations_by_hand(loaded):
    found = durations(loaded(FULL))
    assert {item.name: item.minutes for item in found} == {
        "detect": 16, "mitigate": 27, "restore": 172, "recover": 351, "whole event": 523,
    }  # fmt: skip
    assert [(item.begins, item.ends) for item in found] == [
        ("incident.trigger", "postmortem.detected_at"),
        ("postmortem.detected_at", "postmortem.mitigated_at"),
        ("incident.trigger", "incident.restored_at"),
        ("incident.restored_at", "postmortem.recovered_at"),
        ("incident.trigger", "postmortem.recovered_at"),
    ]
    whole = {item.name: item.minutes for item in found}
    assert whole["restore"] + whole["recover"] == whole["whole event"]


@pytest.mark.parametrize(
    ("missing", "unknown"),
    [
        ("detected_at", {"detect", "mitigate"}),
        ("mitigated_at", {"mitigate"}),
        ("recovered_at", {"recover", "whole event"}),
    ],
)
def test_what_is_not_given_gives_no_duration(loaded, missing, unknown):
    account = {key: value for key, value in FULL.items() if key != missing}
    assert {item.name for item in durations(loaded(account)) if item.minutes is None} == unknown
    assert (missing, "is not given") in gaps(loaded(account), ())


def test_an_hour_is_an_hour_when_the_clocks_change(loaded):
    """Between 01:30 and 01:30 of the autumn night lies one hour, by the offsets."""
    account = {"summary": "x", "detected_at": "2025-11-02T01:30-08:00", "recovered_at": "2025-11-02T03:00-08:00"}
    incident = {"name": "E", "trigger": "2025-11-02T01:30-07:00", "restored_at": "2025-11-02T01:45-08:00"}
    found = {
        item.name: item.minutes
        for item in durations(loaded(account, incident=incident, time_zone="America/Los_Angeles"))
    }
    assert (found["detect"], found["restore"], found["recover"]) == (60, 75, 75)


def test_without_a_postmortem_there_is_nothing(loaded):
    scenario = loaded()
    assert durations(scenario) == ()
    assert causes(estimate(scenario), couple(scenario)) == ()
    assert gaps(scenario, ()) == ()


def shown(scenario):
    return {item.name: item.shown for item in causes(estimate(scenario), couple(scenario))}


def test_causes_follow_the_figures(loaded):
    scenario = loaded(FULL)
    found = {item.name: item for item in causes(estimate(scenario), couple(scenario))}
    assert tuple(found) == tuple(CLASSES)
    assert {name: item.named for name, item in found.items()} == {
        "load spike": False, "capacity decrease": True, "workload amplification": False,
        "capacity degradation amplification": False, "backlog": True, "launch limits": False,
    }  # fmt: skip
    # 2,400/min at a dependency that heals by itself up to 1,000/min; 206,400 items wait; no fleet, so no launches.
    assert {name: item.shown for name, item in found.items()} == {
        "load spike": None, "capacity decrease": None, "workload amplification": True,
        "capacity degradation amplification": True, "backlog": True, "launch limits": None,
    }  # fmt: skip
    [standing] = dependency_standings(couple(scenario))
    assert (standing.load, standing.hidden, standing.kind) == (2400, 1000, "vulnerable")


@pytest.mark.parametrize(
    ("parts", "name", "expected"),
    [
        ({"queues": {"q": {**QUEUE, "served_in_outage": "1,200/min"}}}, "backlog", False),
        ({"queues": {"q": {**QUEUE, "service_rate": "1,000/min"}}}, "backlog", True),
        ({"queues": None, "fleets": {"f": {"running": 1, "needed": 1}}}, "backlog", None),
        ({"dependencies": {"table": {**TABLE["table"], "attempts_while_failing": 1}},
          "queues": {"q": {**QUEUE, "attempts_while_failing": 1}}}, "workload amplification", False),
        ({"dependencies": {"table": {"tested_rate": "8,000/min", "attempts_while_failing": 1}},
          "queues": {"q": {**QUEUE, "attempts_while_failing": 1}}}, "capacity degradation amplification", False),
        ({"dependencies": None, "queues": {"q": {"arrival_rate": "1/min", "service_rate": "2/min"}},
          "call_stacks": {"s": {"layers": [{"name": "a", "tries": 3}], "failure_probability": 0}}},
         "workload amplification", False),
        # A burst of 1,000 instances passes at once; the rest waits for the bucket.
        ({"fleets": {"f": {"running": 0, "needed": 1000, "launch": {"instances_per_request": 1000}}}}, "launch limits", False),
        ({"fleets": {"f": {"running": 0, "needed": 3000, "launch": {"instances_per_request": 100}}}}, "launch limits", True),
        ({"fleets": {"f": {"running": 9, "needed": 5}}}, "launch limits", False),
    ],
)  # fmt: skip
def test_a_class_is_shown_only_where_a_figure_shows_it(loaded, parts, name, expected):
    assert shown(loaded(FULL, **parts))[name] is expected


@pytest.mark.parametrize(("paused", "expected"), [(True, False), (False, True)])
def test_automation_that_is_paused_takes_nothing_away(loaded, paused, expected):
    fleet = {"running": 5, "needed": 9, "removal_automation": [{"name": "Terminate", "paused": paused}]}
    scenario = loaded(FULL, queues=None, dependencies=None, fleets={"f": fleet})
    assert shown(scenario)["capacity degradation amplification"] is expected


def test_gaps_name_the_field(loaded):
    bare = loaded({"summary": "It broke."})
    assert gaps(bare, causes(estimate(bare), couple(bare))) == tuple(
        (name, "is not given" if name not in ("interactions", "actions") else "are not given")
        for name in (
            "detected_at",
            "mitigated_at",
            "recovered_at",
            "trigger_kind",
            "sustained_by",
            "interactions",
            "actions",
        )
    )
    actions = [
        {"text": "a"},
        {"text": "b", "owner": "us", "status": "in progress"},
        {"text": "c", "status": "done"},
        {"text": "d", "status": "dropped"},
    ]
    spoilt = loaded(
        {**FULL, "sustained_by": ["launch limits"], "actions": actions}, fleets={"f": {"running": 9, "needed": 5}}
    )
    assert gaps(spoilt, causes(estimate(spoilt), couple(spoilt))) == (
        ("sustained_by", "'workload amplification' is not named, though the figures of this scenario show it"),
        (
            "sustained_by",
            "'capacity degradation amplification' is not named, though the figures of this scenario show it",
        ),
        ("sustained_by", "'backlog' is not named, though the figures of this scenario show it"),
        ("sustained_by", "'launch limits' is named, but the figures of this scenario do not show it"),
        ("actions.0", "'a' has no owner and due date"),
        ("actions.1", "'b' has no due date"),
    )


def test_entries_of_both_sides_stand_in_order_of_time(loaded, tmp_path):
    (tmp_path / "theirs.csv").write_text(
        "at,event,source,status,note\n2025-10-20T02:40Z,back,,reported,\n2025-10-20T00:16Z,named,page,disputed,\n"
    )
    (tmp_path / "ours.csv").write_text("at,event,source\n2025-10-20T00:16Z,alarm,\n2025-10-20T00:05Z,errors,log\n")
    scenario = loaded(
        {**FULL, "timeline": "ours.csv", "detected_by": "an alarm"},
        incident={
            "name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z", "timeline": "theirs.csv",
        },
    )  # fmt: skip
    found = entries(scenario, "them", "us")
    assert [
        (f"{item.event.at.astimezone(UTC):%H:%M}", item.source, item.event.event, item.is_own) for item in found
    ] == [
        ("00:05", "log", "errors", True),
        ("00:16", "page", "named", False),
        # The detection of the account stands at the same time, and is left to this entry.
        ("00:16", "us", "alarm", True),
        ("00:43", "us", "Harm bounded", True),
        ("02:40", "them", "back", False),
        ("08:43", "us", "Everything normal again", True),
    ]
    assert [event.event for event in disputed(scenario.timeline)] == ["named"]
    assert gaps(scenario, ()) == ()


def test_the_instants_of_an_account_alone_are_its_timeline(loaded):
    found = entries(loaded({**FULL, "detected_by": "an alarm"}), "them", "us")
    assert [item.event.event for item in found] == ["Detected by an alarm", "Harm bounded", "Everything normal again"]
    assert found[1].event.at == datetime(2025, 10, 20, 0, 43, tzinfo=UTC)


def test_the_reference_event_says_where_its_sources_disagree():
    """The published accounts differ on the cause, the fix of DNS, the launches and the end; each says what the other has."""
    scenario = load_scenario("builtin:scenarios/orders.yaml")
    found = disputed(scenario.timeline)
    assert [f"{event.at:%H:%M} {event.subsystem}" for event in found] == [
        "00:26 AWS", "00:38 DynamoDB", "02:25 DynamoDB", "05:28 EC2 DWFM", "14:20 ECS, EKS and Fargate", "15:01 AWS",
    ]  # fmt: skip
    others = ["00:38", "00:26", "02:24", "10:36", "15:01", "14:20"]
    assert [other in event.note and "PDT" in event.note for event, other in zip(found, others, strict=True)] == [
        True
    ] * 6
