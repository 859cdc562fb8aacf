"""Reads what a person wrote: their words, the commands they typed, and the program output they pasted."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from distkb.catalogue.effort import REPORT_REPEAT, ROW
from distkb.catalogue.patterns import bounded
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.report.words import inferred
from distkb.evidence.run.timeline import kind_of
from distkb.evidence.run.watchdog import different_ops_told
from distkb.evidence.scanner.needs import Needs
from distkb.evidence.text.clean import quote_text, strip_escapes
from distkb.evidence.text.patience import Patience
from distkb.evidence.text.traceback import Chain, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Fact, Signature

MAX_CHARACTERS = 1 << 16
"""Longer reports are cut: no issue on GitHub can be longer; what is longer is a log and belongs in a file."""
FOLDED = 0.9
"""Certainty of a pattern that matches only with line breaks taken out."""
PASTED = 0.7
"""Certainty of a finding from a part of a log that somebody chose to paste."""
_FOLD = 6
"""Lines that are joined to undo wrapping."""


class Parts(msgspec.Struct, frozen=True):
    """A report taken apart; each part keeps all line breaks, so line numbers agree."""

    prose: str
    """The person's own words."""
    setup: str
    """Commands and code."""
    output: str
    """What programs printed."""
    lines: tuple[str, ...]
    """All lines without Markdown's marks."""


_QUOTED = re.compile(r"^(?:\s{0,3}>\s?)+")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_SWITCHED_OFF = re.compile(
    r"^#export [A-Z]"
    r"|^(?: {4}|\t)\s{0,40}#\s?[a-z_][\w.]{0,40}"
    r"(?: ?= ?(?:['\"][^'\"]{0,80}['\"]|True|False|None|[a-z_][\w.]{0,40}\([^)]{0,80}\))|\([^)]{0,80}\)),?\s{0,4}$"
)
"""A setting or a call that is commented out; outside of a fence only where it cannot be a heading."""
_OUTPUT = re.compile(
    r"^\s*(?:Traceback \(|File \"|\[(?:rank|default)?\d+\]|\[\d{4}-|\d{4}-\d\d-\d\d[T ]\d"
    r"|Setting OMP_NUM_THREADS environment variable|[IWEF]\d{4} \d\d:"
    r"|\d+: |[=\-*_]{4,}|terminate called|what\(\):|frame #\d"
    r"|(?:time|host|rank|exitcode|error_file|traceback) +: |\S+:\d+:\d+ \[\d+\] NCCL"
    r"|[\w.]*(?:Error|Exception|Warning|Interrupt)\b(?::|$)|Last error:|Signal \d|\w+\[\d+\]: |[~^\s]+$|#\d+ +\S"
    r"|(?:WARNING|ERROR|INFO|DEBUG|FATAL)[ :\]])|\.(?:cc|cpp|cu|py|hpp):\d+\b|\bNCCL (?:INFO|WARN)\b|\b0x[0-9a-f]{6,}"
)
SPOKEN = re.compile(
    r"(?:^|[\s(])(?:I|I['’]m|I['’]ve|My|my)(?=\s)|(?:니다|어요|아요|네요|예요|까요|는데|은데)(?=[\s.,?!]|$)|음(?=[.?!]|$)"
)
"""A person says something, also in a line that begins with the name of an error."""
_COMMAND = re.compile(
    r"^\s*(?:[$#%>]\s+)?(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:sudo\s+|nohup\s+|uv run\s+)?"
    r"(?:torchrun|accelerate|deepspeed|srun|sbatch|mpirun|mpiexec|python\d?|export|kubectl|ray|docker|#SBATCH)\b"
)
_CODE = re.compile(
    r"^\s*(?:import |from \S+ import|def |class |with |for \w+ in |if .*:$|return\b|@\w|model\b.*[=(]"
    r"|\w[\w.]*\s*=\s*\w|\w[\w.]*\(.*\)\s*$)"
)


