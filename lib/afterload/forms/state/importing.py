"""Files dropped into a form: the import's account of them, value by value, and what a person accepts of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from traitlets import HasTraits, Instance, Int, Unicode

from afterload.errors import AfterloadError, InputError
from afterload.files import write_all
from afterload.forms.state.form import FormState
from afterload.intake.importing import Imported, Wishes, import_files
from afterload.intake.proposal import Outcome
from afterload.reads import read_input

__all__ = ["ImportState"]


class ImportState(HasTraits):
    """An import into the scenario of a form.

    Traits:
        imported: the account of the files, None before there are any.
        series: what metrics measure, as in ``sent=arrivals:orders:count``, several separated by commas.
        notice: the last thing that a person should be told.
        changes: grows with every change.
    """

    imported = Instance(Imported, allow_none=True)
    series = Unicode()
    notice = Unicode()
    changes = Int(0)

    def __init__(self, form: FormState) -> None:
        super().__init__()
        self.form = form
        self.rejected: set[str] = set()
        self._text = ""
        self._files: list[Path] = []
        self._made: list[Path] = []

    def upload(self, files: Mapping[str, bytes]) -> None:
        """Put files beside the scenario, which will name them, and read them. What is there already is not replaced."""
        folder = self.form.path.absolute().parent
        contents: dict[Path, bytes] = {}
        for name, content in files.items():
            target = folder / Path(name.replace("\\", "/")).name
            if target.exists() and not _holds(target, content):
                target = _free(target)
            if not target.exists():
                contents[target] = content
            self._files.append(target)
        write_all(dict(contents))
        self._made += contents
        self._files = list(dict.fromkeys(self._files))
        self.look()

    def look(self) -> None:
        """Read the files again, with what is said of them and what is not wanted."""
        self.changes += 1
        if not self._files:
            self.imported = None
            return
        wishes = Wishes(
            series=tuple(part.strip() for part in self.series.split(",") if part.strip()),
            rejected=frozenset(self.rejected),
        )
        self._text = self.form.text
        try:
            self.imported = import_files(self._files, self._text, self.form.document.path, wishes)
        except AfterloadError as problem:
            self.notice = str(problem)
            self.imported = None
            return
        offered = len(self.offered)
        self.notice = f"{offered} value{'' if offered == 1 else 's'} to accept or reject"

    @property
    def offered(self) -> tuple[Outcome, ...]:
        """What would be written, and what would be but for a person's word."""
        return () if self.imported is None else self.imported.account.of("new", "updated", "rejected")

    def choose(self, name: str, accepted: bool) -> None:
        """Accept or reject one value, by its path."""
        before = set(self.rejected)
        (self.rejected.discard if accepted else self.rejected.add)(name)
        if self.rejected != before:
            self.look()

    def apply(self) -> None:
        """Write what is accepted into the form, as one step, with its evidence.

        Raises :class:`InputError` where there is nothing to write.
        """
        if self.imported is None:
            raise InputError("no file was given yet")
        self.form.settle()
        if self.form.text != self._text:
            # What was typed since the files were read stays.
            self.look()
        if self.imported is None:
            raise InputError(self.notice)
        write_all(dict(self.imported.beside))
        written = len(self.imported.account.of("new", "updated"))
        self.form.take(self.imported.account.text, f"{written} value{'' if written == 1 else 's'} taken from files")
        self._files, self._made = [], []
        self.rejected.clear()
        self.imported = None
        self.notice = f"{written} value{'' if written == 1 else 's'} written into the form; save to keep them"
        self.changes += 1

    def discard(self) -> None:
        """Forget the files, and take away those that were put beside the scenario."""
        for path in self._made:
            path.unlink(missing_ok=True)
        self._files, self._made = [], []
        self.rejected.clear()
        self.imported = None
        self.notice = "nothing was taken"
        self.changes += 1


def _holds(path: Path, content: bytes) -> bool:
    """Whether this stands in a file; not in what cannot be read."""
    try:
        return read_input(path) == content
    except OSError:
        return False


def _free(path: Path) -> Path:
    number = 2
    while path.with_stem(f"{path.stem}-{number}").exists():
        number += 1
    return path.with_stem(f"{path.stem}-{number}")
