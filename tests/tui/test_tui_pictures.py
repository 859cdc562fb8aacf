"""The pictures of the READMEs show what the program shows today; `UPDATE_GOLDEN=1` draws them anew."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from tui_driver import Drive, drive

from distkb.locale import Language

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
READMES: dict[Language, str] = {"en": "README.md", "ko": "README.ko.md"}
LOGS = Path("kb/incidents/I2-frozen-after-validation/logs")
LINES = 26
"""Lines of the answer that the picture shows."""
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
MEASURED = re.compile(r'textLength="[\d.]+"([^>]*>(.*?)</text>)', re.DOTALL)
CELL = 12.2
"""Width of a cell in the pictures that Rich draws."""
TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
SPINNING = re.compile(r"[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏]")
"""Parts of bars and scroll bars."""


def words(picture: str) -> str:
    """Return all that a picture says, without blanks and bars."""
    said = "".join(html.unescape(text) for text in TEXT.findall(picture))
    return SPINNING.sub("", re.sub(r"\s+", "", said))


def measured(text: re.Match[str]) -> str:
    """Return a text with its width in cells: Rich counts characters, and syllables of Hangul are two cells wide."""
    return f'textLength="{CELL * cell_len(html.unescape(text[2])):g}"{text[1]}'


def kept(name: str, drawn: str) -> str:
    """Return the picture of this name as the repository has it, drawn anew if that is wanted.

    What it names on the network, a font, is left out: nobody's browser asks anybody for it.
    """
    path = PICTURES / name
    if os.environ.get("UPDATE_GOLDEN"):
        PICTURES.mkdir(exist_ok=True)
        path.write_text(MEASURED.sub(measured, FONT.sub("", drawn)), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def screen(lang: Language) -> str:
    """Return the screen on the incident of the READMEs."""
    drawn: list[str] = []

    async def walk(driven: Drive) -> None:
        await driven.at("session")
        await driven.until(lambda: driven.app.current is not None and bool(driven.app.current.session.events), "read")
        await driven.settle()
        drawn.append(driven.app.export_screenshot(title="distkb"))

    drive(walk, lang=lang, size=(100, 32), paths=(LOGS,))
    return drawn[0]


def answer(lang: Language) -> str:
    """Return the beginning of the answer to the first command of the READMEs."""
    command = ["diagnose", str(LOGS), "--lang", lang]
    args = [sys.executable, "-m", "distkb", *command]
    printed = subprocess.run(args, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)
    assert printed.returncode == 1, printed.stderr
    shown = [f"$ distkb {' '.join(command[:2] if lang == 'en' else command)}", *printed.stdout.splitlines()[:LINES]]
    console = Console(record=True, width=82, file=StringIO(), legacy_windows=False)
    console.print("\n".join(shown), markup=False, highlight=False)
    return console.export_svg(title="distkb")


DRAWN: dict[str, Callable[[Language], str]] = {"screen": screen, "answer": answer}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", DRAWN)
def test_the_pictures_show_what_is_shown_today(name: str, lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they say is what the screen and the command say, and nothing in them leads to the network."""
    monkeypatch.chdir(ROOT)
    drawn = DRAWN[name](lang)
    file = f"{name}.{lang}.svg"
    picture = kept(file, drawn)
    assert words(picture) == words(drawn)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")
    assert f"docs/pictures/{file}" in (ROOT / READMES[lang]).read_text(encoding="utf-8")
