"""YAML as read: what stays text, where things stand, and what is refused with file and line."""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from afterload import yamltree
from afterload.errors import AfterloadError, InputError, NotFoundError, ScenarioError
from afterload.resources import resource
from afterload.scenario import load_scenario
from afterload.yamltree import WrittenFloat, WrittenInt, plain, read_file, read_text

EXAMPLE = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")


def value(text: str) -> object:
    return read_text(f"key: {text}\n", "x.yaml").data["key"]


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_text(text, "x.yaml")
    assert type(caught.value) is InputError
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-19", "2025_10_20", "2025-10-19T23:48-07:00", "2025-10-19 23:48:00", "12:30", "12:30:45", "1.43.11",
        "NO", "No", "no", "yes", "on", "off", "Y", "n", "012", "0o17", "0x1F", "0b1", "1_0", "1_000.5", ".nan", ".inf",
        "-.inf", ".NaN", "nan", "inf", ".5", "5.", "1e", "e5", "1,200", "1,200/min", "15 min", "PT2H52M", "none", "None",
        "=", "tRUE", "１２", "1" * 40, "1e9999",
    ],
)  # fmt: skip
def test_what_yaml_1_2_does_not_call_a_number_or_a_truth_value_stays_text(text: str) -> None:
    found = value(text)
    assert found == text
    assert type(found) is str


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("5", 5), ("-5", -5), ("+5", 5), ("1200", 1200), ("9" * 31, int("9" * 31))]
)
def test_a_whole_number_remembers_how_it_was_written(text: str, number: int) -> None:
    found = value(text)
    assert isinstance(found, WrittenInt)
    assert (found, found.text) == (number, text)


@pytest.mark.parametrize(
    ("text", "number"), [("1.40", 1.4), ("0.5", 0.5), ("-1.0", -1), ("1e3", 1000), ("1.5E-3", 0.0015)]
)
def test_a_number_remembers_how_it_was_written(text: str, number: float) -> None:
    found = value(text)
    assert isinstance(found, WrittenFloat)
    assert (found, found.text) == (number, text)


@pytest.mark.parametrize("text", ["1e999", "-1e400"])
def test_a_number_beyond_floating_point_is_for_the_field_to_refuse(text: str) -> None:
    found = value(text)
    assert isinstance(found, float)
    assert math.isinf(found)


@pytest.mark.parametrize(("text", "found"), [("true", True), ("FALSE", False), ("~", None), ("null", None), ("", None)])
def test_truth_values_and_null(text: str, found: object) -> None:
    assert value(text) is found


@pytest.mark.parametrize("text", ["5", "1.40", "true", "null", "~", "", "2025-10-19", "<<", "*a", "&a", "!x"])
def test_quoted_text_stays_text(text: str) -> None:
    assert value(f'"{text}"') == text
    assert value(f"'{text}'") == text


def test_a_character_that_json_writes_in_two_halves_is_one() -> None:
    text = json.dumps({"team \U0001f600": "Größe \U0001f600"})
    assert "\\ud83d\\ude00" in text
    assert read_text(text, "x.yaml").data == {"team \U0001f600": "Größe \U0001f600"}


def test_block_text_stays_text() -> None:
    assert value("|\n  5\n  6") == "5\n6\n"
    assert value(">-\n  5\n  6") == "5 6"


def test_keys_stay_text() -> None:
    assert list(read_text("1.40: a\nNO: b\n2025-10-19: c\n012: d\ntrue: e\n~: f\n", "x").data) == [
        "1.40", "NO", "2025-10-19", "012", "true", "~",
    ]  # fmt: skip


def test_a_directive_for_yaml_1_1_changes_nothing() -> None:
    data = read_text("%YAML 1.1\n---\na: NO\nb: 012\nc: 1_0\nd: 2025-10-19\n", "x").data
    assert data == {"a": "NO", "b": "012", "c": "1_0", "d": "2025-10-19"}


