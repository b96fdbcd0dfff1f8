"""Changing single values of YAML text: what is asked for changes, and nothing else."""

from __future__ import annotations

import difflib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterload.errors import InputError
from afterload.resources import resource
from afterload.yamledit import YamlText, dump
from afterload.yamltree import plain, read_text

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
STARTER = resource("templates", "scenario.yaml").read_text(encoding="utf-8")


def changed_lines(before: str, after: str) -> list[str]:
    """Lines that went (-) and came (+)."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[:2] in ("- ", "+ ")]


def test_a_value_changes_and_its_comment_stays():
    text = YamlText(ORDERS, "orders.yaml")
    text.set(("recovery_objective",), "200 min")
    assert changed_lines(ORDERS, text.text) == [
        "- recovery_objective: 240 min # from dependency restored to first-attempt age back at baseline",
        "+ recovery_objective: 200 min # from dependency restored to first-attempt age back at baseline",
    ]


def test_new_keys_go_below_the_last_of_their_mapping():
    text = YamlText(ORDERS, "orders.yaml")
    text.set(("queues", "orders", "drain_cap", "concurrency"), 80)
    assert changed_lines(ORDERS, text.text) == ["+     drain_cap:", "+       concurrency: 80"]
    assert text.get(("queues", "orders", "drain_cap")) == {"concurrency": 80}


def test_an_item_of_a_list_in_braces_changes_alone():
    text = YamlText(ORDERS, "orders.yaml")
    text.set(("call_stacks", "checkout", "layers", 0, "tries"), 2)
    assert changed_lines(ORDERS, text.text) == [
        "-       - { name: browser, tries: 3 }",
        "+       - { name: browser, tries: 2 }",
    ]


def test_a_key_goes_with_its_line():
    text = YamlText(ORDERS, "orders.yaml")
    text.remove(("queues", "orders", "goes_stale_after"))
    text.remove(("queues", "orders", "nothing_such"))
    assert changed_lines(ORDERS, text.text) == ["-     goes_stale_after: 15 min"]


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("", ("a", "b"), 1, "a:\n  b: 1\n"),
        ("# only a comment\n", ("a",), 1, "# only a comment\na: 1\n"),
        ("a:\n", ("a", "b"), 1, "a:\n  b: 1\n"),
        ("a: # why\n", ("a", "b"), 1, "a: # why\n  b: 1\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2\n"),
        ("a: 1\r\n", ("b",), 2, "a: 1\r\nb: 2\r\n"),
        ("a: 1 # one\n\n# tail\n", ("b",), 2, "a: 1 # one\nb: 2\n\n# tail\n"),
        ("a: {}\n", ("a", "b"), "1,200/min", 'a: {b: "1,200/min"}\n'),
        ("a: {c: 1}\n", ("a", "b"), 2, "a: {c: 1, b: 2}\n"),
        ("a: { c: 1 }\n", ("a", "b"), 2, "a: { c: 1, b: 2 }\n"),
        ("a: {b: 1}\n", ("a", "b"), "1,200/min", 'a: {b: "1,200/min"}\n'),
        ("a: 1,000/min\n", ("a",), "1,200/min", "a: 1,200/min\n"),
        ("a: 'quoted'\n", ("a",), "plain", "a: plain\n"),
        ("a: |\n  long\n  text\nb: 1\n", ("a",), "short", "a: short\nb: 1\n"),
        ("a:\n- b: 1\n  c: 2\n- d: 3\n", ("a", 0, "b"), 9, "a:\n- b: 9\n  c: 2\n- d: 3\n"),
        ("a:\n- b: 1\n  c: 2\n- d: 3\n", ("a", 1, "e"), 9, "a:\n- b: 1\n  c: 2\n- d: 3\n  e: 9\n"),
        ("a: 12\n", ("a",), "12", "a: '12'\n"),
    ],
)
def test_forms_of_text(before, path, value, after):
    text = YamlText(before, "file.yaml")
    text.set(path, value)
    assert text.text == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a:\n- b: 1\n"),
        ("a: []\n", "a:\n- b: 1\n"),
        ("a: [1, 2]\n", "a: [1, 2, {b: 1}]\n"),
        ("a: [1, 2, ] # why\n", "a: [1, 2, {b: 1} ] # why\n"),
        ("a:\n- x # one\n# end\n", "a:\n- x # one\n- b: 1\n# end\n"),
        ("a:\n  - x: 1\n    y: 2\nc: 3\n", "a:\n  - x: 1\n    y: 2\n  - b: 1\nc: 3\n"),
        ("a:\n  - - 1\n    - 2\n", "a:\n  - - 1\n    - 2\n  - b: 1\n"),
    ],
)
def test_items_go_to_the_end_of_a_list(before, after):
    text = YamlText(before, "file.yaml")
    text.append(("a",), {"b": 1})
    assert text.data["a"][-1] == {"b": 1}
    assert text.text == after


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a: 1\n", ("a", "b"), "a.b: 1 stands in the way of b"),
        ("a: [1]\n", ("a", 3), "a.3: .* stands in the way of 3"),
        ("a: &x {b: 1}\nc: *x\n", ("c", "b"), "c.b is written in a way that cannot be changed alone"),
    ],
)
def test_what_cannot_be_changed_alone_is_said(text, path, words):
    edit = YamlText(text, "file.yaml")
    with pytest.raises(InputError, match=rf"file\.yaml: {words}"):
        edit.set(path, 2)
    assert edit.text == text


MERGED = "a: &a\n  x: 1\n  y: 2\nb:\n  <<: *a\n  z: 3\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda edit: edit.remove(("b", "x")),
        lambda edit: edit.rename(("b", "x"), "w"),
    ],
)
def test_a_key_that_comes_from_elsewhere_cannot_be_taken_away_here(change):
    edit = YamlText(MERGED, "file.yaml")
    with pytest.raises(InputError, match=r"file\.yaml: b\.x is written in a way that cannot be changed alone"):
        change(edit)
    assert edit.text == MERGED
    edit.set(("b", "x"), 5)
    assert edit.data["b"] == {"x": 5, "y": 2, "z": 3}
    assert edit.data["a"] == {"x": 1, "y": 2}


def test_a_copy_of_a_key_that_comes_from_elsewhere_is_written_out():
    edit = YamlText(MERGED, "file.yaml")
    edit.duplicate(("b", "x"), "w")
    assert edit.data["b"] == {"x": 1, "y": 2, "z": 3, "w": 1}


def test_text_that_is_not_yaml():
    with pytest.raises(InputError, match="not YAML"):
        YamlText("a: [1\n", "file.yaml")


SCALARS = st.one_of(
    st.integers(-10, 10_000), st.booleans(), st.none(), st.sampled_from(["1,200/min", "15 min", "no", "1.40", "a: b", "# x"]),
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=12),
)  # fmt: skip
KEYS = st.sampled_from(["a", "b", "queues.orders.rate", "with space", "c"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3), max_leaves=6
)


def paths(data, above=()):
    found = []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += [(*above, key), *paths(value, (*above, key))]
    return found


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([ORDERS, STARTER]), st.data(), VALUES)
def test_any_value_of_a_scenario_can_be_set(text, data, value):
    edit = YamlText(text, "file.yaml")
    path = data.draw(st.sampled_from(paths(edit.data)))
    path = data.draw(st.sampled_from([path, (*path[:-1], "new"), (*path, "new")]))
    # A list has no place for a name, a single value has nothing below it.
    above = edit.get(path[:-1]) if len(path) > 1 else edit.data
    if (isinstance(above, list) and isinstance(path[-1], str)) or not isinstance(above, dict | list | type(None)):
        with pytest.raises(InputError, match="by hand"):
            edit.set(path, value)
        return
    # A comment inside what is replaced goes with it; every other one stays.
    replaced = edit.get(path)
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    edit.set(path, value)
    assert edit.get(path) == value
    assert plain(read_text(edit.text, "again").data) == edit.data
    if not isinstance(replaced, dict | list):
        assert [line for line in edit.text.splitlines() if line in comments] == comments


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_dumped_values_read_back(value):
    assert plain(read_text(f"a:\n{re.sub('^', '  ', dump(value), flags=re.MULTILINE)}\n", "file").data) == {"a": value}


def test_items_of_lists_and_mappings_are_copied_with_their_comments_renamed_and_removed():
    text = YamlText(ORDERS, "orders.yaml")
    text.duplicate(("queues", "orders"), "refunds: all")
    text.duplicate(("call_stacks", "checkout", "layers", 0))
    text.rename(("clients", "checkout"), "shop")
    text.remove(("fleets", "checkout-api", "removal_automation", 1))
    text.remove(("postmortem", "actions", 1))
    lines = changed_lines(ORDERS, text.text)
    assert [line for line in lines if "layers" in line or "browser" in line] == [
        "+       - { name: browser, tries: 3 }"
    ]
    assert "+   'refunds: all':" in lines
    assert "+     idempotency: # made up" in lines
    assert [line for line in lines if line in ("-   checkout:", "+   shop:")] == ["-   checkout:", "+   shop:"]
    assert "+     removal_automation: [ReplaceUnhealthy, AlarmNotification]" in lines
    assert [line for line in lines if "Pause scale-in" in line] == [
        "-     - text: Pause scale-in of checkout-api by one command, and try it"
    ]
    assert text.get(("queues", "refunds: all")) == text.get(("queues", "orders"))


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a: [1, 2]\n", ("a", 0), "a: [2]\n"),
        ("a:\n- 1 # one\n- 2\n", ("a", 0), "a:\n- 2\n"),
        ("a:\n  - 1\nb: 2\n", ("a", 0), "a: []\nb: 2\n"),
        ("- - 1\n  - 2\n", (0, 0), "- - 2\n"),
    ],
)
def test_removing_an_item_of_a_list(before, path, after):
    text = YamlText(before, "t")
    text.remove(path)
    assert text.text == after


def test_a_copy_keeps_how_numbers_are_written():
    text = YamlText("c: {v: 1.40}\nl: [{v: 1.40}]\n", "t")
    text.duplicate(("c",), "d")
    text.duplicate(("l", 0))
    assert text.text == "c: {v: 1.40}\nd: {v: 1.40}\nl: [{v: 1.40}, {v: 1.40}]\n"
    with pytest.raises(InputError, match="is there already"):
        text.duplicate(("c",), "d")
    with pytest.raises(InputError, match="is there already"):
        text.rename(("c",), "d")
    text.set(("c", "v"), read_text("2.50", "t").data)
    assert text.text.startswith("c: {v: 2.50}\n")
