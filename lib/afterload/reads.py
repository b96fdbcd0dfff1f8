"""Open input files, and note which are read, and with what content, so that a later run can tell whether they changed.

Whoever reads a file that a person gave opens it with :func:`open_input`, and calls :func:`note_read`, which costs nothing while
nobody listens.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BufferedReader
from pathlib import Path

__all__ = ["is_open_already", "note_read", "open_input", "read_input", "recorded_reads"]

# What is open already: standard input, and what a shell puts in place of a command, as in <(command).
_OPEN_ALREADY = re.compile(r"/dev/stdin|/dev/fd/[0-9]+|/proc/(?:self|[0-9]+)/fd/[0-9]+")

_listening: list[dict[str, str]] = []


def open_input(path: str | Path) -> BufferedReader:
    """Open a file that a person gave, for its bytes.

    A pipe or a device is refused, since nobody may ever write into it, and it may have no end; it is taken where it is open
    already, as /dev/stdin is. Raises :class:`OSError` as ``open`` does.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116 - a name as a person gave it
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and not is_open_already(path):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a plain file", str(path))
    return Path(path).open("rb")


def is_open_already(path: str | Path) -> bool:
    """True for what this process was given open, such as /dev/stdin: no other process finds it there, and it is read once."""
    return bool(_OPEN_ALREADY.fullmatch(os.fspath(path)))


def read_input(path: str | Path) -> bytes:
    """The content of such a file. Raises :class:`OSError` as :func:`open_input` does."""
    with open_input(path) as file:
        return file.read()


@contextmanager
def recorded_reads() -> Iterator[dict[str, str]]:
    """Collect absolute path and SHA-256 of every input file that is read until the block is left.

    A file that changes meanwhile keeps the digest of its first reading, so that a later comparison finds the change.
    """
    reads: dict[str, str] = {}
    _listening.append(reads)
    try:
        yield reads
    finally:
        # By identity: two empty collections are equal.
        _listening[:] = [other for other in _listening if other is not reads]


def note_read(path: str | Path, content: bytes | str) -> None:
    """Tell whoever listens that a file was read: ``content`` is its bytes, or their SHA-256 in hexadecimal.

    Empty text says that it was looked for and is not there.
    """
    if not _listening:
        return
    name = os.path.abspath(path)  # noqa: PTH100 - a link keeps its own name: it may come to lead elsewhere
    digest = content if isinstance(content, str) else sha256(content).hexdigest()
    for reads in _listening:
        reads.setdefault(name, digest)
