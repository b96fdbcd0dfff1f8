"""Times as people write them: read to the instant that they are, or asked about, or refused, each with its remedy.

Every expected instant is written by hand in UTC.
"""

from __future__ import annotations

import re
from datetime import date
from zoneinfo import ZoneInfo

import pytest

PACIFIC = ZoneInfo("America/Los_Angeles")
BERLIN = ZoneInfo("Europe/Berlin")
DAY = date(2025, 10, 20)


def table(*cells):
    return "at|event\n" + "".join(f"{cell}|event {number}\n" for number, cell in enumerate(cells))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2025-10-20T02:25-07:00", "20 09:25"),
        ("2025-10-20T02:25:11.123456789Z", "20 02:25:11"),
        ("2025-10-20T02:25:11,123Z", "20 02:25:11"),
        ("2025-10-20 02:25:00+00", "20 02:25"),
        ("2025-10-20 02:25 UTC", "20 02:25"),
        ("2025-10-20 02:25 (UTC)", "20 02:25"),
        ("2025/10/20 2:25 UTC+2", "20 00:25"),
        ("20251020T022500Z", "20 02:25"),
        ("2025-10-20T02:25-07:00[America/Los_Angeles]", "20 09:25"),
        ("2025-10-20 02:25 America/Los_Angeles", "20 09:25"),
        ("2025-10-20 02:25 -0700", "20 09:25"),
        ("20 Oct 2025 02:25 PDT", "20 09:25"),
        ("20-Oct-2025 02:25 PDT", "20 09:25"),
        ("October 20, 2025 at 2:25 AM PDT", "20 09:25"),
        ("Monday, 20th October 2025, 2:25 a.m. PDT", "20 09:25"),
        ("11:48 PM PDT on Oct 19, 2025", "20 06:48"),
        ("02:25 PDT, 20 October 2025", "20 09:25"),
        ("Mon Oct 20 02:25:00 UTC 2025", "20 02:25"),
        ("12:30 AM PDT 20 Oct 2025", "20 07:30"),
        ("12:30 PM PDT 20 Oct 2025", "20 19:30"),
        ("2025-10-20 24:00 UTC", "21 00:00"),
        ("2025-10-20 14:05 JST", "20 05:05"),
        ("2025-10-20 14:05 NST", None),
        ("2025-12-20 14:05 CET", "20 13:05"),
        ("2025-10-20 14:05 CEST", "20 12:05"),
        ("2025-10-20 14:05 PT", "20 21:05"),
        ("2025-12-20 14:05 ET", "20 19:05"),
        ("20/10/2025 14:05Z", "20 14:05"),
        ("10/20/2025 14:05Z", "20 14:05"),
        ("20.10.2025 14:05Z", "20 14:05"),
        ("05/05/2025 14:05Z", "05 14:05"),
        ("1760940000", "20 06:00"),
        ("1760940000.25", "20 06:00:00"),
        ("1760940000000", "20 06:00"),
        ("1760940000000000", "20 06:00"),
        ("1760940000000000000", "20 06:00"),
        ("20251020022500", None),
    ],
)
def test_one_time(read, brief, cell, expected):
    timeline = read(table(cell))
    found = [brief(event)[0] for event in timeline.events]
    assert [at.removesuffix(":00") if at.count(":") == 2 else at for at in found] == (
        [] if expected is None else [expected.removesuffix(":00") if expected.count(":") == 2 else expected]
    )
    assert (expected is None) == bool(timeline.questions)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2025-10-20 02:25 - 10:36 PDT", ("20 09:25", "20 17:36")),
        ("2025-10-20 02:25–10:36 PDT", ("20 09:25", "20 17:36")),
        ("2025-10-20 02:25 — 10:36 PDT", ("20 09:25", "20 17:36")),
        ("2025-10-20 02:25..10:36 PDT", ("20 09:25", "20 17:36")),
        ("from 02:25 to 10:36 PDT on 20 Oct 2025", ("20 09:25", "20 17:36")),
        ("23:48 to 00:38 PDT on 20 Oct 2025", None),
        ("2025-10-20 02:25-10:36 PDT", ("20 09:25", "20 17:36")),
        ("2025-10-19 23:48 - 00:38 PDT", ("20 06:48", "20 07:38")),
        ("2025-10-19 23:48 PDT - 2025-10-20 02:40 PDT", ("20 06:48", "20 09:40")),
        ("2025-10-20T02:25Z/2025-10-20T03:00Z", ("20 02:25", "20 03:00")),
        ("2025-10-20 11:30 AM - 1:10 PM PDT", ("20 18:30", "20 20:10")),
        ("2025-10-20 02:25 PDT - ongoing", ("20 09:25", "")),
        ("2025-10-20 02:25 PDT – now", ("20 09:25", "")),
        ("2025-10-20 02:25 - 02:25 UTC", ("20 02:25", "20 02:25")),
    ],
)
def test_ranges_in_one_cell(read, brief, cell, expected):
    timeline = read(table(cell))
    assert [brief(event)[:2] for event in timeline.events] == ([] if expected is None else [expected])
    assert bool(timeline.questions) == (expected is None)


