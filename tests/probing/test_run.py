"""Running probes: the answer of the process, its progress, and its end."""

from __future__ import annotations

import sys
import threading
import venv
from pathlib import Path

import pytest

from distkb.probing.interpreter import NoInterpreterError, find_interpreter
from distkb.probing.run import ProbeRun, Stage


def test_a_probe_that_does_not_exist_ends_in_an_answer() -> None:
    """Whatever goes wrong in the process, the answer is a document with a reason."""
    document = ProbeRun("no-such-probe", {}, Path(sys.executable), deadline_s=20.0).result()
    assert (document.status, document.reason) == ("error", "crashed")
    assert "ModuleNotFoundError" in document.detail


def test_a_python_that_does_not_start_ends_in_an_answer() -> None:
    """An interpreter that vanished between choosing and starting is an answer too."""
    document = ProbeRun("env", {}, Path("/nonexistent/python"), deadline_s=20.0).result()
    assert (document.status, document.reason) == ("error", "not-started")


def test_cancel_ends_a_probe_at_once() -> None:
    """A probe that is cancelled while it runs ends with the reason `cancelled`."""
    began = threading.Event()

    def listener(_event: Stage | str) -> None:
        began.set()

    run = ProbeRun("allreduce", {"nproc": 2}, Path(sys.executable), deadline_s=60.0, listener=listener)
    assert began.wait(timeout=120)
    run.cancel()
    assert run.result().reason == "cancelled"


def test_the_python_asked_for_may_be_an_environment(tmp_path: Path) -> None:
    """`--python DIR` takes the environment's interpreter; it has no torch, and that is known without importing."""
    venv.create(tmp_path / "env", with_pip=False)
    found = find_interpreter(tmp_path / "env")
    assert found.path == tmp_path / "env" / "bin" / "python"
    assert (found.why, found.has_torch) == ("asked", False)


def test_an_environment_without_torch_is_passed_over_for_one_that_has_it(tmp_path: Path) -> None:
    """The active virtualenv comes first, but the one with torch is what a probe needs."""
    venv.create(tmp_path / "env", with_pip=False)
    environ = {"VIRTUAL_ENV": str(tmp_path / "env"), "PATH": str(Path(sys.executable).parent)}
    found = find_interpreter(None, environ)
    assert (found.why, found.has_torch) == ("path", True)
    assert found.passed_over == (("virtualenv", tmp_path / "env" / "bin" / "python"),)


@pytest.mark.parametrize("asked", ["/nonexistent/python", "/etc/passwd", "no-such-command-anywhere"])
def test_a_python_that_is_none_is_refused(asked: str) -> None:
    """What does not start as a Python is named."""
    with pytest.raises(NoInterpreterError, match=asked):
        find_interpreter(Path(asked))
