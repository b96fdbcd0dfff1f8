"""What a line of the plan is worth, in words and in short."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afterload.findings.phrases import counted
from afterload.plan.build import Plan
from afterload.plan.change import DO, PlanItem
from afterload.plan.measures import NEVER, WITHOUT_END
from afterload.plan.price import Net, headroom_words, money
from afterload.plan.worth import CASES, Difference, Worth
from afterload.scenario.coupled_schema import Costs
from afterload.units import format_duration, format_minutes, format_rate, format_share

__all__ = [
    "NOTHING_BOUGHT",
    "buys_no_minutes",
    "effort_and_risk",
    "largest_price",
    "minutes_bought",
    "money_words",
    "short_worth",
    "signed_minutes",
    "stale_bought",
    "worth",
]

# Changes of a measure below these shares of it are not told.
TOLD_SHARE = 0.005
# What a line buys of a time that never comes, with it or without.
NOTHING_BOUGHT = "none"
# Differences of two simulations below this are those of rounding.
ROUNDING_MIN = 1e-6


def worth(item: PlanItem) -> str:
    """What a line buys, in words: minutes, what else it bounds, and always the price."""
    return " ".join([*_computed(item), *(text for text in (item.bounds, item.price) if text)])


def short_worth(item: PlanItem) -> str:
    """What a line buys first of all, in one sentence: a drain, fresh age, another measure, or what it bounds."""
    return (
        next(_moves(item), "")
        or _first_sentence(item.bounds)
        or _first_sentence(item.price)
        or "Buys nothing by itself."
    )


def buys_no_minutes(item: PlanItem) -> str:
    """That a line alone ends neither a drain nor stale processing sooner, in a sentence; empty text where it does.

    Empty as well where the recovery was not computed, and where there is nothing to drain.
    """
    if item.worths is None:
        return "" if item.edit else "Buys no minutes."
    times = [item.worths[CASES[0]].alone[name] for name in ("empty_min", "fresh_min")]
    if any(time.ended or (time.bought or 0.0) > ROUNDING_MIN for time in times):
        return ""
    if all(time.before == 0 for time in times):
        return ""
    where = " as the scenario starts" if item.shortens else ""
    never = ": the backlog never drains with or without it" if times[0].before is None and not item.shortens else ""
    return f"Buys no minutes{where}{never}."


def largest_price(plan: Plan, item: PlanItem) -> str:
    """What a line costs first of all, in one sentence: a time, work that is dropped, requests, its price, or its effort.

    Empty text where it stands with the gain in :func:`short_worth`: work that is dropped for it.
    """
    if item.worths is not None and _pays_with_work(item.worths[CASES[0]]):
        return ""
    found = next(_prices(item), "")
    days = plan.effort_days(item)
    text = found or f"about {days:g} person-day{'' if days == 1 else 's'}."
    # A name in capitals stays one.
    return f"Price: {text if text[1:2].isupper() else text[0].lower() + text[1:]}"


def _prices(item: PlanItem) -> Iterator[str]:
    worth = None if item.worths is None else item.worths[CASES[0]]
    if worth is not None:
        drain, fresh = worth.alone["empty_min"], worth.alone["fresh_min"]
        if drain.endless or (drain.bought or 0.0) < -ROUNDING_MIN:
            yield _drain_words(worth)
        if fresh.endless or (fresh.bought or 0.0) < -ROUNDING_MIN:
            yield f"First-attempt age is at baseline after {_minutes(fresh.after)}, {_minutes(fresh.before)} today."
        if _is_more(worth.alone["lost"]):
            yield f"{_lost_words(worth)}."
        if _is_more(worth.alone["failed_direct"]):
            yield _failed_words(worth)
    # The price in words may be all that the short worth had to say.
    if item.price and not short_worth(item).startswith(_first_sentence(item.price)):
        yield _first_sentence(item.price)


def _is_more(item: Difference) -> bool:
    return _moved(item) and (item.after or 0.0) > (item.before or 0.0)


def _moves(item: PlanItem) -> Iterator[str]:
    """A sentence for each thing that a line makes better or worse, what matters most first."""
    if item.worths is None:
        return
    first, collapsed = (item.worths[case] for case in CASES)
    drain, fresh = first.alone["empty_min"], first.alone["fresh_min"]
    if drain.ended or (drain.bought or 0.0) > ROUNDING_MIN:
        yield _drain_words(first)
    if fresh.ended or (fresh.bought or 0.0) > ROUNDING_MIN:
        yield f"Brings first-attempt age back to baseline after {_minutes(fresh.after)}, {_minutes(fresh.before)} today."
    other, place = collapsed.alone["empty_min"], collapsed.cumulative["empty_min"]
    down = collapsed.alone["collapsed_min"]
    if other.ended or (other.bought or 0.0) > ROUNDING_MIN:
        yield f"With the dependency collapsed at the restore the drain goes from {difference_words(other)}."
    if place.ended:
        yield f"With the changes above it ends a drain that never ends after a collapse, in {_minutes(place.after)}."
    if down.ended:
        when = f"after {_minutes(down.after)}" if down.after else "at once"
        yield f"After a collapse the dependency is up again {when}; today it stays down without end."
    elif (down.bought or 0.0) > ROUNDING_MIN:
        yield f"After a collapse the dependency stays down for {_minutes(down.after)}, {_minutes(down.before)} today."
    # What is only bounded is told by the bound; what is only dearer by what moves.
    if not item.bounds:
        yield from _others(first)
        if drain.endless or (drain.bought or 0.0) < -ROUNDING_MIN:
            yield _drain_words(first)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;!?]) (?=[A-Z])", text, maxsplit=1)[0]


def _computed(item: PlanItem) -> Iterator[str]:
    if item.worths is None:
        return
    first, collapsed = (item.worths[case] for case in CASES)
    yield _drain_words(first)
    fresh, drain = first.alone["fresh_min"], first.alone["empty_min"]
    if (fresh.before, fresh.after) != (drain.before, drain.after) and difference_words(fresh):
        yield f"First-attempt age at baseline: {difference_words(fresh)}."
    yield from _others(first)
    other, same = collapsed.alone["empty_min"], first.alone["empty_min"]
    if (other.before, other.after) != (same.before, same.after):
        words = difference_words(other) or _stays(other)
        yield f"With the dependency collapsed at the restore: {words}."
    place = collapsed.cumulative["empty_min"]
    if place.ended and not other.ended:
        yield f"In its place, after the changes above it: {difference_words(place)}."
    down = collapsed.alone["collapsed_min"]
    if difference_words(down) and (down.before, down.after) != (other.before, other.after):
        yield f"Time that it then stays down: {difference_words(down, WITHOUT_END)}."


def _drain_words(worth: Worth) -> str:
    drain = worth.alone["empty_min"]
    dropped = f" at the price of {_lost_words(worth)}" if _pays_with_work(worth) else ""
    if drain.ended:
        return f"Brings the drain from never to {_minutes(drain.after)}{dropped}."
    if drain.endless:
        return f"With it the backlog never drains, instead of within {_minutes(drain.before)}."
    bought = drain.bought or 0.0
    change = f"({_minutes(drain.before)} to {_minutes(drain.after)}{_range(drain)})"
    if bought > 1e-9:
        return f"Buys {format_minutes(bought)} of drain {change}{dropped}."
    if bought < -1e-9:
        return f"Costs {format_minutes(-bought)} of drain {change}."
    return f"Buys no minutes here: {_stays(drain)}."


def _pays_with_work(worth: Worth) -> bool:
    """Whether a drain that is shorter is so because work is dropped that is done today: the price goes with the gain."""
    drain, lost = worth.alone["empty_min"], worth.alone["lost"]
    shorter = drain.ended or (drain.bought or 0.0) > ROUNDING_MIN
    return shorter and _moved(lost) and (lost.after or 0.0) > (lost.before or 0.0)


def _lost_words(worth: Worth) -> str:
    lost = worth.alone["lost"]
    return f"{counted(lost.after or 0.0, 'item')} expired or discarded, {counted(lost.before or 0.0, 'item')} today"


def _stays(drain: Difference) -> str:
    if drain.before is None:
        return "with or without it the backlog never drains"
    return f"the drain stays at {_minutes(drain.before)}" if drain.before > 0 else "there is nothing to drain"


def _range(drain: Difference) -> str:
    if drain.p10 is None or drain.p90 is None or drain.p90 - drain.p10 < 1e-6:
        return ""
    return f"; P10 to P90 of what it buys: {signed_minutes(drain.p10)} to {signed_minutes(drain.p90)}"


def signed_minutes(minutes: float) -> str:
    """Minutes bought, or that a change costs: "costs 12 min"; a page holds no negative minutes."""
    if abs(minutes) < ROUNDING_MIN:
        return format_minutes(0.0)
    return f"costs {format_minutes(-minutes)}" if minutes < 0 else format_minutes(minutes)


def _failed_words(worth: Worth) -> str:
    failed = worth.alone["failed_direct"]
    return (
        f"{counted(failed.after or 0.0, 'direct request').capitalize()} fail or are held back, "
        f"{counted(failed.before or 0.0, 'direct request')} today."
    )


def _others(worth: Worth) -> Iterator[str]:
    lost, failed = worth.alone["lost"], worth.alone["failed_direct"]
    if _moved(lost) and not _pays_with_work(worth):
        yield f"{_lost_words(worth).capitalize()}."
    if _moved(failed):
        yield _failed_words(worth)
    peak = worth.alone["peak_attempts_per_min"]
    if _moved(peak):
        yield f"Peak attempts go from {format_rate(peak.before or 0.0)} to {format_rate(peak.after or 0.0)}."
    lowest = worth.alone["lowest_share"]
    if _moved(lowest):
        yield (
            f"Lowest capacity goes from {format_share(lowest.before or 0.0)} to {format_share(lowest.after or 0.0)} "
            "of what is needed."
        )


def _moved(item: Difference) -> bool:
    if item.before is None or item.after is None:
        return item.before is not item.after
    return abs(item.before - item.after) > TOLD_SHARE * max(abs(item.before), abs(item.after), 1e-9)


def difference_words(item: Difference, infinite: str = NEVER) -> str:
    """A time without and with a change: "344 min to 30 min"; empty text where it does not change.

    ``infinite`` is the word for minutes without end: another one for how long a harm lasts than for when a good comes.
    """
    if item.before == item.after or (item.before is not None and item.after is not None and not _moved(item)):
        return ""
    return f"{_minutes(item.before, infinite)} to {_minutes(item.after, infinite)}"


def _minutes(minutes: float | None, infinite: str = NEVER) -> str:
    if minutes is None:
        return infinite
    return format_minutes(minutes) if minutes < 2880 else format_duration(minutes)


def effort_and_risk(plan: Plan, item: PlanItem) -> str:
    """Person-days of a line that is to do, and what can go wrong with it; empty text for other lines."""
    if item.status != DO:
        return ""
    days = plan.effort_days(item)
    return f"About {days:g} person-day{'' if days == 1 else 's'}. {plan.change(item).risk}"


def money_words(plan: Plan, item: PlanItem) -> str:
    """What a line that is to do costs in money, and what a year with it comes to; empty text where nothing is known."""
    if item.status != DO:
        return ""
    words, costs = [], plan.costs
    if item.headroom is not None:
        words.append(f"Headroom of {headroom_words(item.headroom, costs)}")
    if costs is not None and costs.person_day:
        words.append(f"Effort: {money(plan.effort_days(item) * costs.person_day, costs)}.")
    net = plan.net(item)
    if net is not None and costs is not None:
        words.append(_net_words(net, costs, item.bought_min or 0.0))
    return " ".join(words)


def _net_words(net: Net, costs: Costs, drain_min: float) -> str:
    events = "1 such event" if costs.events_a_year == 1 else f"{costs.events_a_year:,.15g} such events"
    verb = "saves" if net.amount >= 0 else "costs"
    stale = ""
    if abs(net.stale_min) > ROUNDING_MIN:
        less = "fewer" if net.stale_min > 0 else "more"
        stale = f", with {format_minutes(abs(net.stale_min)).removesuffix(' min')} stale minutes {less} in each"
    rest = " Minutes of drain that are not stale have no price." if drain_min > net.stale_min + ROUNDING_MIN else ""
    if net.headroom is None:
        rest += " The headroom counts as nothing, since it has no cost."
    return f"A year of {events} {verb} {money(abs(net.amount), costs)} net{stale}.{rest}"


def minutes_bought(item: PlanItem) -> str:
    """The minutes of drain of a line for a table: bought or cost, "never to 172 min" where it ends a never, or "none"."""
    return _bought(item, item.drain)


def stale_bought(item: PlanItem) -> str:
    """The same of the minutes by which first-attempt age is back at baseline sooner."""
    return _bought(item, item.stale)


def _bought(item: PlanItem, time: Difference | None) -> str:
    if item.status != DO:
        return ""
    if time is None:
        return "see worth"
    if time.ended or time.endless:
        return f"{_minutes(time.before)} to {_minutes(time.after)}"
    bought = time.bought
    if bought is None or time.before is None:
        # Never with it and without it.
        return NOTHING_BOUGHT
    return f"costs {format_minutes(-bought)}" if bought < -1e-9 else format_minutes(max(0.0, bought))
