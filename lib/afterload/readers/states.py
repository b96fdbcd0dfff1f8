"""Retry entries of a Step Functions definition (Amazon States Language)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afterload.readers.cloud_values import Collector, Fields, Refused

__all__ = ["read_definition"]

_DEPTH = 40


def read_definition(collector: Collector, machine: str, definition: Any, place: str) -> None:
    """Read every entry of every ``Retry`` list, in branches and maps too, as ``MACHINE/STATE[i]``.

    A definition may be an object or its JSON text. Raises :class:`Refused` for anything else. Unset members have the
    defaults of the language: 1 s, 3 retries, factor 2, no cap, no jitter.
    """
    if isinstance(definition, str):
        try:
            definition = json.loads(definition)
        except (ValueError, RecursionError):
            raise Refused(f"the definition of {machine} is not JSON: export it again") from None
    if not isinstance(definition, dict) or not isinstance(definition.get("States"), dict):
        raise Refused(f"the definition of {machine} has no States: export it again")
    for name, where, entries in _retries(definition, place, _DEPTH):
        if (
            not name.isprintable()
            or not isinstance(entries, list)
            or not all(isinstance(item, dict) for item in entries)
        ):
            collector.remark("refused", f"{machine}: a Retry of its states is not a list of objects: not read")
            continue
        for number, entry in enumerate(entries):
            Fields(
                collector, "states.retry", f"{machine}/{name}[{number}]", entry, f"{where}.Retry[{number}]"
            ).read_all()


def _retries(machine: dict[str, Any], place: str, depth: int) -> Iterator[tuple[str, str, Any]]:
    """State name, place and Retry of every state that has one."""
    states = machine.get("States")
    if not isinstance(states, dict) or not depth:
        return
    for name, state in states.items():
        if not isinstance(state, dict):
            continue
        where = f"{place}.States.{name}".removeprefix(".")
        if "Retry" in state:
            yield name, where, state["Retry"]
        branches = state.get("Branches")
        inner = list(branches) if isinstance(branches, list) else []
        inner += [state.get("ItemProcessor"), state.get("Iterator")]
        for item in inner:
            if isinstance(item, dict):
                yield from _retries(item, where, depth - 1)
