"""A log of readings that several people add to: what it holds, one reading more, and that one taken back."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zoneinfo import ZoneInfo

from afterload.errors import ChangedError, InputError
from afterload.files import append_line, take_back_line
from afterload.reads import read_input
from afterload.scenario.readings import Reading, log_columns, read_readings, reading_line

__all__ = ["KeptLine", "add_reading", "log_digest", "read_log", "take_back"]


@dataclass(frozen=True)
class KeptLine:
    """A line that was added to a log, and the log's SHA-256 right after; None where somebody else wrote meanwhile."""

    path: Path
    line: str
    digest: str | None


def read_log(path: Path, zone: ZoneInfo | None) -> tuple[Reading, ...]:
    """The readings of all queues, by time; none where the file is not there yet, is empty, or has only its header.

    Raises :class:`InputError` with every line that cannot be read.
    """
    if log_digest(path) in (None, sha256(b"").hexdigest()):
        return ()
    attachment, problems = read_readings(path, zone)
    real = [problem for problem in problems if "holds no rows" not in problem.message]
    if real:
        lines = "\n".join(f"  {problem}" for problem in real[:20])
        raise InputError(f"{path} is not a log of readings that can be used:\n{lines}")
    rows = attachment.rows if isinstance(attachment.rows, tuple) else ()
    return tuple(row for row in rows if isinstance(row, Reading))


def log_digest(path: Path) -> str | None:
    """SHA-256 of a log as it is; None where there is none.

    Raises :class:`InputError` where it cannot be read.
    """
    try:
        return sha256(read_input(path)).hexdigest()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise InputError(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def add_reading(path: Path, reading: Reading) -> KeptLine:
    """Add a reading in one write, as ``afterload eta --log`` does.

    Raises :class:`InputError` where the log has no column for it, and :class:`OutputError` where it cannot be written.
    """
    made = reading_line(reading, log_columns(path))
    append_line(path, made.header, made.line)
    raw = path.read_bytes()
    is_last = raw.endswith(f"{made.line}\n".encode())
    return KeptLine(path, made.line, sha256(raw).hexdigest() if is_last else None)


def take_back(kept: KeptLine) -> None:
    """Take a line out again; the header stays.

    Raises :class:`ChangedError` where the log is another than right after the line was added, and leaves it as it is.
    """
    if kept.digest is None or not take_back_line(kept.path, kept.line, kept.digest):
        raise ChangedError(f"{kept.path} has changed since your reading was added: nothing was taken out")
