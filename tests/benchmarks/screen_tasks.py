"""Prints how many keys and seconds six tasks take on the screen: `python tests/benchmarks/screen_tasks.py [PROGRAM]`.

Each is carried out in a real terminal that tmux draws: the first start of all, from a folder to the fix, from a job
that hangs here to where its ranks stand, a fix that did not help, an earlier session, and a log of 3,000 lines that is
pasted. A key is pressed as soon as the one before has shown what it does, so that the seconds are those of the
program; processor seconds are those of it and of what it started and waited for. The hang needs torch.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "kb" / "incidents" / "I2-frozen-after-validation" / "logs"
PROGRAM = str(Path(sys.executable).with_name("distkb"))
WORDS = "training hangs after the first validation"
READY, FIX, JOB = "Nothing leaves this machine", "Did it help?", "stuck_here.py"
PATIENCE_S = 180.0
HANG = """
import datetime, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
dist.all_reduce(torch.ones(1))
print("together", flush=True)
dist.barrier() if dist.get_rank() == 0 else dist.all_reduce(torch.ones(4))
"""


Until = Callable[[str], bool] | str


class Done(NamedTuple):
    """What a task took."""

    keys: int
    characters: int
    seconds: float
    processor: float


class Terminal:
    """One tmux server with one window; counts what is pressed and typed in it."""

    def __init__(self, folder: Path, program: str, size: tuple[int, int] = (100, 30)) -> None:
        self._folder, self._program, self._size = folder, program, size
        self._windows = 0
        self._homes = [f"-eXDG_STATE_HOME={folder}/state", f"-eXDG_CACHE_HOME={folder}/cache"]
        self.keys = self.characters = 0
        self._began, self._used = time.monotonic(), 0.0

    def tmux(self, *args: str) -> str:
        """Run one tmux command and return what it prints."""
        command = ["tmux", "-f", os.devnull, "-S", str(self._folder / str(self._windows)), *args]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def start(self, *args: str) -> None:
        """Start the program with these arguments, and the clock with it."""
        self.tmux("kill-server")
        self._windows += 1
        columns, rows = self._size
        line = f"env -u NO_COLOR TERM=tmux-256color DISTKB_LANG=en {self._program} {shlex.join(args)}"
        size = ("-x", str(columns), "-y", str(rows))
        self.begin()
        self.tmux("new-session", "-d", *size, *self._homes, "sh", "-c", f"{line}; exec sleep 600")

    def begin(self) -> None:
        """Begin to count."""
        self.keys = self.characters = 0
        self._began, self._used = time.monotonic(), self._processor()

    def done(self) -> Done:
        """Return what was counted since the beginning."""
        taken = time.monotonic() - self._began
        return Done(self.keys, self.characters, taken, self._processor() - self._used)

    def _processor(self) -> float:
        """Processor seconds of the program and of the processes that it waited for; 0 before it is there."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
            (program,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
            used = Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[11:15]
            return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def paste(self, text: str, until: Until) -> None:
        """Paste a text as a terminal does that says where a paste begins and ends, and wait for what it leads to."""
        self.keys += 1
        file = self._folder / "pasted"
        file.write_text(text, encoding="utf-8")
        self.tmux("load-buffer", str(file))
        self.tmux("paste-buffer", "-p")
        self.wait(until)

    def press(self, key: str, until: Until) -> None:
        """Press a key and wait for what it leads to."""
        self.keys += 1
        self.tmux("send-keys", key)
        self.wait(until)

    def type(self, text: str) -> None:
        """Type a text and wait until it stands there."""
        self.characters += len(text)
        self.tmux("send-keys", "-l", text)
        self.wait(text[-20:])

    def wait(self, until: Until) -> None:
        """Wait until a text is shown, or what is shown fulfils something."""
        holds = (lambda shown: until in shown) if isinstance(until, str) else until
        end = time.monotonic() + PATIENCE_S
        while not holds(shown := self.shown):
            if time.monotonic() > end:
                raise TimeoutError(f"never shown: {until}\n{shown}")
            time.sleep(0.02)  # between two looks at another program's screen

    @property
    def shown(self) -> str:
        """What the terminal shows."""
        return self.tmux("capture-pane", "-p")


def ranked(shown: str) -> bool:
    """Whether a session shows its causes with their probabilities."""
    return "Causes" in shown and any(f"{n}%" in shown for n in range(1, 100))


def first_start(terminal: Terminal) -> Done:
    """From nothing at all to the causes of what was described."""
    terminal.start()
    terminal.wait(READY)
    terminal.type(WORDS)
    terminal.press("Enter", ranked)
    return terminal.done()


def folder(terminal: Terminal) -> Done:
    """From the start to the fix for the logs in a folder."""
    terminal.start()
    terminal.wait(READY)
    terminal.begin()
    terminal.type(str(LOGS))
    terminal.press("Enter", ranked)
    terminal.press("f", FIX)
    return terminal.done()


def live_hang(terminal: Terminal) -> Done:
    """From the start to where the ranks of a job stand that hangs here."""
    with hanging():
        terminal.start()
        terminal.wait(READY)
        terminal.wait(JOB)
        terminal.begin()
        offers = [row for row in terminal.shown.splitlines() if row.strip().startswith("↵")]
        at = next(number for number, row in enumerate(offers) if JOB in row)
        for _ in range(at + 1 if at else 0):  # other jobs run here, and were silent for longer
            terminal.press("Down", READY)
        terminal.press("Enter", lambda shown: f"({JOB}:" in shown and ranked(shown))
        return terminal.done()


def no_help(terminal: Terminal) -> Done:
    """From a session to its fix, that it did not help, and back to what is proposed next."""
    terminal.start(str(LOGS))
    terminal.wait(ranked)
    terminal.begin()
    terminal.press("f", FIX)
    terminal.press("n", lambda shown: FIX not in shown and ranked(shown) and "▼" in shown)
    return terminal.done()


def resume(terminal: Terminal) -> Done:
    """From the start to the session that was worked on last."""
    terminal.start()
    terminal.wait(READY)
    terminal.begin()
    terminal.press("F5", "Which session?")
    terminal.press("Enter", ranked)
    return terminal.done()


def paste(terminal: Terminal) -> Done:
    """From a log of 3,000 lines that is pasted to its causes."""
    steps = (f"[rank{n % 2}]: step {n // 2} loss {2 + n % 7 / 10:.4f} lr 3.0e-04" for n in range(3000))
    end = (LOGS / "console.log").read_text(encoding="utf-8").splitlines()
    text = "\n".join([*list(steps)[: 3000 - len(end)], *end, ""])
    terminal.start()
    terminal.wait(READY)
    time.sleep(2.0)  # a person looks for the log and copies it
    terminal.begin()
    terminal.paste(text, ranked)
    return terminal.done()


TASKS = {
    "first start": first_start,
    "a folder": folder,
    "a live hang": live_hang,
    "did not help": no_help,
    "resume": resume,
    "a pasted log": paste,
}


@contextlib.contextmanager
def hanging() -> Iterator[None]:
    """Run two ranks that wait for each other in different collectives."""
    with tempfile.TemporaryDirectory() as name:
        script, log = Path(name, "stuck_here.py"), Path(name, "out.log")
        script.write_text(HANG, encoding="utf-8")
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
        with log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
        try:
            while log.read_text(encoding="utf-8").count("together") < 2 and process.poll() is None:
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    """Carry out the tasks one after another in one home, and print a row for each; `--only NAME` for one of them."""
    *given, only = sys.argv[1:] if "--only" in sys.argv else [*sys.argv[1:], ""]
    given = [one for one in given if one != "--only"]
    program = given[0] if given else shlex.quote(PROGRAM)
    sys.stdout.write(f"{'task':<14}{'keys':>6}{'typed':>8}{'seconds':>9}{'processor':>11}{'load':>7}\n")
    with tempfile.TemporaryDirectory() as name:
        terminal = Terminal(Path(name), program)
        try:
            for task, carry_out in TASKS.items() if not only else [(only, TASKS[only])]:
                done = carry_out(terminal)
                row = f"{task:<14}{done.keys:>6}{done.characters:>8}{done.seconds:>9.1f}{done.processor:>11.2f}"
                sys.stdout.write(f"{row}{os.getloadavg()[0]:>7.1f}\n")
                sys.stdout.flush()
        finally:
            terminal.tmux("kill-server")


if __name__ == "__main__":
    main()
