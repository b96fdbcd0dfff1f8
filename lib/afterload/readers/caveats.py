"""What metrics cannot tell, by name: for the reader of a figure, not for the arithmetic.

Source: the services' own metric documentation (SQS: available CloudWatch metrics).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from afterload.readers.series import MetricSeries

__all__ = ["caveats"]

_SQS_COUNTS = re.compile(r"ApproximateNumberOf|NumberOfMessages|NumberOfEmptyReceives", re.IGNORECASE)
_SQS_AGE = re.compile(r"ApproximateAgeOfOldestMessage", re.IGNORECASE)
_COUNTER = re.compile(r"_(total|count|sum|bucket)$")
LONG_GAP_PERIODS = 3


def caveats(series: Iterable[MetricSeries]) -> list[str]:
    """What a person should know of these series, each said once."""
    every = list(series)
    said: list[str] = []

    def names(pattern: re.Pattern[str]) -> str:
        found = dict.fromkeys(item.name for item in every if pattern.search(item.name))
        return ", ".join(list(found)[:3]) + (f" and {len(found) - 3:,} more" if len(found) > 3 else "")

    if age := names(_SQS_AGE):
        said.append(
            f"{age}: leaves out poison messages (on a standard queue, from the third receive without a delete on), and starts "
            "anew for a message that is moved to a dead-letter queue; it is not the age on first attempt. A queue without "
            "messages has no age at all: no data, which does not prove that the queue was empty"
        )
    if counts := names(_SQS_COUNTS):
        said.append(f"{counts}: SQS counts are approximate, and an idle queue reports nothing: no data is not zero")
    if received := names(re.compile("NumberOfMessagesReceived")):
        said.append(f"{received}: counts each delivery, so a message that comes again is counted again")
    if names(re.compile("^ActiveMessages$")):
        said.append("ActiveMessages: Service Bus shows 0 while it is throttled")
    if late := names(re.compile("^pubsub.googleapis.com/")):
        said.append(f"{late}: points come about 2 min late, so the newest minutes are not there yet")
    counters = [item for item in every if _COUNTER.search(item.name) and item.stamp == "end" and _rises(item)]
    if counters:
        shown = ", ".join(dict.fromkeys(item.name for item in counters[:3]))
        said.append(
            f"{shown}: looks like a counter that only rises: export increase() or rate() of it, or say that it is one"
        )
    for item in every:
        if item.gaps:
            period = item.period_s or 0.0
            longest = max(end - start for start, end in item.gaps)
            if longest >= LONG_GAP_PERIODS * period:
                said.append(
                    f"{item.title}: {len(item.gaps):,} {'gap' if len(item.gaps) == 1 else 'gaps'} without data, the longest "
                    f"{longest / 60:,.4g} min: what happened there is not known, and not taken as zero"
                )
    return said


def _rises(item: MetricSeries) -> bool:
    steps = np.diff(item.values)
    # A restart sets a counter to zero, so a few steps down do not speak against it.
    return len(steps) >= 3 and bool((steps >= 0).mean() >= 0.95) and bool((steps > 0).any())
