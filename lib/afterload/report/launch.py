"""Start workers: forked from a warm parent, or, where a process cannot fork, each a Python of its own."""

from __future__ import annotations

import errno
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from afterload.report import frames
from afterload.report.forked import FORK, KILL, REQUEST, TERMINATE

__all__ = [
    "REHEARSED", "WARM", "ForkServer", "Launcher", "Spawner", "StartError", "Started", "new_launcher", "warm_for",
]  # fmt: skip

# Functions that load what workers need: all modules, and with a packet made for practice also what is slow the first time.
WARM = "afterload.report.warm:warm_up"
REHEARSED = "afterload.report.rehearsal:warm_up"
# Up to so many packets a worker, making one for practice costs more than it saves.
FEW = 1
END_LIMIT_S = 5.0
# This package may be found by a path that only this process knows.
_START = (
    "import sys; sys.path[:] = [*filter(None, sys.path), sys.argv[1]]; "
    "from afterload.report.forked import main; main(int(sys.argv[2]))"
)


class StartError(Exception):
    """A worker, or the process that forks them, could not be started."""


@dataclass(eq=False)
class Started:
    """A worker that has been asked for. ``process`` and ``exit_code`` are None until they are known."""

    number: int
    connection: socket.socket
    streams: tuple[socket.socket, ...] = ()
    process: int | None = None
    exit_code: int | None = None
    failure: str = ""
    handle: Any = field(default=None, repr=False)

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.exit_code is not None or bool(self.failure)


class Launcher(Protocol):
    """What starts and ends workers. All calls come from one thread."""

    folder: str

    def start(self) -> Started:
        """Ask for a worker; raises :class:`StartError`."""

    def waitable(self) -> socket.socket | None:
        """What becomes readable when there are news of workers; None where they must be asked for."""

    def update(self) -> None:
        """Bring the state of all workers up to date; raises :class:`StartError` where no more can be started."""

    def end(self, worker: Started, kill: bool) -> None:
        """Send SIGTERM, or SIGKILL, to a worker and all that it has started."""

    def close(self) -> None:
        """End everything, at once."""


def warm_for(packets: int, workers: int) -> str:
    """What warm processes load first where so many ``workers`` share so many ``packets``."""
    return REHEARSED if packets > FEW * workers else WARM


def new_launcher(warm: str | None = WARM) -> Launcher:
    """The way that this system has."""
    return ForkServer(warm) if hasattr(os, "fork") and hasattr(socket, "send_fds") else Spawner()