@pytest.mark.parametrize(
    ("cell", "given", "words"),
    [
        ("2025-10-20 02:25", {}, r"has no zone: give its zone \(--zone\)"),
        ("02:25", {"zone": PACIFIC}, r"has no date: give the day of the"),
        (
            "03/04/2025 14:05Z",
            {},
            r"2025-04-03 \(day first\) or 2025-03-04 \(month first\): give the day of the incident",
        ),
        ("03/04/2025 14:05Z", {"date": DAY}, r"2025-04-03 .* or 2025-03-04 .*not within 7 days of 2025-10-20"),
        ("10/20/25 14:05Z", {}, r"may be 2025-10-20 \(month first\)"),
        ("20 Oct 25 14:05Z", {}, r"2025-10-20 .* or 2020-10-25"),
        ("Oct 20 14:05Z", {}, r"has no year: give the day of the"),
        (
            "2025-10-20 14:05 IST",
            {},
            r"14:05\+05:30 \(Asia/Kolkata\).*\+01:00 \(Europe/Dublin\).*\+02:00 \(IST as written\)",
        ),
        (
            "2025-10-20 14:05 CST",
            {},
            r"-06:00 \(CST as written\).*-05:00 \(CDT, which America/Chicago kept.*Asia/Shanghai",
        ),
        ("2025-10-20 14:05 PST", {}, r"-08:00 \(PST as written\) or .*-07:00 \(PDT, which"),
        ("2025-12-20 14:05 PST", {}, r"-08:00 \(America/Los_Angeles\) or .*\+08:00 \(Asia/Manila\)"),
        ("2025-07-20 14:05 CET", {}, r"\+01:00 \(CET as written\) or .*\+02:00 \(CEST, which"),
        ("2025-07-20 14:05 BST", {}, r"\+01:00 \(Europe/London\) or .*\+06:00 \(Asia/Dhaka\)"),
        ("2025-11-02 01:30", {"zone": PACIFIC}, r"occurs twice .*01:30-07:00 or 2025-11-02T01:30-08:00"),
        ("2025-10-26 02:30", {"zone": BERLIN}, r"02:30\+02:00 or 2025-10-26T02:30\+01:00"),
        ("2025-10-26 02:30 Europe/Berlin", {}, r"02:30\+02:00 .*or 2025-10-26T02:30\+01:00"),
        ("02:25-07:00", {"zone": PACIFIC, "date": DAY}, r"may be a range, or a time with the offset -07:00"),
        ("946684799", {}, r"1999-12-31T23:59:59\+00:00 in seconds"),
    ],
)
def test_two_readings_are_asked_with_both(read, cell, given, words):
    timeline = read(table(cell), **given)
    assert timeline.events == ()
    assert [remark.kind for remark in timeline.remarks] == ["ask"]
    assert timeline.questions[0].line == 2
    assert timeline.questions[0].file.endswith("timeline.csv")
    assert re.search(words, timeline.questions[0].text), timeline.questions[0].text


