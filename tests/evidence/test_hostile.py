"""Hostile and broken input: each ends with a line, in good time, and the rest is read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from evidence_samples import DATA, SIGNATURES, by_id, read

from distkb.catalogue.effort import ROW
from distkb.evidence import artifacts
from distkb.evidence.artifact import ArtifactReading, careful
from distkb.evidence.guarded import guarded, guarded_together
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.configs import read_configs
from distkb.evidence.readers.error_files import parse_error_file, parse_table
from distkb.evidence.readers.flight_recorder import read_flight_recorder
from distkb.evidence.readers.probe_answers import read_document
from distkb.evidence.readers.report.report_reader import MAX_CHARACTERS, ReportReader, take_apart
from distkb.evidence.readers.scripts import read_scripts
from distkb.evidence.readers.stacks import read_stacks
from distkb.evidence.readers.stacks.stacks_reader import parse
from distkb.evidence.readers.traces import read_traces
from distkb.evidence.text.opening import open_text
from distkb.evidence.text.patience import Patience
from distkb.evidence.text.ranks import MOST_RANKS
from distkb.evidence.text.unpacking import FREE, LARGE
from distkb.evidence.walk import take_stock
from distkb.probing.allowed import comments_in

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent / "flight_recorder"))
from recorder_dumps import dump, entry, torch_pickle  # noqa: E402

GOOD = "step 1\nRuntimeError: Timed out waiting 5000ms for recv operation to complete\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def _skips(*paths: Path) -> dict[str, str]:
    """Codes by file name, read beside a good log that must come through."""
    evidence = read(*paths, DATA / "barrier.mixed.log")
    assert "gloo.timeout" in by_id(evidence)
    return {Path(skipped.path).name: skipped.code for skipped in evidence.skipped}


# ---- unpacking


@pytest.mark.parametrize("suffix", PACKERS)
def test_damage_never_ends_the_program(tmp_path: Path, suffix: str) -> None:
    """Whatever byte is damaged, a process reads the file to there and lives: bz2 that is used again corrupts memory."""
    source = random.Random(suffix)
    text = "".join(f"loss {source.random()}\n" for _ in range(20_000)).encode()
    whole = PACKERS[suffix](text)
    for number in range(12):
        data = bytearray(whole)
        for _ in range(3):
            data[source.randrange(16, len(data))] ^= 1 << source.randrange(8)
        (tmp_path / f"rank{number}.log.{suffix}").write_bytes(data)
    code = "import sys, pathlib, evidence_samples as e; print(len(e.read(pathlib.Path(sys.argv[1])).skipped))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_pieces_put_together_are_one_log(tmp_path: Path, suffix: str) -> None:
    """Several streams in one file, with padding behind the last, are read as one, and nothing is reported."""
    pack = PACKERS[suffix]
    padding = b"\0" * 512 if suffix != "bz2" else b""
    (tmp_path / f"rank0.log.{suffix}").write_bytes(pack(b"step 0\n") + pack(b"") + pack(GOOD.encode()) + padding)
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].quotes[0].line == 3
    assert evidence.skipped == ()


def test_what_was_unpacked_before_the_damage_is_read(tmp_path: Path) -> None:
    """A flipped byte late in a packed log costs what comes after it."""
    data = bytearray(gzip.compress(GOOD.encode() + random.Random(1).randbytes(60_000).hex().encode()))
    data[-20_000] ^= 0xFF
    (tmp_path / "rank0.log.gz").write_bytes(data)
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].quotes[0].line == 2
    assert [skipped.code for skipped in evidence.skipped] == ["bad-gzip"]


@pytest.mark.slow
@pytest.mark.parametrize(("level", "most"), [(9, FREE), (1, LARGE)])
def test_a_bomb_ends_with_a_line(tmp_path: Path, level: int, most: int) -> None:
    """A few megabytes that unpack to gigabytes are read to the bound, and said, packed well or as fast as can be."""
    packer = zlib.compressobj(level, wbits=31)
    zeros = bytes(1 << 24)
    with (tmp_path / "bomb.log.gz").open("wb") as file:
        file.write(packer.compress(GOOD.encode()))
        for _ in range(128):
            file.write(packer.compress(zeros))
        file.write(packer.flush())
    evidence = read(tmp_path)
    assert [skipped.code for skipped in evidence.skipped] == ["too-packed"]
    assert by_id(evidence)["gloo.timeout"].quotes[0].line == 2
    assert evidence.bytes_read <= most + (2 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes")
def test_holes_are_not_read(tmp_path: Path) -> None:
    """Of a file of 50 GB that was hardly written, what was written is read, and what was not is said."""
    with (tmp_path / "rank0.log").open("wb") as file:
        file.write(b"start\n")
        file.truncate(50 << 30)
        file.seek(0, os.SEEK_END)
        file.write(GOOD.encode())
    with (tmp_path / "hole.log").open("wb") as file:
        file.truncate(50 << 30)
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].count == 1
    assert {Path(s.path).name: s.code for s in evidence.skipped} == {"rank0.log": "holes", "hole.log": "holes"}


def test_nothing_but_nuls_is_said_and_costs_nothing(tmp_path: Path) -> None:
    """A hole that was copied is written in full: it is passed over at the speed of reading, and noted."""
    (tmp_path / "nul.log").write_bytes(bytes(1 << 26))
    began = time.process_time()
    evidence = read(tmp_path / "nul.log", DATA / "barrier.mixed.log")
    assert time.process_time() - began < 1.5
    assert [Path(skipped.path).name for skipped in evidence.skipped if skipped.code == "holes"] == ["nul.log"]
    assert "gloo.timeout" in by_id(evidence)
    assert evidence.bytes_read == (DATA / "barrier.mixed.log").stat().st_size


def test_a_whole_log_is_whatever_it_was(tmp_path: Path) -> None:
    """A plain log is read from the file itself, which a second process may share."""
    path = tmp_path / "x.log"
    path.write_text(GOOD)
    raw, reader = open_text(path)
    with raw:
        assert reader is raw


# ---- one reader's failure


def test_one_bad_file_of_each_kind_is_one_note(tmp_path: Path) -> None:
    """A broken archive, an error.json and a saved answer that are no UTF-8: the logs beside them are diagnosed."""
    broken = bytearray(lzma.compress(random.Random(3).randbytes(4000).hex().encode()))
    broken[40:60] = b"\xff" * 20
    (tmp_path / "rank7.log.xz").write_bytes(broken)
    (tmp_path / "probe.json").write_bytes(b'{"schema": "distkb.probe/1", "found": [{"id": "\xff"}]}')
    error = tmp_path / "attempt_0" / "0" / "error.json"
    error.parent.mkdir(parents=True)
    error.write_bytes(b'{"message": "\xff"}')
    (tmp_path / "rank0.log").write_text(GOOD)
    codes = _skips(tmp_path)
    assert codes["rank7.log.xz"] == "bad-gzip"
    assert codes["probe.json"] == "bad-document"
    assert parse_error_file(b'{"message": "\xff"}') is None
    assert read_document(b"[" * 100_000) is None


@pytest.mark.parametrize(
    "error", [ValueError("x"), MemoryError(), RecursionError("deep"), lzma.LZMAError("bad"), KeyError(3)]
)
def test_whatever_a_reader_raises_is_a_note(error: Exception) -> None:
    """The note names the file and the kind of the error; nothing is raised."""
    skipped: list[Skipped] = []

    def fail() -> int:
        raise error

    assert guarded(fail, "x.log", skipped) is None
    assert [(s.path, s.code) for s in skipped] == [("x.log", "failed")]
    assert type(error).__name__ in skipped[0].detail


def test_only_the_file_that_fails_is_left_out() -> None:
    """Of several files that are read together, those with which the reader fails are named, and the others are read."""
    skipped: list[Skipped] = []

    def total(items: object) -> int:
        numbers = list(items)  # type: ignore[call-overload]
        if 13 in numbers:
            raise ValueError("unlucky")
        return sum(numbers)

    assert guarded_together(total, [1, 13, 2, 13, 4], str, skipped) == 7
    assert [s.path for s in skipped] == ["13", "13"]
    assert guarded_together(lambda items: 1 // (5 - len(items)), [1, 2, 3, 4, 5], str, skipped) is None
    assert len(skipped) == 3


def test_a_kind_whose_reader_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of stacks that raises on anything costs the stacks; the scripts beside them are read."""
    (tmp_path / "stack-1.txt").write_text('Thread 1 (active): "MainThread"\n    f (a.py:1)\n')
    (tmp_path / "train.py").write_text("import torch.distributed as dist\ndist.init_process_group()\n")

    def fail(_paths: object) -> ArtifactReading:
        raise OSError("gone")

    monkeypatch.setattr("distkb.evidence.readers.stacks.stacks_reader.read_stacks", fail)
    found = artifacts.read_artifacts(take_stock([tmp_path]), (), {})
    assert [s.code for s in found.skipped() if s.code == "failed"] == ["failed"]
    assert tmp_path / "train.py" in found.files


