"""JSON as tools print it: one document or several after each other, wrapped, perhaps cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from afterload.errors import InputError
from afterload.readers.reading import Remark
from afterload.readers.source import SourceFile

__all__ = ["documents", "found_in"]

_BETWEEN = re.compile(r"[\s,\x1e]*")
MOST_DEEP = 12


def documents(source: SourceFile, remarks: list[Remark]) -> list[tuple[str, Any]]:
    """Every document of a file with its place, such as ``line 1``; what follows a damaged one is left out with a remark.

    Raises:
        InputError: not even the first document is whole.
    """
    decoder = json.JSONDecoder()
    text, found = source.text, list[tuple[str, Any]]()
    at = _skip(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as problem:
            reason, offset = _reason(problem, at)
            line = source.line(min(offset, len(text)))
            begun = source.line(at)
            if not found:
                raise InputError(
                    f"{source.name} line {line}: is not whole JSON ({reason}): export it again if it is cut off"
                ) from None
            words = f"document {len(found) + 1}, from line {begun} on, is not whole JSON ({reason}): it was not read"
            remarks.append(Remark("partial", f"{words}; export it again if it is cut off", source.name, line))
            break
        found.append((f"line {source.line(at)}", value))
        at = _skip(text, end)
    return found


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _reason(problem: Exception, at: int) -> tuple[str, int]:
    if isinstance(problem, json.JSONDecodeError):
        return problem.msg, problem.pos
    return ("nested too deeply", at) if isinstance(problem, RecursionError) else ("a number of too many digits", at)


def found_in(
    value: Any, wanted: Callable[[dict[str, Any]], bool], path: str = "", deep: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object that is wanted, with its path, however a tool has wrapped it; JSON inside a string is looked into."""
    if deep > MOST_DEEP:
        return
    if isinstance(value, dict):
        if wanted(value):
            yield path, value
            return
        for key, item in value.items():
            yield from found_in(item, wanted, f"{path}.{key}" if path else str(key), deep + 1)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from found_in(item, wanted, f"{path}[{place}]", deep + 1)
    elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return
        yield from found_in(inner, wanted, path, deep + 1)
