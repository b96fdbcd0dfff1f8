"""Values of cloud exports: dug out, brought to one form, and gathered as observations with their origin."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from afterload import limits
from afterload.readers.cloud_table import ATTRIBUTES, Attribute
from afterload.readers.reading import Inventory, Observation, Origin, Remark, Value

__all__ = ["Collector", "Fields", "Refused", "UnreadableError", "dig", "function_key", "parse_arn", "queue_name"]

MISSING = object()
# Every resource has these: where they are absent, they are not known, never unset.
_IDENTITIES = ("arn", "url")
_MOST = 2**53
_NUMBER = re.compile(r"[-+0-9.,_eE ]{1,20}")
_REDACTED = re.compile(r"\(?(?:sensitive|redacted|masked|hidden)\b.*|\*{3,}|<[^>]*>", re.IGNORECASE)


class Refused(Exception):  # noqa: N818 - not an error yet: one document of a file that may hold others
    """A document that is not read; the text says why and what to do."""


class UnreadableError(Exception):
    """One value is not of the form that its attribute has; the text says what was seen, but never a text itself."""


@dataclass(frozen=True)
class Arn:
    """Parts of an Amazon Resource Name."""

    service: str
    region: str
    account: str
    resource: str


def parse_arn(text: Any) -> Arn | None:
    """Parts of an ARN; None for anything else."""
    parts = text.split(":", 5) if isinstance(text, str) else []
    if len(parts) != 6 or parts[0] != "arn" or not parts[2] or not parts[5]:
        return None
    return Arn(parts[2], parts[3], parts[4], parts[5])


def function_key(text: str) -> tuple[str, str]:
    """Function name and qualifier ("" for the unpublished version) of an ARN, a partial ARN, NAME or NAME:QUALIFIER."""
    arn = parse_arn(text)
    rest = arn.resource if arn else text
    if "function:" in rest:
        rest = rest.rpartition("function:")[2]
    name, _, qualifier = rest.partition(":")
    return name, "" if qualifier == "$LATEST" else qualifier


def queue_name(text: str) -> str:
    """Name of a queue from its ARN or URL, or as it is."""
    arn = parse_arn(text)
    return arn.resource if arn else text.rstrip("/").rpartition("/")[2]


def dig(node: Any, path: str) -> Any:
    """A member some levels down; ``MISSING`` where a level is absent, null, or an empty list.

    A list stands for its first element, as a block of Terraform does. Raises :class:`UnreadableError` where a level is
    neither object nor list.
    """
    for step in path.split("/"):
        if isinstance(node, list):
            node = node[0] if node else None
        if node is None:
            return MISSING
        if not isinstance(node, dict):
            raise UnreadableError(f"is {_seen(node)} where an object should be")
        node = node.get(step)
    return MISSING if node is None else node


def _seen(value: Any) -> str:
    """What a value is, for people. A text is only counted: it may be a secret in a wrong place."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:.15g}"
    if isinstance(value, str):
        return f'"{value}"' if _NUMBER.fullmatch(value) else f"a text of {len(value):,} characters"
    return "a list" if isinstance(value, list) else "an object"


def convert(attribute: Attribute, value: Any) -> Value:
    """One value in the form of its attribute. Raises :class:`UnreadableError`."""
    form = attribute.form
    if isinstance(value, str) and _REDACTED.fullmatch(value.strip()):
        raise UnreadableError("is redacted")
    if form == "whole":
        return whole(value, attribute.none, attribute.least)
    if form == "number":
        return number(value)
    if form == "flag":
        return flag(value)
    if form in ("list", "set"):
        found = names(value)
        return found if form == "list" else tuple(sorted(found))
    return text(value)


def number(value: Any) -> float:
    """A finite number, 0 or more, given as a number or as text."""
    parsed = value
    if isinstance(value, str):
        try:
            parsed = float(value) if _NUMBER.fullmatch(value) else None
        except ValueError:
            parsed = None
    if isinstance(parsed, bool) or not isinstance(parsed, int | float) or not 0 <= parsed <= _MOST:
        raise UnreadableError(f"is {_seen(value)}, not a number of 0 or more")
    return float(parsed)


