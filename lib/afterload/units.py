"""Read and write rates, durations, times, counts and shares as people type them.

Reading is strict: a unit that is not known, a number with odd separators, a time without a zone or a value that
is negative, infinite or not a number raises :class:`~afterload.errors.UnitError`, which says what is accepted.
Nothing is guessed.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from afterload.errors import ModelError, UnitError

__all__ = [
    "DURATION_SUFFIXES",
    "RATE_SUFFIXES",
    "ZONE_ABBREVIATIONS",
    "check_duration_min",
    "format_count",
    "format_duration",
    "format_instant",
    "format_minutes",
    "format_number",
    "format_offset",
    "format_rate",
    "format_share",
    "local_readings",
    "read_count",
    "read_duration_min",
    "read_instant",
    "read_number",
    "read_rate_per_min",
    "read_share",
    "read_zone",
]

# Minutes in one of each unit. No months or years: their length is not fixed.
_UNIT_MIN: dict[str, float] = {}
for _names, _minutes in (
    ("ms msec millisecond milliseconds", 1 / 60_000),
    ("s sec secs second seconds", 1 / 60),
    ("m min mins minute minutes", 1.0),
    ("h hr hrs hour hours", 60.0),
    ("d day days", 1_440.0),
    ("w week weeks", 10_080.0),
):
    _UNIT_MIN.update(dict.fromkeys(_names.split(), _minutes))

_THINGS = frozenset(
    "message messages msg msgs request requests req reqs item items event events job jobs call calls "
    "order orders task tasks record records instance instances launch launches write writes read reads "
    "query queries transaction transactions".split()
)

# Suffix of a field name that holds a bare number -> factor to minutes, or to items a minute.
DURATION_SUFFIXES = {"ms": 1 / 60_000, "s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1_440.0}
RATE_SUFFIXES = {"per_s": 60.0, "per_min": 1.0, "per_h": 1 / 60, "per_day": 1 / 1_440}

# Beyond these nothing is meant seriously, sums overflow and calendars end.
MAX_TEXT = 100
MAX_NUMBER = 1e15
MAX_DURATION_MIN = 100 * 366 * 1_440.0
MIN_YEAR, MAX_YEAR = 1970, 2199

# [0-9], not \d, which takes the digits of every script.
# Nothing is parted into thousands that begins with 0: "0,250" is a quarter, as others write it, and not 250.
_NUMBER = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_NUMBER_RE = re.compile(_NUMBER)
_RATE_RE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<thing>[A-Za-z]+)?\s*(?:/|\bper\b)\s*(?P<unit>[A-Za-z]+)")
_PART_RE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[A-Za-z]+)")
_ISO_RE = re.compile(
    r"P(?=.)(?:(?P<w>[0-9]+(?:\.[0-9]+)?)W)?(?:(?P<d>[0-9]+(?:\.[0-9]+)?)D)?"
    r"(?:T(?=.)(?:(?P<h>[0-9]+(?:\.[0-9]+)?)H)?(?:(?P<m>[0-9]+(?:\.[0-9]+)?)M)?(?:(?P<s>[0-9]+(?:\.[0-9]+)?)S)?)?"
)
_INSTANT_RE = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?"
    r"\s?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?",
    re.ASCII,
)

# Where each abbreviation is used today (IANA time zone database 2025b, and common use where that has digits only).
ZONE_ABBREVIATIONS: dict[str, tuple[str, ...]] = {
    "ACDT": ("Australia/Adelaide",), "ACST": ("Australia/Darwin", "Australia/Adelaide"), "ADT": ("America/Halifax",),
    "AEDT": ("Australia/Sydney",), "AEST": ("Australia/Brisbane", "Australia/Sydney"), "AKDT": ("America/Anchorage",),
    "AKST": ("America/Anchorage",), "ART": ("America/Buenos_Aires",), "AST": ("America/Halifax", "Asia/Riyadh"),
    "AWST": ("Australia/Perth",), "BRT": ("America/Sao_Paulo",), "BST": ("Europe/London", "Asia/Dhaka"),
    "CAT": ("Africa/Maputo",), "CDT": ("America/Chicago", "America/Havana"), "CEST": ("Europe/Berlin",),
    "CET": ("Europe/Berlin",), "CST": ("America/Chicago", "Asia/Shanghai", "America/Havana"), "CT": ("America/Chicago",),
    "ChST": ("Pacific/Guam",), "EAT": ("Africa/Nairobi",), "EDT": ("America/New_York",), "EEST": ("Europe/Athens",),
    "EET": ("Europe/Athens",), "EST": ("America/New_York",), "ET": ("America/New_York",),
    "GST": ("Asia/Dubai", "Atlantic/South_Georgia"), "HDT": ("America/Adak",), "HKT": ("Asia/Hong_Kong",),
    "HST": ("Pacific/Honolulu",), "ICT": ("Asia/Bangkok",), "IDT": ("Asia/Jerusalem",),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"), "JST": ("Asia/Tokyo",), "KST": ("Asia/Seoul",),
    "MDT": ("America/Denver",), "MSK": ("Europe/Moscow",), "MST": ("America/Denver", "Asia/Kuala_Lumpur"),
    "MT": ("America/Denver",), "NDT": ("America/St_Johns",), "NST": ("America/St_Johns",), "NZDT": ("Pacific/Auckland",),
    "NZST": ("Pacific/Auckland",), "PDT": ("America/Los_Angeles",), "PKT": ("Asia/Karachi",),
    "PST": ("America/Los_Angeles", "Asia/Manila"), "PT": ("America/Los_Angeles",), "SAST": ("Africa/Johannesburg",),
    "SGT": ("Asia/Singapore",), "SST": ("Pacific/Pago_Pago", "Asia/Singapore"), "TRT": ("Europe/Istanbul",),
    "WAT": ("Africa/Lagos",), "WEST": ("Europe/Lisbon",), "WET": ("Europe/Lisbon",), "WIB": ("Asia/Jakarta",),
    "WIT": ("Asia/Jayapura",), "WITA": ("Asia/Makassar",),
}  # fmt: skip

_RATE_ACCEPTED = 'a number with a unit of time, such as "1,200/min", "20/s" or "72,000 per hour"'
# Names of the IANA list that are one offset all year, where people mean the clock of a place: ours to refuse.
_FIXED_ZONES = {
    "EST": ("UTC-05:00", "Etc/GMT+5", "America/New_York"), "MST": ("UTC-07:00", "Etc/GMT+7", "America/Denver"),
    "HST": ("UTC-10:00", "Etc/GMT+10", "Pacific/Honolulu"),
}  # fmt: skip
_ZONE_ACCEPTED = 'an IANA name such as "America/Los_Angeles" or "UTC"'
_DURATION_ACCEPTED = 'a number with a unit, such as "15 min", "2 h 52 min", "90 s", "4 days" or "PT2H52M"'
_NUMBER_ACCEPTED = 'a number such as 1200, "1,200" or 0.5'


def _shown(value: object) -> str:
    """The value in a message: quoted if it is text, and never more than a line."""
    if isinstance(value, str) and len(value) > 60:
        return f"{value[:57]!r}..."
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # an int of thousands of digits
        return f"a number of about {value.bit_length() * 0.30103:.0f} digits" if isinstance(value, int) else "a value"
    return text if len(text) <= 63 else f"{text[:57]}..."


def _plain(text: str, accepted: str) -> float:
    """Turn digits with optional thousands commas into a float."""
    if not _NUMBER_RE.fullmatch(text):
        raise UnitError(f"{_shown(text)} is not a number", accepted)
    value = float(text.replace(",", ""))
    if value > MAX_NUMBER:
        raise UnitError(f"{_shown(text)} is too large", accepted)
    return value


def read_number(value: object) -> float:
    """Read a number that is zero or more: an int, a float or text with thousands commas.

    Raises :class:`UnitError` for anything else, truth values, NaN, infinities and negative numbers included.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(f"{_shown(value)} is not a number", _NUMBER_ACCEPTED)
    if isinstance(value, str):
        return _plain(value.strip(), _NUMBER_ACCEPTED)
    if not value >= 0 or value == math.inf:
        raise UnitError(f"{_shown(value)} is not a finite number of zero or more", _NUMBER_ACCEPTED)
    if value > MAX_NUMBER:
        raise UnitError(f"{_shown(value)} is too large", _NUMBER_ACCEPTED)
    return float(value)


