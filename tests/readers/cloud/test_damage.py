"""Exports that are cut off, damaged, or in another order: a part of the truth, a refusal, and never anything else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.cloud.exports import CAPPED, EXPORTS, KAFKA, SECRET, STREAM, SUBJECTS, UNCAPPED
from tests.readers.cloud.tables import shown, table
from tests.readers.cloud.terraform_files import DEEP, MAPPING_UUID, NEW, STATE

from afterload.errors import InputError
from afterload.readers.cloud import is_cloud_file, read_cloud_file
from afterload.readers.reading import Inventory

DOCUMENTS: dict[str, Any] = {
    **{name: value for name, (_, _, value) in EXPORTS.items()},
    "plan": NEW,
    "plan of modules": DEEP,
    "state": STATE,
}


def texts(name: str) -> list[str]:
    return [json.dumps(DOCUMENTS[name], indent=4), json.dumps(DOCUMENTS[name], separators=(",", ":"))]


def outcome(read: Any, text: str, **options: Any) -> Inventory | str:
    """What reading gives: an inventory, or the words of the refusal."""
    try:
        found: Inventory = read(text, **options)
    except InputError as problem:
        return str(problem)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_file_that_is_cut_off_gives_a_part_of_the_whole_or_is_refused(read, name: str) -> None:
    subject, places = SUBJECTS.get(name), random.Random(name)
    whole = table(read(DOCUMENTS[name], subject=subject))
    assert whole
    for text in texts(name):
        for place in sorted(places.randrange(1, len(text) - 1) for _ in range(20)):
            found = outcome(read, text[:place], subject=subject)
            if isinstance(found, str):
                assert "export.json" in found
                assert SECRET not in found
            else:
                assert table(found) <= whole, place
                assert any(item.kind == "partial" and "cut off" in item.text for item in found.remarks), place
                assert SECRET not in shown(found)


@pytest.mark.parametrize(
    ("name", "end", "resources"),
    [
        ("list-event-source-mappings", f'"UUID": "{KAFKA}"', {CAPPED, UNCAPPED, STREAM}),
        ("list-functions", '"FunctionName": "mailer"', {"worker"}),
        ("list-queues", "emails", {"orders"}),
        ("describe-auto-scaling-groups", '"AutoScalingGroupName": "render"', {"web"}),
        ("state", '"child_modules"', {"orders", "dead.fifo", "worker", "worker:live", MAPPING_UUID}),
        ("plan of modules", '"address": "module.app.module', {"ab", "c"}),
    ],
)
def test_what_is_whole_before_a_cut_is_kept(read, name: str, end: str, resources: set[str]) -> None:
    text = json.dumps(DOCUMENTS[name], indent=4)
    found = read(text[: text.index(end)])
    assert {item.resource for item in found.observations if "source_mapping" not in item.resource} == resources


def test_documents_in_any_order_read_the_same(read) -> None:
    commands = {
        "get-function-concurrency": "$ aws lambda get-function-concurrency --function-name worker",
        "describe-target-group-attributes": "$ aws elbv2 describe-target-group-attributes --target-group-arn arn:aws:"
        "elasticloadbalancing:eu-west-1:1:targetgroup/web/1",
    }
    parts = [f"{commands.get(name, '')}\n{json.dumps(value, indent=2)}" for name, value in DOCUMENTS.items()]
    first = read("\n".join(parts))
    order = random.Random(7)
    for _ in range(8):
        order.shuffle(parts)
        found = read("\n".join(parts))
        assert table(found) == table(first)
        assert [row[:4] for row in map(plain, found.observations)] == [
            row[:4] for row in map(plain, first.observations)
        ]
        assert sorted(item.text for item in found.remarks if "(" not in item.text) == sorted(
            item.text for item in first.remarks if "(" not in item.text
        )


def plain(item: Any) -> tuple[Any, ...]:
    return (item.kind, item.resource, item.attribute, item.value)


@pytest.fixture(scope="module")
def damaged_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage") / "export.json"


def damage(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, start, length, piece in edits:
        begin = start % (len(text) + 1)
        end = min(len(text), begin + length)
        if kind == "delete":
            text = text[:begin] + text[end:]
        elif kind == "insert":
            text = text[:begin] + piece + text[begin:]
        elif kind == "replace":
            text = text[:begin] + piece + text[end:]
        else:
            text = text[:end] + text[begin:]
    return text


SIGNS = ["null", "true", "NaN", "-Infinity", "1e999", '"\\ud800"', "{}", "[]", "\n{", "\n[", "\x00", "\u2028", "'"]
LONG = ["9" * 5_000, "[" * 3_000, "$ aws lambda x --function-name y\n"]
PIECES = st.sampled_from([*'{}[]",:\\0-.eE', *SIGNS, *LONG]) | st.text(max_size=6)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "insert", "replace", "double"]), st.integers(0, 50_000), st.integers(0, 60), PIECES
    ),
    min_size=1,
    max_size=6,
)


TEXTS = st.sampled_from(sorted(DOCUMENTS)).flatmap(lambda name: st.sampled_from(texts(name)))


@settings(max_examples=150, deadline=None)
@given(text=TEXTS, edits=EDITS, named=st.booleans())
def test_random_damage_never_breaks_the_reader(damaged_file: Path, text: str, edits: Any, named: bool) -> None:
    damaged_file.write_bytes(damage(text, edits).encode("utf-8", "replace"))
    is_cloud_file(damaged_file)
    try:
        found = read_cloud_file(damaged_file, subject="worker" if named else None)
    except InputError as problem:
        str(problem).encode()
        return
    # All that a person may see can be printed, and no number is negative but -1, which means no limit.
    shown(found).encode()
    for item in found.observations:
        assert item.resource.isprintable()
        if isinstance(item.value, int | float) and not isinstance(item.value, bool):
            least = -1 if item.attribute in ("max_record_age_s", "max_retry_attempts") else 0
            assert least <= item.value < 2**54


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes_never_break_the_reader(damaged_file: Path, data: bytes) -> None:
    damaged_file.write_bytes(data)
    is_cloud_file(damaged_file)
    with suppress(InputError):
        read_cloud_file(damaged_file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(DOCUMENTS)), value=VALUES, seed=st.integers(0, 10_000))
def test_any_value_in_any_place_is_read_or_refused(damaged_file: Path, name: str, value: Any, seed: int) -> None:
    document = json.loads(json.dumps(DOCUMENTS[name]))
    places = list(slots(document))
    node, key = places[seed % len(places)]
    node[key] = value
    damaged_file.write_text(json.dumps(document))
    try:
        shown(read_cloud_file(damaged_file, subject="worker")).encode()
    except InputError as problem:
        str(problem).encode()


def slots(node: Any) -> Any:
    """Every member and element of a document."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from slots(node[key])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_secret_of_an_export_is_shown(read, name: str) -> None:
    assert SECRET not in shown(read(DOCUMENTS[name], subject=SUBJECTS.get(name)))
    broken = json.dumps(DOCUMENTS[name]).replace(f'"{SECRET}"', f"{SECRET}")
    found = outcome(read, broken)
    assert SECRET not in (found if isinstance(found, str) else shown(found))


