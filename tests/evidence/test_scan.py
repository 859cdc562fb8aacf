"""The scanner finds the lines that `re` finds, no more and no fewer."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
from pathlib import Path

import pytest
from evidence_samples import signature
from hypothesis import example, given, settings
from hypothesis import strategies as st

from distkb.evidence.inventory import LogFile
from distkb.evidence.scanner import matcher, second_process, sieve
from distkb.evidence.scanner import scan as scan_module
from distkb.evidence.scanner.blocks import blocks
from distkb.evidence.scanner.gate import Gate
from distkb.evidence.scanner.literals import required_cases, required_literals
from distkb.evidence.scanner.matcher import Matcher
from distkb.evidence.scanner.reading import FIRST, LAST
from distkb.evidence.scanner.scan import FileScan, Scanner
from distkb.evidence.scanner.sieve import branches, choose
from distkb.evidence.text.opening import UnreadableError, open_text

PATTERNS = (
    r"^start of line",
    r"end of line$",
    r"(?i)out of memory",
    r"rank (?P<rank>\d+) failed",
    r"waited .*ms in \w+",
    r"key\s+missing",
    r"\bword\b|exact phrase",
    r"port[: ]{1,3}(?P<port>\d{2,5})\b",
    r"랭크 \d+ 실패",
)
SIGNATURES = tuple(signature(f"s.{number}", pattern) for number, pattern in enumerate(PATTERNS))
SCANNER = Scanner(SIGNATURES)
SIEVED = Scanner([one for one in SIGNATURES if required_literals(one.pattern)])
FILE = LogFile(path=Path("x.log"), name="x.log")

fragments = st.sampled_from(
    (
        *(
            "start of line",
            "end of line",
            "Out Of Memory",
            "rank 12 failed",
            "rank failed",
            "waited 5ms in recv",
            "waited",
        ),
        *(
            "key",
            "missing",
            "  ",
            "word",
            "words",
            "exact phrase",
            "port: 29500",
            "port 1",
            "랭크 3 실패",
            "\t",
            "é",
            "x",
        ),
    )
)
line = st.lists(fragments, max_size=6).map("".join)
separator = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
logs = st.lists(st.tuples(line, separator), max_size=30).map(lambda parts: "".join(a + b for a, b in parts))


def _naive(text: str) -> dict[str, list[int]]:
    """Lines on which each signature matches, one by one with `re`."""
    found: dict[str, list[int]] = {}
    for number, whole in enumerate(text.split("\n"), 1):
        for part in whole.split("\r"):
            for one in SIGNATURES:
                if re.search(one.pattern.encode(), part.encode()):
                    found.setdefault(one.id, []).append(number)
    return found


@settings(max_examples=300)
@given(logs)
def test_equals_re_line_by_line(text: str) -> None:
    """Signatures, counts, lines and groups are those of `re.search` on each line; the first and last are kept."""
    scan = SCANNER.scan(FILE, io.BytesIO(text.encode()))
    expected = _naive(text)
    assert scan.counts == {name: len(lines) for name, lines in expected.items()}
    for name, lines in expected.items():
        hits = [hit.line for hit in scan.hits if hit.signature == name]
        assert {*lines[:FIRST], *lines[-LAST:]} <= set(hits) <= set(lines)  # and one of each rank that a line names


@settings(max_examples=100)
@given(logs)
def test_stand_in_finds_the_same(text: str) -> None:
    """Without Hyperscan the same lines come out."""
    scanner = Scanner(SIGNATURES)
    scanner._matcher._gate = Gate([*PATTERNS, *(p.pattern.decode() for p in map(scanner.regex, range(9, 12)))])
    data = io.BytesIO(text.encode())
    assert scanner.scan(FILE, data).counts == {name: len(lines) for name, lines in _naive(text).items()}


@settings(max_examples=100)
@given(logs, st.integers(64, 400))
def test_block_size_does_not_matter(text: str, size: int) -> None:
    """Blocks put together give the text back, and lines are whole where they fit."""
    data = text.encode()
    whole = b""
    for block in blocks(io.BytesIO(data), size):
        part = bytes(block.data[: block.stop])
        whole = whole + part[min(64 << 10, size // 4) :] if block.continued else whole + part
        assert block.continued or not whole or part == b"" or whole.endswith(part)
    assert whole == data


def _long_log(lines: int = 20_000) -> str:
    return "".join(f"line {n}\nrank {n} failed\n" if n % 7 == 0 else f"step {n} loss 0.5\r\n" for n in range(lines))


def _shown(scan: FileScan) -> tuple[object, ...]:
    hits = [(hit.line, hit.text, hit.order, hit.values) for hit in scan.hits]
    return hits, scan.counts, scan.lines, scan.size, scan.end_line, scan.start, scan.end, scan.excerpts


def test_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of many blocks gives what one block gives."""
    text = _long_log()
    whole = SCANNER.scan(FILE, io.BytesIO(text.encode()))
    monkeypatch.setattr(scan_module, "blocks", lambda stream: blocks(stream, 4096))
    parts = SCANNER.scan(FILE, io.BytesIO(text.encode()))
    assert _shown(parts) == _shown(whole)


