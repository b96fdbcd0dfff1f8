"""Whether a team's packet is there, whole, and made of what stands in the inputs today: the manifest beside its files.

A manifest holds the digest of everything that the files were made of (inputs, chapters, the library, the packages that
shape its output), the files read with their SHA-256, the files written with theirs, and what the batch keeps of the
team. It holds no clock, and paths only as seen from the team's folder, so it is the same wherever the folders lie.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from afterload.reads import open_input, read_input
from afterload.resources import BUILTIN, resource
from afterload.yamltree import WrittenFloat, WrittenInt, plain

__all__ = [
    "MANIFEST",
    "Basis",
    "Checker",
    "chapter_digests",
    "digest_of",
    "library_digest",
    "manifest_text",
    "read_manifest",
    "scenario_name",
    "value_text",
]

MANIFEST = "batch.json"
FORMAT = 1
# What a packet's bytes come from beside our own code.
_PACKAGES = (
    "altair", "anywidget", "beautifulsoup4", "ipykernel", "ipython", "ipywidgets", "jinja2", "markdown-it-py", "markupsafe",
    "mistune", "nbclient", "nbconvert", "nbformat", "numba", "numpy", "pandas", "papermill", "pydantic", "pygments",
    "ruamel.yaml", "traitlets", "tzdata",
)  # fmt: skip


@dataclass(frozen=True)
class Basis:
    """What a packet is made of beside the files that its scenario leads to; all of it is what JSON can hold.

    ``by_need`` says that those of the chapters are left out that the scenario has nothing for.
    """

    library: str = ""
    chapters: tuple[tuple[str, str], ...] = ()
    scenario: str = ""
    overrides: tuple[tuple[str, str], ...] = ()
    objectives: tuple[tuple[str, float], ...] = ()
    by_need: bool = True

    @property
    def digest(self) -> str:
        """SHA-256 of it all."""
        parts = [
            FORMAT, self.library, self.chapters, self.scenario, self.overrides, self.objectives, self.by_need
        ]  # fmt: skip
        return sha256(json.dumps(parts).encode()).hexdigest()


def value_text(value: Any) -> str:
    """A value for the digest: 1.40 is another one than 1.4."""
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return json.dumps(plain(value), default=str)


@cache
def library_digest() -> str:
    """SHA-256 of the library's own content, of Python's version and those of the packages that shape a packet.

    The chapters are not in it: those that are used are told apart one by one.
    """
    digest = sha256(f"{FORMAT} {sys.version_info[:2]}".encode())
    for name in _PACKAGES:
        digest.update(f"\n{name} {_version(name)}".encode())
    package = Path(__file__).resolve().parents[1]
    for root in (package, resource("data"), resource("templates", "nbconvert")):
        for path in _files(root):
            digest.update(f"\n{path.relative_to(root).as_posix()} ".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(root: Path) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(root):
        # A wheel has the shipped files, chapters included, in a folder of the package.
        left_out = ("__pycache__", "share")
        folders[:] = sorted(name for name in folders if name not in left_out and not name.startswith("."))
        found += [
            Path(folder, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".pyc")
        ]
    return found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def manifest_text(
    basis: Basis,
    reads: Mapping[str, str],
    contents: Mapping[Path, str | bytes],
    told: Mapping[str, Any],
    folder: Path,
    dated: bool,
) -> str:
    """The manifest of a team's files.

    ``reads`` has absolute paths with SHA-256, ``contents`` what is about to be written, ``told`` what the batch keeps.
    ``dated`` says that the packet tells ages as of today.
    """
    data = str(resource("data")) + os.sep
    document = {
        "format": FORMAT,
        "basis_sha256": basis.digest,
        "date": _today() if dated else None,
        # Shipped files are part of the library's digest.
        "inputs": {_seen_from(folder, path): digest for path, digest in reads.items() if not path.startswith(data)},
        "outputs": {path.name: sha256(_encoded(content)).hexdigest() for path, content in contents.items()},
        **told,
    }
    document["inputs"] = dict(sorted(document["inputs"].items()))
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8")


def _seen_from(folder: Path, path: str) -> str:
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return path


class Checker:
    """Compare manifests with what is there now; a file that many teams share is read once."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def current(self, folder: Path, basis: Basis) -> dict[str, Any] | None:
        """The manifest of a team whose packet is whole and made of today's inputs; None where it must be made."""
        found = read_manifest(folder)
        if found is None or found["basis_sha256"] != basis.digest or found["failures"]:
            return None
        if found["date"] not in (None, _today()):
            return None
        real = folder.resolve()
        whole = all(digest_of(folder / name) == digest for name, digest in found["outputs"].items())
        same = whole and all(self._shared(real, name) == digest for name, digest in found["inputs"].items())
        return found if same else None

    def _shared(self, folder: Path, name: str) -> str:
        path = os.path.normpath(folder / name)
        if path not in self._digests:
            self._digests[path] = digest_of(Path(path))
        return self._digests[path]


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest in a team's folder; None where there is none that this version can read."""
    try:
        document = json.loads(read_input(folder / MANIFEST).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    wanted = {"basis_sha256": str, "inputs": dict, "outputs": dict, "failures": list, "warnings": list, "files": list}
    if not isinstance(document, dict) or document.get("format") != FORMAT or not {"date", "record"} <= set(document):
        return None
    if not all(isinstance(document.get(name), kind) for name, kind in wanted.items()):
        return None
    return document


def digest_of(path: Path) -> str:
    """SHA-256 of a file; empty text where it cannot be read."""
    try:
        with open_input(path) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def chapter_digests(paths: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    """Names and SHA-256 of notebooks."""
    return tuple((path.name, digest_of(path)) for path in paths)


def scenario_name(folder: Path, scenario: str) -> str:
    """The scenario as a packet in ``folder`` names it."""
    return scenario if scenario.startswith(BUILTIN) else _seen_from(folder, scenario)
