"""Findings that a repository allows: by a comment beside the line, with a reason, or by a baseline of older ones.

A comment is `# distkb: ignore[ID, …] reason`, on the line that is quoted or alone on the line above it; ID is that of a
finding (`config.rank-exported`) or of its entry (`D1`, `D1.b`). Without a reason it allows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.opening import start_of
from distkb.probing.document import Reported

BASELINE = "distkb.baseline/1"
_MOST_BYTES = 4 << 20
_COMMENT = re.compile(r"#[ \t]{0,8}distkb:[ \t]{0,8}ignore\[([\w.,\t -]{1,400})\](.{0,400})")
_MARK = "distkb:"


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """One comment that allows findings."""

    path: str
    line: int
    ids: tuple[str, ...]
    reason: str
    alone: bool
    """Whether nothing else stands on its line: then it is for the line below."""

    def allows(self, reported: Reported) -> bool:
        """Whether it stands beside a line of the finding and names it."""
        entry = reported.finding.entry or ""
        names = {reported.finding.id, entry, entry.partition(".")[0]}
        lines = {self.line, self.line + 1} if self.alone else {self.line}
        return bool(self.reason and names & set(self.ids)) and any(
            quote.path == self.path and quote.line in lines for quote in reported.observation.quotes
        )


class _Baseline(msgspec.Struct, frozen=True):
    schema: str
    findings: tuple[str, ...]


class UnreadableBaselineError(Exception):
    """The baseline is not there, or none of ours."""


def comments_in(paths: Iterable[Path]) -> list[Comment]:
    """Return the comments of the files."""
    found: list[Comment] = []
    for path in paths:
        try:
            text = start_of(path, _MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        if _MARK not in text:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            match = _COMMENT.search(line) if _MARK in line else None
            if match is not None:
                ids = tuple(word.strip() for word in match[1].split(",") if word.strip())
                alone = not line[: match.start()].strip()
                reason = quote_text(match[2].strip())
                found.append(Comment(path=str(path), line=number, ids=ids, reason=reason, alone=alone))
    return found


def read_baseline(path: Path) -> frozenset[str]:
    """Return the fingerprints of a baseline. Raises UnreadableBaselineError."""
    try:
        with path.open("rb") as file:
            document = msgspec.json.decode(file.read(_MOST_BYTES), type=_Baseline)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableBaselineError from None
    if document.schema != BASELINE:
        raise UnreadableBaselineError
    return frozenset(document.findings)


def write_baseline(path: Path, fingerprints: Sequence[str]) -> None:
    """Write a baseline, one fingerprint a line, so that changes of it can be read."""
    document = msgspec.json.encode(_Baseline(BASELINE, tuple(sorted(set(fingerprints)))))
    path.write_bytes(msgspec.json.format(document, indent=2) + b"\n")