@pytest.mark.parametrize(
    ("cell", "given", "expected"),
    [
        ("2025-10-20 02:25", {"zone": PACIFIC}, "20 09:25"),
        ("02:25", {"zone": PACIFIC, "date": DAY}, "20 09:25"),
        ("02:25Z", {"date": DAY}, "20 02:25"),
        ("03/04/2025 14:05Z", {"date": date(2025, 4, 2)}, "03 14:05"),
        ("03/04/2025 14:05Z", {"date": date(2025, 3, 4)}, "04 14:05"),
        ("10/20/25 14:05Z", {"date": DAY}, "20 14:05"),
        ("20 Oct 25 14:05Z", {"date": DAY}, "20 14:05"),
        ("Oct 20 14:05Z", {"date": DAY}, "20 14:05"),
        ("10/20 14:05 UTC", {"date": DAY}, "20 14:05"),
        ("Jan 2 14:05Z", {"date": date(2025, 12, 31)}, "02 14:05"),
        # The given zone says which of those that share an abbreviation, and which side of a clock change.
        ("2025-10-20 14:05 IST", {"zone": ZoneInfo("Asia/Kolkata")}, "20 08:35"),
        ("2025-12-20 14:05 PST", {"zone": PACIFIC}, "20 22:05"),
        ("2025-07-20 14:05 BST", {"zone": ZoneInfo("Europe/London")}, "20 13:05"),
        ("2025-07-20 14:05 MST", {"zone": ZoneInfo("America/Phoenix")}, "20 21:05"),
        ("2025-11-02 01:30 PDT", {"zone": PACIFIC}, "02 08:30"),
        ("2025-11-02 01:30 PST", {"zone": PACIFIC}, "02 09:30"),
    ],
)
def test_what_a_person_gives_settles_it(read, brief, cell, given, expected):
    timeline = read(table(cell), **given)
    assert [brief(event)[0] for event in timeline.events] == [expected]
    assert timeline.questions == ()


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("2025-03-09 02:30", "does not exist: clocks in America/Los_Angeles skip it"),
        ("2025-03-30 02:30 Europe/Berlin", "does not exist: clocks in Europe/Berlin skip it"),
        ("2025-10-20", "date without a time of day"),
        ("25:00", "not a time that can be read"),
        ("14:60", "not a time that can be read"),
        ("13:05 PM", "not a time that can be read"),
        ("2025-02-30 10:00Z", "there is no such day"),
        ("31/31/2025 10:00Z", "there is no such day"),
        ("Tuesday, 20 Oct 2025 10:00Z", "2025-10-20 is a Monday, not a Tuesday"),
        ("2025-10-20T02:25-07:00[Europe/Berlin]", "not the offset of Europe/Berlin"),
        ("2025-10-20 14:05 XYZT", "'XYZT' behind the time is not known"),
        ("2025-10-20 14:05 +25:00", "behind the time is not known"),
        ("1850-10-20 14:05Z", "is in the year 1850"),
        ("2025-10-20 10:00Z - 2025-10-20 09:00Z", "its end, is before"),
        ("12345", "no time since 1970"),
        ("45950.1007", "no time since 1970"),
        ("9" * 50, "too long a number"),
        ("soon", "not a time that can be read"),
        ("", "has no time"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(read, cell, words):
    timeline = read(table(cell, "2025-10-20T00:00Z"), zone=PACIFIC)
    assert [event.text for event in timeline.events] == ["event 1"]
    assert [(remark.kind, remark.line) for remark in timeline.remarks] == [("refused", 2)]
    assert words in timeline.remarks[0].text


def test_one_row_tells_the_order_of_the_dates_of_all(read, brief):
    for other, first in (("20/10/2025 10:00Z", "03 10:00"), ("10/20/2025 10:00Z", "04 10:00")):
        timeline = read(table("03/04/2025 10:00Z", other))
        assert brief(timeline.events[0])[0] == first
        assert timeline.remarks == ()


def test_dates_of_both_orders_leave_the_rest_to_ask(read):
    timeline = read(table("03/04/2025 10:00Z", "20/10/2025 10:00Z", "10/20/2025 11:00Z"))
    assert [event.text for event in timeline.events] == ["event 1", "event 2"]
    assert [remark.kind for remark in timeline.remarks] == ["doubt", "ask"]


def test_a_clock_without_am_or_pm_among_others_with_it(read, brief):
    timeline = read(table("2025-10-20 2:25 PM UTC", "2025-10-20 3:10 UTC", "2025-10-20 15:20 UTC", "2025-10-20T04:00Z"))
    assert [brief(event)[0] for event in timeline.events] == ["20 04:00", "20 14:25", "20 15:20"]
    assert "may be 03:10 or 15:10" in timeline.questions[0].text


def test_past_midnight_in_a_list(read, brief):
    timeline = read(table("23:48", "23:59 - 00:10", "00:38", "02:25"), zone=PACIFIC, date=date(2025, 10, 19))
    assert [brief(event)[:2] for event in timeline.events] == [
        ("20 06:48", ""), ("20 06:59", "20 07:10"), ("20 07:38", ""), ("20 09:25", "")
    ]  # fmt: skip
    assert [(remark.kind, remark.line) for remark in timeline.remarks] == [("doubt", 4)]
    assert "read as 2025-10-20" in timeline.remarks[0].text


def test_two_midnights(read, brief):
    timeline = read(table("23:48", "11:00", "22:00", "09:30"), zone=PACIFIC, date=date(2025, 10, 19))
    assert [brief(event)[0] for event in timeline.events] == ["20 06:48", "20 18:00", "21 05:00", "21 16:30"]


def test_the_newest_first(read, brief):
    timeline = read(table("00:38", "00:10", "23:59", "23:48"), zone=PACIFIC, date=date(2025, 10, 19))
    assert [brief(event)[0] for event in timeline.events] == ["20 06:48", "20 06:59", "20 07:10", "20 07:38"]
    assert "newest entry stands first" in timeline.remarks[0].text


def test_slightly_out_of_order_is_the_same_day_and_said(read, brief):
    timeline = read(table("14:20", "14:10", "14:30"), zone=PACIFIC, date=DAY)
    assert [brief(event)[0] for event in timeline.events] == ["20 21:10", "20 21:20", "20 21:30"]
    assert "out of order" in timeline.remarks[0].text


@pytest.mark.parametrize("clocks", [("20:00", "12:00"), ("00:10", "23:50")])
def test_neither_day_is_likelier(read, clocks):
    timeline = read(table(*clocks), zone=PACIFIC, date=DAY)
    assert [event.text for event in timeline.events] == ["event 0"]
    assert "may be 2025-10-" in timeline.questions[0].text
    assert " or 2025-10-" in timeline.questions[0].text


def test_a_dated_entry_gives_the_day_of_those_below_it(read, brief):
    timeline = read(table("2025-10-19 23:48", "00:26", "2025-10-21 10:00 EDT", "14:30 UTC"), zone=PACIFIC)
    assert [brief(event)[0] for event in timeline.events] == ["20 06:48", "20 07:26", "21 14:00", "21 14:30"]


def test_end_in_a_column_of_its_own(read, brief):
    text = "start,end,event\n2025-10-19 23:48,00:38,a\n2025-10-20T01:00Z,2025-10-20T02:00Z,b\n2025-10-20T01:00Z,n/a,c\n"
    text += "2025-10-20T01:00Z,2025-10-20T00:00Z,d\n2025-10-20 01:00Z - 02:00Z,2025-10-20T03:00Z,e\n"
    timeline = read(text, zone=PACIFIC)
    assert [brief(event) for event in timeline.events] == [
        ("20 01:00", "20 02:00", "b"), ("20 01:00", "", "c"), ("20 06:48", "20 07:38", "a")
    ]  # fmt: skip
    assert [(remark.kind, remark.line) for remark in timeline.remarks] == [("refused", 5), ("refused", 6)]


@pytest.mark.parametrize("header", ["Time (PDT)", "time_pdt", "Time [America/Los_Angeles]", "Time (UTC-7)"])
def test_the_zone_in_the_name_of_the_column(read, brief, header):
    timeline = read(f"{header},event\n2025-10-20 02:25,x\n")
    assert [brief(event)[0] for event in timeline.events] == ["20 09:25"]


def test_the_zone_in_a_column_of_its_own(read, brief):
    rows = "2025-10-20 02:25,PDT,a\n2025-10-20 09:25,Europe/Berlin,b\n2025-10-20 10:00,Mars,c\n2025-10-20 10:00,,d\n"
    timeline = read(f"time,tz,event\n{rows}")
    assert [brief(event)[0] for event in timeline.events] == ["20 07:25", "20 09:25"]
    assert sorted((remark.kind, remark.line) for remark in timeline.remarks) == [("ask", 5), ("refused", 4)]


def test_a_thousand_questions_alike_are_asked_once(read):
    timeline = read(table(*["2025-10-20 02:25"] * 1000))
    assert len(timeline.questions) == 6
    assert timeline.questions[-1].text.startswith("995 more like this:")


def test_odd_texts_stay_text(read):
    long = "x" * 200_000
    text = 'at,event\n2025-10-20T00:00Z,<b>bold</b>\n2025-10-20T00:01Z,"two\nlines"\n2025-10-20T00:02Z,a\x07b\n'
    text += f"2025-10-20T00:03Z,{long}\n"
    timeline = read(text + "2025-10-20T00:04Z,\n")
    assert [event.text for event in timeline.events[:3]] == ["<b>bold</b>", "two\nlines", "a\ufffdb"]
    assert len(timeline.events[3].text) == 100_000
    assert sorted((remark.kind, remark.line) for remark in timeline.remarks) == [
        ("doubt", 5),
        ("doubt", 6),
        ("refused", 7),
    ]


def test_a_row_with_too_few_or_too_many_cells(read):
    timeline = read(
        "at,event,status\n2025-10-20T00:00Z,a\n2025-10-20T00:01Z,b,c,d\n2025-10-20T00:02Z,e,f\n2025-10-20T00:03Z,g,,\n"
    )
    assert [(event.text, event.status) for event in timeline.events] == [("e", "f"), ("g", "")]
    assert [(remark.kind, remark.line) for remark in timeline.remarks] == [("refused", 2), ("refused", 3)]
