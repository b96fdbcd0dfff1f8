"""The quota, the limiter and the legacy mode against the installed botocore, without network, at every call."""

import io
import json
import math
from pathlib import Path
from types import SimpleNamespace

import botocore.session
import numpy as np
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.retries import adaptive, bucket, quota, standard, throttling
from tests.oracles.limiter import BETA, SCALE, RateLimiter
from tests.oracles.quota import Call, ClientState, call_once
from tests.oracles.quota_rules import Answer, attempts_from_settings, botocore_rules

from afterload.limits import client_preset
from afterload.model.jitter import Backoff
from afterload.model.policies import RetryQuota

START_S = 1000.0
URL = "https://peer.invalid"
# One session for all: it keeps the service models that it has read.
SESSION = botocore.session.get_session()


class FakeClock:
    """Stands for the wall clock; a wait only moves it."""

    def __init__(self):
        self.now_s = START_S
        self.slept_s = []

    def current_time(self):
        return self.now_s

    def sleep(self, amount):
        self.slept_s.append(amount)
        self.now_s += amount

    def wait(self, amount):
        self.now_s = max(self.now_s + amount, math.nextafter(self.now_s, math.inf))


class Raw(io.BytesIO):
    def stream(self, **_):
        while chunk := self.read():
            yield chunk


class Wire:
    """Stands for the HTTP session: gives the answers it was handed, and counts the sends."""

    def __init__(self, clock, send_s):
        self.clock, self.send_s = clock, send_s
        self.answers, self.sends = [], 0

    def send(self, request):
        answer = self.answers[min(self.sends, len(self.answers) - 1)]
        self.sends += 1
        self.clock.now_s += self.send_s
        status, code, failure = answer.form
        if failure is not None:
            raise failure
        body = b"{}" if code is None else json.dumps({"__type": code, "message": "no"}).encode()
        headers = {"x-amzn-errortype": code} if code else {}
        if answer.retry_after_ms is not None:
            headers["x-amz-retry-after"] = str(answer.retry_after_ms)
        return AWSResponse(request.url, status, headers, Raw(body))


TRANSIENT = [
    (500, "InternalServerError", None),
    (502, None, None),
    (503, "ServiceUnavailable", None),
    (504, None, None),
    (0, None, EndpointConnectionError(endpoint_url=URL)),
    (0, None, ConnectionClosedError(endpoint_url=URL)),
]
FORMS = {
    "success": [(200, None, None)],
    "transient": TRANSIENT,
    "throttling": [
        (400, "ThrottlingException", None),
        (400, "Throttling", None),
        (400, "ProvisionedThroughputExceededException", None),
        (429, None, None),
        (429, "NobodyModelledThis", None),
        (503, "SlowDown", None),
    ],
    "timeout": [
        (0, None, ConnectTimeoutError(endpoint_url=URL)),
        (0, None, ReadTimeoutError(endpoint_url=URL)),
    ],
    "rejected": [(400, "ValidationException", None), (403, "AccessDeniedException", None), (404, None, None)],
}


class RealClient:
    """A real client on a fake wire, with its quota, limiter and random numbers in reach."""

    def __init__(self, service, mode, retries=None, send_s=0.0):
        held = SimpleNamespace(handler=None, limiter=None)

        def keep(register, name):
            def call(*args, **kwargs):
                made = register(*args, **kwargs)
                setattr(held, name, made)
                return made

            return call

        self.clock = FakeClock()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(standard, "register_retry_handler", keep(standard.register_retry_handler, "handler"))
            patch.setattr(adaptive, "register_retry_handler", keep(adaptive.register_retry_handler, "limiter"))
            self.client = SESSION.create_client(
                service,
                region_name="us-east-1",
                endpoint_url=URL,
                config=Config(
                    signature_version=UNSIGNED, parameter_validation=False, retries={"mode": mode, **(retries or {})}
                ),
            )
        self.handler, self.limiter = held.handler, held.limiter
        self.wire = Wire(self.clock, send_s)
        self.client._endpoint.http_session = self.wire

    def restart(self, seed, balance):
        """The state of a new client, apart from the balance of its quota."""
        self.clock.now_s = START_S
        self.uniform = np.random.default_rng(seed).random
        if self.handler is not None:
            self.handler._sleep = self.clock.sleep
            self.handler._retry_policy._retry_backoff._random = self.uniform
            self.quota = self.handler._retry_quota._quota
            self.quota._available_capacity = balance
        if self.limiter is not None:
            tokens = bucket.TokenBucket(max_rate=1, clock=self.clock)
            tokens._new_fill_rate_condition.wait = self.clock.wait
            self.limiter.__init__(
                throttling.CubicCalculator(starting_max_rate=0, start_time=self.clock.now_s),
                adaptive.RateClocker(self.clock),
                tokens,
                self.limiter._throttling_detector,
                self.clock,
            )

    def call(self, operation, answers):
        """Make one call; gives whether it succeeded."""
        self.wire.answers, self.wire.sends, self.clock.slept_s = answers, 0, []
        try:
            getattr(self.client, operation)()
        except (ClientError, BotoCoreError):
            return False
        return True


