"""The guard: nothing below it survives it, whatever ends first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from probe_processes import MARK, marked, new_mark, wait_until_gone

from distkb.probing.run import probes_directory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found through /proc")

FAMILY = textwrap.dedent(
    """
    import os, subprocess, sys, time
    # A child in a session of its own whose parent is gone: neither process groups nor parents lead to it.
    subprocess.run(["/bin/sh", "-c", "setsid sleep 600 & exit 0"])
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
    print("ready", file=sys.stderr, flush=True)
    time.sleep(600)
    """
)


def start(command: list[str], mark: str, *, seconds: float = 60.0) -> subprocess.Popen[bytes]:
    """Start a guard over a command."""
    guard = str(probes_directory() / "_guard.py")
    return subprocess.Popen(
        [sys.executable, guard, str(seconds), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, MARK: mark},
        start_new_session=True,
    )


def begin(guard: subprocess.Popen[bytes]) -> None:
    """Send a request and wait until the command says that it runs."""
    assert guard.stdin is not None
    assert guard.stderr is not None
    guard.stdin.write(b"{}\n")
    guard.stdin.flush()
    assert guard.stderr.readline() == b"ready\n"


def test_a_family_with_orphans_is_gone_when_the_lifeline_closes() -> None:
    """Children that left their session and lost their parent die with the one who asked."""
    mark = new_mark()
    guard = start([sys.executable, "-c", FAMILY], mark)
    begin(guard)
    until = time.monotonic() + 120
    while len(marked(mark)) < 4:
        assert time.monotonic() < until, marked(mark)
        time.sleep(0.02)
    assert guard.stdin is not None
    guard.stdin.close()
    assert guard.wait(timeout=120) == 1
    assert wait_until_gone(mark) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_guard_ends_all_below_it(number: signal.Signals) -> None:
    """A guard that is told to stop takes everything with it."""
    mark = new_mark()
    guard = start([sys.executable, "-c", FAMILY], mark)
    begin(guard)
    guard.send_signal(number)
    assert guard.wait(timeout=120) == 1
    assert wait_until_gone(mark) == {}


def test_a_killed_guard_takes_its_command_along() -> None:
    """Even SIGKILL on the guard itself does not leave the probe running."""
    mark = new_mark()
    guard = start(
        [sys.executable, "-c", "import sys, time; print('ready', file=sys.stderr, flush=True); time.sleep(600)"], mark
    )
    begin(guard)
    guard.kill()
    guard.wait(timeout=120)
    assert wait_until_gone(mark) == {}


def test_the_deadline_ends_in_a_document_that_says_so() -> None:
    """A command that does not end in time is ended, and the answer names the deadline."""
    mark = new_mark()
    guard = start([sys.executable, "-c", FAMILY], mark, seconds=8)
    begin(guard)
    assert guard.stdout is not None
    document = json.loads(guard.stdout.read())
    assert (document["status"], document["reason"]) == ("error", "deadline")
    assert wait_until_gone(mark) == {}


def test_a_command_that_dies_without_an_answer_is_reported() -> None:
    """A crash of the interpreter itself ends in a document that names the signal."""
    guard = start([sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"], new_mark())
    assert guard.stdin is not None
    guard.stdin.write(b"{}\n")
    guard.stdin.flush()
    assert guard.stdout is not None
    document = json.loads(guard.stdout.read())
    assert (document["status"], document["reason"], document["detail"]) == ("error", "died", "SIGSEGV")
    guard.stdin.close()


def test_a_guard_without_a_request_ends_by_itself(tmp_path: Path) -> None:
    """One who dies before asking leaves no guard waiting."""
    touched = tmp_path / "started"
    guard = start([sys.executable, "-c", f"open({str(touched)!r}, 'w')"], new_mark())
    assert guard.stdin is not None
    guard.stdin.close()
    assert guard.wait(timeout=120) == 1
    assert not touched.exists()
