"""Drives the screen in tests: presses keys, waits until what they started has ended, and reads what is shown."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

import pytest
from textual.pilot import Pilot

from distkb.diagnosis.session import standing
from distkb.locale import Language, Say
from distkb.tui.app import DistkbApp
from distkb.tui.widgets.move import MovePanel

DATA = Path(__file__).with_name("data")
RUN = DATA / "run"
SESSIONS = DATA / "sessions"
FIRST, SECOND = "20260102-030405-abcdef", "20260103-111213-fedcba"
"""Recorded sessions: the first has read a log and been asked, the second is empty but for its words."""
PATIENCE_S = 120.0
"""Bounds a test that fails. Compiling a catalogue with an overlay takes some seconds of a core, of which a loaded
machine has few."""
BOTH = pytest.mark.parametrize("lang", ["en", "ko"])


class Drive:
    """A running app with what a test does to it."""

    def __init__(self, app: DistkbApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def where(self) -> str:
        """Name of the screen that is shown."""
        return type(self.app.screen).__name__.removesuffix("Screen").lower()

    @property
    def shown(self) -> str:
        """What the terminal shows, one line of text per row."""
        # The app has no public way to its text: the compositor's strips are what goes to the terminal.
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips) + "\n"

    async def until(self, holds: Callable[[], bool], what: str = "") -> None:
        """Wait until something holds."""
        end = monotonic() + PATIENCE_S
        while not holds():
            if monotonic() > end:
                message = f"never came true: {what or holds}\n{self.shown}"
                raise AssertionError(message)
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def settle(self) -> None:
        """Wait until the catalogue is loaded and the session is shown as it is."""
        await self.until(lambda: self.app.knowledge is not None, "catalogue")
        await self.until(lambda: self.app.current is None or not self.app.current.busy, "view")

    async def press(self, *keys: str) -> None:
        """Press keys one after another, each when the one before has done its work."""
        for name in keys:
            await self.pilot.press(name)
            await self.settle()

    async def write(self, text: str) -> None:
        """Type a text, as an input method delivers it: whole characters."""
        for char in text:
            await self.pilot.press("space" if char == " " else char)
        await self.pilot.pause()

    async def at(self, name: str) -> None:
        """Wait for a screen."""
        await self.until(lambda: self.where == name, f"screen {name}")
        await self.settle()

    async def says(self, text: str) -> None:
        """Wait until a text is shown."""
        await self.until(lambda: text in self.shown, f"shown: {text}")


Script = Callable[[Drive], Awaitable[None]]


def drive(
    script: Script,
    *,
    lang: Language = "en",
    size: tuple[int, int] = (80, 24),
    paths: tuple[Path, ...] = (),
    resume: str | None = None,
    app: DistkbApp | None = None,
) -> DistkbApp:
    """Run an app, carry out the script once its catalogue is loaded, and return the app."""
    app = app or DistkbApp(Say(lang), paths=paths, resume=resume)
    app.animation_level = "none"  # nothing moves while it is looked at

    async def run() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            driven = Drive(app, pilot)
            await driven.settle()
            await script(driven)

    asyncio.run(run())
    return app


def record_sessions() -> None:
    """Put the recorded sessions where the program looks for its own, the first one worked on last."""
    from distkb.sessions import store

    target = store.state_directory()
    target.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate((SECOND, FIRST)):
        shutil.copy(SESSIONS / f"{name}.jsonl", target)
        os.utime(target / f"{name}.jsonl", (1_767_000_000 + place, 1_767_000_000 + place))


def move_of(driven: Drive) -> object:
    """The move that the session shows."""
    return driven.app.screen.query_one(MovePanel).move


def events_of(driven: Drive) -> list[object]:
    """The events of the open session that still count."""
    assert driven.app.current is not None
    events = driven.app.current.session.events
    return [events[number] for number in standing(events)]


async def until_move(driven: Drive, kind: type) -> None:
    """Go from move to move until one of this kind is shown."""
    for _ in range(8):
        if isinstance(move_of(driven), kind):
            return
        await driven.press("s")
    raise AssertionError(driven.shown)
