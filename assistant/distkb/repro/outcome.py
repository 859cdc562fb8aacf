"""How a run of a reproduction ended."""

from __future__ import annotations

from pathlib import Path

import msgspec


class ProgramRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, and where its artifacts are."""

    artifacts: Path
    exit_codes: tuple[int | None, ...] = ()
    """One per launch, negative for a signal; None where it was ended because its time was over."""
    timed_out: bool = False
    seconds: float = 0.0
    stacks: int = 0
    """Of how many ranks stacks were taken."""
    reason: str | None = None
    """Why there was no run to the end: `cancelled`, `not-started`, `network`, `died`, …; None where there was one."""
    detail: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether every launch ended with exit code 0."""
        return self.reason is None and bool(self.exit_codes) and all(code == 0 for code in self.exit_codes)

    def console(self) -> str:
        """Return all that the launches printed."""
        files = sorted(self.artifacts.glob("console.log")) + sorted(self.artifacts.glob("node*/console.log"))
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)

    def printed(self, text: str) -> bool:
        """Whether a launch, or a rank into a file of its own, printed the text."""
        files = (file for file in self.artifacts.rglob("*.log") if file.is_file())
        return any(text.encode() in file.read_bytes() for file in files)