# ---- readers of dumps and stacks


def test_a_file_on_which_a_reader_fails_is_one_note_whoever_reads_it() -> None:
    """Also for a command of that reader alone, and for `check`."""

    @careful
    def read_odd(paths: Sequence[Path], odd: str) -> ArtifactReading:
        if any(path.name == odd for path in paths):
            raise ZeroDivisionError
        return ArtifactReading(facts={"read": len(paths)})

    reading = read_odd([Path("a"), Path("b"), Path("c")], "b")
    assert reading.facts == {"read": 2}
    assert [(one.path, one.code) for one in reading.skipped] == [("b", "failed")]
    assert read_odd([Path("b")], odd="b").facts == {}
    assert all(
        hasattr(read, "__wrapped__")
        for read in (read_configs, read_flight_recorder, read_scripts, read_stacks, read_traces)
    )


def test_a_world_of_which_hardly_anything_is_known_is_not_listed(tmp_path: Path) -> None:
    """What a log says of its world is believed, but not written out rank by rank."""
    (tmp_path / "rank0.log").write_text("rank 0 of 90000: world_size=90000\n" + GOOD)
    assert len(read(tmp_path).ranks) < 10
    (tmp_path / "rank0.log").write_text("rank 0 of 900: world_size=900\n" + GOOD)
    assert len(read(tmp_path).ranks) == 900


