"""Override single values of a scenario: ``queues.orders.arrival_rate=1500/min``."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from afterload.errors import InputError, OverrideError, UnitError
from afterload.scenario.coupled_schema import UncertainValue
from afterload.scenario.fields import Inside, Section, element_of, holds_text, section_in
from afterload.scenario.problems import dotted, nearest
from afterload.yamltree import DataPath, WrittenFloat, WrittenInt, plain, read_text

__all__ = [
    "Overrides",
    "Typed",
    "annotation_at",
    "apply_edits",
    "apply_overrides",
    "gather_overrides",
    "locate",
    "read_overrides",
    "settle",
    "takes_text",
]

Overrides = Mapping[str, Any] | Iterable[str] | str | None


class Typed(str):
    """A value typed by hand, as it was typed: only the field that it is for says whether ``12`` is a number or a name."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The value where no field says what it must be: read as YAML."""
        return _typed(str(self))

    @property
    def text(self) -> Any:
        """The value for a field that holds text: what was typed, without quotes around it; None for nothing.

        A list or a mapping in brackets stays one, for the field to refuse.
        """
        stripped = self.strip()
        if not stripped or stripped == "~" or stripped.lower() == "null":
            return None
        return _typed(stripped) if stripped[0] in "[{\"'" else stripped


def read_overrides(given: Overrides) -> dict[str, Any]:
    """Read overrides in any of the forms that a shell, a notebook or papermill can give, without asking a schema.

    Accepted: a mapping of path to value; ``path=value`` texts; one text with such lines; JSON of a mapping.
    Raises :class:`OverrideError`.
    """
    return {path: value.value if isinstance(value, Typed) else value for path, value in gather_overrides(given).items()}


def gather_overrides(given: Overrides) -> dict[str, Any]:
    """The same with each value that was typed by hand as :class:`Typed`, for its field to read."""
    if given is None:
        return {}
    if isinstance(given, str):
        text = given.strip()
        if text.startswith("{"):
            try:
                given = json.loads(text)
            except (ValueError, RecursionError) as problem:
                raise OverrideError(f"overrides: {text[:60]!r} is not JSON: {problem}") from None
        else:
            given = [line for line in (line.strip() for line in text.splitlines()) if line]
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str) or not key.strip():
                raise OverrideError(f"overrides: {key!r} is not a path such as queues.orders.arrival_rate")
        return {key.strip(): value for key, value in given.items()}
    if not isinstance(given, list | tuple):
        raise OverrideError(f"overrides: {given!r} is not a mapping of path to value, nor a list of path=value")
    result: dict[str, Any] = {}
    wrong: list[str] = []
    for item in given:
        path, equals, value = item.partition("=") if isinstance(item, str) else ("", "", "")
        path = path.strip()
        if not equals or not path:
            wrong.append(f"--set {item}: is not of the form path=value, as in queues.orders.arrival_rate=1500/min")
        elif path in result:
            wrong.append(f"--set {item}: {path} is set twice")
        else:
            result[path] = Typed(value.strip())
    if wrong:
        raise OverrideError("\n".join(wrong))
    return result


def _typed(text: str) -> Any:
    """A value typed by hand: read as YAML, except that a # or & in it is no comment and no anchor but text."""
    if text[:1] not in tuple("[{\"'") and ("#" in text or text[:1] in tuple("&*!")):
        return text
    try:
        return read_text(text, "--set").data
    except InputError:
        return text


def apply_overrides(
    data: Any, overrides: Mapping[str, Any], root: type[Section], wrong: list[str] | None = None
) -> tuple[Any, dict[DataPath, str], dict[str, Any]]:
    """Set each value in a copy of the data; give it with the path of each override and the words that name it, and each
    value as its field takes it.

    What a field for text is given is text, also where it reads as a number (an account, a version); any other number
    is a plain one. So the values can go through JSON, papermill and another process, and are the same there.

    A path goes by keys, names of items (dots in them are fine) and places in lists. Unknown parts raise one
    :class:`OverrideError` with the nearest known one of each, or are added to ``wrong`` where the caller gives it; whether a
    value fits is for validation to say.
    """
    found = [] if wrong is None else wrong
    data = copy.deepcopy(data)
    given: dict[DataPath, str] = {}
    fields: dict[DataPath, str] = {}
    values: dict[str, Any] = {}
    for path, value in overrides.items():
        origin = f"--set {path}"
        # Each level on the way is copied, so what a wrong path has begun is left behind with this copy of the top.
        tried = copy.copy(data)
        try:
            where, field, taken = _set(tried, path, value, root, origin, settled=True)
        except OverrideError as problem:
            found.append(str(problem))
            continue
        replaced = [other for earlier, other in fields.items() if earlier[: len(field)] == field]
        if replaced:
            found.append(f"{origin}: replaces what {replaced[0]} gives: keep one of them")
            continue
        data, values[path] = tried, taken
        given[where] = fields[field] = origin
    if found and wrong is None:
        raise OverrideError("\n".join(found))
    return data, given, values


