"""Where the whole plan leaves a measure worse than it is today, and which line does it.

Each line may be worth something alone and yet spoil what others buy: a plan that is applied blindly would be worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from afterload.plan.build import Plan
from afterload.plan.change import PlanItem
from afterload.plan.measures import NAMES, before_and_after, part_name
from afterload.plan.worth import CASES, OF_PART, WHOLE, Difference, gain_of

__all__ = ["mind", "worsened", "worsened_words"]

# Parts of which a measure is told one by one; of more, the whole.
MOST_PARTS = 3


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
    for case, parts in plan.appraisal.whole.items():
        for name in NAMES:
            worse = [part for part in parts if name in parts[part] and _worse(parts[part], name)]
            several = any(part.startswith(f"{OF_PART[name]}.") for part in parts)
            shown = [part for part in worse if (part == WHOLE) == (not several or len(worse) > MOST_PARTS + 1)]
            for part in shown[:MOST_PARTS]:
                way = parts[part]
                cause, out = _cause(plan, case, part, name)
                words = (*before_and_after(name, way), before_and_after(name, out)[0] if out else "")
                if all((part, name, *words[:2]) != (item.part, item.measure, *item.words[:2]) for item in found):
                    without = (out or way)[name].before if out else way[name].after
                    found.append(Worsened(case, part, name, way[name].before, way[name].after, cause, without, words))
    return tuple(found)


def _worse(way: Mapping[str, Difference], name: str) -> bool:
    """Whether a measure gets worse, by more than rounding and in what a page shows of it."""
    before, after = before_and_after(name, way)
    return gain_of(way, name) < 0 and before != after


def _cause(plan: Plan, case: str, part: str, name: str) -> tuple[PlanItem | None, Mapping[str, Difference] | None]:
    """The line that the whole plan does best without, and both, if it does better without any."""
    worths = [(item, item.worths[case]) for item in plan.open if item.worths is not None]
    parts = [(item, worth if part == WHOLE else worth.parts.get(part)) for item, worth in worths]
    ways = [(item, each.left_out) for item, each in parts if each is not None and _worse(each.left_out, name)]
    # Each is from the plan without the line to the same whole: the further, the better without.
    return min(ways, key=lambda each: gain_of(each[1], name), default=(None, None))


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
