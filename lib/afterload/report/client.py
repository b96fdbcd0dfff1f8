"""Run the cells of bound chapters over a kernel, and keep going where one of them fails."""

from __future__ import annotations

import asyncio
import signal
from queue import Empty
from time import monotonic
from typing import Any

from nbclient.exceptions import CellExecutionComplete, DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode
from papermill.engines import NotebookExecutionManager

from afterload.report.chapterclient import CellProblem, ChapterClient
from afterload.report.kernel import OwnKernelManager, describe_end, started_kernel

__all__ = ["KernelClient"]

# The shell channel is asked in slices: a wake-up that is lost then costs a slice, not the whole run.
SLICE_S = 0.25
# How long a cell may take to stop after an interrupt, before its kernel is killed.
INTERRUPT_GRACE_S = 5.0
# How long outputs may trail behind the reply that ends a cell.
OUTPUT_GRACE_S = 20


class KernelClient(ChapterClient):
    """A client that cannot hang, whatever a kernel does."""

    def __init__(self, nb_man: NotebookExecutionManager, **options: Any) -> None:
        super().__init__(nb_man, kernel_manager_class=OwnKernelManager, shutdown_kernel="immediate", **options)

    def execute(self, **_: Any) -> NotebookNode:
        """Run all cells over a kernel of its own."""
        self.reset_execution_trackers()
        with started_kernel(self):
            info = self.wait_for_reply(self.kc.kernel_info())
            if info is not None:
                self.nb.metadata["language_info"] = info["content"]["language_info"]
            self.papermill_execute_cells()
            self.set_widgets_metadata()
        executed: NotebookNode = self.nb
        return executed

    def _end_of_kernel(self) -> CellProblem:
        end = describe_end(self.km)
        self.kernel_ended = "the Python process had ended in an earlier chapter"
        if self._over_limit:
            return "TimeLimit", f"{self._limit_text()} and did not stop when asked, so its process was ended"
        return "KernelDied", f"the Python process ended while this cell ran ({end})"

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
            self._missing = f"the outputs of this cell did not arrive within {OUTPUT_GRACE_S} s"

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
