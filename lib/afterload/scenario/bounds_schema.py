"""Parts of a scenario about what bounds consumers and dependencies over time: calls, partitions, replicas, courses."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from afterload.errors import UnitError
from afterload.scenario.fields import (
    Count,
    Label,
    MaybeCount,
    MaybeFigure,
    MaybePath,
    MaybeRate,
    MaybeSeconds,
    MaybeShare,
    Minutes,
    Ranged,
    Rate,
    Seconds,
    Section,
    Share,
    if_given,
    none_is_none,
    read_instant_in,
)
from afterload.units import read_duration_min, read_number, read_share

__all__ = [
    "ConnectionPool",
    "ConsumerCount",
    "QueueCall",
    "ReturningUsers",
    "Scaling",
    "ScalingPolicy",
    "ShareCourse",
    "ShareStep",
    "StreamShards",
]

MOST_STEPS = 10_000
MOST_PARTITIONS = 10_000


def _at(value: Any, info: ValidationInfo) -> datetime | float:
    if isinstance(value, datetime | float):
        return value
    try:
        return read_duration_min(value)
    except UnitError:
        pass
    try:
        return read_instant_in(value, info)
    except UnitError as problem:
        accepted = f"{problem.accepted}, or a duration from the trigger on such as 40 min"
        raise UnitError(problem.message, accepted) from None


class ShareStep(Section):
    """One step of a course."""

    at: Annotated[
        datetime | float,
        BeforeValidator(_at),
        WithJsonSchema({"type": "string", "examples": ["0 min", "2025-10-19T23:48-07:00"]}),
        Field(description="From when on: a time with an offset, or a duration from the trigger on."),
    ]
    share: Annotated[Share, Field(description="Share that there is from then on.")]


class ShareCourse(Section):
    """A share that changes in steps; 100 % before the first."""

    steps: Annotated[
        tuple[ShareStep, ...], Field(max_length=MOST_STEPS, description="Each with at and share, in the order of time.")
    ] = ()
    series: Annotated[MaybePath, Field(description="CSV file with the columns at and share, instead of steps.")] = None

    @model_validator(mode="after")
    def _in_order(self) -> ShareCourse:
        times: list[Any] = [step.at for step in self.steps]
        if not times and self.series is None:
            raise UnitError(
                "gives no course", "steps, each with at and share, or series, a CSV file with these columns"
            )
        if len({type(at) for at in times}) > 1:
            raise UnitError("has both times and durations", "all as times with an offset, or all as durations")
        for at, following in pairwise(times):
            if following <= at:
                raise UnitError("has steps that are not in the order of time", "each step later than the one before it")
        return self

    def minutes(self, trigger: datetime, origin: datetime) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """When each step begins, in minutes after ``origin``, and its share."""
        late = (trigger - origin).total_seconds() / 60
        starts = (
            step.at + late if isinstance(step.at, float) else (step.at - origin).total_seconds() / 60
            for step in self.steps
        )
        return tuple(starts), tuple(step.share for step in self.steps)


class ReturningUsers(Section):
    """Users who were away during the outage and come back at the restore."""

    extra_rate_per_min: Annotated[Rate, Field(description="Direct requests that they add at the restore.")]
    decay_min: Annotated[Minutes, Field(gt=0, description="Time in which what they add falls to 37 %.")]


class QueueCall(Section):
    """A dependency that each item of a queue calls."""

    short_form = {"type": "string", "minLength": 1}

    dependency: Annotated[Label, Field(description="Its name under dependencies.")]
    per_item: Annotated[
        float, BeforeValidator(read_number), Field(gt=0, description="Calls that one item makes of it.")
    ] = 1.0

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        return cls.from_text(data) if isinstance(data, str) else data

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any]:
        """A name alone."""
        return {"dependency": text}


class ConsumerCount(Section):
    """How many consumers work on a queue; with item_time that bounds its rate."""

    number: Annotated[
        Count, Ranged("consumers_per_min"), Field(ge=1, description="Consumers, such as pods or workers.")
    ]
    at_once: Annotated[Count, Field(ge=1, description="Items that one of them works on at once.")] = 1


class ConnectionPool(Section):
    """Connections to a dependency that all consumers of a queue share."""

    connections: Annotated[Count, Ranged("pool_per_min"), Field(ge=1, description="Most connections in use at once.")]
    hold_time_s: Annotated[Seconds, Field(gt=0, description="Time for which one item holds a connection.")]


class ScalingPolicy(Section):
    """How far an autoscaler goes in one direction; the defaults of Kubernetes where a figure is not given."""

    replicas: Annotated[MaybeCount, Field(description="Replicas at most in a period.")] = None
    percent: Annotated[
        MaybeFigure, Field(description="The same in percent of those that run; the greater of the two counts.")
    ] = None
    period_s: Annotated[MaybeSeconds, if_given(gt=0), Field(description="Length of that period.")] = None
    window_s: Annotated[MaybeSeconds, Field(description="For how long a wish must last: the stabilisation window.")] = (
        None
    )


def _target(value: Any, info: ValidationInfo) -> float:
    readers = {"age": read_duration_min, "utilisation": read_share}
    target = float(value) if isinstance(value, float) else readers.get(info.data.get("metric", ""), read_number)(value)
    if target <= 0:
        raise UnitError("is zero", "more than zero")
    return target


class Scaling(Section):
    """What sets the number of replicas that work on a queue, as the Kubernetes horizontal pod autoscaler does it."""

    metric: Annotated[
        Literal["depth", "age", "utilisation"],
        Field(description="What it goes by: items waiting a replica, age of the oldest, or how busy replicas are."),
    ]
    target: Annotated[
        float,
        BeforeValidator(_target),
        WithJsonSchema({"type": ["number", "string"]}),
        Field(description="What it aims at: items a replica (depth), a duration (age), or a share (utilisation)."),
    ]
    least: Annotated[Count, Field(description="Fewest replicas.")] = 1
    most: Annotated[Count, Field(ge=1, description="Most replicas.")]
    at_restore: Annotated[
        MaybeCount, Field(description="Replicas that run at the restore; the fewest if not given.")
    ] = None
    rate_each_per_min: Annotated[
        MaybeRate,
        if_given(gt=0),
        Field(description="Items that one replica works off; service_rate divided by most if not given."),
    ] = None
    sync_s: Annotated[Seconds, Field(gt=0, description="Time from one look at the metric to the next.")] = 15.0
    tolerance: Annotated[
        Share, Field(description="Distance from the target, as a share, up to which nothing changes.")
    ] = 0.1
    up: Annotated[ScalingPolicy, Field(description="How far it adds replicas.")] = ScalingPolicy()
    down: Annotated[ScalingPolicy, Field(description="How far it removes replicas.")] = ScalingPolicy()
    start_time_s: Annotated[Seconds, Field(description="Time from the wish to a replica that serves.")] = 0.0
    fits_on_nodes: Annotated[
        MaybeCount, Field(description="Replicas that fit on the nodes there are; none: all of them.")
    ] = None
    node_time_s: Annotated[Seconds, Field(description="Further time where a node has to be added.")] = 0.0

    @model_validator(mode="after")
    def _some_between(self) -> Scaling:
        if self.most < self.least:
            raise UnitError(f"most {self.most} is below least {self.least}", "most at or above least")
        return self


class StreamShards(Section):
    """A stream read shard by shard: the slowest shard decides when the backlog is gone."""

    follows = ("shards",)

    shards: Annotated[
        Count,
        Field(
            ge=1,
            le=MOST_PARTITIONS,
            description="Shards or partitions; as many as shares or offsets if those are given.",
        ),
    ]
    parallelisation: Annotated[Count, Field(ge=1, description="Batches in work at once for one shard.")] = 1
    batch_size: Annotated[MaybeCount, if_given(ge=1), Field(description="Records in one batch.")] = None
    batch_time_s: Annotated[
        MaybeSeconds,
        if_given(gt=0),
        Field(description="Time that one batch takes; with batch_size it bounds each shard."),
    ] = None
    hottest_share: Annotated[
        MaybeShare, Field(description="Share of the records on the busiest shard; none: evenly spread.")
    ] = None
    shares: Annotated[
        tuple[Share, ...] | None,
        none_is_none,
        Field(
            max_length=MOST_PARTITIONS, description="Share of the records on each shard, a list that adds up to 100 %."
        ),
    ] = None
    offsets: Annotated[
        MaybePath,
        Field(
            description="File that gives shares: what kafka-consumer-groups --describe shows, or a CSV file with partition and "
            "lag or share."
        ),
    ] = None
    retries: Annotated[
        MaybeCount,
        Field(description="Retries of a failing batch; none: without end, which blocks its shard."),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, data: Any) -> Any:
        shares = data.get("shares") if isinstance(data, dict) else None
        return {"shards": len(shares), **data} if isinstance(shares, list | tuple) and shares else data

    @field_validator("hottest_share")
    @classmethod
    def _at_least_even(cls, value: float | None, info: ValidationInfo) -> float | None:
        shards = info.data.get("shards")
        if value is not None and shards and value < 1 / shards * (1 - 1e-9):
            raise UnitError(f"{value:g} is less than an even share of {shards} shards, {1 / shards:g}", "that or more")
        return value

    @field_validator("shares")
    @classmethod
    def _whole(cls, value: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        if value is None:
            return None
        shards, total = info.data.get("shards", len(value)), math.fsum(value)
        if len(value) != shards:
            raise UnitError(f"has {len(value)} values for {shards} shards", "one share for each shard")
        if not math.isclose(total, 1.0, abs_tol=1e-3):
            raise UnitError(f"adds up to {100 * total:.4g} %", "shares that add up to 100 %")
        return tuple(share / total for share in value)

    @model_validator(mode="after")
    def _one_spread(self) -> StreamShards:
        if (self.batch_size is None) != (self.batch_time_s is None):
            lacking = "batch_size" if self.batch_size is None else "batch_time"
            raise UnitError(f"has no {lacking}", "batch_size and batch_time, or neither for no bound by batches")
        if self.hottest_share is not None and self.shares is not None:
            raise UnitError("gives the spread of records twice", "one of hottest_share, shares and offsets")
        return self

    @property
    def spread(self) -> tuple[float, ...]:
        """Share of the records on each shard, the busiest first where only that is known."""
        if self.shares is not None:
            return self.shares
        hottest = self.hottest_share or 1 / self.shards
        return (hottest, *((1 - hottest) / (self.shards - 1) for _ in range(self.shards - 1)))