def test_a_plan_of_50_mb_is_read_within_500_mb(tmp_path: Path) -> None:
    """Peak memory of a process of its own; most of a large plan is resources of other types. Its time is in the benchmark."""
    other = json.dumps(
        {
            "address": "aws_iam_policy.p", "mode": "managed", "type": "aws_iam_policy", "name": "p", "index": 1,
            "values": {"policy": "x" * 300, "tags": {f"tag{n}": "value" for n in range(8)}, "statement": [{"a": [1, 2]}] * 4},
        }
    )  # fmt: skip
    queue = json.dumps(STATE["values"]["root_module"]["resources"][4])
    one = ",".join([other] * 12 + [queue])
    items = ",".join([one] * (50_000_000 // len(one)))
    path = tmp_path / "plan.json"
    path.write_text(
        f'{{"format_version":"1.2","planned_values":{{"root_module":{{"resources":[{items}]}}}},"resource_changes":[]}}'
    )
    assert path.stat().st_size > 49_000_000
    code = (
        "import re, sys\n"
        "from afterload.readers.cloud import read_cloud_file\n"
        "found = read_cloud_file(sys.argv[1])\n"
        # The kernel's own mark of this process; getrusage would tell that of the one it was forked from.
        "status = open('/proc/self/status').read()\n"
        "print(len(found.observations), int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    count, peak_mb = map(float, done.stdout.split())
    assert count
    assert peak_mb < 500
