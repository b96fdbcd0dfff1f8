"""Inventories as plain tables, to compare them by."""

from __future__ import annotations

from typing import Any

from afterload.readers.reading import Inventory


def values(inventory: Inventory, kind: str, name: str) -> dict[str, Any]:
    """Attribute: value of one resource."""
    resource = inventory.resource(kind, name)
    assert resource is not None, [(item.kind, item.resource) for item in inventory.observations]
    return {item.attribute: item.value for item in resource.observations}


def defaults(inventory: Inventory, kind: str, name: str) -> set[str]:
    """Attributes that hold the service's own value, since the export shows them unset."""
    resource = inventory.resource(kind, name)
    assert resource is not None
    return {item.attribute for item in resource.observations if item.origin.basis == "default"}


def table(inventory: Inventory) -> set[tuple[Any, ...]]:
    """All observations without their places."""
    return {
        (item.kind, item.resource, item.attribute, item.value, item.origin.basis) for item in inventory.observations
    }


def said(inventory: Inventory, kind: str) -> str:
    """Texts of the remarks of one kind."""
    return "\n".join(item.text for item in inventory.remarks if item.kind == kind)


def shown(inventory: Inventory) -> str:
    """Everything of an inventory that a person may see."""
    return "\n".join(map(repr, (*inventory.observations, *inventory.remarks)))