@settings(max_examples=150)
@given(logs)
def test_sieve_lets_every_match_through(text: str) -> None:
    """With the cheap first look, even at small blocks, the same lines come out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module, "EARLY", 0)
        SIEVED.scan(FILE, io.BytesIO(b"open"))
        scan = SIEVED.scan(FILE, io.BytesIO(text.encode()))
    assert scan.counts == {name: len(lines) for name, lines in _naive(text).items()}


@settings(max_examples=100)
@given(logs)
@example("end of line\r\n")
def test_first_look_without_pieces(text: str) -> None:
    """Where all that is looked for is usual, the first look is for the patterns, and the same lines come out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "_USUAL", " ".join(PATTERNS).lower().encode())
        patch.setattr(scan_module, "EARLY", 0)
        scanner = Scanner(SIGNATURES)
        scanner.scan(FILE, io.BytesIO(b"open"))
        scan = scanner.scan(FILE, io.BytesIO(text.encode()))
    assert scan.counts == {name: len(lines) for name, lines in _naive(text).items()}


def test_other_pieces_are_chosen_for_a_file_full_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file full of a piece is soon looked at without it, and the same lines come out."""
    monkeypatch.setattr(sieve, "PATIENCE", 8)
    monkeypatch.setattr(scan_module, "EARLY", 0)
    monkeypatch.setattr(scan_module, "blocks", lambda stream: blocks(stream, 1 << 16))
    one = signature("s.one", r"node is quiescent \w+ since")
    text = "node quiescent\n" * 200_000 + "node is quiescent now since\n" + "node quiescent\n" * 9
    scanner = Scanner([one])
    scan = scanner.scan(FILE, io.BytesIO(text.encode()))
    assert scan.counts == {"s.one": 1}
    look = scanner._matcher.sieve()
    assert look is not None
    assert look.ends(memoryview(b"node quiescent\n" * 4000)) == []


@pytest.mark.parametrize("noise", ["", "\x1b[31m", "\0", "\r"])
@pytest.mark.parametrize("fails", ["", "fork", "killed"])
def test_two_processes_find_what_one_finds(
    noise: str, fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are shared with a second process give the same, also where there is none or it dies."""
    text = _long_log(30_000).replace("failed\n", f"fa{noise}iled and\nTraceback ({noise}x\n").encode()
    contents = {"big.log": text, "small.log": text[:50_000], "none.log": b"", "packed.log": gzip.compress(text)}
    contents |= {"marked.log": codecs.BOM_UTF8 + text, "endless.log": b"x" * 400_000, "wide.log": b"rank 1 failed\n"}
    files = [LogFile(path=tmp_path / name, name=name) for name in contents]
    for file in files:
        file.path.write_bytes(contents[file.name])
    alone = [_scanned(SCANNER, file) for file in files]
    for name, value in (("LARGE", 1), ("THEIRS", 60_000), ("OWN", 30_000), ("SIZE", 16_384)):
        monkeypatch.setattr(second_process, name, value)
    monkeypatch.setattr(scan_module, "worth_sharing", lambda _: True)
    if fails == "fork":
        monkeypatch.setattr(os, "fork", _no_process)
    elif fails == "killed":
        monkeypatch.setattr(second_process, "_work", _no_process)
    parts = second_process.plan([file.path for file in files])
    assert {part.theirs for part in parts} == {True, False}
    scanner = Scanner(SIGNATURES)
    with scanner.sharing([file.path for file in files]):
        shared = [_scanned(scanner, file) for file in files]
    assert shared == alone
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_file_that_is_left_out_leaves_the_others_in_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the second process told of a file that was not read after all is not taken for the next one."""
    files = [LogFile(path=tmp_path / f"{n}.log", name=f"{n}.log") for n in range(9)]
    for number, file in enumerate(files):
        file.path.write_text(_long_log(500 * (1 + number)))
    alone = [_scanned(SCANNER, file) for file in files]
    for name, value in (("LARGE", 1), ("THEIRS", 6_000), ("OWN", 3_000), ("SIZE", 4_096)):
        monkeypatch.setattr(second_process, name, value)
    monkeypatch.setattr(scan_module, "worth_sharing", lambda _: True)
    scanner = Scanner(SIGNATURES)
    with scanner.sharing([file.path for file in files]):
        assert [_scanned(scanner, file) for file in files[1::3]] == alone[1::3]


def test_many_files_keep_less_of_their_ends(tmp_path: Path) -> None:
    """What is kept of the ends of all files together stays bounded, and each keeps its last lines."""
    file = LogFile(path=tmp_path / "0.log", name="0.log")
    file.path.write_text(_long_log(9_000))
    kept: list[int] = []
    for count in (1, 64, 100_000):
        scanner = Scanner(SIGNATURES)
        with scanner.sharing([file.path] * count), file.path.open("rb") as stream:
            last = scanner.scan(file, stream).last.text()
        kept.append(len(last))
        assert file.path.read_text().endswith(last)
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 100_000
    assert 64 * kept[1] <= 2 << 20
    assert kept[2] > 30_000


def _scanned(scanner: Scanner, file: LogFile) -> object:
    try:
        raw, stream = open_text(file.path)
    except UnreadableError as unreadable:
        return unreadable.code
    with raw:
        return _shown(scanner.scan(file, stream))


def _no_process(*_: object) -> int:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_flood_mode_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scanning line by line, as in a flood, gives the same counts."""
    text = "rank 1 failed\nwaited 5ms in recv send\n\nrank 22 failed rank 3 failed\n" * 50
    expected = {name: len(lines) for name, lines in _naive(text).items()}
    monkeypatch.setattr(matcher, "FLOOD", 20)
    assert Scanner(SIGNATURES).scan(FILE, io.BytesIO(text.encode())).counts == expected