def whole(value: Any, none: tuple[int, ...] = (), least: int = 0) -> int | None:
    """A whole number, not less than ``least``, as a number or as text; None for the numbers in ``none``."""
    parsed = value
    if isinstance(value, str):
        try:
            parsed = float(value) if _NUMBER.fullmatch(value) else None
        except ValueError:
            parsed = None
    if (
        isinstance(parsed, bool)
        or not isinstance(parsed, int | float)
        or not math.isfinite(parsed)
        or parsed != int(parsed)
    ):
        raise UnreadableError(f"is {_seen(value)}, not a whole number")
    if parsed in none:
        return None
    if not least <= parsed <= _MOST:
        raise UnreadableError(f"is {_seen(value)}, not a whole number of {least} or more")
    return int(parsed)


def flag(value: Any) -> bool:
    """True or false, also as text."""
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise UnreadableError(f"is {_seen(value)}, not true or false")
    return value


def text(value: Any) -> str:
    """A name or an ARN: one line that can be printed."""
    if not isinstance(value, str):
        raise UnreadableError(f"is {_seen(value)}, not a text")
    if not value.strip() or len(value) > 2_048 or not value.isprintable():
        raise UnreadableError("is not a line of text that can be printed")
    return value


def names(value: Any) -> tuple[str, ...]:
    """A list of names, in order."""
    if not isinstance(value, list):
        raise UnreadableError(f"is {_seen(value)}, not a list")
    return tuple(text(item) for item in value)


@dataclass
class Collector:
    """What is found in one file.

    Attributes:
        file: the path as given.
        exported_at: when the document being read was exported.
        line: line at which that document begins; 0: it is the only one and begins the file.
        planned: whether what is read now is what a plan would set.
    """

    file: str
    exported_at: datetime
    line: int = 0
    planned: bool = False
    _observations: list[Observation] = field(default_factory=list)
    _remarks: dict[Remark, None] = field(default_factory=dict)

    def see(
        self,
        kind: str,
        name: str,
        attribute: str,
        value: Value,
        place: str,
        basis: Literal["measured", "default"] = "measured",
    ) -> None:
        """Add one observation."""
        if attribute not in ATTRIBUTES[kind]:
            raise KeyError(f"{kind} has no attribute {attribute}")
        where = f"line {self.line} {place}" if self.line > 1 else place
        self.take(
            Observation(kind, name, attribute, value, Origin(self.file, where, self.exported_at, basis, self.planned))
        )

    def take(self, observation: Observation) -> None:
        """Add an observation that a reader made."""
        self._observations.append(observation)

    def remark(self, kind: Literal["refused", "partial", "doubt", "ask"], words: str, line: int | None = None) -> None:
        """Add one remark, once."""
        self._remarks[Remark(kind, words, self.file, self.line if line is None else line)] = None

    @property
    def count(self) -> int:
        """Number of observations so far."""
        return len(self._observations)

    def refusals(self) -> list[str]:
        """Texts of what was refused so far."""
        return [item.text for item in self._remarks if item.kind == "refused"]

    def asks(self) -> bool:
        """Whether a person must say something first."""
        return any(item.kind == "ask" for item in self._remarks)

    def inventory(self) -> Inventory:
        """All of it: each value once, in an order that does not depend on that of the file; contradictions are named."""
        groups: dict[tuple[str, str, str, str], list[Observation]] = {}
        for item in self._observations:
            # Of a partition each table of a file counts, also where nothing has changed.
            row = item.origin.place if item.kind == "kafka.partition" else ""
            known = groups.setdefault((item.kind, item.resource, item.attribute, row), [])
            same = next((other for other in known if other.value == item.value), None)
            if same is None:
                known.append(item)
            elif (same.origin.basis, item.origin.basis) == ("default", "measured"):
                known[known.index(same)] = item
        kept = []
        for (kind, name, attribute, _), items in sorted(groups.items()):
            items.sort(key=lambda item: (item.origin.basis != "measured", repr(item.value)))
            kept += items
            if len(items) > 1 and len({item.origin.exported_at for item in items}) == 1:
                places = " and ".join(sorted(item.origin.place for item in items)[:3])
                hint = "; are these two regions or accounts? Read them apart" if attribute == "arn" else ""
                self.remark("doubt", f"{kind} {name}: {attribute} has {len(items)} values ({places}){hint}", 0)
        return Inventory(tuple(kept), tuple(sorted(self._remarks, key=lambda item: (item.line, item.kind, item.text))))


