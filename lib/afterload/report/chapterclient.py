"""What every way of running bound chapters has in common: judge each cell, keep going, skip what depends on a failed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NotebookExecutionManager
from papermill.log import logger as papermill_log

from afterload.report.nodes import make_node, quiet_log

__all__ = ["CellProblem", "ChapterClient", "run_managed"]

# More printed text than this is no report, and may be an endless loop.
MAX_PRINTED_CHARACTERS = 50_000
# A page must stay one that a browser opens. The largest chart of a chapter has about a hundredth of this.
MAX_SHOWN_CHARACTERS = 5_000_000

CellProblem = tuple[str, str]


def run_managed(
    nb: NotebookNode,
    client: Callable[..., ChapterClient],
    *,
    output_path: str | None,
    progress_bar: bool | dict[str, Any],
    log_output: bool,
    **options: Any,
) -> NotebookNode:
    """Execute a notebook in place with a client, under papermill's bookkeeping."""
    manager = _ExecutionManager(
        nb, output_path=output_path, log_output=log_output, progress_bar=progress_bar, autosave_cell_every=0
    )
    manager.notebook_start()
    try:
        client(manager, log_output=log_output, **options).execute()
    finally:
        manager.cleanup_pbar()
        manager.notebook_complete()
    executed: NotebookNode = manager.nb
    return executed


class _ExecutionManager(NotebookExecutionManager):  # type: ignore[misc]
    """Papermill's bookkeeping, with one save at the end in place of two a cell."""

    def save(self, **_: Any) -> None:
        if self.end_time is not None:
            super().save()


