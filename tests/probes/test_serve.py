"""A rank that serves its stacks is read at its socket, by its own user only, without ptrace and without a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distkb_probes import serve, stacks
from distkb_probes._report import Report, Stopped
from distkb_probes.stack import ask, fault, ranks, spy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and asks the kernel who listens")

WAITS = {
    "sleep": "time.sleep(300)",
    "lock": "import fcntl; one = open(sys.argv[1], 'w'); fcntl.flock(one, 2); fcntl.flock(open(sys.argv[1]), 2)",
    "queue": "import queue; queue.Queue().get()",
}
SCRIPT = """
import os, sys, time
from distkb_probes import live
print(live.serve(), flush=True)
def waits():
    {wait}
waits()
"""


@contextlib.contextmanager
def rank(folder: Path, script: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a script as rank 0 of 2 until it prints a line; yields the process and the line."""
    path = folder / "rank.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1", **variables}
    command = [sys.executable, str(path), str(folder / "lock")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def taken(pid: int, **more: object) -> dict[str, Any]:
    """Return the document of the probe for one rank."""
    report = Report("stacks")
    with contextlib.suppress(Stopped):
        stacks.run({"pids": [pid], "deadline_s": 30, "snapshots": 1, **more}, report)
    return report.document()


def until(condition: Any) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("wait", WAITS)
def test_a_rank_that_waits_is_read_at_its_socket(tmp_path: Path, wait: str) -> None:
    """Whatever its main thread waits in: the function and the line come back, and the socket is its user's alone."""
    with rank(tmp_path, SCRIPT.format(wait=WAITS[wait])) as (process, path):
        assert path == str(serve.directory(os.getuid()) / f"{process.pid}.sock")
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
        until(lambda: "waits" in str(ask.stacks(process.pid, os.getuid()).threads))
        facts = taken(process.pid)["facts"]
        # Ranks of tests that run beside this one belong to it as far as the probe can see.
        (dump,) = (one for one in facts["dumps"] if one["pid"] == process.pid)
        (way,) = (one for one in facts["taken"] if one["pid"] == process.pid)
        assert (dump["way"], way["passed"]) == ("socket", [])
        (main,) = (thread for thread in dump["snapshots"][0] if thread["thread_name"] == "MainThread")
        frames = [(frame["name"], frame["line"]) for frame in main["frames"]]
        assert ("waits", 6) in frames
        assert process.poll() is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
def test_another_user_is_refused(tmp_path: Path) -> None:
    """The kernel says EACCES, and the probe of that user says that it was refused."""
    with rank(tmp_path, SCRIPT.format(wait="time.sleep(300)")) as (process, path):
        code = (
            "import os, socket\nfrom distkb_probes.stack import ask\n"
            f"os.setgroups([]); os.setgid(65534); os.setuid(65534)\nprint(ask.stacks({process.pid}, 0).code)\n"
            f"socket.socket(socket.AF_UNIX).connect({path!r})"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout) == (1, "denied\n")
        assert "PermissionError: [Errno 13]" in done.stderr


def test_nothing_is_offered_without_being_asked_for(tmp_path: Path) -> None:
    """Importing `live` opens no socket, nor does the tracer unless DISTKB_SERVE says so."""
    script = "import time\nfrom distkb_probes import live, trace\ntrace.start(auto=False)\nprint(1, flush=True)\n"
    for value, offered in (("", False), ("1", True)):
        with rank(tmp_path, script + "time.sleep(300)", DISTKB_SERVE=value) as (process, _):
            assert (serve.directory(os.getuid()) / f"{process.pid}.sock").exists() is offered


def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody may write there: a folder or a link that somebody has put there first is not used."""
    folder = tmp_path / "d"
    monkeypatch.setattr(serve, "directory", lambda _uid: folder)
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError):
        serve._prepared()
    folder.rmdir()
    (tmp_path / "real").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "real")
    with pytest.raises(PermissionError):
        serve._prepared()


def test_sockets_of_processes_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed rank's old socket is taken away by the next one that serves; those that live or begin are left alone."""
    monkeypatch.setattr(serve, "directory", lambda _uid: tmp_path / "d")
    serve._prepared()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "d" / "1.sock"))
    os.utime(tmp_path / "d" / "1.sock", (0, 0))
    with socket.socket(socket.AF_UNIX) as alive, socket.socket(socket.AF_UNIX) as begins:
        alive.bind(str(tmp_path / "d" / "2.sock"))
        alive.listen()
        os.utime(tmp_path / "d" / "2.sock", (0, 0))
        begins.bind(str(tmp_path / "d" / "3.new.sock"))
        serve._prepared()
        assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["2.sock", "3.new.sock"]


