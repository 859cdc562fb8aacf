"""Whatever is broken becomes one line in `skipped`, and the rest is still read."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from evidence_samples import DATA, by_id, read

GOOD = "step 1\nRuntimeError: Timed out waiting 5000ms for recv operation to complete\n"


def _skips(*paths: Path) -> dict[str, str]:
    """Codes by file name, read beside a good log that must come through."""
    evidence = read(*paths, DATA / "barrier.mixed.log")
    assert "gloo.timeout" in by_id(evidence)
    return {Path(skipped.path).name: skipped.code for skipped in evidence.skipped}


def test_missing_empty_and_binary(tmp_path: Path) -> None:
    """Paths that do not exist, empty files and binary files are named with their reasons."""
    (tmp_path / "empty.log").touch()
    (tmp_path / "model.log").write_bytes(bytes(range(256)) * 64)
    assert _skips(tmp_path / "nowhere.log", tmp_path / "empty.log", tmp_path / "model.log") == {
        "nowhere.log": "missing",
        "empty.log": "empty",
        "model.log": "binary",
    }


def test_directory_without_logs(tmp_path: Path) -> None:
    """Code, weights and pictures make no log directory."""
    (tmp_path / "train.py").write_text("print('error: 10:00:00 INFO')\n")
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04")
    (tmp_path / "notes.md").write_text("# step\n")
    assert _skips(tmp_path) == {tmp_path.name: "no-logs"}


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be opened is named."""
    secret = tmp_path / "secret.log"
    secret.write_text(GOOD)
    real = os.open

    def refuse(path: str, flags: int, *rest: int) -> int:
        if str(path) == str(secret):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    assert _skips(secret) == {"secret.log": "permission"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_fifo_and_socket_never_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO without a writer and a socket are refused at once, named or found in a directory."""
    os.mkfifo(tmp_path / "pipe.log")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the path of a socket may have 107 characters
        server.bind("s.log")
        assert _skips(tmp_path / "pipe.log") == {"pipe.log": "not-a-file"}
        assert _skips(tmp_path) == {"pipe.log": "not-a-file", "s.log": "not-a-file"}


def test_symlink_loops_and_depth(tmp_path: Path) -> None:
    """Links that lead back are walked once; a link to itself and trees too deep are named."""
    (tmp_path / "a.log").write_text(GOOD)
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "self.log").symlink_to(tmp_path / "self.log")
    deep = tmp_path
    for _ in range(14):
        deep /= "d"
    deep.mkdir(parents=True)
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].count == 1
    assert {skipped.code for skipped in evidence.skipped} == {"loop", "too-deep"}


def test_gzip_cut_short(tmp_path: Path) -> None:
    """What comes before the damage is read, and the damage is named."""
    packed = gzip.compress(GOOD.encode() + os.urandom(200_000).hex().encode())
    (tmp_path / "cut.log.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "no.log.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].quotes[0].line == 2
    assert {Path(s.path).name: s.code for s in evidence.skipped} == {"cut.log.gz": "bad-gzip", "no.log.gz": "bad-gzip"}


def test_gzip_whole(tmp_path: Path) -> None:
    """Packed logs are read as others."""
    (tmp_path / "rank0.log.gz").write_bytes(gzip.compress(GOOD.encode()))
    evidence = read(tmp_path)
    assert by_id(evidence)["gloo.timeout"].quotes[0].rank == 0
    assert evidence.skipped == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be-bom", "utf-16-le", "utf-8-sig"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """UTF-16 with and without its mark, and a mark before UTF-8, do not hide a message."""
    log = tmp_path / "x.log"
    data = b"\xfe\xff" + GOOD.encode("utf-16-be") if encoding == "utf-16-be-bom" else GOOD.encode(encoding)
    log.write_bytes(data)
    assert by_id(read(log))["gloo.timeout"].quotes[0].line == 2


def test_nuls_escapes_and_bars(tmp_path: Path) -> None:
    """NULs, colours, titles, redrawn progress bars and invalid UTF-8 leave messages and line numbers right."""
    log = tmp_path / "x.log"
    log.write_bytes(
        b"\0" * 9000 + b"one\n\x1b]0;title\x07two \xff\xfe\r 10%|#\r 20%|##\r\nTimed \x1b[31mout\x1b[0m wai\0ting 7ms "
        b"for recv operation to complete \x1b[2K\xe2\x80\xae\n"
    )
    (quote,) = by_id(read(log))["gloo.timeout"].quotes
    assert quote.line == 3
    assert quote.text == "Timed out waiting 7ms for recv operation to complete"


_BIG = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from evidence_samples import by_id, read
evidence = read(Path(sys.argv[1]))
(quote,) = by_id(evidence)["gloo.timeout"].quotes
assert quote.line == 2, quote
assert len(quote.text) <= 240, quote
assert "Timed out waiting 5000ms" in quote.text
if sys.platform == "linux":
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
    assert peak <= 150, f"{peak} MB"
"""


def test_memory_is_bounded_on_one_huge_line(tmp_path: Path) -> None:
    """A 300 MB line is read in at most 150 MB, and a message in its middle is found and quoted."""
    log = tmp_path / "huge.log"
    part = b"loss=0.125 lr=3e-4 " * 55_000
    with log.open("wb") as file:
        file.write(b"start\n")
        for number in range(300):
            file.write(part)
            if number == 150:
                file.write(GOOD.splitlines()[1].encode())
    command = [sys.executable, "-c", _BIG, str(log), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_match_across_block_boundaries(tmp_path: Path) -> None:
    """A message that straddles the end of a block within one 40 MB line is found."""
    log = tmp_path / "line.log"
    message = b"Timed out waiting 5000ms for recv operation to complete"
    log.write_bytes(b"x" * ((8 << 20) - 20) + message + b"y" * (32 << 20))
    assert by_id(read(log))["gloo.timeout"].count == 1


def test_flood_is_bounded(tmp_path: Path) -> None:
    """A log in which every line matches is counted whole and quoted in a few places."""
    log = tmp_path / "flood.log"
    lines = 200_000
    log.write_text(
        "".join(f"[rank{n % 4}]: Timed out waiting {n}ms for recv operation to complete\n" for n in range(lines))
    )
    observation = by_id(read(log))["gloo.timeout"]
    assert observation.count == lines
    assert len(observation.quotes) <= 6
    assert {quote.rank for quote in observation.quotes} == {0, 1, 2, 3}
