"""JSON documents in a text: where they begin, what stands around them, and what is whole of one that breaks off."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.readers.jsondocs import Command, read_documents


def found(text: str) -> list[object]:
    return [document.value for document in read_documents(text).found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('  {"a": 1}\n\n\t["b"]\n', [{"a": 1}, ["b"]]),
        ('{"a": 1}{"b": 2} {"c": 3},\n{"d": 4}', [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]),
        ('[ec2-user@host ~]$ x\n{"a": 1}\n[1]  + done\n[2025-10-20 01:00] end\n[INFO] {"b": 2}\n', [{"a": 1}]),
        ('> {"a": 1}\n', []),
        ('{"a": NaN, "b": -Infinity}', [{"a": "NaN", "b": "-Infinity"}]),
        ("[]", [[]]),
        ("[1, 2]", []),
        ("", []),
    ],
)
def test_documents_begin_lines(text: str, expected: list[object]) -> None:
    assert found(text) == expected


def test_lines_and_noise() -> None:
    documents = read_documents('one\ntwo\n{\n"a": 1\n}\n\nthree\n["x"]\nfour')
    assert [document.line for document in documents.found] == [3, 8]
    assert [(noise.line, noise.text) for noise in documents.noise] == [(1, "one\ntwo"), (7, "three"), (9, "four")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [{"b": 1}, {"b": 2}, {"b": ', {"a": [{"b": 1}, {"b": 2}]}),
        ('{"a": [{"b": 1}, {"b": 2}', {"a": [{"b": 1}, {"b": 2}]}),
        ('{"a": [{"b": 1}, {"b": "}]', {"a": [{"b": 1}]}),
        ('{"a": [{"b": 1}], "c": [{"d": [1, 2, 3', {"a": [{"b": 1}], "c": []}),
        ('{"a": [1, 2, 3', {"a": [1, 2]}),
        ('{"a": ["x", "y', {"a": ["x"]}),
        ('{"a": ["x\\"]', {"a": []}),
        ('{"a": {"b": 1}, "c": {"d": 2', {"a": {"b": 1}, "c": {}}),
        ('{"a": {"b": [1], "c": 2', {"a": {"b": [1]}}),
        ('{"a": 12', {}),
        ('[{"a": 1}, {"b": ', [{"a": 1}]),
    ],
)
def test_what_is_whole_of_a_document_that_is_cut_off(text: str, expected: object) -> None:
    (document,) = read_documents(text).found
    assert document.value == expected
    assert document.cut == "is cut off at line 1"


@given(
    st.recursive(
        st.integers(0, 99) | st.text('ab"\\[]{},:é', max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab[{", max_size=2), inner, max_size=3),
        max_leaves=12,
    ),
    st.integers(0, 200),
)
def test_a_cut_never_invents_anything(value: object, place: int) -> None:
    """Every list of the whole part is a beginning of the list of the whole, every object a part of it."""
    text = json.dumps([value, {"end": value}])
    cut = text[: 1 + place % (len(text) - 1)]
    for document in read_documents(cut).found:
        assert part_of(document.value, json.loads(text))


def part_of(part: object, whole: object) -> bool:
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(part_of, part, whole))
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and part_of(value, whole[key]) for key, value in part.items())
    return part == whole


def test_a_broken_document_says_where_and_the_next_is_read() -> None:
    documents = read_documents('{\n  "a": [\n    {"b": 1},\n    {"b": oops}\n  ]\n}\n{"c": 3}\n')
    assert [document.value for document in documents.found] == [{"a": [{"b": 1}]}, {"c": 3}]
    assert documents.found[0].cut == "is broken (expecting value) at line 4"
    assert documents.problems == ()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"a": ' + "9" * 5_000 + "}"])
def test_what_the_parser_gives_up_on_is_a_problem(text: str) -> None:
    documents = read_documents(text)
    assert not any(document.value for document in documents.found)
    assert documents.problems or documents.found[0].cut


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "$ aws lambda get-function-concurrency --function-name f",
            ("lambda", "get-function-concurrency", {"function-name": "f"}),
        ),
        ("aws --region eu-west-1 --profile=p sqs list-queues", ("sqs", "list-queues", {})),
        (
            '$ aws lambda get-function --function-name="a b" --query x',
            ("lambda", "get-function", {"function-name": "a b"}),
        ),
        ("$ aws lambda x \\\n  --function-name f", ("lambda", "x", {"function-name": "f"})),
        ("PS> aws lambda x `\r\n  --function-name f", ("lambda", "x", {"function-name": "f"})),
        ("$ aws lambda x --function-name 'unclosed", ("lambda", "x", {"function-name": "'unclosed"})),
        ("$ aws lambda x --environment Variables={A=secret} --function-name", ("lambda", "x", {})),
        ("$ aws lambda a --function-name f\n$ aws lambda b", ("lambda", "b", {})),
        ("$ ls", None),
    ],
)
def test_the_command_before_a_document(line: str, expected: tuple[str, str, dict[str, str]] | None) -> None:
    (document,) = read_documents(f"{line}\n{{}}\n").found
    assert document.command == (None if expected is None else Command(*expected))


def test_a_hook_stands_for_objects() -> None:
    assert [item.value for item in read_documents('{"a": {"b": 1}}', len).found] == [1]
