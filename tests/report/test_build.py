"""What stands beside the chapters of a packet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_notebook

from afterload.report import build
from afterload.report.earlier import ENDINGS
from afterload.report.packet import Built, PacketJob, write_packet
from afterload.report.run import PacketRun
from afterload.scenario import load_scenario


def test_what_is_entered_while_the_page_is_made_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "orders-plan.csv"

    def page(*_: Any) -> tuple[str, str]:
        table.write_text("id,agreed_owner,due,progress,note\ndrain-cap:queues.orders,Ann,,begun,\n", "utf-8")
        return "<p>", ""

    monkeypatch.setattr(build, "run_packet", lambda *_, **__: PacketRun(new_notebook(), (), ()))
    monkeypatch.setattr(build, "_page", page)
    path = "builtin:scenarios/orders.yaml"
    built = build.build(PacketJob(load_scenario(path), path, str(tmp_path)), "none")
    assert [each.partition(":")[0] for each in built.failures] == ["orders-plan.csv"]
    assert "agreed owner Ann" in built.contents[tmp_path / "orders-plan.md"]
    assert "Ann" in built.contents[table]
    assert built.name == "orders"
    assert {path.name for path in built.contents} == {f"orders{ending}" for ending in ENDINGS}


def test_what_an_earlier_run_left_is_told_and_stays(tmp_path: Path) -> None:
    """The files of the team alone, by all that a packet has; those of other teams in the folder are none of its business."""
    others = {"orders-eu-plan.md", "orders-notes.md", "a.html"}
    for name in (*(f"orders{ending}" for ending in ENDINGS), *others):
        (tmp_path / name).write_text("old", encoding="utf-8")
    contents = {tmp_path / "orders.html": "new", tmp_path / "orders.ipynb": "new"}
    packet = write_packet(Built(contents, (), ("hot",), (), "orders"))
    files = ("plan.csv", "plan.md", "plan.json", "runbook.md", "postmortem.md")
    left = [tmp_path / f"orders-{name}" for name in files]
    words = "were written by an earlier run and not by this one: delete them if nobody needs them"
    assert packet.warnings == ("hot", f"{', '.join(map(str, left))}: {words}")
    assert all(path.read_text("utf-8") == "old" for path in (*left, *(tmp_path / name for name in others)))
    for path in left:
        path.unlink()
    assert write_packet(Built(contents, (), (), (), "orders")).warnings == ()
