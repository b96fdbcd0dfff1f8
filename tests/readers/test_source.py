"""Files of other tools as text: byte order marks, damage, size."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from afterload.errors import InputError, NotFoundError
from afterload.readers.source import open_source

TEXT = '{"name": "Größe", "at": "2025-10-20T02:40-07:00"}\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_tell_the_encoding(tmp_path, encoding):
    path = tmp_path / "export.json"
    path.write_bytes(TEXT.encode(encoding))
    assert open_source(path).text == TEXT


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf_16_in_either_order(tmp_path, order):
    path = tmp_path / "export.json"
    path.write_bytes(("\ufeff" + TEXT).encode(order))
    assert open_source(path).text == TEXT


def test_date_has_a_zone(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(TEXT)
    source = open_source(path)
    assert source.modified_at.tzinfo is UTC
    assert abs((datetime.now(UTC) - source.modified_at).total_seconds()) < 60


def test_same_bytes_same_digest(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(TEXT)
    assert open_source(tmp_path / "a").digest == open_source(tmp_path / "b").digest


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"one\ntwo \xff\xfe three\n", "line 2: is not UTF-8 text"),
        (TEXT.encode("utf-16-le"), "zero byte"),
        (TEXT.encode("utf-16")[:-3], "is not UTF-16 text"),
        (b"\x1f\x8b\x08\x00\x00\x00", "zero byte"),
        (b"PK\x03\x04\x9c\xff", "is not UTF-8 text"),
    ],
)
def test_damage_is_named_with_file_and_line(tmp_path, data, words):
    path = tmp_path / "export.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as caught:
        open_source(path)
    assert str(path) in str(caught.value)


def test_no_such_file(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.json: no such file"):
        open_source(tmp_path / "nothing.json")


def test_folder(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        open_source(tmp_path)


def test_too_large(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(TEXT)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        open_source(path, most_bytes=10)


def test_lines_are_counted_from_one(tmp_path):
    path = tmp_path / "export.json"
    path.write_text("a\nb\nc\n")
    source = open_source(path)
    assert [source.line(offset) for offset in (0, 1, 2, 4)] == [1, 1, 2, 3]
