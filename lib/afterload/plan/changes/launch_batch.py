"""More instances a launch request, where requests and not instances are what runs out."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates, FleetEstimate, estimate_fleet
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.units import format_duration

ID = "launch-batch"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.fleets.values():
        if item.fleet.needed:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: FleetEstimate) -> PlanItem:
    fleet, target = item.fleet, f"fleets.{item.name}"
    shape = fleet.launch
    at = Place(ID, estimates, "fleets", item.name, fleet)
    line = at.where("needed")
    number, wave = (item.missing, item.launches) if item.missing else (fleet.needed, item.relaunch)
    what = counted(number, "missing instance") if item.missing else f"the {number:,} needed in all"
    evidence = f"{counted(shape.instances_per_request, 'instance').capitalize()} a launch request ({line})"
    if wave.wait_s <= 0:
        return at.not_here(f"{evidence}, and {what} can be launched at once.")
    by_instances = format_duration(wave.instances_alone_s / 60) if wave.instances_alone_s > 0 else "no time"
    if wave.requests_alone_s <= wave.instances_alone_s:
        return at.in_place(
            f"{evidence}: the limit on instances, {by_instances} for {what}, is what binds, and not that on requests."
        )
    planned = _size(item, number, wave.instances_alone_s)
    if planned <= shape.instances_per_request:
        return at.not_here(f"{evidence}: the bucket of instances holds no larger request.")
    changed = fleet.model_copy(update={"launch": shape.model_copy(update={"instances_per_request": planned})})
    after = estimate_fleet(item.name, changed)
    wait = (after.launches if item.missing else after.relaunch).wait_s
    return at.do(
        f"{evidence}: the limit on requests takes {format_duration(wave.requests_alone_s / 60)} for {what}; that on instances "
        f"{by_instances}.",
        bounds=(
            f"Bounds the launch of {what}: {format_duration(wave.wait_s / 60)} in the provider's limits today, "
            f"{format_duration(wait / 60) if wait > 0 else 'no time'} with {planned:,} a request."
        ),
        price=f"A request that is refused costs {counted(planned, 'instance')} at once.",
        apply=(f"# launch with MinCount 1 and MaxCount {planned} in each request of RunInstances",
               "# a scaling group sizes its own requests: this is for launches that the team's automation asks for"),
        undo=(f"# launch {counted(shape.instances_per_request, 'instance')} a request again",),
        edit={f"{target}.launch.instances_per_request": planned},
    )  # fmt: skip


def _size(item: FleetEstimate, number: int, within_s: float) -> int:
    """The fewest instances a request with which the limit on requests takes no longer than that on instances."""
    shape = item.fleet.launch
    kept = shape.throttle_factor * (1 - shape.other_callers_share)
    requests = kept * (shape.buckets_full * shape.request_burst + shape.request_refill_per_s * within_s)
    most = math.floor(kept * shape.instance_burst + 1e-9)
    return min(math.ceil(number / max(1, math.floor(requests + 1e-9))), most)


CHANGE = Change(
    id=ID,
    order=6,
    title="More instances a launch request",
    why="Requests and instances are limited apart: one instance a request wastes what the second limit would allow.",
    exercise="In a test account launch the missing number by requests of this size, and time it against the estimate.",
    reference="provider's page on API throttling, request and resource limits of RunInstances",
    items=_items,
    effort_days=0.5,
    risk="A large request fails as a whole where capacity is short: ask for a minimum of one.",
)
