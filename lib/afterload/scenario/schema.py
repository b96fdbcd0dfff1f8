"""A team's inputs as typed, validated data. One sentence with units under every field."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from afterload import limits
from afterload.errors import UnitError
from afterload.scenario.bounds_schema import (
    ConnectionPool,
    ConsumerCount,
    QueueCall,
    ReturningUsers,
    Scaling,
    ShareCourse,
    StreamShards,
)
from afterload.scenario.capacity_schema import ControlLoop, Pollers, Removal, TargetGroup
from afterload.scenario.coupled_schema import AdmissionPlan, Cache, Costs, PlanAutomation, UncertainValue
from afterload.scenario.evidence_schema import Evidence, Export, Live, Postmortem, Telemetry
from afterload.scenario.fields import (
    Count,
    Given,
    Instant,
    Label,
    MaybeCount,
    MaybeInstant,
    MaybeLabel,
    MaybeMinutes,
    MaybeNumber,
    MaybePath,
    MaybeRate,
    MaybeSeconds,
    MaybeShare,
    Minutes,
    Quantity,
    Ranged,
    Rate,
    RatePerSecond,
    Rates,
    Seconds,
    Section,
    Share,
    Zone,
    if_given,
    none_is_none,
)
from afterload.scenario.retry_schema import Idempotency, RetryLimit, WorkerPool
from afterload.scenario.shared_schema import Shared
from afterload.units import read_share

__all__ = [
    "REMOVAL_PROCESSES",
    "ArrivalRate",
    "Automation",
    "CallStack",
    "Client",
    "Dependency",
    "DrainCap",
    "Fleet",
    "Incident",
    "LaunchLimits",
    "Layer",
    "Queue",
    "RampUp",
    "Resources",
    "Scenario",
    "StreamShards",
]

# Auto Scaling processes that can take capacity away while launches fail (data/limits.yaml has their source).
REMOVAL_PROCESSES = ("ReplaceUnhealthy", "AZRebalance", "Terminate", "AlarmNotification", "ScheduledActions")


class ArrivalRate(Section):
    """New work a minute: one constant, 24 hourly rates of a day, or a CSV series."""

    constant_per_min: Annotated[MaybeRate, Field(description="One rate at all times.")] = None
    hour_of_day_per_min: Annotated[
        Rates, Field(description="24 rates, for the hours 0 to 23 of a day in the team's time zone.")
    ] = None
    series: Annotated[
        MaybePath,
        Field(description="CSV file with the columns at and rate_per_min (or rate_per_s, or count)."),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        if isinstance(data, Given):
            return {"constant_per_min": Quantity("rate", "per_min").read(data.checked(), data.factor)}
        if not isinstance(data, dict | ArrivalRate):
            raise UnitError(f"{data!r} is not a rate", 'a rate such as "1,200/min", or hour_of_day or series')
        return data

    @field_validator("hour_of_day_per_min")
    @classmethod
    def _has_24(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value is not None and len(value) != 24:
            raise UnitError(f"has {len(value)} values", "24 rates, one for each hour of the day")
        return value

    @model_validator(mode="after")
    def _one_form(self) -> ArrivalRate:
        forms = [self.constant_per_min, self.hour_of_day_per_min, self.series]
        if sum(form is not None for form in forms) != 1:
            raise UnitError("does not give one arrival rate", "a rate, or one of hour_of_day and series")
        return self


class DirectRate(ArrivalRate):
    """Direct traffic a minute: one constant, 24 hourly rates of a day, or a CSV series."""

    highest_per_min: Annotated[
        MaybeRate, Field(description="With a series: the rate to leave room for; the highest of the file if not given.")
    ] = None

    @property
    def peak_per_min(self) -> float:
        """The highest rate that there is."""
        rates = (self.constant_per_min, self.highest_per_min, *(self.hour_of_day_per_min or ()))
        return max((rate for rate in rates if rate is not None), default=0.0)


class Incident(Section):
    """One event: when the dependency failed and when it was back."""

    follows = ("trigger", "restored_at")

    name: Annotated[Label, Field(description="What people call the event.")]
    trigger: Annotated[
        Instant,
        Field(
            description="When the dependency failed, with an offset; where a capacity course falls below 100 % if not given."
        ),
    ]
    restored_at: Annotated[
        Instant,
        Field(
            description="When the dependency was back, with an offset; where capacity courses are at 100 % again if not given."
        ),
    ]
    timeline: Annotated[MaybePath, Field(description="CSV of events: at, end, subsystem, kind, event.")] = None
    impacts: Annotated[MaybePath, Field(description="CSV of impact windows: service, start, end.")] = None
    source: Annotated[MaybeLabel, Field(description="Where the times come from.")] = None

    @field_validator("restored_at")
    @classmethod
    def _after_trigger(cls, value: datetime, info: ValidationInfo) -> datetime:
        trigger = info.data.get("trigger")
        if trigger is not None and value <= trigger:
            raise UnitError(f"{value.isoformat()} is not after the trigger, {trigger.isoformat()}", "a later time")
        return value

    @property
    def outage_min(self) -> float:
        """Minutes from the trigger to the restore."""
        return (self.restored_at - self.trigger).total_seconds() / 60


class Dependency(Section):
    """What queues drain into: a database, a table, a partner's interface."""

    tested_rate_per_min: Annotated[
        Rate,
        Ranged("capacity_per_min"),
        Field(gt=0, description="Items a minute that a load test has shown it to bear."),
    ]
    operate_up_to_per_min: Annotated[
        MaybeRate,
        Ranged("room_per_min"),
        if_given(gt=0),
        Field(
            description="Rate up to which operators may load it; the tested rate if not given, beyond which it is a risk."
        ),
    ] = None
    direct_rate: Annotated[
        DirectRate,
        Quantity("rate", "per_min", whole_name=True),
        Ranged("fresh_per_min"),
        Field(
            description="Items a minute that reach it directly, beside any queue: a rate, hour_of_day or series; 0 if not given."
        ),
    ] = DirectRate(constant_per_min=0.0)
    returning_users: Annotated[
        ReturningUsers | None, none_is_none, Field(description="Direct traffic that comes on top at the restore.")
    ] = None
    capacity_per_min: Annotated[
        MaybeRate,
        Ranged("capacity_per_min"),
        if_given(gt=0),
        Field(description="Attempts a minute that it bears; the tested rate if not given."),
    ] = None
    above_capacity: Annotated[
        Literal["collapse", "throttle"],
        Field(description="What it does above that: it collapses, or rejects what is above and does its full work."),
    ] = "collapse"
    throttles_at_per_min: Annotated[
        MaybeRate,
        Ranged("throttle_per_min"),
        if_given(gt=0),
        Field(
            description="Requests a minute above which it rejects, beside what it does above its capacity; none: no limit."
        ),
    ] = None
    capacity_course: Annotated[
        ShareCourse | None,
        none_is_none,
        Field(
            description="Share of its capacity over time, for a partial outage or a second dip; none: all from the restore on."
        ),
    ] = None
    control_rate_per_min: Annotated[
        Rate,
        Ranged("control_per_min"),
        Field(description="Control-loop traffic (leases, health pings) that is admitted first."),
    ] = 0.0
    control_backlog: Annotated[
        Count,
        Ranged("control_backlog"),
        Field(
            description="Control-loop requests that wait at the restore, beside those of control_loops that name it."
        ),
    ] = 0
    control_catch_up_rate_per_min: Annotated[
        MaybeRate,
        if_given(gt=0),
        Field(description="Rate at which those come, beside control traffic; its whole capacity if not given."),
    ] = None
    attempts_while_failing: Annotated[
        MaybeNumber,
        Ranged("attempts_failing", least=1.0),
        Field(
            description="Attempts that one direct request costs while it fails; from clients and stacks if not given."
        ),
    ] = None
    goodput_while_collapsed: Annotated[
        Share,
        Ranged("goodput_share", read_share),
        Field(description="Share of its capacity that still does useful work while it is collapsed."),
    ] = 0.0
    state_at_restore: Annotated[
        Literal["healthy", "collapsed"], Field(description="The state in which the recovery starts.")
    ] = "healthy"
    timeout_s: Annotated[Seconds, Field(gt=0, description="Time after which a caller gives up an attempt.")] = 1.0
    cache: Annotated[Cache | None, none_is_none, Field(description="A cache in front of it.")] = None
    shared_as: Annotated[
        MaybeLabel,
        Field(
            description="Name under which other teams' scenarios know it too; direct_rate is then this team's own traffic, and "
            "without it all that reaches it directly."
        ),
    ] = None
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None

    @property
    def direct_rate_per_min(self) -> float:
        """Direct traffic at its highest."""
        return self.direct_rate.peak_per_min


