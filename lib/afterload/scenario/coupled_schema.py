"""Parts of a scenario that only the coupled recovery uses: caches, the admission plan, uncertain values, the race."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from afterload.errors import UnitError
from afterload.scenario.fields import Count, Label, MaybeFigure, MaybeLabel, Minutes, Ranged, Section, Share, if_given
from afterload.units import read_number, read_share

__all__ = ["STEP_NAMES", "AdmissionPlan", "Cache", "Costs", "PlanAutomation", "UncertainValue"]

STEP_NAMES = (
    "hold_the_doors",
    "control_loops",
    "fresh_requests",
    "recent_backlog",
    "old_backlog",
    "lift_limits",
    "re_enable_removal",
)


class Cache(Section):
    """A cache in front of a dependency: it hides load while it is warm."""

    hit_rate: Annotated[Share, Field(lt=1, description="Share of requests that it answers at rest.")]
    hit_rate_at_restore: Annotated[
        Share,
        Ranged("hit_at_restore", read_share),
        Field(lt=1, description="Share that it answers just after the restore."),
    ] = 0.0
    fill_time_min: Annotated[
        Minutes, Ranged("cache_fill_min"), Field(description="Time in which it closes 63 % of the gap.")
    ] = 30.0


class AdmissionPlan(Section):
    """The seven steps of admission in a recovery, and how long the signal of each must hold."""

    in_place: Annotated[bool, Field(strict=True, description="True if the team already recovers by these steps.")] = (
        False
    )
    floor_share: Annotated[Share, Field(description="Share of their rate that consumers keep in steps 1 to 3.")] = 0.0
    drain_share: Annotated[
        Share, Field(gt=0, description="Share of the room at a dependency, to its tested rate, that drains get.")
    ] = 1.0
    replay_share: Annotated[Share, Field(gt=0, description="Share of that which set-aside work gets in step 5.")] = 1.0
    lifts: Annotated[
        Count, Field(ge=1, le=20, description="Equal steps, at most, in which the cap is lifted in step 6.")
    ] = 3
    hold_the_doors_min: Annotated[Minutes, Field(description="Hold of step 1.")] = 5.0
    control_loops_min: Annotated[Minutes, Field(description="Hold of step 2.")] = 5.0
    fresh_requests_min: Annotated[Minutes, Field(description="Hold of step 3.")] = 5.0
    recent_backlog_min: Annotated[Minutes, Field(description="Hold of step 4.")] = 5.0
    old_backlog_min: Annotated[Minutes, Field(description="Hold of step 5.")] = 5.0
    lift_limits_min: Annotated[Minutes, Field(description="Hold of each lift in step 6.")] = 15.0
    re_enable_removal_min: Annotated[Minutes, Field(description="Hold of step 7.")] = 5.0

    @property
    def holds_min(self) -> tuple[float, ...]:
        """The seven holds in order."""
        return tuple(getattr(self, f"{name}_min") for name in STEP_NAMES)


class UncertainValue(Section):
    """The range of one value; the value itself is the likely one. Written like the value, with its unit."""

    low: Annotated[Any, Field(description="Not expected to be lower.")]
    high: Annotated[Any, Field(description="Not expected to be higher.")]
    of: Annotated[
        Any,
        Field(
            description="The value that the range is of, as an import writes it; where another one stands, it is left out."
        ),
    ] = None
    moves_with: Annotated[
        MaybeLabel,
        Field(
            description="A name: all ranges that give the same one move together, such as several queues with one demand."
        ),
    ] = None


class Costs(Section):
    """What stale processing, work and headroom cost the team: the money of the plan, and its order by cost."""

    stale_minute: Annotated[
        MaybeFigure,
        if_given(gt=0),
        Field(
            description="Cost of one stale minute, from the restore to first-attempt age at baseline; the order by cost needs it."
        ),
    ] = None
    lost_item: Annotated[
        float, BeforeValidator(read_number), Field(ge=0, description="Cost of an item that expires or is discarded.")
    ] = 0.0
    person_day: Annotated[
        float, BeforeValidator(read_number), Field(ge=0, description="Cost of a person-day of effort.")
    ] = 0.0
    instance_hour: Annotated[
        MaybeFigure, if_given(ge=0), Field(description="Cost of an hour of one more instance.")
    ] = None
    consumer_hour: Annotated[
        MaybeFigure,
        if_given(ge=0),
        Field(description="Cost of an hour of consumers for one more item at once, busy or idle."),
    ] = None
    capacity_hour: Annotated[
        MaybeFigure,
        if_given(ge=0),
        Field(description="Cost of an hour of one more request a second that a dependency bears."),
    ] = None
    events_a_year: Annotated[
        float,
        BeforeValidator(read_number),
        Field(gt=0, description="Events like this one in a year; the order by cost sums over a year."),
    ] = 1.0
    currency: Annotated[Label, Field(description="Currency, as it is written behind an amount.")] = "units of cost"


class PlanAutomation(Section):
    """Automation that applies numbered plans, such as DNS records or routing: can its parts race each other?"""

    short_form = {"enum": ["published"]}

    appliers: Annotated[Count, Field(ge=1, le=5, description="How many apply plans side by side.")] = 3
    plans: Annotated[
        tuple[Count, ...], Field(min_length=1, max_length=5, description="Plan numbers, rising; the first is active.")
    ] = (40, 41, 43)
    check_at: Annotated[
        Literal["pick-up", "apply"], Field(description="When a plan is compared with the active one.")
    ] = "pick-up"
    clean_up: Annotated[
        Literal["older than applied", "keep generations", "never the active", "none"],
        Field(description="What is deleted after an apply."),
    ] = "older than applied"
    generations: Annotated[Count, Field(ge=1, description="Plans kept by keep generations.")] = 1
    version_guard: Annotated[
        bool, Field(strict=True, description="True if an apply succeeds only on the plan that was checked.")
    ] = False

    @model_validator(mode="before")
    @classmethod
    def _published(cls, data: Any) -> Any:
        return cls.from_text(data) if isinstance(data, str) else data

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any]:
        """The configuration of the reference event, by the name ``published``."""
        if text != "published":
            raise UnitError(f"{text!r} is not a known automation", "published, or a mapping of its own")
        return {}

    @field_validator("plans")
    @classmethod
    def _rising(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(later <= earlier for earlier, later in pairwise(value)):
            raise UnitError(f"{list(value)} does not rise", "plan numbers in rising order, each once")
        return value
