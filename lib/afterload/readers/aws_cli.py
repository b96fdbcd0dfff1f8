"""Read exports of the AWS CLI (``--output json``): the kind of each document is told by its content.

Operations: lambda list-event-source-mappings, get-event-source-mapping, list-function-event-invoke-configs,
get-function-event-invoke-config, get-function-concurrency, get-function-configuration, get-function, list-functions,
list-provisioned-concurrency-configs, get-account-settings; sqs get-queue-attributes, list-queues; autoscaling
describe-auto-scaling-groups; elbv2 describe-target-groups, describe-target-group-attributes; stepfunctions
describe-state-machine, and the definition of a state machine by itself.

Source of the shapes: the service models that botocore carries. A member that is absent is an unset one only where the
object shows by other members that nothing was filtered out of it (``--query``, ``--attribute-names``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from afterload.readers.aws_shapes import shape_of
from afterload.readers.cloud_rules import (
    check_types,
    mapping_source,
    off_or_whole,
    pollers,
    redrive,
    retry_settings,
    weighted,
)
from afterload.readers.cloud_table import ATTRIBUTES
from afterload.readers.cloud_values import (
    MISSING,
    Collector,
    Fields,
    Refused,
    UnreadableError,
    dig,
    flag,
    function_key,
    parse_arn,
    queue_name,
    text,
    whole,
)
from afterload.readers.jsondocs import Document
from afterload.readers.states import read_definition

__all__ = ["AwsReader"]

_DEPTH = 4
_TOKENS = {
    "NextToken": "export again without --max-items, or go on with --starting-token and hand in every page",
    "NextMarker": "export again without --no-paginate, or go on with --marker and hand in every page",
}
# The option of a command that names what a nameless export is about.
_SUBJECTS = {
    "lambda.function": "function-name",
    "lambda.async": "function-name",
    "sqs.queue": "queue-url",
    "elb.target_group": "target-group-arn",
}


@dataclass
class AwsReader:
    """Reads the documents of one file into a collector.

    Attributes:
        collector: where observations and remarks go.
        subject: the function, queue or target group that a nameless export is about, as the caller says.
        stem: the file's name without its ending.
    """

    collector: Collector
    subject: str | None = None
    stem: str = ""
    _document: Document = field(default_factory=lambda: Document(None, 0))
    _pages: dict[str, list[str]] = field(default_factory=dict)
    # Health attributes of target groups that nothing names: line, place and values.
    _nameless: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)

    def read(self, document: Document) -> bool:
        """Read one document; false if it is none of the exports known. Raises :class:`Refused`."""
        self._document = document
        before = self.collector.count
        found = self._any(document.value, "", 0)
        if found and document.cut:
            if self.collector.count == before:
                raise Refused(f"{document.cut} before its first whole entry: export it again")
            self.collector.remark(
                "partial", f"{document.cut}: only the whole entries before that were read; export it again"
            )
        return found

    def finish(self) -> None:
        """Name what only the file's name can name, and say which lists are one page of more."""
        if len(self._nameless) == 1 and self.stem:
            self.collector.line, place, given = self._nameless[0]
            words = f"describe-target-group-attributes does not say for which target group: {self.stem} is the name of the file"
            self.collector.remark("doubt", words)
            self._thresholds(self.stem, given, place)
        elif self._nameless:
            words = (
                f"the file holds {len(self._nameless)} outputs of describe-target-group-attributes that do not say for which "
                "target group: keep each command with its --target-group-arn above its output, or give each its own file"
            )
            self.collector.remark("ask", words, 0)
        for operation, tokens in self._pages.items():
            left = [token for token in tokens if token]
            if not left:
                continue
            if len(left) == len(tokens):
                words = f"{left[0]} is left over, so this is one page of more: {_TOKENS[left[0]]}"
                self.collector.remark("partial", f"{operation}: {words}", 0)
            else:
                words = f"{len(left)} of {len(tokens)} pages say that another follows: read as all pages of one list"
                self.collector.remark("doubt", f"{operation}: {words}", 0)

    def unset(self, kind: str, name: str, place: str) -> None:
        """What an operation that finds nothing says of one function: no reservation, or no configuration of its own."""
        if kind == "lambda.async":
            Fields(self.collector, kind, name, {}, place).read_all()
        else:
            self.collector.see(kind, name, "reserved_concurrency", None, place)

    def _any(self, value: Any, place: str, depth: int) -> bool:
        """One value: an export, or something around exports."""
        shape = shape_of(value)
        if shape:
            _READ[shape](self, value, place)
            return True
        if depth >= _DEPTH:
            return False
        inner: Iterator[tuple[str, Any]] = iter(())
        if isinstance(value, list):
            inner = ((f"[{place_in}]", item) for place_in, item in enumerate(value))
        elif isinstance(value, dict):
            inner = ((f".{key}", item) for key, item in value.items())
        found = False
        for step, item in inner:
            if isinstance(item, dict | list):
                try:
                    found = self._any(item, f"{place}{step}".removeprefix("."), depth + 1) or found
                except Refused as problem:
                    self.collector.remark("refused", str(problem))
                    found = True
        return found

    # Lists of resources

    def _items(self, document: dict[str, Any], key: str, place: str, operation: str) -> Iterator[tuple[Any, str]]:
        items = document[key]
        if not items and not self._document.cut:
            self.collector.remark("doubt", f"{operation} lists none: are account and region those meant?")
        self._pages.setdefault(operation, []).append(next((token for token in _TOKENS if document.get(token)), ""))
        for number, item in enumerate(items):
            where = f"{place}.{key}[{number}]".removeprefix(".")
            if isinstance(item, dict):
                yield item, where
            else:
                self.collector.remark("refused", f"{where} is no object: not read")

    def _mappings(self, document: dict[str, Any], place: str) -> None:
        for item, where in self._items(document, "EventSourceMappings", place, "list-event-source-mappings"):
            self._mapping(item, where)

    def _invoke_configs(self, document: dict[str, Any], place: str) -> None:
        operation = "list-function-event-invoke-configs"
        if not document["FunctionEventInvokeConfigs"] and not self._document.cut:
            name = self._subject("lambda.async", f"{operation} lists none, and does not say for which function")
            if name:
                self.unset("lambda.async", name, f"{place}.FunctionEventInvokeConfigs".removeprefix("."))
            return
        for item, where in self._items(document, "FunctionEventInvokeConfigs", place, operation):
            self._invoke_config(item, where)

    def _functions(self, document: dict[str, Any], place: str) -> None:
        for item, where in self._items(document, "Functions", place, "list-functions"):
            self._function(item, where)

    def _provisioned(self, document: dict[str, Any], place: str) -> None:
        operation = "list-provisioned-concurrency-configs"
        for item, where in self._items(document, "ProvisionedConcurrencyConfigs", place, operation):
            name = self._function_name(item, where)
            if name:
                Fields(self.collector, "lambda.function", name, item, where).read("provisioned_concurrency", whole)

    def _groups(self, document: dict[str, Any], place: str) -> None:
        for item, where in self._items(document, "AutoScalingGroups", place, "describe-auto-scaling-groups"):
            self._group(item, where)

    def _target_groups(self, document: dict[str, Any], place: str) -> None:
        for item, where in self._items(document, "TargetGroups", place, "describe-target-groups"):
            self._target_group(item, where)

    def _queues(self, document: dict[str, Any], place: str) -> None:
        self._pages.setdefault("list-queues", []).append(next((token for token in _TOKENS if document.get(token)), ""))
        self._urls(document["QueueUrls"], f"{place}.QueueUrls".removeprefix("."))

    def _urls(self, urls: list[Any], place: str) -> None:
        for number, item in enumerate(urls):
            where = f"{place}[{number}]"
            try:
                url = text(item)
            except UnreadableError as problem:
                self.collector.remark("refused", f"{where} {problem}: not read")
                continue
            self.collector.see("sqs.queue", queue_name(url), "url", url, where)
            self.collector.see("sqs.queue", queue_name(url), "fifo", url.endswith(".fifo"), where)

    # Single resources

    def _single(self, operation: str, place: str) -> None:
        """Refuse one resource that is cut off, since what is absent may have been cut; entries of a list are whole."""
        if self._document.cut and "[" not in place:
            raise Refused(f"{operation}: {self._document.cut}: export it again")

    def _name(self, item: dict[str, Any], member: str, place: str) -> str:
        """The name of a resource; empty, with a remark, where it cannot be read."""
        try:
            return text(item.get(member))
        except UnreadableError:
            self.collector.remark("refused", f"{place or 'the object'} has no {member} that can be read: not read")
            return ""

    def _function_name(self, item: dict[str, Any], place: str) -> str:
        """Name of the function of an object, with its qualifier; empty, with a remark, where it cannot be read."""
        member = "FunctionArn" if item.get("FunctionArn") else "FunctionName"
        found = self._name(item, member, place)
        name, qualifier = function_key(found) if found else ("", "")
        return f"{name}:{qualifier}" if qualifier else name

    def _subject(self, kind: str, why: str) -> str:
        """What a nameless document is about: as the caller says, or the command before it does; empty after asking."""
        command = self._document.command
        option = _SUBJECTS[kind]
        found = self.subject or (command.options.get(option, "") if command else "")
        if not found:
            self.collector.remark(
                "ask", f"{why}: say it (subject), or keep the command with its --{option} above its output"
            )
            return ""
        if kind == "sqs.queue":
            return queue_name(found)
        if kind == "elb.target_group":
            arn = parse_arn(found)
            return arn.resource.split("/")[1] if arn and arn.resource.count("/") == 2 else found
        name, qualifier = function_key(found)
        return f"{name}:{qualifier}" if qualifier else name

    def _complete(self, item: dict[str, Any], place: str, *members: str) -> bool:
        """Whether nothing was filtered out of an object, shown by members that the service always gives."""
        absent = [member for member in members if member not in item]
        if absent:
            where = f"{place or 'the object'} has no {absent[0]}, so members were filtered out"
            words = f"{where}: export it without --query; what is absent is not taken for unset"
            self.collector.remark("partial", words)
        return not absent

    def _mapping(self, item: dict[str, Any], place: str) -> None:
        self._single("get-event-source-mapping", place)
        uuid = self._name(item, "UUID", place)
        if not uuid:
            return
        source, queue = mapping_source(item.get("EventSourceArn"), bool(item.get("SelfManagedEventSource")))
        complete = self._complete(item, place, "State", "FunctionArn", "LastModified")
        fields = Fields(self.collector, "lambda.mapping", uuid, item, place, complete=complete, source=source)
        name = self._function_name(item, place)
        if name:
            function, _, qualifier = name.partition(":")
            fields.see("function", function, "FunctionArn")
            fields.see("qualifier", qualifier or None, "FunctionArn")
        if source:
            fields.see("source_kind", source, "EventSourceArn")
        elif complete:
            self.collector.remark("doubt", f"{place or 'the mapping'}: the kind of its event source is not known here")
        if queue:
            fields.see("queue", queue, "EventSourceArn")
        fields.read_all()
        pollers(fields)

    def _invoke_config(self, item: dict[str, Any], place: str) -> None:
        self._single("get-function-event-invoke-config", place)
        name = self._function_name(item, place)
        if name:
            complete = self._complete(item, place, "LastModified")
            Fields(self.collector, "lambda.async", name, item, place, complete=complete).read_all()

    def _function(self, item: dict[str, Any], place: str) -> None:
        self._single("get-function-configuration", place)
        name = self._function_name(item, place)
        if not name:
            return
        complete = self._complete(item, place, "FunctionName", "LastModified", "Version")
        fields = Fields(self.collector, "lambda.function", name, item, place, complete=complete)
        fields.read_all()
        environment = item.get("Environment")
        if isinstance(environment, dict) and environment.get("Error"):
            self.collector.remark(
                "refused", f"{place or 'the function'}: its environment could not be read by who exported it"
            )
        else:
            retry_settings(fields)

    def _get_function(self, document: dict[str, Any], place: str) -> None:
        self._single("get-function", place)
        where = f"{place}.Configuration".removeprefix(".")
        self._function(document["Configuration"], where)
        name = self._function_name(document["Configuration"], where)
        if name and ("Code" in document or "Concurrency" in document):
            self._reserved(
                name.partition(":")[0], document.get("Concurrency") or {}, f"{place}.Concurrency".removeprefix(".")
            )

    def _reserved(self, name: str, item: Any, place: str) -> None:
        where = f"{place}.ReservedConcurrentExecutions".removeprefix(".")
        try:
            value = dig(item, "ReservedConcurrentExecutions")
            value = None if value is MISSING else whole(value)
        except UnreadableError as problem:
            self.collector.remark("refused", f"{where} {problem}: not read")
            return
        self.collector.see("lambda.function", name, "reserved_concurrency", value, where)

    def _concurrency(self, document: dict[str, Any], place: str) -> None:
        self._single("get-function-concurrency", place)
        name = self._subject("lambda.function", "get-function-concurrency does not say for which function")
        if name:
            self._reserved(name, document, place)

    def _account(self, document: dict[str, Any], place: str) -> None:
        self._single("get-account-settings", place)
        Fields(self.collector, "lambda.account", "account", document, place, complete=False).read_all()

    def _queue(self, document: dict[str, Any], place: str) -> None:
        self._single("get-queue-attributes", place)
        item = document["Attributes"]
        place = f"{place}.Attributes".removeprefix(".")
        arn = parse_arn(item.get("QueueArn"))
        name = (
            arn.resource
            if arn
            else self._subject("sqs.queue", "get-queue-attributes has no QueueArn to say for which queue")
        )
        if not name:
            return
        complete = all(member in item for member in ("QueueArn", "CreatedTimestamp", "VisibilityTimeout"))
        if not complete:
            words = "not all attributes were asked for: export with --attribute-names All; what is absent is not taken for unset"
            self.collector.remark("partial", f"get-queue-attributes of {name}: {words}")
        fields = Fields(self.collector, "sqs.queue", name, item, place, complete=complete)
        fields.read_all()
        command = self._document.command
        if command and command.options.get("queue-url"):
            fields.see("url", command.options["queue-url"], "")
        try:
            fields.see(
                "fifo", flag(item["FifoQueue"]) if item.get("FifoQueue") else name.endswith(".fifo"), "FifoQueue"
            )
            if item.get("RedrivePolicy"):
                target, count = redrive(item["RedrivePolicy"])
                fields.see("redrive_target", target, "RedrivePolicy")
                fields.see("max_receive_count", count, "RedrivePolicy")
            elif complete:
                fields.see("redrive_target", None, "RedrivePolicy")
                fields.see("max_receive_count", None, "RedrivePolicy")
        except UnreadableError as problem:
            fields.refuse("RedrivePolicy" if item.get("RedrivePolicy") else "FifoQueue", problem)

    def _group(self, item: dict[str, Any], place: str) -> None:
        name = self._name(item, "AutoScalingGroupName", place)
        if not name:
            return
        complete = self._complete(item, place, "AutoScalingGroupARN", "MinSize", "HealthCheckType", "CreatedTime")
        fields = Fields(self.collector, "autoscaling.group", name, item, place, complete=complete)
        fields.read_all()
        fields.read("health_check_types", check_types)
        try:
            processes = item.get("SuspendedProcesses")
            if processes is not None or complete:
                suspended = sorted(text(dig(process, "ProcessName")) for process in processes or [])
                fields.see("suspended_processes", tuple(suspended), "SuspendedProcesses")
        except (UnreadableError, TypeError):
            self.collector.remark("refused", f"{place}.SuspendedProcesses is not a list of processes: not read")
        instances = item.get("Instances")
        if not isinstance(instances, list) or not all(isinstance(instance, dict) for instance in instances):
            if complete:
                self.collector.remark("partial", f"{place}.Instances is not there: counts of instances are not known")
            instances = []
        else:
            counts = {
                "in_service": [instance.get("LifecycleState") == "InService" for instance in instances],
                "unhealthy": [str(instance.get("HealthStatus")).lower() != "healthy" for instance in instances],
                "standby": [instance.get("LifecycleState") == "Standby" for instance in instances],
                "protected": [instance.get("ProtectedFromScaleIn") is True for instance in instances],
            }
            for attribute, hits in counts.items():
                fields.see(attribute, sum(hits), "Instances")
        unit = item.get("DesiredCapacityType") or ""
        if unit in ("", "units"):
            weights = any(instance.get("WeightedCapacity") for instance in instances)
            policy = item.get("MixedInstancesPolicy")
            weights = weights or weighted(policy, "LaunchTemplate/Overrides", "WeightedCapacity")
            unit = "units" if weights else "instances"
        if complete and unit in ("instances", "units", "vcpu", "memory-mib"):
            fields.see("capacity_unit", unit, "DesiredCapacityType")

    def _target_group(self, item: dict[str, Any], place: str) -> None:
        name = self._name(item, "TargetGroupName", place)
        if name:
            complete = self._complete(item, place, "TargetGroupArn", "TargetType", "HealthCheckEnabled")
            Fields(self.collector, "elb.target_group", name, item, place, complete=complete).read_all()

    def _target_group_attributes(self, document: dict[str, Any] | list[Any], place: str) -> None:
        self._single("describe-target-group-attributes", place)
        items = document["Attributes"] if isinstance(document, dict) else document
        given = {item["Key"]: item.get("Value") for item in items}
        place = f"{place}.Attributes".removeprefix(".")
        command = self._document.command
        if self.subject or (command and "target-group-arn" in command.options):
            self._thresholds(self._subject("elb.target_group", ""), given, place)
        else:
            self._nameless.append((self.collector.line, place, given))

    def _thresholds(self, name: str, given: dict[str, Any], place: str) -> None:
        for attribute, row in ATTRIBUTES["elb.target_group"].items():
            if row.form == "computed" and row.cli in given:
                try:
                    value = off_or_whole(given[row.cli])
                except UnreadableError as problem:
                    self.collector.remark("refused", f"{place} {row.cli} {problem}: not read")
                else:
                    self.collector.see("elb.target_group", name, attribute, value, f"{place} {row.cli}")

    def _machine(self, document: dict[str, Any], place: str) -> None:
        self._single("describe-state-machine", place)
        arn = parse_arn(document["stateMachineArn"])
        name = arn.resource.rpartition(":")[2] if arn else self._name(document, "name", place)
        if name:
            read_definition(self.collector, name, document["definition"], f"{place}.definition".removeprefix("."))

    def _definition(self, document: dict[str, Any], place: str) -> None:
        self._single("a definition", place)
        name = self.subject or self.stem
        if not self.subject:
            self.collector.remark(
                "doubt", f"a definition does not name its state machine: {name} is the name of the file"
            )
        read_definition(self.collector, name, document, place)

    def _other_attributes(self, document: dict[str, Any], place: str) -> None:
        raise Refused(
            "attributes that are neither of a queue nor of a target group: expected aws sqs get-queue-attributes or "
            "aws elbv2 describe-target-group-attributes, with --output json"
        )


# What reads each shape of aws_shapes.
_READ: dict[str, Callable[[AwsReader, Any, str], None]] = {
    "mappings": AwsReader._mappings,
    "invoke configs": AwsReader._invoke_configs,
    "functions": AwsReader._functions,
    "provisioned": AwsReader._provisioned,
    "groups": AwsReader._groups,
    "target groups": AwsReader._target_groups,
    "queues": AwsReader._queues,
    "queue": AwsReader._queue,
    "target group attributes": AwsReader._target_group_attributes,
    "other attributes": AwsReader._other_attributes,
    "get function": AwsReader._get_function,
    "function": AwsReader._function,
    "mapping": AwsReader._mapping,
    "invoke config": AwsReader._invoke_config,
    "group": AwsReader._group,
    "target group": AwsReader._target_group,
    "concurrency": AwsReader._concurrency,
    "account": AwsReader._account,
    "machine": AwsReader._machine,
    "definition": AwsReader._definition,
    "urls": AwsReader._urls,
}