class ForkServer:
    """Has a process of its own load what is needed, at once and beside this one, and fork workers from it.

    ``warm`` names, as ``module:name``, the function that loads. The environment and the working folder are those of the
    moment. The order of sets is fixed, as in a packet's kernel.
    """

    def __init__(self, warm: str | None = WARM) -> None:
        self._numbers = count(1)
        self._workers: dict[int, Started] = {}
        self._news = frames.Buffer()
        self._folder = tempfile.TemporaryDirectory(prefix="afterload-", ignore_cleanup_errors=True)
        self.folder = self._folder.name
        self._socket, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(Path(__file__).parents[2]), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={"PYTHONHASHSEED": "0", **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            frames.send(self._socket, {"path": list(sys.path), "warm": warm, "folder": self.folder})
        except OSError as problem:
            self._socket.close()
            self._folder.cleanup()
            raise StartError(f"the process that starts workers could not be started: {problem}") from problem
        finally:
            theirs.close()
        self._socket.setblocking(False)
        self._broken = ""
        self._ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start(self) -> Started:
        """Ask for a worker; it is there once :attr:`Started.process` is set."""
        with _pairs(3) as pairs:
            ours = [pair[0] for pair in pairs]
            worker = Started(next(self._numbers), ours[0], (ours[1], ours[2]))
            self._request(FORK, worker.number, [pair[1].fileno() for pair in pairs])
        for end in ours[1:]:
            end.setblocking(False)
        self._workers[worker.number] = worker
        return worker

    def waitable(self) -> socket.socket | None:
        """The connection to the process that forks."""
        return self._socket

    def update(self) -> None:
        """Read what it has told."""
        alive = self._news.read(self._socket)
        for message in self._news.messages():
            self._take(*message)
        if not alive:
            self._die()

    def _take(self, kind: str, *details: Any) -> None:
        if kind == "broken":
            self._broken = details[0]
            return
        if kind == "ready":
            self._ready = True
            return
        number, detail = details
        worker = self._workers[number]
        if kind == "started":
            worker.process = detail
            return
        if kind == "failed":
            worker.failure = f"the system starts no more processes: {detail}"
        else:
            worker.exit_code = detail
        del self._workers[number]

    def _die(self) -> None:
        """It has gone: so must its workers, and what they have started."""
        last = self._broken.strip().splitlines()[-1:] or ["it was ended from outside"]
        text = f"the process that starts workers has ended: {last[0]}"
        for worker in self._workers.values():
            if worker.process is None:
                worker.failure = text
                continue
            with suppress(OSError):
                os.killpg(worker.process, signal.SIGKILL)
            worker.exit_code = -signal.SIGKILL
        self._workers.clear()
        raise StartError(text)

    def end(self, worker: Started, kill: bool) -> None:
        """Let it pass the signal on: it alone knows whose number is still in use."""
        with suppress(StartError):
            self._request(KILL if kill else TERMINATE, worker.number, [])

    def _request(self, kind: int, number: int, descriptors: list[int]) -> None:
        try:
            while True:
                try:
                    socket.send_fds(self._socket, [REQUEST.pack(kind, number)], descriptors)
                except BlockingIOError:
                    select.select([], [self._socket], [], 1.0)
                else:
                    return
        except OSError as problem:
            text = problem.strerror or str(problem)
            if problem.errno in (errno.EPIPE, errno.ECONNRESET):
                text = "it has ended"
            raise StartError(f"the process that starts workers cannot be reached: {text}") from problem

    def close(self) -> None:
        """End it and all its workers."""
        with suppress(StartError):
            self.update()
        if not self._ready:
            # It takes seconds to load, and looks at nothing meanwhile.
            self._process.kill()
            self._process.wait()
            with suppress(StartError):
                self.update()
        self._socket.close()
        try:
            self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            # It was stopped.
            self._process.kill()
            self._process.wait()
        for worker in self._workers.values():
            if worker.process is not None:
                with suppress(OSError):
                    os.killpg(worker.process, signal.SIGKILL)
        self._workers.clear()
        self._folder.cleanup()


class Spawner:
    """Starts a new Python for each worker: slower, and the way where there is no fork. Its prints are not kept."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._workers: list[Started] = []
        self._folder = tempfile.TemporaryDirectory(prefix="afterload-", ignore_cleanup_errors=True)
        self.folder = self._folder.name

    def start(self) -> Started:
        """Start one; it loads what it needs by itself."""
        with _pairs(1) as [(ours, theirs)]:
            process = multiprocessing.get_context("spawn").Process(target=_spawned, args=(theirs,), daemon=False)
            before = os.environ.get("PYTHONHASHSEED")
            os.environ.setdefault("PYTHONHASHSEED", "0")
            try:
                process.start()
            except (OSError, AssertionError) as problem:
                ours.close()
                raise StartError(f"a worker could not be started: {problem}") from problem
            finally:
                if before is None:
                    del os.environ["PYTHONHASHSEED"]
        worker = Started(next(self._numbers), ours, (), process.pid, handle=process)
        self._workers.append(worker)
        return worker

    def waitable(self) -> socket.socket | None:
        """None: they are asked."""
        return None

    def update(self) -> None:
        """Ask each whether it still runs."""
        for worker in list(self._workers):
            if worker.handle.exitcode is not None:
                _kill_group(worker)
                worker.exit_code = worker.handle.exitcode
                worker.handle.close()
                self._workers.remove(worker)

    def end(self, worker: Started, kill: bool) -> None:
        """Signal the worker, and its group where there is such a thing."""
        if worker.ended:
            return
        if kill:
            _kill_group(worker)
            worker.handle.kill()
        else:
            worker.handle.terminate()

    def close(self) -> None:
        """Kill what still runs."""
        for worker in self._workers:
            self.end(worker, kill=True)
            worker.handle.join(END_LIMIT_S)
        self._workers.clear()
        self._folder.cleanup()


def _kill_group(worker: Started) -> None:
    if hasattr(os, "killpg") and worker.process is not None:
        with suppress(OSError):
            os.killpg(worker.process, signal.SIGKILL)


def _spawned(connection: socket.socket) -> None:
    from afterload.report.child import run_call

    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(nothing, target)
    with suppress(EOFError, OSError):
        run_call(connection)
    os._exit(0)


class _pairs:  # noqa: N801 - used like a function
    """Connected sockets; the far ends are closed when the block is left, and all of them where it fails."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pairs: list[tuple[socket.socket, socket.socket]] = []

    def __enter__(self) -> list[tuple[socket.socket, socket.socket]]:
        try:
            for _ in range(self.number):
                self.pairs.append(socket.socketpair())
        except OSError as problem:
            self._close(near=True)
            raise StartError(f"no connection to a worker could be opened: {problem}") from problem
        return self.pairs

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._close(near=kind is not None)

    def _close(self, near: bool) -> None:
        for ours, theirs in self.pairs:
            theirs.close()
            if near:
                ours.close()