@pytest.fixture(autouse=True)
def fake_time(monkeypatch):
    """Waits of the endpoint and random numbers of the legacy handler go to the client that is being driven."""
    driven = SimpleNamespace(client=None)
    monkeypatch.delenv("AWS_MAX_ATTEMPTS", raising=False)
    monkeypatch.delenv("AWS_RETRY_MODE", raising=False)
    sleep = SimpleNamespace(sleep=lambda amount: driven.client.clock.sleep(amount))
    monkeypatch.setattr("botocore.endpoint.time", sleep)
    monkeypatch.setattr("botocore.retryhandler.random", SimpleNamespace(random=lambda: driven.client.uniform()))
    return driven


# Service, its identifier in retry events, an operation that is no long poll, and one that is.
SERVICES = {
    "sqs": ("sqs", "list_queues", "receive_message"),
    "dynamodb": ("dynamodb", "list_tables", None),
    "dynamodbstreams": ("dynamodb-streams", "list_streams", None),
    "stepfunctions": ("sfn", "list_activities", "get_activity_task"),
    "lambda": ("lambda", "list_functions", None),
}
OUTCOMES = ["success", "transient", "throttling", "timeout", "rejected"]
MIXES = np.array(
    [
        [0.05, 0.75, 0.10, 0.10, 0.00],
        [0.10, 0.05, 0.80, 0.05, 0.00],
        [0.45, 0.25, 0.15, 0.10, 0.05],
        [0.75, 0.10, 0.10, 0.05, 0.00],
        [0.05, 0.10, 0.05, 0.80, 0.00],
    ]
)
# mode, service, retries of the Config, traces, calls a trace
CASES = [
    ("standard", "sqs", {}, 230, 6),
    ("standard", "sqs", {"max_attempts": 5}, 60, 6),
    ("standard", "sqs", {"total_max_attempts": 1}, 20, 6),
    ("standard", "dynamodb", {}, 230, 6),
    ("standard", "dynamodbstreams", {}, 60, 6),
    ("standard", "stepfunctions", {}, 90, 6),
    ("standard", "lambda", {"total_max_attempts": 7}, 60, 6),
    ("adaptive", "sqs", {}, 130, 10),
    ("adaptive", "dynamodb", {}, 110, 10),
    ("adaptive", "stepfunctions", {"total_max_attempts": 4}, 40, 10),
    ("legacy", "sqs", {}, 60, 5),
    ("legacy", "dynamodb", {}, 60, 4),
    ("legacy", "lambda", {"max_attempts": 1}, 40, 5),
]


def random_answers(rng, mix, count):
    """Answers of one call, and the same for the wire."""
    answers, wire = [], []
    for outcome in rng.choice(OUTCOMES, size=count, p=mix):
        form = FORMS[outcome][rng.integers(len(FORMS[outcome]))]
        has_header = outcome != "timeout" and form[2] is None and rng.random() < 0.3
        after = int(rng.choice([0, 1, 40, 400, 3000, 9000])) if has_header else None
        answers.append(Answer(str(outcome), after))
        wire.append(SimpleNamespace(form=form, retry_after_ms=after))
    return answers, wire


def events_of(done, is_poll):
    """What happened in a call that is worth having met."""
    waited = {"refused poll waits"} if is_poll and done.refused and len(done.waits_s) == done.sends else set()
    limited = {"limiter holds"} if done.limited_s else set()
    retried = {"success after retries"} if done.succeeded and done.sends > 1 else set()
    return waited | limited | retried | ({"refused"} if done.refused else set())


def expected_events(mode, rules, poll):
    """What the random traces must have met, lest they compare nothing."""
    if rules.max_attempts == 1:
        return set()
    quota_events = set() if mode == "legacy" else {"refused"} | ({"refused poll waits"} if poll else set())
    return {"success after retries"} | quota_events | ({"limiter holds"} if mode == "adaptive" else set())


