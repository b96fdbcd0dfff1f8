"""Run bound chapters in an IPython shell of this very process, with the outputs that a kernel would have sent.

This is for a process that is forked for one packet and ends with it (:mod:`afterload.report.workers`): the shell takes over the
standard streams, ``__main__``, ``input`` and a few environment variables, and a cell may change anything else. What comes out
is the notebook of :class:`afterload.report.engine.ChapterEngine`, byte for byte: shell, display hooks, compiler and messages
are ipykernel's own, only that a message goes from hand to hand in place of a socket.

Every message is also kept outside (:func:`afterload.report.child.keep`), so that nothing computed is lost with the process:
a client of :class:`afterload.report.lost.Lost` makes the same notebook of them, up to the cell that ended it.

What differs from a kernel: what other processes and C code write into the descriptors is in the cell for certain once the cell
has ended; what a thread prints after its cell has ended goes to the cell that runs then, or nowhere.
"""

from __future__ import annotations

import asyncio
import builtins
import getpass
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import comm
from comm.base_comm import BaseComm, CommManager
from ipykernel.compiler import XCachingCompiler
from ipykernel.ipkernel import IPythonKernel
from ipykernel.jsonutil import json_clean as _json_clean
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.shellapp import InteractiveShellApp
from jupyter_client.session import Session
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

from afterload.errors import ChapterError
from afterload.report.chapterclient import MAX_SHOWN_CHARACTERS, CellProblem, ChapterClient
from afterload.report.child import deadline, keep
from afterload.report.lost import Lost
from afterload.report.nodes import make_node
from afterload.report.streams import captured

__all__ = ["INTERRUPT_GRACE_S", "ReplayClient", "ShellClient"]

# How long a cell may take to stop after an interrupt, before its process is killed.
INTERRUPT_GRACE_S = 5.0
# nbclient asks for an id of each request; here one request is over before the next begins.
_REQUEST = "cell"
# ipykernel is typed in part only.
json_clean: Any = _json_clean


class _DirectClient(ChapterClient):
    """nbclient's cell loop around something that answers by itself, without channels."""

    def execute(self, **_: Any) -> NotebookNode:
        self.reset_execution_trackers()
        self.nb.metadata["language_info"] = make_node(IPythonKernel.language_info)
        self.kc: Any = SimpleNamespace(
            execute=lambda source, **_: _REQUEST,
            session=SimpleNamespace(
                msg=lambda kind, content, **_: {"msg_type": kind, "content": content, "buffers": []}
            ),
            shell_channel=SimpleNamespace(send=self._take_back),
        )
        try:
            self.papermill_execute_cells()
            self.set_widgets_metadata()
        finally:
            self.kc = None
        executed: NotebookNode = self.nb
        return executed

    def _take_back(self, message: dict[str, Any]) -> None:
        """What nbclient, as a front end, tells a widget."""

    async def _answer(self, cell: NotebookNode, index: int) -> dict[str, Any]:
        """Run the cell, pass on its messages and return the reply. Raises DeadKernelError where there is none."""
        raise NotImplementedError

    async def _async_poll_output_msg(self, parent_msg_id: str, cell: NotebookNode, cell_index: int) -> None:
        self._index = cell_index

    async def _async_poll_kernel_alive(self) -> None:
        await asyncio.Event().wait()

    async def _async_poll_for_reply(
        self,
        msg_id: str,
        cell: NotebookNode,
        timeout: int | None,
        task_poll_output_msg: asyncio.Future[Any],
        task_poll_kernel_alive: asyncio.Future[Any],
    ) -> dict[str, Any]:
        try:
            await task_poll_output_msg
            self._reply = await self._answer(cell, self._index)
        finally:
            task_poll_kernel_alive.cancel()
        return {"content": self._reply}


