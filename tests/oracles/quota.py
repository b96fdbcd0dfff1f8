"""botocore's retry modes followed send by send: the quota's balance, the waits and the sends of every call.

What a policy does on average is in :mod:`afterload.model.policies`; here one client meets one sequence of answers,
by the numbers of :mod:`tests.oracles.quota_rules`.

Source: botocore, ``retries/standard.py``, ``retries/quota.py`` and ``retryhandler.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from tests.oracles.limiter import RateLimiter
from tests.oracles.quota_rules import Answer, Outcome, RetryRules

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import FloatArray

__all__ = ["Call", "CallResult", "ClientState", "Trace", "call_once", "run_calls"]


@dataclass(frozen=True)
class Call:
    """One call of a client.

    Attributes:
        answers: how its sends end, in order; the last one holds for every send after it.
        long_poll: whether the operation is a long poll, such as ReceiveMessage of SQS.

    Raises:
        ModelError: no answer.
    """

    answers: Sequence[Answer]
    long_poll: bool = False

    def __post_init__(self) -> None:
        if len(self.answers) == 0:
            raise ModelError("answers is empty; say how at least the first send ends")


@dataclass(frozen=True)
class ClientState:
    """What a client carries from call to call.

    Attributes:
        balance: tokens in its quota; ``None`` without one.
        now_s: clock time in seconds.
        limiter: its rate limiter; ``None`` outside adaptive mode.
    """

    balance: int | None
    now_s: float = 0.0
    limiter: RateLimiter | None = None

    @classmethod
    def started(cls, rules: RetryRules, now_s: float = 0.0) -> ClientState:
        """A new client, with a full quota.

        Raises:
            ModelError: a time negative or not finite.
        """
        now = number("now_s", now_s)
        return cls(rules.capacity, now, RateLimiter.started(now) if rules.rate_limited else None)


@dataclass(frozen=True)
class CallResult:
    """What one call did.

    Attributes:
        state: the client after it.
        sends: requests sent, the first one included.
        succeeded: whether the last one succeeded.
        refused: whether a retry was refused for want of quota.
        waits_s: seconds waited before each retry, and before failing if it was a long poll without quota.
        limited_s: seconds that the rate limiter held its sends.
    """

    state: ClientState
    sends: int
    succeeded: bool
    refused: bool
    waits_s: tuple[float, ...]
    limited_s: float


def call_once(
    rules: RetryRules, state: ClientState, call: Call, uniform: Callable[[], float], *, send_s: float = 0.0
) -> CallResult:
    """Follow one call to its end.

    Parameters:
        rules: how the client retries.
        state: the client before the call.
        call: how its sends end.
        uniform: gives the next random number from 0 to below 1, such as ``numpy.random.default_rng(1).random``;
            asked for once a wait.
        send_s: seconds from a send to its answer.

    Raises:
        ModelError: ``send_s`` is out of range.
    """
    send_time_s = number("send_s", send_s)
    waits: list[float] = []
    limited_s, attempt, paid, refused = 0.0, 0, 0, False
    while True:
        attempt += 1
        answer = call.answers[min(attempt, len(call.answers)) - 1]
        state, held_s = _sent(state, send_time_s)
        limited_s += held_s
        is_retried = answer.outcome not in ("success", "rejected") and attempt < rules.max_attempts
        wait_s: float | None = None
        if is_retried:
            paid, refused = _paid(rules, state.balance, answer.outcome)
            if not refused:
                state = replace(state, balance=None if state.balance is None else state.balance - paid)
            if not refused or (call.long_poll and rules.polls_wait):
                wait_s = rules.wait_s(answer, attempt, uniform() if rules.jittered else 1.0)
                waits.append(wait_s)
        if refused and wait_s is not None:
            # A poll without quota waits before the limiter hears of the answer, a retry after it.
            state = replace(state, now_s=state.now_s + wait_s)
        if state.limiter is not None:
            heard = state.limiter.received(state.now_s, throttled=answer.outcome == "throttling")
            state = replace(state, limiter=heard)
        if not is_retried or refused:
            break
        state = replace(state, now_s=state.now_s + (wait_s or 0.0))
    succeeded = answer.outcome == "success"
    if succeeded and state.balance is not None and rules.capacity is not None:
        # Only the cost of the last retry comes back; those before it stay spent.
        state = replace(state, balance=min(rules.capacity, state.balance + (rules.gain if attempt == 1 else paid)))
    return CallResult(state, attempt, succeeded, refused, tuple(waits), limited_s)


@dataclass(frozen=True, eq=False)
class Trace:
    """What a sequence of calls did, one entry a call.

    Attributes:
        balances: tokens left after each call, shape (calls,); -1 without a quota.
        sends: requests sent by each call, shape (calls,).
        succeeded: whether each call succeeded, shape (calls,).
        refused: whether a retry of it was refused for want of quota, shape (calls,).
        waited_s: seconds that it waited between and after sends, the rate limiter apart, shape (calls,).
        limited_s: seconds that the rate limiter held its sends, shape (calls,).
        state: the client after the last call.
    """

    balances: npt.NDArray[np.int64]
    sends: npt.NDArray[np.int64]
    succeeded: npt.NDArray[np.bool_]
    refused: npt.NDArray[np.bool_]
    waited_s: FloatArray
    limited_s: FloatArray
    state: ClientState

    @property
    def tries_per_call(self) -> float:
        """Mean requests sent for a call."""
        return float(np.mean(self.sends))


def run_calls(
    rules: RetryRules,
    calls: Sequence[Call],
    rng: np.random.Generator,
    *,
    start: ClientState | None = None,
    send_s: float = 0.0,
    gap_s: float = 0.0,
) -> Trace:
    """Follow calls made one after the other by one client.

    Parameters:
        rules: how the client retries.
        calls: the calls, in order.
        rng: source of the random part of the waits.
        start: the client before the first call; ``None`` for a new one.
        send_s: seconds from a send to its answer.
        gap_s: seconds between the end of a call and the next one.

    Raises:
        ModelError: a time out of its range.
    """
    between_s = number("gap_s", gap_s)
    state = ClientState.started(rules) if start is None else start
    results: list[CallResult] = []
    for call in calls:
        result = call_once(rules, state, call, rng.random, send_s=send_s)
        results.append(result)
        state = replace(result.state, now_s=result.state.now_s + between_s)
    return Trace(
        balances=np.array([-1 if r.state.balance is None else r.state.balance for r in results], dtype=np.int64),
        sends=np.array([r.sends for r in results], dtype=np.int64),
        succeeded=np.array([r.succeeded for r in results], dtype=np.bool_),
        refused=np.array([r.refused for r in results], dtype=np.bool_),
        waited_s=np.array([sum(r.waits_s) for r in results], dtype=np.float64),
        limited_s=np.array([r.limited_s for r in results], dtype=np.float64),
        state=state,
    )


def _sent(state: ClientState, send_s: float) -> tuple[ClientState, float]:
    """The client when an answer arrives, and the seconds that the limiter held the send."""
    if state.limiter is None:
        return replace(state, now_s=state.now_s + send_s), 0.0
    limiter, leaves_s = state.limiter.sending(state.now_s)
    return replace(state, limiter=limiter, now_s=leaves_s + send_s), leaves_s - state.now_s


def _paid(rules: RetryRules, balance: int | None, outcome: Outcome) -> tuple[int, bool]:
    """Tokens that a retry takes, and whether the quota refuses it."""
    if balance is None:
        return 0, False
    cost = rules.cost(outcome)
    return cost, cost > balance
