from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from afterload.errors import OutputError
from afterload.files import append_line, write_all, write_whole


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.tmp")]


def test_text_bytes_and_missing_folders(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b" / "text.txt", "ü\n")
    write_whole(str(tmp_path / "bytes.bin"), b"\x00\r\n")
    assert (tmp_path / "a" / "b" / "text.txt").read_bytes() == b"\xc3\xbc\n"
    assert (tmp_path / "bytes.bin").read_bytes() == b"\x00\r\n"
    assert leftovers(tmp_path) == []


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "f", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_only_plain_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    for path, reason in {
        tmp_path: "it is a directory",
        tmp_path / "pipe": "not a plain file",
        tmp_path / "file" / "below": "is a file, not a directory|File exists",
        tmp_path / ("n" * 300): "name is too long",
    }.items():
        with pytest.raises(OutputError, match=reason) as caught:
            write_whole(path, "x")
        assert str(path) in str(caught.value)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(("code", "reason"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "permission denied")])
def test_a_failing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    target = tmp_path / "f"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(OutputError, match=reason):
                write_whole(target, "new")
        assert target.read_text() == "old"
        assert leftovers(tmp_path) == []


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "f", "x")
    assert list(tmp_path.iterdir()) == []


def test_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder"):
        write_all({tmp_path / "first": "new", tmp_path / "folder": "x"})
    with pytest.raises(OutputError, match="UTF-8"):
        write_all({tmp_path / "first": "new", tmp_path / "second": "\ud800"})
    with pytest.raises(OutputError, match="twice"):
        write_all({tmp_path / "first": "new", str(tmp_path / "." / "first"): "x"})
    assert (tmp_path / "first").read_text() == "old"
    assert leftovers(tmp_path) == []
    write_all({tmp_path / "first": "1", tmp_path / "second": b"2"})
    assert (tmp_path / "first").read_text() + (tmp_path / "second").read_text() == "12"


def test_a_line_is_added_below_the_header_of_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    append_line(path, "a,b", "1,2")
    append_line(path, "other,header", "3,ü")
    assert path.read_bytes() == "a,b\n1,2\n3,ü\n".encode()
    path.write_text("a,b\n1,2", "utf-8")
    append_line(path, "a,b", "3,4")
    assert path.read_text("utf-8") == "a,b\n1,2\n3,4\n"


def test_a_line_that_cannot_be_added_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a directory"):
        append_line(tmp_path, "a", "1")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"cannot write .*log\.csv"):
        append_line(tmp_path / "file" / "log.csv", "a", "1")
    with pytest.raises(OutputError, match=r"there is no folder .*new; make it first, if it is not mistyped"):
        append_line(tmp_path / "new" / "log.csv", "a", "1")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
