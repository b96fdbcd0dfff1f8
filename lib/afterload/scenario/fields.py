"""Typed fields of a scenario, and the base of its sections.

A quantity can be written two ways: as text with its unit under its plain name (``arrival_rate: 1,200/min``) or as a
bare number with its unit in the name (``arrival_rate_per_min: 1200``). In Python the field always has the name with
the unit, and always holds that unit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError

from afterload import units
from afterload.errors import UnitError
from afterload.yamltree import WrittenFloat, WrittenInt

__all__ = [
    "Count",
    "Given",
    "Inside",
    "Instant",
    "Label",
    "MaybeCount",
    "MaybeFigure",
    "MaybeInstant",
    "MaybeLabel",
    "MaybeMinutes",
    "MaybeNumber",
    "MaybePath",
    "MaybeRate",
    "MaybeRatePerSecond",
    "MaybeSeconds",
    "MaybeShare",
    "Minutes",
    "Quantity",
    "Ranged",
    "Rate",
    "RatePerSecond",
    "Rates",
    "Seconds",
    "Section",
    "Share",
    "Text",
    "Zone",
    "element_of",
    "holds_text",
    "if_given",
    "label_in",
    "none_is_none",
    "quantity_of",
    "read_instant_in",
    "section_in",
]

# What helps where a person writes the file itself.
QUOTES = "; put quotes around it"


@dataclass(frozen=True)
class Quantity:
    """How a field that holds a quantity can be written: its kind, the unit it holds, and the keys for it."""

    kind: str
    suffix: str
    many: bool = False
    whole_name: bool = False

    @property
    def suffixes(self) -> dict[str, float]:
        """Factor of each accepted unit suffix to the unit that the field holds."""
        table = units.RATE_SUFFIXES if self.kind == "rate" else units.DURATION_SUFFIXES
        return {suffix: factor / table[self.suffix] for suffix, factor in table.items()}

    def base(self, name: str) -> str:
        """Key of the text form: ``age_limit`` for the field ``age_limit_min``."""
        return name if self.whole_name else name.removesuffix(f"_{self.suffix}")

    def keys(self, name: str) -> dict[str, float | None]:
        """Every key under which the field can be written, with its factor (None: text with its unit)."""
        base = self.base(name)
        return {base: None, **{f"{base}_{suffix}": factor for suffix, factor in self.suffixes.items()}}

    @property
    def example(self) -> str:
        """A value that would be accepted as text."""
        examples = {"per_min": '"1,200/min"', "per_s": '"2/s"', "s": '"2 s"'}
        return examples.get(self.suffix, '"15 min"')

    def read(self, value: Any, factor: float | None) -> float:
        """Read one value: a bare number times ``factor``, or text with its unit where it is None."""
        table = units.RATE_SUFFIXES if self.kind == "rate" else units.DURATION_SUFFIXES
        if factor is not None:
            number = units.read_number(value) * factor
            if self.kind == "duration":
                units.check_duration_min(number * table[self.suffix], f"{value} in this unit")
        elif self.kind == "rate":
            number = units.read_rate_per_min(value) / table[self.suffix]
        else:
            number = units.read_duration_min(value) / table[self.suffix]
        # Both forms of one quantity give the same number, whatever the order of the divisions.
        return float(f"{number:.15g}")


@dataclass(frozen=True)
class Ranged:
    """Says that a field can have a range: which input of the coupled model it is, and how an end without a unit is read."""

    model: str
    read: Callable[[object], float] = units.read_number
    least: float = 0.0


@dataclass(frozen=True)
class Given:
    """A value as a person wrote it, with the keys under which it stood."""

    keys: tuple[str, ...]
    value: Any
    factor: float | None

    def checked(self) -> Any:
        """The value, once it is sure that it was given only once."""
        if len(self.keys) > 1:
            raise UnitError(f"is given twice, as {' and as '.join(self.keys)}", "one of them")
        return self.value


def _reader(quantity: Quantity, optional: bool = False) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        factor: float | None = 1.0
        if isinstance(value, Given):
            factor, value = value.factor, value.checked()
        if optional and (value is None or value == "none"):
            return None
        if not quantity.many:
            return quantity.read(value, factor)
        if not isinstance(value, list | tuple):
            raise UnitError(f"{value!r} is not a list", f"a list of values such as {quantity.example}")
        found = []
        for place, item in enumerate(value):
            try:
                found.append(quantity.read(item, factor))
            except UnitError as problem:
                raise UnitError(f"item {place}: {problem.message}", problem.accepted) from None
        return tuple(found)

    return read


def _quantity(kind: str, suffix: str, optional: bool = False, many: bool = False) -> tuple[Quantity, BeforeValidator]:
    quantity = Quantity(kind, suffix, many)
    return quantity, BeforeValidator(_reader(quantity, optional))


_RATE, _DURATION = _quantity("rate", "per_min"), _quantity("duration", "min")
Rate = Annotated[float, _RATE[0], _RATE[1]]
MaybeRate = Annotated[float | None, _RATE[0], _quantity("rate", "per_min", optional=True)[1]]
Rates = Annotated[tuple[float, ...] | None, *_quantity("rate", "per_min", optional=True, many=True)]
Minutes = Annotated[float, _DURATION[0], _DURATION[1]]
MaybeMinutes = Annotated[float | None, _DURATION[0], _quantity("duration", "min", optional=True)[1]]
Seconds = Annotated[float, *_quantity("duration", "s")]
MaybeSeconds = Annotated[float | None, *_quantity("duration", "s", optional=True)]
RatePerSecond = Annotated[float, *_quantity("rate", "per_s")]
MaybeRatePerSecond = Annotated[float | None, *_quantity("rate", "per_s", optional=True)]


def _label(value: Any) -> str:
    if isinstance(value, WrittenInt | WrittenFloat):
        value = value.text
    if not isinstance(value, str):
        raise UnitError(f"{value!r} is not text", f"text{QUOTES}")
    text = value.strip()
    if not text:
        raise UnitError("is empty", "some text")
    if len(text) > 200 or not text.isprintable():
        raise UnitError(f"{text[:40]!r}... is not one short line", "at most 200 printable characters")
    return text


def _maybe_label(value: Any) -> str | None:
    return None if value is None or value == "none" else _label(value)


def label_in(value: Any) -> str | None:
    """A label in raw data; None where it is absent, none or not one."""
    try:
        return _maybe_label(value)
    except UnitError:
        return None


def _text(value: Any) -> str:
    if isinstance(value, WrittenInt | WrittenFloat):
        value = value.text
    if not isinstance(value, str) or not value.strip():
        raise UnitError(f"{value!r} is not text" if not isinstance(value, str) else "is empty", "some text")
    text = value.strip()
    if len(text) > 20_000 or not text.replace("\n", " ").replace("\t", " ").isprintable():
        raise UnitError(f"{text[:40]!r}... is not plain text", "at most 20,000 printable characters")
    return text


def _maybe_path(value: Any) -> str | None:
    if value is None or value == "none":
        return None
    if not isinstance(value, str) or not value.strip():
        raise UnitError(f"{value!r} is not a path", "a path relative to the scenario file, or builtin:NAME")
    return value


def _none(value: Any) -> Any:
    return None if value == "none" else value


none_is_none = BeforeValidator(_none)


def read_instant_in(value: Any, info: ValidationInfo) -> datetime:
    """A time with an offset; what it could be in the team's zone is said where it has none."""
    zone = (info.context or {}).get("zone")
    return units.read_instant(value, zone if isinstance(zone, tzinfo) else None)


