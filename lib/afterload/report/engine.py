"""The papermill engine of chapters: one failing chapter does not stop the others.

papermill loads this module while its own is still loading, and this one may be loaded first. So the
engine is not a subclass of papermill's: it offers the same calls and imports the rest when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from afterload.report.lost import Lost

__all__ = ["ENGINE_NAME", "IN_PROCESS_NAME", "ChapterEngine", "Failure", "InProcessEngine", "failures_of"]

ENGINE_NAME = "afterload"
IN_PROCESS_NAME = "afterload-in-process"
KERNEL_NAME = "python3"


@dataclass(frozen=True)
class Failure:
    """One cell that failed; ``cell_index`` counts the cells of the executed notebook from 0."""

    chapter: str
    cell_index: int
    ename: str
    evalue: str
    traceback: tuple[str, ...] = ()


class ChapterEngine:
    """Run bound chapters with one kernel; papermill knows it as the engine ``afterload``.

    After a failing cell the rest of its chapter is skipped and the next chapter goes on. A cell says its
    chapter in ``metadata.afterload.chapter``; a notebook without chapters stops as under papermill's own
    engine. The failures are listed in the notebook's ``metadata.afterload.failures``: see
    :func:`failures_of`.

    The kernel is always the running Python. A failure is any error output, any error reply, an exit
    whatever its code, a cell over its time limit, and the end of the kernel.
    """

    @classmethod
    def execute_notebook(
        cls,
        nb: NotebookNode,
        kernel_name: str,
        output_path: str | None = None,
        progress_bar: bool | dict[str, Any] = True,
        log_output: bool = False,
        autosave_cell_every: int = 0,
        start_timeout: int = 60,
        execution_timeout: float | None = None,
        **options: Any,
    ) -> NotebookNode:
        """Execute the notebook in place and return it; papermill calls this.

        ``execution_timeout`` is the limit for each cell in seconds, ``start_timeout`` that for the start
        of the kernel. A list given as ``executed`` gets the notebook. ``kernel_name`` and ``autosave_cell_every`` are accepted
        and not used.
        """
        executed = cls._run(
            nb,
            {
                "output_path": output_path,
                "progress_bar": progress_bar,
                "log_output": log_output,
                "cell_limit_s": execution_timeout or options.get("timeout") or None,
                "stdout_file": options.get("stdout_file"),
                "stderr_file": options.get("stderr_file"),
            },
            start_timeout,
            options.get("lost"),
            options.get("left"),
        )
        if options.get("executed") is not None:
            options["executed"].append(executed)
        return executed

    @classmethod
    def _run(
        cls, nb: NotebookNode, managed: dict[str, Any], start_timeout_s: int, lost: Lost | None, left: list[Any] | None
    ) -> NotebookNode:
        """Run it over a kernel.

        ``managed`` is what every way of running takes; ``lost`` what only a process can leave; ``left`` gets the values that
        cells leave in this one.
        """
        from afterload.report.chapterclient import run_managed
        from afterload.report.client import KernelClient

        return run_managed(nb, KernelClient, startup_timeout=start_timeout_s, **managed)

    @classmethod
    def nb_kernel_name(cls, nb: NotebookNode, name: str | None = None) -> str:
        """Name by which papermill picks the language of parameters."""
        return KERNEL_NAME

    @classmethod
    def nb_language(cls, nb: NotebookNode, language: str | None = None) -> str:
        """Language of the chapters."""
        return "python"


class InProcessEngine(ChapterEngine):
    """The same without a kernel, in this process, which should then end: the engine ``afterload-in-process``.

    A cell that does not stop when interrupted is stopped from outside, where the process is a worker of
    :func:`afterload.report.workers.run_tasks`. The option ``lost`` makes the notebook of what a process that has ended had
    kept: see :class:`afterload.report.lost.Lost`.
    """

    @classmethod
    def _run(
        cls, nb: NotebookNode, managed: dict[str, Any], start_timeout_s: int, lost: Lost | None, left: list[Any] | None
    ) -> NotebookNode:
        from afterload.report.chapterclient import run_managed
        from afterload.report.inprocess import ReplayClient, ShellClient

        if lost is not None:
            return run_managed(nb, partial(ReplayClient, lost=lost), **managed)
        return run_managed(nb, partial(ShellClient, left=[] if left is None else left), **managed)


def failures_of(nb: NotebookNode) -> tuple[Failure, ...]:
    """What failed in a notebook that :class:`ChapterEngine` has run, in the order of the cells."""
    listed: Sequence[dict[str, Any]] = nb.metadata.get("afterload", {}).get("failures", [])
    return tuple(
        Failure(
            chapter=entry["chapter"],
            cell_index=entry["cell_index"],
            ename=entry["ename"],
            evalue=entry["evalue"],
            traceback=_traceback(nb.cells[entry["cell_index"]]),
        )
        for entry in listed
    )


def _traceback(cell: NotebookNode) -> tuple[str, ...]:
    errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
    return tuple(errors[-1].traceback) if errors else ()
