"""Note which input files are read, and with what content, so that a later run can tell whether they changed.

Whoever reads a file that a person gave calls :func:`note_read`; it costs nothing while nobody listens.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

__all__ = ["note_read", "recorded_reads"]

_listening: list[dict[str, str]] = []


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