class ChapterClient(PapermillNotebookClient):  # type: ignore[misc]
    """An nbclient that judges each cell itself and skips what depends on a failed one."""

    def __init__(self, nb_man: NotebookExecutionManager, *, cell_limit_s: float | None, **options: Any) -> None:
        super().__init__(
            nb_man,
            kernel_name="python3",
            log=papermill_log if options.get("log_output") else quiet_log,
            # Errors are judged here; and a kernel told to stop on errors may drop the next chapter's cell.
            allow_errors=True,
            # The kernel cuts printed text at random places.
            coalesce_streams=True,
            record_timing=False,
            **options,
        )
        self.cell_limit_s = cell_limit_s
        self.kernel_ended = ""
        self._begin_cell()

    def _begin_cell(self) -> None:
        self._reply: dict[str, Any] = {}
        self._over_limit = False
        self._missing = ""
        self._printed = 0
        self._shown = 0
        self._left_out = ""

    # The chapters

    def papermill_execute_cells(self) -> None:
        """Run all cells, and list what failed in the notebook's metadata."""
        chapters = _chapters(self.nb.cells)
        failures: list[dict[str, Any]] = []
        failed: set[str] = set()
        for index, cell in enumerate(self.nb.cells):
            chapter = chapters[index]
            if cell.cell_type == "code" and (self.kernel_ended or chapter in failed):
                note = self._note(chapter, failed, index, chapters)
                self._skip(cell, note)
                if note and chapter not in failed:
                    failures.append(_record(chapter, index, ("NotRun", note)))
                continue
            self.nb_man.cell_start(cell, index)
            try:
                problem = self._run(cell, index)
                if problem is not None:
                    failures.append(_record(chapter, index, problem))
                    failed.add(chapter)
                    self.nb_man.cell_exception(cell, cell_index=index)
            finally:
                self.nb_man.cell_complete(cell, cell_index=index)
            if problem is not None and not chapter:
                break
        self.nb.metadata["afterload"] = make_node({**self.nb.metadata.get("afterload", {}), "failures": failures})

    def _note(self, chapter: str, failed: set[str], index: int, chapters: Sequence[str]) -> str:
        """What the page says where the skipping begins; empty at the later cells of the chapter."""
        before = [
            earlier
            for earlier, name in zip(self.nb.cells[:index], chapters[:index], strict=True)
            if name == chapter and earlier.metadata.get("afterload", {}).get("skipped")
        ]
        if before:
            return ""
        if chapter in failed:
            return "The rest of this chapter was not run, because the part above failed."
        return f"This chapter was not run, because {self.kernel_ended}."

    def _skip(self, cell: NotebookNode, note: str) -> None:
        marks = {**cell.metadata.get("afterload", {}), "skipped": True}
        if note:
            marks["note"] = note
        cell.metadata["afterload"] = make_node(marks)
        cell.metadata.papermill["status"] = "skipped"
        if self.nb_man.pbar:
            self.nb_man.pbar.update(1)

    # One cell

    def _run(self, cell: NotebookNode, index: int) -> CellProblem | None:
        """Execute one cell; return what went wrong, which then also stands in the cell's outputs."""
        self._begin_cell()
        try:
            self.execute_cell(cell, index)
        except DeadKernelError:
            problem = self._end_of_kernel()
            cell.outputs = [output for output in cell.outputs if output.output_type != "error"]
        else:
            if self._over_limit:
                # The interrupt left an error of its own, which says less.
                cell.outputs = [output for output in cell.outputs if output.output_type != "error"]
                problem = "TimeLimit", f"{self._limit_text()} and was stopped"
            else:
                found = self._judge(cell)
                if found is None:
                    return None
                problem = found
        _put_error(cell, problem, self._reply.get("traceback", []))
        return problem

    def _judge(self, cell: NotebookNode) -> CellProblem | None:
        reply = self._reply
        errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        if any(entry.get("source") == "ask_exit" for entry in reply.get("payload", [])):
            self.kernel_ended = "an earlier chapter ended the Python process"
            return "SystemExit", "the cell asked to end the Python process"
        if reply.get("status", "ok") != "ok" or errors:
            last = errors[-1] if errors else {}
            ename = str(reply.get("ename") or last.get("ename") or "Error")
            evalue = str(reply.get("evalue") or last.get("evalue") or "")
            if ename == "SystemExit":
                # papermill takes a bare exit with code 0 for success.
                evalue = f"the cell asked to exit with code {evalue or 0}"
            return ename, evalue
        if self._left_out:
            return "OutputLimit", self._left_out
        if self._missing:
            return "OutputMissing", self._missing
        return None

    def _end_of_kernel(self) -> CellProblem:
        """What to say of the cell during which the process ended; also sets :attr:`kernel_ended`."""
        raise NotImplementedError

    def _limit_text(self) -> str:
        return f"this cell took longer than its limit of {self.cell_limit_s:g} s"

    # Messages

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        """Put what a cell sent into its outputs, as far as there is room."""
        content = msg["content"]
        if msg["msg_type"] == "stream":
            room = MAX_PRINTED_CHARACTERS - self._printed
            text = content["text"]
            self._printed += len(text)
            if len(text) > room:
                self._left_out = f"more was printed than the {MAX_PRINTED_CHARACTERS:,} characters that are kept"
                content["text"] = text[: max(room, 0)]
            if not content["text"]:
                return None
        elif msg["msg_type"] in ("display_data", "execute_result"):
            self._shown += sum(len(str(value)) for value in content["data"].values())
            if self._shown > MAX_SHOWN_CHARACTERS:
                self._left_out = f"more was shown than the {MAX_SHOWN_CHARACTERS:,} characters that are kept"
                return None
        return super().process_message(msg, cell, cell_index)


def _chapters(cells: Sequence[NotebookNode]) -> list[str]:
    """The chapter of each cell; a cell that papermill put in belongs to the one before it."""
    named = [str(cell.metadata.get("afterload", {}).get("chapter", "")) for cell in cells]
    current = next((name for name in named if name), "")
    chapters = []
    for name in named:
        current = name or current
        chapters.append(current)
    return chapters


def _record(chapter: str, index: int, problem: CellProblem) -> dict[str, Any]:
    return {"chapter": chapter, "cell_index": index, "ename": problem[0], "evalue": problem[1]}


def _put_error(cell: NotebookNode, problem: CellProblem, traceback: Sequence[str]) -> None:
    """Leave exactly one error output that says the problem, where the last one stood or at the end."""
    places = [place for place, output in enumerate(cell.outputs) if output.output_type == "error"]
    if places and not traceback:
        traceback = cell.outputs[places[-1]].traceback
    error = make_node(
        {
            "output_type": "error",
            "ename": problem[0],
            "evalue": problem[1],
            "traceback": list(traceback) or [f"{problem[0]}: {problem[1]}"],
        }
    )
    if places:
        cell.outputs[places[-1]] = error
    else:
        cell.outputs.append(error)
