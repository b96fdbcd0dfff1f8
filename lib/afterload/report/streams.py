"""Standard output and error of a cell that runs in this process: what Python prints, and what goes to descriptors 1 and 2."""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

__all__ = ["captured"]

# So much is gathered before it goes on. A cell that prints without end is cut further on.
_BUFFER_CHARACTERS = 1 << 16
_CHUNK = 1 << 16

Emit = Callable[[str, str], None]


class CellStream(io.TextIOBase):
    """A text stream that gives what is written to ``emit(name, text)``, in pieces.

    It also gives what other code, or a process that a cell starts, writes to the ``descriptor``, in the order in which it was
    read: at a flush all that has been written so far.
    """

    def __init__(self, name: str, descriptor: int, emit: Emit) -> None:
        super().__init__()
        self.stream_name = name
        self._descriptor = descriptor
        self._emit = emit
        self._parts: list[str] = []
        self._size = 0
        self._lock = threading.RLock()
        self._source: int | None = None

    @property
    def name(self) -> str:
        """As ipykernel's."""
        return f"<{self.stream_name}>"

    # As ipykernel's, too.
    encoding = "UTF-8"
    errors = None

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def isatty(self) -> bool:
        """It is no terminal."""
        return False

    def fileno(self) -> int:
        """The descriptor that is read too."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Take a text."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        with self._lock:
            self._add(text)
        return len(text)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > _BUFFER_CHARACTERS:
            self._give()

    def _give(self) -> None:
        text, self._parts, self._size = "".join(self._parts), [], 0
        if text:
            self._emit(self.stream_name, text)

    def flush(self) -> None:
        """Give everything on."""
        with self._lock:
            self._drain()
            self._give()

    def _drain(self) -> bool:
        """Read what waits in the pipe behind the descriptor; False once nobody can write to it any more."""
        while self._source is not None:
            try:
                data = os.read(self._source, _CHUNK)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                return False
            if not data:
                return False
            self._add(data.decode("utf-8", "replace"))
        return False

    def _follow(self, source: int, ended: threading.Event) -> None:
        """Keep the pipe from filling up while a cell runs."""
        while not ended.is_set():
            select.select([source], [], [], 0.2)
            with self._lock:
                if not self._drain():
                    return

    @contextmanager
    def following(self) -> Iterator[None]:
        """Read the descriptor until the block is left; what it was before comes back then."""
        source, target = os.pipe()
        os.set_blocking(source, False)
        kept = os.dup(self._descriptor)
        os.dup2(target, self._descriptor)
        os.close(target)
        ended = threading.Event()
        self._source = source
        follower = threading.Thread(target=self._follow, args=(source, ended), daemon=True)
        follower.start()
        try:
            yield
        finally:
            with suppress(OSError):
                self.flush()
            os.dup2(kept, self._descriptor)
            os.close(kept)
            ended.set()
            follower.join(1.0)
            self._source = None
            os.close(source)


@contextmanager
def captured(emit: Emit) -> Iterator[tuple[CellStream, CellStream]]:
    """``sys.stdout`` and ``sys.stderr`` as streams of cells, and the descriptors behind them where there are any."""
    before: tuple[Any, Any] = sys.stdout, sys.stderr
    for stream in before:
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    streams = CellStream("stdout", 1, emit), CellStream("stderr", 2, emit)
    with ExitStack() as stack:
        for stream in streams:
            stack.enter_context(stream.following())
        sys.stdout, sys.stderr = streams
        try:
            yield streams
        finally:
            sys.stdout, sys.stderr = before
