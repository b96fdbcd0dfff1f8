"""The form chapter where nobody sits at it: complete as text, and no part of a packet."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import afterload.forms.views
from afterload.errors import NotFoundError
from afterload.figures import Figure
from afterload.figures.moving import BAND, LIVE
from afterload.forms.state import FormState
from afterload.forms.state.results import Results
from afterload.forms.views.chart import LiveChartView
from afterload.forms.views.editor import Editor
from afterload.forms.workbook import FormWorkbook
from afterload.report.packet import chapter_paths
from afterload.resources import resource
from afterload.scenario import load_scenario

CHAPTER = resource("workbooks", "02-fill-in.ipynb")
VIEWS = sorted(Path(afterload.forms.views.__file__).parent.glob("*.py"))


def test_a_packet_does_not_hold_it() -> None:
    assert CHAPTER not in chapter_paths()
    assert chapter_paths(names=["answer"]) != ()
    with pytest.raises(NotFoundError, match="fill-in"):
        chapter_paths(names=["fill-in"])


def test_plain_nbconvert_gives_a_page_without_widgets(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--output-dir", str(tmp_path)]
    done = subprocess.run([*command, str(CHAPTER)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "02-fill-in.html").read_text("utf-8")
    assert "widget-view" not in page
    assert "Loading widget" not in page
    for words in ("344 min", "206,400", "243 calls", "19.2 min", "First changes", "queues.orders.arrival_rate"):
        assert words in page


def test_plain_papermill_tells_what_an_empty_file_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", str(CHAPTER), "out.ipynb"]
    done = subprocess.run(
        [*command, "-r", "scenario", "new.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    nb = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    outputs = [output for cell in nb.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    text = "\n".join(output.data["text/plain"] for output in outputs)
    assert "new.yaml: team: is missing" in text
    assert "incident.trigger" in text
    assert not (tmp_path / "new.yaml").exists()


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.stem)
def test_views_do_not_compute(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    computing = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and not isinstance(node.op, ast.BitOr)
        # A path below a folder.
        and not ((isinstance(node.op, ast.Div) and "HERE" in ast.unparse(node)) or ".css" in ast.unparse(node))
    ]
    assert computing == []
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    # papermill can hang on an Output that is used as a context.
    assert names & {"Output", "interactive_output", "interact", "clear_output"} == set()


RANGES = "uncertain: {queues.orders.service_rate: {low: '1,600/min', high: '2,000/min'}}\n"


def test_the_band_of_the_backlog_follows_at_rest_and_is_stale_until_then(orders: Path) -> None:
    orders.write_text(f"{orders.read_text('utf-8')}{RANGES}", "utf-8")
    form = FormState(str(orders))
    editor = Editor(form)
    chart = editor.results.charts["backlog"]
    first = chart.resting[BAND]
    assert (len(first), chart.is_stale) == (61, False)
    assert chart.spec["params"] == [{"name": "stale", "value": False}]
    sent: list[str] = []
    chart.observe(lambda change: sent.append(change["name"]), names=["data", "resting", "is_stale", "spec"])
    slider = next(item for item in form.sliders() if item.key == "orders arrivals")
    for number in (1250, 1300):
        form.drag(slider, number)
        assert chart.is_stale
        assert chart.resting[BAND] == first
    # A step of a slider sends points of the lines, and once that the band is stale.
    assert sent == ["is_stale", "data", "data"]
    editor.rest.now()
    assert not chart.is_stale
    band = chart.resting[BAND]
    assert band != first
    # 172 min at 1,300/min wait at the restore, whatever the service rate.
    [at_restore] = [row for row in band if row["minutes"] == 172]
    assert at_restore["low"] == pytest.approx(1_300 * 172, rel=0.01)
    assert form.results is not None
    assert "over 200 draws" in editor.results.bands.value
    # Without a range there is no band, and nothing to be stale.
    form.remove(("uncertain", "queues.orders.service_rate"))
    assert chart.is_stale
    editor.rest.now()
    assert (chart.resting[BAND], chart.is_stale) == ([], False)
    assert "params" not in chart.spec
    assert editor.results.charts["age"].resting == {}


def test_labels_of_an_axis_keep_apart_in_narrow_charts(orders: Path) -> None:
    results = Results.of(load_scenario(orders))
    chart = LiveChartView()
    for name in ("backlog", "age", "launches"):
        figure = LIVE[name].figure(results.estimates)
        assert isinstance(figure, Figure)
        chart.show(figure)
        assert chart.spec["config"]["axis"]["labelSeparation"] >= 8
        # Those of the packet, which are wide, are left as they are.
        assert "labelSeparation" not in figure.chart["config"]["axis"]


def test_a_cell_that_runs_again_shows_the_same_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one would follow every step too, and look at the log on its own."""
    monkeypatch.setattr("afterload.forms.workbook.has_front_end", lambda: True)
    workbook = FormWorkbook("builtin:scenarios/orders.yaml")
    for cell in (workbook.fill_in, workbook.take_files, workbook.run_report, workbook.follow):
        assert cell() is cell()
