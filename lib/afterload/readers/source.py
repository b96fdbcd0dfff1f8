"""Open a file that some other tool wrote: its bytes as text, whatever byte order mark it has, with its date."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path

from afterload.errors import InputError
from afterload.reads import note_read, open_input, read_given

__all__ = ["SourceFile", "digest_of", "open_source", "stated_date"]

MAX_BYTES = 512_000_000
# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class SourceFile:
    """One file as it was given.

    Attributes:
        name: the path as the person gave it, for messages.
        text: the whole content, without a byte order mark.
        digest: SHA-256 of its bytes, in hexadecimal.
        modified_at: the file's own date, in UTC: the best known date of the export where the content has none.
    """

    name: str
    text: str
    digest: str
    modified_at: datetime

    def line(self, offset: int) -> int:
        """Line of a character of the text, both counted as editors do: lines from 1."""
        return self.text.count("\n", 0, offset) + 1


def open_source(path: str | Path, most_bytes: int = MAX_BYTES) -> SourceFile:
    """Read one file whole.

    Raises :class:`NotFoundError` where there is none and :class:`InputError` where it is a folder, too large or not text;
    the message names the file, and the line where there is one. An empty file is text: some commands print nothing.
    """
    name = str(path)
    raw = read_given(name, most_bytes)
    modified = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    if len(raw) > most_bytes:
        raise InputError(f"{name}: is larger than {most_bytes:,} bytes: export a shorter period")
    digest = sha256(raw).hexdigest()
    note_read(path, digest)
    return SourceFile(name, _decoded(name, raw), digest, modified)


def digest_of(path: str | Path) -> str:
    """SHA-256 of a file, in hexadecimal; empty text where it cannot be read."""
    try:
        with open_input(path) as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
    note_read(path, digest)
    return digest


def stated_date(path: str | Path, exported_at: datetime | None, sha256: str | None) -> datetime | None:
    """The date that somebody stated for a file, as long as the file is still the one that it was stated for.

    A copy gets a date of its own, so the stated one is better; a newer export has other content.
    """
    return exported_at if sha256 is None or sha256 == digest_of(path) else None


def _decoded(name: str, raw: bytes) -> str:
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "utf-8")
    if encoding.startswith("utf-8") and b"\x00" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\x00")) + 1
        raise InputError(
            f"{name} line {line}: holds a zero byte: it is binary, or UTF-16 without its byte order mark; save it as UTF-8"
        )
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        kind = encoding.upper().removesuffix("-SIG")
        raise InputError(
            f"{name} line {line}: is not {kind} text (byte {raw[problem.start]:#04x} at offset {problem.start:,}): save it "
            "as UTF-8, or export it again if it is cut off"
        ) from None
