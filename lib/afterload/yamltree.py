"""Read YAML into plain data, keeping where each value stands and how it was written.

Only what YAML 1.2 calls a number, a truth value or null is converted; dates, times, versions and names keep their
text (``2025-10-19``, ``2025_10_20`` and ``NO`` stay text, and ``1.40`` remembers that it was not ``1.4``). ``.nan``
and ``.inf`` stay text too, so that a field that wants a number refuses them. Duplicate keys are errors.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from afterload.errors import InputError
from afterload.reads import decoded, note_read, read_given

__all__ = [
    "DataPath",
    "WrittenFloat",
    "WrittenInt",
    "YamlTree",
    "plain",
    "read_file",
    "read_nodes",
    "read_text",
    "value_at",
]

DataPath = tuple[str | int, ...]
MAX_BYTES = 2_000_000
MAX_VALUES = 20_000
MAX_DEPTH = 40

# What the parser lets through, beside its own errors, for text such as "\\UFFFFFFFF".
_PARSER_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

_INT_RE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})")
_FLOAT_RE = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{1,30}|[0-9]{1,30}(?:\.[0-9]{1,30})?[eE][-+]?[0-9]{1,3})")
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class WrittenInt(int):
    """A whole number that remembers how it was written."""

    text: str


class WrittenFloat(float):
    """A number that remembers how it was written, so that version 1.40 does not become 1.4."""

    text: str


@dataclass(frozen=True)
class YamlTree:
    """Plain data with the line (counted from 1) of every key and item."""

    data: Any
    lines: dict[DataPath, int] = field(default_factory=dict)
    name: str = ""

    def line(self, path: DataPath) -> int:
        """Line of a path, or of its nearest ancestor that stands in the file."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 1


def read_file(path: Path) -> tuple[YamlTree, bytes]:
    """Read a YAML file; give the tree and the bytes read.

    Raises :class:`NotFoundError` where there is no file, :class:`InputError` where it cannot be read as text or
    as YAML, with file and line.
    """
    raw = read_given(path, MAX_BYTES)
    note_read(path, raw)
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path}:1: is too large; a scenario has at most {MAX_BYTES:,} bytes")
    return read_text(decoded(raw, lambda line: f"{path}:{line}"), str(path)), raw


def read_text(text: str, name: str) -> YamlTree:
    """Read YAML text; ``name`` stands in messages. Raises :class:`InputError` with the line of the fault."""
    return read_nodes(text, name)[1]


