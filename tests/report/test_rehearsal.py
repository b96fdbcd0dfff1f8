"""What a process that is forked for every packet does first."""

from __future__ import annotations

import sys
import threading

import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from afterload.model import coupled_kernel
from afterload.report.exporter import PacketExporter
from afterload.report.rehearsal import warm_up


def test_a_process_is_ready_and_as_quiet_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    warm_up()
    assert threading.active_count() == before
    assert capfd.readouterr() == ("", "")
    assert {"afterload.chapters", "altair", "nbconvert"} <= sys.modules.keys()
    compiled = [item for item in vars(coupled_kernel).values() if getattr(item, "signatures", None)]
    assert compiled
    page = new_notebook(cells=[new_markdown_cell("# A", id="a")])
    assert PacketExporter.shared().to_html(page) == PacketExporter().to_html(page)
