"""Change single values in YAML text and leave every other character as it stands: comments, order, quotes, blank lines.

Only the span of a value is replaced, or a line is put in, so that a person who reads the difference sees the change and
nothing else. Every change is checked by reading the new text again.
"""

from __future__ import annotations

import io
import json
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.representer import SafeRepresenter

from afterload.errors import InputError
from afterload.yamltree import DataPath, WrittenFloat, WrittenInt, YamlTree, plain, read_nodes, value_at

__all__ = ["YamlText", "dump", "inline"]


class _Representer(SafeRepresenter):
    """Writes a number that remembers how it was written the same way."""


def _as_written(representer: Any, number: WrittenInt | WrittenFloat) -> Any:
    kind = "int" if isinstance(number, WrittenInt) else "float"
    return representer.represent_scalar(f"tag:yaml.org,2002:{kind}", number.text)


_Representer.add_representer(WrittenInt, _as_written)
_Representer.add_representer(WrittenFloat, _as_written)


def dump(value: Any) -> str:
    """YAML text of plain data in block style, without a final newline; text that could be read as a number is quoted."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = 10_000
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    yaml.dump(value, out)
    return out.getvalue().removesuffix("\n...\n").rstrip("\n")


class YamlText:
    """The text of a YAML file that is changed value by value.

    ``name`` stands in messages; ``tree`` is what the text reads as, not to be changed. A copy is changed by itself.
    Raises :class:`InputError` where the text is not YAML.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._root, self.tree = read_nodes(text, name)
        self._data = plain(self.tree.data)

    @property
    def data(self) -> Any:
        """The values as plain data."""
        return self._data

    def get(self, path: DataPath) -> Any:
        """The value at a path; None where nothing stands."""
        return value_at(self._data, path)

    def written(self, path: DataPath) -> Any:
        """The same with its numbers as they are written; not to be changed."""
        return value_at(self.tree.data, path)

    def set(self, path: DataPath, value: Any) -> None:
        """Put a value at a path of keys, with the mappings above it where they are missing.

        Raises :class:`InputError` where the path runs through a single value, a missing item of a list or an alias, or
        where the text is written in a way that cannot be changed alone.
        """
        wanted = _with(self._data, path, value, f"{self.name}: {_dotted(path)}")
        self._replace(_Edit(self.text, self._root).put(path, value), wanted, path)

    def append(self, path: DataPath, value: Any) -> None:
        """Put a value at the end of the list at a path, which is made where it is missing.

        Raises :class:`InputError` like :meth:`set`.
        """
        listed = self.get(path)
        if not isinstance(listed, list) or not listed:
            self.set(path, [value])
            return
        wanted = _with(self._data, path, [*listed, value], f"{self.name}: {_dotted(path)}")
        self._replace(_Edit(self.text, self._root).append(path, value), wanted, path)

    def remove(self, path: DataPath) -> None:
        """Take away a key or an item of a list, with its value and the comment on its line; nothing where there is none.

        Raises :class:`InputError` where the text is written in a way that cannot be changed alone.
        """
        parent = self.get(path[:-1]) if path else None
        if isinstance(parent, list) and isinstance(path[-1], int) and 0 <= path[-1] < len(parent):
            self._remove_item(path, parent)
            return
        if not isinstance(parent, dict) or path[-1] not in parent:
            return
        wanted = _without(self._data, path)
        self._replace(_Edit(self.text, self._root).drop(path), wanted, path)

    def _remove_item(self, path: DataPath, listed: list[Any]) -> None:
        left = [item for place, item in enumerate(listed) if place != path[-1]]
        wanted = _with(self._data, path[:-1], left, self.name)
        try:
            self._replace(_Edit(self.text, self._root).drop_item(path), wanted, path)
        except InputError:
            written = self._at(path[:-1])
            self.set(path[:-1], [item for place, item in enumerate(written) if place != path[-1]])

    def rename(self, path: DataPath, name: str) -> None:
        """Give a key another name; its value, its place and its comments stay.

        Raises :class:`InputError` where the name is taken, or the text is written in a way that cannot be changed alone.
        """
        parent = self.get(path[:-1])
        if not isinstance(parent, dict) or path[-1] not in parent or name == path[-1]:
            return
        if name in parent:
            raise InputError(f"{self.name}: {_dotted((*path[:-1], name))} is there already: choose another name")
        renamed = {name if key == path[-1] else key: value for key, value in parent.items()}
        wanted = _with(self._data, path[:-1], renamed, self.name) if path[:-1] else plain(renamed)
        self._replace(_Edit(self.text, self._root).rename(path, name), wanted, path)

    def duplicate(self, path: DataPath, name: str = "") -> None:
        """Copy a key with its value and comments to a new key, or an item of a list to the place after it.

        Raises :class:`InputError` where the new name is taken, or the text is written in a way that cannot be changed alone.
        """
        parent = self.get(path[:-1])
        if isinstance(parent, list) and isinstance(path[-1], int):
            at = path[-1] + 1
            wanted = _with(self._data, path[:-1], [*parent[:at], parent[path[-1]], *parent[at:]], self.name)
            written = self._at(path[:-1])
            instead: tuple[DataPath, Any] = (path[:-1], [*written[:at], written[path[-1]], *written[at:]])
        elif isinstance(parent, dict) and path[-1] in parent:
            if name in parent:
                raise InputError(f"{self.name}: {_dotted((*path[:-1], name))} is there already: choose another name")
            wanted = _with(self._data, (*path[:-1], name), parent[path[-1]], self.name)
            instead = ((*path[:-1], name), self._at(path))
        else:
            return
        try:
            self._replace(_Edit(self.text, self._root).duplicate(path, name), wanted, path)
        except InputError:
            self.set(*instead)

    def _at(self, path: DataPath) -> Any:
        """A value with its numbers as they are written."""
        here = self.tree.data
        for part in path:
            here = here[part]
        return here

    def _replace(self, text: str, wanted: Any, path: DataPath) -> None:
        try:
            root, tree = read_nodes(text, self.name)
        except InputError:
            root, tree = None, YamlTree(None)
        seen = plain(tree.data)
        if seen != wanted:
            raise InputError(
                f"{self.name}: {_dotted(path)} is written in a way that cannot be changed alone: change it by hand"
            )
        self.text, self._root, self._data, self.tree = text, root, seen, tree


