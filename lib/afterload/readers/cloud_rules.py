"""Rules that AWS CLI exports and Terraform share: kinds of event sources, redrive policies, thresholds, provisioned mode."""

from __future__ import annotations

import json
from typing import Any

from afterload import limits
from afterload.readers.cloud_table import ATTRIBUTES
from afterload.readers.cloud_values import MISSING, Fields, UnreadableError, dig, parse_arn, text, whole
from afterload.readers.reading import Value

__all__ = ["check_types", "mapping_source", "off_or_whole", "pollers", "redrive", "retry_settings", "weighted"]

_SERVICES = {
    "sqs": "sqs", "kinesis": "kinesis", "dynamodb": "dynamodb", "kafka": "kafka", "mq": "mq", "rds": "documentdb",
    "docdb-elastic": "documentdb",
}  # fmt: skip


def mapping_source(arn: Any, self_managed: bool) -> tuple[str, str]:
    """Source kind of a mapping ("" if unknown) and the name of its queue ("" if it has none)."""
    parsed = parse_arn(arn)
    if parsed is None:
        return ("kafka" if self_managed else ""), ""
    kind = _SERVICES.get(parsed.service, "")
    return kind, parsed.resource if kind == "sqs" else ""


def redrive(policy: Any) -> tuple[str, int]:
    """Target and receive count of a RedrivePolicy, which is JSON inside a string. Raises :class:`UnreadableError`."""
    if isinstance(policy, str):
        try:
            policy = json.loads(policy)
        except (ValueError, RecursionError):
            raise UnreadableError("is not the JSON text of a redrive policy") from None
    if not isinstance(policy, dict) or "deadLetterTargetArn" not in policy or "maxReceiveCount" not in policy:
        raise UnreadableError("has no deadLetterTargetArn and maxReceiveCount")
    count = whole(policy["maxReceiveCount"]) or 0
    return text(policy["deadLetterTargetArn"]), count


def off_or_whole(value: Any) -> Value:
    """A threshold of a target group: a number, or "off", given as None."""
    return None if isinstance(value, str) and value.strip().lower() == "off" else whole(value)


def retry_settings(fields: Fields) -> None:
    """The two retry settings of an environment; no other variable is looked at, and no value is repeated in a remark."""

    def mode(value: Any) -> Value:
        if not isinstance(value, str) or value.lower() not in ("legacy", "standard", "adaptive"):
            raise UnreadableError("is not legacy, standard or adaptive")
        return value.lower()

    def attempts(value: Any) -> Value:
        try:
            return whole(value)
        except UnreadableError:
            raise UnreadableError("is not a whole number") from None

    fields.read("aws_retry_mode", mode)
    fields.read("aws_max_attempts", attempts)


def pollers(fields: Fields) -> None:
    """Provisioned mode: where only one of its two bounds is set, the other is the service's own."""
    rows = ATTRIBUTES["lambda.mapping"]
    ends = ("minimum", "maximum")
    try:
        given = [fields.raw(rows[f"provisioned_{end}"]) is not MISSING for end in ends]
    except UnreadableError:
        given = [True, True]
    for end, known, other in zip(ends, given, reversed(given), strict=True):
        path = fields.path(rows[f"provisioned_{end}"])
        own = fields.complete and fields.source in ("sqs", "kafka") and not fields.unknown(path)
        if own and other and not known:
            value = limits.whole(f"lambda.{fields.source}.pollers.{end}.default")
            fields.see(f"provisioned_{end}", value, path, "default")
        else:
            fields.read(f"provisioned_{end}", lambda value: whole(value, (0,)))


def check_types(value: Any) -> Value:
    """Health check types, which may come as a list with commas."""
    return tuple(part.strip().upper() for part in text(value).split(",") if part.strip())


def weighted(node: Any, overrides: str, weight: str) -> bool:
    """Whether the overrides of a mixed instances policy give instance types weights, so that capacity counts units."""
    try:
        found = dig(node or {}, overrides)
    except UnreadableError:
        return False
    return isinstance(found, list) and any(isinstance(item, dict) and item.get(weight) for item in found)
