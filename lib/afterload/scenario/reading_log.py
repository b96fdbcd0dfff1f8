"""A log of readings that several people add to: what it holds, one reading more, and that one taken back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from afterload.errors import ChangedError, InputError
from afterload.files import append_line, take_back_line
from afterload.reads import read_input
from afterload.resources import resource
from afterload.scenario.fields import label_in
from afterload.scenario.load import LoadedScenario, load_scenario, locate_scenario
from afterload.scenario.overrides import Overrides, Typed, gather_overrides
from afterload.scenario.readings import Reading, log_columns, read_readings, reading_line
from afterload.yamltree import read_file

__all__ = [
    "KeptLine",
    "add_reading",
    "is_shipped",
    "live_part",
    "load_without_log",
    "log_digest",
    "near",
    "read_log",
    "take_back",
]

# Lines that cannot be read which a message names.
MOST_LINES = 20


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
    if log_digest(path) is None:
        return ()
    attachment, problems = read_readings(path, zone)
    if problems:
        more = [f"  and {len(problems) - MOST_LINES:,} more"] if problems[MOST_LINES:] else []
        lines = "\n".join([*(f"  {problem}" for problem in problems[:MOST_LINES]), *more])
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


def live_part(scenario: str | Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario says under ``live``, right or wrong, with what overrides say of it.

    Raises :class:`InputError` where the file cannot be read.
    """
    data = read_file(locate_scenario(scenario))[0].data
    written = changes.get("live", data.get("live") if isinstance(data, dict) else None)
    written = written.value if isinstance(written, Typed) else written
    found = dict(written) if isinstance(written, dict) else {}
    given = {key: changes[f"live.{key}"] for key in ("queue", "log") if f"live.{key}" in changes}
    return {**found, **{key: value.text if isinstance(value, Typed) else value for key, value in given.items()}}


def load_without_log(scenario: str | Path, overrides: Overrides = None) -> tuple[LoadedScenario, Path | None]:
    """A scenario, its log of readings unread, and where that log is, whether or not it is there.

    So a log that has readings of other queues only, or was spoiled, keeps nobody from a reading that goes elsewhere.
    Raises what :func:`afterload.scenario.load_scenario` raises.
    """
    changes = gather_overrides(overrides)
    log = label_in(live_part(scenario, changes).get("log"))
    if log is None:
        return load_scenario(scenario, changes), None
    others = {path: value for path, value in changes.items() if path != "live.log"}
    loaded = load_scenario(scenario, {**others, "live.log": "none"})
    return loaded, loaded.file(log)


def is_shipped(path: Path) -> bool:
    """True for a file of Afterload's own, which nobody may write to."""
    return path.absolute().is_relative_to(resource("data"))


def near(path: Path) -> Path:
    """A path as a person would type it: relative where it is below the working folder."""
    folder = Path(os.getcwd())  # noqa: PTH109 - as the shell has it
    return path.relative_to(folder) if path.is_relative_to(folder) else path
