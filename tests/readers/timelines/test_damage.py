"""Files cut off or spoiled: an error that names the file, or a stated partial read, and never another exception."""

from __future__ import annotations

import random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.readers.timelines.conftest import FIXTURES
from tests.readers.timelines.test_round_trip import EVENTS
from tests.readers.timelines.writers import FORMS

from afterload.errors import InputError
from afterload.readers.timeline import read_timeline_file

PACIFIC = ZoneInfo("America/Los_Angeles")
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
# Forms of lines: one that is cut exactly at the end of a line is a whole file in itself.
LINES = (".csv", ".tsv", ".md", ".jsonl")
SOUND = {path.name: path.read_bytes() for path in FILES} | {
    f"{form}, {name}": write(EVENTS).encode() for form, (name, write, _, _) in FORMS.items()
}


@pytest.mark.parametrize("name", SOUND)
def test_truncated(tmp_path, name):
    raw = SOUND[name]
    chance = random.Random(name)
    path = tmp_path / f"cut.{name.rpartition('.')[2]}"
    path.write_bytes(raw)
    whole = read_timeline_file(path, zone=PACIFIC)
    named = []
    for _ in range(20):
        cut = chance.randrange(1, len(raw.rstrip()))
        path.write_bytes(raw[:cut])
        try:
            timeline = read_timeline_file(path, zone=PACIFIC)
        except InputError as problem:
            named.append(str(path) in str(problem))
            continue
        assert path.suffix in LINES, "JSON that is not whole is an error"
        at_a_line_end = raw[:cut].endswith((b"\n", b"\r")) or raw[cut : cut + 1] in (b"\n", b"\r")
        partial = [remark for remark in timeline.remarks if remark.kind == "partial"]
        assert partial or at_a_line_end, (cut, timeline)
        # All but the last entry are those of the whole file.
        assert len(set(timeline.events) - set(whole.events)) <= 1
    assert all(named)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(SOUND)),
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from(["set", "insert", "delete", "repeat"]), st.binary(min_size=1, max_size=4)),
        min_size=1, max_size=6,
    ),
)  # fmt: skip
@example("team.csv", [(0.0, "insert", b"\xff\xfe")])
@example("events.jsonl", [(0.5, "insert", b"\xed\xa0\x80")])
def test_damaged_bytes_never_raise_anything_else(tmp_path, name, damage):
    raw = bytearray(SOUND[name])
    for share, kind, data in damage:
        at = int(share * len(raw))
        if kind == "set":
            raw[at : at + len(data)] = data
        elif kind == "insert":
            raw[at:at] = data
        elif kind == "delete":
            del raw[at : at + len(data)]
        else:
            raw[at:at] = raw[at : at + 40] * 3
    path = tmp_path / f"damaged.{name.rpartition('.')[2]}"
    path.write_bytes(raw)
    try:
        timeline = read_timeline_file(path, zone=PACIFIC)
    except InputError as problem:
        if str(path) not in str(problem):
            raise AssertionError(f"the message does not name the file: {problem}") from problem
        return
    assert list(timeline.events) == sorted(timeline.events, key=lambda event: event.at)
    assert all(event.at.tzinfo is not None and event.text for event in timeline.events)
    assert all(event.end is None or event.end >= event.at for event in timeline.events)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("0123456789:-–/. TZ+amp[]()*_`|,OctPDUMon2025\n"), max_size=60))
def test_any_row_of_signs_is_a_time_or_not(tmp_path, text):
    for name, before in (("a.csv", "at,event\n2025-10-20T00:00Z,x\n"), ("a.md", "- 2025-10-20T00:00Z: x\n- ")):
        path = tmp_path / name
        path.write_text(f"{before}{text}\n", encoding="utf-8")
        timeline = read_timeline_file(path, zone=PACIFIC)
        assert all(1970 <= event.at.year <= 2200 for event in timeline.events)