def test_a_number_in_place_of_a_rank_costs_nothing(tmp_path: Path) -> None:
    """Numbers before messages that are no ranks are not enumerated."""
    lines = ["[0] a", "[1] b", "[999999999] c", "[0] d", "[1] e", "[999999999] f", "[0] g"]
    (tmp_path / "run.log").write_text("\n".join(lines * 3) + "\n")
    assert read(tmp_path).bytes_read > 0


def test_a_huge_file_of_a_repository_is_not_read_for_its_comments(tmp_path: Path) -> None:
    """What `check` looks for comments in is read to a bound, a pipe not at all."""
    os.mkfifo(tmp_path / "pipe.py")
    with (tmp_path / "big.py").open("wb") as file:
        file.write(b"# distkb: ignore[D1] known\n")
        file.truncate(1 << 36)
    assert [one.reason for one in comments_in([tmp_path / "pipe.py", tmp_path / "big.py"])] == ["known"]


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _dump(version: bytes = b"X\x04\x00\x00\x002.10", entry: bytes = b"") -> bytes:
    entries = _text("entries") + b"](" + entry + b"e"
    return b"\x80\x04}(" + entries + _text("version") + version + _text("pg_config") + b"}u."


def test_nested_references_cost_nothing(tmp_path: Path) -> None:
    """A version of lists in lists, each ten times the one before, is not written out: a dump's version is a text."""
    levels = [b"](" + (b"h" + bytes([level])) * 10 + b"e\x94" for level in range(60)]
    laughs = b"0".join([b"]\x94", *levels])
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(_dump(laughs))
    reading = read_flight_recorder([path])
    assert reading.facts["versions"] == ["?"]


@pytest.mark.parametrize(
    "entry",
    [
        b"}(" + b"".join(b"J" + struct.pack("<i", n) + b"K\x01" for n in range(60_000)) + b"u" + b"\x94" * 60_000,
        b"}("
        + b"".join(_text(name) + b"N" for name in ("record_id", "profiling_name", "process_group"))
        + b"u"
        + b"".join(b"J" + struct.pack("<i", n) + b"Ns" for n in range(150_000)),
    ],
    ids=["memo", "items"],
)
def test_large_dicts_of_a_dump_are_read_in_linear_time(tmp_path: Path, entry: bytes) -> None:
    """A dict that is remembered again and again, or made item by item: quadratic, these would outlast the test."""
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(_dump(entry=entry))
    assert not read_flight_recorder([path]).skipped


