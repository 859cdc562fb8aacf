"""What a probe answers: the raw document of the process, and the answer that is shown."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from distkb.catalogue.model import Finding
from distkb.evidence.observation import Observation
from distkb.evidence.readers.probe_answers import ProbeFinding, observations

SCHEMA = "distkb.probe/1"
Status = Literal["ok", "findings", "skipped", "error"]


class RawDocument(msgspec.Struct, frozen=True):
    """What the process of a probe prints; see `distkb_probes._report`."""

    schema: Literal["distkb.probe-raw/1"]
    probe: str
    status: Literal["ok", "skipped", "error"]
    reason: str | None = None
    detail: str = ""
    found: tuple[ProbeFinding, ...] = ()
    clear: tuple[str, ...] = ()
    facts: dict[str, Any] = {}
    elapsed_s: float = 0.0

    def observations(self) -> tuple[Observation, ...]:
        """Return what was found and what was looked for in vain; all text is cleaned and masked."""
        return observations(self.found, self.clear)


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """An observation with the record that says what it means."""

    observation: Observation
    finding: Finding


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer of one probe."""

    probe: str
    status: Status
    reason: str | None = None
    """Why it was skipped or failed: key of a sentence, `probe.reason.<reason>`."""
    detail: str = ""
    reported: tuple[Reported, ...] = ()
    """Most severe first."""
    observations: tuple[Observation, ...] = ()
    """Everything that was found or looked for in vain, for the diagnosis."""
    facts: dict[str, Any] = {}
    interpreter: tuple[str, str] | None = None
    """Path and why it was chosen; None where the probe needed no other process."""
    elapsed_s: float = 0.0
