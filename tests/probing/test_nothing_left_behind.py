"""distkb is killed at random moments while a probe runs, and nothing of the probe is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from probe_processes import MARK, new_mark, wait_until_gone

pytestmark = [
    pytest.mark.torchrun,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="orphans are found through /proc"),
]

KILLS, AT_ONCE = 20, 4
DISTKB = str(Path(sys.executable).with_name("distkb"))
MODEL = textwrap.dedent(
    """
    from torch import nn

    def build():
        return nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(16)))
    """
)
PROBES: dict[str, tuple[str, ...]] = {
    "env": ("env",),
    "allreduce": ("allreduce", "--nproc", "2"),
    "fsdp": ("fsdp", "--model", "small_model:build", "--world-size", "64"),
}


def start(arguments: tuple[str, ...], directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a probe; returns it with the mark that all its processes carry."""
    mark = new_mark()
    process = subprocess.Popen(
        [DISTKB, "probe", *arguments],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARK: mark, "OMP_NUM_THREADS": "1"},
    )
    return process, mark


@pytest.mark.parametrize("probe", PROBES)
def test_a_killed_distkb_leaves_no_process_behind(probe: str, tmp_path: Path) -> None:
    """SIGKILL at twenty random moments of the run, from its first millisecond to its end."""
    (tmp_path / "small_model.py").write_text(MODEL, encoding="utf-8")
    began = time.monotonic()
    whole, mark = start(PROBES[probe], tmp_path)
    whole.wait(timeout=120)
    seconds = time.monotonic() - began
    assert wait_until_gone(mark) == {}
    random_moment = random.Random(20)
    for _ in range(KILLS // AT_ONCE):
        runs = [start(PROBES[probe], tmp_path) for _ in range(AT_ONCE)]
        moments = sorted(random_moment.uniform(0.0, seconds) for _ in runs)
        began = time.monotonic()
        for (process, _), moment in zip(runs, moments, strict=True):
            # The moment is the point of the test; a run that has ended by then is no harm.
            while process.poll() is None and time.monotonic() - began < moment:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=120)
        for _, mark in runs:
            assert wait_until_gone(mark) == {}
