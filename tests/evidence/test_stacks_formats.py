"""Every form in which stacks are dumped is read into the same frames, and nothing else is taken for one."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from distkb.evidence.readers.stacks import StackReader, find_stacks, read_stacks
from distkb.evidence.readers.stacks.model import Dump
from distkb.evidence.readers.stacks.read_stacks import parse
from distkb.evidence.readers.stacks.who import Who, named, of_name
from distkb.evidence.walk import take_stock

C10D = "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"

SPY = """Process 4242: /venv/bin/python -u train.py --lr 1
Python v3.11.7 (/usr/bin/python3.11)

Thread 4242 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)
    train (train.py:142)
        Arguments:
            model: <DDP at 0x7f>
    <module> (train.py:200)
Thread 4300 (idle): "Thread-1 (pin memory)"
    wait (threading.py:331)
    _bootstrap (threading.py:1002)
"""
FAULT = f"""Thread 0x00007f1a00000700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Current thread 0x00007f1b00000800 (most recent call first):
  File "{C10D}", line 3252 in all_reduce
  File "/job/train.py", line 142 in train
  File "/job/train.py", line 200 in <module>
"""
GDB = f"""[Thread debugging using libthread_db enabled]

Thread 1 (Thread 0x7f1b00000800 (LWP 4242) "python"):
Traceback (most recent call first):
  <built-in method acquire of _thread.lock object at remote 0x7f>
  File "{C10D}", line 3252, in all_reduce
    work.wait()
  File "/job/train.py", line 142, in train
    dist.all_reduce(loss)
  File "/job/train.py", line 200, in <module>
    train()
"""
PRINT = f"""Stack (most recent call last):
  File "/job/train.py", line 200, in <module>
    train()
  File "/job/train.py", line 142, in train
    dist.all_reduce(loss)
  File "{C10D}", line 3252, in all_reduce
    work.wait()
"""
SPY_JSON = json.dumps(
    [
        {
            "pid": 4242,
            "thread_id": 1,
            "thread_name": "MainThread",
            "os_thread_id": 4242,
            "active": False,
            "owns_gil": False,
            "frames": [
                {"name": "all_reduce", "filename": C10D, "line": 3252},
                {"name": "train", "filename": "/job/train.py", "line": 142},
                {"name": "<module>", "filename": "/job/train.py", "line": 200},
            ],
        }
    ],
    indent=2,
)
FORMS = {"spy": SPY, "faulthandler": FAULT, "gdb": GDB, "print-stack": PRINT, "json": SPY_JSON}


def main_frames(dump: Dump) -> list[tuple[str, str, int]]:
    """Return the frames of the thread that trains: function, file's name, line."""
    thread = next(t for t in dump.snapshots[-1] if any(f.function == "train" for f in t.frames))
    return [(f.function, f.path.rpartition("/")[2], f.line) for f in thread.frames if "logger" not in f.path]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_frames(form: str) -> None:
    """The innermost call comes first, with its file and line, whichever tool has dumped it."""
    (dump,) = parse(FORMS[form], "stacks.txt")
    assert main_frames(dump) == [
        ("all_reduce", "distributed_c10d.py", 3252),
        ("train", "train.py", 142),
        ("<module>", "train.py", 200),
    ]
    assert dump.pid == (4242 if form in ("spy", "json") else None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("header", ["== {pid}", "=== Rank {rank}: http://h:1/ ===", "== rank {rank} pid {pid} host n1"])
def test_several_dumps_in_one_file_are_told_apart_by_their_headers(form: str, header: str) -> None:
    """`for pid in …; do echo "== $pid"; py-spy dump …` and torch's debug server write one file for all ranks."""
    text = "\n".join(
        header.format(pid=4242 + rank, rank=rank) + "\n" + FORMS[form].replace("4242", str(4242 + rank))
        for rank in range(3)
    )
    dumps = parse(text, "stacks.txt")
    assert len(dumps) == 3
    if "rank" in header.lower():
        assert [dump.rank for dump in dumps] == [0, 1, 2]
    if "{pid}" in header:
        assert [dump.pid for dump in dumps] == [4242, 4243, 4244]


@pytest.mark.parametrize("prefix", ["[rank{}]: ", "[default{}]:", "{}: ", "2026-01-01 12:00:0{} [rank{}]: "])
def test_ranks_in_one_log_are_told_apart_by_their_prefixes(prefix: str) -> None:
    """Lines of several ranks stand between one another in a launcher's output."""
    ranks = [[prefix.format(rank, rank) + line for line in FAULT.splitlines()] for rank in range(3)]
    mixed = [line for together in zip(*ranks, strict=True) for line in together]
    dumps = parse("\n".join(["step 1 loss 0.5", *mixed, "[rank0]: step 2"]), "train.log")
    assert [dump.rank for dump in dumps] == [0, 1, 2]
    assert all(main_frames(dump)[1] == ("train", "train.py", 142) for dump in dumps)


@pytest.mark.parametrize("quote", ['"', "&#34;"])
def test_a_page_of_torchs_debug_server_is_read(tmp_path: Path, quote: str) -> None:
    """`curl http://HOST:25999/stacks` gives HTML, with or without escapes."""
    one = "<h2>Rank {0}: http://h:4{0}</h2>\n    <pre>" + FAULT.replace('"', quote) + "</pre>\n"
    path = tmp_path / "stacks.html"
    path.write_text("<!doctype html>\n<h1>Stacks</h1>\n" + "".join(one.replace("{0}", str(rank)) for rank in range(2)))
    assert find_stacks([tmp_path]) == [path]
    reading = read_stacks([path])
    assert [o.id for o in reading.observations] == ["stacks.all-in-same-collective"]
    assert reading.observations[0].values["ranks"] == "0, 1"


def test_repeated_dumps_of_one_log_are_separate_moments() -> None:
    """`dump_traceback_later(repeat=True)` prints the stacks again and again."""
    again = "Timeout (0:00:10)!\n" + FAULT.replace("Current thread", "Thread")
    assert len(parse(again * 3, "rank0.log", Who(rank=0))) == 3


def test_an_exception_is_no_stack() -> None:
    """A traceback of an exception says where a rank failed, not where it stands."""
    text = 'Traceback (most recent call last):\n  File "/job/train.py", line 1, in <module>\n    f()\nValueError: x\n'
    assert parse(text, "train.log") == []
    (dump,) = parse(FAULT + text, "train.log")
    assert len(main_frames(dump)) == 3


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("rank3.txt", (3, None)),
        ("stack-4242.txt", (None, 4242)),
        ("rank_3.pid4242.json", (3, 4242)),
        ("local_rank-1.log", (1, None)),
        ("pyspy_17.txt", (None, 17)),
        ("stacks.txt", (None, None)),
    ],
)
def test_a_files_name_says_who_is_meant(name: str, who: tuple[int | None, int | None]) -> None:
    """A rank is told in so many words; a bare number behind the tool's name is a pid."""
    found = of_name(name)
    assert (found.rank, found.pid) == who


