"""Where the whole plan leaves a measure worse than it is today, and which line does it.

Each line may be worth something alone and yet spoil what others buy: a plan that is applied blindly would be worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from afterload.plan.build import Plan
from afterload.plan.change import PlanItem
from afterload.plan.measures import NAMES, written
from afterload.plan.worth import CASES

__all__ = ["mind", "worsened", "worsened_words"]

# Times and counts below this share of each other are the same.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Worsened:
    """One measure that is worse with all open changes than today.

    Attributes:
        case, measure: the starting state, and which measure of :data:`afterload.plan.measures.NAMES`.
        today, planned: without a change and with all open ones, at the likely inputs; None for never.
        cause: the line without which the whole plan does best; None where no single one makes it better.
        without: the whole plan without that line; None for never.
    """

    case: str
    measure: str
    today: float | None
    planned: float | None
    cause: PlanItem | None
    without: float | None


def worsened(plan: Plan) -> tuple[Worsened, ...]:
    """Every measure that the whole plan leaves worse than today; of the second starting state only what differs."""
    if plan.appraisal is None:
        return ()
    found: list[Worsened] = []
    for case in CASES:
        for name in NAMES:
            today, planned = (part[case].likely(name) for part in (plan.appraisal.today, plan.appraisal.planned))
            if not _worse(name, planned, today):
                continue
            cause, without = _cause(plan, case, name)
            one = Worsened(case, name, today, planned, cause, without)
            if all((one.measure, one.today, one.planned) != (item.measure, item.today, item.planned) for item in found):
                found.append(one)
    return tuple(found)


def _badness(name: str, value: float | None) -> float:
    """Larger is worse; never is worst."""
    amount = math.inf if value is None else value
    return -amount if name == "lowest_share" else amount


def _worse(name: str, value: float | None, other: float | None) -> bool:
    """Whether one value is worse than the other, by more than rounding and in what a page shows of them."""
    one, two = _badness(name, value), _badness(name, other)
    return one > two + ROUNDING * max(1.0, abs(two)) and written(name, value) != written(name, other)


def _cause(plan: Plan, case: str, name: str) -> tuple[PlanItem | None, float | None]:
    """The line that the whole plan does best without, if it does better without any."""
    best: tuple[PlanItem | None, float | None] = None, None
    for item in plan.open:
        if item.worths is None:
            continue
        part = item.worths[case].left_out[name]
        if not _worse(name, part.after, part.before):
            continue
        if best[0] is None or _badness(name, part.before) < _badness(name, best[1]):
            best = item, part.before
    return best


def _change(item: Worsened) -> str:
    """The measure with all open changes, and today: "first-attempt age at baseline after 389 min, 344 min today"."""
    where = "" if item.case == CASES[0] else f" with dependencies {item.case}"
    today, planned = (written(item.measure, value) for value in (item.today, item.planned))
    name = NAMES[item.measure][0]
    if name.endswith((" after", " for")):
        name = name.removesuffix(" after").removesuffix(" for") if item.planned is None else name
        return f"{name} {planned}{where}, {today} today"
    return f"{name}: {planned}{where}, {today} today"


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
    without = written(item.measure, item.without)
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
                f"{written(one.measure, one.without)}."
            )
