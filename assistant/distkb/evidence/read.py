"""Reads everything that was given and says what is known: the entry point of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from distkb.evidence import facts as stated
from distkb.evidence.derive import Derived, derive
from distkb.evidence.elastic import MAX_ERROR_FILE, ErrorFile, parse_error_file
from distkb.evidence.files import Found, LogFile, discover
from distkb.evidence.observation import Evidence, Observation, Quote, Skipped
from distkb.evidence.opening import UnreadableError, open_regular, open_text, reason
from distkb.evidence.report import ReportReader, facts_of, pasted, take_apart
from distkb.evidence.scan import FileScan, Hit, Scanner, hit_quote
from distkb.evidence.timeline import waited

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Fact, Signature
    from distkb.evidence.timeline import Timeline

QUOTES = 6
"""Quotes of one observation."""


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """All log files, scanned."""

    scans: tuple[FileScan, ...] = ()
    error_files: tuple[tuple[LogFile, ErrorFile], ...] = ()
    skipped: tuple[Skipped, ...] = ()


def read_evidence(  # noqa: PLR0913, PLR0917 - all that can be given
    signatures: Sequence[Signature],
    facts: Sequence[Fact],
    findings: Collection[str],
    paths: Sequence[Path],
    report: str | None = None,
    report_name: str | None = None,
    fact_values: Mapping[str, str] | None = None,
    cache_dir: Path | None = None,
) -> Evidence:
    """Read logs, a person's report and stated facts into observations.

    `findings` are the ids that the catalogue knows; others are not emitted. What cannot be read is listed
    in `skipped` and never stops the rest. Compiled patterns are kept in `cache_dir`, if one is given.

    Raises:
        FactError: a stated fact or value does not exist.
    """
    given = stated.check_facts(fact_values or {}, facts)
    logs = read_logs(signatures, paths, cache_dir)
    words = read_report(signatures, facts, report, report_name, cache_dir) if report else []
    words = [o for o in words if o.id.partition("=")[0] not in given]
    hanging = given.get("symptom") == "hang" or any(o.id == "symptom=hang" for o in words)
    result = derive(logs.scans, logs.error_files, signatures, hanging=hanging)
    seen = signature_observations(logs.scans, result)
    known = {signature.id for signature in signatures} | set(findings)
    observations = merge([*seen, *result.observations, *words, *stated.observed(given)])
    return Evidence(
        observations=tuple(o for o in observations if "=" in o.id or o.id in known),
        skipped=logs.skipped,
        log_coverage=result.coverage,
        notes=result.notes,
        bytes_read=sum(scan.size for scan in logs.scans),
    )


def read_logs(signatures: Sequence[Signature], paths: Sequence[Path], cache_dir: Path | None = None) -> Logs:
    """Find and scan all logs under the given paths."""
    found = discover(paths)
    scans: list[FileScan] = []
    skipped = list(found.skipped)
    named = {str(path) for path in paths}
    scanner = Scanner(signatures, cache_dir)
    for file in found.logs:
        scan = _scan(scanner, file)
        if isinstance(scan, Skipped) and scan.code == "empty" and file.name not in named:
            scan = FileScan(file=file)  # an empty stream of a rank says something too
        if isinstance(scan, Skipped):
            skipped.append(scan)
            continue
        scans.append(scan)
        if scan.damaged:
            skipped.append(Skipped(path=file.name, code="bad-gzip", detail=str(scan.lines)))
    error_files = _error_files(found, skipped)
    skipped += _all_empty(paths, scans, error_files)
    return Logs(scans=tuple(scans), error_files=tuple(error_files), skipped=tuple(skipped))


def _scan(scanner: Scanner, file: LogFile) -> FileScan | Skipped:
    try:
        raw, stream = open_text(file.path)
        with raw:
            return scanner.scan(file, stream)
    except UnreadableError as error:
        return Skipped(path=file.name, code=error.code, detail=error.detail)
    except OSError as error:
        code, detail = reason(error)
        return Skipped(path=file.name, code=code, detail=detail)


def _all_empty(
    paths: Sequence[Path], scans: Sequence[FileScan], error_files: Sequence[tuple[LogFile, ErrorFile]]
) -> list[Skipped]:
    """Directories of which every log is empty."""
    skipped: list[Skipped] = []
    for path in paths:
        name = str(path)
        if not path.is_dir():
            continue
        inside = [scan for scan in scans if scan.file.name.startswith(name) and scan.file.name != name]
        if inside and not error_files and not any(scan.size for scan in inside):
            skipped.append(Skipped(path=name, code="empty"))
    return skipped


def _error_files(found: Found, skipped: list[Skipped]) -> list[tuple[LogFile, ErrorFile]]:
    contents: list[tuple[LogFile, ErrorFile]] = []
    for file in found.error_files:
        data = _bytes(file)
        if isinstance(data, Skipped):
            skipped.append(data)
        elif (content := parse_error_file(data)) is not None:
            contents.append((file, content))
    return contents


def _bytes(file: LogFile) -> bytes | Skipped:
    try:
        with open_regular(file.path) as raw:
            return raw.read(MAX_ERROR_FILE)
    except UnreadableError as error:
        return Skipped(path=file.name, code=error.code, detail=error.detail)
    except OSError as error:
        code, detail = reason(error)
        return Skipped(path=file.name, code=code, detail=detail)


def signature_observations(scans: Sequence[FileScan], result: Derived) -> list[Observation]:
    """One observation for each signature that any log shows: each rank's first hit, in order of time."""
    owners = {
        (id(scan), hit.order, hit.signature): process.rank
        for process in result.run.processes
        for scan, hit in process.hits
    }
    hits: dict[str, list[tuple[FileScan, Hit]]] = {}
    counts: dict[str, int] = {}
    for scan in scans:
        for hit in scan.hits:
            hits.setdefault(hit.signature, []).append((scan, hit))
        for name, count in scan.counts.items():
            counts[name] = counts.get(name, 0) + count
    found: list[Observation] = []
    for name in sorted(hits):
        quotes: list[Quote] = []
        for scan, hit in hits[name]:
            rank = owners.get((id(scan), hit.order, hit.signature), hit.rank)
            quotes.append(hit_quote(scan, hit, rank, _time(hit, result.timeline)))
        first = hits[name][0][1]
        found.append(
            Observation(id=name, source="log", quotes=_spread(quotes), count=counts[name], values=first.values)
        )
    return found


