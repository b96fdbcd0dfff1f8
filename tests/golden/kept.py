"""The numbers that are kept in files: of which scenarios, how they are written, and what differs from those of today's code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.scenarios import scenario_text
from tests.golden.taken import Numbers, Scalar, Value, alone_numbers, portfolio_numbers, team_numbers

from afterload.resources import BUILTIN, resource
from afterload.scenario import LoadedScenario, load_scenario, load_scenario_text

__all__ = ["ALL", "FOLDER", "TEAMS", "Difference", "changed", "differences", "kept", "pattern", "text_of", "today"]

FOLDER = Path(__file__).resolve().parent / "numbers"
SEEDS = range(100, 160)
EXAMPLES = tuple(sorted(path.stem for path in resource("data", "scenarios").glob("*.yaml")))
MADE_UP = {f"made-up-{seed}": seed for seed in SEEDS}
TEAMS = (*EXAMPLES, *MADE_UP)
# Beside the teams: what is computed over all of them, and what needs none.
ALL = (*TEAMS, "eta-alone", "portfolio")
DIGITS = 9
# Machines differ in the last digits.
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Difference:
    """A number that is not what the file says; the text ``none`` stands for one that is not there."""

    file: str
    name: str
    before: str
    after: str


def loaded(name: str) -> LoadedScenario:
    """One of the scenarios."""
    if name in MADE_UP:
        return load_scenario_text(scenario_text(MADE_UP[name]), f"{name}.yaml")
    return load_scenario(f"{BUILTIN}scenarios/{name}.yaml")


@cache
def _team(name: str) -> tuple[Numbers, dict[str, Any]]:
    # Examples as people get them; of the others a part of the draws does.
    return team_numbers(loaded(name), *((200, 30) if name in MADE_UP else (1_000, 100)))


def today(name: str) -> Numbers:
    """The numbers of one file as today's code computes them."""
    if name == "portfolio":
        found = portfolio_numbers(_team(team)[1] for team in TEAMS)
    elif name == "eta-alone":
        found = alone_numbers(loaded("orders-live"))
    else:
        found = _team(name)[0]
    return {key: _written(value) for key, value in sorted(found.items())}


def _written(value: Any) -> Value:
    if isinstance(value, list | tuple):
        return [_scalar(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Scalar:
    """A value as it is kept: nine digits, whole numbers without a point, and None for never."""
    # Numbers of numpy as those of Python.
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | str):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def text_of(numbers: Numbers) -> str:
    """A file: one number a line, so that a change shows as one line."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in sorted(numbers.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def kept(name: str) -> Numbers:
    """The numbers of one file; none where it is not there."""
    path = FOLDER / f"{name}.json"
    found: Numbers = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def differences(name: str, before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[Difference]:
    """Every number of one file that changed, came or went."""
    for key in sorted({*before, *after}):
        one = json.dumps(before[key]) if key in before else "none"
        other = json.dumps(after[key]) if key in after else "none"
        if key not in before or key not in after or changed(before[key], after[key]):
            yield Difference(name, key, one, other)


def changed(before: Value, after: Value) -> bool:
    """Whether a value is another one. Numbers of one list are as exact as the largest of them."""
    ones, others = (value if isinstance(value, list) else [value] for value in (before, after))
    if isinstance(before, list) != isinstance(after, list) or len(ones) != len(others):
        return True
    scale = max((abs(value) for value in (*ones, *others) if _is_number(value)), default=0.0)
    for one, other in zip(ones, others, strict=True):
        if _is_number(one) and _is_number(other):
            if abs(one - other) > TOLERANCE * scale:
                return True
        elif one is not other and (one != other or type(one) is not type(other)):
            return True
    return False


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def pattern(name: str) -> str:
    """The name of a number with a star for every name that a team gave."""
    return re.sub(r"\[[^\]]*\]", "[*]", name)
