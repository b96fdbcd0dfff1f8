"""Run chapters as one packet through papermill."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode

from afterload.errors import OutputError, ParameterError
from afterload.report.bind import bind, parameter_defaults
from afterload.report.engine import ENGINE_NAME, IN_PROCESS_NAME, ChapterEngine, Failure, InProcessEngine, failures_of

if TYPE_CHECKING:
    from afterload.report.lost import Lost

__all__ = ["CELL_TIMEOUT_S", "INJECTED_TAG", "PacketRun", "run_packet"]

CELL_TIMEOUT_S = 300.0
START_TIMEOUT_S = 60

INJECTED_TAG = "injected-parameters"
_MARKER_TAG = "papermill-error-cell-tag"
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
# IPython's advice beside an exit, which is a failure of the cell already.
_EXIT_HINT = "To exit: use 'exit', 'quit', or Ctrl-D."
# As Python prints a warning: the file and the line, the class, the text; then the line of code.
_WARNING = re.compile(r"^.*?:\d+: (?P<kind>\w*Warning): (?P<text>.*)$")


@dataclass(frozen=True)
class PacketRun:
    """An executed packet: the notebook, what failed in it, what it warned of, and what its cells left in this process."""

    nb: NotebookNode
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    left: tuple[Any, ...] = ()


def run_packet(
    chapter_paths: Sequence[str | Path],
    parameters: Mapping[str, Any],
    title: str,
    progress: bool = False,
    cell_timeout_s: float | None = CELL_TIMEOUT_S,
    engine: str = ENGINE_NAME,
    lost: Lost | None = None,
) -> PacketRun:
    """Bind the chapters, run them with one kernel, and return the executed notebook.

    The ``engine`` ``afterload-in-process`` runs them in this process instead, which should be one of their own; ``lost`` is
    what such a process had kept when it ended: then nothing runs.

    A failing chapter is no exception here: see :attr:`PacketRun.failures`. The notebook carries no
    clocks, durations or paths of this machine in its metadata, so the same inputs give the same bytes.

    Raises what :func:`afterload.report.bind.bind` raises, :class:`ParameterError` for a parameter that
    no chapter declares, and :class:`afterload.errors.ChapterError` where the kernel does not start.
    """
    bound = bind(chapter_paths, title)
    _check_names(parameters, parameter_defaults(bound))
    options: dict[str, Any] = {"start_timeout": START_TIMEOUT_S, "execution_timeout": cell_timeout_s}
    left: list[Any] = []
    options["left"] = left
    if lost is not None:
        options["lost"] = lost
    executed = _execute(bound, dict(parameters), progress, engine, options)
    executed.cells = [cell for cell in executed.cells if _MARKER_TAG not in cell.metadata.get("tags", [])]
    failures = failures_of(executed)
    warnings = _take_warnings(executed)
    _tidy(executed)
    return PacketRun(executed, failures, warnings, tuple(left))


def _check_names(parameters: Mapping[str, Any], declared: Mapping[str, str]) -> None:
    unknown = sorted(set(parameters) - set(declared))
    if unknown:
        raise ParameterError(
            f"unknown parameter {', '.join(map(repr, unknown))}; the chapters declare "
            f"{', '.join(sorted(declared)) or 'none'}"
        )


def _execute(
    bound: NotebookNode,
    parameters: dict[str, Any],
    progress: bool,
    engine: str,
    options: dict[str, Any],
) -> NotebookNode:
    import papermill
    from papermill.engines import papermill_engines

    # By hand, so that it also works where entry points are not installed.
    papermill_engines.register(ENGINE_NAME, ChapterEngine)
    papermill_engines.register(IN_PROCESS_NAME, InProcessEngine)
    executed: list[NotebookNode] = []
    with _writing(), _quiet(), suppress(papermill.PapermillExecutionError):
        # The failures are in the notebook, which the engine hands over before papermill raises. No file is written: that
        # would cost as much as a tenth of the cells.
        papermill.execute_notebook(
            bound,
            None,
            parameters=parameters,
            engine_name=engine,
            request_save_on_cell_execute=False,
            progress_bar={"desc": "Chapters", "leave": False} if progress else False,
            log_output=False,
            executed=executed,
            **options,
        )
    return executed[0]


@contextmanager
def _writing() -> Iterator[None]:
    """Where kernel or shell cannot write what they need for themselves: raises :class:`OutputError`."""
    try:
        yield
    except OSError as problem:
        raise OutputError(
            f"cannot write into the temporary folder {tempfile.gettempdir()}: {problem.strerror or problem}; "
            "TMPDIR names another one"
        ) from problem


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the log of papermill off the terminal: failures come back as data."""
    log = logging.getLogger("papermill")
    handler, propagated = logging.NullHandler(), log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.propagate = propagated
        log.removeHandler(handler)


def _take_warnings(nb: NotebookNode) -> tuple[str, ...]:
    """Move what chapters wrote to standard error out of the page, each line once.

    A warning as Python prints it names a path of this machine and a line of code; both are left out.
    """
    found: dict[str, None] = {}
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        chapter = cell.metadata.get("afterload", {}).get("chapter", "")
        said = {f"{output.ename}: {output.evalue}" for output in cell.outputs if output.output_type == "error"}
        for output in filter(_is_stderr, cell.outputs):
            for line in _warning_lines(output.text):
                if line not in said and _EXIT_HINT not in line:
                    found[f"{chapter}: {line}" if chapter else line] = None
        cell.outputs = [output for output in cell.outputs if not _is_stderr(output)]
    return tuple(found)


def _is_stderr(output: NotebookNode) -> bool:
    return bool(output.output_type == "stream" and output.name == "stderr")


def _warning_lines(text: str) -> Iterator[str]:
    after_warning = False
    for line in text.splitlines():
        match = _WARNING.match(line)
        if match:
            yield f"{match['kind']}: {match['text']}"
        elif line.strip() and not (after_warning and line.startswith("  ")):
            yield line.rstrip()
        after_warning = match is not None


def _tidy(nb: NotebookNode) -> None:
    """Leave out what differs from run to run or from machine to machine."""
    for name in ("papermill", "widgets"):
        nb.metadata.pop(name, None)
    for cell in nb.cells:
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        if INJECTED_TAG in cell.metadata.get("tags", []):
            cell["id"] = INJECTED_TAG
        if cell.cell_type != "code":
            continue
        cell.outputs = [output for output in cell.outputs if _WIDGET_TYPE not in output.get("data", {})]
        for output in cell.outputs:
            if output.output_type == "error":
                # The traceback names paths; it stays with the failures.
                output.traceback = [f"{output.ename}: {output.evalue}"]
