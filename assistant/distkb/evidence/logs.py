"""Reads the log files among what was given, with the error files and saved answers of probes that lie with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.guarded import guarded, unread
from distkb.evidence.inventory import Found, LogFile, discover
from distkb.evidence.observation import Observation, Skipped
from distkb.evidence.readers.error_files import MAX_ERROR_FILE, ErrorFile, parse_error_file
from distkb.evidence.readers.probe_answers import MOST_BYTES, read_document
from distkb.evidence.run.starts import runs_in
from distkb.evidence.scanner.scan import FileScan, Scanner
from distkb.evidence.text.opening import UnreadableError, open_regular, open_text, size_of
from distkb.evidence.walk import Stock

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Signature

Progress = Callable[[int, int], None]
"""Told how many bytes of how many were read."""


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """All log files, scanned."""

    scans: tuple[FileScan, ...] = ()
    error_files: tuple[tuple[LogFile, ErrorFile], ...] = ()
    probed: tuple[Observation, ...] = ()
    """What saved answers of probes say."""
    older: tuple[tuple[FileScan, ...], ...] = ()
    """The runs that stand before the newest one in the same file, for each file that holds several."""
    documents: int = 0
    """Bytes of those answers."""
    skipped: tuple[Skipped, ...] = ()


def read_logs(
    signatures: Sequence[Signature],
    stock: Stock,
    cache_dir: Path | None,
    progress: Progress | None,
    others: Collection[Path],
) -> Logs:
    """Find and scan all logs in what was given."""
    found = discover(stock, others)
    skipped = list(found.skipped)
    scans: list[FileScan] = []
    named = {str(path) for path in stock.paths}
    scanner = Scanner(signatures, cache_dir)
    count = _Count(found.logs, progress) if progress is not None else None
    with scanner.sharing([file.path for file in found.logs]):
        for file in found.logs:
            scan = guarded(partial(_scan, scanner, file, count), file.name, skipped)
            if scan is None:
                continue
            if isinstance(scan, Skipped) and scan.code == "empty" and file.name not in named:
                scan = FileScan(file=file)  # an empty stream of a rank says something too
            if isinstance(scan, Skipped):
                skipped.append(scan)
                continue
            scans.append(scan)
            if scan.damage:
                skipped.append(Skipped(path=file.name, code=scan.damage, detail=str(scan.lines)))
    runs = [guarded(partial(runs_in, scan, scanner), scan.file.name, skipped) or (scan,) for scan in scans]
    error_files = _error_files(found, skipped)
    skipped += _all_empty(stock, scans, error_files)
    probed, size = _probed(found, skipped)
    return Logs(
        scans=tuple(newest for *_, newest in runs),
        older=tuple(tuple(older) for *older, _ in runs if older),
        error_files=tuple(error_files),
        probed=tuple(probed),
        documents=size,
        skipped=tuple(skipped),
    )


class _Count:
    """Adds up what was read of all files."""

    def __init__(self, files: Sequence[LogFile], progress: Progress) -> None:
        self._progress = progress
        self._total = sum(size_of(file.path) for file in files)
        self._done = 0
        progress(0, self._total)

    def __call__(self, read: int) -> None:
        self._done += read
        # Packed files hold more than their size says.
        self._progress(min(self._done, self._total), self._total)


def _scan(scanner: Scanner, file: LogFile, count: _Count | None) -> FileScan | Skipped:
    try:
        raw, stream = open_text(file.path)
        with raw:
            return scanner.scan(file, stream, count)
    except (UnreadableError, OSError) as error:
        return unread(file.name, error)


def _all_empty(
    stock: Stock, scans: Sequence[FileScan], error_files: Sequence[tuple[LogFile, ErrorFile]]
) -> list[Skipped]:
    """Directories of which every log is empty."""
    skipped: list[Skipped] = []
    for name in stock.folders:
        inside = [scan for scan in scans if scan.file.name.startswith(name) and scan.file.name != name]
        if inside and not error_files and not any(scan.size for scan in inside):
            skipped.append(Skipped(path=name, code="empty"))
    return skipped


def _error_files(found: Found, skipped: list[Skipped]) -> list[tuple[LogFile, ErrorFile]]:
    contents: list[tuple[LogFile, ErrorFile]] = []
    for file in found.error_files:
        data = _bytes(file, MAX_ERROR_FILE)
        if isinstance(data, Skipped):
            skipped.append(data)
        elif (content := guarded(partial(parse_error_file, data), file.name, skipped)) is not None:
            contents.append((file, content))
    return contents


def _probed(found: Found, skipped: list[Skipped]) -> tuple[list[Observation], int]:
    """Observations of saved probe answers, and how many bytes they hold."""
    observations: list[Observation] = []
    size = 0
    for file in found.documents:
        data = _bytes(file, MOST_BYTES)
        if isinstance(data, Skipped):
            skipped.append(data)
        elif (content := guarded(partial(read_document, data), file.name, skipped)) is None:
            if not skipped or skipped[-1].path != file.name:
                skipped.append(Skipped(path=file.name, code="bad-document"))
        else:
            observations += content
            size += len(data)
    seen = {o.id for o in observations if o.present}
    return [o for o in observations if o.present or o.id not in seen], size


def _bytes(file: LogFile, most: int) -> bytes | Skipped:
    try:
        with open_regular(file.path) as raw:
            return raw.read(most)
    except (UnreadableError, OSError) as error:
        return unread(file.name, error)
