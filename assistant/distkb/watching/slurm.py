"""What Slurm says of a job whose ranks run on other nodes: whether it runs, and where its output goes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec

_ASK_S = 20.0
_FIELD = re.compile(r"(JobState|StdOut|StdErr)=(\S+)")
_LIVE = frozenset({"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "REQUEUED"})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job, as `scontrol show job` tells it."""

    state: str = ""
    outputs: tuple[Path, ...] = ()

    @property
    def live(self) -> bool:
        """Whether it may go on; a job that Slurm does not know has ended."""
        return self.state in _LIVE


def show(job: str) -> Job | None:
    """Return what Slurm knows of a job; None where it does not answer."""
    words = ["scontrol", "show", "job", "-o", job]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        return Job() if b"Invalid job id" in done.stderr else None
    fields = dict(_FIELD.findall(text))
    outputs = [Path(fields[name]) for name in ("StdOut", "StdErr") if fields.get(name, "").startswith("/")]
    return Job(state=fields.get("JobState", ""), outputs=tuple(dict.fromkeys(outputs)))
