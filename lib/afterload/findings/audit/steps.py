"""How to change a setting where it was set: commands of the AWS CLI, or attributes of the Terraform resource."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from afterload.findings.audit.links import ADDRESS
from afterload.findings.phrases import quoted
from afterload.readers.reading import Origin

__all__ = ["Steps", "choose", "comments", "compact", "hcl", "queue_attributes", "update_mapping"]

_ADDRESS = re.compile(rf"(?:^|\s)({ADDRESS})(?=$|[\s.])")


@dataclass(frozen=True)
class Steps:
    """Lines that change a setting and lines that undo it, in the order to run them.

    Attributes:
        apply, undo: the lines; a line that begins with ``#`` is for people.
        language: sh: commands for a shell; hcl: arguments to write into the Terraform resource that the first line names.
    """

    apply: tuple[str, ...]
    undo: tuple[str, ...]
    language: Literal["sh", "hcl"] = "sh"


def terraform_address(origin: Origin | None) -> str | None:
    """Address of the Terraform resource that a value came from; None if it did not come from Terraform."""
    found = _ADDRESS.search(origin.place) if origin is not None else None
    return found[1] if found else None


def choose(
    origin: Origin | None,
    apply: Sequence[str],
    undo: Sequence[str],
    terraform_apply: Sequence[str],
    terraform_undo: Sequence[str],
) -> Steps:
    """Commands for a setting that the CLI showed or no export did; Terraform arguments for one that Terraform manages.

    What a command changed beside Terraform, the next ``terraform apply`` would set back.
    """
    address = terraform_address(origin)
    if address is None:
        return Steps(tuple(apply), tuple(undo))
    head = f"# in {address}, then terraform plan and terraform apply"
    return Steps((head, *terraform_apply), (head, *terraform_undo), "hcl")


def comments(*lines: str) -> tuple[str, ...]:
    """Lines for people in a block of commands."""
    return tuple(f"# {line}" for line in lines)


def hcl(text: str) -> str:
    """A text as a quoted template of Terraform's language, without interpolation."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def compact(data: Mapping[str, Any]) -> str:
    """JSON for one argument of a shell command, quoted."""
    return quoted(json.dumps(data, ensure_ascii=False, separators=(",", ":")), "'{}'")


def update_mapping(uuid: str | None, options: str) -> str:
    """Command that changes an event source mapping."""
    return f"aws lambda update-event-source-mapping --uuid {quoted(uuid, 'MAPPING_UUID')} {options}"


def queue_attributes(url: str | None, attributes: Mapping[str, str]) -> str:
    """Command that sets attributes of a queue."""
    return f"aws sqs set-queue-attributes --queue-url {quoted(url, 'QUEUE_URL')} --attributes {compact(attributes)}"
