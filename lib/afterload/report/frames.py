"""Messages between a worker and the process that waits for it: pickles behind their length."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["Buffer", "receive", "send"]

_LENGTH = struct.Struct("!Q")
_CHUNK = 1 << 20


def pack(message: object) -> bytes:
    """A message as it goes over a socket."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def send(connection: socket.socket, message: object) -> None:
    """Send a whole message; raises :class:`OSError` where nobody is there to take it."""
    connection.sendall(pack(message))


def receive(connection: socket.socket) -> Any:
    """Wait for a whole message; raises :class:`EOFError` where the other side has gone."""
    length = _LENGTH.unpack(_exactly(connection, _LENGTH.size))[0]
    return pickle.loads(_exactly(connection, length))


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(min(count - len(data), _CHUNK))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


class Buffer:
    """Puts messages together from what has arrived so far, without waiting."""

    def __init__(self) -> None:
        self._data = bytearray()

    def read(self, connection: socket.socket) -> bool:
        """Take what is there from a socket that does not block; False once the other side has gone."""
        while True:
            try:
                chunk = connection.recv(_CHUNK)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                return False
            if not chunk:
                return False
            self._data += chunk

    def messages(self) -> Iterator[Any]:
        """Whole messages, in their order. Raises what :func:`pickle.loads` raises on damage."""
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            data = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            yield pickle.loads(data)
