"""A cache that is warm before traffic is let in."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem, share
from afterload.plan.loads import DependencyLoad, recovery_loads
from afterload.scenario import Dependency
from afterload.scenario.coupled_schema import Cache
from afterload.units import format_duration, format_number, format_rate

ID = "warm-cache"
# After so many times its fill time a cache has closed 95 % of its gap.
FILL_TIMES = 3.0


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    loads = recovery_loads(estimates)
    for name, dependency in estimates.loaded.scenario.dependencies.items():
        if dependency.cache is not None and name in loads:
            yield _item(estimates, dependency, dependency.cache, loads[name])


def _item(estimates: Estimates, dependency: Dependency, cache: Cache, load: DependencyLoad) -> PlanItem:
    target = f"dependencies.{load.name}"
    at = Place(ID, estimates, "dependencies", load.name)
    line = at.where("cache")
    evidence = (
        f"Its cache answers {share(cache.hit_rate_at_restore)} just after the restore and {share(cache.hit_rate)} at rest "
        f"({line})"
    )
    warm = dependency.direct_rate_per_min
    if cache.hit_rate_at_restore >= cache.hit_rate or warm == 0:
        return at.in_place(f"{evidence}: it lets through no more than at rest.")
    others = load.requests - load.direct
    lets = f"{evidence}, so that {format_rate(warm)} of direct traffic are {format_rate(load.direct)}"
    beside = f" beside {format_rate(others)} of drains and control loops" if others else ""
    if load.direct + others <= load.capacity * (1 + 1e-9):
        return at.not_here(f"{lets}, which fit into {format_rate(load.capacity)}{beside}.")
    return at.do(
        f"{lets}{beside}, more than its {format_rate(load.capacity)}.",
        bounds=_bounds(cache, load, warm, others),
        price=_price(cache),
        apply=("# before direct traffic and drains: read the most used keys through the cache, or restore a copy of it",
               f"# let traffic in once it answers {share(cache.hit_rate)}"),
        undo=("# let traffic in with the cache as it is",),
        edit={f"{target}.cache.hit_rate_at_restore": cache.hit_rate},
    )  # fmt: skip


def _bounds(cache: Cache, load: DependencyLoad, warm: float, others: float) -> str:
    at_first = format_number(load.direct / warm)
    words = f"Bounds direct traffic at what it is at rest, instead of {at_first} times that."
    room = load.capacity - others
    if room < warm:
        return f"{words} That is still more than fits beside the drains: cap these as well."
    least = 1 - room * (1 - cache.hit_rate) / warm
    return f"{words} From {share(max(0.0, least))} on everything fits."


def _price(cache: Cache) -> str:
    if cache.fill_time_min == 0:
        return "Traffic waits until it is filled."
    return f"Traffic waits until it is filled: at its own pace {format_duration(FILL_TIMES * cache.fill_time_min)} for 95 %."


CHANGE = Change(
    id=ID,
    order=6,
    title="A cache that is filled before traffic comes back",
    why="A cold cache passes everything on, to a dependency that was sized for what is left behind a warm one.",
    exercise="In a test account empty the cache at full load, and see the dependency stay up with and without filling it first.",
    reference='recovery planning guide, order of admission; "Metastable Failures in the Wild", OSDI 2022',
    items=_items,
    effort_days=3,
    risk="A copy that is too old serves what is no longer true: give what it holds its usual life.",
)
