"""From an entry's screen its failure is shown live: broken, with the fix, cancelled, and where it cannot run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from textual.widgets import RichLog
from tui_driver import DATA, Drive, drive

from distkb.locale import Language, Say
from distkb.tui.app import DistkbApp
from distkb.tui.screens.repro import ReproScreen

pytestmark = pytest.mark.slow

ENTRY, LOST = "ACME1", "acme: rank 1 never arrived"
FAILS = f"""
import sys
print("step 1 loss 0.5", flush=True)
if "--fixed" not in sys.argv:
    sys.exit("{LOST}")
"""
ENDLESS = "import time\nprint('step 1 loss 0.5', flush=True)\ntime.sleep(600)\n"
BOTH = pytest.mark.parametrize("lang", ["en", "ko"])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's quiet rank under another name, for any program; the first screen that reads it compiles it."""
    text = (DATA / "kb/entries/hangs/D2-quiet-rank/entry.yaml").read_text(encoding="utf-8")
    for old, new in (("D2", ENTRY), ("demo.rank-lost", "acme.rank-lost"), ("demo: rank", "acme: rank")):
        text = text.replace(old, new)
    text = re.sub(r"(?ms)^repro:.*\Z", "repro:\n  shows: [acme.rank-lost]\n  launch: python\n", text)
    text = re.sub(r"(?m)^.*(?:changed=|stacks\.one-elsewhere|D10|related).*\n", "", text)
    text = text.replace("    confused_with:\n", "")
    directory = tmp_path_factory.mktemp("overlay")
    home = directory / "entries/hangs" / f"{ENTRY}-quiet-rank"
    home.mkdir(parents=True)
    (home / "entry.yaml").write_text(text, encoding="utf-8")
    return directory


def app(base: Path, program: str, lang: Language) -> DistkbApp:
    """The screen with an overlay whose entry has this program: what was compiled of its texts stays true."""
    next(base.rglob("entry.yaml")).with_name("repro.py").write_text(program, encoding="utf-8")
    return DistkbApp(Say(lang), overlays=(base,))


def begins(say: Say, sentence: str) -> str:
    """The sentence up to its seconds."""
    return say(sentence, id=ENTRY, seconds="#").partition("(#")[0][:30]


async def open_repro(driven: Drive) -> ReproScreen:
    """Go to the entry and press the key."""
    driven.app.show_entry(ENTRY)
    await driven.at("entry")
    await driven.press("r")
    await driven.at("repro")
    screen = driven.app.screen
    assert isinstance(screen, ReproScreen)
    return screen


@pytest.fixture(autouse=True)
def python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the Python of the tests, which has torch."""
    monkeypatch.setenv("VIRTUAL_ENV", str(Path(sys.executable).parents[1]))


@BOTH
def test_an_entry_is_shown_live_broken_and_fixed(lang: Language, base: Path) -> None:
    """Its output comes live, the answer says that it is the entry; with the fix it runs clean; in both languages."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        screen = await open_repro(driven)
        await driven.says(say("tui.repro.idle"))
        await driven.press("r")
        await driven.says(say("tui.repro.done"))
        assert LOST in "\n".join(line.text for line in screen.query_one(RichLog).lines)
        await driven.says(say("repro.alone"))
        assert begins(say, "repro.as-stated.broken") in driven.shown
        await driven.press("ctrl+l")
        other = Say("en" if lang == "ko" else "ko")
        await driven.says(other("repro.alone"))
        await driven.press("ctrl+l", "f")
        await driven.says(begins(say, "repro.as-stated.fixed"))
        await driven.press("escape")
        await driven.at("entry")

    drive(script, app=app(base, FAILS, lang), size=(120, 40))


@BOTH
def test_leaving_ends_what_runs(lang: Language, base: Path, tmp_path: Path) -> None:
    """Cancelled or left behind, the program and its folder are gone."""
    mark = tmp_path / "program-runs"
    program = f"import pathlib, os\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\n{ENDLESS}"

    def running() -> bool:
        return mark.exists() and bool(mark.read_text()) and Path(f"/proc/{mark.read_text()}").exists()

    async def script(driven: Drive) -> None:
        for leave in ("k", "escape"):
            await open_repro(driven)
            await driven.says(Say(lang)("tui.repro.idle"))
            await driven.press("r")
            await driven.until(running, "program")
            await driven.press(leave)
            await driven.until(lambda: not running(), "gone")
            if leave == "k":
                await driven.says(Say(lang)("tui.repro.idle"))
                await driven.press("escape")
            await driven.at("entry")
            await driven.press("escape")

    drive(script, app=app(base, program, lang))


@BOTH
def test_where_it_cannot_run_it_says_why(lang: Language, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch nothing is offered to run."""
    monkeypatch.setattr("distkb.repro.program.modules", lambda _: {})

    async def script(driven: Drive) -> None:
        await open_repro(driven)
        await driven.until(lambda: "torch" in driven.shown and Say(lang)("tui.repro.looking") not in driven.shown)
        await driven.press("r")
        assert Say(lang)("tui.repro.running", n="0") not in driven.shown

    drive(script, app=app(base, FAILS, lang))