class Resources(Section):
    """Names for the commands of the plan. All optional: a missing one stands as a placeholder."""

    function: Annotated[MaybeLabel, Field(description="Lambda function name.")] = None
    event_source_mapping: Annotated[MaybeLabel, Field(description="UUID of the event source mapping.")] = None
    queue_url: Annotated[MaybeLabel, Field(description="SQS queue URL.")] = None
    auto_scaling_group: Annotated[MaybeLabel, Field(description="Auto Scaling group name.")] = None


class DrainCap(Section):
    """A limit on how many items are worked on at once while a backlog drains."""

    concurrency: Annotated[Count, Field(ge=1, description="Items in work at once.")]


class RampUp(Section):
    """How fast consumers come up after the restore, as concurrency."""

    short_form = {"enum": list(limits.RAMPS)}

    start: Annotated[Count, Field(description="Items in work at once at the restore.")]
    per_min: Annotated[Count, Field(description="Added concurrency a minute.")]
    ceiling: Annotated[Count, Field(ge=1, description="Highest concurrency.")]

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, data: Any) -> Any:
        return cls.from_text(data) if isinstance(data, str) else data

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any]:
        """The numbers of a preset."""
        return dict(limits.ramp_preset(text))

    @field_validator("ceiling")
    @classmethod
    def _reaches(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("start", 0):
            raise UnitError(f"{value} is below the start, {info.data['start']}", "a ceiling at or above the start")
        return value


class Queue(Section):
    """Deferred work and its consumers."""

    owner: Annotated[MaybeLabel, Field(description="Who carries out the changes; the team's owner if not given.")] = (
        None
    )
    service: Annotated[
        Literal["sqs-lambda", "lambda-async", "stream-lambda", "other"],
        Field(description="What kind of queue it is: decides the commands of the plan."),
    ] = "other"
    arrival_rate: Annotated[
        ArrivalRate,
        Quantity("rate", "per_min", whole_name=True),
        Ranged("arrivals"),
        Field(description="New items a minute: a rate, hour_of_day (24 rates) or series (a CSV file)."),
    ]
    service_rate_per_min: Annotated[
        Rate,
        Ranged("service_rate_per_min"),
        Field(gt=0, description="Items a minute that the consumers sustain after the restore."),
    ]
    backlog_before: Annotated[
        Count, Ranged("backlog_before"), Field(description="Items already waiting at the trigger.")
    ] = 0
    during_outage: Annotated[
        Literal["defer", "reject", "receive"],
        Field(
            description="What happens to new work in the outage: it waits (defer), is refused (reject), or consumers go on "
            "receiving it and fail (receive)."
        ),
    ] = "defer"
    served_in_outage_per_min: Annotated[
        Rate, Field(description="Items a minute still served in the outage; zero for a standstill.")
    ] = 0.0
    order: Annotated[Literal["fifo", "lifo", "fresh_first"], Field(description="Order of work after the restore.")] = (
        "fifo"
    )
    sideline_after_min: Annotated[
        MaybeMinutes, Field(description="With fresh_first: work older than this is set aside for later.")
    ] = None
    age_limit_min: Annotated[
        MaybeMinutes, Ranged("max_age_min"), Field(description="Work older than this is expired; none: no limit.")
    ] = None
    on_failure_destination: Annotated[
        MaybeLabel, Field(description="Where expired work is recorded; none: it is lost.")
    ] = None
    retention_min: Annotated[
        MaybeMinutes, Field(description="How long the queue keeps an item at all; none: for ever.")
    ] = None
    deadline_min: Annotated[
        MaybeMinutes, Field(description="Consumers discard work older than this instead of serving it.")
    ] = None
    goes_stale_after_min: Annotated[
        MaybeMinutes,
        Field(description="Age at which an item is worth nothing any more; none: it keeps its worth."),
    ] = None
    superseded_share: Annotated[
        Share,
        Ranged("superseded_share", read_share),
        Field(description="Share of the backlog that later work makes unnecessary and consumers drop."),
    ] = 0.0
    supersedable_share: Annotated[
        MaybeShare,
        Field(
            description="Share that later work makes unnecessary, whether or not consumers drop it; none: not known."
        ),
    ] = None
    item_time_s: Annotated[MaybeSeconds, Field(description="Time that one item takes.")] = None
    drain_cap: Annotated[
        DrainCap | None,
        none_is_none,
        Field(description="Limit on concurrency between backlog and dependency; none: no limit."),
    ] = None
    reserved_concurrency: Annotated[
        MaybeCount,
        if_given(ge=1),
        Field(description="Reserved concurrency of the function, which bounds what is worked on at once."),
    ] = None
    consumers: Annotated[
        ConsumerCount | None, none_is_none, Field(description="Number of consumers, and what each has in work at once.")
    ] = None
    connection_pool: Annotated[
        ConnectionPool | None, none_is_none, Field(description="Connections that the consumers share; none: no limit.")
    ] = None
    start_spread_min: Annotated[
        MaybeMinutes,
        Ranged("start_spread_min"),
        if_given(gt=0),
        Field(
            description="Time after the restore over which consumers start, each with a call; none: at once, at their rate."
        ),
    ] = None
    autoscaler: Annotated[
        Scaling | None, none_is_none, Field(description="What sets the number of replicas; none: it does not change.")
    ] = None
    consumer_course: Annotated[
        ShareCourse | None, none_is_none, Field(description="Share of the service rate over time; none: all of it.")
    ] = None
    provisioned_pollers: Annotated[
        Pollers | None,
        none_is_none,
        Field(
            description="For sqs-lambda in provisioned mode, instead of drain_cap: minimum and maximum of its pollers."
        ),
    ] = None
    ramp: Annotated[
        RampUp | None,
        none_is_none,
        Field(description="How fast consumers come up: start, per_min, ceiling, or a preset's name."),
    ] = None
    stream: Annotated[
        StreamShards | None, none_is_none, Field(description="For streams: shards and their batches.")
    ] = None
    dependency: Annotated[MaybeLabel, Field(description="Name of the dependency that the consumers call.")] = None
    calls: Annotated[
        tuple[QueueCall, ...],
        Field(max_length=50, description="Instead of dependency: several, in the order in which an item calls them."),
    ] = ()
    fan_out: Annotated[
        bool, Field(strict=True, description="True if an item makes its calls all at once, not one after the other.")
    ] = False
    attempts_while_failing: Annotated[
        MaybeNumber,
        Ranged("attempts_failing", least=1.0),
        Field(description="Attempts that one item costs while the dependency fails; from its clients if not given."),
    ] = None
    max_receives: Annotated[
        MaybeCount,
        if_given(ge=1),
        Field(description="Failed deliveries after which an item goes to the dead-letter queue."),
    ] = None
    visibility_timeout_s: Annotated[
        MaybeSeconds,
        if_given(gt=0),
        Field(description="Time until a failed delivery comes again; the default of SQS if not given."),
    ] = None
    replay_rate_per_min: Annotated[
        MaybeRate,
        if_given(gt=0),
        Field(description="Items a minute at which dead-lettered or set-aside work is put back; none: not bounded."),
    ] = None
    fleet: Annotated[MaybeLabel, Field(description="Name of the fleet that the consumers run on.")] = None
    idempotency: Annotated[
        Idempotency | None, none_is_none, Field(description="Whether work done twice takes effect twice.")
    ] = None
    resources: Annotated[Resources, Field(description="Names for the commands of the plan.")] = Resources()
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None

    @field_validator("item_time_s")
    @classmethod
    def _takes_time(cls, value: float | None) -> float | None:
        if value == 0:
            raise UnitError("is zero", "a duration above zero, such as 2 s")
        return value

    @field_validator("age_limit_min", "retention_min", "deadline_min", "goes_stale_after_min")
    @classmethod
    def _above_zero(cls, value: float | None) -> float | None:
        if value == 0:
            raise UnitError("is zero", 'a duration above zero, or "none"')
        return value

    @field_validator("sideline_after_min")
    @classmethod
    def _only_fresh_first(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("order", "fresh_first") != "fresh_first":
            raise UnitError(f"goes with order fresh_first, not {info.data['order']}", "order: fresh_first, or none")
        return value

    @field_validator("calls")
    @classmethod
    def _instead_of_dependency(cls, value: tuple[QueueCall, ...], info: ValidationInfo) -> tuple[QueueCall, ...]:
        if value and info.data.get("dependency") is not None:
            raise UnitError("stands beside dependency", "one of the two")
        names = [call.dependency for call in value]
        if len(set(names)) < len(names):
            raise UnitError("names a dependency twice", "each once, with per_item for several calls")
        return value

    @property
    def all_calls(self) -> tuple[QueueCall, ...]:
        """What one item calls, in order."""
        return self.calls or (() if self.dependency is None else (QueueCall(dependency=self.dependency),))

    def calls_of(self, dependency: str) -> float:
        """Calls that one item makes of a dependency."""
        if not self.calls:
            return 1.0 if self.dependency is not None and dependency == self.dependency else 0.0
        return sum(call.per_item for call in self.calls if call.dependency == dependency)

    @property
    def concurrency_limit(self) -> int | None:
        """Items in work at once that nothing passes: the least of cap, reserved concurrency and pollers; None: no limit."""
        pollers = self.provisioned_pollers
        limits_given = (
            self.drain_cap.concurrency if self.drain_cap else None,
            self.reserved_concurrency,
            pollers.concurrency if pollers else None,
        )
        return min((limit for limit in limits_given if limit is not None), default=None)

    @field_validator("drain_cap", "reserved_concurrency", "consumers", "provisioned_pollers", "ramp")
    @classmethod
    def _needs_item_time(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("item_time_s", 0) is None:
            raise UnitError("is a concurrency, so item_time is needed too", "item_time, such as 2 s, beside it")
        return value


class Layer(Section):
    """One layer of a call stack that tries again when the layer below fails."""

    name: Annotated[Label, Field(description="What the layer is: browser, gateway, service, SDK.")]
    tries: Annotated[Count, Field(ge=1, le=1000, description="Attempts in all, the first one included.")]


class CallStack(Section):
    """Layers from the top (the caller) to the bottom (next to the dependency)."""

    owner: Annotated[MaybeLabel, Field(description="Who carries out the changes.")] = None
    layers: Annotated[tuple[Layer, ...], Field(min_length=1, max_length=50, description="From top to bottom.")]
    failure_probability: Annotated[
        Share, Field(description="Share of attempts that fail at the dependency in the event.")
    ] = 1.0
    request_rate_per_min: Annotated[MaybeRate, Field(description="Calls a minute at the top.")] = None
    dependency: Annotated[MaybeLabel, Field(description="Name of the dependency below the last layer.")] = None
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None


class Client(Section):
    """A kind of client of a dependency: SDK, version and mode together tell how it retries."""

    owner: Annotated[MaybeLabel, Field(description="Who carries out the changes.")] = None
    sdk: Annotated[Label, Field(description="Which SDK, such as boto3, java-v2 or go-v2.")]
    version: Annotated[MaybeLabel, Field(description="Version as the package manager gives it.")] = None
    mode: Annotated[
        Literal["default", "legacy", "standard", "adaptive"],
        Field(description="Retry mode; default: the SDK's own."),
    ] = "default"
    number: Annotated[Count, Field(ge=1, description="Clients of this kind: processes, not hosts.")]
    max_attempts: Annotated[
        MaybeCount,
        Field(description="Attempts in all where the team sets them; none: the mode's own."),
    ] = None
    service: Annotated[
        Literal["dynamodb", "dynamodb-streams", "other"],
        Field(description="AWS service called: DynamoDB and its streams have defaults of their own."),
    ] = "other"
    calls_per_min: Annotated[
        MaybeRate,
        if_given(gt=0),
        Field(description="Calls that one client makes, retries left out; without it, counts but no times."),
    ] = None
    errors: Annotated[
        Literal["transient", "throttling", "timeout"],
        Field(description="How its attempts fail in the event: a quota takes other tokens for each kind."),
    ] = "transient"
    retry_limit: Annotated[
        RetryLimit | None,
        none_is_none,
        Field(description="What holds its retries back beside the SDK, such as envoy-budget; none: nothing does."),
    ] = None
    jitter: Annotated[
        Literal["none", "equal", "full", "decorrelated"] | None,
        Field(description="How chance enters the waits of the team's own retries; the SDK's way if not given."),
    ] = None
    restarts_per_min: Annotated[
        MaybeRate,
        if_given(gt=0),
        Field(description="Clients restarted a minute when all have to be; none: all at once."),
    ] = None
    dependency: Annotated[
        MaybeLabel, Field(description="Name of the dependency called; that of its queue or call stack if not given.")
    ] = None
    queue: Annotated[
        MaybeLabel,
        Field(
            description="Name of the queue whose consumers they are; none: they stand for all callers of the dependency."
        ),
    ] = None
    call_stack: Annotated[MaybeLabel, Field(description="Name of the call stack whose last layer they are.")] = None
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None

    @field_validator("max_attempts")
    @classmethod
    def _some_attempts(cls, value: int | None) -> int | None:
        if value is not None and not 1 <= value <= 1000:
            raise UnitError(f"{value} is out of range", "1 to 1000, or none for the mode's own")
        return value

    @field_validator("sdk")
    @classmethod
    def _known(cls, value: str) -> str:
        limits.check_sdk(value)
        return value


class LaunchLimits(Section):
    """The provider's token buckets for launches, and what is left of them."""

    instances_per_request: Annotated[Count, Field(ge=1, description="Instances asked for in one request.")] = 1
    request_burst: Annotated[Count, Field(ge=1, description="Requests that a full bucket holds.")] = limits.whole(
        "ec2.run_instances.request_burst"
    )
    request_refill_per_s: Annotated[RatePerSecond, Field(gt=0, description="Requests a second that refill it.")] = (
        limits.value("ec2.run_instances.request_refill_per_s")
    )
    instance_burst: Annotated[
        Count, Field(ge=1, validate_default=True, description="Instances that a full bucket holds.")
    ] = limits.whole("ec2.run_instances.instance_burst")
    instance_refill_per_s: Annotated[RatePerSecond, Field(gt=0, description="Instances a second that refill it.")] = (
        limits.value("ec2.run_instances.instance_refill_per_s")
    )
    throttle_factor: Annotated[
        Share, Field(gt=0, description="Share of its usual limits that the provider grants; 1: all.")
    ] = 1.0
    other_callers_share: Annotated[
        Share,
        Field(lt=1, validate_default=True, description="Share of the limits that other callers in the account use."),
    ] = 0.0
    buckets_full: Annotated[Share, Field(description="How full the buckets are at the restore; 1: full.")] = 1.0
    boot_time_s: Annotated[Seconds, Field(description="Time from launch to a running process.")] = 0.0
    network_delay_s: Annotated[Seconds, Field(description="Time until its network state exists.")] = 0.0

    @field_validator("instance_burst")
    @classmethod
    def _fits(cls, value: int, info: ValidationInfo) -> int:
        asked = info.data.get("instances_per_request", 1)
        if asked > value:
            raise UnitError(
                f"instance_burst {value} is less than the {asked} instances of one request", "smaller requests"
            )
        return value

    @field_validator("other_callers_share")
    @classmethod
    def _something_left(cls, value: float, info: ValidationInfo) -> float:
        factor = info.data.get("throttle_factor", 1.0)
        kept = factor * (1 - value)
        least = {"request_burst": 1, "instance_burst": info.data.get("instances_per_request", 1)}
        for name, needed in least.items():
            if name in info.data and round(info.data[name] * kept, 9) < needed:
                raise UnitError(
                    f"throttle_factor {factor:g} and other_callers_share {value:g} leave {info.data[name] * kept:g} of "
                    f"{name} {info.data[name]}: no request of {least['instance_burst']} instances can ever pass",
                    "smaller requests, or limits that leave more",
                )
        return value


class Automation(Section):
    """Something that can take capacity away by itself."""

    short_form = {"type": "string", "minLength": 1}

    name: Annotated[Label, Field(description="An Auto Scaling process or the name of the team's own automation.")]
    pause: Annotated[MaybeLabel, Field(description="Command that pauses it, if it is not an Auto Scaling process.")] = (
        None
    )
    resume: Annotated[MaybeLabel, Field(description="Command that resumes it.")] = None
    paused: Annotated[bool, Field(strict=True, description="True if a recovery already starts with it paused.")] = False

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        return cls.from_text(data) if isinstance(data, str) else data

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any]:
        """A name alone."""
        return {"name": text}


class Fleet(Section):
    """Machines or tasks that serve, and how fast more can be had."""

    owner: Annotated[MaybeLabel, Field(description="Who carries out the changes.")] = None
    running: Annotated[
        Count, Ranged("running"), Field(le=1_000_000, description="Instances in service at the restore.")
    ]
    needed: Annotated[
        Count, Ranged("needed"), Field(le=1_000_000, description="Instances needed to serve the load of the recovery.")
    ]
    launch: Annotated[LaunchLimits, Field(description="Launch limits; the published ones if not given.")] = (
        LaunchLimits()
    )
    removal_automation: Annotated[
        tuple[Automation, ...] | None,
        Field(description="All that can remove capacity by itself; [] for none; leave out if not known."),
    ] = None
    launches_from_min: Annotated[
        Minutes,
        Ranged("launches_from_min"),
        Field(description="Time after the restore until launches begin to succeed."),
    ] = 0.0
    removal_rate_per_min: Annotated[
        Rate, Field(description="Instances a minute that automation removes until launches succeed.")
    ] = 0.0
    removal_floor: Annotated[Count, Field(description="Instances below which a velocity limit stops removals.")] = 0
    removal: Annotated[
        Removal | None, none_is_none, Field(description="More about removals while launches fail, and remedies.")
    ] = None
    target_group: Annotated[
        TargetGroup | None, none_is_none, Field(description="Its targets behind a load balancer, for those that flap.")
    ] = None
    resources: Annotated[Resources, Field(description="Names for the commands of the plan.")] = Resources()
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None


class Scenario(Section):
    """One team's recovery load: everything that Afterload computes with."""

    team: Annotated[Label, Field(description="The team's name.")]
    owner: Annotated[MaybeLabel, Field(description="Who owns the changes by default.")] = None
    time_zone: Annotated[Zone, Field(description="The team's time zone, for charts and hours of the day.")]
    hypothetical: Annotated[bool, Field(strict=True, description="True if the numbers are made up.")] = False
    recovery_objective_min: Annotated[
        Minutes, Field(gt=0, description="From dependency restored to first-attempt age back at baseline.")
    ]
    recovery_measured_min: Annotated[
        MaybeMinutes, Field(description="The same interval as last measured; none: never measured.")
    ] = None
    incident: Annotated[Incident, Field(description="The event that is computed.")]
    shared: Annotated[
        Shared, Field(description="Account and region, which other teams may share; used by afterload batch.")
    ] = Shared()
    dependencies: Annotated[dict[Label, Dependency], Field(description="What queues and stacks call, by name.")] = {}
    queues: Annotated[dict[Label, Queue], Field(description="Deferred work, by name.")] = {}
    call_stacks: Annotated[dict[Label, CallStack], Field(description="Layers that retry, by name.")] = {}
    clients: Annotated[dict[Label, Client], Field(description="SDK clients, by name.")] = {}
    fleets: Annotated[dict[Label, Fleet], Field(description="Capacity that is launched, by name.")] = {}
    control_loops: Annotated[
        dict[Label, ControlLoop], Field(description="Queues of leases, heartbeats and the like, by name.")
    ] = {}
    worker_pools: Annotated[
        dict[Label, WorkerPool], Field(description="Bounded queues and pools of workers, by name.")
    ] = {}
    admission: Annotated[AdmissionPlan, Field(description="The seven steps of admission in a recovery.")] = (
        AdmissionPlan()
    )
    uncertain: Annotated[
        dict[str, UncertainValue],
        Field(description="Ranges of uncertain values, by path, such as queues.orders.service_rate."),
    ] = {}
    plan_automation: Annotated[
        PlanAutomation | None,
        none_is_none,
        Field(description="Automation that applies numbered plans, or published for that of the reference event."),
    ] = None
    evidence: Annotated[
        dict[str, Evidence], Field(description="Where values came from, by path, such as queues.orders.arrival_rate.")
    ] = {}
    evidence_limit_min: Annotated[Minutes, Field(gt=0, description="Age at which evidence is too old to trust.")] = (
        90 * 24 * 60.0
    )
    costs: Annotated[
        Costs | None, none_is_none, Field(description="What stale minutes, effort and headroom cost; none: not given.")
    ] = None
    compare_with: Annotated[
        MaybePath, Field(description="An earlier scenario, or the plan file of an earlier run, to compare with.")
    ] = None
    as_of: Annotated[
        MaybeInstant,
        Field(description="Moment for which the age of evidence is told; the day of the run if not given."),
    ] = None
    exports: Annotated[
        tuple[Export, ...], Field(description="Exported settings for the audit: AWS CLI output, Terraform.")
    ] = ()
    telemetry: Annotated[tuple[Telemetry, ...], Field(description="Measured series of the incident.")] = ()
    postmortem: Annotated[Postmortem | None, none_is_none, Field(description="The team's account of the event.")] = None
    live: Annotated[
        Live | None, none_is_none, Field(description="Readings of a recovery that is going on; none: no live chapter.")
    ] = None