class _Edit:
    def __init__(self, text: str, root: Any) -> None:
        self.text = text
        self.root = root
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def put(self, path: DataPath, value: Any) -> str:
        if self.root is None or (isinstance(self.root, ScalarNode) and not self.root.value):
            head = self.text if not self.text or self.text.endswith("\n") else self.text + self.newline
            return head + self.lines(_nested(path, value), 0)
        node: Node = self.root
        parents: list[MappingNode | SequenceNode] = []
        for place, part in enumerate(path):
            below = _child(node, part)
            if below is None or (isinstance(below, ScalarNode) and not below.value and not below.style):
                return self.insert(node, part, _nested(path[place + 1 :], value), below is not None)
            parents.append(node)  # type: ignore[arg-type]
            node = below
        if isinstance(node, ScalarNode) and not isinstance(value, dict | list) and node.style not in ("|", ">"):
            in_flow = any(parent.flow_style for parent in parents)
            return self.text[: node.start_mark.index] + inline(value, in_flow) + self.text[node.end_mark.index :]
        return self.rewrite(parents[-1], path[-1], value)

    def append(self, path: DataPath, value: Any) -> str:
        node: Node = self.root
        for part in path:
            node = _child(node, part) or node
        if not isinstance(node, SequenceNode):
            return self.text
        if node.flow_style:
            end = node.end_mark.index - 1
            body = self.text[:end].rstrip()
            lead = " " if body.endswith(",") else ", "
            return f"{body}{lead}{inline(value)}{self.text[len(body) :]}"
        last = node.value[-1]
        at = self.line_end(_last(last))
        # The dash of the last item stands where the new one goes.
        dash = self.text.rindex("-", 0, last.start_mark.index)
        column = dash - self.line_start(dash)
        return self.upto(at) + self.lines([value], column) + self.text[at:]

    def drop(self, path: DataPath) -> str:
        node: Node = self.root
        for part in path[:-1]:
            node = _child(node, part) or node
        if not isinstance(node, MappingNode):
            return self.text
        if node.flow_style or len(node.value) == 1:
            return self.flow(node, {k.value: v for k, v in node.value if k.value != path[-1]})
        pair = _pair(node, path[-1])
        if pair is None:
            return self.text
        key, value = pair
        start = self.line_start(key.start_mark.index)
        return self.text[:start] + self.text[self.line_end(_last(value, key)) :]

    def drop_item(self, path: DataPath) -> str:
        node = self.at(path[:-1])
        place = path[-1]
        if not isinstance(node, SequenceNode) or not isinstance(place, int) or len(node.value) == 1:
            return self.text
        if node.flow_style:
            kept = ", ".join(self.source(item) for at, item in enumerate(node.value) if at != place)
            return f"{self.text[: node.start_mark.index]}[{kept}]{self.text[_last(node) :]}"
        start, end = self.lines_of_item(node.value[place])
        return self.text[:start] + self.text[end:]

    def rename(self, path: DataPath, name: str) -> str:
        node = self.at(path[:-1])
        if not isinstance(node, MappingNode):
            return self.text
        pair = _pair(node, path[-1])
        if pair is None:
            return self.text
        key, written = pair[0], inline(name, bool(node.flow_style))
        return self.text[: key.start_mark.index] + written + self.text[key.end_mark.index :]

    def duplicate(self, path: DataPath, name: str) -> str:
        node = self.at(path[:-1])
        if isinstance(node, SequenceNode) and isinstance(path[-1], int):
            item = node.value[path[-1]]
            if node.flow_style:
                end = _last(item)
                return f"{self.text[:end]}, {self.source(item)}{self.text[end:]}"
            start, end = self.lines_of_item(item)
            return self.upto(end) + self.text[start:end] + self.text[end:]
        if not isinstance(node, MappingNode) or node.flow_style:
            return self.text
        pair = _pair(node, path[-1])
        if pair is None:
            return self.text
        key, value = pair
        start, end = self.line_start(key.start_mark.index), self.line_end(_last(value, key))
        before, after = self.text[start : key.start_mark.index], self.text[key.end_mark.index : end]
        if before.strip(" "):
            return self.text
        copied = f"{before}{inline(name, in_flow=False)}{after}"
        return self.upto(end) + (copied if copied.endswith("\n") else copied + self.newline) + self.text[end:]

    def lines_of_item(self, item: Node) -> tuple[int, int]:
        """Start and end of the lines that an item of a list in block style takes, its dash included."""
        dash = self.text.rindex("-", 0, item.start_mark.index)
        return self.line_start(dash), self.line_end(_last(item))

    def at(self, path: DataPath) -> Node | None:
        node: Node | None = self.root
        for part in path:
            node = None if node is None else _child(node, part)
        return node

    def flow(self, node: MappingNode, kept: dict[str, Node]) -> str:
        inside = ", ".join(f"{inline(key)}: {self.source(value)}" for key, value in kept.items())
        return self.text[: node.start_mark.index] + "{" + inside + "}" + self.text[_last(node) :]

    def source(self, node: Node) -> str:
        return self.text[node.start_mark.index : _last(node)]

    def rewrite(self, parent: MappingNode | SequenceNode, key: Any, value: Any) -> str:
        """Replace a value that is, or becomes, more than one scalar."""
        node = _child(parent, key)
        if node is None or isinstance(parent, SequenceNode) or parent.flow_style:
            start, end = (node.start_mark.index, _last(node)) if node is not None else (0, 0)
            if isinstance(parent, SequenceNode) and not parent.flow_style and node is not None:
                column = node.start_mark.column
                return self.text[:start] + self.lines(value, column).strip(" ").rstrip("\r\n") + self.text[end:]
            return self.text[:start] + inline(value) + self.text[end:]
        key_node = next(k for k, _ in parent.value if k.value == str(key))
        start, end = self.line_start(key_node.start_mark.index), self.line_end(_last(node, key_node))
        if self.text[start : key_node.start_mark.index].strip(" "):
            # The first key of an item of a list: its dash stands before it.
            start = key_node.start_mark.index
            return (
                self.text[:start] + self.lines({key: value}, key_node.start_mark.column).lstrip(" ") + self.text[end:]
            )
        return self.text[:start] + self.lines({key: value}, key_node.start_mark.column) + self.text[end:]

    def insert(self, node: Node, key: Any, value: Any, is_empty: bool) -> str:
        """Put a new key into a mapping, or fill one that has no value."""
        if not isinstance(node, MappingNode):
            return self.text
        if node.flow_style:
            end = node.end_mark.index - 1
            body = self.text[node.start_mark.index + 1 : end].rstrip()
            lead = "" if not node.value else (" " if body.endswith(",") else ", ")
            tail = self.text[node.start_mark.index + 1 + len(body) : end]
            if is_empty:
                return self.text
            return f"{self.text[: node.start_mark.index + 1]}{body}{lead}{inline(key)}: {inline(value)}{tail}{self.text[end:]}"
        if is_empty:
            key_node = next(k for k, _ in node.value if k.value == str(key))
            if isinstance(value, dict | list) and value:
                at = self.line_end(key_node.end_mark.index)
                body = self.lines(value, key_node.start_mark.column + 2)
                return self.upto(at) + body + self.text[at:]
            at = self.text.index(":", key_node.end_mark.index) + 1
            return f"{self.text[:at]} {inline(value, in_flow=False)}{self.text[at:]}"
        first = node.value[0][0]
        last_key, last_value = node.value[-1]
        at = self.line_end(_last(last_value, last_key))
        return self.upto(at) + self.lines({key: value}, first.start_mark.column) + self.text[at:]

    def upto(self, at: int) -> str:
        head = self.text[:at]
        return head if not head or head.endswith("\n") else head + self.newline

    def lines(self, value: Any, column: int) -> str:
        return "".join(f"{' ' * column}{line}{self.newline}" for line in dump(value).split("\n"))

    def line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Just after the end of the line that holds the character before ``index``."""
        end = self.text.find("\n", max(0, index - 1))
        return len(self.text) if end < 0 else end + 1


def _pair(node: MappingNode, part: Any) -> tuple[ScalarNode, Node] | None:
    """A key of a mapping with its value; None where it is written elsewhere, and comes here by ``<<``."""
    return next((pair for pair in node.value if pair[0].value == str(part)), None)


def inline(value: Any, in_flow: bool = True) -> str:
    """A value in one line. Between brackets more text needs quotes than after a key in block style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    text = dump(value)
    if isinstance(value, str) and (
        "\n" in text or (in_flow and text == value and any(char in value for char in ",[]{}"))
    ):
        # JSON text is YAML text.
        return json.dumps(value, ensure_ascii=False)
    return text


