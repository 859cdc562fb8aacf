"""All that is wrong with a knowledge base: what cannot be loaded, and what does not hold across its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.catalogue.checks.accounts import check_accounts
from distkb.catalogue.checks.code import check_code
from distkb.catalogue.checks.evidence import check_evidence
from distkb.catalogue.checks.findings import check_findings
from distkb.catalogue.checks.guides import check_guides
from distkb.catalogue.checks.idle import check_idle
from distkb.catalogue.checks.messages import check_messages
from distkb.catalogue.checks.names import check_names
from distkb.catalogue.checks.settings import check_settings
from distkb.catalogue.checks.signatures import check_signatures
from distkb.catalogue.checks.texts import UNWRITTEN, check_texts
from distkb.catalogue.checks.verified import check_verified
from distkb.catalogue.load import load_located

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.problem import Problem


def check_directories(directories: Sequence[Path]) -> list[Problem]:
    """Load knowledge bases, the built-in one first, and return every problem in order of file and line."""
    return all_problems(load_located(directories))


def all_problems(loaded: Loaded) -> list[Problem]:
    """Return what did not load and what does not hold across the rest, in order of file and line."""
    return sorted({*loaded.problems, *check(loaded)})


def check(loaded: Loaded) -> list[Problem]:
    """Return what does not hold across the records that loaded, in order of file and line.

    Of a text that is not written yet nothing else is said.
    """
    checks = (
        check_accounts,
        check_code,
        check_names,
        check_evidence,
        check_findings,
        check_guides,
        check_messages,
        check_idle,
        check_settings,
        check_signatures,
        check_texts,
        check_verified,
    )
    found = [problem for one in checks for problem in one(loaded)]
    unwritten = {_place(problem) for problem in found if UNWRITTEN in problem.message}
    return sorted({item for item in found if UNWRITTEN in item.message or _place(item) not in unwritten})


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.path, problem.line, problem.column
