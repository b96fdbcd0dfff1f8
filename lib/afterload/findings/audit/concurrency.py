"""Sums of concurrency: what a mapping can reach, what its function and account allow, what a lower cap leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from afterload import limits
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.links import tail
from afterload.findings.audit.steps import Steps, choose, comments, update_mapping
from afterload.findings.phrases import quoted
from afterload.model.caps import cap_rate_per_min
from afterload.units import format_count, format_number, format_rate

__all__ = [
    "Reach",
    "cap_steps",
    "drain_words",
    "function_key",
    "joined",
    "poller_steps",
    "quota",
    "rate_words",
    "reach",
    "shares",
]


@dataclass(frozen=True)
class Reach:
    """Invocations that a mapping can have at once.

    Attributes:
        concurrency: the most of its own: its cap, its pollers, or what the service ramps up to.
        is_capped: whether a setting of the team says so.
        words: what says so.
        where: place of that setting.
    """

    concurrency: int
    is_capped: bool
    words: str
    where: str


def reach(facts: Facts, backlog: Backlog) -> Reach | None:
    """What an SQS mapping can reach by itself; None where neither an export nor the scenario says.

    A FIFO queue without a cap is bounded by its message groups, which no export shows: None too.
    """
    pollers = facts.setting(backlog.mapping, "provisioned_maximum")
    cap = facts.setting(backlog.mapping, "maximum_concurrency")
    if pollers is not None and pollers.number:
        each = limits.whole("lambda.sqs.poller.concurrency")
        words = f"{format_count(pollers.number)} provisioned pollers of {each} invocations each"
        return Reach(round(pollers.number) * each, True, words, pollers.where)
    if cap is not None and cap.number:
        return Reach(round(cap.number), True, f"MaximumConcurrency is {format_count(cap.number)}", cap.where)
    if backlog.is_fifo:
        return None
    if cap is None:
        if backlog.mapping is not None or backlog.stated is None:
            return None
        given = backlog.stated.queue.drain_cap
        line = facts.stated("queues", backlog.name, "drain_cap")
        if given is not None:
            return Reach(given.concurrency, True, f"the drain cap is {given.concurrency:,}", line)
        return Reach(limits.whole("lambda.sqs.ramp.ceiling"), False, "no drain cap is written", line)
    return Reach(limits.whole("lambda.sqs.ramp.ceiling"), False, "MaximumConcurrency is not set", cap.where)


def rate_words(concurrency: int, item_time_s: float) -> str:
    """The rate of a concurrency, with its arithmetic: ``80 at once x 60 / 2 s = 2,400/min``."""
    rate = format_rate(cap_rate_per_min(concurrency, item_time_s))
    return f"{concurrency:,} at once x 60 / {format_number(item_time_s)} s = {rate}"


def drain_words(rate: float, fit: float, room: str) -> str:
    """What consumers drain against what fits: both with the difference, or that it is within that."""
    if rate <= fit * (1 + 1e-9):
        return f"Consumers drain at {format_rate(rate)}, which fits: {room}."
    return f"Consumers drain at {format_rate(rate)}. {room}: {format_rate(rate - fit)} too many."


def quota(facts: Facts, function: str) -> str:
    """What the account and its reservations leave a function, so that advice on concurrency adds up."""
    account, source = facts.account_concurrency
    words = f"Quota: the account has {account:,} concurrent executions ({source})"
    total = sum(facts.reserved.values())
    if facts.reserved:
        parts = ", ".join(f"{name} {value:,}" for name, value in sorted(facts.reserved.items()))
        words += f"; exported functions reserve {total:,} of them ({parts}), which leaves {max(0, account - total):,}"
    else:
        words += "; no exported function reserves any of them"
    if function in facts.reserved:
        return f"{words}. A cap here uses the {facts.reserved[function]:,} reserved for {function} and takes nothing from others."
    return f"{words}. A cap reserves nothing: {function or 'the function'} shares what is left with all that reserves none."


def cap_steps(facts: Facts, backlog: Backlog, cap: int | None) -> Steps:
    """How to give a mapping a cap; None for a cap that cannot be computed."""
    seen = facts.setting(backlog.mapping, "maximum_concurrency")
    before = None if seen is None or not seen.number else round(seen.number)
    if seen is None and backlog.stated is not None and backlog.stated.queue.drain_cap is not None:
        before = backlog.stated.queue.drain_cap.concurrency
    wanted = "CAP" if cap is None else str(cap)
    undo = f"--scaling-config MaximumConcurrency={before}" if before else "--scaling-config '{}'"
    block = "scaling_config {{ maximum_concurrency = {} }}"
    return choose(
        (seen.origin if seen else None) or facts.origin(backlog.mapping),
        (update_mapping(backlog.uuid, f"--scaling-config MaximumConcurrency={wanted}"),),
        (update_mapping(backlog.uuid, undo),),
        (block.format("var.cap" if cap is None else cap),),
        (block.format(before),) if before else comments("take the block scaling_config out again"),
    )


def poller_steps(facts: Facts, backlog: Backlog, cap: int, *, has_cap: bool = False) -> Steps:
    """How to hold a mapping in provisioned mode to a cap: fewer pollers, or another mode where the cap is below the least.

    ``has_cap``: the mapping has a MaximumConcurrency too, which goes in favour of the pollers.
    """
    each, least = limits.whole("lambda.sqs.poller.concurrency"), 2
    low, high = (facts.setting(backlog.mapping, f"provisioned_{end}") for end in ("minimum", "maximum"))
    now = tuple(round(end.number) if end is not None and end.number else least for end in (low, high))
    option = "--provisioned-poller-config MinimumPollers={},MaximumPollers={}"
    block = "provisioned_poller_config {{\n  minimum_pollers = {}\n  maximum_pollers = {}\n}}"
    origin = high.origin if high else None
    most = cap // each
    if most < least:
        return choose(
            origin,
            (
                update_mapping(
                    backlog.uuid, f"--provisioned-poller-config '{{}}' --scaling-config MaximumConcurrency={cap}"
                ),
            ),
            (update_mapping(backlog.uuid, f"--scaling-config '{{}}' {option.format(*now)}"),),
            (
                *comments("take the block provisioned_poller_config out"),
                f"scaling_config {{ maximum_concurrency = {cap} }}",
            ),
            (*comments("take the block scaling_config out"), *block.format(*now).splitlines()),
        )
    planned = (min(now[0], most), most)
    without = "--scaling-config '{}' " if has_cap else ""
    return choose(
        origin,
        (update_mapping(backlog.uuid, without + option.format(*planned)),),
        (update_mapping(backlog.uuid, option.format(*now)),),
        (*(comments("take the block scaling_config out") if has_cap else ()), *block.format(*planned).splitlines()),
        block.format(*now).splitlines(),
    )


def joined(steps: Sequence[Steps]) -> Steps | None:
    """The steps of several resources as one block; None where they are set in different places, or there are none."""
    if len({step.language for step in steps}) != 1:
        return None
    return Steps(
        tuple(line for step in steps for line in step.apply),
        tuple(line for step in steps for line in step.undo),
        steps[0].language,
    )


def shares(total: int, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """A total shared out in proportion, each part at least what the service takes; None where it is too small for that."""
    least = limits.whole("lambda.sqs.max_concurrency.minimum")
    most = limits.whole("lambda.sqs.max_concurrency.maximum")
    if total < least * len(wanted):
        return None
    rest, count = total, sum(wanted)
    # The smallest first, so that what they need at least is taken from the larger ones.
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    found = [0] * len(wanted)
    for place in order:
        part = min(most, max(least, rest * wanted[place] // count))
        found[place] = part
        rest, count = rest - part, count - wanted[place]
    return tuple(found)


def function_key(backlog: Backlog) -> str:
    """A function's name for a command."""
    return quoted(tail(backlog.function_name) or None, "FUNCTION_NAME")