def test_what_distkb_said_in_a_log_is_nobody_s_line() -> None:
    """A watcher whose stderr is the job's log quotes errors there; the numbers of the other lines stay."""
    text = "one ERROR\ndistkb: Rank 1: ERROR\ndistkb:\n3: distkb:   | ERROR\nnot distkb: ERROR\nERROR\n"
    scan = Scanner([signature("error", "ERROR")]).scan(LogFile(path=Path("x"), name="x"), io.BytesIO(text.encode()))
    assert [hit.line for hit in scan.hits] == [1, 5, 6]


def test_cache_is_used_and_survives_damage(tmp_path: Path) -> None:
    """The compiled patterns are stored, read back, and made anew when the file is damaged."""
    first = Matcher(PATTERNS, cache_dir=tmp_path)
    data = b"rank 3 failed\n"
    expected = first.candidates(data)
    (stored,) = tmp_path.iterdir()
    assert Matcher(PATTERNS, cache_dir=tmp_path).candidates(data) == expected
    stored.write_bytes(stored.read_bytes()[:-1] + b"?")
    assert Matcher(PATTERNS, cache_dir=tmp_path).candidates(data) == expected
    assert Matcher(PATTERNS[:3], cache_dir=tmp_path).candidates(b"out of memory") != []
    assert len(list(tmp_path.iterdir())) == 2


