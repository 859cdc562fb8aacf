"""Which files under the given paths are logs, and which rank wrote each."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.observation import Skipped
from distkb.evidence.readers.probe_answers import HEAD_BYTES, is_probe_document
from distkb.evidence.text.opening import UnreadableError, is_binary, open_regular, reason

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MAX_DEPTH = 12
"""Directory levels below a given path."""
MAX_FILES = 20_000
"""Files looked at in one call."""
_SNIFF = 8192
"""Bytes read to tell a log from other text."""

Stream = Literal["stdout", "stderr", ""]


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file to read."""

    path: Path
    name: str
    """As the user named it: the given path, plus the way down from it."""
    rank: int | None = None
    """From its name or directory: the global rank, or torchrun's local rank."""
    local: bool = False
    """True where `rank` is torchrun's local rank."""
    group: str = ""
    """Files of one launch on one machine share it."""
    attempt: int | None = None
    """torchrun's restart count."""
    stream: Stream = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be read."""

    logs: tuple[LogFile, ...] = ()
    error_files: tuple[LogFile, ...] = ()
    """torchrun's error.json files."""
    documents: tuple[LogFile, ...] = ()
    """Answers of probes, saved as JSON."""
    skipped: tuple[Skipped, ...] = ()


_ELASTIC = re.compile(
    r"^(?P<group>.*?)/?attempt_(?P<attempt>\d{1,6})/(?P<rank>\d{1,6})/(?P<file>stdout\.log|stderr\.log|error\.json)(?:\.gz)?$"
)
_NAMED_RANK = re.compile(
    r"(?i)(?:^|[^a-z])(?:global_?|local_?)?(?:rank|worker|proc|process|task|gpu)[_.=-]?(\d{1,5})(?!\d)"
)
_LAST_NUMBER = re.compile(r"^(.*?)(\d{1,5})((?:\.(?:log|txt|out|err|stdout|stderr|gz|bz2|xz))*)$", re.IGNORECASE)
_JOB_NUMBER = re.compile(r"(?i)slurm-\d+(?:_\d+)?(?:\.(?:out|err))?$")
_STREAM = re.compile(r"(?i)(?:^|[^a-z])(?:std)?(out|err)(?:or)?(?:[^a-z]|$)")

_LOG_SUFFIXES = frozenset({".log", ".txt", ".out", ".err", ".stdout", ".stderr", ".console", ".output"})
_PACKED = frozenset({".gz", ".bz2", ".xz"})
_OTHER_SUFFIXES = frozenset({
    ".py", ".pyc", ".pyi", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".so", ".a", ".o",
    ".rs", ".go", ".js", ".ts", ".css", ".html", ".htm", ".svg", ".md", ".rst", ".json", ".jsonl", ".yaml",
    ".yml", ".toml", ".ini", ".cfg", ".lock", ".csv", ".tsv", ".parquet", ".arrow", ".npy", ".npz", ".pt",
    ".pth", ".bin", ".ckpt", ".safetensors", ".pkl", ".pickle", ".h5", ".hdf5", ".onnx", ".model", ".png",
    ".jpg", ".jpeg", ".gif", ".webp", ".mp4", ".wav", ".mp3", ".pdf", ".zip", ".tar", ".tgz", ".7z", ".whl",
    ".db", ".sqlite", ".lmdb", ".idx", ".sh", ".bash", ".slurm", ".sbatch", ".bat", ".ps1", ".patch",
    ".diff", ".xml", ".proto", ".tex", ".sym", ".wandb", ".tfevents", ".qdrep", ".nsys-rep", ".distcp",
    ".metadata", ".example", ".sample",
})  # fmt: skip
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
SOURCE_PRUNED = PRUNED | {"wandb", "checkpoints"}
"""Folders without a script or a configuration that a person wrote."""
_LOG_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:std)?(?:log|logs|out|err|stdout|stderr|output|console|trace|nohup)(?:[^a-z]|$)"
)
_TEXT_NAMES = re.compile(
    r"(?i)^(?:requirements|constraints|license|licence|readme|vocab|merges|notice|authors|cmakelists)"
)
_LOG_CONTENT = re.compile(
    rb"Traceback \(most recent|\d\d:\d\d:\d\d|\[rank\d+\]|NCCL (?:INFO|WARN)|\b(?:INFO|WARNING|ERROR|DEBUG)\b"
    rb"|(?i:\bstep\b|\bepoch\b|error:)"
)


def discover(paths: Sequence[Path], others: Collection[Path] = ()) -> Found:
    """Find the logs under the given paths; `others` are files of another kind, whose readers are elsewhere.

    A path that cannot be read, or a directory without logs, becomes a `Skipped`; the others are still found.
    A file that is named itself is always read if it is text. FIFOs, sockets and devices are never opened.
    """
    finder = _Finder(frozenset(str(path) for path in others))
    for path in paths:
        finder.add(path)
    return Found(
        logs=tuple(with_sibling_ranks(finder.logs)),
        error_files=tuple(finder.errors),
        documents=tuple(finder.documents),
        skipped=tuple(finder.skipped),
    )


