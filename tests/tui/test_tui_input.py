"""What goes in: pasted logs, paths that are completed, and sentences that were read wrongly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input
from tui_driver import BOTH, RUN, Drive, drive, events_of

from distkb.diagnosis.known import gather
from distkb.diagnosis.session import Answered, DontKnow, EvidenceAdded
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.locale import Language
from distkb.sessions import pasted, store
from distkb.tui.app import DistkbApp
from distkb.tui.screens.open import completions

LOG = "".join(f"[rank{n % 4}]: step {n} loss 1.0\n" for n in range(3000)) + (RUN / "rank0.log").read_text()
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyz012345"


@BOTH
@pytest.mark.usefixtures("sample")
def test_a_pasted_log_is_read_like_a_file(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paste of 3,000 lines is handed on whole, beside the words that were typed before it, not searched for."""
    begun: list[tuple[str, str]] = []
    monkeypatch.setattr(DistkbApp, "begin", lambda _, words="", pasted="": begun.append((words, pasted)))

    async def script(driven: Drive) -> None:
        await driven.write("it hangs")
        driven.app.screen.focused.post_message(Paste(LOG))  # type: ignore[union-attr]
        await driven.until(lambda: bool(begun), "reading")
        assert not driven.app.screen.query_one(Input).value

    drive(script, lang=lang)
    assert begun == [("it hangs", LOG)]


@pytest.mark.usefixtures("sample")
@BOTH
def test_a_pasted_log_becomes_a_file_that_is_read(lang: Language) -> None:
    """It is kept line by line, read as evidence, and opens where it is quoted."""

    async def script(driven: Drive) -> None:
        driven.app.begin(pasted=LOG.replace("\n", "\r"))
        await driven.at("session")
        (read,) = events_of(driven)
        assert isinstance(read, EvidenceAdded)
        assert Path(read.paths[0]).read_text(encoding="utf-8") == LOG
        assert read.evidence.bytes_read

    drive(script, lang=lang)


def test_a_kept_paste_holds_no_secret_and_old_ones_go(tmp_path: Path) -> None:
    """Only the owner may read it, tokens are masked, and only the latest stay."""
    for _ in range(pasted.KEPT + 3):
        path = pasted.keep(f"\x1b[31mtoken={TOKEN}\r\nnext\n", tmp_path)
    assert TOKEN not in path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines()[1] == "next"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.iterdir())) == pasted.KEPT


@BOTH
@pytest.mark.usefixtures("sample")
def test_tab_completes_a_path_and_lists_what_fits(lang: Language, tmp_path: Path) -> None:
    """Tab goes as far as the names agree and shows the rest; a folder that is the only one is completed whole."""
    for name in ("logs-one", "logs-two", "other"):
        (tmp_path / name).mkdir()

    async def script(driven: Drive) -> None:
        await driven.press("f2")
        await driven.at("open")
        field = driven.app.screen.query_one(Input)
        field.value = f"{tmp_path}/l"
        await driven.press("tab")
        assert field.value == f"{tmp_path}/logs-"
        await driven.says("logs-one/  logs-two/")
        field.value = f"{tmp_path}/o"
        await driven.press("tab")
        assert field.value == f"{tmp_path}/other/"
        await driven.press("enter")
        await driven.until(lambda: driven.where != "open")

    drive(script, lang=lang)
    assert completions(f"{tmp_path}/nothing") == (f"{tmp_path}/nothing", [])


@BOTH
@pytest.mark.usefixtures("sample")
def test_a_misread_sentence_is_corrected_where_it_is_shown(lang: Language) -> None:
    """Enter on what was read from the words asks it; the answer counts instead."""
    guess = Observation(id="symptom=hang", source="report", quotes=(Quote(text="it froze", line=1),))
    read = EvidenceAdded(label="description", evidence=Evidence(observations=(guess,)))

    async def script(driven: Drive) -> None:
        driven.app.open_session(store.new("it froze"), read)
        await driven.at("session")
        await driven.press("e", "home", "down", "enter")
        await driven.at("change")
        await driven.press("2")
        await driven.at("session")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert answer.question == "symptom"
        assert answer.values != ("hang",)

    drive(script, lang=lang)


def test_what_is_disowned_after_it_was_read_counts_no_more() -> None:
    """`I don't know` about something that was concluded takes the conclusion back; said before, it does not."""
    guess = Observation(id="symptom=hang", source="report", quotes=(Quote(text="hangs"),))
    read = EvidenceAdded(label="description", evidence=Evidence(observations=(guess,)))
    unknown = DontKnow(question="symptom")
    assert gather((unknown, read), {}).evidence.observations
    assert not gather((read, unknown), {}).evidence.observations


@pytest.mark.parametrize("words", [(), ("-",), ("diagnose", "-")], ids=["bare", "dash", "diagnose"])
def test_what_is_piped_in_is_read_as_a_log(words: tuple[str, ...], tmp_path: Path) -> None:
    """`cat log | distkb` and `distkb diagnose -` answer as `distkb diagnose log` does."""
    log = RUN / "rank0.log"
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "distkb"]
    piped = subprocess.run(
        [*command, *words], input=log.read_bytes(), capture_output=True, check=False, env=environ, timeout=300
    )
    named = subprocess.run([*command, "diagnose", str(log)], capture_output=True, check=False, env=environ, timeout=300)
    assert piped.returncode == named.returncode, piped.stderr
    assert piped.stdout.splitlines()[0] == named.stdout.splitlines()[0]
