"""What a probe answers: the raw document of the process, and the answer that is shown."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from distkb.catalogue.model import Finding
from distkb.evidence.clean import quote_text
from distkb.evidence.observation import Observation, Quote

SCHEMA = "distkb.probe/1"
Status = Literal["ok", "findings", "skipped", "error"]


class RawQuote(msgspec.Struct, frozen=True):
    """A place that a probe points to, with its words."""

    text: str
    path: str | None = None
    line: int | None = None
    rank: int | None = None


class RawFinding(msgspec.Struct, frozen=True):
    """One finding: an id of the catalogue, and what fills its sentence."""

    id: str
    values: dict[str, str] = {}
    quotes: tuple[RawQuote, ...] = ()


class RawDocument(msgspec.Struct, frozen=True):
    """What the process of a probe prints; see `distkb_probes._report`."""

    schema: Literal["distkb.probe-raw/1"]
    probe: str
    status: Literal["ok", "skipped", "error"]
    reason: str | None = None
    detail: str = ""
    found: tuple[RawFinding, ...] = ()
    clear: tuple[str, ...] = ()
    facts: dict[str, Any] = {}
    elapsed_s: float = 0.0

    def observations(self) -> tuple[Observation, ...]:
        """Return what was found and what was looked for in vain; all text is cleaned and masked."""
        found = tuple(
            Observation(
                id=item.id,
                source="probe",
                values={name: quote_text(value) for name, value in item.values.items()},
                quotes=tuple(
                    Quote(
                        text=quote_text(q.text),
                        path=None if q.path is None else quote_text(q.path),
                        line=q.line,
                        rank=q.rank,
                    )
                    for q in item.quotes
                ),
            )
            for item in self.found
        )
        return (*found, *(Observation(id=identity, source="probe", present=False) for identity in self.clear))


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