def take_apart(text: str) -> Parts:
    """Tell a report's prose from its commands and code and from pasted output."""
    prose: list[str] = []
    setup: list[str] = []
    output: list[str] = []
    lines: list[str] = []
    fenced = traced = False
    for raw in text[:MAX_CHARACTERS].splitlines():
        line = _QUOTED.sub("", strip_escapes(raw))
        if _FENCE.match(line):
            fenced = not fenced
            line = ""
        if _SWITCHED_OFF.match((f"    {line}" if fenced else line)[:ROW]):
            line = ""
        clean = line.replace("`", "")
        lines.append(clean)
        traced = "Traceback (most recent" in clean or (traced and clean.startswith((" ", "\t", "[")))
        kind = _kind(clean[:ROW], fenced=fenced, traced=traced)
        prose.append(clean if kind == "prose" else "")
        setup.append(clean if kind == "setup" else "")
        output.append(clean if kind == "output" else "")
    return Parts("\n".join(prose), "\n".join(setup), "\n".join(output), tuple(lines))


def _kind(line: str, *, fenced: bool, traced: bool) -> str:
    if traced or _OUTPUT.search(line):
        return "prose" if not traced and not fenced and SPOKEN.search(line) else "output"
    if _COMMAND.match(line) and (fenced or not line.rstrip().endswith(".")):
        return "setup"
    if fenced or line.startswith(("    ", "\t")):
        return "setup" if _CODE.match(line) or " --" in line else "output"
    return "prose"


@lru_cache(maxsize=4096)
def in_report(pattern: str) -> str:
    """Return the pattern for the lines of a report: without backticks, which are marks, and without endless repeats."""
    return bounded(re.sub(r"`(?!\?)", "`?", pattern), REPORT_REPEAT)


class ReportRow(msgspec.Struct, frozen=True):
    """Text that patterns are matched on, and where in the report it comes from."""

    text: str
    starts: tuple[tuple[int, int], ...]
    """Offset in the text and line of the report, ascending."""

    def line(self, offset: int) -> int:
        """Line of the report at an offset of the text."""
        return max(number for start, number in self.starts if start <= offset)


class ReportReader:
    """All signatures that are looked for in reports."""

    def __init__(self, signatures: Sequence[Signature], cache_dir: Path | None = None) -> None:
        self._signatures = [signature for signature in signatures if "report" in signature.where]
        self._patterns = [in_report(s.pattern) for s in self._signatures]
        self._cache_dir = cache_dir
        self._compiled: dict[int, re.Pattern[str]] = {}
        self._patience = Patience()
        self.given_up = 0
        """Searches of the last report that were ended because it kept them busy."""

    def prepare(self) -> None:
        """Work out what the patterns need, or load what was kept of it, before there is anything to read."""
        _ = self._needs

    def observations(self, parts: Parts, path: str | None) -> list[Observation]:
        """Signatures that the report's lines show, as they stand and with wrapped lines joined."""
        self._patience = Patience(sum(map(len, parts.lines)))
        with self._patience:
            found = self._observations(parts, path)
        self.given_up = self._patience.given_up
        return found

    def _observations(self, parts: Parts, path: str | None) -> list[Observation]:
        found: dict[int, Observation] = {}
        whole = [ReportRow(line, ((0, number),)) for number, line in enumerate(parts.lines, 1)]
        self._look(_cut(whole), path, 1.0, found)
        self._look(_cut(_folded(parts.lines)), path, FOLDED, found)
        return [found[index] for index in sorted(found)]

    @cached_property
    def _needs(self) -> Needs:
        return Needs(self._patterns, cache_dir=self._cache_dir)

    def _expression(self, index: int) -> re.Pattern[str]:
        if index not in self._compiled:
            self._compiled[index] = re.compile(self._patterns[index], re.ASCII)
        return self._compiled[index]

    def _look(
        self, rows: Sequence[ReportRow], path: str | None, certainty: float, found: dict[int, Observation]
    ) -> None:
        """Add what matches and was not found before."""
        lines = [row.text.encode("utf-8", "replace").decode("utf-8") for row in rows]
        already = set(found)
        search = self._patience.search
        for index, row in self._needs.candidates(lines):
            if index in already:
                continue
            match = search(self._expression(index), lines[row])
            if match is None:
                continue
            if index in found:
                found[index] = msgspec.structs.replace(found[index], count=found[index].count + 1)
                continue
            quote = Quote(text=quote_text(lines[row], *match.span()), path=path, line=rows[row].line(match.start()))
            values = {k: v[:80] for k, v in match.groupdict().items() if v is not None}
            found[index] = Observation(
                id=self._signatures[index].id, source="report", certainty=certainty, quotes=(quote,), values=values
            )


