"""Abbreviations of zones against the IANA time zone database, an independent source."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.readers.zones import ABBREVIATIONS, is_offset, readings_in
from afterload.units import local_readings

# Local times: their zone is what these tests ask about.
WINTER, SUMMER = datetime.fromisoformat("2025-01-15T12:00"), datetime.fromisoformat("2025-07-15T12:00")
FIRST, LAST = datetime.fromisoformat("1990-01-01T00:00"), datetime.fromisoformat("2037-01-01T00:00")


@pytest.fixture(scope="module")
def in_use():
    """Every abbreviation in use in 2025, with the offsets that it has somewhere."""
    found = {}
    for key in available_timezones():
        if "/" not in key or key.startswith("Etc/"):
            continue
        for local in (WINTER, SUMMER):
            at = local.replace(tzinfo=ZoneInfo(key))
            name = at.tzname()
            if name.isalpha() and name not in ("UTC", "GMT"):
                found.setdefault((name, local), set()).add(at.utcoffset())
    return found


def test_every_abbreviation_in_use_is_known_with_all_its_offsets(in_use):
    for (name, local), offsets in in_use.items():
        readings = readings_in(local, name, None)
        assert readings is not None, name
        assert offsets <= {reading.at.utcoffset() for reading in readings}, (name, local)


def test_what_is_used_with_several_offsets_is_never_one_reading(in_use):
    several = {name for (name, _), offsets in in_use.items() if len(offsets) > 1} | {"IST", "CST", "PST", "BST", "AST"}
    assert {"IST", "CST", "PST"} <= several
    for name in several:
        for local in (WINTER, SUMMER):
            assert len(readings_in(local, name, None)) > 1, name


@pytest.mark.parametrize(
    ("summer", "winter"), [("PDT", "PST"), ("EDT", "EST"), ("CEST", "CET"), ("EEST", "EET"), ("NDT", "NST")]
)
def test_an_abbreviation_out_of_season_is_never_one_reading(summer, winter):
    assert len(readings_in(SUMMER, winter, None)) > 1
    assert len(readings_in(WINTER, summer, None)) > 1
    assert len(readings_in(SUMMER, summer, None)) == 1


def test_the_homes_exist():
    assert {home for homes in ABBREVIATIONS.values() for home in homes} <= available_timezones()


def test_every_offset_that_a_zone_keeps_today_is_one():
    for key in available_timezones():
        for local in (WINTER, SUMMER):
            text = local.replace(tzinfo=ZoneInfo(key)).isoformat()[-6:]
            assert is_offset(text), (key, text)
    assert not any(map(is_offset, ("-10:36", "+25:00", "-03:10", "+09:20", "x", "")))


@given(
    st.sampled_from(
        ["America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"]
    ),
    st.datetimes(FIRST, LAST),
)
def test_readings_of_a_local_time_are_all_its_instants(key, local):
    """Against a search over every quarter hour that could be it: offsets in use are multiples of 15 min."""
    zone = ZoneInfo(key)
    guesses = [local.replace(tzinfo=UTC) + timedelta(minutes=15 * step) for step in range(-60, 61)]
    expected = {at for at in guesses if at.astimezone(zone).replace(tzinfo=None, fold=0) == local}
    found = local_readings(local, zone)
    assert {at.astimezone(UTC) for at in found} == expected
    assert len(found) == len(expected)
    assert all(at.replace(tzinfo=None) == local for at in found)
