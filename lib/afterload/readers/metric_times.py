"""Times as exports write them, many at once: epoch numbers, ISO 8601, and wall-clock times of a zone that a person named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from afterload.errors import InputError
from afterload.model.curves import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ACCEPTED", "EARLIEST", "LATEST", "TimeReader", "looks_like_time"]

ACCEPTED = "2025-10-20T06:48:00Z, 2025-10-20 06:48:00 with the zone given, or seconds or milliseconds since 1970"
_ISO = re.compile(
    r"(?P<y>[0-9]{4})(?P<sep>[-/])(?P<m>[0-9]{2})(?P=sep)(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?)?"
    r"(?:\s?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})(?: UTC| GMT)?)?"
)
# What pandas reads fast and exactly as meant, with a zone and without; everything else is read one by one.
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?")
_ZONED = re.compile(_LOCAL.pattern + r"(?:Z|[+-][0-9]{2}:?[0-9]{2})")
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?|[0-9]\.[0-9]+[eE]\+?[0-9]{1,2}")
# Size of one unit of an epoch number, by the numbers that it has from 1973 to 2199: their ranges do not overlap.
_EPOCHS = (("seconds", 1.0), ("milliseconds", 1e-3), ("microseconds", 1e-6), ("nanoseconds", 1e-9))
EARLIEST, LATEST = 1e8, 7.258e9


def _epoch_unit(number: float) -> tuple[str, float] | None:
    return next(((name, size) for name, size in _EPOCHS if EARLIEST <= number * size <= LATEST), None)


def looks_like_time(text: str) -> bool:
    """True for text that this module reads as a time, zone aside."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _epoch_unit(float(text)) is not None
    return _ISO.fullmatch(text) is not None


