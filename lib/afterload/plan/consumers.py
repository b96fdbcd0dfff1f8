"""Commands that hold the consumers of a queue, let them drain under a cap, and lift the cap again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from afterload import limits
from afterload.model.caps import cap_rate_per_min
from afterload.model.coupled import cap_rate
from afterload.plan.change import quoted
from afterload.recovery.rates import cap_steps, consumers_rate
from afterload.scenario import Queue
from afterload.units import format_rate

__all__ = ["ConsumerCap", "capped", "held", "lifted"]

_LEAST = limits.whole("lambda.sqs.max_concurrency.minimum")
_MOST = limits.whole("lambda.sqs.max_concurrency.maximum")
_EACH = limits.whole("lambda.sqs.poller.concurrency")
_POLLERS = limits.whole("lambda.sqs.pollers.minimum")


@dataclass(frozen=True)
class ConsumerCap:
    """What the consumers of one queue may do in a step. Rates in items a minute.

    Attributes:
        rate_per_min: what they do then, as the simulation has it.
        concurrency: items in work at once that are set; None where that is not known or the limits from before stay.
        set_per_min: what these items at once would make, which is more than the consumers do where the cap holds none back.
        is_as_before: True where the limits from before hold: after the last lift, and where the room takes all that the consumers
            do but no cap that can be set lies between the two.
    """

    rate_per_min: float
    concurrency: int | None
    set_per_min: float | None = field(default=None, compare=False)
    is_as_before: bool = False

    @classmethod
    def of(cls, queue: Queue, room_per_min: float, lift: float = 0.0) -> ConsumerCap:
        """The cap of a queue for so much room, or at a share ``lift`` of the way back: what can be set, and what that makes."""
        own, steps = consumers_rate(queue), cap_steps(queue)
        if lift >= 1:
            return cls(own, None, is_as_before=True)
        rate = cap_rate(min(room_per_min, own), own, steps, lift)
        if steps is None or queue.item_time_s is None:
            return cls(rate, None)
        at_once = round(steps.each_per_min / cap_rate_per_min(1.0, queue.item_time_s))
        if rate <= 0:
            return cls(0.0, math.floor(min(room_per_min, own) / steps.each_per_min * at_once + 1e-9))
        number = math.ceil(rate / steps.each_per_min - 1e-9)
        made = number * steps.each_per_min
        fits = lift > 0 or made <= room_per_min * (1 + 1e-9)
        fits = fits and steps.least <= number <= steps.highest
        if not fits:
            return cls(rate, None, is_as_before=True)
        return cls(rate, number * at_once, made)

    def same_as(self, other: ConsumerCap) -> bool:
        """True if the same items at once are let through, or where those are not known the same rate."""
        if self.concurrency is None or other.concurrency is None:
            return abs(self.rate_per_min - other.rate_per_min) <= 1e-9 * max(1.0, self.rate_per_min)
        return self.concurrency == other.concurrency

    @property
    def words(self) -> str:
        """ "2,400/min, 80 at once": for people, the rate being that of the items at once."""
        if self.is_as_before:
            return f"{format_rate(self.rate_per_min)} with limits as before"
        if self.concurrency is None:
            return format_rate(self.rate_per_min)
        if self.rate_per_min <= 0:
            return "nothing"
        if self.set_per_min is not None and self.set_per_min > self.rate_per_min * (1 + 1e-9):
            return f"{self.concurrency:,} at once, more than the {format_rate(self.rate_per_min)} that its consumers do"
        return f"{format_rate(self.rate_per_min)}, {self.concurrency:,} at once"


def _mapping(queue: Queue) -> str:
    uuid = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
    return f"aws lambda update-event-source-mapping --uuid {uuid}"


def _function(queue: Queue) -> str:
    return quoted(queue.resources.function, "FUNCTION_NAME")


def held(queue: Queue, floor: ConsumerCap) -> tuple[str, ...]:
    """Commands that put consumers at their floor; they are stopped where it is zero or no command can hold them at it."""
    if floor.rate_per_min <= 0 and not floor.concurrency:
        return tuple(_stopped(queue))
    commands = capped(queue, floor)
    is_managed = queue.service in ("sqs-lambda", "lambda-async")
    if is_managed and (floor.concurrency is None or not any(line.startswith("aws ") for line in commands)):
        return (*(line for line in commands if line.startswith("#")), *_stopped(queue))
    return commands


def _stopped(queue: Queue) -> Iterator[str]:
    if queue.service in ("sqs-lambda", "stream-lambda"):
        yield f"{_mapping(queue)} --no-enabled"
    elif queue.service == "lambda-async":
        yield "# this also stops synchronous calls of the function, and events go on ageing"
        yield f"aws lambda put-function-concurrency --function-name {_function(queue)} --reserved-concurrent-executions 0"
    else:
        yield "# stop the consumer's workers; leave the queue itself open to producers"


def capped(queue: Queue, cap: ConsumerCap) -> tuple[str, ...]:
    """Commands that let consumers work under a cap, and start them if they were stopped."""
    return tuple(_capped(queue, cap))


def _capped(queue: Queue, cap: ConsumerCap) -> Iterator[str]:
    at_once = cap.concurrency
    if cap.is_as_before:
        yield from lifted(queue)
        return
    if queue.service == "stream-lambda":
        yield f"# a stream mapping takes no maximum concurrency: hold it to {format_rate(cap.rate_per_min)} in the handler"
        yield f"{_mapping(queue)} --enabled"
    elif at_once is None:
        yield f"# item_time is not known, so the concurrency that makes {format_rate(cap.rate_per_min)} is not either"
        if queue.service == "sqs-lambda":
            yield f"{_mapping(queue)} --enabled"
    elif queue.service == "sqs-lambda" and queue.provisioned_pollers is not None:
        most = at_once // _EACH
        if most < _POLLERS:
            yield f"# {at_once:,} at once is below what {_POLLERS} pollers do, the least that the service takes"
            return
        least = min(queue.provisioned_pollers.minimum, most)
        yield f"{_mapping(queue)} --enabled --provisioned-poller-config MinimumPollers={least},MaximumPollers={most}"
    elif queue.service == "sqs-lambda":
        if at_once < _LEAST:
            yield f"# {at_once:,} at once is below {_LEAST}, the least that the service takes: leave it stopped"
            return
        yield f"{_mapping(queue)} --enabled --scaling-config MaximumConcurrency={min(at_once, _MOST)}"
    elif queue.service == "lambda-async":
        yield "# this also limits synchronous calls of the function"
        name = f"--function-name {_function(queue)}"
        yield f"aws lambda put-function-concurrency {name} --reserved-concurrent-executions {at_once}"
    else:
        yield f"# limit the consumer's worker pool to {at_once:,} items at once"


def lifted(queue: Queue) -> tuple[str, ...]:
    """Commands that put back the limits from before the recovery, and start consumers that no cap before it could start."""
    if queue.service == "sqs-lambda" and queue.provisioned_pollers is not None:
        now = queue.provisioned_pollers
        sizes = f"MinimumPollers={now.minimum},MaximumPollers={now.maximum}"
        return (f"{_mapping(queue)} --enabled --provisioned-poller-config {sizes}",)
    if queue.service == "sqs-lambda":
        earlier = f"MaximumConcurrency={queue.drain_cap.concurrency}" if queue.drain_cap else "'{}'"
        return (f"{_mapping(queue)} --enabled --scaling-config {earlier}",)
    if queue.service == "lambda-async":
        name = f"--function-name {_function(queue)}"
        if queue.concurrency_limit is None:
            return (f"aws lambda delete-function-concurrency {name}",)
        put = f"aws lambda put-function-concurrency {name}"
        return (f"{put} --reserved-concurrent-executions {queue.concurrency_limit}",)
    if queue.service == "stream-lambda":
        return ("# take the limit out of the handler",)
    if queue.concurrency_limit is not None:
        return (f"# set the consumer's worker pool to {queue.concurrency_limit:,} items at once again",)
    return ("# take the limit out of the consumer's worker pool",)
