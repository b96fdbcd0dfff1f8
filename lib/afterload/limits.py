"""Published limits and client presets, each with its source, read from the shipped data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from afterload.errors import NotFoundError, UnitError
from afterload.model.budgets import AdaptiveThrottling, ConcurrencyBudget, RateBudget
from afterload.model.deadline import DeadlineAttempts
from afterload.model.jitter import Backoff, Jitter
from afterload.model.policies import (
    ErrorKind,
    FixedAttempts,
    RetryPolicy,
    RetryQuota,
    RetryThrottling,
    TokenBucketRetry,
)
from afterload.resources import resource
from afterload.yamltree import read_file

__all__ = [
    "RAMPS",
    "RETRY_LIMITS",
    "SOURCES",
    "RetryLimitPreset",
    "RetryPreset",
    "check_sdk",
    "client_preset",
    "fault_action",
    "limit",
    "ramp_preset",
    "retry_limit_preset",
    "value",
    "whole",
]

SOURCES = {
    "S": "library source or service model",
    "D": "vendor documentation",
    "D2": "secondary copy of vendor documentation",
    "P": "paper",
    "A": "provider's published summary of the event",
    "G": "recovery planning guide",
}


@dataclass(frozen=True)
class Limit:
    """One published figure with its unit and source."""

    key: str
    value: float
    unit: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class RetryPreset:
    """How a client retries, as its SDK, version and mode tell.

    Attributes:
        sdk, mode: the SDK, and the mode that it is in.
        attempts: tries of a call, the first one included; None: no count.
        quota: tokens of its retry quota; None: no limit.
        costs: tokens of a retry after each kind of error; a kind that takes none is not in it.
        source, note: where the figures are from, and what else to know of them.
        mode_known: False where the default mode depends on a version that is not given.
        figures_known: False where the figures of this mode do.
        deadline_s: seconds after which no retry is begun, where there is no count; None: no deadline.
        base_s, throttling_base_s, cap_s, jitter, first_at_once: waits as in
            :class:`~afterload.model.jitter.Backoff`, in seconds; ``base_s`` None: not known.
    """

    sdk: str
    mode: str
    attempts: int | None
    quota: int | None
    costs: Mapping[ErrorKind, int]
    source: str
    note: str = ""
    mode_known: bool = True
    figures_known: bool = True
    deadline_s: float | None = None
    base_s: float | None = None
    throttling_base_s: float | None = None
    cap_s: float | None = None
    jitter: Jitter = "full"
    first_at_once: bool = False

    def policy(self, error: ErrorKind = "transient", attempts: int | None = None) -> RetryPolicy | None:
        """The policy against one kind of error, with the team's own number of attempts if it sets one.

        None where neither a count nor a deadline is known, so that nothing can be computed.
        """
        tries = attempts or self.attempts
        backoff = self.backoff(error)
        if tries is None:
            known = self.deadline_s is not None and backoff is not None
            return DeadlineAttempts(backoff, self.deadline_s) if known and backoff and self.deadline_s else None
        if tries == 1 or self.quota is None or error not in self.costs:
            return FixedAttempts(tries)
        costs = {kind: self.costs.get(kind, self.costs[error]) for kind in ("transient", "throttling", "timeout")}
        return RetryQuota(tries, self.quota, costs["transient"], costs["throttling"], costs["timeout"])

    def backoff(self, error: ErrorKind = "transient") -> Backoff | None:
        """How the client waits after one kind of error; None where that is not known."""
        base_s = self.throttling_base_s if error == "throttling" and self.throttling_base_s else self.base_s
        if base_s is None:
            return None
        return Backoff(self.jitter, base_s, self.cap_s, first_at_once=self.first_at_once)


@dataclass(frozen=True)
class RetryLimitPreset:
    """The usual figures of one kind of limit on retries besides an SDK's own quota; a figure of another kind is None.

    Attributes:
        kind: its name in ``data/retry_limits.yaml``.
        source, note: where the figures are from.
        attempts: tries of a call, the first one included; None: as many as the limit lets through.
        max_tokens, token_ratio, retry_cost: of a bucket: its size, what a success earns, and what a retry takes.
        budget_share: of a budget: retries allowed for each call that earns, or share of what is in flight.
        least: retries in flight allowed in any case.
        least_per_s: retries a second allowed in any case.
        window_s: seconds of history.
        multiplier: requests let through for one that is accepted.
        earned_by: what earns: every "call", or what ends well ("outcome", "success").
    """

    kind: str
    source: str
    note: str = ""
    attempts: int | None = None
    max_tokens: float | None = None
    token_ratio: float | None = None
    retry_cost: float | None = None
    budget_share: float | None = None
    least: float | None = None
    least_per_s: float | None = None
    window_s: float | None = None
    multiplier: float | None = None
    earned_by: str | None = None

    def policy(self) -> RetryPolicy:
        """The policy with these figures."""
        if self.kind == "grpc-throttling":
            return RetryThrottling(self.attempts or 1, _sure(self.max_tokens), _sure(self.token_ratio))
        if self.kind == "envoy-budget":
            return ConcurrencyBudget(self.attempts or 1, _sure(self.budget_share), _sure(self.least))
        if self.kind == "google-adaptive-throttling":
            return AdaptiveThrottling(self.attempts or 1, _sure(self.multiplier), _sure(self.window_s))
        if self.kind == "token-bucket":
            by_call, ratio = self.earned_by == "call", _sure(self.token_ratio)
            return TokenBucketRetry(
                self.attempts, _sure(self.max_tokens), ratio if by_call else 0.0, 0.0 if by_call else ratio,
                _sure(self.retry_cost),
            )  # fmt: skip
        return RateBudget(
            self.attempts or 1, _sure(self.budget_share), _sure(self.least_per_s), _sure(self.window_s),
            "call" if self.earned_by == "call" else "outcome",
        )  # fmt: skip


def _sure(figure: float | None) -> float:
    if figure is None:
        raise NotFoundError("data/retry_limits.yaml lacks a figure of this kind of limit: please report this")
    return figure


@cache
def _table(name: str) -> dict[str, Any]:
    tree, _ = read_file(resource("data", name))
    table: dict[str, Any] = tree.data
    return table


@cache
def limit(key: str) -> Limit:
    """One published figure by its key in ``data/limits.yaml``. Raises :class:`NotFoundError`."""
    table = _table("limits.yaml")
    if key not in table:
        raise NotFoundError(f"there is no limit {key!r}; known: {', '.join(sorted(table))}")
    row = table[key]
    return Limit(key, float(row["value"]), row["unit"], SOURCES[row["source"]], row.get("note") or "")


def value(key: str) -> float:
    """Value of one published figure, in the unit that its entry names."""
    return limit(key).value


def whole(key: str) -> int:
    """Value of one published figure that is a whole number."""
    return round(limit(key).value)


@dataclass(frozen=True)
class FaultAction:
    """An action of a fault injection service.

    Attributes:
        action: its id.
        resource_type, target: what it acts on, and the name under which an action takes such targets.
        parameters: what each takes: ``duration``, ``text``, ``percentage``, or the list of its values.
    """

    action: str
    resource_type: str
    target: str
    parameters: Mapping[str, str | tuple[str, ...]]


@cache
def fault_action(kind: str) -> FaultAction:
    """The action for one kind of fault in ``data/fault_actions.yaml``. Raises :class:`NotFoundError`."""
    table = _table("fault_actions.yaml")
    if kind not in table:
        raise NotFoundError(f"there is no action for the fault {kind!r}; known: {', '.join(table)}")
    row = table[kind]
    takes = {name: tuple(item) if isinstance(item, list) else str(item) for name, item in row["parameters"].items()}
    return FaultAction(row["action"], row["resource_type"], row["target"], takes)


# Named consumer ramps, with the beginning of the keys of their numbers.
RAMPS = {"lambda-sqs": "lambda.sqs.ramp"}


def ramp_preset(name: str) -> dict[str, int]:
    """Start, growth a minute and ceiling of a named consumer ramp. Raises :class:`UnitError`."""
    if name not in RAMPS:
        raise UnitError(f"{name!r} is not a known ramp", f"{', '.join(RAMPS)}, or start, per_min and ceiling")
    prefix = RAMPS[name]
    return {part: whole(f"{prefix}.{part}") for part in ("start", "per_min", "ceiling")}


def check_sdk(name: str) -> None:
    """Raise :class:`UnitError` unless the SDK has a preset."""
    known = sorted(_table("clients.yaml"))
    if name not in known:
        near = get_close_matches(name.lower(), known, 1, 0.4)
        hint = f"; nearest: {near[0]}" if near else ""
        raise UnitError(f"{name!r} is not a known SDK{hint}", ", ".join(known))


@cache
def client_preset(sdk: str, version: str | None, mode: str, service: str = "other") -> RetryPreset:
    """How a client with this SDK, version and mode retries.

    Where the default mode, or the figures of a mode, changed between versions, a missing version gives the older
    behaviour with ``mode_known`` or ``figures_known`` false. Raises :class:`UnitError` for an unknown SDK, a mode
    that the SDK does not have, or a version without leading numbers.
    """
    check_sdk(sdk)
    table = _table("clients.yaml")[sdk]
    known = True
    if mode == "default":
        rule, known = _of_version(table["default"], version)
        mode = rule["mode"]
    if mode not in table:
        have = ", ".join(name for name in table if name != "default")
        raise UnitError(f"{sdk} has no preset for mode {mode}", f"default, {have}")
    rows = table[mode] if isinstance(table[mode], list) else [table[mode]]
    row, figures_known = _of_version(rows, version)
    row = {**row, **(row.get(service) or {})}
    names: dict[str, ErrorKind] = {"cost": "transient", "throttling_cost": "throttling", "timeout_cost": "timeout"}
    return RetryPreset(
        sdk=sdk,
        mode=mode,
        attempts=_whole_or_none(row["attempts"]),
        quota=_whole_or_none(row["quota"]),
        costs={kind: int(row[name]) for name, kind in names.items() if row.get(name, "none") != "none"},
        source=SOURCES[row["source"]],
        note=row.get("note") or "",
        mode_known=known,
        figures_known=figures_known,
        deadline_s=_number_or_none(row.get("deadline_s")),
        base_s=_number_or_none(row.get("base_s")),
        throttling_base_s=_number_or_none(row.get("throttling_base_s")),
        cap_s=_number_or_none(row.get("cap_s")),
        jitter=row.get("jitter", "full"),
        first_at_once=bool(row.get("first_at_once")),
    )


# What else can hold retries back, by the names of data/retry_limits.yaml.
RETRY_LIMITS = (
    "grpc-throttling",
    "envoy-budget",
    "finagle-budget",
    "linkerd-budget",
    "google-adaptive-throttling",
    "token-bucket",
)


def retry_limit_preset(kind: str) -> RetryLimitPreset:
    """The usual figures of a kind of limit on retries. Raises :class:`UnitError` for an unknown one."""
    table = _table("retry_limits.yaml")
    if kind not in table:
        near = get_close_matches(kind.lower(), table, 1, 0.4)
        raise UnitError(f"{kind!r} is not a known limit{f'; nearest: {near[0]}' if near else ''}", ", ".join(table))
    row = dict(table[kind])
    figures = {name: value if name == "earned_by" else _number_or_none(value) for name, value in row.items()}
    figures |= {"attempts": _whole_or_none(row["attempts"]), "source": SOURCES[row["source"]], "note": row["note"]}
    return RetryLimitPreset(kind=kind, **figures)  # type: ignore[arg-type]


def _whole_or_none(given: Any) -> int | None:
    return None if given == "none" else int(given)


def _number_or_none(given: Any) -> float | None:
    return None if given in (None, "none") or isinstance(given, str) else float(given)


def _of_version(rules: list[dict[str, Any]], version: str | None) -> tuple[dict[str, Any], bool]:
    """The rule for a version, and whether that is sure; without a version the oldest."""
    for rule in rules:
        before = rule.get("before")
        if before is None or version is None or _numbers(version) < _numbers(before):
            return rule, before is None or version is not None
    return rules[-1], True


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.strip().lstrip("v").split(".")
    found = []
    for part in parts:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits or len(digits) > 18:
            break
        found.append(int(digits))
    if not found:
        raise UnitError(f"{version[:60]!r} is not a version", 'numbers with dots, such as "1.44.8"')
    return tuple(found)
