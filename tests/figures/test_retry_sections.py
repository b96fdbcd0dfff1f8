"""The sections on clients, jitter, pools and idempotency: chart, table and words follow the model and the inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from afterload.chapters import Workbook
from afterload.figures import Figure, Prose, Table
from afterload.figures.jitter import retry_waves
from afterload.model.jitter import Backoff, retry_wave
from afterload.scenario import load_scenario

HEAD: dict[str, Any] = {
    "team": "T",
    "time_zone": "UTC",
    "recovery_objective": "240 min",
    "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:52Z"},
}
Make = Callable[..., Workbook]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def book(**parts: Any) -> Workbook:
        path = tmp_path / "t.yaml"
        path.write_text(json.dumps({**HEAD, **parts}), encoding="utf-8")
        return Workbook(load_scenario(path))

    return book


def rows(shown: Any) -> list[dict[str, str]]:
    table = shown.table if isinstance(shown, Figure) else shown
    assert isinstance(table, Table)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def values(figure: Any) -> list[dict[str, Any]]:
    assert isinstance(figure, Figure)
    return list(figure.chart["data"]["values"])


CLIENT = {"sdk": "boto3", "version": "1.44.8", "number": 1000}


class TestClients:
    def test_counts_without_a_call_rate(self, make: Make) -> None:
        book = make(clients={"c": CLIENT})
        [row] = rows(book.clients())
        assert row["retries the fleet holds"] == "35,000"
        assert row["binds above"] == "21.5 % failing"
        assert row["successes to refill"] == "490"
        assert row["held back by"] == "500 tokens, 14 a retry"
        [row] = rows(book.client_fleets())
        assert row["tries a call at first"] == "3"
        assert row["then tries a call"] == "1"
        assert {row[name] for name in row if "after" in name or "second" in name} == {"give calls"}
        assert "hold 35,000 retries in all" in book.clients_answer().text

    def test_times_with_one(self, make: Make) -> None:
        """18 calls empty the bucket (docs/model.md section 2), 490 fill it again: at 2/s after 9 s and 4 min 5 s."""
        [row] = rows(make(clients={"c": {**CLIENT, "calls": "2/s"}}).client_fleets())
        assert row["limit binds after"] == "9 s"
        assert row["full again after"] == "4.08 min"
        assert row["retries of the fleet, a second"] == "4,000, then 0"

    def test_the_scenarios_own_failure_share_stands_beside_a_full_failure(self, make: Make) -> None:
        layers = [{"name": "a", "tries": 1}]
        book = make(
            dependencies={"d": {"tested_rate": "1/min"}},
            clients={"c": {**CLIENT, "dependency": "d"}, "other": CLIENT},
            call_stacks={"s": {"dependency": "d", "failure_probability": 0.2, "layers": layers}},
        )
        found = rows(book.client_fleets())
        assert [(row["clients"], row["attempts that fail"]) for row in found] == [
            ("c", "20 %"),
            ("c", "100 %"),
            ("other", "100 %"),
        ]
        # Below 21.5 % the quota never binds: 1 + 0.2 + 0.04 tries.
        assert found[0]["limit binds after"] == "never"
        assert found[0]["tries a call at first"] == found[0]["then tries a call"] == "1.24"

    @pytest.mark.parametrize(
        ("client", "held_back", "holds", "binds", "refill"),
        [
            ({"sdk": "boto3", "version": "1.43.0"}, "no limit", "no limit", "never", "nothing to refill"),
            ({"sdk": "grpc"}, "it does not retry", "0", "never", "nothing to refill"),
            ({"sdk": "go-v2"}, "500 tokens, 5 a retry", "1,000", "32.1 % failing", "500"),
            # 1 - p - 10 p^2 - 10 p^3 = 0 at 24.6 %.
            ({"sdk": "go-v2", "errors": "timeout"}, "500 tokens, 10 a retry", "500", "24.6 % failing", "500"),
            ({"sdk": "java-v2", "errors": "throttling"}, "its quota takes no tokens for throttling errors",
             "no limit", "never", "nothing to refill"),
            ({"sdk": "google-api-core"}, "no limit up to a deadline of 2 min", "no limit", "never",
             "nothing to refill"),
            ({"sdk": "other"}, "not known", "give max_attempts", "give max_attempts", "give max_attempts"),
            ({"sdk": "other", "retry_limit": "envoy-budget"}, "20 % of what is in flight, at least 3", "give calls",
             "give calls", "give calls"),
            ({"sdk": "other", "retry_limit": "envoy-budget", "calls": "1000/s"},
             "20 % of what is in flight, at least 3", "250", "25 % failing", "time refills it"),
            ({"sdk": "other", "retry_limit": "linkerd-budget", "calls": "1000/s"},
             "20 % of responses that do not fail, at least 10/s, over 10 s", None, None, "time refills it"),
            ({"sdk": "other", "retry_limit": "google-adaptive-throttling", "calls": "1/s"},
             "rejects by itself above 2 requests for one accepted", None, "50 % failing", "time refills it"),
            ({"sdk": "grpc", "retry_limit": "grpc-throttling"}, "10 tokens, 0.1 a success; retries stop at half", "30",
             "9.09 % failing", "100"),
            ({"sdk": "other", "retry_limit": "token-bucket"}, "5 tokens, 0.1 a success, 1 a retry", "50", None, "50"),
        ],
    )  # fmt: skip
    def test_every_kind_of_limit_in_words(
        self, make: Make, client: dict[str, Any], held_back: str, holds: str | None, binds: str | None, refill: str
    ) -> None:
        book = make(clients={"c": {"number": 10, **client}})
        [row] = rows(book.clients())
        assert row["held back by"] == held_back
        assert holds is None or row["retries the fleet holds"] == holds
        assert binds is None or row["binds above"] == binds
        assert row["successes to refill"] == refill
        said = book.clients_answer().text
        assert said.startswith("c: 10 clients (")
        if "give" in refill:
            assert f"give clients.c.{refill.removeprefix('give ')}" in said
            assert isinstance(book.client_fleets(), Prose)
        else:
            assert isinstance(book.client_fleets(), Figure)

    def test_the_lines_are_those_of_the_policies(self, make: Make) -> None:
        book = make(clients={"c": CLIENT, "d": {"sdk": "azure-python", "number": 1}})
        found = {(v["clients"], v["when"], v["p"]): v["tries"] for v in values(book.client_fleets())}
        assert found["c", "until it binds", 0.5] == 1.75
        assert found["c", "in the long run", 0.5] == pytest.approx(1 + 0.5 / (14 * 0.5), rel=1e-3)
        assert found["c", "in the long run", 1.0] == 1
        assert found["d", "in the long run", 1.0] == 11


class TestWaves:
    BASE_1_S = {"sdk": "boto3", "version": "1.43.0", "number": 400, "max_attempts": 4}

    def test_without_jitter_waves_come_at_1_3_and_7_s(self, make: Make) -> None:
        """Builders' Library: delays of 1, 2 and 4 s."""
        figure = make(clients={"c": self.BASE_1_S}).retry_waves()
        plain = {v["seconds"]: v["retries"] for v in values(figure) if v["jitter"] == "no jitter" and v["retries"]}
        assert plain == {1.0: 400, 3.0: 400, 7.0: 400}
        for kind in ("equal", "full", "decorrelated"):
            assert max(v["retries"] for v in values(figure) if v["jitter"].startswith(kind)) < 120

    def test_the_table_is_that_of_an_independent_simulation(self, make: Make) -> None:
        figure = make(clients={"c": self.BASE_1_S}).retry_waves()
        table = {row["jitter"]: row for row in rows(figure)}
        rng = np.random.default_rng(8)
        longest = np.array([1.0, 2.0, 4.0])
        uniform = rng.random((400_000, 3))
        for kind, waits in (("full", uniform * longest), ("equal", longest * (1 + uniform) / 2)):
            counts = np.bincount((np.cumsum(waits, axis=1) / 0.1).astype(int).ravel(), minlength=71) / 1000
            row = table[f"{kind} jitter"]
            assert float(row["most retries in 100 ms"]) == pytest.approx(counts.max(), rel=0.06)
            assert float(row["peak over mean"]) == pytest.approx(counts.max() / counts.mean(), rel=0.06)
        plain = table["no jitter"]
        assert plain["most retries in 100 ms"] == plain["most in one second"] == "400"
        # Three waves in 71 steps of 100 ms.
        assert float(plain["peak over mean"]) == pytest.approx(71 / 3, rel=2e-3)
        assert table["full jitter"]["as it is"] == "what c does"

    def test_they_are_the_models_waves_of_the_largest_kind(self, make: Make) -> None:
        """Those of 30,000 clients, which are drawn twice and averaged."""
        book = make(
            clients={
                "few": {**self.BASE_1_S, "number": 3},
                "many": {"sdk": "go-v2", "number": 30_000},
                "most": {"sdk": "grpc", "number": 90_000},
            }
        )
        waves = retry_waves(book.client_kinds)
        assert waves is not None
        assert (waves.kind.name, waves.retries, waves.own) == ("many", 2, Backoff("full", 1.0, 20.0))
        wave = retry_wave(
            Backoff("full", 1.0, 20.0), 30_000, 2, np.random.default_rng(1), step_s=0.1, span_s=waves.steps * 0.1
        )
        assert waves.sends["full"].sum() == pytest.approx(wave.sends.sum(), rel=0.01)
        assert waves.sends["full"].max() == pytest.approx(wave.sends.max(), rel=0.05)

    def test_a_million_clients_are_scaled(self, make: Make) -> None:
        few = rows(make(clients={"c": {"sdk": "go-v2", "number": 40_000}}).retry_waves())
        many = rows(make(clients={"c": {"sdk": "go-v2", "number": 4_000_000}}).retry_waves())
        assert [row["peak over mean"] for row in few] == [row["peak over mean"] for row in many]

    def test_a_base_of_milliseconds_is_shown_in_its_own_steps(self, make: Make) -> None:
        figure = make(clients={"c": {**CLIENT, "version": "1.43.11", "service": "dynamodb"}}).retry_waves()
        assert "9 retries of each in 25.6 s" in figure.method
        assert "The chart shows the first 1.2 s; the table counts all of it." in figure.notes
        plain = [v["seconds"] for v in values(figure) if v["jitter"] == "no jitter" and v["retries"]]
        # Legacy DynamoDB: 50, 100, 200 and 400 ms without jitter.
        assert plain == pytest.approx([0.05, 0.15, 0.35, 0.75])

    def test_a_first_retry_at_once_is_said(self, make: Make) -> None:
        figure = make(clients={"c": {"sdk": "azure-python", "number": 5}}).retry_waves()
        assert any("first retry at once" in note for note in figure.notes)
        assert next(v for v in values(figure) if v["retries"])["seconds"] == 0

    def test_unknown_waits_are_said_to_be_usual_ones(self, make: Make) -> None:
        figure = make(clients={"c": {"sdk": "other", "number": 5, "max_attempts": 3}}).retry_waves()
        assert "usual ones, as those of this client are not known" in figure.method
        assert {row["as it is"] for row in rows(figure)} == {""}

    @pytest.mark.parametrize("clients", [{}, {"c": {"sdk": "grpc", "number": 5}}, {"c": {"sdk": "other", "number": 5}}])
    def test_without_retries_there_is_a_sentence(self, make: Make, clients: dict[str, Any]) -> None:
        book = make(clients=clients, fleets={"f": {"running": 1, "needed": 1}})
        assert book.retry_waves().text.startswith("This scenario names no clients that retry, so ")


