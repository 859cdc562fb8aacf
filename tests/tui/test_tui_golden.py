"""Every screen as text, in both languages and three sizes; `UPDATE_GOLDEN=1` writes them anew.

They show a sample catalogue, so that they change when a screen changes and not when an entry's wording does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input
from tui_driver import FIRST, Drive, drive

from distkb import intake_process
from distkb.diagnosis.moves import Ask, Take, TryFix
from distkb.evidence.readers.probe_answers import ProbeFinding
from distkb.intake_process import CancelledError
from distkb.locale import Language
from distkb.probing.document import RawDocument
from distkb.probing.interpreter import Interpreter
from distkb.probing.run import Stage
from distkb.tui.screens import probes, reading
from distkb.tui.screens.advise import AdviseScreen
from distkb.tui.widgets.move import MovePanel

GOLDEN = Path(__file__).with_name("golden")


class Dumps:
    """What one walk through the program saw, compared with what it saw before."""

    def __init__(self, lang: Language, size: tuple[int, int]) -> None:
        self._ending = f"{lang}-{size[0]}x{size[1]}.txt"
        self._size = size
        self._differ: list[str] = []

    def take(self, name: str, driven: Drive) -> None:
        """Compare what is shown with the file of this name."""
        shown = driven.shown
        columns, rows = self._size
        assert len(shown.splitlines()) == rows, name
        path = GOLDEN / f"{name}-{self._ending}"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(shown, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != shown:
            self._differ.append(f"{path.name} ({columns} columns) is now\n{shown}")

    def check(self) -> None:
        """Fail where anything differs."""
        assert not self._differ, "\n".join(self._differ)


@pytest.mark.parametrize(
    "size",
    [(80, 24), *(pytest.param(size, marks=pytest.mark.slow) for size in ((60, 20), (120, 40)))],
    ids=lambda size: f"{size[0]}x{size[1]}",
)
@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.usefixtures("recorded")
def test_every_screen_looks_as_it_did(lang: Language, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The start, the session with each kind of move, its dialogs, the catalogue and the help are as recorded."""
    dumps = Dumps(lang, size)
    stand_still(monkeypatch)

    async def walk(driven: Drive) -> None:
        await around_the_start(driven, dumps)
        await through_the_session(driven, dumps)
        await through_the_catalogue(driven, dumps)
        await at_the_advisor(driven, dumps)

    drive(walk, lang=lang, size=size)
    dumps.check()


def stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading never end and a probe always find the same."""

    class Endless:
        is_alive = True

        def __init__(self, **_: object) -> None:
            """Nothing is started."""

        def ask(self, request: object) -> None:
            """Nothing is read."""

        def result(self, progress: Callable[[int, int], None], _: object) -> object:
            progress(3 << 20, 12 << 20)
            raise CancelledError

        def cancel(self) -> None:
            """Nothing runs."""

    class Recorded:
        def __init__(self, probe: str, *_: object, listener: object, **__: object) -> None:
            self._probe = probe
            listener(Stage("allreduce.launch", {}))  # type: ignore[operator]
            listener("eth1: 100 Mb/s [bold red]slow[/]")  # type: ignore[operator]

        def result(self) -> RawDocument:
            found = ProbeFinding(id="env.link-slow", values={"link": "eth1", "speed": "100 Mb/s"})
            return RawDocument(
                schema="distkb.probe-raw/1", probe=self._probe, status="ok", found=(found,), elapsed_s=1.5
            )

        def cancel(self) -> None:
            """Nothing runs."""

    python = Interpreter(path=Path("/opt/train/bin/python"), why="virtualenv", has_torch=True)
    monkeypatch.setattr(intake_process, "ReadingProcess", Endless)
    monkeypatch.setattr(reading, "monotonic", lambda: 1.0)
    monkeypatch.setattr(probes, "ProbeRun", Recorded)
    monkeypatch.setattr("distkb.probing.interpreter.find_interpreter", lambda: python)


async def around_the_start(driven: Drive, dumps: Dumps) -> None:
    """The start screen and what opens from it."""
    await driven.says("2026-01-03")
    dumps.take("start", driven)
    await driven.press("f1")
    dumps.take("help-start", driven)
    await driven.press("escape", "ctrl+p")
    await driven.until(lambda: driven.app.screen.query("CommandList.--visible").__bool__(), "commands")
    dumps.take("palette", driven)
    await driven.press("escape")
    await driven.at("start")
    await driven.write("rank")
    dumps.take("start-results", driven)
    await driven.press("enter")
    await driven.says("12.0")
    dumps.take("reading", driven)
    await driven.press("escape")
    await driven.press("escape", "f2")
    await driven.says("rank0.log")
    dumps.take("open", driven)
    await driven.press("escape", "f3")
    await driven.says("/opt/train")
    dumps.take("probes", driven)
    await driven.press("down", "enter")
    await driven.says("D10.a")
    dumps.take("probes-result", driven)
    await driven.press("escape", "f5")
    dumps.take("resume", driven)


async def through_the_session(driven: Drive, dumps: Dumps) -> None:
    """A recorded session from its question to a fix that helped."""
    await driven.press("down", "enter")
    await driven.at("session")
    await driven.press("u")  # with nothing known every kind of move makes sense
    for _ in range(5):
        dumps.take(f"session-{name_of(driven.app.screen.query_one(MovePanel).move)}", driven)
        await driven.press("s")
    await driven.press("q", "f5", "down", "enter")  # the undo put the other session first
    await driven.at("session")
    assert driven.app.current is not None
    assert driven.app.current.session.id == FIRST
    dumps.take("session-fix", driven)
    await driven.press("w")
    dumps.take("session-why", driven)
    await driven.press("w", "question_mark")
    dumps.take("help-session", driven)
    await driven.press("escape", "e", "enter")
    dumps.take("change", driven)
    await driven.press("escape", "down", "down", "down", "enter")
    await driven.says("bye")
    dumps.take("context", driven)
    await driven.press("escape", "t")
    await driven.at("course")
    dumps.take("course", driven)
    await driven.press("escape", "c")
    dumps.take("session-causes", driven)
    await driven.press("escape", "x")
    dumps.take("export", driven)
    await driven.press("escape", "f")
    dumps.take("fix", driven)
    await driven.press("end")
    dumps.take("fix-end", driven)
    await driven.press("g")
    dumps.take("fix-workaround", driven)
    await driven.press("n")
    await driven.at("session")
    dumps.take("session-fix-did-not-help", driven)
    await driven.press("f", "y")
    await driven.at("session")
    dumps.take("session-done", driven)
    await driven.press("q")
    await driven.at("start")


def name_of(move: object) -> str:
    """Name of the file for a session that shows this move."""
    if isinstance(move, Ask):
        return f"ask-{move.question.id}"
    if isinstance(move, TryFix):
        return f"try-{move.fix.id.replace('.', '-')}"
    return move.step.id.replace(".", "-") if isinstance(move, Take) else "other"


async def through_the_catalogue(driven: Drive, dumps: Dumps) -> None:
    """The list of entries, one entry, and the glossary."""
    await driven.press("escape", "f4")
    await driven.at("browse")
    dumps.take("browse", driven)
    await driven.write("slow")
    dumps.take("browse-results", driven)
    await driven.press("f7")
    dumps.take("glossary", driven)
    await driven.press("enter")
    await driven.at("entry")
    dumps.take("entry", driven)
    await driven.press("end")
    dumps.take("entry-end", driven)


async def at_the_advisor(driven: Drive, dumps: Dumps) -> None:
    """The advisor as it begins, on several nodes, with a mistake, and with a file to start with."""
    driven.app.advise()
    await driven.at("advise")
    screen = driven.app.screen
    assert isinstance(screen, AdviseScreen)
    await driven.until(lambda: screen.advice is not None, "an answer")
    dumps.take("advise", driven)
    for field, text in (("gpus", "16"), ("model", "llama-3-70b"), ("memory", "40G")):
        screen.query_one(f"#advise-{field}", Input).value = text
        await driven.pilot.pause()
        await driven.until(lambda: not screen.busy, "the answer")
    await driven.press("down")
    dumps.take("advise-nodes", driven)
    await driven.press("enter", "down")
    await driven.at("launch")
    dumps.take("launch", driven)
    await driven.press("escape", "f1")
    dumps.take("help-advise", driven)
    await driven.press("escape")
    screen.query_one("#advise-seq", Input).value = "many"
    await driven.says("many")
    await driven.until(lambda: not screen.busy, "the answer")
    dumps.take("advise-mistake", driven)