class ReplayClient(_DirectClient):
    """Executes nothing: puts into the cells what an earlier process had kept."""

    def __init__(self, *arguments: Any, lost: Lost, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.lost = lost
        self._kept: dict[int, list[tuple[Any, ...]]] = {}
        index = -1
        for record in lost.records:
            if record[0] == "begin":
                index = record[1]
            self._kept.setdefault(index, []).append(record)
        if not lost.records:
            self._end_of_kernel()

    async def _answer(self, cell: NotebookNode, index: int) -> dict[str, Any]:
        reply: dict[str, Any] | None = None
        for kind, *details in self._kept.get(index, ()):
            if kind == "message":
                self.process_message(details[0], cell, index)
            elif kind == "end":
                _, reply, self._over_limit, self._left_out = details
        if self.lost.cell_index is None and index >= max(self._kept):
            self._end_of_kernel()
        if reply is None:
            raise DeadKernelError("Kernel died")
        return reply

    def _end_of_kernel(self) -> CellProblem:
        self.kernel_ended = "the Python process had ended in an earlier chapter"
        return self.lost.ename, self.lost.evalue


class ShellClient(_DirectClient):
    """Runs the cells in a shell. Raises :class:`ChapterError` where this process has an IPython shell already.

    ``left`` gets the values of all names that the cells leave.
    """

    def __init__(self, *arguments: Any, left: list[Any], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._left = left

    def execute(self, **options: Any) -> NotebookNode:
        """Run all cells in a shell that ends with them."""
        self._cell: NotebookNode | None = None
        self._lock = threading.RLock()
        self._told: list[dict[str, Any]] = []
        keep(("cells", len(self.nb.cells)))
        with _shell(self._send, self._print) as self._shell:
            executed = super().execute(**options)
            self._left += self._shell.user_ns.values()
            return executed

    def _end_of_kernel(self) -> CellProblem:
        raise AssertionError("a process does not outlive its shell")

    def _run(self, cell: NotebookNode, index: int) -> CellProblem | None:
        problem: CellProblem | None = super()._run(cell, index)
        told, self._told = self._told, []
        for message in told:
            manager: Any = comm.get_comm_manager()
            manager.comm_msg(None, "", message)
        return problem

    async def _answer(self, cell: NotebookNode, index: int) -> dict[str, Any]:
        keep(("begin", index))
        self._cell = cell
        try:
            reply = await self._reply_of(cell.source)
        finally:
            with self._lock:
                self._cell = None
        keep(("end", index, reply, self._over_limit, self._left_out))
        return reply

    async def _reply_of(self, source: str) -> dict[str, Any]:
        shell = self._shell
        request = shell.displayhook.session.msg("execute_request")
        request["header"]["msg_id"] = _REQUEST
        shell.set_parent(request)
        self._send("execute_input", {"code": source, "execution_count": shell.execution_count})
        result = None
        with _limit(self.cell_limit_s, self._note_limit):
            try:
                result = await _run_source(shell, source)
            except KeyboardInterrupt:
                # It came between the cell and the end of its limit.
                if not self._over_limit:
                    raise
        if self._over_limit:
            _swallow_interrupt()
        sys.stdout.flush()
        sys.stderr.flush()
        payload = shell.payload_manager.read_payload()
        shell.payload_manager.clear_payload()
        error = None if result is None else result.error_before_exec or result.error_in_exec
        reply: dict[str, Any] = {"payload": json_clean(payload), "status": "ok"}
        if result is None or not result.success or shell._last_traceback_during_displayhook:
            reply |= {
                "status": "error",
                "ename": type(error).__name__,
                "evalue": _text(error),
                "traceback": shell._last_traceback or [],
            }
        return reply

    def _note_limit(self) -> None:
        self._over_limit = True

    def _print(self, name: str, text: str) -> None:
        self._send("stream", {"name": name, "text": text})

    def _take_back(self, message: dict[str, Any]) -> None:
        self._told.append(message)

    def _send(self, kind: str, content: dict[str, Any], buffers: tuple[bytes, ...] = ()) -> None:
        with self._lock:
            cell = self._cell
            if cell is None:
                return
            message = {
                "msg_type": kind,
                "header": {"msg_type": kind},
                "content": content,
                "parent_header": {"msg_id": _REQUEST},
                "buffers": list(buffers),
            }
            self.process_message(message, cell, self._index)
            if kind == "stream" and not content["text"]:
                return
            if self._shown <= MAX_SHOWN_CHARACTERS:
                keep(("message", message))


def _text(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot say itself
        return ""


async def _run_source(shell: Any, source: str) -> Any:
    """As ipykernel does: what awaits runs in the running loop, the rest at once."""
    failed = None
    try:
        transformed = shell.transform_cell(source)
    except Exception:  # noqa: BLE001 - the shell shows it
        transformed, failed = source, sys.exc_info()
    if not shell.should_run_async(source, transformed_cell=transformed, preprocessing_exc_tuple=failed):
        return shell.run_cell(source, store_history=True, silent=False)
    shell._last_traceback, shell._last_traceback_during_displayhook = None, False
    running = asyncio.ensure_future(
        shell.run_cell_async(
            source,
            store_history=True,
            silent=False,
            transformed_cell=transformed,
            preprocessing_exc_tuple=failed,
        )
    )
    result = None
    with _cancelled_on_interrupt(running):
        try:
            result = await running
        finally:
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)
    return result


@contextmanager
def _cancelled_on_interrupt(running: asyncio.Future[Any]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    try:
        before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(running.cancel))
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# The limit of a cell


@contextmanager
def _limit(seconds: float | None, note: Any) -> Iterator[None]:
    """Interrupt this process and what it has started after so many seconds; have it killed where that does not help."""
    if seconds is None:
        yield
        return

    def over(*_: object) -> None:
        note()
        _interrupt()

    deadline(seconds + INTERRUPT_GRACE_S)
    with ExitStack() as stack:
        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            stack.callback(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, over))
            stack.callback(signal.setitimer, signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            timer = threading.Timer(seconds, over)
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
        try:
            yield
        finally:
            deadline(None)


def _interrupt() -> None:
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        # A kernel's interrupt goes to its group too, where a shell command of the cell may be what takes so long.
        os.killpg(os.getpid(), signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _swallow_interrupt() -> None:
    """Let an interrupt that is still on its way arrive where it does nothing."""
    with suppress(KeyboardInterrupt):
        for _ in range(3):
            threading.Event().wait(0.001)


# The shell


class _Session(Session):
    """Gives a message to a function in place of a socket, as it would have arrived there."""

    def __init__(self, send: Any) -> None:
        super().__init__()
        self._give = send

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, *_: Any, buffers: Any = None, **__: Any) -> Any:
        if isinstance(msg_or_type, dict):
            kind, content = msg_or_type["msg_type"], msg_or_type["content"]
        else:
            kind = msg_or_type
        self._give(kind, self.unpack(self.pack(content)), tuple(bytes(buffer) for buffer in buffers or ()))


@contextmanager
def _shell(send: Any, emit: Any) -> Iterator[Any]:
    """A shell as ipykernel's, with nobody's settings, whose messages go to ``send`` and whose prints to ``emit``."""
    if InteractiveShell.initialized():
        raise ChapterError(
            "chapters cannot run in this process, which has an IPython shell already: choose the engine 'afterload', "
            "which starts a kernel"
        )
    session = _Session(send)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="afterload-", ignore_cleanup_errors=True))
        _set(stack, os.environ, "IPYTHONDIR", folder)
        _set(
            stack, os.environ, "MPLBACKEND", os.environ.get("MPLBACKEND") or "module://matplotlib_inline.backend_inline"
        )
        for name in ("TERM", "CLICOLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "GIT_PAGER"):
            # The shell sets them, as in a kernel.
            _set(stack, os.environ, name, os.environ.get(name, ""))
        _set(stack, sys.modules, "__main__", sys.modules["__main__"])
        _set(stack, vars(builtins), "input", partial(_no_input, "raw_input"))
        _set(stack, vars(getpass), "getpass", partial(_no_input, "getpass"))
        stack.callback(setattr, sys, "path", list(sys.path))
        # The working folder goes where a kernel has it.
        app: Any = InteractiveShellApp
        app.init_path(SimpleNamespace(ignore_cwd=False))
        manager = CommManager()
        _set(stack, vars(comm), "create_comm", partial(_Comm, session))
        _set(stack, vars(comm), "get_comm_manager", lambda: manager)
        for name in ("displayhook", "excepthook"):
            stack.callback(setattr, sys, name, getattr(sys, name))
        stack.enter_context(captured(emit))
        shell = ZMQInteractiveShell.instance(
            config=Config({"HistoryManager": {"enabled": False}}),
            ipython_dir=folder,
            compiler_class=XCachingCompiler,
            user_ns={},
            kernel=SimpleNamespace(eventloop=None, session=session, iopub_socket=None),
        )
        stack.callback(ZMQInteractiveShell.clear_instance)
        stack.callback(shell.restore_sys_module_state)
        hooks: tuple[Any, ...] = shell.displayhook, shell.display_pub
        for hook in hooks:
            hook.session = session
        yield shell


def _set(stack: ExitStack, where: Any, name: str, value: Any) -> None:
    """Set an entry, and what it was once the stack unwinds."""
    missing = object()
    before = where.get(name, missing)
    if before is missing:
        stack.callback(where.pop, name, None)
    else:
        stack.callback(where.__setitem__, name, before)
    where[name] = value


def _no_input(name: str, *_: Any, **__: Any) -> str:
    raise StdinNotImplementedError(f"{name} was called, but this frontend does not support input requests.")


class _Comm(BaseComm):
    """A widget's line to the page."""

    def __init__(self, session: _Session, *arguments: Any, **options: Any) -> None:
        self._session = session
        super().__init__(*arguments, **options)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        content = json_clean({"data": data or {}, "comm_id": self.comm_id, **keys})
        self._session.send(None, msg_type, content, buffers=buffers)
