"""Quantities as people type them: what is read, what is refused, and what is written for people."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterload import units
from afterload.errors import ModelError, UnitError

PACIFIC = ZoneInfo("America/Los_Angeles")

RATES = {
    "1,200/min": 1200,
    "1200/min": 1200,
    "1200 / min": 1200,
    " 1,200/min ": 1200,
    "1200 per minute": 1200,
    "1200 per min": 1200,
    "72,000 per hour": 1200,
    "72000/h": 1200,
    "20/s": 1200,
    "20 req/s": 1200,
    "20 requests per second": 1200,
    "20 msgs/sec": 1200,
    "0.02/ms": 1200,
    "1,728,000/day": 1200,
    "12,096,000/week": 1200,
    "1,200/MIN": 1200,
    "1,200 items/minutes": 1200,
    "1,200 Orders/min": 1200,
    "1200/m": 1200,
    "0/min": 0,
    "0.5/s": 30,
    "1.25/min": 1.25,
    "1,234,567.5/min": 1_234_567.5,
}


@pytest.mark.parametrize("text", RATES)
def test_a_rate_is_read_as_items_a_minute(text: str) -> None:
    assert units.read_rate_per_min(text) == pytest.approx(RATES[text], rel=1e-14)


DURATIONS = {
    "15 min": 15,
    "15min": 15,
    " 15 min ": 15,
    "15 minutes": 15,
    "15 m": 15,
    "90 s": 1.5,
    "90 seconds": 1.5,
    "250 ms": 250 / 60_000,
    "2 h 52 min": 172,
    "2h52m": 172,
    "2 hours, 52 minutes": 172,
    "2 h,52 min": 172,
    "4 days": 5760,
    "1 d 2 h 3 min 30 s": 1563.5,
    "1 week": 10_080,
    "1,440 min": 1440,
    "1.5 h": 90,
    "0 s": 0,
    "5 Min": 5,
    "1 H": 60,
    "PT2H52M": 172,
    "PT90S": 1.5,
    "PT0.5H": 30,
    "P4D": 5760,
    "P1W": 10_080,
    "P1DT1H": 1500,
    "PT1H30M15.5S": 90 + 15.5 / 60,
    "100 days": 144_000,
}


@pytest.mark.parametrize("text", DURATIONS)
def test_a_duration_is_read_in_minutes(text: str) -> None:
    assert units.read_duration_min(text) == pytest.approx(DURATIONS[text], rel=1e-14)


NOT_NUMBERS = [
    "", " ", "1_0", "2025_10_20", "1.5e3", "1e3", "12,00", "1,20", "1,2000", "1200,", ",200", "0x10", "0o17", "1 200",
    "1\u00a0200", "1'200", "1.200,5", ".5", "5.", "+5", "-5", "\u22125", "\u20115", "１２", "１２００", "١٢", "१२", "²",
    "½", "Ⅻ", "nan", "NaN", "inf", "-inf", "Infinity", "none", "five", "5,", "1,,200", "--5", "5-6", "~5", "5 %",
    "9" * 400, "1\n2", "0,250", "00,250", "0,000",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_a_text_that_only_looks_like_a_number_is_refused_everywhere(text: str) -> None:
    for read, suffix in [
        (units.read_number, ""),
        (units.read_count, ""),
        (units.read_rate_per_min, "/min"),
        (units.read_rate_per_min, "/s"),
        (units.read_duration_min, " min"),
        (units.read_duration_min, "h"),
    ]:
        with pytest.raises(UnitError) as caught:
            read(text + suffix)
        assert caught.value.accepted
        assert len(str(caught.value)) < 1000
    if not text.endswith("%"):
        for suffix in ("", " %"):
            with pytest.raises(UnitError):
                units.read_share(text + suffix)


REFUSED_RATES = {
    "1200": "has no unit",
    "1,200": "has no unit",
    "/min": "is not a rate",
    "1,200/": "is not a rate",
    "1,200 min": "is not a rate",
    "1,200/min/s": "is not a rate",
    "1,200/5 min": "is not a rate",
    "1 200/min": "is not a rate",
    "12,00/min": "is not a rate",
    "-5/min": "is not a rate",
    "\u22125/min": "is not a rate",
    "１２/min": "is not a rate",
    "1.5e3/min": "is not a rate",
    "20rps": "is not a rate",
    "20 apples/min": "counts 'apples'",
    "20 s/min": "counts 's'",
    "20/fortnight": "unknown unit 'fortnight'",
    "20/month": "unknown unit 'month'",
    "20/M": "unknown unit 'M'",
    "20/sm": "unknown unit 'sm'",
    "1" * 5000 + "/min": "is not a rate",
    "9" * 90 + "/min": "is too large",
}


@pytest.mark.parametrize("text", REFUSED_RATES)
def test_a_wrong_rate_is_refused_with_its_reason(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.read_rate_per_min(text)
    assert REFUSED_RATES[text] in caught.value.message
    assert caught.value.accepted


@pytest.mark.parametrize("value", [1200, 1200.0, None, True, ["1/min"], {"a": 1}, math.nan])
def test_a_rate_without_text_has_no_unit(value: object) -> None:
    with pytest.raises(UnitError, match="has no unit"):
        units.read_rate_per_min(value)
    with pytest.raises(UnitError, match="has no unit"):
        units.read_duration_min(value)


REFUSED_DURATIONS = {
    "15": "has no unit",
    "1,440": "has no unit",
    "min": "is not a duration",
    "02:52": "is not a duration",
    "2:52 h": "is not a duration",
    "-5 min": "is not a duration",
    "\u22125 min": "is not a duration",
    ",15 min": "is not a duration",
    "15 min,": "is not a duration",
    "2 h,,5 min": "is not a duration",
    "2 h and 5 min": "is not a duration",
    "2 h 5": "is not a duration",
    "5min30": "is not a duration",
    "1.2.3 min": "is not a duration",
    "12,00 min": "is not a duration",
    "1 200 min": "is not a duration",
    "1_0 min": "is not a duration",
    "１５ min": "is not a duration",
    "5 µs": "is not a duration",
    "1.5e3 min": "unknown unit 'e'",
    "3 months": "unknown unit 'months'",
    "3 mo": "unknown unit 'mo'",
    "1 year": "unknown unit 'year'",
    "5 M": "unknown unit 'M'",
    "5 sm": "unknown unit 'sm'",
    "5 fortnights": "unknown unit 'fortnights'",
    "5 min 2 h": "out of order or twice",
    "5 min 3 m": "out of order or twice",
    "5 s 5 s": "out of order or twice",
    "P": "ISO 8601",
    "PT": "ISO 8601",
    "P1DT": "ISO 8601",
    "P1Y": "ISO 8601",
    "P3M": "ISO 8601",
    "PT-5M": "ISO 8601",
    "PT5": "ISO 8601",
    "PT2,5H": "ISO 8601",
    "P１D": "ISO 8601",
    "P" + "9" * 400 + "W": "is not a duration",
    "200 years": "unknown unit 'years'",
    "5,300 weeks": "is too long",
    "999,999,999 h": "is too long",
    "P9999999W": "is too long",
    "9" * 200_000: "is not a duration",
}


@pytest.mark.parametrize("text", REFUSED_DURATIONS, ids=lambda text: text[:20])
def test_a_wrong_duration_is_refused_with_its_reason(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.read_duration_min(text)
    assert REFUSED_DURATIONS[text] in caught.value.message
    assert caught.value.accepted
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("unit", ["sm", "mn", "x", "month", "y", "fortnight", "M", "Q", "hz", "minn"])
def test_an_unknown_unit_names_the_accepted_ones_and_never_becomes_minutes(unit: str) -> None:
    for read, text in ((units.read_rate_per_min, f"5/{unit}"), (units.read_duration_min, f"5 {unit}")):
        with pytest.raises(UnitError) as caught:
            read(text)
        assert repr(unit) in caught.value.message
        assert caught.value.accepted == "ms, s, min, h, days or weeks"


NUMBERS = {0: 0.0, 5: 5.0, 2.5: 2.5, "1200": 1200.0, "1,200": 1200.0, " 7 ": 7.0, "0.5": 0.5, "1,234.5": 1234.5}


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_is_read(value: object) -> None:
    number = units.read_number(value)
    assert number == NUMBERS[value]  # type: ignore[index]
    assert type(number) is float


@pytest.mark.parametrize(
    "value",
    [True, False, None, [], {}, b"5", -1, -0.001, math.nan, math.inf, -math.inf, 1e16, 10**400, -(10**5000), 1j],
    ids=lambda value: repr(value)[:12] if not isinstance(value, int) else f"{value.bit_length()} bits",
)
def test_what_is_not_a_number_of_zero_or_more_is_refused(value: object) -> None:
    for read in (units.read_number, units.read_count, units.read_share):
        with pytest.raises(UnitError) as caught:
            read(value)
        assert caught.value.accepted
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("value", "count"), [(0, 0), (5, 5), (5.0, 5), ("1,200", 1200), ("7.0", 7), (10**15, 10**15)])
def test_a_count_is_whole(value: object, count: int) -> None:
    found = units.read_count(value)
    assert found == count
    assert type(found) is int


@pytest.mark.parametrize("value", [0.5, "0.5", "1,200.25", 1e-9])
def test_a_count_that_is_not_whole_is_refused(value: object) -> None:
    with pytest.raises(UnitError, match="is not a whole number; accepted: a whole number such as 1200"):
        units.read_count(value)


SHARES = {0: 0, 1: 1, 0.25: 0.25, "0.25": 0.25, "25 %": 0.25, "25%": 0.25, "0 %": 0, "100 %": 1, "0.5 %": 0.005}


@pytest.mark.parametrize("value", SHARES)
def test_a_share_is_read(value: object) -> None:
    assert units.read_share(value) == pytest.approx(SHARES[value], rel=1e-15)  # type: ignore[index]


@pytest.mark.parametrize("value", [1.01, 2, "25", "101 %", "1.0001", 100])
def test_more_than_the_whole_is_refused(value: object) -> None:
    with pytest.raises(UnitError, match="is more than the whole; accepted: a share between 0 and 1, or a percentage"):
        units.read_share(value)


@pytest.mark.parametrize("value", ["%", "% 25", "25 %%", "25 % %", "-5 %", "25 ٪", "25 percent", "0,5"])
def test_a_wrong_share_is_refused(value: str) -> None:
    with pytest.raises(UnitError, match="a share between 0 and 1"):
        units.read_share(value)


INSTANTS = {
    "2025-10-19T23:48-07:00": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-19 23:48-07:00": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-19 23:48 -07:00": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-19T23:48-0700": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-20T06:48Z": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-20T06:48 UTC": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    "2025-10-20T06:48:30Z": datetime(2025, 10, 20, 6, 48, 30, tzinfo=UTC),
    "2025-10-20T06:48:30.25Z": datetime(2025, 10, 20, 6, 48, 30, 250_000, tzinfo=UTC),
    "2025-10-20T12:18+05:30": datetime(2025, 10, 20, 6, 48, tzinfo=UTC),
    " 2024-02-29T00:00Z ": datetime(2024, 2, 29, tzinfo=UTC),
}


@pytest.mark.parametrize("text", INSTANTS)
def test_an_instant_is_read_with_its_zone(text: str) -> None:
    found = units.read_instant(text)
    assert found == INSTANTS[text]
    assert found.utcoffset() is not None


def test_the_offset_that_was_written_is_kept() -> None:
    assert units.read_instant("2025-10-19T23:48-07:00").utcoffset() == timedelta(hours=-7)


REFUSED_INSTANTS = {
    "": "is not a time",
    "yesterday": "is not a time",
    "23:48": "is not a time",
    "2025-10-19": "has a date but no time of day",
    "2025-10-19Z": "has a date but no time of day",
    "2025-10-19T23:48": "has no zone",
    "2025-10-19 23:48:00": "has no zone",
    "2025-10-19T23:48 PDT": "is not a time",
    "2025-10-19T23:48 America/Los_Angeles": "is not a time",
    "10/19/2025 23:48Z": "is not a time",
    "2025_10_19T23:48Z": "is not a time",
    "20251019T2348Z": "is not a time",
    "2025-10-19T23Z": "is not a time",
    "2025-10-19T23:48:00,5Z": "is not a time",
    "2025-10-19T25:00Z": "is not a time",
    "2025-10-19T23:60Z": "is not a time",
    "2025-10-19T23:48:60Z": "is not a time",
    "2025-02-29T00:00Z": "is not a time",
    "2025-13-01T00:00Z": "is not a time",
    "2025-10-19T23:48+25:00": "is not a time",
    "２０２５-10-19T23:48Z": "is not a time",
    "2025-10-19T23:48\u221207:00": "is not a time",
    "1760942880": "is not a time",
    "0001-01-01T00:00+14:00": "is in the year 1",
    "0001-01-01T00:00": "is in the year 1",
    "9999-12-31T23:59-12:00": "is in the year 9999",
    "9999-12-31T23:59": "is in the year 9999",
}


@pytest.mark.parametrize("zone", [None, PACIFIC, ZoneInfo("Asia/Tokyo"), UTC])
@pytest.mark.parametrize("text", REFUSED_INSTANTS)
def test_a_wrong_instant_is_refused_with_its_reason(text: str, zone: ZoneInfo | None) -> None:
    with pytest.raises(UnitError) as caught:
        units.read_instant(text, zone)
    assert REFUSED_INSTANTS[text] in caught.value.message
    assert caught.value.accepted


@pytest.mark.parametrize("value", [None, 5, 1760942880.0, True, ["2025-10-19T23:48Z"]])
def test_what_is_not_text_is_no_instant(value: object) -> None:
    with pytest.raises(UnitError, match="is not a time"):
        units.read_instant(value)


def test_a_datetime_needs_a_zone_too() -> None:
    aware = datetime(2025, 10, 19, 23, 48, tzinfo=UTC)
    assert units.read_instant(aware) is aware
    with pytest.raises(UnitError, match="has no zone"):
        units.read_instant(aware.replace(tzinfo=None))


def accepted(text: str, zone: ZoneInfo) -> str:
    with pytest.raises(UnitError, match="has no zone") as caught:
        units.read_instant(text, zone)
    return caught.value.accepted


@pytest.mark.parametrize(
    ("text", "zone", "readings"),
    [
        ("2025-11-02T01:30", "America/Los_Angeles", ("2025-11-02T01:30-07:00", "2025-11-02T01:30-08:00")),
        ("2025-11-02T01:00", "America/Los_Angeles", ("2025-11-02T01:00-07:00", "2025-11-02T01:00-08:00")),
        ("2025-11-02 01:59", "America/Los_Angeles", ("2025-11-02T01:59-07:00", "2025-11-02T01:59-08:00")),
        ("2025-10-26T02:30", "Europe/Berlin", ("2025-10-26T02:30+02:00", "2025-10-26T02:30+01:00")),
        ("2026-04-05T01:45", "Australia/Lord_Howe", ("2026-04-05T01:45+11:00", "2026-04-05T01:45+10:30")),
    ],
)
def test_the_autumn_hour_that_occurs_twice_is_refused_with_both_readings(
    text: str, zone: str, readings: tuple[str, str]
) -> None:
    words = accepted(text, ZoneInfo(zone))
    assert words.startswith(f"{readings[0]} or {readings[1]}: in {zone} this hour occurs twice")
    first, second = (units.read_instant(reading) for reading in readings)
    assert first < second


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2025-03-09T02:00", "America/Los_Angeles"),
        ("2025-03-09T02:30", "America/Los_Angeles"),
        ("2025-03-30T02:59", "Europe/Berlin"),
        ("2011-12-30T12:00", "Pacific/Apia"),
    ],
)
def test_a_time_that_clocks_skip_is_refused_without_a_reading(text: str, zone: str) -> None:
    words = accepted(text, ZoneInfo(zone))
    assert words == f"another time: clocks in {zone} skip this one"


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("2025-11-02T00:59", "2025-11-02T00:59-07:00"),
        ("2025-11-02T02:00", "2025-11-02T02:00-08:00"),
        ("2025-03-09T01:59", "2025-03-09T01:59-08:00"),
        ("2025-03-09T03:00", "2025-03-09T03:00-07:00"),
    ],
)
def test_a_time_beside_the_change_has_one_reading(text: str, reading: str) -> None:
    assert accepted(text, PACIFIC) == f"{reading}, if the time is meant in America/Los_Angeles"


# --- properties ------------------------------------------------------------------------------------------------------

MINUTES = {"ms": 1 / 60_000, "s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1440.0, "weeks": 10_080.0}
plain_numbers = st.decimals(0, 40_000, places=3)


@settings(deadline=None)
@given(plain_numbers, st.sampled_from(sorted(MINUTES)), st.sampled_from(["", " ", "  "]), st.booleans())
def test_a_number_and_a_unit_come_back_as_minutes(number: float, unit: str, space: str, commas: bool) -> None:
    minutes = float(number) * MINUTES[unit]
    text = f"{number:,}" if commas else f"{number}"
    if minutes < units.MAX_DURATION_MIN:
        assert units.read_duration_min(f"{text}{space}{unit}") == pytest.approx(minutes, rel=1e-12)
    assert units.read_rate_per_min(f"{text}{space}/{space}{unit}") == pytest.approx(
        float(number) / MINUTES[unit], rel=1e-12
    )


@settings(deadline=None)
@given(st.integers(0, 51), st.integers(0, 6), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_the_parts_of_a_duration_add_up(w: int, d: int, h: int, m: int, s: int) -> None:
    total = w * 10_080 + d * 1440 + h * 60 + m + s / 60
    assert units.read_duration_min(f"{w} weeks {d} days {h} h {m} min {s} s") == pytest.approx(total, abs=1e-9)
    assert units.read_duration_min(f"P{w}W{d}DT{h}H{m}M{s}S") == pytest.approx(total, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0, 1e6))
def test_a_duration_as_written_for_people_reads_back_about_the_same(minutes: float) -> None:
    back = units.read_duration_min(units.format_duration(minutes))
    assert back == pytest.approx(minutes, rel=0.01, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0, 1e12))
def test_a_rate_and_a_share_as_written_for_people_read_back_about_the_same(value: float) -> None:
    assert units.read_rate_per_min(units.format_rate(value)) == pytest.approx(value, rel=0.01, abs=1e-8)
    share = value / 1e12
    assert units.read_share(units.format_share(share)) == pytest.approx(share, rel=0.01, abs=1e-8)


anything = st.one_of(
    st.text(max_size=30),
    st.text("0123456789.,-+eE_ /:TPZHMSminshdaynaif%", max_size=20),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.none(),
)


@settings(deadline=None)
@given(anything)
def test_reading_gives_a_finite_number_of_zero_or_more_or_a_unit_error(value: object) -> None:
    for read in (
        units.read_number,
        units.read_count,
        units.read_share,
        units.read_rate_per_min,
        units.read_duration_min,
    ):
        try:
            found = read(value)
        except UnitError:
            continue
        else:
            assert math.isfinite(found)
            assert found >= 0
    with contextlib.suppress(UnitError):
        assert units.read_instant(value, PACIFIC).utcoffset() is not None


FORMATS = [units.format_number, units.format_count, units.format_rate, units.format_share, units.format_minutes,
           units.format_duration]  # fmt: skip


@settings(deadline=None)
@given(st.floats())
def test_writing_never_gives_a_number_that_cannot_be(value: float) -> None:
    for write in FORMATS:
        try:
            text = write(value)
        except ModelError:
            assert not 0 <= value <= 1e300
        else:
            assert value >= -1e-9
            assert not any(word in text.lower() for word in ("-", "nan", "inf", "e+", "e-")), text


@pytest.mark.parametrize("value", [-1, -1e-6, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_a_number_that_cannot_be_is_refused(write, value: float) -> None:
    with pytest.raises(ModelError, match="cannot be"):
        write(value)


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_rounding_noise_below_zero_is_zero(write) -> None:
    assert write(-1e-12) == write(0) == write(-0.0)


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.004, "0.004"), (0.0004, "0.0004"), (0.00001234, "0.0000123"), (1e-7, "0.0000001"), (1e-12, "0"),
        (0.25, "0.25"), (1 / 3, "0.333"), (0.9996, "1"), (1, "1"), (1.005, "1"), (2.346, "2.35"), (26.5, "26.5"),
        (59.99, "60"), (59.94, "59.9"), (99.94, "99.9"), (99.96, "100"), (100.4, "100"), (119.5, "120"), (344, "344"),
        (999.6, "1,000"), (1439.7, "1,440"), (206_400, "206,400"), (1_234_567.8, "1,234,568"),
    ],
)  # fmt: skip
def test_a_number_for_people(value: float, text: str) -> None:
    assert units.format_number(value) == text
    assert units.format_minutes(value) == f"{text} min"


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "0 min"), (0.001 / 60_000, "0.001 ms"), (0.5 / 60_000, "0.5 ms"), (0.004, "240 ms"), (0.0166, "996 ms"),
        (1 / 60 - 1e-9, "1 s"), (1 / 60, "1 s"), (0.25, "15 s"), (0.99999, "60 s"), (1.5, "90 s"), (1.99, "119 s"),
        (1.9999, "2 min"), (2, "2 min"), (26.5, "26.5 min"), (59.9, "59.9 min"), (59.94, "59.9 min"), (59.96, "1 h"),
        (59.99, "1 h"), (60, "1 h"), (60.4, "1 h"), (60.6, "1 h 1 min"), (119.4, "1 h 59 min"), (119.5, "2 h"),
        (172, "2 h 52 min"), (344, "5 h 44 min"), (1439.4, "23 h 59 min"), (1439.7, "1 day"), (1440, "1 day"),
        (1441, "1 day 1 min"), (1500, "1 day 1 h"), (2879.6, "2 days"), (5760, "4 days"), (5823, "4 days 1 h 3 min"),
    ],
)  # fmt: skip
def test_a_duration_for_people(minutes: float, text: str) -> None:
    assert units.format_duration(minutes) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.4, "0"), (1199.6, "1,200"), (206_400, "206,400")])
def test_a_count_for_people(value: float, text: str) -> None:
    assert units.format_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1200, "1,200/min"), (0.5, "0.5/min"), (1234.56, "1,235/min"), (123.45, "123.5/min"), (0, "0/min")],
)
def test_a_rate_for_people(value: float, text: str) -> None:
    assert units.format_rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 %"), (0.25, "25 %"), (1, "100 %"), (1 / 3, "33.3 %"), (0.005, "0.5 %")]
)
def test_a_share_for_people(value: float, text: str) -> None:
    assert units.format_share(value) == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("America/Los_Angeles", "2025-10-20 02:40 PDT (UTC-07:00)"),
        ("UTC", "2025-10-20 09:40 UTC (UTC+00:00)"),
        ("Asia/Kolkata", "2025-10-20 15:10 IST (UTC+05:30)"),
        ("America/Sao_Paulo", "2025-10-20 06:40 UTC-03:00"),
        ("Pacific/Marquesas", "2025-10-20 00:10 UTC-09:30"),
    ],
)
def test_an_instant_for_people_names_its_offset(zone: str, text: str) -> None:
    assert units.format_instant(datetime(2025, 10, 20, 9, 40, tzinfo=UTC), ZoneInfo(zone)) == text


def test_both_autumn_hours_are_told_apart() -> None:
    first = datetime(2025, 11, 2, 8, 30, tzinfo=UTC)
    texts = [units.format_instant(at, PACIFIC) for at in (first, first + timedelta(hours=1))]
    assert texts == ["2025-11-02 01:30 PDT (UTC-07:00)", "2025-11-02 01:30 PST (UTC-08:00)"]


def test_an_offset_needs_a_zone() -> None:
    assert units.format_offset(datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))) == "UTC-03:30"
    with pytest.raises(ModelError, match="has no zone"):
        units.format_offset(datetime(2025, 1, 1))  # noqa: DTZ001


def test_an_abbreviation_of_one_zone_leads_to_it() -> None:
    for text, zone in (("PDT", "America/Los_Angeles"), ("pt", "America/Los_Angeles"), ("EDT", "America/New_York"),
                       ("CEST", "Europe/Berlin"), ("JST", "Asia/Tokyo"), ("AEDT", "Australia/Sydney")):  # fmt: skip
        with pytest.raises(
            UnitError, match=rf"is not a time zone but an abbreviation; nearest: {zone}; accepted: an IANA name"
        ):
            units.read_zone(text)


def test_an_abbreviation_of_several_zones_is_refused_with_all_of_them() -> None:
    with pytest.raises(
        UnitError, match="several clocks; accepted: the one that is meant, America/Los_Angeles or Asia/Manila"
    ):
        units.read_zone("PST")
    with pytest.raises(UnitError, match="meant, Asia/Kolkata, Europe/Dublin or Asia/Jerusalem"):
        units.read_zone("IST")


@pytest.mark.parametrize(("name", "hours", "place"), [
    ("EST", 5, "America/New_York"), ("MST", 7, "America/Denver"), ("HST", 10, "Pacific/Honolulu"),
])  # fmt: skip
def test_a_fixed_offset_under_the_name_of_a_clock_is_refused_with_both_readings(
    name: str, hours: int, place: str
) -> None:
    """Against the IANA database: the name is one offset in January and July, and so is the one that is offered for it."""
    fixed = f"Etc/GMT+{hours}"
    with pytest.raises(UnitError) as refused:
        units.read_zone(name)
    words = str(refused.value)
    assert f"UTC-{hours:02}:00 all year" in words
    assert f'"{place}" for the clock of that place, or "{fixed}"' in words
    for month in (1, 7):
        at = datetime(2026, month, 1, tzinfo=ZoneInfo(name))
        assert at.utcoffset() == at.replace(tzinfo=units.read_zone(fixed)).utcoffset() == timedelta(hours=-hours)
    assert datetime(2026, 1, 1, tzinfo=units.read_zone(place)).tzname() == name


def test_every_zone_of_an_abbreviation_goes_by_it() -> None:
    """Against the IANA database: the zone's clock has that name in January or July, or has only digits for a name."""
    generic = {"PT": "P", "MT": "M", "CT": "C", "ET": "E"}
    # Both names of these were common use when their clocks had names.
    for text, homes in units.ZONE_ABBREVIATIONS.items():
        for home in homes:
            names = {datetime(2025, month, 1, 12, tzinfo=ZoneInfo(home)).tzname() or "" for month in (1, 7)}
            if text in generic:
                assert {name[0] for name in names} == {generic[text]}, home
            else:
                assert text in names or all(name[0] in "+-" for name in names), (text, home, names)
