"""`distkb repro`: what it says, what it keeps, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sample_entry import ENTRY, LOST, overlay, with_program

from distkb.locale import Say

pytestmark = pytest.mark.slow

DISTKB = str(Path(sys.executable).with_name("distkb"))
SAYS_IT = f"""
import sys
if "--fixed" not in sys.argv:
    print("step 1 loss 0.5")
    print("{LOST}")
    sys.exit(1)
open("settings.txt", "w").write("left by the program")
"""
HARDWARE = 'kind: hw\nhardware: {en: "Two GPUs.", ko: "GPU 두 개."}'
MARK = "DISTKB_TEST_MARK"


def repro(*args: str, kb: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Call `distkb repro` with an overlay, as a process."""
    environment = {**os.environ, "DISTKB_LANG": "en", **environ}
    return subprocess.run(
        [DISTKB, "repro", *args, "--kb", str(kb), "--python", sys.executable],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with the sample entry, for any program; the first command that reads it compiles it for all."""
    return overlay(tmp_path_factory.mktemp("base"), "")


@pytest.fixture(scope="module")
def on_hardware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One in which it needs hardware, with what was recorded there."""
    return overlay(tmp_path_factory.mktemp("hardware"), "", HARDWARE, recorded=f"step 1 loss 0.5\n{LOST}\n")


def test_a_failure_is_shown_live_kept_and_recognised(base: Path, tmp_path: Path) -> None:
    """The program's output is on stderr, the answer on stdout; its artifacts are kept and hold no program."""
    kb = with_program(base, SAYS_IT)
    done = repro("run", ENTRY, "--keep", str(tmp_path / "kept"), kb=kb)
    assert done.returncode == 0, done.stderr
    assert f"| {LOST}" in done.stderr
    assert "step 1 loss 0.5" not in done.stdout
    assert Say("en")("repro.as-stated.broken", id=ENTRY, seconds="0") in done.stdout
    kept = {path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()}
    assert kept == {"console.log", ".distkb-repro.json"}


def test_the_answer_for_programs_says_what_was_promised_and_what_came(base: Path) -> None:
    """The document has the rank, the verdict, what was seen and how the run ended; stderr is silent."""
    kb = with_program(base, SAYS_IT)
    done = repro("run", ENTRY, "--json", kb=kb)
    answer = json.loads(done.stdout)
    assert answer["schema"] == "distkb.repro/1"
    assert (answer["entry"], answer["rank"], answer["as_stated"]) == (ENTRY, 1, True)
    assert answer["shown"] == ["acme.rank-lost"]
    assert answer["run"]["exit_codes"] == [1]
    assert answer["artifacts"] is None
    assert done.stderr == ""


def test_with_the_fix_it_ends_well_and_what_it_left_is_kept(base: Path, tmp_path: Path) -> None:
    """`--fixed` gives the program its switch; what it writes is in its working directory among the artifacts."""
    kb = with_program(base, SAYS_IT)
    kept = tmp_path / "kept"
    done = repro("run", ENTRY, "--fixed", "--keep", str(kept), kb=kb)
    assert done.returncode == 0, done.stderr + done.stdout
    assert (kept / "work" / "settings.txt").read_text() == "left by the program"
    again = repro("run", ENTRY, "--keep", str(kept), kb=kb)
    assert again.returncode == 0
    assert not (kept / "work").exists()


@pytest.mark.parametrize(
    ("program", "args", "complaint"),
    [
        ("print('step 1 loss 0.5')", (), "not-shown"),
        (f"print('{LOST}'); raise SystemExit(1)", ("--fixed",), "failed"),
        (f"print('{LOST}')", ("--fixed",), "found-something"),
    ],
)
def test_a_program_that_does_not_do_as_its_entry_says_is_complained_about(
    base: Path, program: str, args: tuple[str, ...], complaint: str
) -> None:
    """Nothing shown, no clean end with the fix, something found in spite of it: exit code 1, and it says which."""
    done = repro("run", ENTRY, *args, "--json", kb=with_program(base, program))
    assert done.returncode == 1
    assert complaint in json.loads(done.stdout)["complaints"]


def test_a_program_that_never_ends_is_ended(tmp_path: Path) -> None:
    """Past twice its stated time and the allowance for a slow start, the run is over and the answer says so."""
    kb = overlay(tmp_path, f"import time\nprint('{LOST}', flush=True)\ntime.sleep(600)", "launch: python\nnproc: 0")
    text = next(kb.rglob("entry.yaml"))
    text.write_text(text.read_text().replace("seconds: 10", "seconds: -29"))
    done = repro("run", ENTRY, "--json", kb=kb)
    run = json.loads(done.stdout)["run"]
    assert run["timed_out"]
    assert run["exit_codes"] == [None]
    assert 1 < run["seconds"] < 10


def test_a_folder_with_something_else_in_it_is_left_alone(base: Path, tmp_path: Path) -> None:
    """Artifacts never mix with or replace what is not a reproduction's."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "thesis.tex").write_text("mine")
    done = repro("run", ENTRY, "--keep", str(kept), kb=with_program(base, SAYS_IT))
    assert done.returncode == 2
    assert "thesis.tex" in done.stderr
    assert (kept / "thesis.tex").read_text() == "mine"
    assert "Traceback" not in done.stderr


def test_what_cannot_run_here_says_why(base: Path, on_hardware: Path, tmp_path: Path) -> None:
    """Hardware, a missing torch and an unknown entry are one line each, with the right exit code."""
    done = repro("run", ENTRY, kb=on_hardware)
    assert done.returncode == 3
    assert "Two GPUs." in done.stderr
    assert f"distkb repro run {ENTRY} --recorded" in done.stderr
    recorded = repro("run", ENTRY, "--recorded", kb=on_hardware)
    assert recorded.returncode == 0, recorded.stderr + recorded.stdout
    assert Say("en")("repro.as-stated.recorded", id=ENTRY, seconds="") in recorded.stdout
    assert repro("run", "D999", kb=on_hardware).returncode == 2
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    environment = {**os.environ, "DISTKB_LANG": "en"}
    arguments = [DISTKB, "repro", "run", ENTRY, "--kb", str(with_program(base, SAYS_IT)), "--python", str(bare)]
    missing = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert missing.returncode == 3
    assert Say("en")("repro.reason.no-torch", python=str(bare), hardware="") in missing.stderr


def test_the_list_says_of_every_entry_whether_it_can_run(on_hardware: Path) -> None:
    """Each entry once, with the reason where it cannot run; torch is not imported for it."""
    rows = {row["entry"]: row for row in json.loads(repro("list", "--json", kb=on_hardware).stdout)}
    listed = subprocess.check_output([DISTKB, "list", "--json", "--kb", str(on_hardware)])
    ids = {row["id"] for row in json.loads(listed)}
    assert rows.keys() == ids
    assert rows[ENTRY] == {"entry": ENTRY, "runnable": False, "reason": "hardware", "kind": "hw", "seconds": None}
    assert rows["D21"]["runnable"]
    assert rows["D21"]["reason"] is None
    assert all(row["runnable"] == (row["reason"] is None) for row in rows.values())


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_no_line_of_the_answer_is_wider_than_the_page(lang: str, base: Path) -> None:
    """The list and the answer keep to 80 columns in both languages."""
    from distkb.report.layout import width

    kb = with_program(base, SAYS_IT)
    for args in (("list",), ("run", ENTRY), ("run", ENTRY, "--fixed")):
        printed = repro(*args, kb=kb, DISTKB_LANG=lang).stdout
        assert printed.strip()
        assert max(map(width, printed.splitlines())) <= 80


def processes(mark: str) -> list[int]:
    """The living processes with a mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0") and (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def deaf_no_more() -> None:
    """Let an interrupt through: what a shell starts in the background is born deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_distkb_goes(number: signal.Signals, base: Path, tmp_path: Path) -> None:
    """Killed or interrupted in the middle of a run, neither a process nor a temporary folder is left."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = "import subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    kb = with_program(base, f"{child}print('{LOST}', flush=True)\ntime.sleep(600)")
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, MARK: mark, "TMPDIR": str(temporary)}
    distkb = subprocess.Popen(
        [DISTKB, "repro", "run", ENTRY, "--kb", str(kb), "--python", sys.executable],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=deaf_no_more,  # noqa: PLW1509 - sets one signal, in a child that starts a program at once
    )
    assert distkb.stderr is not None
    while LOST not in (line := distkb.stderr.readline()):
        assert line, "the program never ran"
    distkb.send_signal(number)
    assert distkb.wait(timeout=120) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    distkb.stderr.close()
    until = time.monotonic() + 15
    while (processes(mark) or any(temporary.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes(mark) == []
    assert not any(temporary.iterdir())