def test_lines_count_from_one_and_fall_back_to_the_nearest_ancestor() -> None:
    tree = read_text("# comment\na:\n  b: 1\n\n  c:\n    - x\n    -\n      d: 2\n", "x.yaml")
    assert [tree.line(path) for path in (("a",), ("a", "b"), ("a", "c", 0), ("a", "c", 1, "d"))] == [2, 3, 6, 8]
    assert tree.line(("a", "c", 7)) == 5
    assert tree.line(("a", "new", "newer")) == 2
    assert tree.line(("z",)) == 2
    assert read_text("", "x").line(("z",)) == 1


def test_plain_forgets_how_numbers_were_written() -> None:
    data = plain(read_text("a: [1, 1.40, {b: x}]\nc: true\n", "x").data)
    assert data == {"a": [1, 1.4, {"b": "x"}], "c": True}
    assert [type(item) for item in data["a"][:2]] == [int, float]


def test_anchors_and_merges_are_followed() -> None:
    data = read_text("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a\nd:\n  <<: [{x: 7}, *a]\n", "x").data
    assert data == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2}, "d": {"x": 7, "y": 2}}


@pytest.mark.parametrize("order", ["  x: 2\n  <<: *a\n", "  <<: *a\n  x: 2\n"])
def test_an_own_key_keeps_its_line_beside_a_merge(order: str) -> None:
    tree = read_text(f"a: &a\n  x: 1\nb:\n{order}", "x")
    assert tree.data["b"] == {"x": 2}
    assert tree.line(("b", "x")) == 4 + order.splitlines().index("  x: 2")


def test_an_anchor_given_again_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_text("a: &a 1\nb: &a 2\nc: *a\n", "x").data["c"] == 2


REFUSED = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", 3, "'a' stands twice in one mapping (first on line 1): remove one"),
    "duplicate key below": ("a:\n  b: 1\n  c: 2\n  b: 1\n", 4, "(first on line 2)"),
    "duplicate key in braces": ("a: {b: 1, b: 1}\n", 1, "'b' stands twice"),
    "duplicate key beside a merge": ("a: &a {x: 1}\nb:\n  <<: *a\n  y: 1\n  y: 2\n", 5, "'y' stands twice"),
    "two merges": ("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", 4, "'<<' stands twice"),
    "tab": ("a:\n\tb: 1\n", 2, r"found character '\t'"),
    "tab after spaces": ("a:\n  b: 1\n \tc: 1\n", 3, "is not YAML"),
    "wrong indent": ("a:\n  b: 1\n c: 1\n", 3, "is not YAML"),
    "no colon": ("a: 1\nb\nc: 1\n", 3, "is not YAML"),
    "open quote": ('a: 1\nb: "x\n', 3, "is not YAML"),
    "open bracket": ("a: [1, 2\nb: 1\n", 2, "is not YAML"),
    "undefined alias": ("a: 1\nb: *x\n", 2, "undefined alias 'x'"),
    "mapping as key": ("a: 1\n? {b: 1}\n: 2\n", 2, "a key must be a name"),
    "list as key": ("a: 1\n[b]: 2\n", 2, "a key must be a name"),
    "merge of a list": ("a: 1\nb:\n  <<: [1]\n", 3, "'<<' takes a mapping"),
    "merge of text": ("a: 1\nb:\n  <<: x\n", 3, "'<<' takes a mapping"),
    "own tag": ("a: 1\nb: !x 5\n", 2, "the tag !x is not used in a scenario"),
    "own tag on a mapping": ("a: 1\nb: !x {c: 1}\n", 2, "the tag !x is not used"),
    "own tag on a list": ("a: 1\nb: !x [1]\n", 2, "the tag !x is not used"),
    "own tag on a key": ("a: 1\n!x b: 1\n", 2, "the tag !x is not used"),
    "python object": ("a: !!python/object/apply:os.system ['true']\n", 1, "python/object/apply:os.system is not used"),
    "python name": ("a: !!python/name:os.system\n", 1, "python/name:os.system is not used"),
    "binary": ("a: !!binary aGVsbG8=\n", 1, "binary is not used"),
    "set": ("a: !!set {b, c}\n", 1, "set is not used"),
    "omap": ("a: !!omap [b: 1]\n", 1, "omap is not used"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "another document"),
    "control character": ("a: 1\nb: \x01\n", 2, "U+0001 is not allowed"),
    "nul": ("a: 1\nb: 2\nc: \0\n", 3, "U+0000 is not allowed"),
    "half a character": (
        'a: 1\nb: "x \\ud83d y"\n',
        2,
        r"one half of a character without the other, as in \ud83d alone",
    ),
    "half a character in a key": ('a: 1\n"\\ude00": x\n', 2, "one half of a character"),
    "escape beyond Unicode": ('a: "\\UFFFFFFFF"\n', 1, "is not YAML"),
    "other YAML": ("%YAML 3.0\n---\na: 1\n", 1, "incompatible"),
    "bad directive": ("%YAML x\n---\na: 1\n", 1, "is not YAML"),
    "at sign": ("a: @x\n", 1, "is not YAML"),
    "mapping in a value": ("a: b: c\n", 1, "is not YAML"),
    "alias to itself": ("a: &a [*a]\n", 1, "is nested"),
    "merge of itself": ("a: &a {<<: *a}\n", 1, "is nested"),
    "45 levels": ("".join(" " * level + "a:\n" for level in range(45)), 42, "is nested more than 40 levels deep"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_fault_is_refused_with_file_line_and_reason(case: str) -> None:
    text, line, reason = REFUSED[case]
    message = refusal(text)
    assert message.startswith(f"x.yaml:{line}: ")
    assert reason in message


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000, "{a: " * 20_000, "- " * 3000 + "a", "\n".join(" " * level + "a:" for level in range(600)),
        "- a\n" * 400_000,
        "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(9)),
        "".join(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9)) if n else 'k: x'}}}\n" for n in range(9)),
        "a0: &a0 {x: 1}\n" + "".join(
            f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
        ),
    ],
    ids=["brackets", "braces", "dashes", "indents", "items", "laughs in lists", "laughs in mappings", "laughs in merges"],
)  # fmt: skip
def test_a_bomb_is_refused_quickly(text: str) -> None:
    began = time.process_time()
    message = refusal(text)
    assert "is nested more than 40 levels deep" in message or "more than 20,000 values" in message
    assert time.process_time() - began < 10


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"a: 1\n" * 1_000_000)
    began = time.process_time()
    with pytest.raises(InputError, match=r"large.yaml:1: is too large; a scenario has at most 2,000,000 bytes"):
        read_file(path)
    assert time.process_time() - began < 1


