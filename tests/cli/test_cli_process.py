"""What only a real process shows: streams, colours, pipes, encodings, module start."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli_calls import PROGRAM, run


def in_a_terminal(*args: str, **environ: str) -> str:
    """Output of `distkb` run with a pseudo-terminal as stdout."""
    leader, follower = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "COLUMNS"}}
    process = subprocess.Popen(
        [PROGRAM, *args],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**env, "TERM": "xterm-256color", **environ},
    )
    os.close(follower)
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    assert process.wait(60) == 0
    return b"".join(chunks).decode()


def test_piped_output_has_no_escape_sequences() -> None:
    """A pipe gets plain text."""
    result = run("show", "D21")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout


def test_a_terminal_gets_colour_unless_no_color_is_set() -> None:
    """Colour appears on a terminal only, and NO_COLOR turns it off."""
    assert "\x1b[" in in_a_terminal("show", "D21")
    assert "\x1b[" not in in_a_terminal("show", "D21", NO_COLOR="1")


def test_a_reader_that_goes_away_is_no_failure() -> None:
    """`distkb show D21 | head -1` is quiet and succeeds."""
    script = f"set -o pipefail; {PROGRAM} show D21 | head -n 1"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    assert "error" not in result.stderr


def test_a_closed_stdout_leaves_no_traceback() -> None:
    """A process without stdout fails in one line at most."""
    result = subprocess.run(
        ["bash", "-c", f"{PROGRAM} list >&-"], capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp949"])
def test_an_encoding_without_hangul_breaks_nothing(encoding: str) -> None:
    """Characters that stdout cannot encode are replaced."""
    result = subprocess.run(
        [PROGRAM, "list", "--lang", "ko"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        timeout=120,
        check=False,
    )
    assert result.returncode == 0
    assert b"D21" in result.stdout


def test_the_environment_chooses_the_language() -> None:
    """DISTKB_LANG wins over LC_ALL and LANG, and usage errors follow."""
    assert "멈춤과 집합 통신" in run("list", LANG="ko_KR.UTF-8").stdout
    assert "Hangs and collectives" in run("list", LANG="ko_KR.UTF-8", DISTKB_LANG="en").stdout
    assert "옵션은 없습니다" in run("list", "--nope", LC_ALL="ko_KR.UTF-8").stderr


def test_the_module_starts_like_the_program() -> None:
    """`python -m distkb` does what `distkb` does."""
    module = subprocess.run(
        [sys.executable, "-m", "distkb", "--version"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (module.returncode, module.stdout) == (0, run("--version").stdout)


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    """0, 1 and 2 arrive as they are."""
    log = tmp_path / "train.log"
    log.write_text("10:00:00 step 1 loss 0.5\n")
    assert run("diagnose", str(log)).returncode == 0
    assert run("diagnose", "--report", "-", stdin="hangs under if rank == 0: dist.barrier()").returncode == 1
    assert run("diagnose", str(tmp_path / "missing")).returncode == 2
