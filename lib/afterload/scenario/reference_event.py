"""The reference event, which stands in a new scenario until the team gives an event of its own.

Its times are those of the provider's published summary of the event of 19 and 20 October 2025 in us-east-1.
"""

from __future__ import annotations

from datetime import datetime, timedelta

__all__ = ["FOLDER", "NAME", "is_another_event", "is_source"]

NAME = "us-east-1, 19 and 20 October 2025"
FOLDER = "builtin:incidents/us-east-1-2025-10-20/"
TRIGGER = datetime.fromisoformat("2025-10-19T23:48-07:00")
# A team's own times of that event, its dependency's failure and restore, lie within this of the published trigger.
NEAR = timedelta(days=2)


def is_another_event(at: datetime) -> bool:
    """True for a time that cannot be one of the reference event, whoever's dependency it is about."""
    return abs(at - TRIGGER) > NEAR


def is_source(text: object) -> bool:
    """True where the source of an incident's times is the summary of the reference event."""
    return isinstance(text, str) and text.removeprefix("the ") == "provider's published summary of the event"
