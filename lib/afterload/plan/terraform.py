"""Terraform as text: a resource with its values, quoted so that a name never says more than itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from afterload.plan.change import slug

__all__ = ["function_call", "locals_block", "resource"]

BESIDE = "beside what it has already"


class Expression(str):
    """Text that Terraform evaluates, where other text is a string to it."""

    __slots__ = ()


def resource(kind: str, name: str, values: Mapping[str, Any], note: str = BESIDE) -> str:
    """A resource block with a comment; values that are mappings become blocks inside it."""
    return "\n".join([f'resource "{kind}" "{slug(name)}" {{', f"  # {note}", *_body(values, "  "), "}"])


def locals_block(values: Mapping[str, Any], note: str) -> str:
    """A block of local values with a comment."""
    return "\n".join(["locals {", f"  # {note}", *_body(values, "  "), "}"])


def function_call(name: str, value: Any) -> Expression:
    """A function of Terraform applied to a value: ``jsonencode({ a = 1 })``."""
    return Expression(f"{name}({_value(value)})")


def _value(value: Any) -> str:
    if isinstance(value, Expression):
        return value
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, str):
        # ${ and %{ would begin a template.
        return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    return json.dumps(value)


def _body(values: Mapping[str, Any], indent: str) -> list[str]:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    width = max(map(len, plain), default=0)
    lines = [f"{indent}{key:<{width}} = {_value(value)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key} {{", *_body(value, indent + "  "), f"{indent}}}"]
    return lines