def test_a_commands_option_says_the_local_rank() -> None:
    """torch.distributed.launch passed `--local_rank=1` to the script."""
    assert named("/usr/bin/python -u train.py --local_rank=1").rank == 1
    assert named("/usr/bin/python -u train.py --lr 1").rank is None


def test_real_faulthandler_output_is_read(tmp_path: Path) -> None:
    """The interpreter that runs this test dumps its own threads."""
    script = tmp_path / "train.py"
    script.write_text(
        "import faulthandler, threading\n"
        "def other(event):\n    event.wait()\n"
        "def save_checkpoint():\n    faulthandler.dump_traceback()\n"
        "event = threading.Event()\n"
        "thread = threading.Thread(target=other, args=(event,)); thread.start()\n"
        "save_checkpoint(); save_checkpoint(); event.set()\n"
    )
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stderr
    dumps = parse(printed, "rank1.log", Who(rank=1))
    assert len(dumps) == 2
    assert all(len(dump.snapshots[0]) == 2 and dump.rank == 1 for dump in dumps)


def test_stacks_are_found_among_other_files(tmp_path: Path) -> None:
    """By their bytes, not by their names alone; a FIFO is never opened and a log without stacks stays a log."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank0.log").write_text("step 1\n" * 20_000 + FAULT)
    (tmp_path / "logs" / "rank1.log").write_text("step 1\n" * 20_000)
    (tmp_path / "stacks.4242").write_text(SPY)
    (tmp_path / "spy.json").write_text(SPY_JSON)
    (tmp_path / "config.json").write_text('{"train_batch_size": 8}')
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 100)
    os.mkfifo(tmp_path / "stacks.txt")
    found = {path.name for path in find_stacks([tmp_path])}
    assert found == {"rank0.log", "stacks.4242", "spy.json"}
    files = [file for file in take_stock([tmp_path]).files if file.path.name in found]
    only = {file.path.name for file in files if StackReader().nothing_else(file)}
    assert only == {"stacks.4242", "spy.json"}
    assert read_stacks(sorted(find_stacks([tmp_path]))).facts["stacks"]["ranks"] == 2


@pytest.mark.parametrize(
    ("content", "code"), [(b"", "empty"), (b"\x7fELF" + bytes(range(256)), "binary"), (b"hello\n", "no-stacks")]
)
def test_foreign_files_get_one_clear_word(tmp_path: Path, content: bytes, code: str) -> None:
    """Empty, binary and other text are skipped with their reason, and so is what is not there."""
    path = tmp_path / "stacks.txt"
    path.write_bytes(content)
    reading = read_stacks([path, tmp_path / "gone.txt"])
    assert [skipped.code for skipped in reading.skipped] == [code, "missing"]
    assert reading.observations == ()


@pytest.mark.parametrize("form", FORMS)
def test_damaged_text_never_raises(form: str, tmp_path: Path) -> None:
    """Cut, doubled, shuffled and overwritten dumps give some dumps or none."""
    chance = random.Random(form)
    text = FORMS[form]
    path = tmp_path / "rank0.txt"
    for _ in range(150):
        letters = list(text)
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(len(letters))
            letters[at : at + chance.randrange(0, 9)] = chance.choice(
                [
                    '"',
                    "(",
                    ")",
                    ":",
                    "\x1b[31m",
                    "\u202e",
                    "Thread ",
                    'File "',
                    "9" * 30,
                    "{",
                    "[",
                    "null",
                    "\n",
                    "  ",
                    "\0",
                ]
            )
        path.write_text("".join(letters), errors="replace")
        reading = read_stacks([path])
        for observation in reading.observations:
            shown = [*observation.values.values(), *(quote.text + str(quote.path) for quote in observation.quotes)]
            assert not any("\x1b" in word or "\u202e" in word for word in shown)


def test_hostile_lines_take_no_time() -> None:
    """Very long lines, thousands of headers and deep JSON are read in bounded time."""
    assert parse('File "' * 200_000, "x") == []
    assert parse("Thread " + "(" * 500_000, "x") == []
    assert parse('[{"pid": 1, "frames": ' + "[" * 50_000, "x") == []
    assert parse("=== " + "= " * 200_000 + "\n" + "== 1\n" * 20_000, "x") == []
    many = parse(FAULT * 500, "x")
    assert len(many) == 500