def test_a_strangers_socket_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers must be the very process that was asked for."""
    monkeypatch.setattr(ask, "directory", lambda _uid: tmp_path)
    script = "import time\nprint(1, flush=True)\ntime.sleep(300)"
    with rank(tmp_path, script) as (process, _), socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(tmp_path / f"{process.pid}.sock"))
        stranger.listen()
        assert ask.stacks(process.pid, os.getuid()).code == "stranger"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (None, "silent"),
        (b"\x00\xff" * 4096, "error"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"\xff" * (1 << 20), "many-threads"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100_000, "many-threads"),
        (iter(lambda: b"x", None), "silent"),
    ],
    ids=["never", "garbage", "noise", "nested", "drips"],
)
def test_whatever_a_socket_answers_is_an_answer_in_time(
    said: bytes | Iterator[bytes] | None, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank whose socket answers nonsense, a byte now and then or never is passed over with a code."""
    monkeypatch.setattr(ask, "directory", lambda _uid: tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / f"{os.getpid()}.sock"))
        listener.listen()

        def serve_all() -> None:
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = listener.accept()
                    threading.Thread(target=reply, args=(caller,), daemon=True).start()

        def reply(caller: socket.socket) -> None:
            with contextlib.suppress(OSError), caller:
                caller.recv(1 << 16)
                for part in (said,) if isinstance(said, bytes) else said or ():
                    caller.sendall(part)
                    time.sleep(0.001)
                if said is None:
                    caller.recv(1)

        threading.Thread(target=serve_all, daemon=True).start()
        answer = ask.stacks(os.getpid(), os.getuid(), limit_s=0.3)
        assert (answer.threads, answer.code) == (None, code)
        assert ask.flight_recorder(os.getpid(), os.getuid(), limit_s=0.3) is None
        listener.shutdown(socket.SHUT_RDWR)


def test_a_stopped_rank_is_said_to_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process answers nobody: without py-spy the answer names it, with the signal that lets it go on."""
    monkeypatch.setattr(spy, "find_tool", lambda _candidates: None)
    with rank(tmp_path, SCRIPT.format(wait="time.sleep(300)")) as (process, _):
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: ranks.state_of(process.pid) == "T")
        document = taken(process.pid)
        found = {item["id"]: item["values"] for item in document["found"]}
        assert found["stacks.rank-stopped"] == {"odd": "0", "pids": str(process.pid)}
        assert found["stacks.unread"]["ways"] == "socket:stopped, ptrace:no-tool, trace:absent"
        assert document["status"] == "skipped"


def test_without_socket_and_py_spy_the_tracers_stack_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack that the tracer wrote when the rank fell silent, with the time at which it did."""
    monkeypatch.setattr(spy, "find_tool", lambda _candidates: None)
    script = (
        "import time\nfrom distkb_probes import trace\ntrace.start(auto=False, quiet_s=0.2)\nprint(1, flush=True)\n"
    )
    with rank(tmp_path, script + "def waits():\n    time.sleep(300)\nwaits()") as (process, _):
        log = tmp_path / "distkb-trace" / "trace-rank-0.log"
        until(lambda: "in <module>" in log.read_text())
        (dump,) = taken(process.pid)["facts"]["dumps"]
        assert dump["way"] == "trace"
        assert abs(dump["time"] - time.time()) < 60
        assert "waits" in [frame["name"] for frame in dump["snapshots"][0][-1]["frames"]]


def test_a_fork_of_a_rank_serves_nothing(tmp_path: Path) -> None:
    """A child is no rank: it closes what it inherited, and may serve on its own."""
    code = (
        "import os, sys\nfrom distkb_probes import serve\nfirst = serve.serve()\npid = os.fork()\n"
        "if pid == 0:\n    assert serve._serving is None\n    assert serve.serve() != first\n    os._exit(0)\n"
        "sys.exit(os.waitpid(pid, 0)[1])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120, cwd=tmp_path).returncode == 0


def test_stacks_that_break_off_are_no_answer() -> None:
    """Faulthandler stops after a hundred threads, before the main one: what is left must not pass for it."""
    head = 'Thread 0x0000000000000001 (most recent call first):\n  File "/a.py", line 3 in work\n\n'
    assert fault.threads_of(head + "...\n") is None
    assert fault.threads_of("") is None
    (thread,) = fault.threads_of(head) or []
    assert (thread["thread_name"], thread["frames"][0]["line"]) == ("MainThread", 3)
