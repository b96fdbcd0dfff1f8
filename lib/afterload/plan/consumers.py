"""Commands that hold the consumers of a queue, let them drain under a cap, and lift the cap again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from afterload import limits
from afterload.model.backlog import cap_rate_per_min
from afterload.plan.change import quoted
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
        rate_per_min: the rate that the step gives them.
        concurrency: items in work at once that make at most this rate; None where the scenario has no ``item_time``.
    """

    rate_per_min: float
    concurrency: int | None

    @classmethod
    def of(cls, queue: Queue, rate_per_min: float) -> ConsumerCap:
        """The cap of a queue for a rate: the highest concurrency that passes neither it nor the queue's own limit."""
        if queue.item_time_s is None:
            return cls(rate_per_min, None)
        each = cap_rate_per_min(1.0, queue.item_time_s)
        if queue.concurrency_limit is not None:
            rate_per_min = min(rate_per_min, each * queue.concurrency_limit)
        return cls(rate_per_min, math.floor(rate_per_min / each + 1e-9))

    def same_as(self, other: ConsumerCap) -> bool:
        """True if the same items at once are let through, or where those are not known the same rate."""
        if self.concurrency is None or other.concurrency is None:
            return abs(self.rate_per_min - other.rate_per_min) <= 1e-9 * max(1.0, self.rate_per_min)
        return self.concurrency == other.concurrency

    @property
    def words(self) -> str:
        """ "2,400 items/min, 80 at once": for people."""
        at_once = "" if self.concurrency is None else f", {self.concurrency:,} at once"
        return f"{format_rate(self.rate_per_min)}{at_once}"


def _mapping(queue: Queue) -> str:
    uuid = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
    return f"aws lambda update-event-source-mapping --uuid {uuid}"


def _function(queue: Queue) -> str:
    return quoted(queue.resources.function, "FUNCTION_NAME")


def held(queue: Queue, floor: ConsumerCap) -> tuple[str, ...]:
    """Commands that put consumers at their floor; they are stopped where it is zero or no command can hold them at it."""
    if floor.rate_per_min <= 0:
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
