"""The numbers of botocore's retry modes, and how many sends a user's settings allow.

Source: botocore, ``retries/standard.py``, ``retries/quota.py``, ``retryhandler.py``, ``data/_retry.json`` and, for the
settings, ``args.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from afterload.errors import ModelError
from afterload.model.checks import number, whole

__all__ = ["Answer", "Mode", "Outcome", "RetryRules", "attempts_from_settings", "botocore_rules"]

Mode: TypeAlias = Literal["legacy", "standard", "adaptive"]
Outcome: TypeAlias = Literal["success", "transient", "throttling", "timeout", "rejected"]

_DYNAMODB = ("dynamodb", "dynamodb-streams")
_RETRY_AFTER_EXTRA_S = 5.0


@dataclass(frozen=True)
class Answer:
    """How one send ends.

    Attributes:
        outcome: "transient" is a status of 500, 502, 503 or 504 or a lost connection, "timeout" a connect or read
            timeout, "rejected" an error that is not retried, such as a validation error.
        retry_after_ms: ``x-amz-retry-after`` header of the answer in milliseconds; ``None`` for none. A timeout
            carries no header.

    Raises:
        ModelError: an unknown outcome, or a header that is negative, no whole number or on a timeout.
    """

    outcome: Outcome
    retry_after_ms: int | None = None

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):
            raise ModelError(f"outcome is {self.outcome!r}; give one of {', '.join(get_args(Outcome))}")
        if self.retry_after_ms is not None:
            whole("retry_after_ms", self.retry_after_ms, least=0)
            if self.outcome == "timeout":
                raise ModelError("retry_after_ms is set on a timeout, which brings no answer and no header")


@dataclass(frozen=True)
class RetryRules:
    """The numbers of one retry mode of one client.

    Attributes:
        max_attempts: most sends of a call, the first one included.
        capacity: tokens in a full quota; ``None`` for no quota.
        transient_cost, throttling_cost, timeout_cost: tokens for a retry after each kind of error.
        gain: tokens given by a first send that succeeds.
        transient_base_s, throttling_base_s: longest wait before the first retry; it doubles with each retry.
        cap_s: longest wait of all; ``None`` for none.
        jittered: whether a wait is that longest wait times a random number from 0 to 1, or the longest wait itself.
        heeds_retry_after: whether the header prolongs the wait, by 5 s at most.
        polls_wait: whether a long poll waits before it fails for want of quota.
        rate_limited: whether throttling errors turn a client rate limiter on.

    Raises:
        ModelError: a value out of its range.
    """

    max_attempts: int
    capacity: int | None = 500
    transient_cost: int = 14
    throttling_cost: int = 5
    timeout_cost: int = 14
    gain: int = 1
    transient_base_s: float = 0.05
    throttling_base_s: float = 1.0
    cap_s: float | None = 20.0
    jittered: bool = True
    heeds_retry_after: bool = True
    polls_wait: bool = True
    rate_limited: bool = False

    def __post_init__(self) -> None:
        whole("max_attempts", self.max_attempts)
        if self.capacity is not None:
            whole("capacity", self.capacity)
        for name in ("transient_cost", "throttling_cost", "timeout_cost", "gain"):
            whole(name, getattr(self, name))
        number("transient_base_s", self.transient_base_s)
        number("throttling_base_s", self.throttling_base_s)
        if self.cap_s is not None:
            number("cap_s", self.cap_s)

    def cost(self, outcome: Outcome) -> int:
        """Tokens that a retry takes after this outcome."""
        return {"throttling": self.throttling_cost, "timeout": self.timeout_cost}.get(outcome, self.transient_cost)

    def wait_s(self, answer: Answer, attempt: int, uniform: float) -> float:
        """Seconds before the next send.

        Parameters:
            answer: how the last send ended.
            attempt: its number; the first is 1, and its longest wait is the base.
            uniform: random number from 0 to below 1.
        """
        base_s = self.throttling_base_s if answer.outcome == "throttling" else self.transient_base_s
        longest_s = base_s * 2.0 ** (attempt - 1)
        if self.cap_s is not None:
            longest_s = min(longest_s, self.cap_s)
        own_s = uniform * longest_s if self.jittered else longest_s
        if not self.heeds_retry_after or answer.retry_after_ms is None:
            return own_s
        return max(own_s, min(answer.retry_after_ms / 1000.0, _RETRY_AFTER_EXTRA_S + own_s))


def botocore_rules(
    mode: Mode = "standard", *, service: str = "other", since_1_44: bool = True, max_attempts: int | None = None
) -> RetryRules:
    """The rules of a botocore client.

    Parameters:
        mode: retry mode; the default mode is standard since 1.44 and legacy before.
        service: identifier of the service with hyphens, such as "dynamodb" or "sqs".
        since_1_44: whether botocore is 1.44 or newer (or an older one that has opted in).
        max_attempts: sends set by the user, the first one included; see :func:`attempts_from_settings`.

    Raises:
        ModelError: an unknown mode, or attempts that are no whole number of at least 1.

    Source: botocore 1.43 and 1.44. Legacy: 5 sends and ``random x 2^(n-1)`` s, DynamoDB 10 sends and
    ``0.05 x 2^(n-1)`` s without jitter. Standard before 1.44: 3 sends for every service, ``random x 2^(n-1)`` s up to
    20 s, cost 5, timeouts 10. Since: 3 sends, DynamoDB 4, cost 14, throttling 5, base 0.05 s (DynamoDB 0.025 s),
    throttling 1 s. Before 1.44 standard mode does not retry a status of 429 whose code it does not know, and legacy
    knows fewer codes: such an answer is "rejected" there.
    """
    if mode not in get_args(Mode):
        raise ModelError(f"mode is {mode!r}; give one of {', '.join(get_args(Mode))}")
    attempts = None if max_attempts is None else whole("max_attempts", max_attempts)
    if mode == "legacy":
        # Legacy names DynamoDB alone; its streams retry like any other service.
        is_dynamodb = service == "dynamodb"
        base_s = 0.05 if is_dynamodb else 1.0
        return RetryRules(
            attempts or (10 if is_dynamodb else 5),
            capacity=None,
            transient_base_s=base_s,
            throttling_base_s=base_s,
            cap_s=None,
            jittered=not is_dynamodb,
            heeds_retry_after=False,
            polls_wait=False,
        )
    limited = mode == "adaptive"
    if not since_1_44:
        return RetryRules(
            attempts or 3,
            transient_cost=5,
            throttling_cost=5,
            timeout_cost=10,
            transient_base_s=1.0,
            heeds_retry_after=False,
            polls_wait=False,
            rate_limited=limited,
        )
    if service in _DYNAMODB:
        return RetryRules(attempts or 4, transient_base_s=0.025, rate_limited=limited)
    return RetryRules(attempts or 3, rate_limited=limited)


def attempts_from_settings(
    *,
    total_max_attempts: int | None = None,
    config_max_attempts: int | None = None,
    environment_max_attempts: int | None = None,
) -> int | None:
    """Sends that a user's settings allow, the first one included; ``None`` leaves the mode's own number.

    Parameters:
        total_max_attempts: ``Config(retries={"total_max_attempts": n})``, which counts sends and goes first.
        config_max_attempts: ``Config(retries={"max_attempts": n})``, which counts retries, and may be 0.
        environment_max_attempts: ``AWS_MAX_ATTEMPTS`` or ``max_attempts`` in a profile, which count sends.

    Raises:
        ModelError: a value that is no whole number in its range.

    Source: botocore, ``args.py``.
    """
    if total_max_attempts is not None:
        return whole("total_max_attempts", total_max_attempts)
    if config_max_attempts is not None:
        return whole("config_max_attempts", config_max_attempts, least=0) + 1
    if environment_max_attempts is not None:
        return whole("environment_max_attempts", environment_max_attempts)
    return None