@pytest.mark.parametrize(("mode", "service", "retries", "traces", "calls"), CASES)
def test_every_call_leaves_the_balance_and_makes_the_sends_of_the_installed_botocore(
    mode, service, retries, traces, calls, fake_time
):
    identifier, operation, poll = SERVICES[service]
    real = fake_time.client = RealClient(service, mode, retries, send_s=0.031)
    settings = {
        ("total_max_attempts" if k.startswith("total") else "config_max_attempts"): v for k, v in retries.items()
    }
    rules = botocore_rules(mode, service=identifier, max_attempts=attempts_from_settings(**settings))
    met = set()
    for seed in range(traces):
        rng = np.random.default_rng([seed, len(mode), len(service)])
        balance = int(rng.choice([500, rng.integers(501), rng.integers(40)]))
        real.restart(seed, balance)
        uniform = np.random.default_rng(seed).random
        limiter = RateLimiter.started(START_S) if mode == "adaptive" else None
        state = ClientState(None if mode == "legacy" else balance, START_S, limiter)
        mix = MIXES[rng.integers(len(MIXES))]
        for number in range(calls):
            answers, wire = random_answers(rng, mix, 10)
            is_poll = poll is not None and rng.random() < 0.5
            done = call_once(rules, state, Call(answers, is_poll), uniform, send_s=0.031)
            succeeded = real.call(poll if is_poll else operation, wire)
            where = f"seed {seed}, call {number}"
            assert (done.sends, done.succeeded) == (real.wire.sends, succeeded), where
            assert list(done.waits_s) == real.clock.slept_s, where
            state = done.state
            met |= events_of(done, is_poll)
            assert state.now_s == pytest.approx(real.clock.now_s, abs=1e-9), where
            if mode != "legacy":
                assert state.balance == real.quota.available_capacity, where
            if mode == "adaptive":
                seen, tokens = state.limiter, real.limiter._token_bucket
                assert seen.enabled == real.limiter._enabled, where
                assert seen.rate_per_s == pytest.approx(tokens.max_rate, rel=1e-9), where
                assert seen.tokens == pytest.approx(tokens.available_capacity, abs=1e-6), where
            pause = float(rng.choice([0.0, 0.02, 0.7]))
            state = ClientState(state.balance, state.now_s + pause, state.limiter)
            real.clock.now_s += pause
    assert met >= expected_events(mode, rules, poll)


def test_the_cases_make_a_thousand_traces_and_hundreds_of_calls_a_mode():
    assert sum(case[3] for case in CASES) >= 1000
    for mode in ("standard", "adaptive", "legacy"):
        assert sum(case[3] * case[4] for case in CASES if case[0] == mode) >= 500


def all_fail(fake_time, service, mode, form, calls, retries=None):
    """Balance and sends in all after each call of a new real client of which every send fails in one way."""
    real = fake_time.client = RealClient(service, mode, retries)
    real.restart(0, 500)
    seen, sends = {}, 0
    for number in range(1, calls + 1):
        assert not real.call(SERVICES[service][1], [SimpleNamespace(form=form, retry_after_ms=None)])
        sends += real.wire.sends
        seen[number] = (real.quota.available_capacity if mode != "legacy" else None, sends)
    return seen


# Observed on botocore 1.44.8: calls made: tokens left, requests sent in all.
OBSERVED = {
    ("sqs", (503, None, None)): {1: (472, 3), 17: (24, 51), 18: (10, 53), 50: (10, 85), 100: (10, 135)},
    ("sqs", (400, "ThrottlingException", None)): {
        1: (490, 3),
        17: (330, 51),
        18: (320, 54),
        50: (0, 150),
        100: (0, 200),
    },
    ("dynamodb", (500, None, None)): {1: (458, 4), 17: (10, 52), 18: (10, 53)},
}


@pytest.mark.parametrize(("service", "form"), OBSERVED)
def test_published_observations_of_a_client_whose_calls_all_fail(service, form, fake_time):
    expected = OBSERVED[service, form]
    seen = all_fail(fake_time, service, "standard", form, max(expected))
    assert {number: seen[number] for number in expected} == expected


@pytest.mark.parametrize(("service", "sends"), [("sqs", 5), ("dynamodb", 10), ("dynamodbstreams", 5)])
def test_legacy_mode_sends_without_a_quota(service, sends, fake_time):
    assert all_fail(fake_time, service, "legacy", (503, None, None), 30)[30] == (None, 30 * sends)