# A number, or the text of one with thousands commas.
_BARE_NUMBER = {"type": ["number", "string"], "minimum": 0, "pattern": r"^[0-9][0-9,]*(\.[0-9]+)?$"}
_STRING: JsonSchemaValue = {"type": "string"}
_LABEL: JsonSchemaValue = {"type": ["string", "number"], "minLength": 1, "maxLength": 200}

Label = Annotated[str, BeforeValidator(_label), WithJsonSchema(_LABEL)]
MaybeLabel = Annotated[
    str | None, BeforeValidator(_maybe_label), WithJsonSchema({"type": ["string", "number", "null"]})
]
MaybePath = Annotated[str | None, BeforeValidator(_maybe_path), WithJsonSchema({"type": ["string", "null"]})]
Zone = Annotated[
    ZoneInfo, BeforeValidator(units.read_zone), WithJsonSchema({**_STRING, "examples": ["America/Los_Angeles"]})
]
Instant = Annotated[
    datetime,
    BeforeValidator(read_instant_in),
    WithJsonSchema({**_STRING, "examples": ["2025-10-19T23:48-07:00"], "pattern": r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"}),
]
MaybeInstant = Annotated[
    datetime | None,
    BeforeValidator(lambda value, info: None if value is None or value == "none" else read_instant_in(value, info)),
    WithJsonSchema({"type": ["string", "null"], "examples": ["2025-10-19T23:48-07:00"]}),
]
Text = Annotated[str, BeforeValidator(_text), WithJsonSchema({**_STRING, "minLength": 1, "maxLength": 20_000})]
Count = Annotated[
    int,
    BeforeValidator(units.read_count),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9,]+$"}]}),
]
MaybeCount = Annotated[
    int | None,
    BeforeValidator(lambda value: None if value is None or value == "none" else units.read_count(value)),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": ["string", "null"]}]}),
]

MaybeFigure = Annotated[
    float | None,
    BeforeValidator(lambda value: None if value is None or value == "none" else units.read_number(value)),
    WithJsonSchema({"anyOf": [_BARE_NUMBER, {"type": "null"}, {"const": "none"}]}),
]


def _maybe_number(value: Any) -> float | None:
    if value is None or value == "none":
        return None
    number = units.read_number(value)
    if number < 1:
        raise UnitError(f"{value} is less than one", "1 or more attempts")
    return number


MaybeNumber = Annotated[
    float | None,
    BeforeValidator(_maybe_number),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1}, {"type": ["string", "null"]}]}),
]
Share = Annotated[
    float,
    BeforeValidator(units.read_share),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": "%$"}]}),
]
MaybeShare = Annotated[
    float | None,
    BeforeValidator(lambda value: None if value is None or value == "none" else units.read_share(value)),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": ["string", "null"]}]}),
]


