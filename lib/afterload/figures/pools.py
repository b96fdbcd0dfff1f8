"""The retries chapter, worker pools: what a bounded queue holds back, and what only a pool of workers does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from afterload.figures.charts import LINE_LEGEND, alt, chart_of, coloured, drawn, finish, points_each, thin, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.model.pool import PoolRun, paced, run_pool
from afterload.plan.change import counted
from afterload.scenario import LoadedScenario
from afterload.scenario.retry_schema import WorkerPool
from afterload.units import format_count, format_duration

__all__ = ["PoolCase", "pool_cases", "pools_answer", "pools_figure"]

NO_POOLS = "This scenario names no worker pools, so no burst is followed through a queue and its workers."
MOST_POOLS = 8
RULE = "The bound of a queue limits what waits. Only the number of workers limits what is in flight."


@dataclass(frozen=True)
class PoolCase:
    """One burst through one pool."""

    name: str
    pool: WorkerPool
    run: PoolRun

    @property
    def longest_wait_s(self) -> float:
        """Longest wait of an accepted request in seconds."""
        return max(0.0, self.run.longest_wait_s)


def pool_cases(loaded: LoadedScenario) -> tuple[PoolCase, ...]:
    """Every pool of a scenario with its burst followed request by request."""
    return tuple(
        PoolCase(
            name,
            pool,
            run_pool(
                paced(pool.burst, over_s=pool.burst_over_s), pool.item_time_s, queue=pool.queue, workers=pool.workers
            ),
        )
        for name, pool in loaded.scenario.worker_pools.items()
    )


def pools_answer(cases: Sequence[PoolCase]) -> Prose:
    """Each pool in words."""
    return sentence_list([*(_sentence(case) for case in cases), RULE]) if cases else paragraph(NO_POOLS)


def _sentence(case: PoolCase) -> str:
    pool, run = case.pool, case.run
    within = f" within {format_duration(pool.burst_over_s / 60)}" if pool.burst_over_s > 0 else " in one instant"
    burst = f"{case.name}: of {counted(pool.burst, 'request')}{within}"
    refused = (
        f"{format_count(run.rejected)} {'is' if run.rejected == 1 else 'are'} rejected"
        if run.rejected
        else "none is rejected"
    )
    flight = f"at most {format_count(run.peak_in_flight)} {'is' if run.peak_in_flight == 1 else 'are'} in flight"
    if pool.workers is None and pool.queue is None:
        return f"{burst} {refused} and {flight}: there is neither a bound on its queue nor a pool of workers."
    if pool.workers is None:
        return (
            f"{burst} {refused} and {flight}: each is served as it comes, so its queue of {format_count(pool.queue or 0)} "
            "stays empty and bounds nothing. A bounded queue alone does not bound concurrency."
        )
    workers = counted(pool.workers, "worker")
    if run.peak_waiting == 0:
        return f"{burst} {refused}; {flight} with {workers}, and none waits."
    wait = f"the longest wait is {format_duration(case.longest_wait_s / 60)}"
    if pool.queue is None:
        return f"{burst} {refused}, as its queue has no bound; {flight} with {workers}, and {wait}."
    peak = counted(run.peak_waiting, "request")
    return f"{burst} {refused}; {flight} with {workers}, {peak} at most in its queue of {format_count(pool.queue)}, and {wait}."


def pools_figure(loaded: LoadedScenario, cases: Sequence[PoolCase]) -> Figure | Prose:
    """Requests in flight and waiting over time, and what became of them."""
    if not cases:
        return paragraph(NO_POOLS)
    shown, notes = drawn(cases, lambda case: float(case.run.peak_in_flight), most=MOST_POOLS)
    values: list[dict[str, Any]] = []
    for case in shown:
        run = case.run
        served = run.is_accepted
        times = np.unique(np.concatenate(([0.0], run.arrivals_s, run.starts_s[served], run.finishes_s[served])))
        flight, waiting = run.in_flight_at(times).astype(float), run.waiting_at(times).astype(float)
        kept = thin(times, flight, waiting, limit=points_each(2 * len(shown)))
        for what, curve in (("in flight", flight), ("waiting", waiting)):
            values += [
                {
                    "pool": case.name,
                    "what": what,
                    "seconds": round(float(times[place]), 6),
                    "requests": int(curve[place]),
                }
                for place in kept
            ]
    lines = (
        chart_of(values)
        .mark_line(interpolate="step-after", strokeWidth=2, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("seconds", type="quantitative", title="seconds after the first request", axis=alt.Axis(format=",~f")),
            y=alt.Y("requests", type="quantitative", title="requests", axis=alt.Axis(format=",~f")),
            color=coloured("pool", legend=LINE_LEGEND),
            strokeDash=alt.StrokeDash(
                "what", type="nominal", title=None, legend=LINE_LEGEND,
                scale=alt.Scale(domain=["in flight", "waiting"], range=[[1, 0], [5, 4]]),
            ),
            tooltip=[tip("pool"), tip("what"), tip("seconds", ",.3~f"), tip("requests", ",d")],
        )
    )  # fmt: skip
    records = [_record(case) for case in cases]
    given = sorted({case.pool.source for case in cases if case.pool.source})
    return Figure(
        title="A burst through a bounded queue and a pool of workers",
        chart=finish(lines),
        table=Table.of(records, {name: str if name in TEXTS else format_count for name in records[0]}),
        source=f"{loaded.name} ({'; '.join(given)})" if given else loaded.name,
        method=(
            "Each request in turn, first in, first out: one that comes when all workers are busy waits if the queue has "
            "room, and is rejected if not. Without a pool each is served as it comes."
        ),
        notes=notes,
        alt="Lines of requests in flight and waiting. "
        + " ".join(
            f"{case.name}: at most {format_count(case.run.peak_in_flight)} in flight, {format_count(case.run.rejected)} rejected."
            for case in cases
        ),
    )


TEXTS = ("pool", "queue", "workers", "longest wait", "all done after")


def _record(case: PoolCase) -> dict[str, Any]:
    pool, run = case.pool, case.run
    return {
        "pool": case.name,
        "queue": "no bound" if pool.queue is None else format_count(pool.queue),
        "workers": "no pool" if pool.workers is None else format_count(pool.workers),
        "requests": pool.burst,
        "accepted": run.accepted,
        "rejected": run.rejected,
        "most in flight": run.peak_in_flight,
        "most waiting": run.peak_waiting,
        "longest wait": format_duration(case.longest_wait_s / 60) if case.longest_wait_s > 0 else "none waits",
        "all done after": format_duration(run.finish_s / 60),
    }
