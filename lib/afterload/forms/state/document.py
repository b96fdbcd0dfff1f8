"""A scenario file as it was read, and how it is saved: whole, and never over what somebody else wrote meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from afterload.errors import ChangedError, InputError, OutputError
from afterload.files import write_whole
from afterload.reads import decoded, read_input
from afterload.resources import BUILTIN, builtin_path
from afterload.scenario.load import INSIDE
from afterload.yamledit import YamlText
from afterload.yamltree import DataPath

try:
    import fcntl
except ImportError:  # pragma: no cover - not on this system
    fcntl = None  # type: ignore[assignment]

__all__ = ["Document", "open_document", "typed_path"]

BLANK = """\
# One team's recovery load. Rates and durations are text with a unit (1,200/min, 20/s, 15 min, PT2H52M); times carry an
# offset. Check it with: afterload check FILE
team:
time_zone: # IANA name, such as Europe/Berlin
recovery_objective: # from dependency restored to first-attempt age back at baseline

incident: # the reference event, until you give your own
  name: us-east-1, 19 and 20 October 2025
  trigger: 2025-10-19T23:48-07:00
  restored_at: 2025-10-20T02:40-07:00
  timeline: builtin:incidents/us-east-1-2025-10-20/timeline.csv
  impacts: builtin:incidents/us-east-1-2025-10-20/impact_windows.csv
"""


@dataclass(frozen=True)
class Document:
    """A file as it stood when it was read or written last.

    Attributes:
        path: where it is saved; ``base``: the file from which other files that it names are looked for.
        text: its text, without a mark at its beginning.
        digest: SHA-256 of its bytes; None where there is no such file yet.
        encoding: how it was written.
    """

    path: Path
    base: Path
    text: str
    digest: str | None
    encoding: str = "utf-8"

    @property
    def is_new(self) -> bool:
        """True until there is a file."""
        return self.digest is None

    def on_disk(self) -> Document:
        """The same file as it stands now."""
        return _read(self.path)

    @property
    def is_changed(self) -> bool:
        """True where somebody else has written, made or removed the file since."""
        try:
            return _digest(self.path) != self.digest
        except OSError:
            return False

    def saved(self, text: str, over: bool = False) -> Document:
        """Write the text in one step and give the document as it then is.

        Raises :class:`ChangedError` where the file is not the one that was read, unless ``over`` says that it may be lost,
        and :class:`OutputError` where it cannot be written.
        """
        try:
            raw = text.encode(self.encoding)
        except UnicodeEncodeError as problem:
            raise OutputError(f"cannot write {self.path}: {problem}") from None
        with _alone(self.path):
            if self.is_changed and not over:
                raise ChangedError(_changed_words(self))
            write_whole(self.path, raw)
        return replace(self, base=self.path, text=text, digest=sha256(raw).hexdigest())

    def elsewhere(self, path: str | Path) -> Document:
        """The same text, to be saved as another file, which must not exist yet.

        Raises :class:`InputError` where no file can have that name.
        """
        return replace(self, path=typed_path(str(path)), digest=None)


def _changed_words(document: Document) -> str:
    if document.is_new:
        return (
            f"{document.path} is there already, and was not opened here: choose another name, or look at the difference"
        )
    if not document.path.exists():
        return f"{document.path} was removed since it was opened here: save it anyway, or under another name"
    return f"{document.path} was changed by somebody else since it was opened here: look at the difference first"


def open_document(scenario: str) -> Document:
    """The document of a scenario's path: a shipped one to be saved as a copy of that name, or a blank one for a new file.

    Raises :class:`InputError` where the file cannot be read as text.
    """
    if scenario.startswith(BUILTIN):
        shipped = _read(builtin_path(scenario, Path()))
        copy = Path(shipped.path.name)
        return replace(shipped, path=copy, base=copy, text=_moved(shipped.text, scenario), digest=None)
    path = typed_path(scenario)
    if not path.exists():
        return Document(path, path, BLANK, None)
    return _read(path)


def typed_path(text: str) -> Path:
    """The file that a person names in a form, whether or not it is there.

    Raises :class:`InputError` where no file can have that name.
    """
    try:
        path = Path(text).expanduser()
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, RuntimeError, ValueError) as problem:
        raise InputError(f"{text[:60]!r} cannot be a file: {getattr(problem, 'strerror', None) or problem}") from None
    return path


def _moved(text: str, scenario: str) -> str:
    """The text of a shipped scenario for a copy elsewhere: files beside it are named as shipped ones."""
    folder = scenario.rpartition("/")[0]
    edit = YamlText(text, scenario)
    for path in _named_files(edit.data):
        name = edit.get(path)
        if isinstance(name, str) and name != "none" and not name.startswith(BUILTIN):
            edit.set(path, f"{folder}/{name}")
    return edit.text


def _named_files(data: Any) -> Iterator[DataPath]:
    """Where a scenario names other files."""
    yield from (
        ("incident", "timeline"),
        ("incident", "impacts"),
        ("postmortem", "timeline"),
        ("live", "log"),
        ("compare_with",),
    )
    for item, section, key, _ in INSIDE:
        yield from ((item, name, section, key) for name in data.get(item) or ())
    for part in ("exports", "telemetry"):
        yield from ((part, place, "file") for place in range(len(data.get(part) or ())))


def _digest(path: Path) -> str | None:
    try:
        return sha256(read_input(path)).hexdigest()
    except FileNotFoundError:
        return None


def _read(path: Path) -> Document:
    try:
        raw = read_input(path)
    except FileNotFoundError:
        return Document(path, path, "", None)
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    encoding = (
        "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8"
    )
    text = decoded(raw, lambda line: f"{path}:{line}")
    return Document(path, path, text, sha256(raw).hexdigest(), encoding)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other forms on this machine from writing into the folder between the look at the file and its writing."""
    folder = path.absolute().parent
    if fcntl is None or not folder.is_dir():
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        # Whoever cannot read the folder is told when the file is written.
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