def read_count(value: object) -> int:
    """Read a whole number of zero or more, with or without thousands commas. Raises :class:`UnitError`."""
    accepted = 'a whole number such as 1200 or "1,200"'
    try:
        number = read_number(value)
    except UnitError as problem:
        raise UnitError(problem.message, accepted) from None
    if number != int(number):
        raise UnitError(f"{_shown(value)} is not a whole number", accepted)
    return int(number)


def read_share(value: object) -> float:
    """Read a share between 0 and 1, or text such as "25 %". Raises :class:`UnitError`."""
    accepted = 'a share between 0 and 1, or a percentage such as "25 %"'
    percent = isinstance(value, str) and value.strip().endswith("%")
    try:
        number = read_number(value.strip().removesuffix("%").strip() if isinstance(value, str) else value)
    except UnitError as problem:
        raise UnitError(problem.message, accepted) from None
    share = number / 100 if percent else number
    if share > 1:
        raise UnitError(f"{_shown(value)} is more than the whole", accepted)
    return share


def read_rate_per_min(value: object) -> float:
    """Read a rate with its unit of time, such as "1,200/min" or "20 req/s", as items a minute.

    A bare number has no unit and is refused. Raises :class:`UnitError`.
    """
    if not isinstance(value, str):
        raise UnitError(f"{_shown(value)} has no unit", _RATE_ACCEPTED)
    text = value.strip()
    if len(text) > MAX_TEXT:
        raise UnitError(f"{_shown(value)} is not a rate", _RATE_ACCEPTED)
    match = _RATE_RE.fullmatch(text)
    if match is None:
        if _NUMBER_RE.fullmatch(text):
            raise UnitError(f"{_shown(value)} has no unit", _RATE_ACCEPTED)
        raise UnitError(f"{_shown(value)} is not a rate", _RATE_ACCEPTED)
    unit, thing = match["unit"], match["thing"]
    if thing is not None and thing.lower() not in _THINGS:
        raise UnitError(
            f"{_shown(value)} counts {_shown(thing)}, which is not known", f"one of {', '.join(sorted(_THINGS))}"
        )
    return _plain(match["number"], _RATE_ACCEPTED) / _unit_min(unit, value)


