"""A part that fails costs itself; the rest is written whole, and the failure is told in three places."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from afterload.report import build

PLAN = {"orders-plan.csv", "orders-plan.json", "orders-plan.md", "orders-runbook.md"}
POSTMORTEM = {"orders-postmortem.md"}
ALL = {"orders.html", "orders.ipynb", *PLAN, *POSTMORTEM}
FLOOD = "print(('x' * 99 + '\\n') * 200_000)"
# With a kernel the rest is made in this process, where it can be broken.
HERE = ("--engine", "kernel")
SHOWN_FLOOD = "from IPython.display import HTML\nHTML('<p>' + 'x' * 20_000_000 + '</p>')"


@dataclass(frozen=True)
class Fault:
    source: str
    kind: str
    message: str
    ends_kernel: bool = False


FAULTS = {
    "user error": Fault(
        "from afterload.chapters import open_workbook\nopen_workbook(scenario, {'queues.orders.arrival': 1})",
        "OverrideError",
        "'arrival' is not known in queues.orders",
    ),
    "python error": Fault("{}['<b>no such</b>']", "KeyError", "<b>no such</b>"),
    "SystemExit": Fault("raise SystemExit('had <i>enough</i>')", "SystemExit", "had <i>enough</i>"),
    "sys.exit(0)": Fault("import sys\nsys.exit(0)", "SystemExit", "exit with code 0"),
    "os._exit": Fault("import os\nos._exit(7)", "KernelDied", "exit code 7", ends_kernel=True),
    "printed flood": Fault(FLOOD, "OutputLimit", "more was printed than"),
    "shown flood": Fault(SHOWN_FLOOD, "OutputLimit", "more was shown than"),
}


@pytest.mark.parametrize(("name", "engine"), [*((name, "process") for name in FAULTS), ("os._exit", "kernel")])
def test_a_failing_chapter_leaves_the_packet_of_the_others(
    report: Callable[..., Any], own_workbooks: Callable[..., Any], name: str, engine: str
) -> None:
    fault = FAULTS[name]
    folder = own_workbooks("print('before')", fault.source, "print('never')")
    made = report("--workbooks", folder, "--quiet", "--engine", engine)

    # The exit code and the terminal.
    assert made.code == 4
    assert made.out == f"{made.folder / 'orders.html'}\n"
    assert made.err.startswith("error: ")
    assert "45-own" in made.err
    assert f"{fault.kind}: " in made.err
    assert fault.message in made.err
    assert "Traceback" not in made.err

    # Every file, each whole.
    assert made.files == ALL
    assert sum((made.folder / each).stat().st_size for each in ALL) < 1_000_000
    text = (made.folder / "orders.html").read_text("utf-8")
    assert text.rstrip().endswith("</html>")
    assert json.loads((made.folder / "orders-plan.json").read_text("utf-8"))["changes"]
    assert len(list(csv.DictReader((made.folder / "orders-plan.csv").read_text("utf-8").splitlines()))) >= 5
    for name in ("orders-plan.md", "orders-postmortem.md"):
        assert "Input SHA-256" in (made.folder / name).read_text("utf-8")

    # The top of the page, then the place itself.
    page = made.page
    first = page.main.find(True)
    assert "af-failures" in first["class"]
    assert "not complete" in first.get_text()
    listed = [item.get_text() for item in first.find_all("li")]
    assert listed[0].startswith("45-own: ")
    assert fault.message in listed[0]
    headings = {heading.get_text().rstrip("¶"): heading for heading in page.main.find_all("h2")}
    chapters = list(headings)
    own = chapters.index("Our own")
    assert chapters.index("The answer") < own < chapters.index("Provenance")
    box = headings["Our own"].find_next("section", class_="af-error")
    assert fault.message in box.get_text()
    assert not page.find_all(["b", "i"], string=["no such", "enough"])
    assert "before" in page.main.get_text()
    assert "never" not in [pre.get_text().strip() for pre in page.find_all("pre")]

    # The others.
    assert "206,400" in page.main.get_text()
    versions = headings["Provenance"].find_next("table")
    if fault.ends_kernel:
        assert versions is None
        assert listed[1].startswith("90-provenance: ")
        assert "was not run" in page.main.get_text()
    else:
        assert "SHA-256 of the inputs" in versions.get_text()
        assert len(listed) == 1
    failures = made.nb.metadata.afterload.failures
    assert [failure["ename"] for failure in failures if failure["chapter"] == "45-own"] == [fault.kind]


def test_an_endless_loop_is_stopped_and_the_rest_goes_on(
    report: Callable[..., Any], own_workbooks: Callable[..., Any]
) -> None:
    folder = own_workbooks("while True: pass", "print('never')")
    # Beside it only what is quick on any machine: the limit is that of every cell.
    for name in ("00-answer", "90-provenance"):
        (folder / f"{name}.ipynb").write_text(
            (folder / "45-own.ipynb").read_text("utf-8").replace("while True: pass", f"print('this is {name}')"),
            "utf-8",
        )
    made = report("--workbooks", folder, "--quiet", "--cell-timeout", "2")
    assert made.code == 4
    assert "chapter 45-own: TimeLimit: this cell took longer than its limit of 2 s and was stopped" in made.err
    assert made.files == ALL
    listed = [item.get_text() for item in made.page.find(class_="af-failures").find_all("li")]
    assert listed == ["45-own: this cell took longer than its limit of 2 s and was stopped"]
    shown = made.page.main.get_text()
    assert (
        shown.index("this is 00-answer") < shown.rindex("longer than its limit") < shown.index("this is 90-provenance")
    )


class BrokenError(RuntimeError):
    """A kind that nobody expects."""


def test_a_failing_catalogue_leaves_the_page_and_is_told(
    report: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise BrokenError("the catalogue <b>is</b> broken")

    monkeypatch.setattr(build, "plan_csv", broken)
    made = report("--chapters", "answer,provenance", *HERE)
    assert made.code == 4
    assert made.out == f"{made.folder / 'orders.html'}\n"
    assert "plan files: BrokenError: the catalogue <b>is</b> broken" in made.err
    # The postmortem shows the worth of lines of the plan.
    assert made.files == ALL - PLAN - POSTMORTEM
    assert "206,400" in made.page.main.get_text()


@pytest.mark.parametrize(
    "error", [BrokenError("no"), AttributeError("no"), AssertionError("no"), ZeroDivisionError("no")]
)
def test_any_kind_of_fault_in_the_plan_is_told(
    monkeypatch: pytest.MonkeyPatch, error: Exception, tmp_path: Any
) -> None:
    from afterload.results import Results
    from afterload.scenario import load_scenario

    def broken(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(build, "plan_markdown", broken)
    summary, files, problem = build._plan_files(
        Results(load_scenario("builtin:scenarios/orders.yaml")), tmp_path / "orders", None
    )
    assert (summary, files) == ((), {})
    assert problem == f"plan files: {type(error).__name__}: no"


def test_a_failing_postmortem_leaves_the_rest_and_is_told(
    report: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise BrokenError("no words")

    monkeypatch.setattr(build, "postmortem_markdown", broken)
    made = report("--chapters", "provenance", "--quiet", *HERE)
    assert made.code == 4
    assert "postmortem file: BrokenError: no words" in made.err
    assert made.files == ALL - POSTMORTEM


def test_a_failing_export_keeps_what_was_computed(report: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise BrokenError("no template")

    monkeypatch.setattr(build.PacketExporter, "to_html", broken)
    made = report("--chapters", "provenance", "--quiet", *HERE)
    assert made.code == 4
    assert "page: BrokenError: no template" in made.err
    assert made.out == f"{made.folder / 'orders.ipynb'}\n"
    assert made.files == ALL - {"orders.html"}
    assert any(cell.get("outputs") for cell in made.nb.cells)


def test_what_a_chapter_warns_of_is_said_and_not_shown(
    report: Callable[..., Any], own_workbooks: Callable[..., Any]
) -> None:
    made = report("--workbooks", own_workbooks("import warnings\nwarnings.warn('careful')"))
    assert made.code == 0
    assert made.err.splitlines()[-1] == "warning: 45-own: UserWarning: careful"
    assert "careful" not in made.page.get_text()


def test_workbooks_that_do_not_fit_are_refused_before_they_run(
    report: Callable[..., Any], own_workbooks: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat

    folder = own_workbooks("1")
    path = folder / "45-own.ipynb"
    nb = nbformat.read(path, as_version=4)
    nb.cells[1].source = "scenario = 'mine.yaml'\noverrides = {}"
    nbformat.write(nb, path)
    monkeypatch.setattr("afterload.report.run._execute", lambda *_, **__: pytest.fail("chapters were run"))
    made = report("--workbooks", folder, *HERE)
    assert (made.code, made.out, made.files) == (3, "", set())
    assert report("--workbooks", folder).err == made.err
    assert "45-own" in made.err
    path.write_text("{", "utf-8")
    assert report("--workbooks", folder).code == 3
    assert not os.path.lexists(made.folder)
