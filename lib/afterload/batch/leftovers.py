"""What an earlier run left in a team's folder and a newer one gives no more: an old postmortem beside a new page misleads.

A file is taken away only where the manifest of the earlier run says that the batch wrote it, and it still has that content.
What people may have edited, the plan's CSV, and everything beside a packet that is not whole stays, and is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from afterload.batch.digest import digest_of, read_manifest

__all__ = ["clear", "written_before"]


def written_before(folder: Path) -> dict[str, str]:
    """The files that the last run wrote into a team's folder, with their SHA-256; none where no manifest tells."""
    manifest = read_manifest(folder)
    return {} if manifest is None else dict(manifest["outputs"])


def clear(
    folder: Path, name: str, before: Mapping[str, str], written: Iterable[str], whole: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Take away files of the earlier run that the newer one does not give; the names of those, and of those that stay.

    Parameters:
        folder, name: the team's folder, and the name of its files.
        before: what :func:`written_before` gave before the newer run.
        written: names of the files of the newer run.
        whole: whether no part of the newer packet failed; else all stays.
    """
    from afterload.report.earlier import TABLE, left_behind

    removed, stay = list[str](), list[str]()
    for file in left_behind(folder, name, written):
        path = folder / file
        if whole and not file.endswith(TABLE) and _is_as_written(path, before.get(file)):
            with suppress(OSError):
                path.unlink()
        (stay if path.exists() else removed).append(file)
    return tuple(removed), tuple(stay)


def _is_as_written(path: Path, digest: str | None) -> bool:
    return digest is not None and path.is_file() and not path.is_symlink() and digest_of(path) == digest