def _unit_min(unit: str, value: object) -> float:
    factor = _UNIT_MIN.get(unit if unit in _UNIT_MIN else unit.lower())
    if factor is None or unit == "M":
        raise UnitError(f"{_shown(value)} has the unknown unit {_shown(unit)}", "ms, s, min, h, days or weeks")
    return factor


def read_duration_min(value: object) -> float:
    """Read a duration with its units, such as "2 h 52 min", "90 s" or "PT2H52M", in minutes.

    A bare number has no unit and is refused; so are "02:52" (minutes or hours?) and months and years, whose
    length is not fixed. Raises :class:`UnitError`.
    """
    if not isinstance(value, str):
        raise UnitError(f"{_shown(value)} has no unit", _DURATION_ACCEPTED)
    text = value.strip()
    if len(text) > MAX_TEXT:
        raise UnitError(f"{_shown(value)} is not a duration", _DURATION_ACCEPTED)
    if text[:1] == "P":
        match = _ISO_RE.fullmatch(text)
        if match is None:
            raise UnitError(f"{_shown(value)} is not an ISO 8601 duration of weeks, days or time", _DURATION_ACCEPTED)
        parts = ((unit, n) for unit, n in match.groupdict().items() if n is not None)
        return check_duration_min(sum(_plain(n, _DURATION_ACCEPTED) * _UNIT_MIN[unit] for unit, n in parts), value)
    if _NUMBER_RE.fullmatch(text):
        raise UnitError(f"{_shown(value)} has no unit", _DURATION_ACCEPTED)
    total, at, seen = 0.0, 0, math.inf
    for match in _PART_RE.finditer(text):
        between = text[at : match.start()].strip()
        if between and not (at and between == ","):
            break
        factor = _unit_min(match["unit"], value)
        if factor >= seen:
            raise UnitError(f"{_shown(value)} names its units out of order or twice", _DURATION_ACCEPTED)
        total, at, seen = total + _plain(match["number"], _DURATION_ACCEPTED) * factor, match.end(), factor
    if at == 0 or at != len(text):
        raise UnitError(f"{_shown(value)} is not a duration", _DURATION_ACCEPTED)
    return check_duration_min(total, value)


