"""Where the whole plan leaves a measure worse than it is today, and which line does it.

Each line may be worth something alone and yet spoil what others buy: a plan that is applied blindly would be worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from afterload.plan.build import Plan
from afterload.plan.change import PlanItem
from afterload.plan.measures import NAMES, amount, part_name
from afterload.plan.worth import CASES, RATES, ROUNDING, WHOLE, Difference

__all__ = ["mind", "worsened", "worsened_words"]

# Parts of which a measure is told one by one; of more, the whole.
MOST_PARTS = 3
# What gives the value of each measure, in one case and for one part.
Values = Callable[[str], float | None]


@dataclass(frozen=True)
class Worsened:
    """One measure that is worse with all open changes than today.

    Attributes:
        case, part, measure: the starting state, the queue or dependency or the whole, and which measure of
            :data:`afterload.plan.measures.NAMES`.
        today, planned: without a change and with all open ones, at the likely inputs; None for never.
        cause: the line without which the whole plan does best; None where no single one makes it better.
        without: the whole plan without that line; None for never.
        words: the three values as people read them, counts without an end as rates.
    """

    case: str
    part: str
    measure: str
    today: float | None
    planned: float | None
    cause: PlanItem | None
    without: float | None
    words: tuple[str, str, str]


def worsened(plan: Plan) -> tuple[Worsened, ...]:
    """Every measure that the whole plan leaves worse than today; of the second starting state only what differs.

    Of each queue and dependency where there are several; of the whole where it is worse and more than three of them are.
    """
    if plan.appraisal is None:
        return ()
    found: list[Worsened] = []
    for case in CASES:
        today, planned = plan.appraisal.today[case], plan.appraisal.planned[case]
        for name in NAMES:
            parts = today.parts(name)
            worse = {
                part: (before, after)
                for part in (parts if len(parts) > 1 else [WHOLE])
                if _worse(name, after := planned.of(part), before := today.of(part))
            }
            if len(worse) > MOST_PARTS and _worse(name, planned.of(WHOLE), today.of(WHOLE)):
                worse = {WHOLE: (today.of(WHOLE), planned.of(WHOLE))}
            for part, (before, after) in list(worse.items())[:MOST_PARTS]:
                cause, without = _cause(plan, case, part, name)
                words = amount(name, before), amount(name, after), amount(name, without or after)
                one = Worsened(case, part, name, before(name), after(name), cause, (without or after)(name), words)
                if all(
                    (one.part, one.measure, words[:2]) != (item.part, item.measure, item.words[:2]) for item in found
                ):
                    found.append(one)
    return tuple(found)


def _badness(name: str, values: Values) -> tuple[float, float]:
    """Larger is worse; never is worst, and of counts without an end the higher rate."""
    value = values(name)
    worst = math.inf if value is None else value
    return -worst if name == "lowest_share" else worst, (values(RATES[name]) or 0.0) if name in RATES else 0.0


def _worse(name: str, values: Values, others: Values) -> bool:
    """Whether one value is worse than the other, by more than rounding and in what a page shows of them."""
    differs = (
        one > two + ROUNDING * max(1.0, abs(two))
        for one, two in zip(_badness(name, values), _badness(name, others), strict=True)
    )
    return (
        _badness(name, values) > _badness(name, others)
        and any(differs)
        and amount(name, values) != amount(name, others)
    )


def _cause(plan: Plan, case: str, part: str, name: str) -> tuple[PlanItem | None, Values | None]:
    """The line that the whole plan does best without, if it does better without any."""
    best: tuple[PlanItem | None, Values | None] = None, None
    for item in plan.open:
        worth = None if item.worths is None else item.worths[case]
        worth = worth if worth is None or part == WHOLE else worth.parts.get(part)
        if worth is None:
            continue
        before, after = _sides(worth.left_out)
        if not _worse(name, after, before):
            continue
        if best[1] is None or _badness(name, before) < _badness(name, best[1]):
            best = item, before
    return best


def _sides(way: Mapping[str, Difference]) -> tuple[Values, Values]:
    return lambda name: way[name].before, lambda name: way[name].after


def _change(item: Worsened) -> str:
    """The measure with all open changes, and today: "first-attempt age at baseline of mail after 389 min, 344 min today"."""
    where = "" if item.case == CASES[0] else f" with dependencies {item.case}"
    today, planned, _ = item.words
    name, of = NAMES[item.measure][0], f" of {part_name(item.part)}" if item.part else ""
    for verb in (" after", " for"):
        if name.endswith(verb):
            verb, name = "" if item.planned is None else verb, name.removesuffix(verb)
            return f"{name}{of}{verb} {planned}{where}, {today} today"
    return f"{name}{of}: {planned}{where}, {today} today"


def worsened_summary(plan: Plan) -> str:
    """All of them in one sentence, each with the line that causes it; empty text where the whole plan is nowhere worse."""
    parts = [
        f"{_change(item)}{'' if item.cause is None else f' (line {plan.about.index(item.cause) + 1})'}"
        for item in worsened(plan)
    ]
    return f"The whole plan makes worse than today: {'; '.join(parts)}." if parts else ""


def worsened_words(plan: Plan) -> list[str]:
    """A warning for each of them, with the line that causes it; no words where the whole plan is nowhere worse."""
    return [
        f"Worse than today with all open changes together: {_change(item)}. {_blame(plan, item)}"
        for item in worsened(plan)
    ]


def _blame(plan: Plan, item: Worsened) -> str:
    if item.cause is None:
        return "No single line does it: left out, each of them leaves it as it is or worse."
    place = plan.about.index(item.cause) + 1
    without = item.words[2]
    return (
        f"Line {place}, {plan.change(item.cause).title[0].lower()}{plan.change(item.cause).title[1:]} on "
        f"{item.cause.target}, does most of it: the whole plan without it comes to {without}."
    )


def mind(plan: Plan, item: PlanItem) -> str:
    """What to mind before a line is applied with all others: where it leaves the whole plan worse than today."""
    return " ".join(_minded(plan, item))


def _minded(plan: Plan, item: PlanItem) -> Iterator[str]:
    for one in worsened(plan):
        if one.cause is not None and one.cause.id == item.id:
            yield (
                f"With all open changes together it leaves the plan worse than today: {_change(one)}; without this line "
                f"{one.words[2]}."
            )