def test_what_is_piped_in_is_read_as_far_as_it_may_be() -> None:
    """As a shell gives it with <(command): open already, and perhaps without an end."""
    reading, writing = os.pipe()

    def write(text: bytes, times: int) -> None:
        with suppress(BrokenPipeError), open(writing, "wb", closefd=False) as file:
            for _ in range(times):
                file.write(text)

    short = threading.Thread(target=write, args=(b"a: 1\n", 1))
    short.start()
    short.join()
    os.close(writing)
    tree, raw = read_file(Path(f"/dev/fd/{reading}"))
    os.close(reading)
    assert (tree.data, raw) == ({"a": 1}, b"a: 1\n")
    reading, writing = os.pipe()
    endless = threading.Thread(target=write, args=(b"a: 1\n" * 1000, 1_000_000))
    endless.start()
    with pytest.raises(InputError, match="is too large"):
        read_file(Path(f"/dev/fd/{reading}"))
    # Nobody reads any more.
    os.close(reading)
    endless.join()
    os.close(writing)


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/dev/null", "link"])
def test_a_pipe_or_device_is_refused_without_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/stdin")
    path = tmp_path / name
    reading, writing = os.pipe()
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        with pytest.raises(InputError, match=rf"{name}: cannot be read: it is a pipe or a device, not a plain file"):
            read_file(path)
    finally:
        os.dup2(before, 0)
        for each in (before, reading, writing):
            os.close(each)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends_make_no_difference(encoding: str, end: str, write: Callable[..., Path]) -> None:
    text = "# Ümläut\nteam: Bücher 本\nowner: 'x'\n"
    tree, _ = read_file(write(text.replace("\n", end).encode(encoding)))
    assert tree.data == {"team": "Bücher 本", "owner": "x"}
    assert tree.line(("owner",)) == 3


