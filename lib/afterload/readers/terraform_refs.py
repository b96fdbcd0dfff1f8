"""What a Terraform plan refers to: resources in their modules, and the references of values that are not known yet.

A plan for new resources knows no ARN, so a mapping's function and queue are found through the plan's ``configuration``,
which lists the references of every expression. Source: Terraform, JSON output format, values and configuration
representations (format versions 0.1 to 1.2). References through ``local`` values are not in that format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Instance", "marked", "modules_of", "referred"]

_INDEX = r"(\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\])?"
_RESOURCE = re.compile(rf"(aws_\w+)\.([\w-]+){_INDEX}")
_VARIABLE = re.compile(r"var\.([\w-]+)")
_OUTPUT = re.compile(rf"module\.([\w-]+){_INDEX}\.([\w-]+)")
_CALL = re.compile(rf"module\.([\w-]+){_INDEX}")
_LAST_CALL = re.compile(rf"{_CALL.pattern}$")
_DEPTH = 20


@dataclass
class Instance:
    """One resource instance: its full address, type, index (with brackets, "" without), values and what is marked secret."""

    address: str
    module: Module
    kind: str
    name: str
    index: str
    values: dict[str, Any]
    secret: Any


@dataclass
class Module:
    """One module instance: its address ("" for the root), call name, index, configuration, and what it holds."""

    address: str
    parent: Module | None
    call: str
    index: str
    config: dict[str, Any]
    instances: list[Instance] = field(default_factory=list)
    children: list[Module] = field(default_factory=list)

    def block(self, kind: str, name: str) -> dict[str, Any]:
        """A resource block of this module."""
        for item in _list(self.config.get("resources")):
            if isinstance(item, dict) and (item.get("type"), item.get("name")) == (kind, name):
                return item
        return {}

    def called(self) -> dict[str, Any]:
        """The module block of the parent that makes this module."""
        return _dict(_dict(self.parent.config.get("module_calls")).get(self.call)) if self.parent else {}

    def outputs(self) -> dict[str, Any]:
        """Expressions of the outputs of this module."""
        return {name: _dict(item).get("expression") for name, item in _dict(self.config.get("outputs")).items()}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def modules_of(root: dict[str, Any], configuration: Any) -> Iterator[Module]:
    """The root module and all below it, parents first, with their instances."""
    config = _dict(_dict(configuration).get("root_module"))
    waiting: list[tuple[dict[str, Any], Module]] = [(root, Module("", None, "", "", config))]
    while waiting:
        node, module = waiting.pop()
        for item in _list(node.get("resources")):
            if (
                isinstance(item, dict)
                and item.get("mode", "managed") == "managed"
                and isinstance(item.get("address"), str)
            ):
                module.instances.append(_instance(item, module))
        for child in _list(node.get("child_modules")):
            if isinstance(child, dict) and isinstance(child.get("address"), str):
                match = _LAST_CALL.search(child["address"])
                call, index = (match.group(1), match.group(2) or "") if match else ("", "")
                inner = _dict(_dict(_dict(module.config.get("module_calls")).get(call)).get("module"))
                below = Module(child["address"], module, call, index, inner)
                module.children.append(below)
                waiting.append((child, below))
        yield module


def _instance(item: dict[str, Any], module: Module) -> Instance:
    index = item.get("index")
    if isinstance(index, str):
        escaped = index.replace("\\", "\\\\").replace('"', '\\"')
        shown = f'["{escaped}"]'
    else:
        shown = "" if index is None else f"[{index}]"
    values, secret = _dict(item.get("values")), item.get("sensitive_values")
    return Instance(item["address"], module, str(item.get("type")), str(item.get("name")), shown, values, secret)


def marked(node: Any, path: str) -> bool:
    """Whether a member, or all of what it stands in, is marked true (``after_unknown``, ``sensitive_values``)."""
    for step in path.split("/"):
        if isinstance(node, list):
            node = node[0] if node else None
        if not isinstance(node, dict):
            return node is True
        node = node.get(step)
    return node is True or (isinstance(node, list) and any(item is True for item in node))


def referred(instance: Instance, path: str) -> list[Instance]:
    """The resource instances that an argument refers to, through variables and outputs of modules too."""
    block = instance.module.block(instance.kind, instance.name)
    node = block.get("expressions")
    for step in path.split("/"):
        if isinstance(node, list):
            node = node[0] if node else None
        node = _dict(node).get(step)
    scope = _Scope(instance.module, instance.index, block.get("for_each_expression"))
    found = {id(item): item for item in _resolve(scope, node, _DEPTH) if item is not instance}
    return list(found.values())


@dataclass(frozen=True)
class _Scope:
    """Where an expression stands: its module, the index of its block's instance, and what the block iterates over."""

    module: Module
    index: str = ""
    iterated: Any = None


def _references(expression: Any) -> list[str]:
    return [item for item in _list(_dict(expression).get("references")) if isinstance(item, str)]


def _resolve(scope: _Scope, expression: Any, depth: int, same_index: bool = False) -> Iterator[Instance]:
    references = _references(expression)
    if not depth:
        return
    module = scope.module
    same_index = same_index or bool({"each.key", "count.index"} & set(references))
    resources: dict[tuple[str, str], set[str]] = {}
    outputs: dict[tuple[str, str], set[str]] = {}
    for reference in references:
        if match := _RESOURCE.match(reference):
            resources.setdefault((match.group(1), match.group(2)), set()).add(match.group(3) or "")
        elif match := _OUTPUT.match(reference):
            outputs.setdefault((match.group(1), match.group(3)), set()).add(match.group(2) or "")
        elif (match := _VARIABLE.match(reference)) and module.parent:
            above = _Scope(module.parent, module.index, module.called().get("for_each_expression"))
            yield from _resolve(above, _dict(module.called().get("expressions")).get(match.group(1)), depth - 1)
        elif match := _CALL.fullmatch(reference):
            # With an index that is computed, only the module is named; any of its outputs may be meant.
            outputs.setdefault((match.group(1), ""), set()).add(match.group(2) or "")
    if any(reference.startswith("each.value") for reference in references):
        yield from _resolve(_Scope(module, scope.index), scope.iterated, depth - 1, same_index=True)
    for (kind, name), given in resources.items():
        wanted = _wanted(given, scope.index if same_index else "")
        yield from (
            item for item in module.instances if (item.kind, item.name) == (kind, name) and _fits(item.index, wanted)
        )
    for (call, output), given in outputs.items():
        if not output and any(known == call and name for known, name in outputs):
            continue
        wanted = _wanted(given, scope.index if same_index else "")
        for child in module.children:
            if child.call == call and _fits(child.index, wanted):
                yield from _output(child, output, depth - 1)


def _output(module: Module, name: str, depth: int) -> Iterator[Instance]:
    """What an output refers to; without a name, what all outputs do, unless one may hide more behind a local value."""
    outputs = module.outputs()
    chosen = [outputs.get(name)] if name else list(outputs.values())
    if not name and any(item.startswith("local.") for expression in chosen for item in _references(expression)):
        return
    for expression in chosen:
        yield from _resolve(_Scope(module), expression, depth)


def _wanted(given: set[str], index: str) -> set[str]:
    """Indices that a reference means; empty for all: the bare name is listed beside each name with an index."""
    return (given - {""}) or ({index} if index else set())


def _fits(index: str, wanted: set[str]) -> bool:
    return not wanted or index in wanted
