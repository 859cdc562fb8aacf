"""Keeps what was seen of a stalled job in one folder: stacks, logs, dumps, environment; secrets are masked."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.evidence.border import fit
from distkb.evidence.text.clean import mask_lines, strip_escapes
from distkb.probing.collect import Collected, save

LOG_HEAD, LOG_TAIL = 1 << 20, 7 << 20
"""Bytes that are kept of a log: its beginning tells how it was started, its end how it stopped."""
_MOST_DUMP = 64 << 20
_CUT = b"\n[...]\n"


class Bundle:
    """A folder that only this user may read."""

    def __init__(self, directory: Path, name: str) -> None:
        """Make it; its name holds the time. Raises OSError where that is not possible."""
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:40] or 'job'}"
        for number in range(1, 1000):
            self.path = directory / (stem if number == 1 else f"{stem}-{number}")
            with contextlib.suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
                return
        raise FileExistsError(17, os.strerror(17), str(self.path))

    @property
    def answer(self) -> Path:
        """The file beside it that holds the answer: inside it would be read as a log."""
        return self.path.with_name(f"{self.path.name}.txt")

    def document(self, name: str, content: Mapping[str, Any]) -> None:
        """Write one JSON document."""
        self._write(name, msgspec.json.encode(fit(dict(content))) + b"\n")

    def stacks(self, taken: Collected) -> None:
        """Write the stacks, a file for each rank, and what the ranks' flight recorders answered."""
        save(self.path / "stacks", taken)

    def logs(self, paths: Sequence[Path]) -> None:
        """Write the beginning and the end of each log, with the folders in which several of them lie."""
        top = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
        for path in paths:
            with contextlib.suppress(OSError):
                self._write(f"logs/{path.relative_to(top)}", _masked(_ends(path)))

    def dumps(self, paths: Sequence[Path]) -> None:
        """Copy dumps as they are: they hold calls and shapes, and are read byte by byte."""
        for path in paths:
            with contextlib.suppress(OSError):
                if path.stat().st_size <= _MOST_DUMP:
                    self._write(f"flight-recorder/{path.name}", path.read_bytes())

    def pack(self) -> Path:
        """Put the folder into one .tar.gz and take it away; return that file."""
        packed = self.path.with_name(f"{self.path.name}.tar.gz")
        descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            archive.add(self.path, arcname=self.path.name)
        shutil.rmtree(self.path)
        return packed

    def _write(self, name: str, data: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(data)


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= LOG_HEAD + LOG_TAIL:
            return file.read(LOG_HEAD + LOG_TAIL)
        head = file.read(LOG_HEAD)
        file.seek(size - LOG_TAIL)
        return head + _CUT + file.read(LOG_TAIL)


def _masked(data: bytes) -> bytes:
    """Return text without secrets; other control characters do no harm in a file."""
    text = strip_escapes(data.decode("utf-8", "replace"))
    return "".join(mask_lines(text.splitlines(keepends=True))).encode()
