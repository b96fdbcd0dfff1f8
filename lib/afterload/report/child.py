"""What runs in a worker: one task, with a way to tell the waiting process how far it has got."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from afterload.report import frames

__all__ = ["Call", "deadline", "keep", "reference", "run_call"]

_connection: socket.socket | None = None


@dataclass(frozen=True)
class Call:
    """A function by its place, its arguments, and what the worker's process gets.

    ``memory_bytes`` is the room in all, in bytes of anonymous memory; ``folder`` a place for temporary files.
    """

    function: str
    arguments: bytes
    memory_bytes: int | None
    folder: str
    cwd: str


def reference(function: Callable[..., Any]) -> str:
    """A function as ``module:name``. Raises :class:`TypeError` where it cannot be imported from a module."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not name or "<" in name or module in ("", "__main__"):
        raise TypeError(f"{function!r} cannot be run in another process: define it at the top of a module")
    return f"{module}:{name}"


def keep(record: object) -> None:
    """Give a picklable record to the waiting process, where it outlives this one; elsewhere nothing happens."""
    if _connection is not None:
        frames.send(_connection, ("kept", pickle.dumps(record, protocol=pickle.HIGHEST_PROTOCOL)))


def deadline(seconds: float | None) -> None:
    """Ask to be killed after so many seconds from now, or not any more; in a process of one's own nothing happens."""
    if _connection is not None:
        frames.send(_connection, ("deadline", seconds))


def settle(call: Call) -> None:
    """Make this process the task's own: signals, streams, folders, memory, and nothing of the parent's state."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TMPDIR"] = call.folder
    os.environ["IPYTHONDIR"] = str(Path(call.folder) / "ipython")
    tempfile.tempdir = None
    os.chdir(call.cwd)
    if call.memory_bytes is not None:
        _limit_memory(call.memory_bytes)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def _limit_memory(memory_bytes: int) -> None:
    """Let allocations beyond the limit fail, so that a cell sees a MemoryError and the rest goes on.

    RLIMIT_DATA counts private writable mappings, touched or not, but no libraries and no reservations; what this process
    was born with is taken out of the account. The waiting process watches what is resident, too.
    """
    with suppress(ImportError, OSError, ValueError, KeyError):
        import resource

        status = Path("/proc/self/status").read_text("ascii")
        kib = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.endswith(" kB")}
        limit = memory_bytes + 1024 * max(kib["VmData"] - kib["RssAnon"], 0)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def run_call(connection: socket.socket) -> None:
    """Read one call, run it and send what became of it. Nothing is raised but what ends the process."""
    global _connection
    call: Call = frames.receive(connection)
    answer: tuple[Any, ...]
    try:
        settle(call)
        module, name = call.function.split(":")
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        _connection = connection
        value = function(*pickle.loads(call.arguments))
        answer = ("value", pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    except BaseException as problem:  # noqa: BLE001 - an exit of the task is no answer either
        answer = "error", type(problem).__name__, _text(problem), traceback.format_exc()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    with suppress(OSError):
        frames.send(connection, answer)


def _text(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # noqa: BLE001 - an exception that cannot say itself
        return "(no message)"
