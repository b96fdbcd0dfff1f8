"""Parts of a scenario that say what its numbers rest on: evidence, exports, telemetry, and the account of the event."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from afterload.errors import UnitError
from afterload.scenario.fields import Label, MaybeInstant, MaybeLabel, MaybePath, Section, Text
from afterload.units import read_number

__all__ = ["Action", "Evidence", "Export", "ImpactNumber", "Interaction", "Live", "Postmortem", "Role", "Telemetry"]

_NUMBER: dict[str, Any] = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9]"}]}


class Evidence(Section):
    """Where one value came from. It speaks for the value only while that is still the one written here."""

    basis: Annotated[
        Literal["measured", "default", "guessed"],
        Field(description="measured: seen in an export; default: the service's own; guessed: nobody measured it."),
    ]
    value: Annotated[Any, Field(description="The value as it was then; a value changed since has other evidence.")]
    file: Annotated[MaybeLabel, Field(description="File it was read from.")] = None
    place: Annotated[MaybeLabel, Field(description="Row, line or field in that file.")] = None
    exported_at: Annotated[MaybeInstant, Field(description="When the export was made, with an offset.")] = None
    source: Annotated[MaybeLabel, Field(description="For a default: where it is published.")] = None


class Export(Section):
    """A file of settings from the cloud provider's command line or from Terraform, for the audit."""

    file: Annotated[Label, Field(description="Path relative to the scenario file.")]
    exported_at: Annotated[MaybeInstant, Field(description="When it was made; the file's date if not given.")] = None
    sha256: Annotated[
        MaybeLabel, Field(description="SHA-256 of the file when it was dated: another content has the file's own date.")
    ] = None
    subject: Annotated[
        MaybeLabel, Field(description="The function or target group it is about, where the file does not say.")
    ] = None


class Telemetry(Section):
    """One measured series of the incident, for the measured recovery and the back-test."""

    file: Annotated[Label, Field(description="Path relative to the scenario file: CloudWatch, Prometheus or CSV.")]
    series: Annotated[
        MaybeLabel, Field(description="Name of the series in it; not needed where the file has one only.")
    ] = None
    signal: Annotated[
        Literal[
            "first_attempt_age", "errors", "latency", "arrivals", "served", "backlog", "attempts", "requests", "other"
        ],
        Field(description="What it measures."),
    ]
    queue: Annotated[MaybeLabel, Field(description="Name of the queue that it is about.")] = None
    layer: Annotated[MaybeLabel, Field(description="For attempts: the layer of the call stack.")] = None
    exported_at: Annotated[MaybeInstant, Field(description="When it was made; the file's date if not given.")] = None
    sha256: Annotated[MaybeLabel, Field(description="SHA-256 of the file when it was dated.")] = None
    unit: Annotated[
        Literal["s", "ms", "min", "items", "per_s", "per_min", "share", "percent", "count"] | None,
        Field(description="Unit of its values where the file does not say; count: items in a period."),
    ] = None


class Live(Section):
    """A recovery that is going on: readings of one queue, as ``afterload eta --log`` keeps them."""

    queue: Annotated[Label, Field(description="Name of the queue.")]
    log: Annotated[
        Label,
        Field(
            description="CSV of readings, relative to the scenario file: at, queue, depth, age_min and more; it may be begun "
            "later."
        ),
    ]


class ImpactNumber(Section):
    """One number of the impact, as the team counted it."""

    what: Annotated[Label, Field(description="What was counted: orders confirmed late, calls to support.")]
    value: Annotated[
        float, BeforeValidator(read_number), Field(description="How many."), WithJsonSchema(_NUMBER, mode="validation")
    ]
    unit: Annotated[Label, Field(description="Of what: orders, min, percent.")]
    source: Annotated[MaybeLabel, Field(description="Where it was counted.")] = None


class Role(Section):
    """A role in the response and the team or rota that held it; names of persons are not needed."""

    role: Annotated[Label, Field(description="Such as incident lead, communication.")]
    held_by: Annotated[Label, Field(description="Team or rota.")]


class Interaction(Section):
    """An interaction that was not controlled well enough: who acted, on what feedback, and what was missing."""

    controller: Annotated[Label, Field(description="Who or what decided: an automation, a team.")]
    action: Annotated[Label, Field(description="What it did, or did not do.")]
    feedback: Annotated[Label, Field(description="What it saw.")]
    missing: Annotated[Label, Field(description="What would have kept it safe.")]


class Action(Section):
    """Something to be done after the event."""

    text: Annotated[Label, Field(description="What is to be done.")]
    owner: Annotated[MaybeLabel, Field(description="Who does it.")] = None
    due: Annotated[MaybeLabel, Field(description="Date, as 2025-12-01.")] = None
    status: Annotated[Literal["open", "in progress", "done", "dropped"], Field(description="How far it is.")] = "open"
    change: Annotated[
        MaybeLabel,
        Field(description="Line of the change plan that it carries out, by its id, as age-limit:queues.orders."),
    ] = None

    @field_validator("due")
    @classmethod
    def _is_a_date(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise UnitError(f"{value!r} is not a date", "a date such as 2025-12-01") from None


class Postmortem(Section):
    """The team's account of the event, beside what is computed and measured."""

    summary: Annotated[Text, Field(description="What happened, in a few sentences.")]
    impact: Annotated[Text | None, Field(description="Who noticed what.")] = None
    impact_numbers: Annotated[tuple[ImpactNumber, ...], Field(description="Numbers of the impact.")] = ()
    roles: Annotated[tuple[Role, ...], Field(description="Who held which role in the response.")] = ()
    detected_at: Annotated[
        MaybeInstant, Field(description="When the team knew, with an offset; not before incident.trigger.")
    ] = None
    detected_by: Annotated[MaybeLabel, Field(description="What told the team: an alarm, a caller.")] = None
    mitigated_at: Annotated[
        MaybeInstant, Field(description="When the harm was bounded; not before it was detected.")
    ] = None
    recovered_at: Annotated[
        MaybeInstant, Field(description="When everything was normal again; not before incident.restored_at.")
    ] = None
    timeline: Annotated[
        MaybePath, Field(description="CSV of the team's own entries, in the form of incident.timeline.")
    ] = None
    trigger_kind: Annotated[Literal["load spike", "capacity decrease"] | None, Field(description="What began it.")] = (
        None
    )
    sustained_by: Annotated[
        tuple[
            Literal[
                "workload amplification", "capacity degradation amplification", "backlog", "launch limits", "nothing"
            ],
            ...,
        ],
        Field(description="What kept it going after the trigger was gone; [nothing] if it ended with it."),
    ] = ()
    interactions: Annotated[
        tuple[Interaction, ...], Field(description="Interactions that were not controlled well enough.")
    ] = ()
    actions: Annotated[tuple[Action, ...], Field(description="What is to be done.")] = ()

    @field_validator("sustained_by")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise UnitError(f"names {next(name for name in value if value.count(name) > 1)} twice", "each class once")
        if "nothing" in value and len(value) > 1:
            raise UnitError("names nothing beside something", "[nothing], or the classes without it")
        return value
