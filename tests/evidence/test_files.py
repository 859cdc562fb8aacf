"""Which files are logs, and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from distkb.evidence.artifacts import read_artifacts
from distkb.evidence.inventory import discover, looks_like_log, rank_of
from distkb.evidence.walk import take_stock

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "2026-11-21 10:00:00 INFO step 1\n2026-11-21 10:00:01 INFO step 2\n"


def test_torchrun_tree(tmp_path: Path) -> None:
    """The torchrun launcher's log directory gives local ranks, streams, attempts and error files."""
    for attempt in (0, 1):
        for rank in (0, 1):
            folder = tmp_path / "job_ab12" / f"attempt_{attempt}" / str(rank)
            folder.mkdir(parents=True)
            for name in ("stdout.log", "stderr.log"):
                (folder / name).write_text(TEXT)
    (folder / "error.json").write_text("{}")
    found = discover(take_stock([tmp_path]))
    assert len(found.logs) == 8
    assert {(file.attempt, file.rank, file.stream) for file in found.logs} == {
        (attempt, rank, stream) for attempt in (0, 1) for rank in (0, 1) for stream in ("stdout", "stderr")
    }
    assert [(file.attempt, file.rank) for file in found.error_files] == [(1, 1)]
    assert len({file.group for file in found.logs}) == 1


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.log", 3),
        ("log_rank_3.txt", 3),
        ("worker-3.err", 3),
        ("train_rank12.out", 12),
        ("proc_7.log", 7),
        ("slurm-123.out", None),
        ("crank3.log", None),
        ("train.log", None),
    ],
)
def test_rank_in_name(name: str, rank: int | None) -> None:
    """A name that says the rank in words gives it."""
    assert rank_of(name) == rank


def test_siblings(tmp_path: Path) -> None:
    """Names that differ only in a small number from 0 on are ranks; job numbers are not."""
    for name in ("0.out", "1.out", "0.err", "1.err", "node1-0.log", "node1-1.log", "slurm-90.out", "slurm-91.out"):
        (tmp_path / name).write_text(TEXT)
    ranks = {file.path.name: file.rank for file in discover(take_stock([tmp_path])).logs}
    assert ranks == {
        "0.out": 0, "1.out": 1, "0.err": 0, "1.err": 1, "node1-0.log": 0, "node1-1.log": 1,
        "slurm-90.out": None, "slurm-91.out": None,
    }  # fmt: skip


def test_processes_of_nodes(tmp_path: Path) -> None:
    """A number behind a node's counts its processes: the ranks go on from node to node where all have as many."""
    names = [f"node{node}-{local}.out" for node in range(3) for local in range(2)]
    others: dict[str, int | None] = {"host-1_0.log": 0, "host-1_1.log": 1, "host-2_0.log": None}
    others |= {"run1-0.log": 0, "run1-1.log": 1, "run2-0.log": 0, "run2-1.log": 1}
    for name in (*names, *others):
        (tmp_path / name).write_text(TEXT)
    ranks = {file.path.name: file.rank for file in discover(take_stock([tmp_path])).logs}
    assert ranks == dict(zip(names, range(6), strict=True)) | others


def test_only_logs(tmp_path: Path) -> None:
    """Of a project directory only logs are read; files without a telling name are looked into."""
    for name in ("train.py", "config.yaml", "README.md", "requirements.txt", "a.pt", "metrics.jsonl", ".hidden"):
        (tmp_path / name).write_text(TEXT)
    for name in ("nohup.out", "train.log.1", "console", "old.log.gz", "job.o123", "stderr"):
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "notes").write_text("shopping list\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.log").write_text(TEXT)
    names = {file.path.name for file in discover(take_stock([tmp_path])).logs}
    assert names == {"nohup.out", "train.log.1", "console", "old.log.gz", "job.o123", "stderr"}


def test_named_file_is_always_read(tmp_path: Path) -> None:
    """A file that the user names is read whatever its name."""
    (tmp_path / "notes.md").write_text(TEXT)
    assert [file.path.name for file in discover(take_stock([tmp_path / "notes.md"])).logs] == ["notes.md"]


def test_log_names() -> None:
    """Rotated and packed logs are logs by name."""
    assert looks_like_log("worker.log.2.gz")
    assert looks_like_log("stdout")
    assert not looks_like_log("catalog.py")
    assert not looks_like_log("vocab.txt")


def test_dumps_stacks_and_scripts_are_found_as_deep_as_logs(tmp_path: Path) -> None:
    """One walk serves all readers: what lies six folders down is found whatever it is, and no file is met twice."""
    deep = tmp_path / "a" / "b" / "c" / "d" / "e" / "f"
    deep.mkdir(parents=True)
    (deep / "nccl_trace_rank_0").write_bytes(b"\x80\x04}X\x09\x00\x00\x00pg_configq\x00}s.")
    (deep / "stack_12.txt").write_text('Thread 12 (active): "MainThread"\n    f (a.py:1)\n', encoding="utf-8")
    (deep / "train.py").write_text("import torch\n", encoding="utf-8")
    (deep / "rank0.log").write_text("step 1\n", encoding="utf-8")
    stock = take_stock([tmp_path, deep])
    assert sorted(file.path.name for file in stock.files) == [
        "nccl_trace_rank_0",
        "rank0.log",
        "stack_12.txt",
        "train.py",
    ]
    artifacts = read_artifacts(stock, (), {})
    assert {path.name for path in artifacts.files} == {"nccl_trace_rank_0", "stack_12.txt", "train.py"}
    assert [log.path.name for log in discover(stock, artifacts.not_logs).logs] == ["rank0.log"]
