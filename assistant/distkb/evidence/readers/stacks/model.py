"""A dumped process: its threads, their frames, and what is known of who it is."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["rank", "launcher", "worker"]
"""A worker is a process below a rank: of a DataLoader, of inductor's compiler, of multiprocessing itself."""

MOST_FRAMES = 500
"""Frames that are kept of one thread; a recursion is told by fewer."""
MOST_THREADS = 2000
"""Threads that are kept of one process."""


class Frame(msgspec.Struct, frozen=True):
    """One call."""

    function: str
    path: str
    line: int
    source: str = ""
    """The line of code, where the dump has it."""


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """One thread at one moment."""

    name: str = ""
    main: bool = False
    """True where the dump says that it is the main thread."""
    active: bool | None = None
    """Whether it was on a CPU; None where the dump does not say."""
    frames: tuple[Frame, ...] = ()
    """The innermost call first."""


class Dump(msgspec.Struct, frozen=True, kw_only=True):
    """One process: one snapshot, or several in order of time."""

    path: str
    """The file it stands in, as the user named it."""
    line: int | None = None
    """1-based line of its beginning in that file."""
    rank: int | None = None
    pid: int | None = None
    host: str = ""
    command: str = ""
    world_size: int | None = None
    local_world_size: int | None = None
    state: str = ""
    """State letter of the process, T where it was stopped."""
    fatal: bool = False
    """Whether the process wrote it as it died, of an abort or an invalid address."""
    cpu: float | None = None
    """Share of one core that it used between the snapshots."""
    wanted: float | None = None
    """The same, and what it would have used while it waited for a processor."""
    snapshots: tuple[tuple[Thread, ...], ...] = ()

    @property
    def stopped(self) -> bool:
        """Whether a signal or a debugger stopped it: where it stands is chance then, and tells nothing."""
        return self.state in ("T", "t")