class TestPools:
    def test_what_a_queue_bounds_and_what_workers_bound(self, make: Make) -> None:
        """docs/model.md section 2: 0 rejected and 10 in flight when paced; 90 rejected in one instant."""
        pool = {"queue": 100, "workers": 10, "burst": 200, "item_time": "10 ms"}
        book = make(
            worker_pools={
                "paced": {**pool, "burst_over": "1 s"},
                "instant": pool,
                "queue alone": {**pool, "workers": "none"},
                "workers alone": {**pool, "queue": "none"},
                "nothing": {"burst": 200, "item_time": "10 ms"},
            }
        )
        table = {row["pool"]: row for row in rows(book.worker_pools())}
        assert [table["paced"][name] for name in ("accepted", "rejected")] == ["200", "0"]
        assert int(table["paced"]["most in flight"]) <= 10
        assert [table["instant"][name] for name in ("rejected", "most in flight", "most waiting")] == [
            "90",
            "10",
            "100",
        ]
        assert table["instant"]["longest wait"] == "100 ms"
        for name in ("queue alone", "nothing"):
            assert (table[name]["rejected"], table[name]["most in flight"]) == ("0", "200")
            assert table[name]["longest wait"] == "none waits"
        assert table["workers alone"]["longest wait"] == "190 ms"
        said = book.worker_pools_answer().text.splitlines()
        assert "A bounded queue alone does not bound concurrency." in said[2]
        assert "neither a bound on its queue nor a pool" in said[4]
        assert (
            said[-1] == "The bound of a queue limits what waits. Only the number of workers limits what is in flight."
        )
        points = [v for v in values(book.worker_pools()) if v["pool"] == "instant"]
        assert max(v["requests"] for v in points if v["what"] == "in flight") == 10
        assert max(v["requests"] for v in points if v["what"] == "waiting") == 100

    def test_without_pools_there_is_a_sentence(self, make: Make) -> None:
        book = make(clients={"c": CLIENT})
        assert book.worker_pools().text == book.worker_pools_answer().text
        assert book.worker_pools().text.startswith("This scenario names no worker pools, so ")


