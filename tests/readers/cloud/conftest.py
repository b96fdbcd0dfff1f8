"""Files with exports, and inventories as plain tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterload.readers.cloud import read_cloud_file
from afterload.readers.reading import Inventory

Read = Callable[..., Inventory]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a value (as the AWS CLI does) or a text to a file, and read it."""

    def write_and_read(
        content: Any, *, name: str = "export.json", encoding: str = "utf-8", **options: Any
    ) -> Inventory:
        text = content if isinstance(content, str) else json.dumps(content, indent=4)
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return read_cloud_file(path, **options)

    return write_and_read
