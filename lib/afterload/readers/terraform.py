"""Read ``terraform show -json`` of a plan or a state, and OpenTofu's, which is the same.

Source: Terraform, JSON output format (format versions 0.1 to 1.2). A plan shows what will be once it is applied; values
that are not known before are absent in it, and ``resource_changes[].change.after_unknown`` tells them from unset ones.
Of a resource that the plan changes, ``change.before`` is read, which is in force; of one that it makes, the values are
marked as planned.
Resource types and their attributes: :data:`afterload.readers.cloud_table.TERRAFORM_TYPES` and the column ``terraform`` of
:data:`afterload.readers.cloud_table.ATTRIBUTES`, named as in the documentation of the AWS provider.

Values that are marked sensitive are not read, and of an environment only AWS_RETRY_MODE and AWS_MAX_ATTEMPTS are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from afterload.readers.aws_formats import TERRAFORM_COMMAND
from afterload.readers.cloud_rules import (
    check_types,
    mapping_source,
    off_or_whole,
    pollers,
    redrive,
    retry_settings,
    weighted,
)
from afterload.readers.cloud_table import ATTRIBUTES, TERRAFORM_TYPES
from afterload.readers.cloud_values import (
    MISSING,
    Collector,
    Fields,
    Refused,
    UnreadableError,
    dig,
    flag,
    function_key,
    queue_name,
    text,
    whole,
)
from afterload.readers.jsondocs import Document
from afterload.readers.reading import Value
from afterload.readers.states import read_definition
from afterload.readers.terraform_refs import Instance, marked, modules_of, referred

__all__ = ["is_terraform", "prune", "read_terraform"]

# Beside those read: what a mapping can refer to on the way to its function.
_KEPT = {*TERRAFORM_TYPES, "aws_lambda_alias"}
_STUB = ("address", "mode", "type", "name", "index")
_SOURCES = {
    "aws_sqs_queue": "sqs",
    "aws_kinesis_stream": "kinesis",
    "aws_dynamodb_table": "dynamodb",
    "aws_msk_cluster": "kafka",
    "aws_msk_serverless_cluster": "kafka",
    "aws_mq_broker": "mq",
    "aws_docdb_cluster": "documentdb",
}


def prune(pairs: list[tuple[str, Any]]) -> Any:
    """Object hook that lets go of Terraform resources of other types as soon as each is read: a large plan is mostly these."""
    value = dict(pairs)
    kind = value.get("type")
    if not isinstance(kind, str) or kind in _KEPT or "address" not in value:
        return value
    if "values" in value:
        return {member: value[member] for member in _STUB if member in value}
    return None if "change" in value or "expressions" in value else value


def is_terraform(value: Any) -> bool:
    """Whether a document is output of Terraform, of any kind."""
    if not isinstance(value, dict):
        return False
    return "terraform_version" in value or "format_version" in value or "@level" in value or "planned_values" in value


def read_terraform(collector: Collector, document: Document) -> None:
    """Read one document of Terraform. Raises :class:`Refused`, with the command to run, for other forms than show -json."""
    value = document.value
    version = value.get("format_version")
    if "@level" in value:
        raise Refused(f"is the log of terraform plan -json, not the plan: run {TERRAFORM_COMMAND}")
    if (version is None and "lineage" in value) or isinstance(value.get("resources"), list):
        raise Refused(f"is a raw state file, whose format is Terraform's own: run {TERRAFORM_COMMAND}")
    if not isinstance(version, str) or not re.fullmatch(r"[01]\.\d+", version):
        shown = f"format_version {version}" if re.fullmatch(r"[\w.]{1,20}", str(version)) else "a format_version"
        raise Refused(f"has {shown}, not 0.x or 1.x of terraform show -json: run {TERRAFORM_COMMAND}")
    plan = "planned_values" in value
    body = value.get("planned_values") if plan else value.get("values")
    root = body.get("root_module") if isinstance(body, dict) else None
    if not isinstance(root, dict) or (document.cut and not {"resources", "child_modules"} & set(root)):
        if document.cut:
            raise Refused(f"{document.cut} before its resources: export it again")
        raise Refused("holds no resources: is the state empty, or another workspace selected?")
    if document.cut:
        collector.remark("partial", f"{document.cut}: only the whole resources before that were read; export it again")
    if plan and (value.get("errored") is True or value.get("complete") is False):
        collector.remark("partial", "the plan says that it is not complete: some resources may be absent")
    _date(collector, value.get("timestamp") if plan else None)
    _Reader(collector, plan, value, bool(document.cut)).read(root)


def _date(collector: Collector, stamp: Any) -> None:
    """A plan has the time at which it was made; the file's date stays where that cannot be read."""
    try:
        made = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return
    if made.tzinfo is not None:
        collector.exported_at = made


