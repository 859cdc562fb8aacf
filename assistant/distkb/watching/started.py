"""A command that is started as if nobody watched it: its input, output, terminal and signals are those of the caller.

It inherits our streams, so that no pipe breaks and nothing is buffered when the watcher is gone; it stays in our
process group, so that the terminal's Ctrl-C and Ctrl-Z reach both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

_FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
_FROM_KERNEL = 0x80
"""`si_code` of a signal that the kernel sent, such as the terminal's for Ctrl-C: the whole group has it already."""
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class NotStartedError(Exception):
    """The command cannot be started; holds why."""


class Signals:
    """Takes the signals of this process one by one, with who sent them, and knows when a child ended.

    They stay blocked from its making on; children get back the mask that was there before.
    """

    def __init__(self, *, forward: bool) -> None:
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        # What the caller ignores (nohup: SIGHUP) stays ignored, here and in the command.
        mine = [one for one in _FORWARDED if signal.getsignal(one) is not signal.SIG_IGN] if forward else []
        self._taken = {*mine, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)

    def wait(self, seconds: float) -> int | None:
        """Wait until a signal comes, or so long; return one that somebody sent to this process alone."""
        got = signal.sigtimedwait(self._taken, max(0.0, seconds))
        if got is None or got.si_signo == signal.SIGCHLD or got.si_code == _FROM_KERNEL:
            return None
        return got.si_signo

    def restore(self) -> None:
        """Let signals be what they were."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


class Passing:
    """Copies what the command writes to the files of its output on to our own streams, byte for byte."""

    def __init__(self, directory: Path) -> None:
        """Make the files, or go on at their ends."""
        directory.mkdir(parents=True, exist_ok=True)
        self.logs = (directory / "stdout.log", directory / "stderr.log")
        self._files = []
        for number, path in enumerate(self.logs, 1):
            path.touch(mode=0o600)
            file = path.open("rb")
            file.seek(0, os.SEEK_END)
            self._files.append((file, number))

    def copy(self) -> None:
        """Copy what has come since the last time."""
        for file, number in self._files:
            while data := file.read(1 << 16):
                view = memoryview(data)
                try:
                    while view:
                        view = view[os.write(number, view) :]
                except OSError:
                    break  # nobody reads any more; the file keeps all of it


class StartedCommand:
    """The command that the user asked for."""

    def __init__(self, words: Sequence[str], signals: Signals, passing: Passing | None = None) -> None:
        """Start it; with `passing`, its output goes to those files. Raises NotStartedError."""
        self._code: int | None = None
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = []
        environment = dict(os.environ)
        self.passing = passing
        if passing is not None:
            flags = os.O_WRONLY | os.O_APPEND
            actions = [
                (os.POSIX_SPAWN_OPEN, number, str(path), flags, 0) for number, path in enumerate(passing.logs, 1)
            ]
            # Python keeps back what it writes to files; who looks on wants every line when it comes.
            environment.setdefault("PYTHONUNBUFFERED", "1")
        program = shutil.which(words[0])
        if program is None:
            raise NotStartedError(words[0])
        try:
            self.pid = os.posix_spawn(
                program,
                list(words),
                environment,
                file_actions=actions,
                setsigmask=signals.before,
                setsigdef=[one for one in _IGNORED_BY_PYTHON if signal.getsignal(one) is signal.SIG_IGN],
            )
        except OSError as problem:
            raise NotStartedError(f"{words[0]}: {problem.strerror}") from None

    def poll(self) -> int | None:
        """Return the exit code when it has ended, as a shell gives it: 128 and the signal."""
        if self._code is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._code = code if code >= 0 else 128 - code
        return self._code

    def send(self, number: int) -> None:
        """Hand on a signal that was meant for it."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def run_beside(command: str, more: dict[str, str], signals: Signals) -> list[int]:
    """Start a command of the user's in a group of its own, its output on our stderr; return its pid, if it started."""
    with contextlib.suppress(OSError):
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", command],
            {**os.environ, **more},
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, 2, 1)],
            setpgroup=0,
            setsigmask=signals.before,
            setsigdef=list(_IGNORED_BY_PYTHON),
        )
        return [pid]
    return []


def ended(pid: int) -> bool:
    """Whether a command that was started beside the job has ended; it is waited for then."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
