"""What a person and a machine see while a batch runs: a bar on a terminal, plain lines in a log, and JSON lines in a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

__all__ = ["JsonLog", "Progress", "first_line"]

LONGEST = 300


def first_line(text: str) -> str:
    """The text's first line, without what could colour a terminal, and of bounded length."""
    line = next((each for each in text.splitlines() if each.strip()), "")
    # A count of problems says less than the first of them.
    rest = [each.strip() for each in text.splitlines()[1:] if each.strip()]
    if line.endswith((" problem", " problems")) and rest:
        more = f" (and {len(rest) - 1} more)" if len(rest) > 1 else ""
        line = f"{rest[0]}{more}"
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in line[:LONGEST])
    return shown if len(line) <= LONGEST else f"{shown}..."


class Progress:
    """One bar with rate and time left where ``stream`` is a terminal, else one plain line a team; nothing if ``quiet``."""

    def __init__(self, total: int, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._total, self._done, self._failed = total, 0, 0
        self._began = time.monotonic()
        self._bar: ProgressBar[int] | None = None
        with suppress(OSError, ValueError):
            if not quiet and total and self._stream.isatty():
                self._bar = click.progressbar(
                    length=total, label="Teams", file=self._stream, show_pos=True, show_eta=True,
                    item_show_func=lambda _: self._rate(),
                )  # fmt: skip
                self._bar.__enter__()
                self._bar.render_progress()

    def _rate(self) -> str:
        per_min = self._done / max(time.monotonic() - self._began, 1e-3) * 60
        return f"{per_min:.1f} teams/min" + (f", {self._failed} failed" if self._failed else "")

    def say(self, text: str) -> None:
        """Print one line, where there is no bar. Nobody's reading it is no reason to stop."""
        if not self._quiet and self._bar is None:
            with suppress(OSError, ValueError):
                print(text, file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """Print one line; where there is a bar, in its place: the bar comes again below it with the next team."""
        if self._bar is None:
            self.say(text)
            return
        with suppress(OSError, ValueError):
            print(f"\r\033[K{first_line(text)}", file=self._stream, flush=True)

    def ended(self, team: str, words: str, failed: bool) -> None:
        """One more team is done; ``words`` tell how."""
        self._done += 1
        self._failed += failed
        if self._bar is not None:
            with suppress(OSError, ValueError):
                self._bar.update(1, 0)
            return
        width = len(str(self._total))
        self.say(f"[{self._done:>{width}}/{self._total}] {first_line(team)}: {words}")

    def close(self) -> None:
        """End the bar's line."""
        if self._bar is not None:
            with suppress(OSError, ValueError):
                self._bar.__exit__(None, None, None)
            self._bar = None


class JsonLog:
    """One JSON object a line: ``time`` (UTC, with its offset), ``event``, and what belongs to it.

    A log that cannot be written does not stop the batch: ``problem`` then says why, and nothing more is written.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.problem = ""
        self._path = path
        self._stream: TextIO | None = None
        if path is not None:
            try:
                self._stream = Path(path).open("w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - open for the whole batch
            except OSError as problem:
                self._fail(problem)

    def _fail(self, problem: OSError) -> None:
        self.problem = f"cannot write the log {self._path}: {problem.strerror or problem}"
        self.close()

    def write(self, event: str, **fields: Any) -> None:
        """Write one line; fields that are None are left out."""
        if self._stream is None:
            return
        kept = {name: value for name, value in fields.items() if value is not None}
        line: Mapping[str, Any] = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **kept}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._stream.flush()
        except OSError as problem:
            self._fail(problem)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
            self._stream = None
