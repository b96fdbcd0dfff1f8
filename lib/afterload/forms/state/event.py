"""What a form takes out with the reference event once the incident gets times of another one, as an import does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afterload.errors import UnitError
from afterload.scenario.reference_event import FOLDER, NAME, is_another_event, is_source
from afterload.units import read_instant
from afterload.yamledit import YamlText
from afterload.yamltree import DataPath

__all__ = ["TIMES", "leave_reference_event", "left_words"]

TIMES: tuple[DataPath, ...] = (("incident", "trigger"), ("incident", "restored_at"))
# A name that was made here, which follows the day of the trigger.
_NAMED_BY_DAY = re.compile(r"incident of \d{4}-\d{2}-\d{2}")


def leave_reference_event(edit: YamlText, path: DataPath) -> tuple[str, ...]:
    """After a time of the incident was written: take out what is of the reference event, where that time is of another.

    The name becomes that of the time's day, and so does one that was made so before. Gives the fields that were of the
    reference event, in the order of the schema.
    """
    try:
        at = read_instant(edit.get(path))
    except UnitError:
        # Half a time, as it is while somebody types.
        return ()
    if not is_another_event(at):
        return ()
    left = []
    name = edit.get(("incident", "name"))
    is_made_here = isinstance(name, str) and _NAMED_BY_DAY.fullmatch(name) is not None
    if name == NAME or (is_made_here and path == TIMES[0]):
        edit.set(("incident", "name"), f"incident of {at:%Y-%m-%d}")
        left += ["name"] if name == NAME else []
    for field in ("timeline", "impacts"):
        if str(edit.get(("incident", field)) or "").startswith(FOLDER):
            edit.remove(("incident", field))
            left.append(field)
    if is_source(edit.get(("incident", "source"))):
        edit.remove(("incident", "source"))
        left.append("source")
    return tuple(left)


def left_words(left: Sequence[str], name: object) -> str:
    """What was taken out, for the person who typed the time."""
    listed = " and ".join(filter(None, (", ".join(left[:-1]), left[-1])))
    called = f"; this one is called {name!r} now: give it its own name" if "name" in left else ""
    verb = "is" if len(left) == 1 else "are"
    return f"a time of another event: {listed} of the reference event {verb} taken out{called}. Undo brings all back"