def test_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """A cache directory that is a file costs time only."""
    (tmp_path / "cache").touch()
    assert Matcher(PATTERNS, cache_dir=tmp_path / "cache").candidates(b"out of memory\n") != []


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"rank (?P<rank>\d+) failed", [" failed"]),
        (r"alpha|beta gamma", ["alpha", "beta gamma"]),
        (r"a\d+b", None),
        (r"(?:abc|de)x", ["abcx", "dex"]),
        (r"(?:one two)+", ["one two"]),
    ],
)
def test_required_literals(pattern: str, literals: list[str] | None) -> None:
    """Every match contains one of the literals."""
    assert required_literals(pattern) == literals


@pytest.mark.parametrize(
    ("pattern", "cases"),
    [
        (r"rank \d+ failed", [("rank ", " failed")]),
        (r"alpha \d+|beta \d+ gamma", [("alpha ",), ("beta ", " gamma")]),
        (r"(?:one|two) \w+ three", [("one ", " three"), ("two ", " three")]),
        (r"alpha|b\d+", None),
    ],
)
def test_required_cases(pattern: str, cases: list[tuple[str, ...]] | None) -> None:
    """Every match is of one of the cases and contains all of its literals."""
    assert required_cases(pattern) == cases


def test_choice_of_pieces() -> None:
    """A piece is in all matches and in no usual line; patterns without such a piece are looked for themselves."""
    patterns = [r"step \d+ quixotic", r"loss=\d", r"Quixotically"]
    cases = [required_cases(pattern) for pattern in patterns]
    assert choose(patterns, cases) == ([b"quixotic"], [r"loss=\d"])
    assert choose(patterns, cases, b"step 1 quixotic " * 9) == ([b"otically", b"loss="], patterns[:1])


def test_pieces_that_an_example_does_not_hold() -> None:
    """Beside an example short texts tell matches apart, by alternative and by part; else the part that says most."""
    pattern = r"(?i)learning rate.{0,60}(?:reached|is|was).{0,30}(?:zero|0)|skipp(?:ed|ing) \w+|(?:a|b(?:c|d)) zz"
    cases = [required_cases(pattern)]
    at_end = [b"a zz", b"bc zz", b"bd zz"]
    full = choose([pattern], cases, b"learning rate 0.1 | iterations skipped reached skipping " * 9)
    assert full == (at_end, ["(?i)learning rate", r"(?i)skipp(?:ed|ing) \w+"])
    assert choose([pattern], cases, b"skipped skipping learning rate " * 9).pieces == [
        *at_end,
        b"is",
        b"reache",
        b"was",
    ]
    counted = r"(?i)nan iterations: +[1-9]|skipped iteration \d"
    usual = b"skipped iterations:   0 nan iterations:   0 samples:   4096 iteration   985390 " * 9
    assert choose([counted], [required_cases(counted)], usual) == ([b"d iteration "], [r"(?i)nan iterations: +[1-9]"])
    assert branches(r"a[|]b\|c|(?:d|e).{0,9}f|\(.{1,3}\)") == [["a[|]b\\|c"], ["(?:d|e)", "f"], ["\\(", "\\)"]]


def test_files_full_of_one_piece_are_known_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files are full of a piece, others are chosen before two processes read them, and nothing is missed."""
    monkeypatch.setattr(scan_module, "worth_sharing", lambda _: True)
    text = "node quiescent\n" * 100_000
    log = tmp_path / "a.log"
    log.write_text(text + "node is quiescent now since\n" + text)
    scanner = Scanner([signature("s.one", r"node is quiescent \w+ since")])
    with scanner.sharing([log]), log.open("rb") as stream:
        look = scanner._matcher.sieve()
        assert look is not None
        assert look.ends(memoryview(b"node quiescent\n" * 4000)) == []
        assert scanner.scan(LogFile(path=log, name="a.log"), stream).counts == {"s.one": 1}
