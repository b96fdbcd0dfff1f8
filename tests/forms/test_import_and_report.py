"""Files dropped into a form, value by value; and the report of the saved file in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from afterload.errors import InputError
from afterload.forms.state import FormState
from afterload.forms.state.importing import ImportState
from afterload.forms.state.report import ReportState
from afterload.intake.importing import Wishes, import_files
from afterload.scenario import load_scenario

MAPPING = {
    "EventSourceMappings": [
        {
            "UUID": "11111111-2222-3333-4444-555555555555",
            "BatchSize": 10,
            "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:orders",
            "FunctionArn": "arn:aws:lambda:us-east-1:111122223333:function:order-worker",
            "State": "Enabled",
            "ScalingConfig": {"MaximumConcurrency": 50},
        }
    ]
}
EXPORT = json.dumps(MAPPING).encode()


def test_every_value_is_accepted_or_rejected(form: FormState) -> None:
    state = ImportState(form)
    state.upload({"mappings.json": EXPORT})
    assert state.imported is not None
    offered = {outcome.proposal.name for outcome in state.offered}
    cap = "queues.orders.drain_cap"
    assert cap in offered
    assert len(offered) >= 2
    before = form.text
    state.choose(cap, False)
    assert {outcome.proposal.name for outcome in state.offered if outcome.fate == "rejected"} == {cap}
    assert {outcome.proposal.name for outcome in state.offered} == offered
    state.choose(cap, True)
    [other] = sorted(offered - {cap})[:1]
    state.choose(other, False)
    state.apply()
    assert form.data["queues"]["orders"]["drain_cap"]["concurrency"] == 50
    assert form.problems == {}
    assert form.results is not None
    assert form.results.loaded.scenario.queues["orders"].concurrency_limit == 50
    evidence = form.results.loaded.scenario.evidence
    assert evidence[cap].file == "mappings.json"
    assert other not in evidence
    # The same as the command does.
    wanted = import_files(
        [form.path.with_name("mappings.json")], before, form.path, Wishes(rejected=frozenset({other}))
    )
    assert form.text == wanted.account.text
    form.undo()
    assert form.text == before


def test_a_file_beside_the_scenario_is_not_replaced_and_what_is_not_taken_goes(form: FormState) -> None:
    folder = form.path.parent
    (folder / "mappings.json").write_bytes(b"other")
    state = ImportState(form)
    state.upload({"../../mappings.json": EXPORT})
    assert (folder / "mappings.json").read_bytes() == b"other"
    assert (folder / "mappings-2.json").read_bytes() == EXPORT
    state.discard()
    assert not (folder / "mappings-2.json").exists()
    assert state.imported is None
    with pytest.raises(InputError, match="no file"):
        state.apply()


def test_a_file_that_is_nothing_known_is_told(form: FormState) -> None:
    state = ImportState(form)
    state.upload({"photo.jpg": b"\xff\xd8\xff\xe0" + bytes(64)})
    assert state.imported is None
    assert "photo.jpg" in state.notice
    state.discard()
    assert sorted(path.name for path in form.path.parent.iterdir()) == ["orders.yaml"]


def test_a_timeline_is_written_beside_the_scenario(form: FormState) -> None:
    state = ImportState(form)
    state.upload({"ours.csv": b"at,event,source\n2025-10-20T00:10:00-07:00,first alarm,pager\n"})
    assert [outcome.proposal.name for outcome in state.offered] == ["postmortem.timeline"] or state.imported is not None
    state.apply()
    assert form.problems == {}


def test_the_report_is_that_of_the_saved_file(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        "team: Small\ntime_zone: UTC\nrecovery_objective: 240 min\n"
        "incident: {name: E, trigger: 2025-10-20T00:00Z, restored_at: 2025-10-20T02:52Z}\n"
        "queues: {q: {arrival_rate: 1200/min, service_rate: 1800/min}}\n"
    )
    form = FormState(str(path))
    shares: list[float] = []
    report = ReportState(form)
    report.observe(lambda change: shares.append(change["new"]), "share")
    form.set(("queues", "q", "service_rate"), "2,400/min")
    with pytest.raises(InputError, match="save first"):
        report.start(str(tmp_path / "packets"))
    form.save()
    report.start(str(tmp_path / "packets"))
    with pytest.raises(InputError, match="already"):
        report.start(str(tmp_path / "packets"))
    report.wait(120)
    assert not report.is_running
    assert report.notice == "packet: small.html"
    assert report.share == 1
    assert shares == sorted(shares)
    assert len(shares) > 3
    packet = Path(report.files[0])
    assert packet == tmp_path / "packets" / "small.html"
    assert "172 min" in packet.read_text("utf-8")
    plan = json.loads(packet.with_name("small-plan.json").read_text("utf-8"))
    assert plan["input_sha256"] == load_scenario(path).digest


def test_a_report_that_cannot_be_made_says_why(form: FormState, tmp_path: Path) -> None:
    (tmp_path / "packets").write_text("in the way")
    report = ReportState(form)
    report.start(str(tmp_path / "packets"))
    report.wait(60)
    assert not report.is_running
    assert "is a file, not a folder" in report.notice
    assert report.files == []
