"""Which files under the given paths are logs, and which rank wrote each."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.guarded import guarded
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.probe_answers import HEAD_BYTES, is_probe_document
from distkb.evidence.text.opening import is_binary
from distkb.evidence.text.tables import TABLE, columns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from distkb.evidence.walk import File, Stock

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
_NODE = re.compile(r"(?i)(.{0,80}?(?:node|host|machine|server)s?[-_]?)(\d{1,5})(\D{0,20})$")
"""What stands before the number of a process where it counts those of one node."""
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

_RECORDS = (".jsonl", ".ndjson")
_MEASURED = re.compile(rb'(?m)^\{[^\n]{0,400}?"(?:\w{0,20}step|epoch|iter(?:ation)?|(?:\w{1,20}[_/])?loss|lr)": ?-?\d')
"""A record that counts the training or measures it, which an example of a data set does not."""


def discover(stock: Stock, others: Collection[Path] = ()) -> Found:
    """Find the logs in what was given; `others` are files of another kind, whose readers are elsewhere.

    A path that cannot be read, or a directory without logs, becomes a `Skipped`; the others are still found.
    A file that is named itself is always read if it is text. FIFOs, sockets and devices are never opened.
    """
    logs: list[LogFile] = []
    errors: list[LogFile] = []
    documents: list[LogFile] = []
    failed: list[Skipped] = []
    filled: set[str] = set()
    for file in stock.files:
        if file.path in others:
            continue
        found = guarded(partial(_classified, file), file.name, failed)
        if found is not None:
            kind, log = found
            {"log": logs, "error": errors, "document": documents}[kind].append(log)
            filled.add(file.root)
        file.forget()
    odd = (Skipped(path=path, code="not-a-file") for path in stock.odd if looks_like_log(PurePath(path).name))
    skipped = [*stock.skipped, *failed, *odd]
    skipped += [
        Skipped(path=folder, code="no-logs")
        for folder in stock.folders
        if folder not in filled and not any(one.path.startswith(folder) for one in skipped)
    ]
    return Found(
        logs=tuple(with_sibling_ranks(logs)),
        error_files=tuple(errors),
        documents=tuple(documents),
        skipped=tuple(skipped),
    )


def _classified(file: File) -> tuple[Literal["log", "error", "document"], LogFile] | None:
    """What one file is; None where it is nothing to read."""
    path = file.name
    if (elastic := _ELASTIC.match(path.replace(os.sep, "/"))) is not None:
        log = LogFile(
            path=file.path, name=path, rank=int(elastic["rank"]), local=True, group=elastic["group"],
            attempt=int(elastic["attempt"]), stream=stream_of(elastic["file"]),
        )  # fmt: skip
        return ("error" if elastic["file"] == "error.json" else "log"), log
    name = file.path.name
    if name.lower().endswith(".json") and is_probe_document(file.start(HEAD_BYTES)):
        return "document", LogFile(path=file.path, name=path)
    measures = name.lower().endswith(TABLE) and bool(columns(file.start(HEAD_BYTES)))
    measures |= name.lower().endswith(_RECORDS) and len(_MEASURED.findall(file.start(_SNIFF))) > 1
    if not (file.given or measures or looks_like_log(name)) and (_is_other(name) or not _reads_like_log(file)):
        return None
    group = str(file.path.parent)
    return "log", LogFile(path=file.path, name=path, rank=rank_of(name), group=group, stream=stream_of(name))


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


def _reads_like_log(file: File) -> bool:
    """Whether a file with a name that says nothing holds what looks like program output."""
    start = file.start(_SNIFF)
    return bool(start) and not is_binary(start) and len(_LOG_CONTENT.findall(start)) >= 2


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


def without_rank(name: str) -> str:
    """Return a file's name with `#` in place of the rank that it states."""
    found = _NAMED_RANK.search(name)
    return f"{name[: found.start(1)]}#{name[found.end(1) :]}" if found else name


def with_sibling_ranks(logs: Sequence[LogFile]) -> list[LogFile]:
    """Give ranks to files such as `0.out`, `1.out` that differ in one small number from their siblings."""
    families: dict[tuple[str, str], dict[int, list[int]]] = {}
    for index, file in enumerate(logs):
        name = file.path.name
        if file.rank is not None or _JOB_NUMBER.search(name) or (split := _LAST_NUMBER.match(name)) is None:
            continue
        families.setdefault((file.group, split[1]), {}).setdefault(int(split[2]), []).append(index)
    ranked = list(logs)
    numbered = {key: files for key, files in families.items() if sorted(files) == [*range(len(files))] != [0]}
    before = _ranks_before(numbered)
    for key, members in numbered.items():
        for number, indices in members.items():
            for index in indices:
                ranked[index] = msgspec.structs.replace(logs[index], rank=before.get(key, 0) + number)
    return ranked


def _ranks_before(families: Mapping[tuple[str, str], Mapping[int, list[int]]]) -> dict[tuple[str, str], int]:
    """Return how many ranks come before those of each node, where names count nodes and the processes of each.

    The number behind `node1-` counts the processes of that node only; all nodes must have as many.
    """
    nodes: dict[tuple[str, str, str], dict[int, tuple[str, str]]] = {}
    for group, name in families:
        found = _NODE.match(name)
        if found is not None:
            nodes.setdefault((group, found[1], found[3]), {})[int(found[2])] = (group, name)
    before: dict[tuple[str, str], int] = {}
    for keys in nodes.values():
        sizes = {len(families[key]) for key in keys.values()}
        if len(sizes) == 1:
            size = sizes.pop()
            before.update({keys[node]: place * size for place, node in enumerate(sorted(keys))})
    return before
