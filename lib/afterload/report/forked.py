"""The warm parent: a process that loads everything once and forks a worker whenever it is asked to.

It is started by :mod:`afterload.report.launch`, has one thread and no connection but the one to its owner. When that ends,
for whatever reason, it kills every worker with its process group and goes.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

from afterload.report import frames
from afterload.report.child import run_call

__all__ = ["FORK", "KILL", "REQUEST", "TERMINATE"]

REQUEST = struct.Struct("!BI")
FORK, TERMINATE, KILL = range(3)
# Its connection, and its standard output and error.
_DESCRIPTORS = 3
_SIGNALS = {TERMINATE: "SIGTERM", KILL: "SIGKILL"}


def main(descriptor: int) -> None:
    """Serve the owner at the other end of the socket until it goes."""
    owner = socket.socket(fileno=descriptor)
    # A Ctrl-C in the terminal is the owner's to act on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        hello = frames.receive(owner)
    except EOFError:
        return
    # What a cell can import is what it could in a kernel, before anything that only the owner knows.
    sys.path += [entry for entry in hello["path"] if entry and entry not in sys.path]
    sys.argv = [""]
    try:
        if hello["warm"]:
            module, name = hello["warm"].split(":")
            getattr(importlib.import_module(module), name)()
    except BaseException:  # noqa: BLE001 - the owner is told
        with suppress(OSError):
            frames.send(owner, ("broken", traceback.format_exc()))
        return
    gc.collect()
    # What is there now stays: collecting it in every worker would only copy its pages.
    gc.freeze()
    try:
        frames.send(owner, ("ready",))
    except OSError:
        # Its owner was killed meanwhile, and could clean nothing.
        shutil.rmtree(hello["folder"], ignore_errors=True)
        return
    with suppress(OSError):
        _Server(owner, hello["folder"]).serve()


class _Server:
    def __init__(self, owner: socket.socket, folder: str) -> None:
        self.owner, self.folder = owner, folder
        self.workers: dict[int, int] = {}  # request to process
        self.reading, self.writing = os.pipe()
        for end in (self.reading, self.writing):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: self._leave())

    def serve(self) -> None:
        try:
            while True:
                ready, _, _ = select.select([self.owner.fileno(), self.reading], [], [])
                if self.reading in ready:
                    with suppress(BlockingIOError):
                        os.read(self.reading, 4096)
                    self._reap()
                if self.owner.fileno() in ready and not self._request():
                    return
        finally:
            self._leave()

    def _request(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self.owner, REQUEST.size, _DESCRIPTORS)
            if len(data) < REQUEST.size:
                return False
        except OSError:
            return False
        kind, number = REQUEST.unpack(data)
        if kind == FORK:
            self._fork(number, descriptors)
        elif number in self.workers:
            _signal_group(self.workers[number], getattr(signal, _SIGNALS[kind]))
        return True

    def _fork(self, number: int, descriptors: list[int]) -> None:
        try:
            if len(descriptors) != _DESCRIPTORS:
                raise OSError("no descriptors are free")
            process = os.fork()
        except OSError as problem:
            frames.send(self.owner, ("failed", number, problem.strerror or str(problem)))
        else:
            if process == 0:
                self._become_worker(descriptors)
            # Here too, so that it holds whoever comes first.
            with suppress(OSError):
                os.setpgid(process, process)
            self.workers[number] = process
            frames.send(self.owner, ("started", number, process))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _become_worker(self, descriptors: list[int]) -> NoReturn:
        code = 1
        try:
            os.setpgid(0, 0)
            _die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.owner.close()
            os.close(self.reading)
            os.close(self.writing)
            connection, out, err = descriptors
            _standard_streams(out, err)
            run_call(socket.socket(fileno=connection))
            code = 0
        except EOFError:
            pass
        finally:
            # No handler of the parent's runs at this end, and no thread is waited for.
            os._exit(code)

    def _reap(self) -> None:
        for number, process in list(self.workers.items()):
            try:
                ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                ended = True  # type: ignore[assignment]
            if ended is None:
                continue
            # Before its number is free again, what the task has started goes as well.
            _signal_group(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                _, status = os.waitpid(process, 0)
                frames.send(self.owner, ("ended", number, os.waitstatus_to_exitcode(status)))
            del self.workers[number]

    def _leave(self) -> NoReturn:
        for process in self.workers.values():
            _signal_group(process, signal.SIGKILL)
        # Its owner may not have had the time.
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(0)


def _signal_group(process: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(process, number)


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent is killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _standard_streams(out: int, err: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc] # noqa: SIM115
    sys.stdout = sys.__stdout__ = _text_stream(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text_stream(2)  # type: ignore[misc]


def _text_stream(descriptor: int):  # type: ignore[no-untyped-def]
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
