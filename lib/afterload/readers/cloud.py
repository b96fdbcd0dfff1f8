"""A team's configuration, from exports of the AWS CLI, of Terraform and of other platforms' tools, as one inventory.

::

    inventory = read_cloud_file("mappings.json")
    for mapping in inventory.of("lambda.mapping"):
        mapping.get("maximum_concurrency")      # None: exported without a cap; seen() tells that from not exported

:data:`ATTRIBUTES` names every kind of resource and attribute, with unit and source. A value that an export shows unset is
None, or the service's default with the basis ``default``; what an export does not show has no observation.
"""

from __future__ import annotations

import re
from pathlib import Path

from afterload.errors import InputError
from afterload.readers.aws_cli import AwsReader
from afterload.readers.aws_formats import TERRAFORM_COMMAND, aws_errors, unconfigured, why_no_json
from afterload.readers.cloud_table import ATTRIBUTES, TERRAFORM_TYPES, commands_for
from afterload.readers.cloud_values import Collector, Refused, function_key
from afterload.readers.jsondocs import Documents, read_documents
from afterload.readers.platforms import MARKERS, is_consumer_groups, read_consumer_groups, read_platform
from afterload.readers.reading import Inventory
from afterload.readers.source import SourceFile, open_source
from afterload.readers.terraform import is_terraform, prune, read_terraform
from afterload.reads import open_input

__all__ = ["ATTRIBUTES", "TERRAFORM_TYPES", "commands_for", "is_cloud_file", "read_cloud_file"]

_ZIP = b"PK\x03\x04"
_HEAD = 65_536
_MEMBERS = (
    "EventSourceMappings", "EventSourceArn", "FunctionEventInvokeConfigs", "MaximumEventAgeInSeconds",
    "ReservedConcurrentExecutions", "FunctionArn", "ProvisionedConcurrencyConfigs", "AccountLimit", "QueueArn", "QueueUrls",
    "RedrivePolicy", "AutoScalingGroups", "AutoScalingGroupName", "TargetGroups", "TargetGroupArn", "stateMachineArn",
    "StartAt", "terraform_version", "format_version", "planned_values", "resource_changes", "@level",
)  # fmt: skip
_MARKERS = re.compile(
    rf'"(?:{"|".join(_MEMBERS)})"\s*:'
    r'|"Key"\s*:\s*"target_group_health\.|\[\s*"https://sqs\.'
    r"|^(?:aws: \[ERROR\]: )?An error occurred \(\w+\)|^EVENTSOURCEMAPPINGS\t"
    r"|^(?:- )?(?:EventSourceMappings|AutoScalingGroups|TargetGroups):"
    rf"|{MARKERS}"
    r'|(?:Terraform|OpenTofu) (?:used the selected|will perform)|^\s*resource "aws_',
    re.MULTILINE,
)


def is_cloud_file(path: str | Path) -> bool:
    """Whether a file looks like one for :func:`read_cloud_file`, also one that it refuses with the command to run.

    Looks at the first and last 64 KiB. False for a file that cannot be opened.
    """
    try:
        with open_input(path) as file:
            head = file.read(_HEAD)
            size = file.seek(0, 2)
            file.seek(max(len(head), size - _HEAD))
            tail = file.read(_HEAD)
    except (OSError, ValueError):
        return False
    if head.startswith(_ZIP):
        return b"tfplan" in head
    # UTF-16 text without its zero bytes is near enough for names in ASCII.
    sample = (head + b"\n" + tail).replace(b"\x00", b"").decode("utf-8", "replace")
    return bool(_MARKERS.search(sample))


