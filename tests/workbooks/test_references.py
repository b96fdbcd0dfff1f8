"""The executed references hold the workbooks themselves, and nbval compares every number in them."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat import NotebookNode

from afterload.figures.figure import CHART_MIME

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = sorted((ROOT / "tests" / "references").glob("*.ipynb"))
SMALL = "40-launches"
# Versions and the digest of the inputs: they change without any result changing.
NOT_COMPARED = {("90-provenance", "workbook.provenance()")}

each = pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    return nb


def test_every_workbook_has_its_reference() -> None:
    assert [path.name for path in REFERENCES] == sorted(path.name for path in (ROOT / "workbooks").glob("*.ipynb"))


@each
def test_a_reference_is_its_workbook_executed(path: Path) -> None:
    reference, workbook = read(path), read(ROOT / "workbooks" / path.name)
    assert reference.metadata == workbook.metadata
    assert [parts(cell) for cell in own_cells(reference)] == [parts(cell) for cell in workbook.cells]


def own_cells(reference: NotebookNode) -> list[NotebookNode]:
    """The cells of the workbook itself: a chapter that the first example has nothing for is shown on another one."""
    injected = [cell for cell in reference.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    assert len(injected) <= 1
    assert all(cell.source.startswith("# Parameters\nscenario = ") for cell in injected)
    return [cell for cell in reference.cells if cell not in injected]


def parts(cell: NotebookNode) -> tuple[str, str, str, dict[str, Any]]:
    """What a cell is, without papermill's empty list of tags."""
    return cell.cell_type, cell.id, cell.source, {key: value for key, value in cell.metadata.items() if value != []}


@each
def test_every_section_left_an_output(path: Path) -> None:
    everything = read(path)
    counts = [cell.execution_count for cell in everything.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    code = [cell for cell in own_cells(everything) if cell.cell_type == "code"]
    for place, cell in enumerate(code):
        if place < 2:
            assert cell.outputs == []
            continue
        assert cell.outputs, cell.source
        for output in cell.outputs:
            assert output.output_type in ("display_data", "execute_result"), cell.source
            assert output.data["text/plain"].strip()
            assert "text/html" in output.data or CHART_MIME in output.data


@each
def test_nothing_is_left_out_of_the_comparison(path: Path) -> None:
    for cell in own_cells(read(path)):
        tags = {tag for tag in cell.metadata.get("tags", []) if tag != "parameters"}
        if (path.stem, cell.source) in NOT_COMPARED:
            assert tags == {"nbval-ignore-output"}
        else:
            assert tags == set()
        assert "NBVAL" not in cell.source
        assert not re.search(r"nbval", str(cell.source), re.IGNORECASE)


@each
def test_no_path_or_clock_is_kept(path: Path) -> None:
    text = path.read_text("utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) not in text
    assert "papermill" not in {key for cell in read(path).cells for key in cell.metadata}
    assert not re.search(r'"(start_time|end_time|iopub|shell)', text)


# One changed number, in each form in which a result is kept.


def outputs(nb: NotebookNode, mime: str) -> list[Any]:
    return [output.data for cell in nb.cells for output in cell.get("outputs", []) if mime in output.data]


def change_html(nb: NotebookNode) -> None:
    data = next(data for data in outputs(nb, "text/html") if "<td" in data["text/html"])
    data["text/html"] = other_number(data["text/html"], r"(?<=>)[\d,.]+(?=<)")


def change_plain(nb: NotebookNode) -> None:
    data = next(data for data in outputs(nb, "text/html") if "<td" in data["text/html"])
    data["text/plain"] = other_number(data["text/plain"], r"(?<= )[\d,.]+(?= )")


def change_chart(nb: NotebookNode) -> None:
    spec = outputs(nb, CHART_MIME)[0][CHART_MIME]
    rows = (spec.get("data") or spec["layer"][0]["data"])["values"]
    number = next(name for name, value in rows[1].items() if isinstance(value, float | int))
    rows[1][number] += 1


def other_number(text: str, pattern: str) -> str:
    changed, count = re.subn(
        pattern, lambda match: str(match[0])[:-1] + str((int(match[0][-1]) + 1) % 10), text, count=1
    )
    assert count == 1
    assert changed != text
    return changed


TAMPERED: dict[str, Callable[[NotebookNode], None]] = {
    "as it is": lambda nb: None,
    "html": change_html,
    "plain": change_plain,
    "chart": change_chart,
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What one run of nbval says of each copy: how many cells failed, and the text of that."""
    folder = tmp_path_factory.mktemp("nbval")
    reference = read(ROOT / "tests" / "references" / f"{SMALL}.ipynb")
    for name, change in TAMPERED.items():
        nb = copy.deepcopy(reference)
        change(nb)
        nbformat.write(nb, folder / f"{name.replace(' ', '-')}.ipynb")
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "--nbval", f"--junitxml={report}", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, f"--rootdir={folder}", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = dict.fromkeys(TAMPERED, (0, ""))
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        key = next(name for name in TAMPERED if name.replace(" ", "-") in case.attrib["classname"])
        problems = [child for child in case if child.tag in ("failure", "error")]
        count, text = found[key]
        found[key] = count + len(problems), text + "".join(str(problem.text) for problem in problems)
    return found


def test_nbval_passes_the_reference_as_it_is(verdicts: dict[str, tuple[int, str]]) -> None:
    assert verdicts["as it is"] == (0, "")


@pytest.mark.parametrize(("name", "mime"), [("html", "text/html"), ("plain", "text/plain"), ("chart", CHART_MIME)])
def test_nbval_sees_one_changed_number(verdicts: dict[str, tuple[int, str]], name: str, mime: str) -> None:
    count, text = verdicts[name]
    assert count == 1
    assert mime in text