def test_shapes_that_entries_share_are_read_once(tmp_path: Path) -> None:
    """One list of 4,000 shapes in 10,000 entries."""
    head = b"".join(
        (_text("profiling_name"), _text("nccl:all_reduce"), _text("process_group"), _text("0"), _text("d"), b"\x86")
    )
    shapes = b"]q\x20(" + b"](K\x01K\x02e" * 4000 + b"e"
    entry = b"".join(
        b"}(" + head + _text("input_sizes") + (b"h\x20" if n else shapes) + _text("x") + b"Nu" for n in range(10_000)
    )
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(_dump(entry=entry))
    assert read_flight_recorder([path]).facts["entries"] == 10_000


@pytest.mark.parametrize("name", ["input_sizes", "output_dtypes", "frames"])
def test_what_entries_share_is_compared_once(tmp_path: Path, name: str) -> None:
    """One list of 4,000 dtypes, shapes or frames in 90,000 entries that stand alone: item by item it takes minutes."""
    item = {
        "input_sizes": b"](K\x01K\x02e",
        "output_dtypes": _text("Float"),
        "frames": b"}" + _text("filename") + _text("/" * 390) + b"s",
    }[name]
    path = tmp_path / "nccl_trace_rank_0"
    shared = _text(name) + b"q\x010](" + item * 4000 + b"eq\x020"
    path.write_bytes(_dump(entry=shared + b"}(h\x01h\x02u" * 90_000))
    assert read_flight_recorder([path]).facts["entries"] == 90_000


def test_a_list_without_an_end_costs_its_length(tmp_path: Path) -> None:
    """References in the place of a frame list that is never closed, behind entries whose layout is known."""
    data = torch_pickle(dump([entry(seq=number) for number in range(1, 6)], {"0": ("default_pg", [0, 1])}))
    at = data.rfind(b"](h")
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(data[:at] + b"](" + b"hh" * 200_000 + b"N" + data[at + 2 :])
    assert [skipped.code for skipped in read_flight_recorder([path]).skipped] == ["damaged-dump"]


def test_entries_larger_than_a_window_are_read_once(tmp_path: Path) -> None:
    """Of 60 entries with 100 KB of shapes each none is cut up again for each one before it."""
    sizes = [[4] * 12_000] * 2
    made = [entry(seq=number, record=number, sizes=sizes) for number in range(1, 61)]
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(torch_pickle(dump(made, {"0": ("default_pg", [0])})))
    assert path.stat().st_size > 5 << 20
    assert read_flight_recorder([path]).facts["entries"] == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"N0" * 8_000_000,
        b"](" + b"N" * 900_000 + b"e" + (b"(" + b"N" * 900_000 + b"e") * 6,
        b"U\x02abq\xff0" * 1_400_000,
    ],
    ids=["nothing", "values", "texts"],
)
def test_more_than_a_dump_holds_is_said(tmp_path: Path, data: bytes) -> None:
    """Millions of opcodes are no dump of a few thousand calls: the reading ends, with a line of its own."""
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(b"\x80\x04}(" + _text("pg_config") + b"}" + _text("entries") + b"]" + data + b"u.")
    assert [skipped.code for skipped in read_flight_recorder([path]).skipped] == ["too-long-dump"]


def test_more_than_a_json_dump_holds_is_said(tmp_path: Path) -> None:
    """Millions of empty entries would take a hundred bytes of memory each."""
    path = tmp_path / "nccl_trace_rank_0.json"
    path.write_bytes(b'{"pg_config":{},"entries":[' + b"{}," * 3_000_000 + b"{}]}")
    assert [skipped.code for skipped in read_flight_recorder([path]).skipped] == ["too-long-dump"]


def test_many_documents_of_stacks_are_read_in_linear_time() -> None:
    """Lines are counted once, and a document that breaks off is not begun again inside."""
    dumps = parse('[{"pid":1}]\n' * 100_000, "stacks.json")
    assert len(dumps) == 100_000
    assert dumps[-1].line == 100_000
    assert parse('[{"pid":1,"a":' * 900 + "[" + "1," * 200_000, "stacks.json") == []


# ---- numbers


