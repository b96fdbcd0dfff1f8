"""A budget for the retries of clients that nothing holds back: a token bucket in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.clients import ClientKind, client_kinds
from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.plan.changes.standard_retries import AWS_SDKS
from afterload.scenario.retry_schema import RetryLimit
from afterload.units import format_number

ID = "retry-budget"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for kind in client_kinds(estimates.loaded.scenario):
        # Standard mode brings the quota of an SDK that has one.
        has_budget = kind.limit is not None
        if kind.attempts != 1 and (has_budget or kind.client.sdk not in AWS_SDKS):
            yield _item(estimates, kind)


def _item(estimates: Estimates, kind: ClientKind) -> PlanItem:
    client, target = kind.client, f"clients.{kind.name}"
    at = Place(ID, estimates, "clients", kind.name, client)
    clients = f"{counted(client.number, 'client')} of {client.sdk}"
    if client.retry_limit is not None:
        line = at.where("retry_limit")
        held = f"{clients}: {client.retry_limit.kind} holds retries back{_held(kind)} ({line})."
        return at.in_place(held)
    line = at.where("sdk")
    if kind.policy is None:
        return at.asks(f"How often {clients} try a call is not known ({line}): give {target}.max_attempts.")
    tries = f"up to {kind.attempts:,} attempts a call" if kind.attempts else "retries until a deadline"
    budget = "grpc-throttling" if client.sdk == "grpc" else "token-bucket"
    edit: dict[str, Any] = {f"{target}.retry_limit": budget}
    if kind.attempts:
        # The bucket bounds what the fleet sends; how often one call may be tried stays as it is.
        edit[f"{target}.max_attempts"] = kind.attempts
    changed = client.model_copy(
        update={"retry_limit": RetryLimit.model_validate(budget), "max_attempts": kind.attempts}
    )
    planned = ClientKind(kind.name, changed, kind.preset, kind.failing)
    apply, undo = _commands(planned)
    return at.do(
        f"{clients}: {tries}, and nothing bounds retries over many calls ({line}).",
        bounds=_bounds(kind, planned),
        price="Once a bucket is empty, calls that a retry would have saved fail at once.",
        apply=apply, undo=undo, edit=edit,
    )  # fmt: skip


def _held(kind: ClientKind) -> str:
    view = kind.view(1.0)
    if view is None or view.burst_retries is None:
        return ""
    return f", {counted(view.burst_retries, 'retry')} in a burst of all"


def _bounds(kind: ClientKind, planned: ClientKind) -> str:
    today, view = kind.view(1.0), planned.view(1.0)
    if today is None or today.open_loop is None or view is None or view.burst_retries is None:
        return ""
    then = _attempts(view.sustained or 1.0)
    return (
        f"Bounds the retries of {counted(kind.client.number, 'client')} while every call fails: "
        f"{counted(view.burst_retries, 'retry')} until the buckets are "
        f"empty, then {then} a call. Today it is {_attempts(today.open_loop)} a call without end."
    )


def _attempts(number: float) -> str:
    return "1 attempt" if abs(number - 1) < 5e-3 else f"{format_number(number)} attempts"


def _commands(kind: ClientKind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    limit = kind.limit
    if limit is None:
        return (), ()
    tokens, ratio = format_number(limit.max_tokens or 0.0), format_number(limit.token_ratio or 0.0)
    if limit.kind == "grpc-throttling":
        return (
            (f'# in the service config: "retryThrottling": {{"maxTokens": {tokens}, "tokenRatio": {ratio}}}',),
            ("# take retryThrottling out of the service config",),
        )
    return (
        (f"# in each client: a bucket of {tokens} tokens; a retry takes 1, a call that succeeds gives back {ratio}",
         "# no token left: return the error without a retry"),
        ("# take the bucket out of the client",),
    )  # fmt: skip


CHANGE = Change(
    id=ID,
    order=1,
    title="A retry budget in clients that have none",
    why="A count of attempts bounds one call; only a budget bounds what all calls of an outage send.",
    exercise=(
        "Fail the dependency in a test account and see the retries of each client stop when its bucket is empty, and come "
        "back with its successes."
    ),
    reference="Builders' Library, timeouts, retries and backoff with jitter; gRPC proposal A6",
    items=_items,
    effort_days=2,
    risk="A bucket that is too small refuses retries that a short fault would need: size it by the usual error rate.",
)