@pytest.mark.parametrize(
    ("retries", "environment", "sends"),
    [
        ({}, None, 3),
        ({"max_attempts": 4}, None, 5),
        ({"max_attempts": 0}, None, 1),
        ({"total_max_attempts": 4}, None, 4),
        ({}, 4, 4),
        ({"max_attempts": 4}, 2, 5),
        ({"total_max_attempts": 4, "max_attempts": 7}, 2, 4),
    ],
)
@pytest.mark.parametrize("mode", ["standard", "legacy"])
def test_one_setting_counts_retries_and_the_others_count_sends(
    mode, retries, environment, sends, fake_time, monkeypatch
):
    if environment is not None:
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", str(environment))
    attempts = attempts_from_settings(
        total_max_attempts=retries.get("total_max_attempts"),
        config_max_attempts=retries.get("max_attempts"),
        environment_max_attempts=environment,
    )
    assert botocore_rules(mode, max_attempts=attempts).max_attempts == (
        5 if mode == "legacy" and not retries and environment is None else sends
    )
    seen = all_fail(fake_time, "sqs", mode, (503, None, None), 1, retries)
    assert seen[1][1] == botocore_rules(mode, max_attempts=attempts).max_attempts


def test_the_default_mode_is_that_of_the_presets(monkeypatch):
    monkeypatch.delenv("AWS_RETRY_MODE", raising=False)
    client = SESSION.create_client("sqs", region_name="us-east-1", config=Config(signature_version=UNSIGNED))
    assert client.meta.config.retries["mode"] == client_preset("botocore", botocore.__version__, "default").mode


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.parametrize("service", ["sqs", "dynamodb", "dynamodbstreams"])
def test_presets_of_botocore_and_boto3_are_those_of_the_library(mode, service, fake_time):
    seen = all_fail(fake_time, service, mode, (503, None, None), 1)
    service = service.replace("dynamodbstreams", "dynamodb-streams")
    rules = botocore_rules(mode, service=service)
    assert rules.capacity == (None if mode == "legacy" else quota.RetryQuota.INITIAL_CAPACITY)
    for sdk in ("botocore", "boto3"):
        preset = client_preset(sdk, botocore.__version__, mode, service)
        assert preset.attempts == rules.max_attempts == seen[1][1]
        assert preset.quota == rules.capacity
        if mode == "legacy":
            named = json.loads((Path(botocore.__file__).parent / "data" / "_retry.json").read_text("utf-8"))["retry"]
            delay = named.get(service, {}).get("__default__", {}).get("delay", named["__default__"]["delay"])
            assert preset.backoff() == Backoff(
                "full" if delay["base"] == "rand" else "none", 1.0 if delay["base"] == "rand" else delay["base"]
            )
            continue
        checker, backoff = standard.RetryQuotaChecker, standard.ExponentialBackoff(service_name=service)
        scales = backoff._SERVICE_BACKOFF_CONFIG.get(service, backoff._DEFAULT_BACKOFF_CONFIG)
        assert preset.costs == {
            "transient": checker._RETRY_COST,
            "throttling": checker._THROTTLING_RETRY_COST,
            "timeout": checker._RETRY_COST,
        }
        assert preset.backoff() == Backoff("full", scales["non_throttling_base_scale"], backoff._MAX_BACKOFF)
        throttled_s = backoff._DEFAULT_BACKOFF_CONFIG["throttling_base_scale"]
        assert preset.backoff("throttling") == Backoff("full", throttled_s, backoff._MAX_BACKOFF)


def test_costs_and_waits_are_those_of_the_library():
    policy, rules, checker = RetryQuota(), botocore_rules("standard"), standard.RetryQuotaChecker
    assert policy.capacity == rules.capacity == quota.RetryQuota.INITIAL_CAPACITY
    assert policy.transient_cost == policy.timeout_cost == rules.transient_cost == checker._RETRY_COST
    assert policy.throttling_cost == rules.throttling_cost == checker._THROTTLING_RETRY_COST
    assert policy.gain == rules.gain == checker._NO_RETRY_INCREMENT
    backoff = standard.ExponentialBackoff
    assert rules.cap_s == backoff._MAX_BACKOFF
    assert rules.transient_base_s == backoff._DEFAULT_BACKOFF_CONFIG["non_throttling_base_scale"]
    assert rules.throttling_base_s == backoff._DEFAULT_BACKOFF_CONFIG["throttling_base_scale"]
    assert (SCALE, BETA) == (throttling.CubicCalculator._SCALE_CONSTANT, throttling.CubicCalculator._BETA)