def apply_edits(data: Any, edits: Iterable[Mapping[str, Any]], root: type[Section]) -> tuple[Any, set[DataPath]]:
    """Set the values of several changes, one change after the other; a later one may replace an earlier one's value.

    What is not changed is shared with ``data``, which itself stays as it is. Gives the path of every value set too.
    Raises :class:`OverrideError` like :func:`apply_overrides`.
    """
    data = copy.copy(data)
    paths: set[DataPath] = set()
    for edit in edits:
        for path, value in edit.items():
            where, _, _ = _set(data, path, value, root, path)
            paths.add(where)
    return data, paths


def locate(data: Any, path: str, root: type[Section]) -> DataPath:
    """The keys of a path as the data has them; a quantity may stand there under a name with its unit.

    Raises :class:`OverrideError` where a part of the path is not known.
    """
    copied = copy.deepcopy(data)
    where, _, _ = _set(copied, path, None, root, path)
    *above, last = where
    parent, kind = data, root
    try:
        for key in above:
            parent, kind = parent[key], _kind_below(kind, str(key))
    except (KeyError, IndexError, TypeError):
        return where
    if isinstance(kind, type) and issubclass(kind, Section) and isinstance(parent, dict):
        name = kind.keys()[str(last)]
        quantity = kind.quantities().get(name)
        last = next((key for key in (quantity.keys(name) if quantity else ()) if key in parent), last)
    return (*above, last)


def takes_text(data: Any, path: str, root: type[Section]) -> bool:
    """Whether the field that a path names holds text. Raises :class:`OverrideError` like :func:`apply_overrides`."""
    _, _, seen = _set(copy.deepcopy(data), path, Typed("0"), root, path, settled=True)
    return isinstance(seen, str)


def annotation_at(root: type[Section], path: DataPath) -> Any:
    """What the field at these keys may hold, whether or not anything stands there; None where there is no such field."""
    kind: Any = root
    annotation: Any = root
    for key in path:
        if isinstance(kind, Inside):
            kind = annotation = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            name = kind.keys().get(str(key))
            if name is None:
                return None
            annotation = kind.model_fields[name]
            kind = section_in(annotation.annotation)
        else:
            annotation = element_of(annotation)
    return annotation


def _kind_below(kind: Any, key: str) -> Any:
    if isinstance(kind, Inside):
        return kind.section
    if isinstance(kind, type) and issubclass(kind, Section):
        return section_in(kind.model_fields[kind.keys()[key]].annotation)
    return None


def _set(
    data: Any, path: str, value: Any, root: type[Section], origin: str, settled: bool = False
) -> tuple[DataPath, DataPath, Any]:
    """Set one value; give its path, the same with the last key as the field is called without a unit, and the value.

    ``settled`` makes of the value what its field takes: see :func:`apply_overrides`.
    """
    here: Any = data
    kind: Any = root
    key: Any
    rest = path
    where: list[str | int] = []
    # What the field that the path has come to may hold.
    annotation: Any = root
    while True:
        key, rest = _step(here, kind, rest, origin, where)
        where.append(key)
        field = tuple(where)
        if isinstance(kind, Inside):
            kind = annotation = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            name = kind.keys()[str(key)]
            field = (*where[:-1], kind.base(name))
            annotation = kind.model_fields[name]
            quantity = kind.quantities().get(name)
            for other in quantity.keys(name) if quantity else ():
                if other != key and isinstance(here, dict):
                    here.pop(other, None)
            kind = section_in(kind.model_fields[name].annotation)
        else:
            annotation = element_of(annotation)
        if not rest:
            here[key] = value = settle(value, annotation) if settled else value
            return tuple(where), field, value
        below = here[key] if isinstance(here, list) else here.get(key)
        if not isinstance(below, dict | list):
            if below is not None and kind is None:
                raise OverrideError(f"{origin}: {dotted(where)} holds a single value, so nothing stands below it")
            short = isinstance(below, str) and isinstance(kind, type) and issubclass(kind, Section)
            below = (_written_out(kind, below) if short else None) or {}
        # A copy of each level on the way: whoever shares the rest sees no change.
        here[key] = copy.copy(below)
        here = here[key]


