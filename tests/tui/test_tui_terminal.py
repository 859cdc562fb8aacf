"""The program in a real terminal: tmux draws it, keys go in, and nothing is mocked."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from distkb.diagnosis.session import Answered, EvidenceAdded
from distkb.locale import Language, Say
from distkb.sessions import store

TMUX = shutil.which("tmux")
LOGS = Path(__file__).parents[2] / "kb" / "incidents" / "I1-frozen-at-first-forward" / "logs"
PROGRAM = Path(sys.executable).with_name("distkb")
PATIENCE_S = 120.0

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(TMUX is None, reason="tmux is not installed")]


class Terminal:
    """A tmux server of its own with one window at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    @property
    def _socket(self) -> str:
        return str(self._folder / str(self._count))

    def tmux(self, *args: str) -> str:
        """Run one tmux command and return what it prints."""
        command = [str(TMUX), "-f", os.devnull, "-S", self._socket, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def start(self, *command: str, lang: Language = "en", columns: int = 80, rows: int = 24) -> None:
        """Open a window with a command in it instead of the one before; it stays when the command ends."""
        self.close()
        self._count += 1
        names = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "PATH", "HOME")
        environ = [f"-e{name}={os.environ[name]}" for name in names if name in os.environ]
        line = shlex.join(["env", "-u", "NO_COLOR", "TERM=tmux-256color", f"DISTKB_LANG={lang}", *command])
        size = ("-x", str(columns), "-y", str(rows))
        self.tmux("new-session", "-d", *size, *environ, "sh", "-c", f"{line}; echo ended $?; exec sleep 600")

    def close(self) -> None:
        """Close the window and end what runs in it."""
        self.tmux("kill-server")

    def keys(self, *names: str) -> None:
        """Press keys."""
        self.tmux("send-keys", *names)

    @property
    def shown(self) -> str:
        """What the terminal shows."""
        return self.tmux("capture-pane", "-p")

    @property
    def pid(self) -> int:
        """Process id of the program in the window."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(shell)], capture_output=True, text=True, check=True)
        return int(listed.stdout.split()[0])

    def until(self, holds: Callable[[str], bool], what: str) -> str:
        """Wait until what is shown fulfils something."""
        end = time.monotonic() + PATIENCE_S
        while not holds(shown := self.shown):
            if time.monotonic() > end:
                message = f"never shown: {what}\n{shown}"
                raise AssertionError(message)
            time.sleep(0.05)  # between two looks at another program's screen
        return shown

    def says(self, text: str) -> str:
        """Wait until a text is shown."""
        return self.until(lambda shown: text in shown, text)

    def moves_on(self, before: list[str], trail: str) -> str:
        """Return what is shown once another move stands there than in these rows above the heading of the trail."""
        return self.until(lambda shown: trail in shown and move_of(shown, trail) != before, "another move")


def move_of(shown: str, trail: str) -> list[str]:
    """The rows of the screen above the heading of the trail: what happened, and the move that is shown."""
    rows = shown.splitlines()
    return rows[1 : next(index for index, row in enumerate(rows) if trail in row)]


@pytest.fixture
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal that is closed at the end, with all that runs in it."""
    opened = Terminal(tmp_path_factory.mktemp("t"))
    yield opened
    opened.close()


def saved_events(count: int) -> tuple[object, ...]:
    """Wait until so many events of the only session are saved, and return them."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        listed = store.list_sessions()
        if listed and len(events := store.load(listed[0].id).events) >= count:
            return events
        time.sleep(0.05)
    message = f"never saved: {count} events"
    raise AssertionError(message)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_from_a_failing_run_to_its_fix_and_back_again(lang: Language, terminal: Terminal) -> None:
    """Open the logs of a real failing run, answer the question, read the fix, leave, and go on later."""
    say = Say(lang)
    terminal.start(str(PROGRAM), str(LOGS), lang=lang)
    terminal.says("D21")
    answer_a_question(terminal, say)
    assert len(saved_events(2)) == 2
    terminal.keys("f")
    terminal.says(say("tui.fix.did-it-help"))
    terminal.keys("C-q")
    terminal.says("ended 0")
    assert isinstance(store.load(store.list_sessions()[0].id).events[0], EvidenceAdded)

    terminal.start(str(PROGRAM), "--resume", lang=lang, columns=120, rows=40)
    shown = terminal.says("D21")
    assert "I1-frozen-at-first-forward/logs" in shown
    terminal.keys("C-q")
    terminal.says("ended 0")


def answer_a_question(terminal: Terminal, say: Say) -> None:
    """Go from move to move until the screen asks a question, and choose its first answer."""
    asks = say("tui.move.ask", time="").partition("(")[0].strip()
    trail = say("tui.session.trail")
    for _ in range(8):
        before = move_of(terminal.says(trail), trail)
        if any(row.strip().startswith(asks) for row in before):
            break
        terminal.keys("s")
        terminal.moves_on(before, trail)
    else:
        raise AssertionError(terminal.shown)
    several = any("[ ]" in row for row in before)
    terminal.keys("1")
    after = terminal.moves_on(before, trail)
    if several and "[x]" in after:  # one of several answers is marked; one that rules out the others answers at once
        terminal.keys("Enter")
        terminal.moves_on(move_of(after, trail), trail)


def test_kill_9_loses_at_most_the_last_key(terminal: Terminal) -> None:
    """Whatever was shown is saved: a killed program goes on where it stood."""
    say = Say("en")
    terminal.start(str(PROGRAM), str(LOGS))
    terminal.says("D21")
    answer_a_question(terminal, say)
    answered = saved_events(2)
    assert isinstance(answered[1], Answered)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.says("ended 137")
    assert store.load(store.list_sessions()[0].id).events == answered

    terminal.start(str(PROGRAM), "--resume")
    terminal.says("D21")
    terminal.keys("u")
    assert len(saved_events(3)) == 3
    terminal.keys("C-q")
    terminal.says("ended 0")