def _cut(rows: Iterable[ReportRow]) -> list[ReportRow]:
    """Rows with the long ones in parts."""
    return [part for row in rows for part in (_parts(row) if len(row.text) > ROW else (row,))]


def _parts(row: ReportRow) -> Iterator[ReportRow]:
    for at in range(0, len(row.text) - ROW // 2, ROW // 2):
        starts = tuple((max(0, start - at), number) for start, number in row.starts if start < at + ROW)
        yield ReportRow(row.text[at : at + ROW], starts)


def _folded(lines: Sequence[str]) -> list[ReportRow]:
    """Runs of lines without an empty one between them, joined by a blank, some at a time."""
    rows: list[ReportRow] = []
    run: list[tuple[int, str]] = []
    for number, line in [*enumerate(lines, 1), (0, "")]:
        if line.strip():
            run.append((number, " ".join(line.split())))
            continue
        for first in range(0, max(1, len(run) - _FOLD // 2), _FOLD // 2) if len(run) > 1 else ():
            part = run[first : first + _FOLD]
            starts = accumulate((len(text) + 1 for _, text in part[:-1]), initial=0)
            rows.append(
                ReportRow(" ".join(text for _, text in part), tuple(zip(starts, (n for n, _ in part), strict=True)))
            )
        run = []
    return rows


def tracebacks(parts: Parts) -> list[Chain]:
    """Python tracebacks pasted into the report."""
    chains: list[Chain] = []
    taken: set[int] = set()
    for index, line in enumerate(parts.lines):
        if "Traceback (most recent call last):" not in line or index in taken:
            continue
        chain = parse(parts.lines, index, parts.lines[max(0, index - 3) : index])
        if chain is not None:
            chains.append(chain)
            taken |= chain.consumed
    return chains


def pasted(parts: Parts, signatures: Sequence[Signature], path: str | None) -> list[Observation]:
    """What pasted output shows: the user's frames and exceptions, and ranks that waited in different collectives."""
    wanted = [(s.id, re.compile(in_report(s.pattern), re.ASCII)) for s in signatures if "frame" in s.where]
    found: dict[str, Observation] = {}
    for chain in tracebacks(parts):
        if chain.launcher:
            continue
        for frame in chain.first.frames:
            if frame.user:
                quote = Quote(text=quote_text(frame.text), path=path, line=frame.at + 1)
                for name, pattern in wanted:
                    if pattern.search(frame.text):
                        found[name] = Observation(id=name, source="report", certainty=FOLDED, quotes=(quote,))
        if chain.first.type and kind_of(chain.first) == "own":
            line = parts.lines[chain.first.at] if chain.first.at >= 0 else chain.first.type
            quote = Quote(text=quote_text(line), path=path, line=chain.first.at + 1)
            name = "logs.exception-in-user-code"
            found.setdefault(name, Observation(id=name, source="report", certainty=PASTED, quotes=(quote,)))
    watchdogs = different_ops_told(parts.lines, path)
    return [*found.values(), *([watchdogs] if watchdogs is not None else [])]


def facts_of(parts: Parts, facts: Sequence[Fact], path: str | None) -> list[Observation]:
    """Intake facts that the words show."""
    return inferred(parts.prose, parts.setup, parts.output, facts, path)


def read_report(
    signatures: Sequence[Signature],
    facts: Sequence[Fact],
    report: str,
    name: str | None,
    cache_dir: Path | None,
    skipped: list[Skipped],
) -> list[Observation]:
    """Observations of a person's report: signatures, frames of pasted tracebacks, and facts that the words show."""
    parts = take_apart(report)
    reader = ReportReader(signatures, cache_dir)
    found = reader.observations(parts, name)
    if reader.given_up:
        skipped.append(Skipped(path=name or "-", code="report-slow", detail=str(reader.given_up)))
    if len(report) > MAX_CHARACTERS:
        skipped.append(Skipped(path=name or "-", code="report-long", detail=f"{MAX_CHARACTERS:,}"))
    return [*found, *pasted(parts, signatures, name), *facts_of(parts, facts, name)]