def if_given(
    *, ge: float | None = None, gt: float | None = None, le: float | None = None, lt: float | None = None
) -> AfterValidator:
    """Bounds of a field that may be none, refused in the words of ``Field``'s own bounds, which cannot stand a none."""
    kinds = (
        ("greater_than_equal", "ge", ge, operator.ge),
        ("greater_than", "gt", gt, operator.gt),
        ("less_than_equal", "le", le, operator.le),
        ("less_than", "lt", lt, operator.lt),
    )

    def check(value: Any) -> Any:
        for kind, name, bound, holds in kinds:
            if value is not None and bound is not None and not holds(value, bound):
                raise PydanticKnownError(kind, {name: bound})  # type: ignore[arg-type]
        return value

    return AfterValidator(check)


def quantity_of(metadata: Iterable[Any]) -> Quantity | None:
    """The quantity that a field's metadata declares, if any."""
    return next((item for item in metadata if isinstance(item, Quantity)), None)


class Section(BaseModel):
    """Base of every part of a scenario: frozen, no unknown keys, quantities with their units."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    # A class never changes, and every key of every file asks for these.
    @classmethod
    @cache
    def quantities(cls) -> Mapping[str, Quantity]:
        """The fields that hold quantities."""
        found = ((name, quantity_of(field.metadata)) for name, field in cls.model_fields.items())
        return MappingProxyType({name: quantity for name, quantity in found if quantity is not None})

    @classmethod
    def base(cls, name: str) -> str:
        """Key of a field without a unit: ``age_limit`` for ``age_limit_min``."""
        quantity = cls.quantities().get(name)
        return quantity.base(name) if quantity else name

    @classmethod
    @cache
    def keys(cls) -> Mapping[str, str]:
        """Every key that may be written, with the field that it fills."""
        known: dict[str, str] = {}
        for name in cls.model_fields:
            quantity = cls.quantities().get(name)
            known.update(dict.fromkeys(quantity.keys(name) if quantity else (name,), name))
        return MappingProxyType(known)

    short_form: ClassVar[JsonSchemaValue | None] = None  # JSON Schema of the text that from_text takes

    follows: ClassVar[tuple[str, ...]] = ()  # fields without a default that follow from what else is given

    @classmethod
    def from_text(cls, text: str) -> dict[str, Any] | None:
        """What a short form, such as a name alone, stands for; None if the section has no short form."""
        return None

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        left = dict(data)
        for name, quantity in cls.quantities().items():
            options = quantity.keys(name)
            present = tuple(key for key in options if key in left)
            if not present:
                continue
            values = [left.pop(key) for key in present]
            if quantity.whole_name and isinstance(values[0], dict | BaseModel) and present == (name,):
                left[name] = values[0]
            elif not (present == (name,) and isinstance(values[0], Given)):
                left[name] = Given(present, values[0], options[present[0]])
        return left

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        properties = schema.get("properties", {})
        required = [name for name in schema.get("required", []) if name not in cls.follows]
        schema["required"] = required
        for name, quantity in cls.quantities().items():
            if name not in properties:
                continue
            field = cls.model_fields[name]
            own = properties.pop(name)
            choices: list[dict[str, Any]] = []
            for key, factor in quantity.keys(name).items():
                one: dict[str, Any] = {"type": "string"} if factor is None else dict(_BARE_NUMBER)
                if quantity.many:
                    one = {"type": "array", "items": one}
                if quantity.whole_name and factor is None:
                    one = {"anyOf": [one, own]}
                elif not field.is_required():
                    one = {"anyOf": [one, {"type": "null"}]}
                unit = "" if factor is None else f" As a bare number, in {key.removeprefix(quantity.base(name) + '_')}."
                properties[key] = {**one, "description": f"{field.description or ''}{unit}".strip()}
                choices.append({"required": [key]})
            if name in required:
                required.remove(name)
            else:
                choices.append({"not": {"anyOf": list(choices)}})
            schema.setdefault("allOf", []).append({"oneOf": choices})
        for name, field in cls.model_fields.items():
            if none_is_none in field.metadata:
                properties[name].setdefault("anyOf", []).append({"const": "none"})
        if not required:
            schema.pop("required", None)
        if cls.short_form is not None:
            own = dict(schema)
            schema.clear()
            schema["anyOf"] = [cls.short_form, own]
        return schema


@dataclass(frozen=True)
class Inside:
    """A section that is one key or index further down: the values of a mapping or a list."""

    section: type[Section]


def section_in(annotation: Any) -> type[Section] | Inside | None:
    """The section inside an annotation such as ``Fleet | None``; of a container, wrapped in :class:`Inside`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    inner = [found for found in map(section_in, get_args(annotation)) if found is not None]
    if not inner:
        return None
    first = inner[0].section if isinstance(inner[0], Inside) else inner[0]
    return Inside(first) if isinstance(inner[0], Inside) or get_origin(annotation) in (dict, tuple, list) else first


_TEXT_READERS = (_label, _maybe_label, _text, _maybe_path)


def holds_text(annotation: Any) -> bool:
    """Whether a field, or a type inside its annotation, holds text, so that ``12`` there is a name and no number."""
    if isinstance(annotation, FieldInfo):
        return _reads_text(annotation.metadata) or holds_text(annotation.annotation)
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return _reads_text(metadata) or holds_text(inner)
    if annotation is str:
        return True
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    given = [option for option in options if option is not NoneType]
    return bool(given) and all(map(holds_text, given))


def _reads_text(metadata: Iterable[Any]) -> bool:
    return any(isinstance(item, BeforeValidator) and item.func in _TEXT_READERS for item in metadata)


def element_of(annotation: Any) -> Any:
    """What a field, or a type inside its annotation, has in each place of its list or under each key; None if nothing."""
    if isinstance(annotation, FieldInfo):
        return element_of(annotation.annotation)
    if get_origin(annotation) is Annotated:
        return element_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return next((found for found in map(element_of, get_args(annotation)) if found is not None), None)
    args = get_args(annotation)
    if get_origin(annotation) in (dict, Mapping):
        return args[1]
    return args[0] if get_origin(annotation) in (list, tuple) and args else None