def check_duration_min(minutes: float, value: object) -> float:
    """The minutes, unless they are more than a century, where calendars end. ``value`` is how they were written."""
    if minutes > MAX_DURATION_MIN:
        raise UnitError(f"{_shown(value)} is too long", "a duration of at most 100 years")
    return minutes


# Reading the names of all zones from disk takes 10 ms.
_known_zones = cache(available_timezones)


def read_zone(value: object) -> ZoneInfo:
    """Read the IANA name of a time zone, such as "America/Los_Angeles". Raises :class:`UnitError` with the nearest name.

    EST, MST and HST are on the IANA list as offsets without summer time, and few who type them mean that: they are refused
    with both readings.
    """
    if isinstance(value, ZoneInfo):
        return value
    if isinstance(value, str) and value in _FIXED_ZONES:
        offset, fixed, place = _FIXED_ZONES[value]
        raise UnitError(
            f"{value!r} is {offset} all year, without summer time",
            f'"{place}" for the clock of that place, or "{fixed}" if {offset} all year is meant',
        )
    known = _known_zones()
    if isinstance(value, str) and value in known:
        return ZoneInfo(value)
    homes = ZONE_ABBREVIATIONS.get(value.strip().upper(), ()) if isinstance(value, str) else ()
    if len(homes) == 1:
        raise UnitError(f"{value!r} is not a time zone but an abbreviation; nearest: {homes[0]}", _ZONE_ACCEPTED)
    if homes:
        places = f"{', '.join(homes[:-1])} or {homes[-1]}"
        raise UnitError(
            f"{value!r} is not a time zone but an abbreviation of several clocks", f"the one that is meant, {places}"
        )
    near = get_close_matches(str(value), sorted(known), 1, 0.6) or get_close_matches(
        str(value).title().replace(" ", "_"), sorted(known), 1, 0.5
    )
    hint = f"; nearest: {near[0]}" if near else ""
    raise UnitError(f"{value!r} is not a time zone{hint}", _ZONE_ACCEPTED)


def read_instant(value: object, zone: tzinfo | None = None) -> datetime:
    """Read a time with its zone, such as "2025-10-19T23:48-07:00", as an aware datetime.

    A time without a zone is refused; where ``zone`` is known the message says what the time would be in it, both
    readings of an hour that occurs twice, or that the time does not exist. Raises :class:`UnitError`.
    """
    accepted = 'a date, a time and an offset, such as "2025-10-19T23:48-07:00" or "2025-10-20T06:48Z"'
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise UnitError(f"{value} has no zone", accepted)
        return value
    match = _INSTANT_RE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise UnitError(f"{_shown(value)} is not a time", accepted)
    if match["time"] is None:
        raise UnitError(f"{_shown(value)} has a date but no time of day", accepted)
    offset = (match["zone"] or "").replace("UTC", "+00:00").replace("Z", "+00:00")
    try:
        instant = datetime.fromisoformat(f"{match['date']}T{match['time']}{offset}")
    except ValueError as problem:
        raise UnitError(f"{_shown(value)} is not a time: {problem}", accepted) from None
    if not MIN_YEAR <= instant.year <= MAX_YEAR:
        raise UnitError(f"{_shown(value)} is in the year {instant.year}", f"a year from {MIN_YEAR} to {MAX_YEAR}")
    if instant.tzinfo is None:
        raise UnitError(f"{_shown(value)} has no zone", _readings(instant, zone) or accepted)
    return instant


