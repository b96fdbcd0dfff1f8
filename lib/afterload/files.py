"""Write results whole: a reader finds the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import os
import re
import secrets
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from afterload.errors import OutputError

__all__ = [
    "TEMPORARY", "append_line", "refuse_without_folder", "slug", "take_back_line", "write_all", "write_whole",
]  # fmt: skip

SLUG_LENGTH = 80
# Names of files that are being written; a process that was killed may leave some.
TEMPORARY = ".afterload-*.tmp"

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.ENAMETOOLONG: "the name is too long",
}


def write_whole(path: str | Path, data: str | bytes) -> None:
    """Write one file in one step, with the folders above it; text becomes UTF-8.

    Raises :class:`OutputError`, naming the path and the reason, and leaves no temporary file behind.
    """
    write_all({path: data})


def write_all(files: Mapping[str | Path, str | bytes] | Mapping[Path, str | bytes]) -> None:
    """Write several files: all of them aside first, then each renamed into place.

    A full disk or a forbidden folder is met before the first old file is replaced.
    Raises :class:`OutputError` like :func:`write_whole`.
    """
    staged: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            target = _target(Path(path))
            if target in staged:
                raise OutputError(f"cannot write {path}: it is named twice")
            staged[target] = _stage(target, _encode(target, data))
        for target in list(staged):
            try:
                os.replace(staged[target], target)  # noqa: PTH105 - one call, one system call
            except OSError as error:
                raise _output_error(target, error) from error
            del staged[target]
    finally:
        for temporary in staged.values():
            with suppress(OSError):
                temporary.unlink()


def append_line(path: str | Path, header: str, line: str) -> None:
    """Add one line to a text file that several people add to, in one write; a new file gets the header first.

    Where the system has locks, two that begin one file at the same moment do not both write its header. Its folder must be
    there: a log in a folder that was mistyped is a second log, which nobody reads.
    Raises :class:`OutputError` like :func:`write_whole`.
    """
    target = _target(Path(path))
    refuse_without_folder(path)
    try:
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise _output_error(target, error) from error
    try:
        _lock(descriptor)
        size = os.fstat(descriptor).st_size
        last = os.pread(descriptor, 1, size - 1) if size and hasattr(os, "pread") else b"\n"
        # Whoever wrote the last line by hand may have left its end open.
        begin = f"{header}\n" if not size else "" if last == b"\n" else "\n"
        os.write(descriptor, _encode(target, f"{begin}{line}\n"))
        os.fsync(descriptor)
    except OSError as error:
        raise _output_error(target, error) from error
    finally:
        os.close(descriptor)


def refuse_without_folder(path: str | Path) -> None:
    """Refuse a file that is kept from run to run where its folder is not there. Raises :class:`OutputError`."""
    folder = Path(path).parent
    try:
        there = folder.exists()
    except (OSError, ValueError) as error:
        raise _output_error(Path(path), error) from error
    if not there:
        raise OutputError(f"cannot write {path}: there is no folder {folder}; make it first, if it is not mistyped")


def take_back_line(path: str | Path, line: str, digest: str) -> bool:
    """Cut the last line off a text file, if it is this one and the file has this SHA-256; False where it has not.

    Nobody that adds by :func:`append_line` comes between the look and the cut, where the system has locks.
    Raises :class:`OutputError` like :func:`write_whole`.
    """
    target = _target(Path(path))
    end = _encode(target, f"{line}\n")
    try:
        descriptor = os.open(target, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _output_error(target, error) from error
    try:
        _lock(descriptor)
        with open(descriptor, "rb", closefd=False) as stream:
            raw = stream.read()
        if sha256(raw).hexdigest() != digest or not raw.endswith(end):
            return False
        os.ftruncate(descriptor, len(raw) - len(end))
        os.fsync(descriptor)
    except OSError as error:
        raise _output_error(target, error) from error
    finally:
        os.close(descriptor)
    return True


def _lock(descriptor: int) -> None:
    """Hold others off until the descriptor is closed, where the system can."""
    try:
        import fcntl
    except ImportError:
        return
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _target(path: Path) -> Path:
    """Where the bytes go: a link is followed, and anything but a plain file is refused."""
    try:
        # Asked of the path as given: a pipe behind a link has no name that could be resolved.
        exists, is_dir, is_file = path.exists(), path.is_dir(), path.is_file()
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _output_error(path, error) from error
    if is_dir:
        raise OutputError(f"cannot write {path}: it is a directory")
    if exists and not is_file:
        raise OutputError(f"cannot write {path}: it is not a plain file")
    return real


def _encode(path: Path, data: str | bytes) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return data.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OutputError(
            f"cannot write {path}: character {error.start + 1} of the text does not exist in UTF-8"
        ) from error


def _stage(target: Path, data: bytes) -> Path:
    """Write the bytes beside their target, through to the disk; return where they are."""
    temporary = target.parent / f".afterload-{secrets.token_hex(8)}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Mode 0o666 less the umask: what a plain open() would have given.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise _output_error(target, error) from error
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor, not a path
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _output_error(target, error) from error
        raise
    return temporary


def _output_error(path: Path, error: Exception) -> OutputError:
    number = getattr(error, "errno", None)
    reason = _REASONS.get(number) if isinstance(number, int) else None
    return OutputError(f"cannot write {path}: {reason or getattr(error, 'strerror', None) or error}")


def slug(name: str) -> str:
    """A team's name as the name of a file: letters, digits and dashes.

    A name of which little is left gets a few digits of its hash, so that the packet of one team does not replace
    another's.
    """
    bare = unicodedata.normalize("NFKD", name)
    kept = re.sub(r"[^a-z0-9]+", "-", "".join(char for char in bare if not unicodedata.combining(char)).lower())
    kept = kept.strip("-")
    lost = any(char.isalnum() and not char.isascii() and not unicodedata.combining(char) for char in bare)
    if kept and not lost and len(kept) <= SLUG_LENGTH:
        return kept
    digits = sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{kept[: SLUG_LENGTH - 9].strip('-') or 'team'}-{digits}"
