"""Reading real files and running real probes from the screen, on the built-in catalogue."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList
from tui_driver import Drive, drive

from distkb import intake_process
from distkb.diagnosis.session import EvidenceAdded, ProbeResult
from distkb.intake_process import ReadingProcess, ReadRequest
from distkb.locale import Language, Say
from distkb.probing.interpreter import Interpreter
from distkb.sessions import store
from distkb.tui.screens.probes import ProbesScreen
from distkb.tui.screens.reading import ReadingScreen
from distkb.tui.spare import Spare
from distkb.tui.widgets.trail import Trail

LOGS = Path(__file__).parents[2] / "kb" / "incidents" / "I2-frozen-after-validation" / "logs"
BOTH = pytest.mark.parametrize("lang", ["en", "ko"])
MAKE = Spare.make

HOSTILE = "\n".join(
    [
        "[rank0]: [bold red]not red[/bold red] [/] [@click=app.quit]press[/]",
        "[rank0]: \x1b]8;;https://evil.example/\x1b\\link\x1b]8;;\x1b\\ \x1b[2J",
        "[rank0]: \x1b[5;5Hmoved \x9b31mred \x9d0;title\x9c",
        "[rank0]: \u202etxet sdrawkcab\u202c zero\u200bwidth \u2066isolate\u2069",
        "[rank0]: RuntimeError: [bold red]NCCL[/] communicator was aborted on rank 0 \x1b[31mhere\x1b[0m",
        "[rank0]: torch.distributed.DistBackendError: NCCL error in: [x] unhandled system error \x9b2J\u202e",
        "[rank0]: " + "A" * (1 << 20),
        "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=[bold], OpType=[/]) \x1b[1A",
        "[rank1]: bye",
    ]
)
TREACHEROUS = ("\x1b", "\x9b", "\x9d", "\u202e", "\u200b", "\u2066", "\x07")


def children(name: str) -> list[int]:
    """Ids of the processes below this one whose command line has this name."""
    # Without -ww a command line ends at the width of a terminal, and a name behind a long path is never found.
    listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    above: dict[int, int] = {}
    named: list[int] = []
    for line in listed.splitlines():
        pid, parent, args = line.split(None, 2)
        above[int(pid)] = int(parent)
        if name in args:
            named.append(int(pid))
    return [pid for pid in named if os.getpid() in _ancestors(pid, above)]


def _ancestors(pid: int, above: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in above and pid not in found:
        pid = above[pid]
        found.add(pid)
    return found


class StoppedReading(ReadingProcess):
    """Really reads, but its process is stopped at once, so that it cannot end by itself before a test steps in."""

    def __init__(self, request: ReadRequest | None = None, *, overlays: Sequence[Path] = ()) -> None:
        super().__init__(request, overlays=overlays)
        for pid in children("intake_process"):
            os.kill(pid, signal.SIGSTOP)


async def reader(driven: Drive) -> None:
    """Wait for the reading process."""
    await driven.at("reading")
    await driven.until(lambda: bool(children("intake_process")), "reader")


@BOTH
def test_a_folder_on_the_command_line_opens_as_a_session(lang: Language) -> None:
    """`distkb PATH` reads the folder, names its causes, and shows each line where it stands."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.says("stderr.log")
        assert driven.app.current is not None
        assert driven.app.current.view is not None
        assert driven.app.current.view.entries[0].id == "D21"
        await driven.press("e")
        trail = driven.app.screen.query_one(Trail)
        rows = [str(option.prompt) for option in trail.options]
        place = next(number for number, row in enumerate(rows) if "stderr.log:" in row)
        trail.highlighted = place
        await driven.press("enter")
        await driven.at("context")
        await driven.says("▶")

    drive(script, lang=lang, size=(100, 30), paths=(LOGS,))
    assert store.list_sessions()[0].title == "I2-frozen-after-validation/logs"


@BOTH
def test_words_begin_a_session(lang: Language) -> None:
    """What was described is the first thing that is known."""

    async def script(driven: Drive) -> None:
        await driven.write("all ranks hang in barrier" if lang == "en" else "배리어에서 모든 랭크가 멈춰요")
        assert driven.app.screen.query_one("#start-results", OptionList).option_count > 0
        await driven.press("enter")
        await driven.at("session")
        assert Say(lang)("tui.trail.words") in driven.shown

    drive(script, lang=lang)