def test_no_number_is_converted_that_may_have_any_length() -> None:
    """Python refuses to convert 5,000 digits: what stands in a group of an expression is bounded."""
    unbounded = re.compile(r"\((?:\?P<\w+>)?[-?+]*(?:\\d|\[0-9\])[+*]\)")
    places = (ROOT / "assistant/distkb" / name for name in ("evidence", "report", "diagnosis"))
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for place in places
        for path in sorted(place.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if unbounded.search(line) and "re.split(" not in line
    ]
    assert found == []


def test_a_table_with_endless_numbers_is_no_table() -> None:
    """Torchrun's table is read where its numbers are numbers of a process, and never raises."""
    table = "  rank      : {0} (local_rank: {0})\n  exitcode  : -{0} (pid: {0})\n"
    assert [failure.rank for failure in parse_table(table.format("1"))] == [1]
    assert all(failure.rank < 1 << 30 for failure in parse_table(table.format("9" * 5000)))


@pytest.mark.parametrize(
    "line",
    [
        "[rank0]: RuntimeError: Timed out after 1 seconds waiting for clients. 1/{} clients joined.",
        "[rank0]: world_size={}",
        "[1,{}]<stdout>: step 1",
        "[rank{}]: RuntimeError: CUDA out of memory",
        "  rank      : {0} (local_rank: 0)\n  exitcode  : -9 (pid: 1)",
    ],
)
def test_a_world_of_a_billion_ranks_is_not_believed(tmp_path: Path, line: str) -> None:
    """A number in one line makes no roll call that fills the memory."""
    for number in ("999999", "999999999", "9" * 30):
        log = tmp_path / "console.log"
        log.write_text(f"[rank0]: step 1\n[rank1]: step 1\n{line.format(number)}\n[rank1]: RuntimeError: boom\n")
        assert len(read(log).ranks) < MOST_RANKS + 2


# ---- reports and documents


def test_a_pattern_sees_a_bounded_part_of_a_line() -> None:
    """What a report says in the middle of an endless line is found, and no row is longer than the bound."""
    text = "e" * 9000 + " RuntimeError: Timed out waiting 5000ms for recv operation to complete " + "e" * 9000
    found = {o.id: o for o in ReportReader(SIGNATURES).observations(take_apart(f"one\n{text}"), None)}
    assert found["gloo.timeout"].quotes[0].line == 2
    assert ROW < 9000


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_a_search_that_takes_too_long_is_ended() -> None:
    """An expression that would take years gives up, and the next one finds what it looks for."""
    with Patience() as patience:
        assert patience.search(re.compile("(a|aa)+b"), "a" * 80) is None
        assert patience.given_up == 1
        assert patience.search(re.compile("a+"), "aaa") is not None
    assert signal.getsignal(signal.SIGVTALRM) is not patience._tick


def test_documents_of_probes_lose_what_misleads() -> None:
    """Names in a saved answer have no bidirectional overrides and no control characters, whether found or not."""
    data = '{"schema":"distkb.probe/1","found":[{"id":"a\u202eb\\u001b[31m"}],"clear":["c\u2066d\\u0007"]}'.encode()
    observations = read_document(data)
    assert observations is not None
    assert [o.id for o in observations] == ["ab", "cd"]


def test_a_script_with_odd_code_is_read_in_silence(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """What Python warns of in somebody's script is not printed: the script is theirs."""
    (tmp_path / "train.py").write_text('from accelerate import Accelerator\na = Accelerator()\nassert (a, "\\d")\n')
    found = artifacts.read_artifacts(take_stock([tmp_path]), (), {})
    assert tmp_path / "train.py" in found.files
    assert [str(warning.message) for warning in recwarn] == []


def test_the_longest_report_is_read_in_good_time() -> None:
    """What is longer than an issue may be is cut, and what is left of it costs time by its length alone."""
    words = ["hangs", "rank", "step", "timeout", "NCCL", "all", "reduce", "학습이", "멈춥니다", "torchrun", "nan"]
    source = random.Random(5)
    text = " ".join(source.choice(words) for _ in range(200_000))
    assert sum(map(len, take_apart(text).lines)) == MAX_CHARACTERS
    reader = ReportReader(SIGNATURES)
    reader.observations(take_apart(text), None)
    assert reader.given_up == 0
