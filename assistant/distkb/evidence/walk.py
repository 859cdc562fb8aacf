"""One walk over everything that was given, for all readers: each file is met once."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Skipped
from distkb.evidence.text.opening import UnreadableError, open_regular, open_text, reason

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DEPTH = 12
"""Directory levels below a given path."""
MAX_FILES = 20_000
"""Files of all given folders that may hold something to read."""
MAX_MET = 400_000
"""Files met at all."""

PRUNED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        "site-packages",
        "venv",
        ".venv",
        ".tox",
        ".mypy_cache",
        ".cache",
    }
)
"""Folders that nobody's run writes to."""
_TUCKED = frozenset({"wandb", "checkpoints"})
"""Folders without a script or a configuration that a person wrote; no hidden folder has one either."""
_DATA = frozenset({
    ".pyc", ".so", ".a", ".o", ".css", ".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff",
    ".mp4", ".avi", ".wav", ".mp3", ".flac", ".ogg", ".pdf", ".npy", ".npz", ".pt", ".pth", ".ckpt", ".safetensors",
    ".parquet", ".arrow", ".h5", ".hdf5", ".onnx", ".whl", ".zip", ".tar", ".tgz", ".7z", ".db", ".sqlite", ".lmdb",
    ".idx", ".wandb", ".tfevents", ".qdrep", ".nsys-rep", ".distcp",
})  # fmt: skip
"""Suffixes of data: such files are passed over, however many there are, where they are not named themselves."""
_SAVED = frozenset({".pt", ".pth"})
RECORDED = (b"pg_config", b"comm_lib_version", b"nccl_comm_state", b"collective_seq_id", b"pg_status")
"""Words at the beginning of what a flight recorder wrote: people save its bytes as they save tensors."""
_LARGEST_RECORD = 64 << 20
_MAX_LOOKED = 400
"""Files with a suffix of saved tensors that are looked into."""


class File:
    """One regular file under the given paths."""

    __slots__ = ("_start", "given", "name", "path", "root", "size", "tucked")

    def __init__(self, path: str, root: str, size: int, *, tucked: bool = False) -> None:
        """Take its path, the given path that it was found under, and whether it lies in a folder of a program's."""
        self.path = Path(path)
        self.name = path
        self.root = root
        self.given = path == root
        self.size = size
        self.tucked = tucked
        self._start: tuple[int, bytes] | None = None

    def start(self, size: int) -> bytes:
        """Return its first bytes as they are; none where it cannot be read, which the reader will say."""
        if self._start is None or self._start[0] < size:
            try:
                with open_regular(self.path) as raw:
                    self._start = size, raw.read(size) or b""
            except (OSError, UnreadableError, ValueError):
                self._start = size, b""
        return self._start[1][:size]

    def text(self, size: int) -> bytes:
        """Return its first bytes as UTF-8, unpacked; none where it is no text."""
        try:
            raw, reader = open_text(self.path)
            with raw:
                return reader.read(size)
        except (OSError, UnreadableError, ValueError, EOFError):
            return b""

    def forget(self) -> None:
        """Let go of what was read: there may be very many files."""
        self._start = None


class Stock(msgspec.Struct, frozen=True, kw_only=True):
    """All that there is to read."""

    paths: tuple[Path, ...] = ()
    """As they were given."""
    files: tuple[File, ...] = ()
    folders: tuple[str, ...] = ()
    """Those of the given paths that are folders."""
    odd: tuple[str, ...] = ()
    """Sockets, FIFOs and devices in them, which are never opened."""
    skipped: tuple[Skipped, ...] = ()


def take_stock(paths: Sequence[Path]) -> Stock:
    """Find every file under the given paths; what cannot be looked at becomes a `Skipped` and the rest is found."""
    walk = _Walk()
    for path in paths:
        walk.add(str(path))
    return Stock(
        paths=tuple(paths),
        files=tuple(walk.files),
        folders=tuple(walk.folders),
        odd=tuple(walk.odd),
        skipped=tuple(walk.skipped),
    )


class _Walk:
    """Remembers what was met."""

    def __init__(self) -> None:
        self.files: list[File] = []
        self.folders: list[str] = []
        self.odd: list[str] = []
        self.skipped: list[Skipped] = []
        self._seen: set[tuple[int, int]] = set()
        self._taken: dict[str, File] = {}
        self._counted = 0
        self._met = 0
        self._looked = 0

    def add(self, path: str) -> None:
        """Take one path as the user gave it."""
        try:
            status = Path(path).stat()
        except (OSError, ValueError) as error:
            self._skip(path, *reason(error))
            return
        if stat.S_ISDIR(status.st_mode):
            self.folders.append(path)
            self._folder(path, path, 0, tucked=False)
        elif stat.S_ISREG(status.st_mode):
            self._take(File(path, path, status.st_size))
        else:
            self._skip(path, "not-a-file")

    def _skip(self, path: str, code: str, detail: str = "") -> None:
        self.skipped.append(Skipped(path=path, code=code, detail=detail))

    def _take(self, file: File) -> None:
        known = self._taken.setdefault(file.name, file)
        known.given = known.given or file.given
        if known is file:
            self.files.append(file)

    def _folder(self, root: str, folder: str, depth: int, *, tucked: bool) -> None:
        try:
            status = Path(folder).stat()
            if (status.st_dev, status.st_ino) in self._seen:
                return
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                listing = sorted(entries, key=lambda entry: natural(entry.name))
        except OSError as error:
            self._skip(folder, *reason(error))
            return
        for entry in listing:
            if self._met > MAX_MET or self._counted > MAX_FILES:
                return
            self._entry(root, entry, depth, tucked=tucked)

    def _entry(self, root: str, entry: os.DirEntry[str], depth: int, *, tucked: bool) -> None:
        self._met += 1
        if self._met > MAX_MET:
            self._skip(root, "too-many", str(MAX_MET))
            return
        try:
            status = entry.stat()
        except OSError as error:
            code, detail = reason(error)
            if code != "missing":  # a dangling link is no file
                self._skip(entry.path, code, detail)
            return
        if stat.S_ISDIR(status.st_mode):
            if entry.name in PRUNED:
                return
            if depth >= MAX_DEPTH:
                self._skip(entry.path, "too-deep")
                return
            inside = tucked or entry.name in _TUCKED or entry.name.startswith(".")
            self._folder(root, entry.path, depth + 1, tucked=inside)
        elif not stat.S_ISREG(status.st_mode):
            self.odd.append(entry.path)
        elif self._may_say(entry, status.st_size):
            self._counted += 1
            if self._counted > MAX_FILES:
                self._skip(root, "too-many", str(MAX_FILES))
                return
            self._take(File(entry.path, root, status.st_size, tucked=tucked))

    def _may_say(self, entry: os.DirEntry[str], size: int) -> bool:
        """Whether a file is none of data, or bears such a name only."""
        suffix = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 - asked of very many files
        if suffix not in _DATA:
            return True
        if suffix not in _SAVED or not 0 < size <= _LARGEST_RECORD or self._looked >= _MAX_LOOKED:
            return False
        self._looked += 1
        start = File(entry.path, entry.path, size).start(512)
        return any(word in start for word in RECORDED)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key in which rank 2 comes before rank 10."""
    return tuple(
        (0, int(part)) if part.isdecimal() and part.isascii() else (1, part)
        for part in re.split(r"(\d+)", name)
        if part
    )
