"""Numbers as spreadsheets write them: which of comma and point is the decimal sign is shown by the file, or asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from afterload.model.curves import FloatArray

__all__ = ["EMPTY", "NOTHING", "NUMBER", "ODD", "Decimal", "NumberReader", "looks_like_number"]

Decimal = Literal[".", ","]
# States of a cell: a number, nothing at all, no number, or to be read once the decimal sign is known.
NUMBER, EMPTY, ODD, KEPT = 0, 1, 2, 3
NOTHING = frozenset({"", "null", "undefined", "none", "n/a", "na", "no data", "-", "--", "<na>", "\\n"})
_SPACES = re.compile(r"[\s'\u2019\u00a0\u2009\u202f]+(?=[0-9]{3})")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?P<sign>[.,])[0-9]{3}")
_COMMA = re.compile(
    r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)?,[0-9]+(?:[eE][+-]?[0-9]+)?|[+-]?[0-9]{1,3}(?:\.[0-9]{3}){2,}"
)
_WITH_COMMA = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_POINT = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*|[+-]?[0-9]{1,3}(?:,[0-9]{3}){2,}")
_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


def looks_like_number(text: str) -> bool:
    """True for text that is a number in some way of writing, or stands for none."""
    text = text.strip()
    if text.lower() in NOTHING or _PLAIN.fullmatch(text):
        return True
    text = _SPACES.sub("", text)
    return bool(_PLAIN.fullmatch(text) or _COMMA.fullmatch(text) or _POINT.fullmatch(text) or _GROUPED.fullmatch(text))


@dataclass
class NumberReader:
    """Reads the numbers of one file; those that need the decimal sign to be known are kept until all have been seen.

    Attributes:
        decimal: the sign, if a person said it.
        points_are_sure: True where the columns are separated by commas, so that a point alone is a decimal point.
    """

    decimal: Decimal | None = None
    points_are_sure: bool = True
    by_comma: str = ""
    by_point: str = ""
    unclear: str = ""
    unclear_count: int = 0
    _kept: list[tuple[FloatArray, npt.NDArray[np.uint8], int, str]] = field(default_factory=list)

    def read(self, texts: npt.NDArray[np.object_]) -> tuple[FloatArray, npt.NDArray[np.uint8]]:
        """Numbers of a column, NaN where there is none, and the state of each cell.

        Both arrays are filled further by :meth:`finish`, where commas or points can be read in two ways.
        """
        values = np.full(len(texts), np.nan)
        states = np.zeros(len(texts), dtype=np.uint8)
        states[texts == ""] = EMPTY
        filled = texts if not states.any() else texts[states == NUMBER]
        quick = self._plain(filled)
        if quick is None:
            quick = self._commas(filled)
        if quick is not None:
            values[states == NUMBER] = quick
            return values, states
        for place in np.flatnonzero(states == NUMBER):
            self._one(values, states, int(place), str(texts[place]).strip())
        return values, states

    def _plain(self, texts: npt.NDArray[np.object_]) -> FloatArray | None:
        """All of them as numbers with a decimal point; None where one of them is anything else, or unclear."""
        if self.decimal == "," or not (self.points_are_sure or self.decimal or not any(map(_GROUPED.fullmatch, texts))):
            return None
        try:
            values = texts.astype(np.float64)
        except ValueError:
            return None
        together = " ".join(texts)
        if "_" in together or not together.isascii():
            return None
        if "." in together:
            self.by_point = self.by_point or next(text for text in texts if "." in text)
        return values

    def _commas(self, texts: npt.NDArray[np.object_]) -> FloatArray | None:
        """All of them as numbers with a decimal comma; None where they are not, or do not prove it."""
        if self.decimal == "." or not all(map(_WITH_COMMA.fullmatch, texts)):
            return None
        proof = next((text for text in texts if _COMMA.fullmatch(text) and not _GROUPED.fullmatch(text)), "")
        if not proof and self.decimal is None:
            return None
        self.by_comma = self.by_comma or proof
        plain = np.array([_with_point(text, ",") for text in texts], dtype=object)
        values: FloatArray = plain.astype(np.float64)
        return values

    def _one(self, values: FloatArray, states: npt.NDArray[np.uint8], place: int, text: str) -> None:
        if text.lower() in NOTHING:
            states[place] = EMPTY
            return
        number = _SPACES.sub("", text)
        if _PLAIN.fullmatch(number) and not self._is_unclear_point(number):
            if "." in number:
                self.by_point = self.by_point or text
            values[place] = float(number)
            return
        if _GROUPED.fullmatch(number):
            self.unclear = self.unclear or text
            self.unclear_count += 1
        elif _COMMA.fullmatch(number):
            self.by_comma = self.by_comma or text
        elif _POINT.fullmatch(number):
            self.by_point = self.by_point or text
        else:
            states[place] = ODD
            return
        states[place] = KEPT
        self._kept.append((values, states, place, number))

    def _is_unclear_point(self, text: str) -> bool:
        match = None if self.points_are_sure and self.decimal != "," else _GROUPED.fullmatch(text)
        return match is not None and match["sign"] == "."

    def finish(self) -> Decimal | None:
        """Fill in what was kept; the sign that was used, or None where the file does not show it.

        Values that cannot be read with the sign become :data:`ODD`; without a sign they stay :data:`KEPT`.
        """
        sign = self.decimal
        if sign is None and bool(self.by_comma) != bool(self.by_point):
            sign = "," if self.by_comma else "."
        if sign is not None:
            for values, states, place, number in self._kept:
                plain = _with_point(number, sign)
                states[place] = NUMBER if _PLAIN.fullmatch(plain) else ODD
                values[place] = float(plain) if states[place] == NUMBER else np.nan
        return sign

    def unclear_as(self, sign: Decimal) -> str:
        """What the first unclear number is with a decimal sign."""
        return f"{float(_with_point(_SPACES.sub('', self.unclear), sign)):g}"

    @property
    def conflict(self) -> bool:
        """True where some values can only be read one way, and some only the other way."""
        return self.decimal is None and bool(self.by_comma) and bool(self.by_point)


def _with_point(number: str, sign: Decimal) -> str:
    return number.replace("." if sign == "," else ",", "").replace(",", ".")
