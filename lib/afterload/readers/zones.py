"""Zones as people write them behind a time: offsets, names such as Europe/Berlin, and abbreviations.

An abbreviation is used as it stands only where it can mean one offset: ``CST`` is six hours behind UTC in Chicago, eight
ahead in Shanghai and five behind in Havana, and ``PST`` in July is as likely a slip for ``PDT``. Where it can mean
several, every reading is given, so that a person can say which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from afterload.units import ZONE_ABBREVIATIONS as ABBREVIATIONS
from afterload.units import local_readings

__all__ = ["ABBREVIATIONS", "is_offset", "named_zone", "readings_in"]

# Names of a region's clock, summer and winter alike.
_GENERIC = frozenset({"PT", "MT", "CT", "ET"})
# Offsets in use that are not whole hours, in minutes; whole hours run from -12 to +14.
_ODD_MIN = frozenset({210, 270, 330, 345, 390, 525, 570, 630, 765, 825, -150, -210, -570})
_OFFSET_RE = re.compile(r"(?:UTC|GMT)?\s?([+\-\u2212])([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """One instant that a local time may mean, and in whose words."""

    at: datetime
    why: str


@lru_cache(maxsize=512)
def is_offset(text: str) -> bool:
    """Whether some place on earth keeps an offset such as ``-07:00``; ``-10:36`` is more likely the end of a range."""
    return _offset(text) is not None


@lru_cache(maxsize=512)
def _offset(text: str) -> timezone | None:
    if text.upper() in ("Z", "UTC", "GMT", "UT"):
        return timezone(timedelta())
    match = _OFFSET_RE.fullmatch(text)
    if match is None:
        return None
    minutes = (int(match[2]) * 60 + int(match[3] or 0)) * (1 if match[1] == "+" else -1)
    usual = minutes % 60 == 0 and -720 <= minutes <= 840
    return timezone(timedelta(minutes=minutes)) if usual or minutes in _ODD_MIN else None


@lru_cache(maxsize=512)
def named_zone(text: str) -> ZoneInfo | None:
    """The zone of a name such as ``America/Los_Angeles``; None if there is none."""
    try:
        return ZoneInfo(text) if "/" in text else None
    except (KeyError, ValueError, OSError):
        return None


def readings_in(local: datetime, text: str, given: tzinfo | None) -> tuple[Reading, ...] | None:
    """Every instant that a local time with a written zone can mean; None where the zone is not known at all.

    ``given`` is the zone that a person says local times are in: an abbreviation that this zone uses at that time means
    this zone. Empty: clocks of the zone skip that time.
    """
    fixed = _offset(text)
    if fixed is not None:
        return (Reading(local.replace(tzinfo=fixed), text),)
    named = named_zone(text)
    if named is not None:
        return tuple(Reading(at, f"{text}, {_words(at)}") for at in local_readings(local, named))
    if text not in ABBREVIATIONS:
        return None
    own = () if given is None else tuple(Reading(at, text) for at in _called(local, given, text))
    if own:
        return own
    found: dict[datetime, Reading] = {}
    for home in ABBREVIATIONS[text]:
        for reading in _at_home(local, home, text):
            found.setdefault(reading.at, reading)
    return tuple(found.values())


def _called(local: datetime, zone: tzinfo, name: str) -> tuple[datetime, ...]:
    """The readings of a local time at which the zone's clocks go by a name."""
    return tuple(at for at in local_readings(local, zone) if at.astimezone(zone).tzname() == name)


def _at_home(local: datetime, home: str, name: str) -> tuple[Reading, ...]:
    zone = ZoneInfo(home)
    current = local_readings(local, zone)
    if name in _GENERIC:
        return tuple(Reading(at, f"{home}, {_words(at)}") for at in current)
    called = _called(local, zone, name)
    if called:
        return tuple(Reading(at, home) for at in called)
    # Out of season: the offset that the name has there in another part of the year, or the clock of that day.
    seasons = (datetime(local.year, month, 1, 12, tzinfo=zone) for month in (1, 7))
    offset = next((day.utcoffset() for day in seasons if day.tzname() == name), None)
    if offset is None:
        return tuple(Reading(at, home) for at in current)
    written = Reading(local.replace(tzinfo=timezone(offset)), f"{name} as written")
    return (
        written,
        *(Reading(at, f"{at.astimezone(zone).tzname()}, which {home} kept that day") for at in current),
    )


def _words(at: datetime) -> str:
    return at.isoformat()[-6:]