def local_readings(local: datetime, zone: tzinfo) -> tuple[datetime, ...]:
    """The instants that a local time without a zone can be in a zone, each at its fixed offset.

    One; two in the hour that occurs twice; none in an hour that clocks skip.
    """
    found: list[datetime] = []
    for fold in (0, 1):
        aware = local.replace(tzinfo=zone, fold=fold)
        fixed = aware.replace(tzinfo=timezone(aware.utcoffset() or timedelta()), fold=0)
        back = fixed.astimezone(zone).replace(tzinfo=None, fold=0)
        if back == local.replace(fold=0) and fixed not in found:
            found.append(fixed)
    return tuple(found)


def _readings(local: datetime, zone: tzinfo | None) -> str:
    """Say what a local time would be in a zone, so that a person can write down the one that is meant."""
    if zone is None:
        return ""
    found = [reading.isoformat(timespec="minutes") for reading in local_readings(local, zone)]
    if not found:
        return f"another time: clocks in {zone} skip this one"
    if len(found) == 2:
        return f"{found[0]} or {found[1]}: in {zone} this hour occurs twice, so write which is meant"
    return f"{found[0]}, if the time is meant in {zone}"


def _checked(value: float, what: str) -> float:
    if not math.isfinite(value) or value < -1e-9:
        raise ModelError(f"{what} came out as {value}, which cannot be: please report this")
    return max(0.0, value)


def format_number(value: float, digits: int = 3) -> str:
    """Write a number of zero or more for people: thousands commas, and no more digits than it deserves.

    Raises :class:`ModelError` for a negative, infinite or undefined value: such a number never reaches a page.
    """
    value = _checked(value, "a number")
    if value == 0 or value >= 10 ** (digits - 1) or abs(value - round(value)) < 1e-9:
        return f"{round(value):,}"
    rounded = float(f"{value:.{digits}g}")
    if rounded == round(rounded):
        return f"{rounded:,.0f}"
    return f"{rounded:,}" if rounded >= 1e-4 else f"{rounded:.15f}".rstrip("0")


def format_count(value: float) -> str:
    """Write a count with thousands commas, rounded to whole items. Raises :class:`ModelError` as above."""
    return f"{round(_checked(value, 'a count')):,}"


def format_rate(per_min: float) -> str:
    """Write a rate as items a minute, such as "1,200/min"."""
    return f"{format_number(per_min, 4)}/min"


def format_share(share: float) -> str:
    """Write a share as a percentage, such as "25 %"."""
    return f"{format_number(100 * share)} %"


def format_minutes(minutes: float) -> str:
    """Write minutes as minutes, such as "344 min", "26.5 min" or "0.25 min"."""
    return f"{format_number(minutes)} min"


def format_duration(minutes: float) -> str:
    """Write minutes in the units that people would use, such as "5 h 44 min", "15 s" or "4 days"."""
    minutes = _checked(minutes, "a duration")
    if minutes == 0:
        return "0 min"
    # Each is compared as rounded: 59.99 min is 1 h, not 60 min.
    if float(f"{minutes * 60_000:.3g}") < 1_000:
        return f"{format_number(minutes * 60_000)} ms"
    if float(f"{minutes * 60:.3g}") < 120:
        return f"{format_number(minutes * 60)} s"
    if float(f"{minutes:.3g}") < 60:
        return format_minutes(minutes)
    whole = round(minutes)
    days, hours, rest = whole // 1_440, whole % 1_440 // 60, whole % 60
    parts = ((days, "day" if days == 1 else "days"), (hours, "h"), (rest, "min"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n)


def format_offset(instant: datetime) -> str:
    """Write the offset of an aware time, such as "UTC-07:00"."""
    offset = instant.utcoffset()
    if offset is None:
        raise ModelError(f"{instant} has no zone: please report this")
    sign, size = ("-", -offset) if offset < timedelta(0) else ("+", offset)
    minutes = int(size.total_seconds() // 60)
    return f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"


def format_instant(instant: datetime, zone: ZoneInfo) -> str:
    """Write a time in a zone for people, such as "2025-10-20 02:40 PDT (UTC-07:00)"."""
    local = instant.astimezone(zone)
    name = local.tzname() or ""
    label = f"{name} ({format_offset(local)})" if name.isalpha() else format_offset(local)
    return f"{local:%Y-%m-%d %H:%M} {label}"
