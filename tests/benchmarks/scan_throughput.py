"""Measures the signature scan against ripgrep on one log: `python tests/benchmarks/scan_throughput.py`.

Generates the log in a temporary directory, reads it with all signatures of the catalogue (a whole `read_evidence`
in a process of its own) and with `rg -c -f patterns`, turn by turn, and prints medians: MB/s of both, their ratio by
the clock and by processor time (on a busy machine the steadier one), and the peak memory of all processes together.
Fails unless both find the same number of lines.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Signature

_RIPGREP = ["/usr/bin/rg", "-c", "--regex-size-limit", "1G", "--dfa-size-limit", "1G"]
ROUNDS = 7

_WORKER = """
import json, os, sys, time
from pathlib import Path
import msgspec
from distkb.catalogue.model import Signature
from distkb.evidence.read import read_evidence
from distkb.evidence.walk import take_stock
def used():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
signatures = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Signature])
cache = Path(sys.argv[3])
begin, work = time.perf_counter(), used()
evidence = read_evidence(signatures, (), (), take_stock([Path(sys.argv[2])]), cache_dir=cache)
print(json.dumps({"seconds": time.perf_counter() - begin, "processor": used() - work}))
"""

_LINES = """
import sys
from pathlib import Path
import msgspec
from distkb.catalogue.model import Signature
from distkb.evidence.text.opening import open_text
from distkb.evidence.scanner.scan import Candidate, Scanner
signatures = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Signature])
scanner, lines, before = Scanner(signatures, Path(sys.argv[3])), set(), 0
raw, stream = open_text(Path(sys.argv[2]))
with raw:
    for block, located in scanner._located(Path(sys.argv[2]), stream):
        for one in map(Candidate._make, located.candidates):
            if one.pattern < len(scanner.signatures) and scanner.regex(one.pattern).search(
                bytes(block.data[one.low : one.high])
            ):
                lines.add(before + one.line)
        before += located.newlines
print(len(lines))
"""


def signatures() -> list[Signature]:
    """All log signatures of the catalogue."""
    catalogue, _ = load_sources([Path(__file__).parents[2] / "kb"])
    return [one for one in catalogue.signatures if "log" in one.where]


def write_log(path: Path, megabytes: int, examples: list[str], every: int = 2000) -> None:
    """Write a training log in which one line of `every` is one of a dozen failure messages."""
    rng = random.Random(7)
    examples = rng.sample(examples, min(12, len(examples)))
    shapes = (
        "2026-11-21 10:{m:02}:{s:02},{ms:03} [rank{r}] INFO step {n} loss={l:.4f} lr=3.0e-04 tokens/s={t}",
        "[rank{r}]:[W1121 10:{m:02}:{s:02}.{ms:03}456 Utils.hpp:136] Warning: NCCL_BLOCKING_WAIT is deprecated",
        "node{r}:{t}:{n} [{r}] NCCL INFO Channel {r:02}/0 : {r}[{r}000] -> 1[1000] via P2P/IPC/read",
        "Epoch {r}:  {r}3%|###4      | {n}/12500 [00:{m:02}<12:{s:02}, {l:.2f}it/s]\rEpoch {r}:  {r}4%|###5     |",
        "INFO:trainer:evaluation at step {n}: accuracy {l:.4f}, perplexity {t}.{m}",
    )
    with path.open("w", encoding="utf-8") as file:
        written = number = 0
        while written < megabytes * 1_000_000:
            block: list[str] = []
            for _ in range(20_000):
                number += 1
                if examples and number % every == 0:
                    block.append(rng.choice(examples))
                    continue
                block.append(
                    rng.choice(shapes).format(
                        m=number // 60 % 60,
                        s=number % 60,
                        ms=number % 1000,
                        r=number % 8,
                        n=number,
                        l=rng.random(),
                        t=rng.randrange(10_000, 99_999),
                    )
                )
            text = "\n".join(block) + "\n"
            file.write(text)
            written += len(text)


def _ripgrep(patterns: Path, log: Path) -> tuple[float, float]:
    """Seconds by the clock and of processor time that ripgrep takes."""
    begin, before = time.perf_counter(), os.times()
    subprocess.run([*_RIPGREP, "-f", str(patterns), str(log)], capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, used


def _peak(command: list[str]) -> float:
    """Most megabytes that a command and the processes it starts have resident, added up; runs it once more."""
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while worker.poll() is None:
        children = _read(f"/proc/{worker.pid}/task/{worker.pid}/children").split()
        total = 0
        for process in (str(worker.pid), *children):
            resident = _read(f"/proc/{process}/status").partition("VmRSS:")[2].split()
            total += int(resident[0]) if resident else 0
        peak = max(peak, total)
        time.sleep(0.002)
    return peak / 1024


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _figures(log: Path, patterns: Path, stored: Path, cache: Path) -> dict[str, float]:
    rest = [str(stored), str(log), str(cache)]
    command = [sys.executable, "-c", _WORKER, *rest]
    ours, theirs = [], []
    for _ in range(ROUNDS + 1):
        ours.append(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
        theirs.append(_ripgrep(patterns, log))
    lines = int(subprocess.run([sys.executable, "-c", _LINES, *rest], capture_output=True, check=True).stdout)
    counted = subprocess.run([*_RIPGREP, "-f", str(patterns), str(log)], capture_output=True, check=True)
    if lines != int(counted.stdout):
        raise SystemExit(f"distkb finds {lines} lines, ripgrep {int(counted.stdout)}")
    size = log.stat().st_size / 1e6
    wall, rg_wall = (statistics.median(one) for one in ([o["seconds"] for o in ours[1:]], [t[0] for t in theirs[1:]]))
    work, rg_work = (statistics.median(one) for one in ([o["processor"] for o in ours[1:]], [t[1] for t in theirs[1:]]))
    return {
        "log_mb": round(size),
        "distkb_mb_s": round(size / wall),
        "rg_mb_s": round(size / rg_wall),
        "ratio": round(rg_wall / wall, 2),
        "ratio_best": round(min(t[0] for t in theirs[1:]) / min(o["seconds"] for o in ours[1:]), 2),
        "ratio_processor_time": round(rg_work / work, 2),
        "distkb_cold_cache_s": round(ours[0]["seconds"], 2),
        "peak_rss_mb": round(_peak(command)),
        "matching_lines": lines,
    }


def main() -> None:
    """Run the comparison and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=420)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wanted = signatures()
    with tempfile.TemporaryDirectory() as directory:
        log, patterns, stored = (Path(directory) / name for name in ("train.log", "patterns.txt", "signatures.json"))
        write_log(log, options.megabytes, [one.example for one in wanted if one.example and "\n" not in one.example])
        patterns.write_text(
            "\n".join(re.sub(r"\(\?P<\w+>", "(?:", one.pattern) for one in wanted) + "\n", encoding="utf-8"
        )
        stored.write_bytes(msgspec.json.encode(wanted))
        figures = {"patterns": len(wanted), **_figures(log, patterns, stored, Path(directory) / "cache")}
    sys.stdout.write(
        json.dumps(figures) + "\n" if options.json else "".join(f"{k:20} {v}\n" for k, v in figures.items())
    )


if __name__ == "__main__":
    main()
