"""Each format as its tool writes it: every event, what is kept apart, and what is said about the rest."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from afterload.errors import InputError, NotFoundError
from afterload.readers.timeline import Event, formats, read_timeline_file, to_csv
from afterload.resources import resource


def remarks(timeline):
    return [(remark.kind, remark.line) for remark in timeline.remarks]


def test_csv_of_a_spreadsheet(fixtures, pacific, brief):
    timeline = read_timeline_file(fixtures / "team.csv", zone=pacific)
    assert timeline.formats == ("CSV with a header",)
    assert [brief(event) for event in timeline.events] == [
        ("20 06:52", "", "Orders queue grows"),
        ("20 07:05", "20 07:40", 'Retries saturate the pool; "<b>all</b>" workers busy'),
        ("20 09:25", "", "Drain starts"),
        # 03/11 could be 11 March: the other rows tell that the day stands first. Standard time by then.
        ("03 17:00", "03 17:30", "Review held"),
    ]
    assert [event.service for event in timeline.events] == ["orders", "checkout", "orders", ""]
    assert [event.source for event in timeline.events] == ["alerts", "Ana", "Bo", "Ana"]
    assert remarks(timeline) == [("refused", 10), ("doubt", 0)]
    assert "'noon'" in timeline.remarks[0].text
    assert "line 8" in timeline.remarks[1].text


def test_markdown_lists(fixtures, brief):
    timeline = read_timeline_file(fixtures / "postmortem.md")
    assert [brief(event) for event in timeline.events] == [
        ("20 06:48", "", "DynamoDB errors begin (`p99 > 2 s`)"),
        ("20 06:52", "", "orders queue grows and keeps growing\n40 messages a second"),
        ("20 06:58", "", "on-call paged"),
        ("20 07:05", "20 07:40", "retries saturate the pool"),
        ("20 09:25", "", "drain *starts*"),
        ("20 09:40", "", "impact ends <script>alert(1)</script>"),
        ("21 13:00", "", "review"),
        ("21 17:15", "", "actions agreed"),
    ]
    assert [event.origin.place for event in timeline.events][:2] == ["line 12", "line 13"]
    assert remarks(timeline) == [("doubt", 16), ("doubt", 20)]
    assert "approximate" in timeline.remarks[0].text
    assert "2025-10-20" in timeline.remarks[1].text


def test_markdown_tables(fixtures, brief):
    timeline = read_timeline_file(fixtures / "table.md")
    assert [brief(event) for event in timeline.events] == [
        ("20 06:48", "20 09:40", "Errors | throttles"),
        ("20 06:52", "", "Queue grows"),
        ("20 23:50", "", "Drained"),
        ("21 00:20", "", "All clear"),
    ]
    assert [event.service for event in timeline.events] == ["DynamoDB", "orders", "orders", "orders"]
    assert [event.source for event in timeline.events] == ["status", "alerts", "Bo", "Bo"]
    assert remarks(timeline) == [("doubt", 10), ("doubt", 8)]


def test_statuspage(fixtures, brief):
    timeline = read_timeline_file(fixtures / "incidents.json")
    assert [(*brief(event), event.service, event.kind, event.status) for event in timeline.events] == [
        ("20 06:48", "20 09:40", "Database errors", "Database, Queue", "incident", "resolved"),
        ("20 07:00:12", "", "<p>We see <b>errors</b>.</p>", "Database", "update", "investigating"),
        ("20 09:40", "", "Back to normal.", "Database, Queue", "update", "resolved"),
        # Open: no end. An update without words carries the incident's name.
        ("20 10:00", "", "Console slow", "", "incident", "monitoring"),
        ("20 10:05", "", "Console slow", "", "update", "monitoring"),
    ]
    assert [(*brief(event), event.kind) for event in timeline.maintenance] == [
        ("20 08:00", "", "We will rebuild.", "update"),
        ("21 01:00", "21 02:00", "Switch replaced", "maintenance"),
        ("22 01:00", "22 03:00", "Index rebuilt", "maintenance"),
    ]
    assert {event.source for event in timeline.events} == {"Example Cloud"}
    assert timeline.events[1].origin.place == "incidents[0].incident_updates[1]"
    assert remarks(timeline) == [("doubt", 0)]


def test_statuspage_end_from_the_update_that_closed_it(read, brief):
    text = """{"incident": {"name": "N", "status": "resolved", "created_at": "2025-10-20T01:00Z", "incident_updates": [
        {"status": "resolved", "body": "Over", "display_at": "2025-10-20T03:00Z"}]}}"""
    assert [brief(event) for event in read(text, "i.json").events] == [
        ("20 01:00", "20 03:00", "N"), ("20 03:00", "", "Over")
    ]  # fmt: skip


def test_pagerduty(fixtures, brief):
    timeline = read_timeline_file(fixtures / "log_entries.json")
    assert [(*brief(event), event.service, event.kind, event.source, event.status) for event in timeline.events] == [
        ("20 06:53", "", "Triggered through the API: QueueAge 312 s: [#12] Queue age above 5 min", "orders", "trigger",
         "CloudWatch", "triggered"),
        ("20 06:58:03", "", "Acknowledged by Ana.", "orders", "acknowledge", "Ana", "acknowledged"),
        ("20 07:10", "", "Note added by Ana: Retries are <b>the</b> cause", "orders", "annotate", "Ana", ""),
        ("20 12:00", "", "Resolved through the API.", "orders", "resolve", "", "resolved"),
    ]  # fmt: skip
    assert remarks(timeline) == [("partial", 0), ("refused", 0)]
    assert "[1].log_entries[2]" in timeline.remarks[1].text
    assert "'soon'" in timeline.remarks[1].text


def test_opsgenie_alert_log(fixtures, brief):
    timeline = read_timeline_file(fixtures / "alert_log.json")
    assert [(*brief(event), event.source) for event in timeline.events] == [
        ("20 06:53", "", "Alert created via API", "System"),
        ("20 06:58:03", "", "Ana acknowledged", "ana@example.org"),
    ]
    assert timeline.events[0].at == datetime(2025, 10, 20, 6, 53, 0, 123_000, UTC)
    assert remarks(timeline) == [("partial", 0)]


def test_opsgenie_incident_timeline(fixtures, brief):
    timeline = read_timeline_file(fixtures / "incident_timeline.json")
    assert [(*brief(event), event.kind, event.source) for event in timeline.events] == [
        ("20 06:55", "", "Incident opened", "IncidentCreated", "Ana"),
        ("20 07:05", "", "Pool is saturated", "CustomUserEntry", "Bo"),
    ]
    assert timeline.remarks == ()


def test_slack_folder_of_days(fixtures):
    timeline = read_timeline_file(fixtures / "slack-incident")
    assert [(event.at, event.text, event.kind, event.source) for event in timeline.events] == [
        (
            datetime(2025, 10, 20, 6, 52, 0, 200, UTC),
            "p99 > 2 s & rising, see <https://example.org|graph>",
            "message",
            "Ana",
        ),
        (datetime(2025, 10, 20, 6, 53, 0, 1200, UTC), "QueueAge: 312 s", "bot message", "alerts"),
        (datetime(2025, 10, 20, 7, 0, 0, 300, UTC), "looking", "reply", "U2"),
    ]
    assert [remark.kind for remark in timeline.remarks] == ["refused", "doubt"]
    assert "joins" in timeline.remarks[0].text
    assert "kept once" in timeline.remarks[1].text


def test_slack_api_history_says_when_there_is_more(read):
    message = '{"type": "message", "user": "U1", "text": "a", "ts": "1760943120.000200"}'
    text = f'{{"ok": true, "messages": [{message}], "has_more": true}}'
    timeline = read(text, "history.json")
    assert [event.source for event in timeline.events] == ["U1"]
    assert remarks(timeline) == [("partial", 0)]


def test_a_file_in_a_folder_that_is_no_timeline_is_named(fixtures, tmp_path):
    (tmp_path / "2025-10-19.json").write_bytes((fixtures / "slack-incident" / "2025-10-19.json").read_bytes())
    (tmp_path / "canvas.json").write_text('{"title_x": 1}')
    timeline = read_timeline_file(tmp_path)
    assert len(timeline.events) == 2
    assert [remark.file for remark in timeline.remarks if "unsupported file" in remark.text] == [
        str(tmp_path / "canvas.json")
    ]
    (tmp_path / "2025-10-19.json").unlink()
    with pytest.raises(InputError, match="title_x"):
        read_timeline_file(tmp_path)


def test_json_lines(fixtures, brief):
    timeline = read_timeline_file(fixtures / "events.jsonl")
    assert [(*brief(event), event.origin.place) for event in timeline.events] == [
        ("20 06:53", "", "Queue age above 5 min", "line 1"),
        ("20 06:58:03", "", "Acknowledged", "line 2"),
        ("20 06:58:03", "", "Paused consumers", "line 4"),
    ]
    assert sorted(remarks(timeline)) == [("ask", 5), ("refused", 6), ("refused", 7)]


def test_json_inside_text_inside_a_response(fixtures, brief):
    timeline = read_timeline_file(fixtures / "wrapped.json")
    assert [brief(event) for event in timeline.events] == [("20 06:53", "", "Queue grows")]
    assert "JSON in text" in timeline.events[0].origin.place


@pytest.mark.parametrize("name", ["log_entries.json", "incidents.json", "alert_log.json", "incident_timeline.json"])
@pytest.mark.parametrize(
    "wrap", ['{{"data": {0}}}', "[{0}]", '{{"response": {{"body": {0}}}}}', '[{{"result": [{0}]}}]']
)
def test_wrapped_responses_read_the_same(read, fixtures, name, wrap):
    plain = read_timeline_file(fixtures / name)
    wrapped = read(wrap.format((fixtures / name).read_text(encoding="utf-8")), name)
    assert wrapped.events == plain.events
    assert wrapped.maintenance == plain.maintenance


def test_afterloads_own_form_is_kept_line_by_line():
    path = resource("data", "incidents", "us-east-1-2025-10-20", "timeline.csv")
    timeline = read_timeline_file(path)
    assert timeline.remarks == ()
    # Events of one minute stand by their text, so that the order of a file never matters.
    assert sorted(to_csv(timeline).splitlines()) == sorted(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_encodings_and_line_ends(read, delimiter, encoding, end):
    rows = [
        ("Start Time", "affectedService", "Größe"),
        ("2025-10-20T06:53Z", "orders", "x"),
        ("2025-10-20T06:54Z", "Küche", "y"),
    ]
    rows = [(*row, text) for row, text in zip(rows, ("description", "a", "ü"), strict=True)]
    text = end.join(delimiter.join(row) for row in rows) + end
    timeline = read(text.encode(encoding))
    assert timeline.events == (
        Event(datetime(2025, 10, 20, 6, 53, tzinfo=UTC), None, "a", "orders"),
        Event(datetime(2025, 10, 20, 6, 54, tzinfo=UTC), None, "ü", "Küche"),
    )
    assert [remark.text for remark in timeline.remarks] == [
        "columns that are not read: 'Größe'; the time is 'Start Time'"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "at,service,event\n2025-10-20T06:53Z,orders,x\n"),
        ("a.md", "at,service,event\n2025-10-20T06:53Z,orders,x\n"),
        ("a.json", "at,event\n2025-10-20T06:53Z,x\n"),
        ("a.csv", "- 2025-10-20T06:53Z: x\n"),
        ("a.csv", "2025-10-20T06:53Z x\n"),
        ("a.csv", '[{"at": "2025-10-20T06:53Z", "event": "x"}]'),
        ("a.md", '{"at": "2025-10-20T06:53Z", "event": "x"}\n'),
        ("noname", "|at|event|\n|-|-|\n|2025-10-20T06:53Z|x|\n"),
        ("a.csv", '"at","event"\n"2025-10-20T06:53Z","x"\n'),
    ],
)
def test_the_content_tells_the_format_not_the_name(read, brief, name, text):
    assert [brief(event) for event in read(text, name).events] == [("20 06:53", "", "x")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("hello\nworld\n", r"begins with 'hello'"),
        ("name,size\na,1\n", r"begins with 'name,size'"),
        ('{"Reservations": [], "x": 1}', r"an object with the fields Reservations, x"),
        ("[1, 2]", "a list of 2, the first of them a single value"),
        ('{"log_entries": [', r"line 1: is not whole JSON"),
        ('{"a": NaN}', "NaN is no number"),
        ("[" * 100_000, "nested too deeply|not whole JSON"),
        ('{"a": 1' + "0" * 5000 + "}", "not JSON that can be read"),
        ("a\0b", "zero byte"),
        ("at,event\n2025-10-20T06:53Z,x\n".encode("utf-16").replace(b"x\0", b"\0\0"), "line 2: holds a zero byte"),
        (b"at,event\n\xff\n", "line 2: is not UTF-8"),
    ],
)
def test_what_is_no_timeline_is_refused_with_what_was_seen(read, text, words):
    with pytest.raises(InputError, match=words) as caught:
        read(text, "file.txt")
    assert "file.txt" in str(caught.value)


def test_no_file_and_an_empty_folder(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        read_timeline_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="has no files"):
        read_timeline_file(tmp_path)


def test_every_format_has_its_own_name_and_place():
    found = formats()
    assert len(found) == 7
    assert len({each.name for each in found}) == len({each.order for each in found}) == len(found)


def test_markdown_headings_with_times(fixtures, brief):
    """The zone stands in the text; one range, one entry out of order, one with a date without a year."""
    timeline = read_timeline_file(fixtures / "headings.md")
    assert [brief(event) for event in timeline.events] == [
        ("03 08:35", "", "A new version is rolled out. Checks pass."),
        ("03 09:30", "03 09:45", "Success of launches falls to zero."),
        ("03 10:29", "", "The outage is reported in the chat. The proxy is restarted, without effect."),
        ("03 10:43", "", "In the logs: calls from one host rose a hundredfold from 10:28."),
        ("03 10:49", "", "Launches work again."),
        ("04 10:00", "", "The mended version is rolled out."),
    ]
    assert {event.at.strftime("%Y-%m") for event in timeline.events} == {"2026-02"}
    assert remarks(timeline) == [("doubt", 13), ("doubt", 25)]
    assert "out of order" in timeline.remarks[1].text


@pytest.mark.parametrize("zone", ["Europe/London", "UTC"])
def test_markdown_headings_with_a_clock_of_12_hours(fixtures, brief, zone):
    """London kept GMT that day, whatever the text calls it: a given zone settles that."""
    timeline = read_timeline_file(fixtures / "headings-12h.md", zone=ZoneInfo(zone))
    quoted = "> quoted chat text with another time, 4:32PM UTC, that is no entry of its own"
    assert [brief(event) for event in timeline.events] == [
        ("11 23:50", "", "Seen afterwards: the first failed request."),
        ("12 17:00", "", f"Incident declared.\n{quoted}"),
        ("12 17:02", "", "The affected cluster is named."),
        ("12 17:15", "", "Users are told."),
    ]
    assert {event.at.strftime("%Y-%m") for event in timeline.events} == {"2026-03"}
    assert [remark.text for remark in timeline.remarks] == [
        f"the text says BST: its times are read in {zone}, +00:00 then"
    ]


def test_what_a_zone_may_mean_is_asked_where_the_given_one_keeps_none_of_it(fixtures):
    for given, words in ((None, r"give its zone \(--zone\)"), ("Asia/Tokyo", "one of them, which Asia/Tokyo does not")):
        timeline = read_timeline_file(fixtures / "headings-12h.md", zone=given and ZoneInfo(given))
        assert timeline.events == ()
        assert len(timeline.questions) == 4
        assert re.search(words, timeline.questions[0].text)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_the_zone_in_a_header_cell(fixtures, brief, zone):
    timeline = read_timeline_file(fixtures / "zone-in-header.md", zone=zone and ZoneInfo(zone))
    assert [brief(event) for event in timeline.events] == [
        ("29 11:00", "", "Scaled up"), ("30 07:24", "", "Warning: no free addresses")
    ]  # fmt: skip


def test_a_given_zone_settles_an_abbreviation_out_of_season(fixtures, brief):
    timeline = read_timeline_file(fixtures / "zone-given.md", zone=ZoneInfo("Europe/Berlin"))
    assert [brief(event) for event in timeline.events] == [
        ("04 10:20", "", "Load balancer emptied"), ("04 11:13", "", "Fixed")
    ]  # fmt: skip
    assert [remark.text for remark in timeline.remarks] == [
        "the text says CET: its times are read in Europe/Berlin, +02:00 then"
    ]


def test_a_timed_heading_ends_with_the_next_one_as_high(read, brief):
    text = "# 1 May 2026\n\n## 10:00 - 11:00 UTC: Down\n\n- first\n\n### Cause\n\nFull disk.\n\n## Later\n\nNothing.\n"
    timeline = read(text + "\n> 12:00 UTC somebody says\n", "t.md", zone=ZoneInfo("UTC"))
    assert [brief(event) for event in timeline.events] == [("01 10:00", "01 11:00", "Down\n- first\nCause\nFull disk.")]
    assert [remark.text for remark in timeline.remarks] == [
        "quoted text with 1 lines that begin with a time is not read: make it a list"
    ]


def test_behind_a_dash_stands_the_end_where_the_zone_is_stated(read, brief):
    timeline = read("# 1 May 2026\n\nAll times in UTC\n\n- 10:00-11:00 down\n", "t.md")
    assert [brief(event) for event in timeline.events] == [("01 10:00", "01 11:00", "down")]


def test_a_line_that_begins_like_a_time_and_is_none_is_named(read, brief):
    text = "# 1 May 2026\n\n### 25:10 UTC\n\nLost.\n\n### 10:00 UTC\n\nDown.\n\n## Notes\n\n20262-01-16 12:00 up\n"
    timeline = read(text, "t.md")
    assert [brief(event) for event in timeline.events] == [("01 10:00", "", "Down.")]
    assert remarks(timeline) == [("refused", 3), ("refused", 13)]
    assert "'25:10 UTC' does not begin with a time" in timeline.remarks[0].text
