"""Open input files, and note which are read, and with what content, so that a later run can tell whether they changed.

Whoever reads a file that a person gave opens it with :func:`open_input`, and calls :func:`note_read`, which costs nothing while
nobody listens.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BufferedReader
from pathlib import Path

from afterload.errors import InputError, NotFoundError

__all__ = ["decoded", "is_open_already", "note_read", "open_input", "read_given", "read_input", "recorded_reads"]

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


def read_given(path: str | Path, most_bytes: int) -> bytes:
    """The content of a file that a person named, and one byte more than ``most_bytes`` at the most.

    Raises :class:`NotFoundError` where there is none, and :class:`InputError` where it cannot be read.
    """
    try:
        # No more than needed to see that it is too much: what is typed or piped in may have no end.
        with open_input(path) as file:
            return file.read(most_bytes + 1)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file") from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def decoded(raw: bytes, where: Callable[[int], str], advice: str = ": save it as UTF-8") -> str:
    """The text of a file. Raises :class:`InputError`, with how the caller names a line of it and what to do."""
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        place = where(raw[: problem.start].count(b"\n") + 1)
        raise InputError(f"{place}: is not UTF-8 text (byte {problem.start}){advice}") from None


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
