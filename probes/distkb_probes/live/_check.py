"""What every check is: read this rank's state, say whose details are wanted, judge."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from distkb_probes.live._exchange import Sheet

Verdict = tuple[list[dict[str, Any]], dict[str, Any]]
"""Findings and facts as they travel between the ranks."""
ROWS = 8
"""Lines of evidence of one finding, at most."""


class Check(abc.ABC):
    """One check among the ranks of a group."""

    name: str
    ids: tuple[str, ...]
    """The findings that it looks for."""

    @abc.abstractmethod
    def collect(self) -> Sheet:
        """Read this rank's state: no communication, no writing, no random numbers."""

    def wants(self, summaries: Mapping[int, Any]) -> list[int]:  # noqa: ARG002 - most checks need no details
        """Return the ranks whose details the judgement needs."""
        return []

    @abc.abstractmethod
    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:
        """Compare the ranks. Runs on one rank only."""