def _time(hit: Hit, timeline: Timeline) -> float | None:
    """Time of a hit, where its line tells it or how long it had waited since the line before."""
    base = timeline.times.of(hit.stamp)
    if base is None or hit.exact:
        return base
    delay = waited(hit.text)
    return base + delay if delay else None


def _spread(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """A few quotes, from as many ranks and files as can be."""
    first: dict[tuple[int | None, str | None], Quote] = {}
    for quote in quotes:
        first.setdefault((quote.rank, None if quote.rank is not None else quote.path), quote)
    spread = list(first.values())[:QUOTES]
    rest = [quote for quote in quotes if quote not in spread]
    return (*spread, *rest[: max(0, 3 - len(spread))])


def read_report(
    signatures: Sequence[Signature],
    facts: Sequence[Fact],
    report: str,
    name: str | None = None,
    cache_dir: Path | None = None,
) -> list[Observation]:
    """Observations of a person's report: signatures, frames of pasted tracebacks, and facts that the words show."""
    parts = take_apart(report)
    found = ReportReader(signatures, cache_dir).observations(parts, name)
    return [*found, *pasted(parts, signatures, name), *facts_of(parts, facts, name)]


def merge(observations: Sequence[Observation]) -> list[Observation]:
    """Put observations of one id together: the surest first, the quotes of all."""
    merged: dict[str, Observation] = {}
    for one in observations:
        old = merged.get(one.id)
        if old is None:
            merged[one.id] = one
            continue
        sure, other = (old, one) if old.certainty >= one.certainty else (one, old)
        merged[one.id] = msgspec.structs.replace(
            sure,
            quotes=(*sure.quotes, *other.quotes)[:QUOTES],
            count=sure.count + other.count,
            values={**other.values, **sure.values},
        )
    return list(merged.values())
