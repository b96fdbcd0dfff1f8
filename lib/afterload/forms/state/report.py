"""The packet of a form's file, made by a process of its own, so that the form stays usable meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from traitlets import Bool, Float, HasTraits, Unicode
from traitlets import List as ListTrait

from afterload.errors import InputError
from afterload.forms.state.document import typed_path
from afterload.forms.state.form import FormState

__all__ = ["ReportState"]

# Named, not imported: the reports are a room beside this one.
WORKER = "afterload.report.worker"
Teller = Callable[[Callable[[], None]], object]


class ReportState(HasTraits):
    """One run of the report.

    Traits:
        share: how much of the chapters is done, 0 to 1.
        is_running: True while the process runs.
        notice: how it went, or why it does not run.
        files: what was written, the packet first.
    """

    share = Float(0.0)
    is_running = Bool(False)
    notice = Unicode()
    files = ListTrait(Unicode())

    def __init__(self, form: FormState, tell: Teller | None = None) -> None:
        super().__init__()
        self.form = form
        # Whoever shows this may want changes to come from a thread of its own choice.
        self._tell: Teller = tell or (lambda change: change())
        self._thread: threading.Thread | None = None

    def start(self, folder: str) -> None:
        """Begin to make the packet from the saved file.

        Raises :class:`InputError` where the file is not what the form shows or no scenario yet, or no folder can have that name.
        """
        if self.is_running:
            raise InputError("a report is being made already")
        self.form.settle()
        if not self.form.is_saved:
            raise InputError("save first: the report is made from the file, as every batch run makes it")
        if self.form.problems:
            raise InputError("mend the problems first: a report needs a whole scenario")
        target = typed_path(folder.strip() or "packets")
        self.share, self.files, self.is_running = 0.0, [], True
        self.notice = "starting"
        command = [sys.executable, "-m", WORKER, str(self.form.path.absolute()), str(target)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        self._thread = threading.Thread(target=self._follow, args=(process,), daemon=True)
        self._thread.start()

    @property
    def written_to(self) -> str:
        """The folder of the packet, by its whole path; empty text where there is none."""
        return str(Path(self.files[0]).absolute().parent) if self.files else ""

    def wait(self, limit_s: float | None = None) -> None:
        """Wait until the run is over."""
        if self._thread is not None:
            self._thread.join(limit_s)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        said: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            try:
                record = json.loads(line)
            except ValueError:
                said.append(line.rstrip())
                continue
            if isinstance(record, dict):
                self._tell(lambda record=record: self._note(record))  # type: ignore[misc]
        process.stdout.close()
        code = process.wait()
        self._tell(lambda: self._end(code, said))

    def _note(self, record: dict[str, object]) -> None:
        share, files, failures = record.get("share"), record.get("files"), record.get("failures")
        if isinstance(share, int | float):
            self.share = float(share)
            self.notice = f"chapters: {round(100 * self.share)} %"
        if isinstance(files, list):
            self.files = [str(file) for file in files]
            failed = [str(line) for line in failures] if isinstance(failures, list) else []
            self.notice = "\n".join([f"packet: {Path(self.files[0]).name}", *failed])

    def _end(self, code: int, said: list[str]) -> None:
        self.is_running = False
        if code == 0 and self.files:
            self.share = 1.0
        else:
            self.notice = "\n".join(["the report was not made", *said[-3:]])