@dataclass
class _Reader:
    collector: Collector
    plan: bool
    document: dict[str, Any]
    cut: bool = False
    # Whether a changed resource is read as it is now; else as the plan makes it.
    now: bool = True
    _changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Queues whose redrive policy is a resource of its own.
    _apart: set[str] = field(default_factory=set)

    def read(self, root: dict[str, Any]) -> None:
        """Every instance of the types known."""
        changes = self.document.get("resource_changes")
        for item in changes if isinstance(changes, list) else []:
            if isinstance(item, dict) and isinstance(item.get("change"), dict) and "deposed" not in item:
                self._changes[str(item.get("address"))] = item["change"]
        modules = list(modules_of(root, self.document.get("configuration")))
        known = [item for module in modules for item in module.instances if item.kind in TERRAFORM_TYPES]
        self._apart = {self._queue(item, "queue_url") for item in known if item.kind == "aws_sqs_queue_redrive_policy"}
        after = {item.address: item.values for item in known}
        for item in known:
            if before := self._before(item):
                item.values = {**item.values, **before}
        for item in known:
            if not item.address.isprintable():
                self.collector.remark("refused", "a resource has an address that cannot be printed: not read")
                continue
            self.collector.planned = self._is_new(item)
            _READ[item.kind](self, item)
        self.collector.planned = False
        if not known:
            listed = ", ".join(sorted(TERRAFORM_TYPES))
            self.collector.remark("doubt", f"none of its resources is of a type that is read: {listed}")
        if self.plan:
            self._say_changes(known, after)

    def _changing(self, item: Instance) -> bool:
        return self._changes.get(item.address, {}).get("actions") not in (None, [], ["no-op"], ["read"])

    def _is_new(self, item: Instance) -> bool:
        """Whether the resource is not there before the plan is applied."""
        return self.plan and self._changing(item) and not self._before(item)

    def _before(self, item: Instance) -> dict[str, Any]:
        """Values in force of a resource that the plan changes; empty where it does not, or where there are none."""
        before = self._changes.get(item.address, {}).get("before") if self._changing(item) else None
        return before if isinstance(before, dict) else {}

    def _say_changes(self, known: list[Instance], after: dict[str, dict[str, Any]]) -> None:
        """Name each resource that the plan changes with the fields of it that are read, as they are and as they would be."""
        without = [item for item in known if item.address not in self._changes]
        for item in known:
            if not item.address.isprintable() or not self._changing(item):
                continue
            if self._is_new(item):
                words = "is made by this plan, which is not applied: its values are planned, not in force"
                self.collector.remark("doubt", f"{item.address} {words}")
            elif fields := self._changed(item, after[item.address]):
                words = f"{item.address} changes by this plan, which is not applied, so what is now is read: {'; '.join(fields)}"
                self.collector.remark("doubt", words)
        self._say_without(without, known)

    def _changed(self, item: Instance, after: dict[str, Any]) -> list[str]:
        """Fields that a plan changes: "scaling_config.maximum_concurrency: unset now, 25 by the plan"."""
        seen = []
        for values, before in ((item.values, True), (after, False)):
            aside = Collector("", self.collector.exported_at)
            _READ[item.kind](replace(self, collector=aside, now=before), replace(item, values=dict(values)))
            found = aside.inventory().observations
            seen.append({(one.attribute, one.origin.place): one.value for one in found})
        now, then = seen
        fields: dict[str, str] = {}
        for attribute, place in sorted({*now, *then}):
            key = (attribute, place)
            if key in now and key in then and now[key] == then[key]:
                continue
            path = place.removeprefix(item.address).removeprefix(".") or attribute
            ends = (_shown(side[key]) if key in side else "not told" for side in (now, then))
            label = path if path.endswith(attribute) or path not in fields else f"{path} ({attribute})"
            fields[label] = "{} now, {} by the plan".format(*ends)
        return [f"{name}: {words}" for name, words in fields.items()]

    def _say_without(self, without: list[Instance], known: list[Instance]) -> None:
        if without:
            where = f"resource_changes has no entry for {len(without)} of {len(known)} resources"
            words = f"{where}: what is absent in them is not taken for unset"
            self.collector.remark("partial", words)

    def _fields(self, item: Instance, kind: str, name: str, source: str = "") -> Fields:
        change = self._changes.get(item.address)
        before = self._before(item) if self.now else {}
        unknown = change.get("after_unknown") if change else None
        secret = change.get("after_sensitive") if change else None
        secret_before = change.get("before_sensitive") if change and before else None
        return Fields(
            self.collector,
            kind,
            name,
            item.values,
            item.address,
            column="terraform",
            complete=not self.plan or change is not None,
            source=source,
            unknown=lambda path: path.split("/")[0] not in before and marked(unknown, path),
            secret=lambda path: any(marked(marks, path) for marks in (item.secret, secret, secret_before)),
            refer=lambda path: self._address(item, path),
        )

    # What values that are not known yet refer to

    def _address(self, item: Instance, path: str) -> str | None:
        found = referred(item, path)
        return found[0].address if len(found) == 1 else None

    def _one(self, item: Instance, path: str, *kinds: str) -> Instance | None:
        found = [other for other in referred(item, path) if other.kind in kinds]
        return found[0] if len(found) == 1 else None

    def _text(self, item: Instance, path: str) -> str:
        """A value as text; empty where it is absent, unknown, secret, or no text."""
        try:
            return "" if self._fields(item, "sqs.queue", "").secret(path) else text(dig(item.values, path))
        except UnreadableError:
            return ""

    def _named(self, item: Instance, member: str) -> str:
        """Name of an instance, or its address before it has one."""
        return self._text(item, member) or item.address

    def _function(self, item: Instance, path: str = "function_name") -> tuple[str, str]:
        """Function name (or address) and qualifier that an argument means; empty where it is not known."""
        given = self._text(item, path)
        if given:
            return function_key(given)
        function = self._one(item, path, "aws_lambda_function")
        if function:
            return self._named(function, "function_name"), ""
        alias = self._one(item, path, "aws_lambda_alias")
        if alias:
            return self._function(alias)[0], self._text(alias, "name")
        return "", ""

    def _queue(self, item: Instance, path: str) -> str:
        """Queue name (or address) that an argument means; empty where it is not known."""
        given = self._text(item, path)
        queue = None if given else self._one(item, path, "aws_sqs_queue")
        return queue_name(given) if given else self._named(queue, "name") if queue else ""

    # Resource types

    def _mapping(self, item: Instance) -> None:
        source, _ = mapping_source(
            self._text(item, "event_source_arn"), bool(item.values.get("self_managed_event_source"))
        )
        if not source:
            found = self._one(item, "event_source_arn", *_SOURCES)
            source = _SOURCES[found.kind] if found else ""
        fields = self._fields(item, "lambda.mapping", self._text(item, "uuid") or item.address, source)
        function, qualifier = self._function(item)
        if function:
            fields.see("function", function, "function_name")
            fields.see("qualifier", qualifier or None, "function_name")
        else:
            fields.later.append("function_name")
        if source:
            fields.see("source_kind", source, "event_source_arn")
        if source == "sqs":
            fields.see("queue", self._queue(item, "event_source_arn"), "event_source_arn")
        try:
            enabled = dig(item.values, "enabled")
            if enabled is not MISSING:
                fields.see("state", "Enabled" if flag(enabled) else "Disabled", "enabled")
        except UnreadableError as problem:
            fields.refuse("enabled", problem)
        fields.read_all()
        pollers(fields)
        fields.finish()

    def _lambda(self, item: Instance) -> None:
        fields = self._fields(item, "lambda.function", self._named(item, "function_name"))
        fields.read_all()
        fields.read("reserved_concurrency", lambda value: whole(value, (-1,)))
        retry_settings(fields)
        fields.finish()

    def _of_function(self, item: Instance, kind: str) -> Fields | None:
        """Fields of a resource that belongs to a function; None, with a remark, where that is not known."""
        function, qualifier = self._function(item)
        qualifier = self._text(item, "qualifier") or qualifier
        if not function:
            self.collector.remark(
                "doubt", f"{item.address}: function_name is not known before the plan is applied: not read"
            )
            return None
        name = function if qualifier in ("", "$LATEST") else f"{function}:{qualifier}"
        return self._fields(item, kind, name)

    def _invoke_config(self, item: Instance) -> None:
        # The provider keeps 0 where the service has no age of its own set.
        if item.values.get("maximum_event_age_in_seconds") == 0:
            item.values.pop("maximum_event_age_in_seconds")
        fields = self._of_function(item, "lambda.async")
        if fields:
            fields.read_all()
            fields.finish()

    def _provisioned(self, item: Instance) -> None:
        fields = self._of_function(item, "lambda.function")
        if fields:
            fields.read("provisioned_concurrency", whole)
            fields.finish()

    def _sqs(self, item: Instance) -> None:
        name = self._named(item, "name")
        fields = self._fields(item, "sqs.queue", name)
        fields.read_all()
        if not self._text(item, "url") and self._text(item, "id").startswith("http"):
            fields.see("url", self._text(item, "id"), "id")
        try:
            given = dig(item.values, "fifo_queue")
            fields.see("fifo", flag(given) if given is not MISSING else name.endswith(".fifo"), "fifo_queue")
        except UnreadableError as problem:
            fields.refuse("fifo_queue", problem)
        self._redrive(item, fields, apart=self.cut or name in self._apart)
        fields.finish()

    def _redrive_policy(self, item: Instance) -> None:
        name = self._queue(item, "queue_url")
        if not name:
            self.collector.remark(
                "doubt", f"{item.address}: queue_url is not known before the plan is applied: not read"
            )
            return
        fields = self._fields(item, "sqs.queue", name)
        self._redrive(item, fields, apart=True)
        fields.finish()

    def _redrive(self, item: Instance, fields: Fields, *, apart: bool) -> None:
        """The redrive policy of a queue; where it is a resource of its own, its absence here says nothing."""
        try:
            if fields.secret("redrive_policy"):
                raise UnreadableError("is marked sensitive, so it is not read")
            policy = dig(item.values, "redrive_policy")
            if policy not in (MISSING, "", "{}"):
                target, count = redrive(policy)
                fields.see("redrive_target", target, "redrive_policy")
                fields.see("max_receive_count", count, "redrive_policy")
                return
        except UnreadableError as problem:
            fields.refuse("redrive_policy", problem)
            return
        if fields.unknown("redrive_policy"):
            queue = self._one(item, "redrive_policy", "aws_sqs_queue")
            if queue:
                fields.see("redrive_target", queue.address, "redrive_policy")
            fields.later.append("redrive_policy")
        elif fields.complete and not apart:
            fields.see("redrive_target", None, "redrive_policy")
            fields.see("max_receive_count", None, "redrive_policy")

    def _group(self, item: Instance) -> None:
        fields = self._fields(item, "autoscaling.group", self._named(item, "name"))
        fields.read_all()
        fields.read("health_check_types", check_types)
        unit = self._text(item, "desired_capacity_type") or "instances"
        if unit in ("instances", "units"):
            overrides = "mixed_instances_policy/launch_template/override"
            unit = "units" if weighted(item.values, overrides, "weighted_capacity") else "instances"
        if unit in ("instances", "units", "vcpu", "memory-mib"):
            fields.see("capacity_unit", unit, "desired_capacity_type")
        fields.finish()

    def _target_group(self, item: Instance) -> None:
        fields = self._fields(item, "elb.target_group", self._named(item, "name"))
        fields.read_all()
        served = item.values.get("target_type") != "lambda" and item.values.get("protocol") != "GENEVE"
        for attribute, row in ATTRIBUTES["elb.target_group"].items():
            if row.form == "computed" and (served or not attribute.startswith(("dns", "routing"))):
                fields.read(attribute, off_or_whole)
        fields.finish()

    def _machine(self, item: Instance) -> None:
        place = f"{item.address}.definition"
        fields = self._fields(item, "states.retry", "")
        if fields.secret("definition"):
            self.collector.remark("refused", f"{place} is marked sensitive: not read")
        elif item.values.get("definition") is None:
            self.collector.remark("doubt", f"{place} will be known only after the plan is applied: not read")
        else:
            try:
                read_definition(self.collector, self._named(item, "name"), item.values["definition"], place)
            except Refused as problem:
                self.collector.remark("refused", str(problem))


def _shown(value: Value) -> str:
    """A value for people."""
    if value is None or value == ():
        return "unset"
    return f"{value:.15g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


_READ: dict[str, Callable[[_Reader, Instance], None]] = {
    "aws_lambda_event_source_mapping": _Reader._mapping,
    "aws_lambda_function": _Reader._lambda,
    "aws_lambda_function_event_invoke_config": _Reader._invoke_config,
    "aws_lambda_provisioned_concurrency_config": _Reader._provisioned,
    "aws_sqs_queue": _Reader._sqs,
    "aws_sqs_queue_redrive_policy": _Reader._redrive_policy,
    "aws_autoscaling_group": _Reader._group,
    "aws_lb_target_group": _Reader._target_group,
    "aws_alb_target_group": _Reader._target_group,
    "aws_sfn_state_machine": _Reader._machine,
}