class _Finder:
    """Walks the given paths and remembers what it saw."""

    def __init__(self, others: frozenset[str]) -> None:
        self._others = others
        self.logs: list[LogFile] = []
        self.errors: list[LogFile] = []
        self.documents: list[LogFile] = []
        self.skipped: list[Skipped] = []
        self._seen: set[tuple[int, int]] = set()
        self._files = 0

    def skip(self, path: str, code: str, detail: str = "") -> None:
        self.skipped.append(Skipped(path=path, code=code, detail=detail))

    def add(self, path: Path) -> None:
        """Take one path as the user gave it."""
        name = str(path)
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            self.skip(name, *reason(error))
            return
        if stat.S_ISDIR(status.st_mode):
            before = self._taken(), len(self.skipped)
            self._walk(name, name, depth=0)
            if (self._taken(), len(self.skipped)) == before:
                self.skip(name, "no-logs")
        elif not stat.S_ISREG(status.st_mode):
            self.skip(name, "not-a-file")
        else:
            self._take(name, explicit=True)

    def _taken(self) -> int:
        return len(self.logs) + len(self.errors) + len(self.documents)

    def _walk(self, root: str, directory: str, depth: int) -> None:
        try:
            status = Path(directory).stat()
            if (status.st_dev, status.st_ino) in self._seen:
                return
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(directory) as entries:
                listing = sorted(entries, key=lambda entry: natural(entry.name))
        except OSError as error:
            self.skip(directory, *reason(error))
            return
        for entry in listing:
            self._entry(root, entry, depth)

    def _entry(self, root: str, entry: os.DirEntry[str], depth: int) -> None:
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            code, detail = reason(error)
            if code != "missing":  # a dangling link is no log
                self.skip(entry.path, code, detail)
            return
        if stat.S_ISDIR(mode):
            if entry.name in PRUNED:
                return
            if depth >= MAX_DEPTH:
                self.skip(entry.path, "too-deep")
                return
            self._walk(root, entry.path, depth + 1)
        elif stat.S_ISREG(mode):
            self._files += 1
            if self._files == MAX_FILES + 1:
                self.skip(root, "too-many", str(MAX_FILES))
            if self._files <= MAX_FILES:
                self._take(entry.path, explicit=False)
        elif looks_like_log(entry.name):
            self.skip(entry.path, "not-a-file")

    def _take(self, path: str, *, explicit: bool) -> None:
        if path in self._others:
            return
        if (elastic := _ELASTIC.match(path.replace(os.sep, "/"))) is not None:
            file = LogFile(
                path=Path(path), name=path, rank=int(elastic["rank"]), local=True, group=elastic["group"],
                attempt=int(elastic["attempt"]), stream=stream_of(elastic["file"]),
            )  # fmt: skip
            (self.errors if elastic["file"] == "error.json" else self.logs).append(file)
            return
        name = path.replace(os.sep, "/").rpartition("/")[2]
        if name.lower().endswith(".json") and is_probe_document(_head(path, HEAD_BYTES)):
            self.documents.append(LogFile(path=Path(path), name=path))
            return
        if not explicit and not looks_like_log(name) and (_is_other(name) or not _reads_like_log(path)):
            return
        self.logs.append(
            LogFile(
                path=Path(path), name=path, rank=rank_of(name), group=str(Path(path).parent), stream=stream_of(name)
            )
        )


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key in which rank 2 comes before rank 10."""
    return tuple(
        (0, int(part)) if part.isdecimal() and part.isascii() else (1, part)
        for part in re.split(r"(\d+)", name)
        if part
    )


def looks_like_log(name: str) -> bool:
    """Whether the name alone says that the file is a log."""
    path = PurePath(name.lower())
    while path.suffix in _PACKED or (path.suffix[1:].isdecimal() and "." in path.stem):
        path = path.with_suffix("")
    suffix = path.suffix
    if suffix == ".txt" and _TEXT_NAMES.match(name):
        return False
    return suffix in _LOG_SUFFIXES or (suffix not in _OTHER_SUFFIXES and _LOG_NAME.search(name) is not None)


def _is_other(name: str) -> bool:
    lowered = name.lower()
    suffixes = ["." + part for part in lowered.split(".")[1:]]
    return (
        any(suffix in _OTHER_SUFFIXES for suffix in suffixes) or bool(_TEXT_NAMES.match(name)) or name.startswith(".")
    )


def _reads_like_log(path: str) -> bool:
    """Whether a file with a name that says nothing holds what looks like program output."""
    start = _head(path, _SNIFF)
    return bool(start) and not is_binary(start) and len(_LOG_CONTENT.findall(start)) >= 2


def _head(path: str, size: int) -> bytes:
    """Return the first bytes of a file; none where it cannot be read, which the reader will say."""
    try:
        with open_regular(path) as raw:
            return os.read(raw.fileno(), size)
    except (OSError, UnreadableError):
        return b""


def stream_of(name: str) -> Stream:
    """Standard stream that a file's name says it holds."""
    found = _STREAM.search(name.removesuffix(".gz"))
    if found is None or name.lower().endswith(".out"):
        return ""
    return "stdout" if found[1].lower() == "out" else "stderr"


def rank_of(name: str) -> int | None:
    """Rank that a file's name states in so many words."""
    found = _NAMED_RANK.search(name)
    return int(found[1]) if found else None


def with_sibling_ranks(logs: Sequence[LogFile]) -> list[LogFile]:
    """Give ranks to files such as `0.out`, `1.out` that differ in one small number from their siblings."""
    families: dict[tuple[str, str], dict[int, list[int]]] = {}
    for index, file in enumerate(logs):
        name = file.path.name
        if file.rank is not None or _JOB_NUMBER.search(name) or (split := _LAST_NUMBER.match(name)) is None:
            continue
        families.setdefault((file.group, split[1]), {}).setdefault(int(split[2]), []).append(index)
    ranked = list(logs)
    for members in families.values():
        numbers = sorted(members)
        if len(numbers) >= 2 and numbers == list(range(len(numbers))):
            for number, indices in members.items():
                for index in indices:
                    ranked[index] = msgspec.structs.replace(logs[index], rank=number)
    return ranked
