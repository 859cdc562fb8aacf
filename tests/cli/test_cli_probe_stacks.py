"""`distkb probe stacks PATH…` reads dumps, answers with an exit code, and says what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

from cli_calls import invoke

DUMP = """== rank {rank}
Process 4{rank}: python train.py
Thread 4{rank} (idle): "MainThread"
    {call} (torch/distributed/distributed_c10d.py:3252)
    train (train.py:{line})
    <module> (train.py:200)
"""


def write(directory: Path, *calls: tuple[str, int]) -> Path:
    """Write one file with a dump for every rank."""
    path = directory / "stacks.txt"
    path.write_text("\n".join(DUMP.format(rank=rank, call=call, line=line) for rank, (call, line) in enumerate(calls)))
    return path


def test_dumps_of_a_hang_end_in_findings(tmp_path: Path) -> None:
    """Nothing is started for them, and the answer is that of a live probe."""
    path = write(tmp_path, ("barrier", 60), ("all_reduce", 142), ("all_reduce", 142))
    answer = invoke("probe", "stacks", str(tmp_path), "--json")
    document = json.loads(answer.stdout)
    assert answer.exit_code == 1
    assert document["interpreter"] is None
    assert {"stacks.one-rank-elsewhere", "stacks.rank-in-barrier"} <= {f["id"] for f in document["findings"]}
    assert "stacks.all-in-same-collective" in document["clear"]
    text = invoke("probe", "stacks", str(path)).stdout
    assert "2 ranks are in all_reduce at train.py:142; rank 0 is in barrier at train.py:60" in text.replace("\n", " ")


def test_the_screen_speaks_korean(tmp_path: Path) -> None:
    """The same places, in the other language."""
    write(tmp_path, ("barrier", 60), ("all_reduce", 142), ("all_reduce", 142))
    text = invoke("probe", "stacks", str(tmp_path), "--lang", "ko").stdout
    assert "랭크 2개는 train.py:142의 all_reduce; 랭크 0은 train.py:60의 barrier" in text.replace("\n", " ")


def test_what_is_no_dump_is_one_line_and_wrong_usage(tmp_path: Path) -> None:
    """Missing, empty and foreign paths end with exit code 2 and without a traceback."""
    (tmp_path / "notes.txt").write_text("nothing here\n")
    for path in (tmp_path / "gone", tmp_path, tmp_path / "notes.txt"):
        answer = invoke("probe", "stacks", str(path))
        assert answer.exit_code == 2
        assert "Traceback" not in answer.stderr
        assert str(path) in answer.stderr
