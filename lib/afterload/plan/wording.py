"""What a line of the plan is worth, in words and in short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from afterload.findings.phrases import counted
from afterload.plan.build import Plan
from afterload.plan.change import DO, PlanItem
from afterload.plan.first import First
from afterload.plan.measures import NAMES, NEVER, WITHOUT_END, before_and_after, part_name
from afterload.plan.price import Net, headroom_words, money
from afterload.plan.worth import CASES, RATES, WHOLE, Difference, gain_of
from afterload.scenario.coupled_schema import Costs
from afterload.units import format_duration, format_minutes

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


def short_worth(item: PlanItem, first: First | None = None) -> str:
    """What a line buys first of all, in one sentence: a drain, fresh age, another measure, or what it bounds.

    For one of the first changes, what it does for the objective that is missed.
    """
    return (
        _missed_words(first)
        or next(_moves(item), "")
        or _first_sentence(item.bounds)
        or _first_sentence(item.price)
        or "Buys nothing by itself."
    )


def _missed_words(first: First | None) -> str:
    if first is None or first.miss is None:
        return ""
    # Of a kind of which there is one part, the whole is told.
    parts = {} if first.item.worths is None else first.item.worths[CASES[0]].parts
    of = _of(first.item, first.miss.part) if first.miss.part in parts else ""
    above = "" if first.alone else "With the changes above it: "
    return f"{above}{_bought_words(_Told(first.miss.measure, first.way, of))}"


def buys_no_minutes(item: PlanItem) -> str:
    """That a line alone ends neither a drain nor stale processing sooner, in a sentence; empty text where it does.

    Empty as well where the recovery was not computed, and where there is nothing to drain.
    """
    if item.worths is None:
        return "" if item.edit else "Buys no minutes."
    worth = item.worths[CASES[0]]
    times = [worth.told(name, item.target)[1] for name in ("empty_min", "fresh_min")]
    if any(time.gain > ROUNDING_MIN for time in times):
        return ""
    if all(time.before == 0 for time in times):
        return ""
    where = " as the scenario starts" if item.shortens else ""
    never = ": the backlog never drains with or without it" if times[0].before is None and not item.shortens else ""
    return f"Buys no minutes{where}{never}."


def largest_price(plan: Plan, item: PlanItem, said: str = "") -> str:
    """What a line costs first of all, in one sentence: a time, work that is dropped, requests, its price, or its effort.

    Empty text where it stands in what is said before: work that is dropped for a gain.
    """
    found = next(_prices(item, said), "")
    days = plan.effort_days(item)
    text = found or f"about {days:g} person-day{'' if days == 1 else 's'}."
    if found.removesuffix(".") in said and found:
        return ""
    # A name in capitals stays one.
    return f"Price: {text if text[1:2].isupper() else text[0].lower() + text[1:]}"


def _prices(item: PlanItem, said: str) -> Iterator[str]:
    if item.worths is not None:
        for told in _tellings(item, CASES[0], "empty_min"):
            if told.item.gain < -ROUNDING_MIN:
                yield _drain_words(told)
        for told in _tellings(item, CASES[0], "fresh_min"):
            if told.item.gain < -ROUNDING_MIN:
                yield (
                    f"First-attempt age{told.of} is at baseline after {_minutes(told.item.after)}, "
                    f"{_minutes(told.item.before)} today."
                )
        for name, write in (("lost", _lost_words), ("failed_direct", _failed_words)):
            for told in _tellings(item, CASES[0], name):
                if gain_of(told.way, told.name) < 0:
                    yield f"{write(told)}."
    # The price in words may be all that the short worth had to say.
    if item.price and not said.startswith(_first_sentence(item.price)):
        yield _first_sentence(item.price)


@dataclass(frozen=True)
class _Told:
    """One measure of one part with a line alone: all measures of that part, and its name where there are several parts."""

    name: str
    way: Mapping[str, Difference]
    of: str = ""

    @property
    def item(self) -> Difference:
        """The measure that is told."""
        return self.way[self.name]

    @property
    def at(self) -> str:
        """Where, for a sentence that has no "of" yet."""
        return self.of.replace(" of ", " at ", 1)


# Parts of which a sentence tells.
MOST_PARTS = 3


def _tellings(item: PlanItem, case: str, name: str, way: str = "alone") -> list[_Told]:
    """Where a line moves a measure: at its own queue first, then where most moves; the whole where it has one part."""
    if item.worths is None:
        return []
    parts = item.worths[case].where(name, item.target)
    found = [_Told(name, getattr(worth, way), _of(item, part)) for part, worth in parts.items()]
    return [told for told in found if _moved(told)][:MOST_PARTS]


def _of(item: PlanItem, part: str) -> str:
    return "" if part in (WHOLE, item.target) else f" of {part_name(part)}"


def _bought_words(told: _Told) -> str:
    if told.name == "empty_min":
        return _drain_words(told)
    if told.name == "fresh_min":
        return (
            f"Brings first-attempt age{told.of} back to baseline after {_minutes(told.item.after)}, "
            f"{_minutes(told.item.before)} today."
        )
    if told.name == "collapsed_min":
        return f"Time down{told.of}: {difference_words(told.item, WITHOUT_END)}."
    before, after = before_and_after(told.name, told.way)
    return f"{NAMES[told.name][0].capitalize()}{told.at}: {after}, {before} today."


def _moves(item: PlanItem) -> Iterator[str]:
    """A sentence for each thing that a line makes better or worse, what matters most first."""
    if item.worths is None:
        return
    first, collapsed = CASES
    drains = _tellings(item, first, "empty_min")
    yield from (_drain_words(told) for told in drains if told.item.gain > ROUNDING_MIN)
    yield from (_bought_words(told) for told in _tellings(item, first, "fresh_min") if told.item.gain > ROUNDING_MIN)
    for told in _tellings(item, collapsed, "empty_min"):
        if told.item.gain > ROUNDING_MIN:
            yield f"With the dependency collapsed at the restore the drain{told.of} goes from {difference_words(told.item)}."
    for told in _tellings(item, collapsed, "empty_min", "cumulative"):
        if told.item.ended:
            after = _minutes(told.item.after)
            yield f"With the changes above it ends a drain{told.of} that never ends after a collapse, in {after}."
    for told in _tellings(item, collapsed, "collapsed_min"):
        down, which = told.item, told.of.removeprefix(" of ") or "the dependency"
        if down.ended:
            when = f"after {_minutes(down.after)}" if down.after else "at once"
            yield f"After a collapse {which} is up again {when}; today it stays down without end."
        elif (down.bought or 0.0) > ROUNDING_MIN:
            yield f"After a collapse {which} stays down for {_minutes(down.after)}, {_minutes(down.before)} today."
    # What is only bounded is told by the bound; what is only dearer by what moves.
    if not item.bounds:
        yield from _others(item)
        yield from (_drain_words(told) for told in drains if told.item.gain < -ROUNDING_MIN)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;!?]) (?=[A-Z])", text, maxsplit=1)[0]


def _computed(item: PlanItem) -> Iterator[str]:
    if item.worths is None:
        return
    first, collapsed = CASES
    drains = _tellings(item, first, "empty_min")
    yield from (_drain_words(told) for told in drains)
    if not drains:
        yield f"Buys no minutes here: {_stays(item.worths[first].told('empty_min', item.target)[1])}."
    same = {told.of: (told.item.before, told.item.after) for told in drains}
    for told in _tellings(item, first, "fresh_min"):
        if same.get(told.of) != (told.item.before, told.item.after) and difference_words(told.item):
            yield f"First-attempt age{told.of} at baseline: {difference_words(told.item)}."
    yield from _others(item)
    others = _tellings(item, collapsed, "empty_min")
    for told in others:
        if same.get(told.of) != (told.item.before, told.item.after) and difference_words(told.item):
            yield f"With the dependency collapsed at the restore{told.at}: {difference_words(told.item)}."
    usual, after = (item.worths[case].told("empty_min", item.target)[1] for case in CASES)
    if not others and (usual.before, usual.after) != (after.before, after.after):
        yield f"With the dependency collapsed at the restore: {_stays(after)}."
    ended = {told.of for told in others if told.item.ended}
    for told in _tellings(item, collapsed, "empty_min", "cumulative"):
        if told.item.ended and told.of not in ended:
            yield f"In its place, after the changes above it{told.at}: {difference_words(told.item)}."
    drained = {(told.item.before, told.item.after) for told in others}
    for told in _tellings(item, collapsed, "collapsed_min"):
        if (told.item.before, told.item.after) not in drained:
            yield f"Time that {told.of.removeprefix(' of ') or 'it'} then stays down: {difference_words(told.item, WITHOUT_END)}."


def _drain_words(told: _Told) -> str:
    drain = told.item
    dropped = f" at the price of {_lost_words(told)}" if _pays_with_work(told) else ""
    if drain.ended:
        return f"Brings the drain{told.of} from never to {_minutes(drain.after)}{dropped}."
    if drain.endless:
        return f"With it the backlog{told.of} never drains, instead of within {_minutes(drain.before)}."
    bought = drain.bought or 0.0
    change = f"({_minutes(drain.before)} to {_minutes(drain.after)}{_range(drain)})"
    return f"{'Buys' if bought > 0 else 'Costs'} {format_minutes(abs(bought))} of drain{told.at} {change}{dropped}."


def _pays_with_work(told: _Told) -> bool:
    """Whether a drain that is shorter is so because work is dropped that is done today: the price goes with the gain."""
    lost = _Told("lost", told.way)
    return told.item.gain > ROUNDING_MIN and _moved(lost) and gain_of(lost.way, lost.name) < 0


def _lost_words(told: _Told) -> str:
    before, after = _counts(told, "lost", "item")
    return f"{after} expired or discarded{told.at if told.name == 'lost' else ''}, {before} today"


def _counts(told: _Told, name: str, word: str) -> tuple[str, str]:
    """A count of things without and with a change; as a rate where it has no end."""
    sides = zip((told.way[name].before, told.way[name].after), before_and_after(name, told.way), strict=True)
    before, after = (
        text.replace("/min", f"/min of {word}s", 1) if value is None else counted(value, word) for value, text in sides
    )
    return before, after


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


def _failed_words(told: _Told) -> str:
    before, after = _counts(told, "failed_direct", "direct request")
    return f"{after.capitalize()}{told.of} fail or are held back, {before} today"


def _others(item: PlanItem) -> Iterator[str]:
    first = CASES[0]
    paid = {told.of for told in _tellings(item, first, "empty_min") if _pays_with_work(told)}
    for told in _tellings(item, first, "lost"):
        if told.of not in paid:
            yield f"{_lost_words(told)}."
    yield from (f"{_failed_words(told)}." for told in _tellings(item, first, "failed_direct"))
    for told in _tellings(item, first, "peak_attempts_per_min"):
        before, after = before_and_after(told.name, told.way)
        yield f"Peak attempts{told.at} go from {before} to {after}."
    for told in _tellings(item, first, "lowest_share"):
        before, after = before_and_after(told.name, told.way)
        yield f"Lowest capacity{told.of} goes from {before} to {after} of what is needed."


def _moved(told: _Told) -> bool:
    if told.name in RATES and told.item.before is None and told.item.after is None:
        return _differs(told.way[RATES[told.name]])
    return _differs(told.item) or (told.name in ("empty_min", "fresh_min") and abs(told.item.gain) > ROUNDING_MIN)


def _differs(item: Difference) -> bool:
    if item.before is None or item.after is None:
        return item.before is not item.after
    return abs(item.before - item.after) > TOLD_SHARE * max(abs(item.before), abs(item.after), 1e-9)


def difference_words(item: Difference, infinite: str = NEVER) -> str:
    """A time without and with a change: "344 min to 30 min"; empty text where it does not change.

    ``infinite`` is the word for minutes without end: another one for how long a harm lasts than for when a good comes.
    """
    if item.before == item.after or (item.before is not None and item.after is not None and not _differs(item)):
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
