"""Keep what was made of the scenario that was opened last, for as long as none of its files changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Generic, TypeVar

from afterload.errors import AfterloadError
from afterload.reads import open_input
from afterload.scenario.load import LoadedScenario, as_written, load_scenario, locate_scenario
from afterload.scenario.overrides import Overrides, Typed, gather_overrides
from afterload.yamltree import plain

__all__ = ["LastOpened"]

T = TypeVar("T")


@dataclass(frozen=True)
class _State:
    """One file as it is: where, what is in it, and when it was written, in nanoseconds; nothing and 0 where there is none."""

    path: Path
    digest: str
    modified_ns: int


class LastOpened(Generic[T]):
    """What ``make`` gave for the scenario opened last.

    The same thing is given again only if path, working folder and overrides are the same, and the scenario and every file
    that it names have the same content and the same time of change. Files that a scenario names by way of another one
    (``compare_with``) are not watched: only that one itself is.
    """

    def __init__(self, make: Callable[[LoadedScenario], T]) -> None:
        self._make = make
        self._key = ""
        self._states: dict[str, _State] = {}
        self._loaded: LoadedScenario | None = None
        self._made: T | None = None

    def open(self, path: str | Path, overrides: Overrides = None) -> T:
        """What ``make`` gives for a scenario. Raises what :func:`afterload.scenario.load_scenario` raises."""
        key = _key(path, overrides)
        known, made = self._loaded, self._made
        if known is not None and made is not None and key and key == self._key and _states(path, known) == self._states:
            return made
        self._loaded = self._made = None
        loaded = load_scenario(path, overrides)
        made = self._make(loaded)
        states = _states(path, loaded)
        # A file that changed while it was read is not what this was made of.
        if {name: state.digest for name, state in states.items()} == loaded.files:
            self._key, self._states, self._loaded, self._made = key, states, loaded, made
        return made


def _key(path: str | Path, overrides: Overrides) -> str:
    """What was asked for; empty where it cannot be told apart from something else."""
    try:
        given = gather_overrides(overrides)
        changes = [[name, _asked(value)] for name, value in given.items()]
        return json.dumps([str(path), str(locate_scenario(path).resolve()), changes])
    except (AfterloadError, OSError, RuntimeError, TypeError, ValueError):
        return ""


def _asked(value: Any) -> Any:
    """A value for a key: what was typed is the value given by a program where every field reads both alike."""
    if not isinstance(value, Typed):
        return as_written(value)
    read = value.value
    alike = isinstance(read, str | int) and not isinstance(read, bool) and str(plain(read)) == str(value)
    return as_written(read) if alike else ["typed", str(value)]


def _states(path: str | Path, loaded: LoadedScenario) -> dict[str, _State]:
    """Every file of a scenario as it is now, by the name in :attr:`LoadedScenario.files`; what cannot be read is left out."""
    found = {}
    for name in loaded.files:
        try:
            file = loaded.file(name) if name else locate_scenario(path).resolve()
            if not file.exists():
                found[name] = _State(file, "", 0)
                continue
            with open_input(file) as stream:
                modified_ns = file.stat().st_mtime_ns
                found[name] = _State(file, file_digest(stream, "sha256").hexdigest(), modified_ns)
        except (AfterloadError, OSError, RuntimeError, ValueError):
            continue
    return found