def read_cloud_file(path: str | Path, *, subject: str | None = None) -> Inventory:
    """Read one export of the AWS CLI, of ``terraform show -json`` or of another platform; a file may hold several.

    Args:
        path: the file.
        subject: the function, queue or target group (name or ARN) that an export without a name is about; an empty file
            then means that the function has no reserved concurrency, as ``get-function-concurrency`` prints nothing.

    Raises :class:`InputError` where nothing can be read, saying why and which command to run instead. Where a part can be,
    what is not read is a remark: ``refused``, ``partial`` (cut off, or one page of more), ``doubt`` or ``ask``.
    No value of an environment but two retry settings, no value marked sensitive and no text of an error is repeated.
    """
    _refuse_plan_file(path)
    source = open_source(path)
    collector = Collector(source.name, source.modified_at)
    reader = AwsReader(collector, subject or None, Path(path).stem)
    if source.text.strip() in ("", "{}"):
        _empty(source, reader)
        return collector.inventory()
    if is_consumer_groups(source.text):
        read_consumer_groups(collector, source.text)
        return collector.inventory()
    documents = read_documents(source.text, prune)
    read = _read_documents(documents, reader, source)
    read = _read_noise(documents, reader) or read
    reader.finish()
    refusals = collector.refusals()
    if not read or (refusals and not collector.count and not collector.asks()):
        raise InputError(f"{source.name}: {refusals[0] if refusals else why_no_json(source.text)}")
    return collector.inventory()


def _refuse_plan_file(path: str | Path) -> None:
    """A plan file is a zip archive of Terraform's own."""
    try:
        with open_input(path) as file:
            zipped = file.read(len(_ZIP)) == _ZIP
    except (OSError, ValueError):
        # Opening it as text says what is wrong.
        return
    if zipped:
        raise InputError(f"{path}: is a zip archive; if it is a Terraform plan file: run {TERRAFORM_COMMAND}")


def _empty(source: SourceFile, reader: AwsReader) -> None:
    """Nothing in the file: what get-function-concurrency prints where nothing is reserved, if the caller names a function."""
    subject = reader.subject
    if subject and "://" not in subject and ":targetgroup/" not in subject:
        name = function_key(subject)[0]
        words = f"the file holds nothing: read as get-function-concurrency of {name}, which prints nothing where none is reserved"
        reader.collector.remark("doubt", words)
        reader.unset("lambda.function", name, "")
    else:
        words = (
            "the file holds nothing, as the output of get-function-concurrency where none is reserved: say for which function "
            "(subject), or export it again"
        )
        reader.collector.remark("ask", words)


def _read_documents(documents: Documents, reader: AwsReader, source: SourceFile) -> bool:
    """Read every document; true if any was of a known kind, refused ones included."""
    collector, known = reader.collector, False
    several = len(documents.found) > 1
    for document in documents.found:
        collector.line = document.line if several or document.line > 1 else 0
        collector.exported_at = source.modified_at
        try:
            if is_terraform(document.value):
                known = True
                read_terraform(collector, document)
            elif reader.read(document) or read_platform(collector, document.value):
                known = True
            elif document.cut:
                raise Refused(f"{document.cut} before anything that can be read: export it again")
            else:
                raise Refused(
                    "JSON that is no export known here: expected one of the AWS CLI with --output json, without --query, or "
                    "terraform show -json"
                )
        except Refused as problem:
            known = True
            collector.remark("refused", str(problem))
    for line, reason in documents.problems:
        known = True
        collector.remark("refused", f"JSON that {reason}: export it again", line)
    return known


def _read_noise(documents: Documents, reader: AwsReader) -> bool:
    """Errors that the AWS CLI printed; true if one of them is an answer: that a function has no configuration of its own."""
    answered = False
    for noise in documents.noise:
        functions = unconfigured(noise.text)
        reader.collector.line = noise.line
        for function in functions:
            name, qualifier = function_key(function)
            if name.isprintable():
                reader.unset(
                    "lambda.async", f"{name}:{qualifier}" if qualifier else name, "get-function-event-invoke-config"
                )
                answered = True
        for error in aws_errors(noise.text):
            if not (functions and error.operation == "GetFunctionEventInvokeConfig"):
                words = f"holds an AWS error ({error.code} of {error.operation}): that output is missing"
                reader.collector.remark("refused", words, noise.line)
    return answered