def read_nodes(text: str, name: str) -> tuple[Node | None, YamlTree]:
    """The same with the nodes of the text, which know where each value stands; None for a text without any."""
    reader = _Reader(name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            yaml = YAML(typ="safe", pure=True)
            yaml.Composer = _Composer
            node = yaml.compose(text)
        return node, YamlTree(None if node is None else reader.value(node, ()), reader.lines, name)
    except ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        sign = f"the character {_code(problem.character)}"
        raise InputError(f"{name}:{line}: is not YAML: {sign} is not allowed") from None
    except MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark is not None else 1
        reason = " ".join(str(part) for part in (problem.context, problem.problem) if part)
        raise InputError(f"{name}:{line}: is not YAML: {reason}") from None
    except _TooMuchError as problem:
        raise InputError(f"{name}:{problem.line}: {problem}") from None
    except RecursionError:
        raise InputError(f"{name}:1: is nested too deeply to be a scenario") from None
    except (YAMLError, *_PARSER_FAULTS) as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InputError(f"{name}:1: is not YAML: {reason}") from None


def _code(character: int | str | bytes) -> str:
    return f"U+{character if isinstance(character, int) else ord(character):04X}"


# The tags that values have by themselves.
_STANDARD = "tag:yaml.org,2002:"
_TAGS: dict[type[Node], frozenset[str]] = {
    MappingNode: frozenset({f"{_STANDARD}map"}),
    SequenceNode: frozenset({f"{_STANDARD}seq"}),
    ScalarNode: frozenset(_STANDARD + word for word in "str int float bool null timestamp merge value".split()),
}


class _TooMuchError(Exception):
    def __init__(self, node: Any, reason: str) -> None:
        super().__init__(reason)
        self.line = node.start_mark.line + 1


class _Composer(Composer):
    """Stops at once where the reader would stop later: the parser takes long over thousands of levels."""

    levels = values = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        is_key = index is None and isinstance(parent, MappingNode)
        self.levels += 1
        self.values += not is_key
        # One level and one value more than the reader takes, which names the one that is too much.
        if self.levels > MAX_DEPTH + 2:
            raise _TooMuchError(self.parser.peek_event(), f"is nested more than {MAX_DEPTH} levels deep")
        if self.values > MAX_VALUES + 1:
            raise _TooMuchError(self.parser.peek_event(), f"holds more than {MAX_VALUES:,} values")
        node = super().compose_node(parent, index)
        self.levels -= 1
        return node


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[DataPath, int] = {}
        self.count = 0

    def refuse(self, node: Node, reason: str) -> InputError:
        return InputError(f"{self.name}:{node.start_mark.line + 1}: {reason}")

    def value(self, node: Node, path: DataPath) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise self.refuse(node, f"holds more than {MAX_VALUES:,} values")
        self.check_tag(node)
        if len(path) > MAX_DEPTH:
            raise self.refuse(node, f"is nested more than {MAX_DEPTH} levels deep")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            return self.scalar(node)
        raise self.refuse(node, "is not a mapping, a list or a value")

    def check_tag(self, node: Node) -> None:
        if str(node.tag) not in _TAGS[type(node)]:
            raise self.refuse(node, f"the tag {node.tag} is not used in a scenario: remove it")

    def mapping(self, node: MappingNode, path: DataPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, ScalarNode):
                raise self.refuse(key_node, "a key must be a name, not a list or a mapping")
            self.check_tag(key_node)
        merges = [(key, value) for key, value in node.value if _is_merge(key)]
        if len(merges) > 1:
            raise self.refuse(merges[1][0], "'<<' stands twice in one mapping: give it one list")
        # Merges come first, so that the lines of the mapping's own keys replace theirs.
        for _, value_node in merges:
            merged = self.merge(value_node, path)
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                continue
            key = self.text(key_node)
            if key in result:
                first = self.lines[(*path, key)]
                raise self.refuse(key_node, f"{key!r} stands twice in one mapping (first on line {first}): remove one")
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*path, key))
        return {**{key: value for key, value in merged.items() if key not in result}, **result}

    def merge(self, node: Node, path: DataPath) -> dict[str, Any]:
        sources = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            value = self.value(source, path)
            if not isinstance(value, dict):
                raise self.refuse(node, "'<<' takes a mapping or a list of mappings")
            merged.update(value)
        return merged

    def scalar(self, node: ScalarNode) -> Any:
        text = self.text(node)
        return text if node.style else _convert(text)

    def text(self, node: ScalarNode) -> str:
        """A text in whole characters: JSON writes one beyond U+FFFF as two halves, which the parser leaves apart."""
        text = str(node.value)
        if text.isascii():
            return text
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self.refuse(node, "holds one half of a character without the other, as in \\ud83d alone") from None


def _is_merge(key: ScalarNode) -> bool:
    return key.value == "<<" and not key.style


def _convert(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INT_RE.fullmatch(text):
        whole = WrittenInt(text)
        whole.text = text
        return whole
    if _FLOAT_RE.fullmatch(text):
        number = WrittenFloat(text)
        number.text = text
        return number
    return text


def value_at(data: Any, path: DataPath) -> Any:
    """The value at a path of the file's data; None where nothing stands."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def plain(value: Any) -> Any:
    """Copy data without the memory of how numbers were written, for JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, WrittenInt):
        return int(value)
    if isinstance(value, WrittenFloat):
        return float(value)
    return value