def _child(node: Node, part: Any) -> Node | None:
    if isinstance(node, MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        item: Node = node.value[part]
        return item
    return None


def _last(node: Node, key: Node | None = None) -> int:
    """Index just after the last character of a node; a block's own mark stands after comments that follow it."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        item = node.value[-1]
        return _last(item[1], item[0]) if isinstance(item, tuple) else _last(item)
    if key is not None and isinstance(node, ScalarNode) and not node.value and not node.style:
        return int(key.end_mark.index) + 1
    return int(node.end_mark.index)


def _nested(path: DataPath, value: Any) -> Any:
    for part in reversed(path):
        value = {part: value}
    return value


def _with(data: Any, path: DataPath, value: Any, where: str) -> Any:
    if not path:
        return plain(value)
    part, rest = path[0], path[1:]
    if isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data):
        return [_with(item, rest, value, where) if place == part else item for place, item in enumerate(data)]
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise InputError(f"{where}: {data!r} stands in the way of {part}: change it by hand")
    return {**data, part: _with(data.get(part), rest, value, where)}


def _without(data: Any, path: DataPath) -> Any:
    part, rest = path[0], path[1:]
    if isinstance(data, list):
        return [_without(item, rest) if place == part else item for place, item in enumerate(data)]
    if not rest:
        return {key: item for key, item in data.items() if key != part}
    return {key: _without(item, rest) if key == part else item for key, item in data.items()}


def _dotted(path: DataPath) -> str:
    return ".".join(map(str, path))
