"""Full jitter in every backoff, so that clients which failed together do not come back together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from afterload.clients import ClientKind, client_kinds
from afterload.estimates import Estimates
from afterload.model.jitter import Backoff, RetryWave, retry_wave
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.plan.changes.standard_retries import AWS_SDKS
from afterload.plan.terraform import locals_block
from afterload.units import format_count, format_duration, format_number

ID = "full-jitter"
SEED = 20_251_020
# Clients followed one by one: of a small fleet several times as many, of a large one as many as this.
FOLLOWED = 20_000
MOST_RETRIES = 10
# A step as long as the base of the backoff would hide how jitter spreads the first retries.
STEPS_IN_BASE = 10


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for kind in client_kinds(estimates.loaded.scenario):
        # Standard mode brings the jitter of an SDK that has one.
        if kind.attempts != 1 and (kind.client.sdk not in AWS_SDKS or kind.client.jitter is not None):
            yield _item(estimates, kind)


def _item(estimates: Estimates, kind: ClientKind) -> PlanItem:
    client, target = kind.client, f"clients.{kind.name}"
    at = Place(ID, estimates, "clients", kind.name, client)
    shown = "sdk" if client.jitter is None else "jitter"
    line = at.where(shown)
    of_sdk = f"{counted(client.number, 'client')} of {client.sdk}"
    clients = f"{of_sdk} {'waits' if client.number == 1 else 'wait'}"
    jitter = client.jitter or (None if kind.backoff is None else kind.backoff.jitter)
    if jitter is None:
        return at.asks(f"How {of_sdk} wait between tries is not known ({line}): give {target}.jitter.")
    if jitter != "none":
        return at.in_place(f"{clients} with {jitter} jitter ({line}).")
    evidence = f"{clients} without jitter ({line})."
    if client.number == 1:
        return at.not_here(f"{evidence} One client alone makes no wave.")
    return at.do(
        evidence,
        bounds=_bounds(kind),
        price="A single retry waits half as long on average, and two retries of one call may follow each other closely.",
        apply=_commands(kind, "FULL"), undo=_commands(kind, "NONE"), terraform=_terraform(kind),
        edit={f"{target}.jitter": "full"},
    )  # fmt: skip


def _waves(kind: ClientKind) -> tuple[RetryWave, RetryWave, float]:
    """Retries of a fleet that failed at one moment, without jitter and with full jitter, and the share of it followed.

    Both over the same span, in steps of a tenth of the base; 1 s and 20 s where base and cap are not known.
    """
    number = kind.client.number
    plain = kind.backoff or Backoff("none", 1.0, 20.0)
    spread = replace(plain, jitter="full", first_at_once=False)
    retries = min(MOST_RETRIES, (kind.attempts or MOST_RETRIES + 1) - 1)
    step_s = plain.base_s / STEPS_IN_BASE
    last_s = max(sum(backoff.longest_s(place + 1) for place in range(retries)) for backoff in (plain, spread))
    followed = number * math.ceil(FOLLOWED / number) if number < FOLLOWED else FOLLOWED
    before, after = (
        retry_wave(
            backoff, followed, retries, np.random.default_rng(SEED), step_s=step_s,
            span_s=step_s * (math.floor(last_s / step_s + 1e-9) + 1),
        )
        for backoff in (plain, spread)
    )  # fmt: skip
    return before, after, number / followed


def _bounds(kind: ClientKind) -> str:
    before, after, scale = _waves(kind)
    within = format_duration(float(before.edges_s[1]) / 60)
    peaks = [format_count(max(1.0, float(wave.sends.max()) * scale)) for wave in (before, after)]
    assumed = "" if kind.backoff else " (at a base of 1 s and a cap of 20 s, which are not known here)"
    return (
        f"Of clients that fail together, {peaks[0]} retry within the same {within}; with full jitter at most {peaks[1]} do. "
        f"Peak over mean goes from {format_number(before.peak_to_mean)} to {format_number(after.peak_to_mean)}{assumed}."
    )


def _commands(kind: ClientKind, strategy: str) -> tuple[str, ...]:
    if kind.client.sdk == "step-functions":
        extra = ', "MaxDelaySeconds": 60' if strategy == "FULL" else " and no MaxDelaySeconds"
        return (
            f'# in every Retry of the definition: "JitterStrategy": "{strategy}"{extra}',
            "aws stepfunctions update-state-machine --state-machine-arn STATE_MACHINE_ARN --definition file://definition.json",
        )
    if strategy == "FULL":
        return ("# before retry n, n from 0: wait random() * min(cap, base * 2**n) seconds",)
    return ("# before retry n, n from 0: wait min(cap, base * 2**n) seconds again",)


def _terraform(kind: ClientKind) -> tuple[str, ...]:
    if kind.client.sdk != "step-functions":
        return ()
    retrier = {
        "ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 1, "MaxAttempts": (kind.attempts or 4) - 1,
        "BackoffRate": 2, "MaxDelaySeconds": 60, "JitterStrategy": "FULL",
    }  # fmt: skip
    return (locals_block({"retry": [retrier]}, "for Retry in each task of the definition"),)


CHANGE = Change(
    id=ID,
    order=1,
    title="Full jitter in every backoff",
    why="Clients that failed together retry together: without jitter each retry comes as a wave.",
    exercise=(
        "Fail the dependency for all clients at the same moment in a test account and count attempts in steps of a tenth "
        "of the base of the backoff: no step should stand out."
    ),
    reference="Builders' Library, timeouts, retries and backoff with jitter; service documentation of the retrier",
    items=_items,
    effort_days=0.5,
    risk="Tests that expect fixed waits fail; the dependency has nothing to lose.",
)