@pytest.mark.parametrize(
    "raw", [b"a: 1\nb: \xff\n", b"a: 1\nb: caf\xe9\n", b"a: 1\nb: \xc3\n", b"a: 1\n\xed\xa0\x80: 1\n"]
)
def test_what_is_not_utf_8_is_refused_with_its_line(raw: bytes, write: Callable[..., Path]) -> None:
    path = write(raw)
    with pytest.raises(InputError, match=r"team.yaml:2: is not UTF-8 text \(byte \d+\): save it as UTF-8"):
        read_file(path)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "- a\n- b\n", "text\n", "5\n", "~\n", "{}\n", "[]"]
)
def test_a_file_without_a_mapping_is_no_scenario(text: str, write: Callable[..., Path]) -> None:
    path = write(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert str(caught.value) == f"{path}:1: is not a scenario: it needs keys such as team, incident and queues"


def test_a_file_that_is_not_there_or_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none.yaml: no such file"):
        read_file(tmp_path / "none.yaml")
    for path in (tmp_path, tmp_path / ("x" * 5000), tmp_path / "nul\0"):
        with pytest.raises(InputError, match="cannot be read"):
            read_file(path)
    with pytest.raises(NotFoundError, match="no such file"):
        load_scenario("~a-user-that-is-not-there/team.yaml")


# --- whatever the file holds -----------------------------------------------------------------------------------------


def loads_or_explains(text: str | bytes, path: Path) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    message = str(path)
    try:
        load_scenario(path)
    except AfterloadError as problem:
        message = str(problem)
    assert str(path) in message


steady = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)


@steady
@given(
    st.one_of(st.text(max_size=200), st.binary(max_size=200), st.text("{}[]:,-&*!|>%@`'\"#?<= \n\tab1~", max_size=80))
)
@example("&a [*a]")
@example('"\\UFFFFFFFF"')
@example("!<")
@example("%TAG ! tag:x,1:\n---\na: !b c")
def test_random_text_loads_or_is_refused(tmp_path: Path, text: str | bytes) -> None:
    loads_or_explains(text, tmp_path / "x.yaml")


PIECES = [
    "", "-5", ".nan", ".inf", "1e999", "~", "[]", "{}", "[1, [2]]", "{a: 1}", "none", "true", "'", '"', "&a", "*a", "!t x",
    "<<: {}", "\t", "\0", "1_0", "2025-10-19", "9" * 400, "x" * 300, "builtin:..", "builtin:", "~/x", "~nobody/x", "/", ".",
    "{series: x.csv}", "{hour_of_day: [1/min]}", "lambda-sqs", "1/ms", "0/min", "0 s", "P", "\u22125 min", "\ud800", "\ufeff",
    '"\\ud800"', '"\\0"', "? ", "- ", ": ", "#", "%", "|", "é", "1,200/min", "0", "1",
]  # fmt: skip


@steady
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_a_spoilt_example_loads_or_is_refused(tmp_path: Path, chance: random.Random, edits: int) -> None:
    lines = EXAMPLE.splitlines()
    for _ in range(edits):
        place = chance.randrange(len(lines))
        line = lines[place]
        kind = chance.randrange(7)
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(place, chance.choice(lines))
        elif kind == 2:
            lines[place] = "  " * chance.randrange(4) + line.lstrip()
        elif kind == 3:
            at = chance.randrange(len(line) + 1)
            lines[place] = line[:at] + chance.choice(PIECES) + line[at:]
        elif kind == 4:
            at = chance.randrange(len(line) + 1)
            lines[place] = line[:at] + line[at + 1 :]
        else:
            lines[place] = f"{line.split(':')[0]}: {chance.choice(PIECES)}"
        lines = lines or [""]
    loads_or_explains("\n".join(lines), tmp_path / "x.yaml")


def test_the_limits_are_those_that_the_messages_name() -> None:
    assert (yamltree.MAX_BYTES, yamltree.MAX_VALUES, yamltree.MAX_DEPTH) == (2_000_000, 20_000, 40)
