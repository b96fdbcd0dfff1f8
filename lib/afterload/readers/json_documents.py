"""JSON as tools print it: one document or several after each other, wrapped, perhaps cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from afterload.errors import InputError
from afterload.readers.jsondocs import read_documents
from afterload.readers.reading import Remark
from afterload.readers.source import SourceFile

__all__ = ["documents", "found_in"]

MOST_DEEP = 12


def documents(source: SourceFile, remarks: list[Remark]) -> list[tuple[str, Any]]:
    """Every document of a file with its place, such as ``line 1``; of a damaged one what is whole, with a remark.

    Raises:
        InputError: no document is whole.
    """
    read = read_documents(source.text, constant=float)
    again = "export it again if it is cut off"
    damaged = [
        *read.problems,
        *((item.line, f"{item.cut}; what is whole before was read") for item in read.found if item.cut),
    ]
    remarks += [Remark("partial", f"a document {reason}: {again}", source.name, line) for line, reason in damaged]
    if all(item.cut for item in read.found):
        line, reason = damaged[0] if damaged else (1, "is none")
        raise InputError(f"{source.name} line {line}: is not whole JSON ({reason}): {again}")
    return [(f"line {item.line}", item.value) for item in read.found]


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
