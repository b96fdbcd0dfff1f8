"""Parts of a scenario that describe retries more closely: limits on them, worker pools, idempotency keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from afterload import limits
from afterload.errors import UnitError
from afterload.scenario.fields import (
    Count,
    MaybeCount,
    MaybeFigure,
    MaybeLabel,
    MaybeMinutes,
    MaybeNumber,
    MaybeRatePerSecond,
    MaybeShare,
    Seconds,
    Section,
    Share,
    if_given,
)

__all__ = ["Idempotency", "RetryLimit", "WorkerPool"]

# Requests of one burst that are followed one by one.
MOST_REQUESTS = 100_000

# Fields of a retry limit, with the preset's name for each.
_FIGURES = {
    "max_tokens": "max_tokens",
    "token_ratio": "token_ratio",
    "retry_cost": "retry_cost",
    "earned_by": "earned_by",
    "budget_share": "budget_share",
    "least": "least",
    "least_rate_per_s": "least_per_s",
    "window_min": "window_s",
    "multiplier": "multiplier",
}


class RetryLimit(Section):
    """What holds a client's retries back where that is no quota of its SDK: a name for its usual figures, or own ones."""

    short_form = {"enum": list(limits.RETRY_LIMITS)}

    kind: Annotated[
        Literal[
            "grpc-throttling",
            "envoy-budget",
            "finagle-budget",
            "linkerd-budget",
            "google-adaptive-throttling",
            "token-bucket",
        ],
        Field(description="What kind of limit it is; its usual figures stand for those not given."),
    ]
    max_tokens: Annotated[
        MaybeFigure,
        if_given(gt=0, le=1000),
        Field(description="Tokens of a full bucket (grpc-throttling, token-bucket)."),
    ] = None
    token_ratio: Annotated[
        MaybeFigure, if_given(ge=0.001, le=1000), Field(description="Tokens that a success earns (the same).")
    ] = None
    retry_cost: Annotated[
        MaybeFigure, if_given(ge=0.001, le=1000), Field(description="Tokens that a retry takes (token-bucket).")
    ] = None
    earned_by: Annotated[
        Literal["success", "call"] | None,
        Field(description="What earns tokens: a call that succeeds, or every call (token-bucket)."),
    ] = None
    budget_share: Annotated[
        MaybeShare,
        if_given(gt=0, lt=1),
        Field(description="Retries as a share of requests (envoy-, finagle-, linkerd-budget)."),
    ] = None
    least: Annotated[MaybeCount, Field(description="Retries in flight allowed in any case (envoy-budget).")] = None
    least_rate_per_s: Annotated[
        MaybeRatePerSecond, Field(description="Retries a second allowed in any case (finagle-, linkerd-budget).")
    ] = None
    window_min: Annotated[
        MaybeMinutes,
        if_given(gt=0),
        Field(description="History that counts (finagle-, linkerd-budget, google-adaptive-throttling)."),
    ] = None
    multiplier: Annotated[
        MaybeNumber, Field(description="Requests let through for one that is accepted (google-adaptive-throttling).")
    ] = None
    attempt_time_s: Annotated[
        Seconds, Field(gt=0, description="Time that one attempt is in flight (envoy-budget).")
    ] = 0.1

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, data: Any) -> Any:
        return cls.from_text(data) if isinstance(data, str) else data

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any]:
        """A kind alone, with its usual figures."""
        limits.retry_limit_preset(text)
        return {"kind": text}

    @field_validator(*_FIGURES)
    @classmethod
    def _of_this_kind(cls, value: Any, info: ValidationInfo) -> Any:
        kind = info.data.get("kind")
        if value is None or kind is None:
            return value
        usual = limits.retry_limit_preset(kind)
        known = [key for key, name in _FIGURES.items() if getattr(usual, name) is not None]
        if kind != "token-bucket" and "earned_by" in known:
            # Which of them earns is what tells these two budgets apart.
            known.remove("earned_by")
        if info.field_name not in known:
            raise UnitError(f"is no figure of {kind}", ", ".join(cls.base(key) for key in known))
        return value

    def preset(self, attempts: int | None) -> limits.RetryLimitPreset:
        """The usual figures of the kind with this scenario's in their place."""
        usual = limits.retry_limit_preset(self.kind)
        own: dict[str, Any] = {name: getattr(self, key) for key, name in _FIGURES.items()}
        if self.window_min is not None:
            own["window_s"] = self.window_min * 60
        own["attempts"] = attempts
        return replace(usual, **{name: value for name, value in own.items() if value is not None})


class WorkerPool(Section):
    """Where requests of a burst wait and are served: a queue with a bound, a number of workers, or both."""

    owner: Annotated[MaybeLabel, Field(description="Who carries out the changes.")] = None
    queue: Annotated[MaybeCount, Field(description="Requests that can wait; none: any number.")] = None
    workers: Annotated[
        MaybeCount,
        if_given(ge=1),
        Field(description="Requests served at once; none: no pool, each is served as it comes."),
    ] = None
    burst: Annotated[Count, Field(ge=1, le=MOST_REQUESTS, description="Requests that come together.")]
    burst_over_s: Annotated[Seconds, Field(description="Time over which they come, evenly; zero: in one instant.")] = (
        0.0
    )
    item_time_s: Annotated[Seconds, Field(gt=0, description="Time that one request takes.")]
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None


class Idempotency(Section):
    """What keeps a queue's side effects from happening twice when work is delivered or tried again."""

    key_life_min: Annotated[
        MaybeMinutes, if_given(gt=0), Field(description="How long a key is kept; none: there are no keys.")
    ] = None
    failure_share: Annotated[
        Share, Field(lt=1, description="Share of tries that are seen to fail while the backlog is worked off.")
    ]
    effect_despite_failure: Annotated[
        Share,
        Field(description="Share of failed tries that had taken effect, such as time-outs after the work was done."),
    ]
    redelivery_share: Annotated[
        Share, Field(lt=1, description="Share of items that come again although they were done.")
    ] = 0.0
    tries: Annotated[
        MaybeCount,
        if_given(ge=1, le=1000),
        Field(description="Tries in one delivery; those of the clients called if not given."),
    ] = None
    oldest_replay_min: Annotated[
        MaybeMinutes,
        if_given(gt=0),
        Field(description="Age of the oldest work that is replayed; from the queue's recovery if not given."),
    ] = None
    source: Annotated[MaybeLabel, Field(description="Where the figures come from.")] = None