@dataclass
class TimeReader:
    """Reads the times of one file, in parts, and remembers what was odd about them.

    Attributes:
        zone: zone of times that state none; None where no person said.
        refused: (row, text, reason) of the first times that were not read.
        twice: (row, text) of the first times in an hour that the zone has twice.
        refused_count, twice_count: of how many rows.
    """

    file: str
    zone: ZoneInfo | None
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    twice: list[tuple[int, str]] = field(default_factory=list)
    refused_count: int = 0
    twice_count: int = 0
    _units: dict[str, int] = field(default_factory=dict)

    def read(self, texts: Sequence[str] | npt.NDArray[np.object_], first_row: int) -> FloatArray:
        """Seconds since 1970 of each text; NaN for a time that was not read.

        Raises:
            InputError: no zone where one is needed, a time that the zone's clocks skip, or numbers of two units.
        """
        import pandas as pd

        codes, found = pd.factorize(np.asarray(texts, dtype=object))
        distinct: list[str] = list(found)
        seconds, reasons = self._distinct(distinct, codes, first_row)
        read: FloatArray = np.where(codes >= 0, seconds[codes], np.nan)
        for place, reason in reasons.items():
            rows = np.flatnonzero(codes == place)
            if reason:
                self.refused_count += len(rows)
                self.refused.append((first_row + int(rows[0]), distinct[place], reason))
            else:
                self.twice_count += len(rows)
                self.twice.append((first_row + int(rows[0]), distinct[place]))
        self.refused, self.twice = sorted(self.refused)[:20], sorted(self.twice)[:20]
        return read

    def _distinct(
        self, texts: list[str], codes: npt.NDArray[np.intp], first_row: int
    ) -> tuple[FloatArray, dict[int, str]]:
        """Seconds of each distinct text, and why some were not read ("" for an hour that occurs twice)."""
        import pandas as pd

        def row(place: int) -> int:
            return first_row + int(np.flatnonzero(codes == place)[0])

        for form in (_ZONED, _LOCAL):
            if texts and all(map(form.fullmatch, texts)):
                whole = self._plain(texts, form is _ZONED, row)
                if whole is not None:
                    return whole
        if texts and all(map(_NUMBER.fullmatch, texts)):
            numbers = np.array(texts, dtype=object).astype(np.float64)
            unit = _epoch_unit(float(numbers[0]))
            if unit and _epoch_unit(float(numbers.min())) == unit == _epoch_unit(float(numbers.max())):
                self._one_unit(unit[0], row(0))
                return numbers * unit[1] if unit[1] < 1 else numbers, {}
        texts = [text.strip() for text in texts]
        seconds = np.full(len(texts), np.nan)
        reasons: dict[int, str] = {}
        local: list[tuple[int, datetime]] = []
        for place, text in enumerate(texts):
            match = _ISO.fullmatch(text)
            if match is None:
                seconds[place], reason = self._number(text, place, row)
                if reason:
                    reasons[place] = reason
                continue
            try:
                instant = _instant(match)
                if instant.tzinfo is not None:
                    seconds[place] = _within(instant).timestamp()
                else:
                    local.append((place, _within(instant)))
            except (ValueError, OverflowError) as problem:
                reasons[place] = str(problem)
        if local:
            naive = pd.DatetimeIndex([instant for _, instant in local])
            places = [place for place, _ in local]
            at, twice = self._localised(naive, lambda i: (row(places[i]), texts[places[i]]))
            seconds[places] = at
            reasons.update({places[i]: "" for i in np.flatnonzero(twice)})
        return seconds, reasons

    def _plain(
        self, texts: list[str], has_zone: bool, row: Callable[[int], int]
    ) -> tuple[FloatArray, dict[int, str]] | None:
        """Times that are all of one usual form; None where one of them is not a time after all."""
        import pandas as pd

        try:
            read = pd.DatetimeIndex(pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", utc=has_zone))
        except (ValueError, OverflowError):
            return None
        if read.year.min() < 1971 or read.year.max() > 2198:
            return None
        if has_zone:
            return _seconds(read), {}
        seconds, twice = self._localised(read, lambda i: (row(i), texts[i]))
        return seconds, {int(i): "" for i in np.flatnonzero(twice)}

    def _localised(
        self, naive: pd.DatetimeIndex, where: Callable[[int], tuple[int, str]]
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Wall-clock times of the zone as seconds, NaN where an hour occurs twice, and where that is."""
        if self.zone is None:
            row, text = where(0)
            raise InputError(
                f"{self.file} row {row}: the time {text!r} states no zone: give the zone of the export (--zone), or "
                "export times with an offset"
            )
        skipped = naive.tz_localize(self.zone, ambiguous=np.ones(len(naive), dtype=bool), nonexistent="NaT").isna()
        if skipped.any():
            row, text = where(int(np.flatnonzero(skipped)[0]))
            raise InputError(
                f"{self.file} row {row}: the time {text!r} does not exist in {self.zone}: its clocks skip that hour. The "
                "file was exported in another zone: give that one"
            )
        aware = naive.tz_localize(self.zone, ambiguous="NaT", nonexistent="raise")
        twice = np.asarray(aware.isna())
        seconds = np.full(len(naive), np.nan)
        seconds[~twice] = _seconds(aware[~twice])
        return seconds, twice

    def _number(self, text: str, place: int, row: Callable[[int], int]) -> tuple[float, str]:
        try:
            number = float(text) if text.isascii() and "_" not in text else np.nan
        except ValueError:
            return np.nan, "is not a time"
        unit = _epoch_unit(number)
        if unit is None:
            if 20_000 <= number <= 80_000:
                return np.nan, "is a day number of a spreadsheet, which has no zone: format the column as date and time"
            return np.nan, "is not a time between 1973 and 2199"
        self._one_unit(unit[0], row(place))
        return number * unit[1], ""

    def _one_unit(self, name: str, row: int) -> None:
        self._units.setdefault(name, row)
        if len(self._units) > 1:
            (one, first), (other, second) = list(self._units.items())[:2]
            raise InputError(
                f"{self.file} row {max(first, second)}: times are epoch {one} in row {first}, and {other} in row {second}: "
                "use one unit"
            )


def _instant(match: re.Match[str]) -> datetime:
    date = f"{match['y']}-{match['m']}-{match['d']}"
    fraction = (match["f"] or "0")[:6].ljust(6, "0")
    time = f"{match['H'] or '00'}:{match['M'] or '00'}:{match['S'] or '00'}.{fraction}"
    zone = match["zone"] or ""
    return datetime.fromisoformat(f"{date}T{time}{'+00:00' if zone in ('Z', 'UTC', 'GMT') else zone}")


def _within(instant: datetime) -> datetime:
    if not 1971 <= instant.year <= 2198:
        raise ValueError(f"is in the year {instant.year}")
    return instant


def _seconds(times: pd.DatetimeIndex) -> FloatArray:
    """Seconds since 1970 of aware times."""
    import pandas as pd

    epoch = times.tz_convert(UTC).tz_localize(None) - pd.Timestamp(0)
    return np.asarray(epoch / timedelta(seconds=1), dtype=np.float64)
