"""A bounded queue with a pool of workers: the bound limits what waits, the pool what is in flight."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.model.pool import PoolRun, paced, run_pool
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.scenario.retry_schema import WorkerPool
from afterload.units import format_count, format_duration

ID = "bounded-pool"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for name, pool in estimates.loaded.scenario.worker_pools.items():
        yield _item(estimates, name, pool)


def _item(estimates: Estimates, name: str, pool: WorkerPool) -> PlanItem:
    target = f"worker_pools.{name}"
    at = Place(ID, estimates, "worker_pools", name, pool)
    line = at.where("burst")
    run = _run(pool)
    burst = f"A burst of {counted(pool.burst, 'request')}"
    today = f"{burst} has {format_count(run.peak_in_flight)} in flight at once, and {_rejected(run)} ({line})."
    if pool.workers is not None and pool.queue is not None:
        return at.in_place(
            f"{today} Its queue is bounded at {pool.queue:,} and its pool at {counted(pool.workers, 'worker')}."
        )
    if pool.workers is None and pool.queue is None:
        if run.peak_in_flight <= 1:
            return at.not_here(f"{today} Nothing is ever worked on side by side.")
        return at.asks(
            f"{today} Neither a bound nor a pool is given: give {target}.workers, as many as what they call bears at once."
        )
    if pool.workers is None:
        planned = _fewest(pool, pool.burst)
        changed = pool.model_copy(update={"workers": planned})
        after = _run(changed)
        return at.do(
            today,
            bounds=(
                f"Bounds what is in flight from {format_count(run.peak_in_flight)} to {format_count(after.peak_in_flight)}: "
                f"{counted(planned, 'worker')} {'is' if planned == 1 else 'are'} the fewest with which a queue of "
                f"{pool.queue or 0:,} rejects nothing of this burst."
            ),
            price=_wait(after),
            apply=(f"# serve requests from a pool of {counted(planned, 'worker')} behind the queue",),
            undo=("# serve each request as it comes again",),
            edit={f"{target}.workers": planned},
        )  # fmt: skip
    bound = max(1, run.peak_waiting)
    return at.do(
        f"{today} Any number may wait.",
        bounds=(
            f"Bounds what waits at {counted(bound, 'request')}, as many as this burst has waiting, so that a larger one is "
            f"refused at once and not after {format_duration(max(0.0, run.longest_wait_s) / 60)} in the queue."
        ),
        price="A burst larger than this one is refused in part: callers need an answer that says when to come again.",
        apply=(f"# bound the queue before the pool at {counted(bound, 'request')}, and refuse what does not fit",),
        undo=("# take the bound off the queue",),
        edit={f"{target}.queue": bound},
    )  # fmt: skip


def _run(pool: WorkerPool) -> PoolRun:
    arrivals = paced(pool.burst, over_s=pool.burst_over_s)
    return run_pool(arrivals, pool.item_time_s, queue=pool.queue, workers=pool.workers)


def _fewest(pool: WorkerPool, most: int) -> int:
    """The fewest workers with which nothing of the burst is rejected; more workers never reject more."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if _run(pool.model_copy(update={"workers": middle})).rejected:
            low = middle + 1
        else:
            high = middle
    return low


def _rejected(run: PoolRun) -> str:
    if not run.rejected:
        return "nothing is rejected"
    return f"{format_count(run.rejected)} {'is' if run.rejected == 1 else 'are'} rejected"


def _wait(run: PoolRun) -> str:
    if run.longest_wait_s <= 0:
        return "Nothing of this burst waits."
    return f"The last of this burst waits {format_duration(run.longest_wait_s / 60)}."


CHANGE = Change(
    id=ID,
    order=3,
    title="A bounded queue with a pool of workers",
    why="A bound on a queue does not bound concurrency: while it empties quickly everything is in flight at once.",
    exercise="Send this burst to the application in a test account and count requests in flight and refused.",
    reference="Builders' Library, using load shedding to avoid overload",
    items=_items,
    effort_days=2,
    risk="Too few workers refuse work that the dependency would bear: size the pool by a load test.",
)