def settle(value: Any, annotation: Any) -> Any:
    """A value as the field of this annotation takes it, all the way down: text for text, numbers as plain numbers."""
    if holds_text(annotation):
        if isinstance(value, Typed):
            return value.text
        if isinstance(value, WrittenInt | WrittenFloat):
            return value.text
        # A float has lost how it was written: 1.40 is not 1.4.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(value, Typed):
        value = value.value
    if isinstance(value, dict):
        section = section_in(getattr(annotation, "annotation", annotation))
        if isinstance(section, type):
            keys = section.keys()
            return {
                key: settle(item, section.model_fields[keys[key]] if key in keys else None)
                for key, item in value.items()
            }
    if isinstance(value, dict | list | tuple):
        inner = element_of(annotation)
        if isinstance(value, dict):
            return {key: settle(item, inner) for key, item in value.items()}
        return [settle(item, inner) for item in value]
    return plain(value)


def _written_out(section: type[Section], text: str) -> dict[str, Any] | None:
    try:
        return section.from_text(text)
    except UnitError:
        return None  # the short form is wrong too: validation says so


_ENDS = tuple(UncertainValue.model_fields)


def _step(here: Any, kind: Any, rest: str, origin: str, where: list[str | int]) -> tuple[str | int, str]:
    """Take the next key off the path: the longest known one that the rest begins with."""
    head = rest.split(".", 1)[0]
    if rest.endswith("."):
        raise OverrideError(f"{origin}: the path ends with a dot")
    if isinstance(here, list):
        return _item(here, rest, head, origin, where)
    if isinstance(kind, type) and issubclass(kind, Section):
        known = list(kind.keys())
    elif isinstance(kind, Inside) and issubclass(kind.section, UncertainValue):
        # A range may be new, and its name is itself a path: whether that can have one is for validation to say.
        path, end = next(((rest.removesuffix(f".{end}"), end) for end in _ENDS if rest.endswith(f".{end}")), (rest, ""))
        return path, end
    elif isinstance(here, dict):
        known = [str(key) for key in here]
    else:
        known = []
    fitting = [key for key in known if rest == key or rest.startswith(f"{key}.")]
    if not fitting:
        is_section = isinstance(kind, type) and issubclass(kind, Section)
        shown = list(dict.fromkeys(kind.base(name) for name in kind.model_fields)) if is_section else known
        near = nearest(head, known)
        place = f"in {dotted(where)}" if where else "at the top"
        hint = f"; nearest: {dotted([*where, near])}" if near else ""
        options = f"; known {place}: {', '.join(shown)}" if shown else f"; nothing stands {place}"
        raise OverrideError(f"{origin}: {head!r} is not known {place}{hint}{options}")
    key = max(fitting, key=len)
    return key, rest[len(key) + 1 :]


def _item(here: list[Any], rest: str, head: str, origin: str, where: list[str | int]) -> tuple[int, str]:
    names = [str(item.get("name", "")) if isinstance(item, dict) else str(item) for item in here]
    for place, name in enumerate(names):
        if name and (rest == name or rest.startswith(f"{name}.")):
            return place, rest[len(name) + 1 :]
    if head.isascii() and head.isdigit() and len(head) < 9 and int(head) < len(here):
        return int(head), rest[len(head) + 1 :]
    raise OverrideError(
        f"{origin}: {head!r} is not an item of {dotted(where)}; known: {', '.join(filter(None, names))}, "
        f"or a place from 0 to {len(here) - 1}"
    )
