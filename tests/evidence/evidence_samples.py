"""Signatures and helpers that the tests of the readers share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from distkb.catalogue.model import Signature, Text
from distkb.evidence.read import read_evidence
from distkb.evidence.walk import take_stock
from distkb.knowledge import open_knowledge

if TYPE_CHECKING:
    from distkb.catalogue.model import Fact
    from distkb.evidence.observation import Evidence, Observation

DATA = Path(__file__).parent / "data"
FINDINGS = frozenset(finding.id for finding in open_knowledge().findings())


def signature(
    name: str,
    pattern: str,
    role: Literal["primary", "collateral", "context"] = "primary",
    where: tuple[Literal["log", "report", "frame"], ...] = ("log", "report"),
) -> Signature:
    """A signature for a test."""
    return Signature(id=name, pattern=pattern, role=role, means=Text(en="", ko=""), where=where)


SIGNATURES = (
    signature(
        "gloo.timeout", r"Timed out waiting (?P<timeout_ms>\d+)ms for (?:recv|send) operation to complete", "collateral"
    ),
    signature("gloo.closed", r"Connection closed by peer \[|Connection reset by peer", "collateral"),
    signature("torch.elastic.sigkill", r"exitcode *: -9\b"),
    signature("torch.ddp.unfinished", r"Expected to have finished reduction in the prior iteration"),
    signature("torch.store.join", r"waiting for clients\. (?P<rank>\d+)/(?P<world_size>\d+) clients joined"),
    signature("frame.barrier", r"barrier\s*\(", "context", ("frame",)),
    signature("frame.collective", r"all_reduce", "context", ("frame",)),
    signature("report.rank-zero-save", r"only rank 0 (?:calls|saves)", "primary", ("report",)),
    signature("report.korean", r"랭크 0에서만 저장", "primary", ("report",)),
    signature("log.only", r"printed in logs only", "primary", ("log",)),
)


def facts() -> tuple[Fact, ...]:
    """The catalogue's intake facts."""
    return open_knowledge().facts()


def read(*paths: Path, report: str | None = None, **given: str) -> Evidence:
    """Read with the sample signatures."""
    return read_evidence(
        SIGNATURES, facts() if report or given else (), FINDINGS, take_stock(paths), report, None, given
    )


def by_id(evidence: Evidence) -> dict[str, Observation]:
    """Observations by their id."""
    return {observation.id: observation for observation in evidence.observations}


def findings(evidence: Evidence) -> set[str]:
    """Short names of the findings that rest on no supposition."""
    sure = (name for name, one in by_id(evidence).items() if not one.supposes)
    return {name.removeprefix("logs.") for name in sure if name.startswith("logs.")}
