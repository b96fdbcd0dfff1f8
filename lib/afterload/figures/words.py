"""Small pieces of prose with everything escaped, and words for answers that are not numbers."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from afterload.estimates import FleetEstimate
from afterload.figures.figure import Prose
from afterload.recovery.doubts import Doubt
from afterload.units import format_duration, format_minutes

__all__ = ["NEVER", "doubts", "minutes_or_never", "paragraph", "sentence_list", "span", "unbooted"]

NEVER = "never at these rates"


def paragraph(text: str) -> Prose:
    """One paragraph."""
    return Prose(f"<p>{escape(text)}</p>", text)


def sentence_list(lines: Iterable[str]) -> Prose:
    """One paragraph a line."""
    lines = list(lines)
    return Prose("".join(f"<p>{escape(line)}</p>" for line in lines), "\n".join(lines))


def doubts(items: Iterable[tuple[str, Doubt]]) -> Prose:
    """What to know before trusting the figures; empty where there is nothing."""
    lines = [f"{item.word} ({name}): {item.text}." for name, item in items]
    html = "".join(f'<p class="af-warning">{escape(line)}</p>' for line in lines)
    return Prose(html, "\n".join(lines))


def minutes_or_never(minutes: float | None) -> str:
    """Minutes for people, or the words for no end."""
    return NEVER if minutes is None else format_minutes(minutes)


def span(minutes: float | None) -> str:
    """Minutes, with hours beside them where that helps: "344 min (5 h 44 min)"."""
    if minutes is None:
        return NEVER
    text = format_minutes(minutes)
    return f"{text} ({format_duration(minutes)})" if minutes >= 120 else text


def unbooted(item: FleetEstimate) -> str:
    """What to add to the time of a fleet's launches whose boot is not in it; empty where it is, or nothing is launched."""
    given = item.missing == 0 or "boot_time_s" in item.fleet.launch.model_fields_set
    return "" if given else "; no time to boot is given, so it is later than this"