class TestIdempotency:
    QUEUE = {"arrival_rate": "1,200/min", "service_rate": "1,800/min", "retention": "4 days", "service": "sqs-lambda"}
    KEYS = {"failure_share": "2 %", "effect_despite_failure": "20 %", "tries": 3}

    def test_table_and_sentence_agree(self, make: Make) -> None:
        """104 of 344 minutes of drain serve work that is older than 2 h (tests/estimates/test_replays.py)."""
        book = make(queues={"q": {**self.QUEUE, "idempotency": {**self.KEYS, "key_life": "2 h"}}})
        [row] = rows(book.idempotency())
        assert row["items served until the backlog is gone"] == "619,200"
        assert row["oldest at replay"] == "2 h 52 min"
        assert row["replayed after the key expired"] == "30.2 %"
        # 2 % fail with a fifth of them done, and are tried again: 0.004 + 0.00008 and so on for each item.
        assert row["for 1,000 items"] == "4.08"
        said = book.idempotency_answer().text
        assert f"with {row['duplicates without keys']} side effects beyond the first if there are no keys" in said
        assert "1,000 items have 4.08 side effects too many" in said
        assert "30.2 % of replays come after their key has expired" in said
        assert "an age of more than 2 h is unprotected" in said

    @pytest.mark.parametrize(
        ("keys", "changes", "cell", "words"),
        [
            ({"key_life": "24 h"}, {}, "0 %", "so every key outlives its replay"),
            ({}, {}, "no keys", "There are no keys; the oldest work is 2 h 52 min old"),
            ({"key_life": "2 h"}, {"order": "lifo"}, "some", "part of the replays comes after its key has expired"),
            ({"key_life": "2 h"}, {"service_rate": "1,000/min"}, "some", "grows older, so keys expire before it"),
            ({"key_life": "24 h"}, {"service_rate": "1,200/min"}, "0 %", "so every key outlives its replay"),
            ({"key_life": "24 h", "oldest_replay": "4 days"}, {}, "75 %", "75 % of replays come after"),
        ],
    )
    def test_every_answer_in_words(
        self, make: Make, keys: dict[str, str], changes: dict[str, str], cell: str, words: str
    ) -> None:
        book = make(queues={"q": {**self.QUEUE, **changes, "idempotency": {**self.KEYS, **keys}}})
        [row] = rows(book.idempotency())
        assert row["replayed after the key expired"] == cell
        assert words in book.idempotency_answer().text

    def test_without_an_entry_there_is_a_sentence(self, make: Make) -> None:
        book = make(queues={"q": self.QUEUE})
        assert book.idempotency().text == book.idempotency_answer().text
        assert book.idempotency().text.startswith("No queue of this scenario says whether work done twice ")
