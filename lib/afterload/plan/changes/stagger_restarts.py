"""Restarts in steps: a process that starts has a full retry quota."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.clients import ClientKind, client_kinds
from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem, counted, per_min_text
from afterload.recovery.rates import room_at
from afterload.units import format_count, format_rate

ID = "stagger-restarts"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for kind in client_kinds(estimates.loaded.scenario):
        view = kind.view(1.0)
        # Without a reserve there is nothing that a restart renews.
        if view is not None and view.burst_retries and view.successes_to_refill:
            yield _item(estimates, kind, view.burst_retries)


def _item(estimates: Estimates, kind: ClientKind, held: float) -> PlanItem:
    loaded, client, target = estimates.loaded, kind.client, f"clients.{kind.name}"
    at = Place(ID, estimates, "clients", kind.name, client)
    each = held / client.number
    line = at.where("number")
    evidence = (
        f"{counted(client.number, 'client')} of {client.sdk} that start anew hold {counted(held, 'retry')}, "
        f"{counted(each, 'retry')} each ({line})."
    )
    if client.dependency not in loaded.scenario.dependencies:
        return at.asks(f"{evidence} Whether they fit needs {target}.dependency.")
    room = room_at(loaded.scenario, client.dependency).free_per_min
    if room <= 0:
        return at.asks(f"{evidence} Traffic at rest leaves no room at {client.dependency}: test it to a higher rate.")
    fits = f"There is room for {format_rate(room)} at {client.dependency}"
    if held <= room:
        return at.not_here(f"{evidence} {fits}: even all of them at once fit into one minute.")
    safe = room / each
    given = client.restarts_per_min
    if given is not None and given <= safe * (1 + 1e-9):
        return at.in_place(f"{evidence} {fits}, and at most {counted(given, 'client')} a minute start.")
    pace = _pace(safe)
    now = "at once" if given is None else f"at {counted(given, 'client')} a minute"
    return at.do(
        f"{evidence} {fits}.",
        bounds=(
            f"Bounds the retries that a restart in an outage adds: {counted(held, 'retry')} {now}, where {format_rate(room)} "
            f"fit; with it {format_rate(pace * each)}."
        ),
        price=f"A restart of the whole fleet takes {format_count(client.number / pace)} min.",
        apply=(f"# while the dependency fails, restart {_words(pace)} and hold deployments",),
        undo=("# restart at the usual pace again once the dependency is back",),
        edit={f"{target}.restarts": per_min_text(pace)},
    )  # fmt: skip


def _pace(safe_per_min: float) -> float:
    """A rate that people can keep: whole clients a minute, or one every so many whole minutes."""
    if safe_per_min >= 1:
        return float(int(safe_per_min + 1e-9))
    return 1 / math.ceil(1 / safe_per_min - 1e-9)


def _words(pace: float) -> str:
    if pace >= 1:
        return f"at most {counted(pace, 'client')} a minute"
    return f"1 client every {format_count(1 / pace)} min"


CHANGE = Change(
    id=ID,
    order=1,
    title="Restarts in steps while a dependency fails",
    why="A process that starts has a full retry quota: restarting a fleet renews the burst that the outage had used up.",
    exercise=(
        "In a test account fail the dependency until retry quotas are empty, restart the fleet at this pace, and see "
        "attempts stay within what the dependency was tested to bear."
    ),
    reference="SDK reference guide, retry behaviour",
    items=_items,
    effort_days=0.5,
    risk="A fault that only a restart mends lasts longer: the pace is for restarts that can wait.",
)
