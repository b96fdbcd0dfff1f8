"""Parts of a scenario about control loops, removals while launches fail, flapping targets and provisioned pollers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from afterload import limits
from afterload.errors import UnitError
from afterload.scenario.fields import (
    Count,
    MaybeCount,
    MaybeLabel,
    MaybeRate,
    MaybeRatePerSecond,
    MaybeSeconds,
    MaybeShare,
    RatePerSecond,
    Seconds,
    Section,
    Share,
    if_given,
    none_is_none,
)

__all__ = ["ControlLoop", "Pollers", "Removal", "TargetGroup"]

# More than this no scaling group holds, and the simulations stay short.
MOST_TARGETS = 2_000
MOST_ZONES = 6
_POLLERS = limits.whole("lambda.sqs.pollers.minimum")
_COUNTS = tuple(limits.whole(f"elb.health_check.count.{end}") for end in ("minimum", "maximum"))
_INTERVALS = tuple(limits.value(f"elb.health_check.interval_s.{end}") for end in ("minimum", "maximum"))


class ControlLoop(Section):
    """Renewals of leases, heartbeats and the like: callers that give up after a time-out and send again."""

    load_per_s: Annotated[RatePerSecond, Field(description="Requests a second at rest, such as renewals.")]
    capacity_per_s: Annotated[RatePerSecond, Field(gt=0, description="Requests a second that it can serve.")]
    timeout_s: Annotated[Seconds, Field(gt=0, description="Time after which a caller gives up a send.")]
    retries: Annotated[
        MaybeCount, if_given(le=1000), Field(description="Further sends of a request that fails; none: without end.")
    ] = None
    queue_cap: Annotated[
        MaybeCount, if_given(ge=1), Field(description="Most requests that wait at once; none: no bound.")
    ] = None
    order: Annotated[Literal["fifo", "lifo"], Field(description="Order in which what waits is served.")] = "fifo"
    discards_expired: Annotated[
        bool, Field(strict=True, description="True if a request whose caller has left is dropped, not served.")
    ] = False
    waiting_at_restore: Annotated[
        Count, Field(le=10_000_000, description="Callers that all send at the restore, such as leases that ran out.")
    ] = 0
    cleared_after_s: Annotated[
        MaybeSeconds,
        Field(description="When the queue is emptied once; twelve time-outs after the restore if not given."),
    ] = None
    dependency: Annotated[
        MaybeLabel,
        Field(description="Name of the dependency that answers them: what waits at the restore loads it then."),
    ] = None
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None


class Pollers(Section):
    """Provisioned mode of an SQS event source mapping: pollers with a fixed concurrency each."""

    minimum: Annotated[
        Count,
        Field(
            ge=_POLLERS, le=limits.whole("lambda.sqs.pollers.minimum.highest"), description="Pollers that always run."
        ),
    ] = _POLLERS
    maximum: Annotated[
        Count,
        Field(ge=_POLLERS, le=limits.whole("lambda.sqs.pollers.maximum"), description="Pollers that can run at most."),
    ] = limits.whole("lambda.sqs.pollers.maximum.default")

    @model_validator(mode="after")
    def _in_order(self) -> Pollers:
        if self.maximum < self.minimum:
            raise UnitError(
                f"maximum {self.maximum} is below minimum {self.minimum}", "a maximum at or above the minimum"
            )
        return self

    @property
    def concurrency(self) -> int:
        """Items in work at once, at most."""
        return self.maximum * limits.whole("lambda.sqs.poller.concurrency")


_INSTANCES = Annotated[Count, Field(le=1_000_000)]


class Removal(Section):
    """What automation does to a fleet while launches fail, and the size of what could be done about it."""

    checks_failing: Annotated[
        MaybeShare,
        Field(
            description="Share of the instances whose health checks fail meanwhile; at removal_rate, or all at once."
        ),
    ] = None
    worth_of_unhealthy: Annotated[
        Share, Field(description="Work that an instance marked unhealthy still does; 1: like a healthy one.")
    ] = 1.0
    rebalancing: Annotated[_INSTANCES, Field(description="Instances that AZRebalance wants to move.")] = 0
    refreshing: Annotated[_INSTANCES, Field(description="Instances that InstanceRefresh wants to replace.")] = 0
    alarm_scale_in: Annotated[_INSTANCES, Field(description="Instances that alarms take away at the restore.")] = 0
    scheduled_scale_in: Annotated[_INSTANCES, Field(description="Instances that a schedule takes away then.")] = 0
    health_check_grace_s: Annotated[
        MaybeSeconds, Field(description="Time for which the checks of a new instance do not count.")
    ] = None
    velocity_limit_per_min: Annotated[
        MaybeRate, Field(description="Removals a minute to compare with; what launches can replace if not given.")
    ] = None
    provisioned: Annotated[
        MaybeCount,
        if_given(le=1_000_000),
        Field(description="Instances more before the event, to compare with; what is lacking if not given."),
    ] = None


class TargetGroup(Section):
    """Targets of a load balancer that get traffic before their network state exists."""

    targets: Annotated[
        tuple[Annotated[Count, Field(le=MOST_TARGETS)], ...],
        Field(min_length=1, max_length=MOST_ZONES, description="Targets of each zone that work, a list."),
    ]
    new_targets: Annotated[
        tuple[Annotated[Count, Field(le=MOST_TARGETS)], ...] | None,
        none_is_none,
        Field(description="New targets of each zone; the fleet's missing instances, evenly, if not given."),
    ] = None
    pass_share: Annotated[
        Share, Field(description="Share of the checks that a target without network state passes.")
    ] = 0.5
    check_interval_s: Annotated[
        Seconds, Field(ge=_INTERVALS[0], le=_INTERVALS[1], description="Time between two checks of a target.")
    ] = limits.value("elb.health_check.interval_s.default")
    fails_to_leave: Annotated[
        Count, Field(ge=_COUNTS[0], le=_COUNTS[1], description="Failed checks in a row until a target is unhealthy.")
    ] = limits.whole("elb.health_check.unhealthy_count.default")
    passes_to_enter: Annotated[
        Count, Field(ge=_COUNTS[0], le=_COUNTS[1], description="Passed checks in a row until it is healthy again.")
    ] = limits.whole("elb.health_check.healthy_count.default")
    checker_rate_per_s: Annotated[
        MaybeRatePerSecond,
        if_given(gt=0),
        Field(description="Checks a second that the checker can do; none: no bound."),
    ] = None
    checks_per_change: Annotated[
        Count, Field(le=1000, description="Further checks that each change of a target's health costs the checker.")
    ] = 0
    routing_count: Annotated[
        Count, Field(ge=1, description="Fewer healthy targets of a zone than this: traffic goes to all of them.")
    ] = limits.whole("elb.target_group.minimum_count.default")
    routing_share: Annotated[
        MaybeShare, if_given(gt=0), Field(description="The same as a share of the zone's targets; none: off.")
    ] = None
    dns_count: Annotated[
        Count,
        Field(
            ge=1, validate_default=True, description="Fewer healthy targets of a zone than this: the zone leaves DNS."
        ),
    ] = limits.whole("elb.target_group.minimum_count.default")
    dns_share: Annotated[
        MaybeShare,
        if_given(gt=0),
        Field(validate_default=True, description="The same as a share of the zone's targets; none: off."),
    ] = None

    @field_validator("new_targets")
    @classmethod
    def _one_for_each_zone(cls, value: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        zones = info.data.get("targets")
        if value is not None and zones is not None and len(value) != len(zones):
            raise UnitError(f"has {len(value)} values where targets has {len(zones)}", "one for each zone")
        return value

    @field_validator("dns_count", "dns_share")
    @classmethod
    def _not_under_routing(cls, value: float | None, info: ValidationInfo) -> float | None:
        name = str(info.field_name)
        routing = info.data.get(name.replace("dns", "routing"))
        if routing is not None and (value is None or value < routing):
            seen = f"{name} none" if value is None else f"{name} {value:g}"
            raise UnitError(
                f"{seen} is under the routing threshold, {name.replace('dns', 'routing')} {routing:g}: zones would leave "
                "DNS later than they send traffic to unhealthy targets, which the service refuses",
                f"{name} of {routing:g} or more, or a lower routing threshold",
            )
        return value
