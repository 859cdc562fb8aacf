"""What is pasted is a log where nobody says anything in it, and a description where somebody does."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.evidence.readers.report.printed_text import is_output

HEALTHY = sorted((Path(__file__).parents[1] / "healthy" / "logs").rglob("*.log"))[::5]
TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 19, in main
    dist.barrier()
RuntimeError: Timed out waiting 5000ms for recv operation to complete
"""


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_log_is_output(path: Path) -> None:
    """The first lines of logs of all kinds."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[:120]
    assert is_output("\n".join(lines))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The training hangs, no error is printed.",
        f"It freezes after the first epoch, two nodes.\n\n{TRACEBACK}",
        f"{TRACEBACK}\n에폭 끝에서 멈춥니다.",
        f"{TRACEBACK}\nI am stuck, any idea?",
    ],
)
def test_words_of_a_person_make_a_description(text: str) -> None:
    """Whatever output stands beside them."""
    assert not is_output(text)


def test_a_traceback_alone_is_output() -> None:
    """Nobody says anything in it."""
    assert is_output(TRACEBACK)
