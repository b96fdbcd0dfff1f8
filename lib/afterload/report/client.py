"""Run the cells of bound chapters, and keep going where one of them fails."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from queue import Empty
from time import monotonic
from typing import Any

from nbclient.exceptions import CellExecutionComplete, DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NotebookExecutionManager
from papermill.log import logger as papermill_log

from afterload.report.kernel import OwnKernelManager, describe_end, quiet_log, started_kernel
from afterload.report.nodes import make_node

__all__ = ["run_chapters"]

# The shell channel is asked in slices: a wake-up that is lost then costs a slice, not the whole run.
SLICE_S = 0.25
# How long a cell may take to stop after an interrupt, before its kernel is killed.
INTERRUPT_GRACE_S = 5.0
# How long outputs may trail behind the reply that ends a cell.
OUTPUT_GRACE_S = 20
# More printed text than this is no report, and may be an endless loop.
MAX_PRINTED_CHARACTERS = 50_000
# A page must stay one that a browser opens. The largest chart of a chapter has about a hundredth of this.
MAX_SHOWN_CHARACTERS = 5_000_000

_Problem = tuple[str, str]


def run_chapters(
    nb: NotebookNode,
    *,
    output_path: str | None,
    progress_bar: bool | dict[str, Any],
    log_output: bool,
    start_timeout_s: int,
    cell_limit_s: float | None,
    stdout_file: Any = None,
    stderr_file: Any = None,
) -> NotebookNode:
    """Execute a notebook in place; what :class:`afterload.report.engine.ChapterEngine` does."""
    manager = _ExecutionManager(
        nb, output_path=output_path, log_output=log_output, progress_bar=progress_bar, autosave_cell_every=0
    )
    manager.notebook_start()
    try:
        _ChapterClient(
            manager,
            cell_limit_s,
            startup_timeout=start_timeout_s,
            log_output=log_output,
            stdout_file=stdout_file,
            stderr_file=stderr_file,
        ).execute()
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


class _ChapterClient(PapermillNotebookClient):  # type: ignore[misc]
    """An nbclient that cannot hang, judges each cell itself and skips what depends on a failed one."""

    def __init__(self, nb_man: _ExecutionManager, cell_limit_s: float | None, **options: Any) -> None:
        super().__init__(
            nb_man,
            kernel_name="python3",
            kernel_manager_class=OwnKernelManager,
            log=papermill_log if options.get("log_output") else quiet_log,
            # Errors are judged here; and a kernel told to stop on errors may drop the next chapter's cell.
            allow_errors=True,
            # The kernel cuts printed text at random places.
            coalesce_streams=True,
            record_timing=False,
            shutdown_kernel="immediate",
            **options,
        )
        self.cell_limit_s = cell_limit_s
        self.kernel_ended = ""
        self._begin_cell()

    def _begin_cell(self) -> None:
        self._reply: dict[str, Any] = {}
        self._over_limit = False
        self._outputs_missing = False
        self._printed = 0
        self._shown = 0
        self._left_out = ""

    def execute(self, **_: Any) -> NotebookNode:
        self.reset_execution_trackers()
        with started_kernel(self):
            info = self.wait_for_reply(self.kc.kernel_info())
            if info is not None:
                self.nb.metadata["language_info"] = info["content"]["language_info"]
            self.papermill_execute_cells()
            self.set_widgets_metadata()
        executed: NotebookNode = self.nb
        return executed

    # The chapters

    def papermill_execute_cells(self) -> None:
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

    def _run(self, cell: NotebookNode, index: int) -> _Problem | None:
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

    def _judge(self, cell: NotebookNode) -> _Problem | None:
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
        if self._outputs_missing:
            return "OutputMissing", f"the outputs of this cell did not arrive within {OUTPUT_GRACE_S} s"
        return None

    def _end_of_kernel(self) -> _Problem:
        end = describe_end(self.km)
        self.kernel_ended = "the Python process had ended in an earlier chapter"
        if self._over_limit:
            return "TimeLimit", f"{self._limit_text()} and did not stop when asked, so its process was ended"
        return "KernelDied", f"the Python process ended while this cell ran ({end})"

    def _limit_text(self) -> str:
        return f"this cell took longer than its limit of {self.cell_limit_s:g} s"

    # Messages

    async def _async_poll_for_reply(
        self,
        msg_id: str,
        cell: NotebookNode,
        timeout: int | None,
        task_poll_output_msg: asyncio.Future[Any],
        task_poll_kernel_alive: asyncio.Future[Any],
    ) -> dict[str, Any]:
        deadline = None if self.cell_limit_s is None else monotonic() + self.cell_limit_s
        try:
            while True:
                message = await self._next_reply()
                if message is not None and message["parent_header"].get("msg_id") == msg_id:
                    await self._await_outputs(task_poll_output_msg)
                    self._reply = message["content"]
                    return message
                if message is None and not await ensure_async(self.kc.is_alive()):
                    # What the kernel sent before its end is still worth showing.
                    await asyncio.wait({task_poll_output_msg}, timeout=SLICE_S)
                    raise DeadKernelError("Kernel died")
                if deadline is not None and monotonic() > deadline:
                    deadline = await self._stop_cell()
        finally:
            task_poll_kernel_alive.cancel()

    async def _next_reply(self) -> dict[str, Any] | None:
        try:
            message: dict[str, Any] = await ensure_async(self.kc.shell_channel.get_msg(timeout=SLICE_S))
        except Empty:
            return None
        return message

    async def _stop_cell(self) -> float:
        """Interrupt the cell, and where that has not helped kill its kernel; return the next deadline."""
        if self._over_limit:
            await ensure_async(self.km.signal_kernel(getattr(signal, "SIGKILL", signal.SIGTERM)))
        else:
            self._over_limit = True
            await ensure_async(self.km.interrupt_kernel())
        return monotonic() + INTERRUPT_GRACE_S

    async def _await_outputs(self, outputs: asyncio.Future[Any]) -> None:
        try:
            await asyncio.wait_for(outputs, OUTPUT_GRACE_S if not self._over_limit else INTERRUPT_GRACE_S)
        except (TimeoutError, Empty):
            self._outputs_missing = True

    async def _async_poll_kernel_alive(self) -> None:
        # Whoever waits for the reply asks that too.
        await asyncio.Event().wait()

    async def _async_poll_output_msg(self, parent_msg_id: str, cell: NotebookNode, cell_index: int) -> None:
        while True:
            message = await ensure_async(self.kc.iopub_channel.get_msg(timeout=None))
            if message["parent_header"].get("msg_id") == parent_msg_id:
                try:
                    self.process_message(message, cell, cell_index)
                except CellExecutionComplete:
                    return
            # A cell that prints without end must not keep the time limit from being looked at.
            await asyncio.sleep(0)

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
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


def _record(chapter: str, index: int, problem: _Problem) -> dict[str, Any]:
    return {"chapter": chapter, "cell_index": index, "ename": problem[0], "evalue": problem[1]}


def _put_error(cell: NotebookNode, problem: _Problem, traceback: Sequence[str]) -> None:
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
