"""A job that hangs on this machine is the first thing that the screen offers to look at."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from textual.widgets import OptionList
from tui_driver import BOTH, FIRST, RUN, Drive, drive, events_of, move_of

from distkb.diagnosis.session import EvidenceAdded
from distkb.evidence.observation import Evidence
from distkb.locale import Language, Say
from distkb.probing.registry import PROBES
from distkb.sessions import store
from distkb.tui.screens import look as look_screen
from distkb.tui.screens.probes import ProbesScreen
from distkb.tui.widgets.move import Look
from distkb.watching import look
from distkb.watching.look import LocalJob

HANG = """
from datetime import timedelta
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(minutes=30))
dist.all_reduce(torch.ones(1))
print("together", flush=True)
if dist.get_rank() == 0:
    dist.barrier()
else:
    dist.all_reduce(torch.ones(4))
"""
LOOK = look.running


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two ranks that wait for each other in different collectives; their log."""
    folder = tmp_path_factory.mktemp("live")
    script, log = folder / "stuck_here.py", folder / "out.log"
    script.write_text(HANG, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        end = time.monotonic() + 300
        while log.read_text(encoding="utf-8").count("together") < 2:
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < end, "the ranks never met"
            time.sleep(0.1)
        yield log
    finally:
        process.terminate()  # torchrun ends its ranks, which are sessions of their own, only where it is asked to end
        process.wait(120)


def own() -> list[LocalJob]:
    """The job of this test, whatever else runs on this machine."""
    return [job for job in LOOK() if job.name == "stuck_here.py"]


@pytest.mark.torchrun
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("sample")
@BOTH
def test_one_key_from_the_start_to_where_the_ranks_stand(
    lang: Language, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enter on the empty start screen takes the stacks of all ranks and begins a session with them; nothing is hurt."""
    monkeypatch.setattr(look, "running", own)

    async def script(driven: Drive) -> None:
        await driven.says("stuck_here.py")
        await driven.press("enter")
        await driven.at("session")
        assert driven.app.current is not None
        assert driven.app.current.view is not None
        evidence = driven.app.current.view.diagnosis.evidence
        assert {one.rank for one in evidence.ranks} == {0, 1}
        assert any("stuck_here.py" in one.place or "barrier" in one.place for one in evidence.ranks)
        assert not driven.app.jobs, "what was looked at is offered no more"

    drive(script, lang=lang)
    assert len(own()) == 1, "the job still runs"
    assert hanging.read_text(encoding="utf-8").count("together") == 2


@BOTH
@pytest.mark.usefixtures("recorded")
def test_a_silent_job_is_the_first_offer_of_a_session(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any question stands the job that runs here; `not now` leads to what would have been asked."""
    job = LocalJob(pids=(4242, 4243), name="train.py", silent_s=360.0, logs=(RUN / "rank0.log",))
    monkeypatch.setattr(look, "running", lambda: [job])

    async def script(driven: Drive) -> None:
        await driven.until(lambda: bool(driven.app.jobs), "job")
        driven.app.resume_session(FIRST)
        await driven.at("session")
        await driven.until(lambda: isinstance(move_of(driven), Look), "offer")
        say = Say(lang)
        assert say.count("tui.live.silent", 2, name="train.py", time=say("tui.minutes", n="6"))[:20] in driven.shown
        await driven.press("2")
        assert not isinstance(move_of(driven), Look)

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_a_job_that_the_session_is_not_about_comes_last(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none of its logs was read, it is no answer to what is asked: no key that is meant for that starts it."""
    monkeypatch.setattr(look, "running", lambda: [LocalJob(pids=(4242,), name="other.py", silent_s=360.0)])

    async def script(driven: Drive) -> None:
        await driven.until(lambda: bool(driven.app.jobs), "job")
        driven.app.resume_session(FIRST)
        await driven.at("session")
        await driven.settle()
        assert not isinstance(move_of(driven), Look)

    drive(script, lang=lang)


@BOTH
@pytest.mark.usefixtures("sample")
def test_the_look_can_be_cancelled_and_says_what_it_does(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the stacks are taken the time goes on and Escape leads back; where there is nothing, it says so."""
    job = LocalJob(pids=(4242,), name="train.py")
    monkeypatch.setattr(look, "running", lambda: [job])
    monkeypatch.setattr(look_screen.LookScreen, "_look", lambda _: None)

    async def script(driven: Drive) -> None:
        await driven.says("train.py")
        await driven.press("enter")
        await driven.at("look")
        assert Say(lang)("tui.look.running", n="0")[:12] in driven.shown
        driven.app.screen.post_message(look_screen.LookScreen.Taken(None, "x"))
        await driven.at("start")
        await driven.press("enter")
        await driven.at("look")
        await driven.press("escape")
        await driven.at("start")

    drive(script, lang=lang)


@BOTH
@pytest.mark.usefixtures("sample")
def test_every_probe_is_offered_from_one_list(lang: Language) -> None:
    """Each has a name and says what it would do, before it does it."""

    async def script(driven: Drive) -> None:
        await driven.press("f3")
        await driven.at("probes")
        listing = driven.app.screen.query_one("#probes-list", OptionList)
        assert [option.id for option in listing.options] == list(PROBES)
        for name in PROBES:
            assert name in driven.shown
        await driven.press("home", "enter")
        await driven.says(Say(lang)("tui.look.none")[:12])

    drive(script, lang=lang)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_files_beside_what_was_read_are_read_without_asking(lang: Language, tmp_path: Path) -> None:
    """The script probe says which files it found; Enter reads them, `p` asks for others."""
    script_file = tmp_path / "src" / "train.py"
    script_file.parent.mkdir()
    script_file.write_text("import torch\n", encoding="utf-8")
    logs = tmp_path / "logs"
    logs.mkdir()

    async def script(driven: Drive) -> None:
        driven.app.open_session(store.new("run"), EvidenceAdded(label="logs", evidence=Evidence(), paths=(str(logs),)))
        await driven.at("session")
        await driven.settle()
        await driven.press("f3")
        await driven.at("probes")
        listing = driven.app.screen.query_one("#probes-list", OptionList)
        listing.highlighted = list(PROBES).index("script")
        await driven.says("train.py")
        await driven.press("p")
        await driven.at("open")
        await driven.press("escape", "enter")
        await driven.until(lambda: len(events_of(driven)) == 2, "read")
        read = events_of(driven)[-1]
        assert isinstance(read, EvidenceAdded)
        assert read.paths == (str(script_file),)
        assert read.step == PROBES["script"].step

    drive(script, lang=lang, size=(120, 40))


@BOTH
@pytest.mark.usefixtures("sample")
def test_one_end_of_the_network_probe_waits_and_names_the_other(lang: Language) -> None:
    """Enter on the empty field listens; the command for the other machine is shown, and `k` ends it."""

    async def script(driven: Drive) -> None:
        await driven.press("f3")
        await driven.at("probes")
        probes = driven.app.screen
        assert isinstance(probes, ProbesScreen)
        await driven.until(lambda: probes.python is not None, "python")
        await driven.press("end", "enter", "enter")
        await driven.says("distkb probe network --peer")
        await driven.press("k")
        await driven.says(Say(lang)("tui.probes.done")[:6])

    drive(script, lang=lang, size=(120, 40))


def test_the_screen_offers_every_probe_of_the_command_line() -> None:
    """What `distkb probe` can do is in the list, but for the folder that it prints."""
    from distkb.cli.main import cli

    group = cli.get_command(click.Context(cli), "probe")
    assert isinstance(group, click.Group)
    assert set(PROBES) == set(group.list_commands(click.Context(group))) - {"path"}


@BOTH
def test_jobs_of_one_name_are_told_apart(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of one script are offered with their processes; a script of its own name needs none."""
    jobs = [LocalJob(pids=(pid,), name=name, silent_s=900.0) for pid, name in ((7, "a.py"), (8, "a.py"), (9, "b.py"))]
    monkeypatch.setattr(look, "running", lambda: jobs)

    async def script(driven: Drive) -> None:
        await driven.says("a.py (pid 7)")
        await driven.says("a.py (pid 8)")
        assert "pid 9" not in driven.shown

    drive(script, lang=lang)