@BOTH
def test_a_path_typed_instead_of_words_is_opened(lang: Language) -> None:
    """The input, the dialog and the tree lead to the same session; a path that does not exist is named."""

    async def script(driven: Drive) -> None:
        await driven.press("f2")
        await driven.at("open")
        await driven.write("/no/such/path")
        await driven.press("enter")
        await driven.until(lambda: len(driven.app.screen.query("Toast")) > 0, "complaint")
        driven.app.screen.query_one(Input).value = str(LOGS)
        await driven.press("ctrl+o")
        await driven.at("session")
        assert driven.app.current is not None
        assert isinstance(driven.app.current.session.events[0], EvidenceAdded)

    drive(script, lang=lang)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every reading process stand still."""
    monkeypatch.setattr(intake_process, "ReadingProcess", StoppedReading)


@pytest.mark.usefixtures("stopped")
@BOTH
def test_cancelling_a_read_leaves_no_process(lang: Language) -> None:
    """Escape ends the reading process at once and leads back; nothing is begun."""

    async def script(driven: Drive) -> None:
        await reader(driven)
        await driven.press("escape")
        await driven.at("start")
        await driven.until(lambda: not children("intake_process"), "no reader")

    drive(script, lang=lang, paths=(LOGS,))
    assert store.list_sessions() == []


@pytest.mark.usefixtures("stopped")
@BOTH
def test_leaving_while_reading_leaves_no_process(lang: Language) -> None:
    """Ctrl+Q ends the program and the reading process with it."""

    async def script(driven: Drive) -> None:
        await reader(driven)
        await driven.pilot.press("ctrl+q")

    drive(script, lang=lang, paths=(LOGS,))
    assert not children("intake_process")


@pytest.mark.parametrize(
    "name", ["[bold red]\x1b[31mx[\u202e.log", pytest.param("rank0.log", marks=pytest.mark.slow)], ids=["name", "text"]
)
def test_a_hostile_log_shows_as_text(name: str, tmp_path: Path) -> None:
    """Markup, links, cursor moves, C1 codes, overrides and endless lines are text or nothing, wherever they show."""
    log = tmp_path / name
    log.write_text(HOSTILE, encoding="utf-8")

    async def script(driven: Drive) -> None:
        await driven.at("session")
        looks = [driven.shown]
        await driven.press("e")
        trail = driven.app.screen.query_one(Trail)
        assert trail.option_count > 1
        for number in range(min(trail.option_count, 8)):
            await driven.at("session")
            trail.focus()
            trail.highlighted = number
            await driven.press("enter")
            looks.append(driven.shown)
            if driven.where == "context":
                await driven.until(lambda: "bye" in driven.shown or "▶" in driven.shown, "lines")
                looks.append(driven.shown)
            if driven.where != "session":
                await driven.press("escape")
        for look in looks:
            assert not [code for code in TREACHEROUS if code in look]
        assert any("[bold red]" in look for look in looks)
        await driven.press("q")
        await driven.at("start")
        await driven.press("f5")
        await driven.at("resume")
        assert not [code for code in TREACHEROUS if code in driven.shown]

    drive(script, size=(120, 40), paths=(log,))


def test_hostile_file_names_are_text_in_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are markup, escape sequences or nothing but invisible characters do not break the dialog."""
    for name in ("[bold red]x", "[", "[@click=app.quit]y", "a\x1b[31mb", "\u202e\u200b", "line\nbreak"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    async def script(driven: Drive) -> None:
        await driven.press("f2")
        await driven.at("open")
        await driven.says("[bold red]x")
        assert "[@click=app.quit]y" in driven.shown
        assert not [code for code in TREACHEROUS if code in driven.shown]
        await driven.write("a")
        assert not [code for code in TREACHEROUS if code in driven.shown]

    drive(script)


@BOTH
@pytest.mark.slow
def test_a_probe_runs_live_and_tells_the_session(lang: Language) -> None:
    """The environment probe really runs, its findings are shown and become part of the session."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        driven.app.check_machine("env", "probe.env")
        await driven.at("probes")
        screen = driven.app.screen
        await driven.until(lambda: isinstance(screen, ProbesScreen) and screen.python is not None, "python")
        await driven.press("enter")
        await driven.says(Say(lang)("tui.probes.done"))
        assert not children("distkb_probes")
        await driven.press("escape")
        await driven.at("session")
        assert driven.app.current is not None
        result = driven.app.current.session.events[-1]
        assert isinstance(result, ProbeResult)
        assert (result.step, result.status) == ("probe.env", "ok")

    drive(script, lang=lang, paths=(LOGS,))


@BOTH
def test_cancelling_a_probe_leaves_no_process(lang: Language, tmp_path: Path) -> None:
    """`k` ends the probe with all its processes, and leaving the program while one runs does the same."""
    python = tmp_path / "python"
    # Stands still before its first step, so that it cannot end by itself before a test steps in.
    python.write_text(f'#!/bin/sh\nkill -STOP $$\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)

    async def started(driven: Drive) -> None:
        await driven.press("f3")
        await driven.at("probes")
        screen = driven.app.screen
        assert isinstance(screen, ProbesScreen)
        await driven.until(lambda: screen.python is not None, "python")
        screen.python = Interpreter(path=python, why="asked", has_torch=True)
        await driven.press("down", "enter")
        await driven.until(lambda: bool(children(str(python))), "probe")

    async def cancelled(driven: Drive) -> None:
        await started(driven)
        await driven.press("k")
        await driven.says(Say(lang)("tui.probes.done"))
        await driven.until(lambda: not children("distkb_probes"), "no probe")

    async def left(driven: Drive) -> None:
        await started(driven)
        await driven.pilot.press("ctrl+q")

    drive(cancelled, lang=lang)
    app = drive(left, lang=lang)
    assert app.return_code == 0
    assert not children("distkb_probes")


@BOTH
def test_what_reads_is_ready_before_it_is_needed(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process waits on the start screen, reads what is given, and is gone with the program, used or not."""
    monkeypatch.setattr(Spare, "make", MAKE)
    waiting: list[int] = []
    read: list[int] = []

    class Watched(ReadingProcess):
        def ask(self, request: ReadRequest) -> None:
            read.append(self._process.pid)
            super().ask(request)

    monkeypatch.setattr(intake_process, "ReadingProcess", Watched)

    async def script(driven: Drive) -> None:
        await driven.until(lambda: len(children("intake_process")) == 1, "one that waits")
        waiting.extend(children("intake_process"))
        driven.app.begin(paths=[LOGS])
        await driven.at("session")
        assert read == waiting
        await driven.press("q")
        await driven.at("start")
        await driven.until(lambda: len(children("intake_process")) == 1, "another one")

    drive(script, lang=lang)
    assert not children("intake_process")


@BOTH
def test_compiling_patterns_is_said_while_it_lasts(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reading of all says why it takes longer; as soon as that is done it says what is read."""
    monkeypatch.setattr(intake_process, "ReadingProcess", StoppedReading)
    say = Say(lang)

    async def script(driven: Drive) -> None:
        await reader(driven)
        screen = driven.app.screen
        assert isinstance(screen, ReadingScreen)
        screen.post_message(ReadingScreen.Prepared(done=False))
        await driven.says(say("tui.reading.preparing"))
        screen.post_message(ReadingScreen.Prepared(done=True))
        await driven.until(lambda: say("tui.reading.preparing") not in driven.shown, "no longer said")

    drive(script, lang=lang, paths=(LOGS,))


@pytest.mark.slow
def test_a_process_that_reads_compiles_what_is_not_kept_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty cache it says that it prepares before it reads; with that cache it need not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for told in ([True, False], []):
        prepared: list[bool] = []
        evidence = ReadingProcess(ReadRequest(paths=(str(LOGS),))).result(preparing=prepared.append)
        assert evidence.bytes_read
        assert prepared == told


@BOTH
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)], ids=["60x20", "80x24", "120x40"])
def test_a_quote_is_in_sight_where_it_stands(lang: Language, size: tuple[int, int]) -> None:
    """However long the lines around it are, the quoted line itself is shown."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("e")
        trail = driven.app.screen.query_one(Trail)
        place = next(n for n, option in enumerate(trail.options) if "stderr.log:18" in str(option.prompt))
        trail.highlighted = place
        await driven.press("enter")
        await driven.at("context")
        await driven.until(lambda: "▶      18" in driven.shown, "the line itself")
        assert ":18" in driven.shown.partition("▶")[0]

    drive(script, lang=lang, size=size, paths=(LOGS,))


@BOTH
def test_a_low_terminal_shows_every_answer_of_a_step(lang: Language) -> None:
    """At 60 by 20 what can be done with a step is in sight, each with its key."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        await driven.at("session")
        for _ in range(6):
            if f"1 {say('tui.move.option.commands')}" in driven.shown:
                break
            await driven.press("s")
        for number, name in enumerate(("commands", "add", "decline"), 1):
            await driven.says(f"{number} {say(f'tui.move.option.{name}')}")

    drive(script, lang=lang, size=(60, 20), paths=(LOGS,))
