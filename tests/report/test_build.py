"""What stands beside the chapters of a packet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_notebook

from afterload.report import build
from afterload.report.packet import PacketJob
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