def _known(path: str) -> bool:
    return False


@dataclass
class Fields:
    """Reads the attributes of one resource from one object.

    Attributes:
        collector: where they go.
        kind: kind of resource.
        name: its name.
        node: the object.
        place: where the object stands.
        column: which column of the table names the members.
        complete: whether an absent member is an unset one; else it was only not exported.
        source: source kind of a mapping.
        unknown: whether a member is not known yet (Terraform plans).
        secret: whether a member is marked sensitive.
        refer: stands for a text that is not known yet: the address of the resource that it refers to.
    """

    collector: Collector
    kind: str
    name: str
    node: Any
    place: str
    column: Literal["cli", "terraform"] = "cli"
    complete: bool = True
    source: str = ""
    unknown: Callable[[str], bool] = _known
    secret: Callable[[str], bool] = _known
    refer: Callable[[str], str | None] = lambda path: None
    later: list[str] = field(default_factory=list)

    def read_all(self) -> None:
        """Every attribute that is not computed."""
        for name, attribute in ATTRIBUTES[self.kind].items():
            if attribute.form != "computed" and self.path(attribute):
                self.read(name)

    def path(self, attribute: Attribute) -> str:
        """Where the attribute stands in the object; empty if it does not."""
        return attribute.cli if self.column == "cli" else attribute.terraform

    def raw(self, attribute: Attribute) -> Any:
        """The member as it stands; raises :class:`UnreadableError`."""
        path = self.path(attribute)
        if self.secret(path):
            raise UnreadableError("is marked sensitive, so it is not read")
        value = dig(self.node, path)
        return MISSING if value == "" else value

    def read(self, name: str, convert_with: Callable[[Any], Value] | None = None) -> None:
        """One attribute: seen, unset, its default, or a remark."""
        attribute = ATTRIBUTES[self.kind][name]
        if self.source and attribute.sources and self.source not in attribute.sources:
            return
        path = self.path(attribute)
        try:
            value = self.raw(attribute)
            if value is not MISSING:
                self.see(name, convert_with(value) if convert_with else convert(attribute, value), path)
                return
        except UnreadableError as problem:
            self.refuse(path, problem)
            return
        if name in _IDENTITIES:
            return
        if self.unknown(path):
            referred = self.refer(path) if attribute.form == "text" else None
            if referred is None:
                self.later.append(path.replace("/", "."))
            else:
                self.see(name, referred, path)
        elif self.complete and (self.source or not (attribute.sources or "{source}" in attribute.default)):
            # Where the source of a mapping is not known, neither is which settings it has.
            self.unset(name, attribute, path)

    def see(self, name: str, value: Value, path: str, basis: Literal["measured", "default"] = "measured") -> None:
        """Add an observation of this resource."""
        place = ".".join(part for part in (self.place, path.replace("/", ".")) if part)
        self.collector.see(self.kind, self.name, name, value, place, basis)

    def refuse(self, path: str, problem: Exception) -> None:
        """Say that one member was not read."""
        place = ".".join(part for part in (self.place, path.replace("/", ".")) if part)
        self.collector.remark("refused", f"{place} {problem}: not read")

    def unset(self, name: str, attribute: Attribute, path: str) -> None:
        """An attribute that the export shows unset: the service's default where there is one."""
        if attribute.form in ("list", "set"):
            self.see(name, (), path)
        elif attribute.default:
            key = attribute.default.format(source="sqs" if self.source == "sqs" else "stream")
            value = limits.value(key)
            self.see(name, value if attribute.form == "number" else round(value), path, "default")
        else:
            self.see(name, None, path)

    def finish(self) -> None:
        """Say once which members are not known before the plan is applied."""
        if self.later:
            listed = ", ".join(sorted(self.later))
            self.collector.remark(
                "doubt", f"{self.place}: {listed} will be known only after the plan is applied: not read"
            )
