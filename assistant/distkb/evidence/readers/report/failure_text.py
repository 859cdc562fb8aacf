"""Picks from a report what tells about the failure: the person's sentences and the error lines.

People paste their settings, their environment and their training loop whatever is wrong. Those words say which
software is used, not what failed, and a long paste would outweigh the two sentences that describe the failure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.catalogue.effort import ROW

if TYPE_CHECKING:
    from collections.abc import Collection

    from distkb.evidence.readers.report.report_reader import Parts

MIN_WORDS = 4
"""Below that many words the whole report is used."""
_MAX_LINE = 300
FAILURE_SHARE = 0.7
"""Share of the sentences and error lines in a report's affinity; the rest comes from all of its words.
Pasted settings, environments and training loops say which software is used, not what failed, and outweigh the two
sentences that do; but where someone describes a failure by its settings alone, they are all there is."""

PRINTED = (
    r"\(?GPU \d+; [\d.]+ (?:[KMG]iB|bytes) total capacity;[\s\S]{0,200}?(?:reserved in total by PyTorch|cached)\)?"
    r"|GPU \d+ has a total capaci?ty of [\s\S]{0,1600}?reserved by PyTorch but unallocated\.?"
    r"|If reserved (?:memory is >> allocated|but unallocated)[\s\S]{0,160}?fragmentation\.?"
    r"|See documentation for Memory Management(?:[\s\S]{0,24}?(?:PYTORCH_\w*ALLOC_CONF|\([^)\s]{0,100}\)))?"
)
"""What every out-of-memory message of PyTorch says, whatever the cause: an account in numbers, which the signatures
read, and the advice against fragmentation. Its words are nobody's. The browser uses the same pattern."""
_PRINTED = re.compile(PRINTED)

_SETTING = re.compile(
    r"^\s*[-*>|]?\s*(?:\[[ xX]\]\s*)?[\"'`]?[\w./ ()?-]{1,48}[\"'`]?\s*[:=]\s*(?:\S+(?:\s+\S+){0,4})?,?\s*$"
    r"|^\s*[\"'][\w.]+[\"']\s*:|^[\s\[\]{}\",]*$|^\s*[-*]\s+\[[ xX]\]|^\s*#+\s|^\s*_No response_"
    r"|^\s*GPU \d|^\s*\[(?:pip3?|conda)\]|^[*=-]{4,}"
)
_ERROR = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception)|Watchdog|WARN|Killed|Signal \d+)\b|return code = -|\bkilled by\b"
)
_FOOTER = re.compile(r"ChildFailedError|failed \(exitcode: 1\)|[Ee]rror_file|errors\.html")


def unprinted(text: str) -> str:
    """Return the text without what every message of its kind says."""
    return _PRINTED.sub(" ", text)


def without_lines(text: str, numbers: Collection[int]) -> str:
    """Return the text with these lines (1-based) empty; the text as it is where nothing else is in it."""
    if not numbers:
        return text
    kept = "\n".join("" if n in numbers else line for n, line in enumerate(text.splitlines(), start=1))
    return kept if kept.strip() else text


def failure_text(parts: Parts) -> str:
    """The sentences and error lines of a report taken apart; all of it where hardly anything is left."""
    kept = [line for line in parts.prose.split("\n") if line.strip() and not _SETTING.match(line[:ROW])]
    seen = set(kept)
    for line in parts.lines:
        if _ERROR.search(line) and not _FOOTER.search(line) and line not in seen:
            seen.add(line)
            kept.append(line[:_MAX_LINE])
    if sum(len(line.split()) for line in kept) < MIN_WORDS:
        return "\n".join(parts.lines)
    return "\n".join(kept)
