from __future__ import annotations

import pytest


@pytest.fixture
def calls(setup_env, monkeypatch):
    """Replace every process: note it, and let it end as `ends` says."""
    noted = []

    class Done:
        returncode = 0

    def note(command, **options):
        noted.append(command)
        return Done

    monkeypatch.setattr(setup_env.subprocess, "run", note)
    return noted


def test_an_old_python_is_named_with_what_to_install(setup_env, monkeypatch, capsys, calls, tmp_path):
    monkeypatch.setattr(setup_env.sys, "version_info", (3, 9, 2, "final", 0))
    assert setup_env.main([str(tmp_path / "env")]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.11 or newer" in said
    assert "3.9.2" in said
    assert "make PYTHON=" in said
    assert calls == []


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_the_package(setup_env, monkeypatch, capsys, calls, tmp_path, module):
    monkeypatch.setattr(setup_env, "find_spec", lambda name: None if name == module else object())
    assert setup_env.main([str(tmp_path / "env")]) == 1
    assert "apt install python3-venv" in capsys.readouterr().err
    assert calls == []


def test_extras_and_pins_reach_pip(setup_env, calls, tmp_path):
    assert setup_env.main([str(tmp_path / "env"), "--extra", "lab", "--extra", "test"]) == 0
    assert calls[-1][-4:] == ["-c", "constraints.txt", "-e", ".[lab,test]"]


def test_an_environment_that_does_not_start_is_made_anew(setup_env, monkeypatch, calls, tmp_path):
    answers = iter([False, True])
    monkeypatch.setattr(setup_env, "starts", lambda python: next(answers))
    assert setup_env.main([str(tmp_path / "env")]) == 0
    assert calls[0][1:] == ["-m", "venv", "--clear", str(tmp_path / "env")]
    assert calls[1][-1] == "."


def test_a_failed_install_fails(setup_env, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(setup_env, "starts", lambda python: True)
    monkeypatch.setattr(setup_env, "pip_install", lambda python, target: ["false"])
    assert setup_env.main([str(tmp_path / "env")]) == 1
    assert "pip could not install" in capsys.readouterr().err


def test_a_folder_without_an_interpreter_does_not_start(setup_env, tmp_path):
    assert not setup_env.starts(tmp_path / "bin" / "python")
