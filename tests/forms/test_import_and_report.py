"""Files dropped into a form, value by value; and the report of the saved file in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from afterload.errors import InputError
from afterload.forms.state import FormState
from afterload.forms.state.importing import ImportState
from afterload.forms.state.report import ReportState
from afterload.forms.views.packet import PacketView
from afterload.intake.importing import Wishes, import_files
from afterload.resources import resource
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


def timeline(minute: int, event: str) -> dict[str, bytes]:
    return {f"{event}.csv": f"at,event,source\n2025-10-20T00:{minute}:00-07:00,{event},pager\n".encode()}


@pytest.fixture
def apart(tmp_path: Path) -> FormState:
    """A form on a scenario without a timeline of its own."""
    path = tmp_path / "apart.yaml"
    text = resource("data", "scenarios", "checkout-api.yaml").read_text("utf-8")
    path.write_text(text, encoding="utf-8")
    return FormState(str(path))


def test_a_timeline_is_written_beside_the_scenario(apart: FormState) -> None:
    state = ImportState(apart)
    state.upload(timeline(10, "first alarm"))
    assert [outcome.proposal.name for outcome in state.offered] == ["incident.timeline"]
    state.apply()
    assert apart.problems == {}
    assert apart.results is not None
    assert [item.event for item in apart.results.loaded.timeline] == ["first alarm"]
    assert apart.data["incident"]["timeline"] == "apart-timeline.csv"


def test_a_timeline_that_stands_there_is_replaced_only_where_that_is_accepted(apart: FormState) -> None:
    state = ImportState(apart)
    file = apart.path.with_name("apart-timeline.csv")
    state.upload(timeline(10, "first alarm"))
    state.apply()
    before = file.read_text("utf-8")
    state.upload(timeline(20, "second alarm"))
    [offered] = state.offered
    assert (offered.proposal.name, offered.fate) == ("incident.timeline", "updated")
    state.choose("incident.timeline", False)
    state.apply()
    assert file.read_text("utf-8") == before
    state.upload(timeline(10, "first alarm"))
    assert state.offered == ()
    state.apply()
    state.upload(timeline(20, "second alarm"))
    state.apply()
    assert "second alarm" in file.read_text("utf-8")


def test_one_that_is_not_wanted_leaves_no_file(form: FormState) -> None:
    """The example has a timeline that was made by hand, which is kept."""
    state = ImportState(form)
    state.upload(timeline(10, "first alarm"))
    assert state.imported is not None
    assert [outcome.proposal.name for outcome in state.imported.account.of("kept")] == ["postmortem.timeline"]
    state.apply()
    assert not form.path.with_name("orders-timeline.csv").exists()


def test_what_was_typed_since_the_files_were_read_stays(form: FormState) -> None:
    state = ImportState(form)
    state.upload({"mappings.json": EXPORT})
    form.set(("recovery_objective",), "200 min")
    form.drag(next(item for item in form.sliders() if item.key == "orders arrivals"), 1300)
    state.apply()
    assert form.data["recovery_objective"] == "200 min"
    assert form.data["queues"]["orders"]["arrival_rate"] == "1,300/min"
    assert form.data["queues"]["orders"]["drain_cap"]["concurrency"] == 50
    # What no longer goes together is not written at all.
    state.upload({"mappings.json": EXPORT})
    text = form.text
    form.take("a: [")
    with pytest.raises(InputError, match="is not YAML"):
        state.apply()
    assert form.text == "a: ["
    form.undo()
    assert form.text == text


def test_a_folder_in_the_way_of_a_file_is_left_alone(form: FormState) -> None:
    (form.path.parent / "packets").mkdir()
    state = ImportState(form)
    state.upload({"packets": EXPORT})
    assert state.imported is not None
    assert (form.path.parent / "packets-2").read_bytes() == EXPORT


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
    shown = PacketView(report).notice.value
    assert f"in {tmp_path / 'packets'}:" in shown
    packet = Path(report.files[0])
    assert packet == tmp_path / "packets" / "small.html"
    assert "172 min" in packet.read_text("utf-8")
    plan = json.loads(packet.with_name("small-plan.json").read_text("utf-8"))
    assert plan["input_sha256"] == load_scenario(path).digest


def test_files_that_are_named_from_here_are_told_by_their_whole_folder(
    form: FormState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = ReportState(form)
    view = PacketView(report)
    assert " in " not in view.notice.value
    report.files = ["packets/orders.html", "packets/orders-plan.md"]
    assert f"in {Path.cwd() / 'packets'}:" in view.notice.value
    assert '<a href="packets/orders.html" target="_blank">' in view.notice.value


def test_a_folder_may_be_below_ones_home(form: FormState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "packets").write_text("in the way")
    report = ReportState(form)
    report.start("~/packets")
    report.wait(60)
    assert f"{tmp_path / 'packets'} is a file" in report.notice
    with pytest.raises(InputError, match="cannot be a file"):
        report.start("~nobody-of-that-name/packets")
    assert not report.is_running


def test_a_report_that_cannot_be_made_says_why(form: FormState, tmp_path: Path) -> None:
    (tmp_path / "packets").write_text("in the way")
    report = ReportState(form)
    report.start(str(tmp_path / "packets"))
    report.wait(60)
    assert not report.is_running
    assert "is a file, not a folder" in report.notice
    assert report.files == []
