"""Finds and reads the files that hold stacks."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.evidence.artifact import ArtifactReading, careful, find
from distkb.evidence.guarded import unread
from distkb.evidence.inventory import LogFile, with_sibling_ranks
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.stacks import documents, text
from distkb.evidence.readers.stacks.group import standings
from distkb.evidence.readers.stacks.judge import judge
from distkb.evidence.readers.stacks.model import Dump
from distkb.evidence.readers.stacks.who import Who, of_name
from distkb.evidence.text.opening import UnreadableError, open_text
from distkb.evidence.walk import File

MOST_FILES = 400
"""Files looked at that do not have a stack's name; those that have are read up to a hundred times as many."""
MOST_BYTES = 32 << 20
"""Of one file; a dump that is longer is no dump."""
TAIL_BYTES = 4 << 20
"""Bytes at the end of a large log in which a faulthandler's dump is looked for."""
_FORE = 16 << 10
"""Bytes at the beginning of a file that tell whether it is a document."""
_HEAD = 64 << 10
_TAIL = 256 << 10
_NAMES = ("stack", "pyspy", "py-spy", "py_spy", "faulthandler", "traceback", "gdb", "py-bt", "rank")
_SUFFIXES = frozenset({".txt", ".json", ".log", ".out", ".err", ".dump", ".stacks", ".stack", ".trace", ".html", ""})


class StackReader:
    """Stacks of hanging processes, in files of their own or at the end of a log."""

    name = "stacks"
    most = MOST_FILES

    def is_named(self, file: File) -> bool:
        """By the words that such names have."""
        return any(word in file.path.name.lower() for word in _NAMES)

    def may_hold(self, file: File) -> bool:
        """By its suffix; `stacks.4242` has a pid for one."""
        suffix = file.path.suffix.lower()
        return file.given or suffix in _SUFFIXES or suffix[1:].isdecimal()

    def holds(self, file: File) -> bool:
        """By its first and its last bytes."""
        return _has_stacks(file.path)

    def nothing_else(self, file: File) -> bool:
        """Where it begins with stacks."""
        head = file.text(_HEAD).decode("utf-8", "replace").lstrip()
        return documents.has_stacks(head[:400]) or text.begins_with_stacks(head)

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:  # noqa: ARG002 - it needs none of it
        """Compare where the processes stand."""
        return read_stacks(paths)


def find_stacks(paths: Sequence[Path]) -> list[Path]:
    """Return the files under the given paths in which stacks stand, by their names and first and last bytes."""
    return find(StackReader(), paths)


@careful
def read_stacks(paths: Sequence[Path]) -> ArtifactReading:
    """Read dumps of stacks and say where the ranks stand. Never raises on what the files contain."""
    dumps, skipped, size = read_dumps(paths)
    judged = judge(dumps)
    return ArtifactReading(
        observations=judged.observations,
        clear=judged.clear,
        facts={"stacks": judged.facts} if dumps else {},
        standing=tuple(standings(dumps)),
        skipped=skipped,
        bytes_read=size,
    )


def read_dumps(paths: Sequence[Path]) -> tuple[list[Dump], tuple[Skipped, ...], int]:
    """Return the processes in the files, what could not be read, and how many bytes were."""
    dumps: list[Dump] = []
    skipped: list[Skipped] = []
    size = 0
    ranks = _ranks(paths)
    for path in paths:
        try:
            content = _content(path)
        except (UnreadableError, OSError, ValueError) as error:
            skipped.append(unread(str(path), error))
            continue
        size += len(content)
        found = parse(content, str(path), ranks[path])
        if not found:
            skipped.append(Skipped(path=str(path), code="no-stacks"))
        dumps += found
    return dumps, tuple(skipped), size


def parse(content: str, path: str, who: Who | None = None) -> list[Dump]:
    """Return the processes in a text of any of the known forms; none for any other text."""
    head = content[:_HEAD]
    if documents.has_stacks(head):
        return documents.parse_json(content, path, who)
    if head.lstrip()[:20].lower().startswith(("<!doctype html", "<html")):
        content = _of_page(content)
    found = text.parse_text(content.splitlines(), path, who)
    # A file that names one rank holds one process, however many its name does not know of.
    several = len({dump.pid for dump in found if dump.pid is not None}) > 1
    if several and who is not None and who.rank is not None:
        return [msgspec.structs.replace(dump, rank=None) if dump.rank == who.rank else dump for dump in found]
    return found


def _of_page(page: str) -> str:
    """Return the dumps in a page of torch's debug server (torch.distributed.debug._frontend, torch 2.13)."""
    marked = re.sub(r"<h2>Rank (\d{1,6}): [^<\n]*</h2>", r"\n== rank \1\n", page)
    return html.unescape(re.sub(r"</?pre>", "\n", marked))


def _ranks(paths: Sequence[Path]) -> dict[Path, Who]:
    """Return who each file means: by its own name, or by its place among siblings such as `0.txt`, `1.txt`."""
    logs = [LogFile(path=path, name=str(path), rank=of_name(path.name).rank, group=str(path.parent)) for path in paths]
    found: dict[Path, Who] = {}
    for file in with_sibling_ranks(logs):
        own = of_name(file.path.name)
        parent = of_name(file.path.parent.name).rank if own.rank is None else None
        elastic = file.path.parent.name if file.path.name in ("stdout.log", "stderr.log") else ""
        rank = file.rank if file.rank is not None else int(elastic) if elastic.isdecimal() else parent
        found[file.path] = Who(rank=rank, pid=None if rank is not None and own.rank is None else own.pid)
    return found


def _content(path: Path) -> str:
    """Return a file's text: of a large log only the end, where a dump stands that a hang or a crash has left."""
    raw, reader = open_text(path)
    with raw:
        if reader is raw and path.suffix != ".json" and (size := raw.seek(0, os.SEEK_END)) > TAIL_BYTES:
            raw.seek(size - TAIL_BYTES)
        elif reader is raw:
            raw.seek(0)
        parts: list[bytes] = []
        size = 0
        while size < MOST_BYTES and (part := reader.read(1 << 20)):
            parts.append(part)
            size += len(part)
    return b"".join(parts)[:MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")


def _has_stacks(path: Path) -> bool:
    try:
        raw, reader = open_text(path)
        with raw:
            head = reader.read(_HEAD)
            if documents.has_stacks(head[:_FORE].decode("utf-8", "replace")) or text.has_stacks(head):
                return True
            # In a rank's log a faulthandler's dump is the last thing.
            if reader is not raw or path.suffix == ".json":
                return False
            size = raw.seek(0, os.SEEK_END)
            if size <= _HEAD:
                return False
            raw.seek(max(0, size - _TAIL))
            return text.has_stacks(raw.read(_TAIL) or b"")
    except (UnreadableError, OSError, ValueError, EOFError):
        return False
