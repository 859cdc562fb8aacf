"""What the user of `distkb watch` is told, one thing at a time."""

from __future__ import annotations

from typing import Literal

import msgspec

from distkb.watching.verdict import JobVerdict

Kind = Literal["found", "stalled", "slow", "answer", "failed", "goes-on", "killed", "ended"]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the user is told."""

    kind: Kind
    ranks: tuple[int | None, ...] = ()
    pids: tuple[int, ...] = ()
    name: str = ""
    silence_s: float = 0.0
    limit_s: float = 0.0
    verdict: JobVerdict | None = None
    line: str = ""
    bundle: str = ""
    answer: str = ""
    text: str = ""
    logs: tuple[str, ...] = ()
