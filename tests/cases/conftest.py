"""Commands as a user gives them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from afterload.cli import cli


@pytest.fixture
def run() -> Callable[..., str]:
    """What a command prints; ``code`` None takes any exit code."""

    def command(*words: str, code: int | None = 0) -> str:
        result = CliRunner().invoke(cli, words)
        assert code is None or result.exit_code == code, result.output
        return result.output

    return command
