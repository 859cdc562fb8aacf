"""Measures the signature scan against ripgrep on one log: `python tests/benchmarks/scan_throughput.py`.

Generates the log in a temporary directory, reads it with all signatures of the catalogue (a whole `read_evidence`
in a process of its own) and with `rg -c -f patterns`, turn by turn, and prints MB/s, their ratio and the peak memory.
The ratio of processor time is printed too: on a busy machine it is the steadier one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Signature

ROUNDS = 3

_WORKER = """
import json, sys, time
from pathlib import Path
import msgspec
from distkb.catalogue.model import Signature
from distkb.evidence.read import read_evidence
signatures = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Signature])
cache = Path(sys.argv[3])
begin, work = time.perf_counter(), time.process_time()
evidence = read_evidence(signatures, (), (), [Path(sys.argv[2])], cache_dir=cache)
seconds, processor = time.perf_counter() - begin, time.process_time() - work
status = Path("/proc/self/status").read_text()  # ru_maxrss would count what the parent held before exec
peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
hits = sum(observation.count for observation in evidence.observations)
print(json.dumps({"seconds": seconds, "processor": processor, "peak_mb": peak, "hits": hits}))
"""


def signatures() -> list[Signature]:
    """All log signatures of the catalogue."""
    catalogue, _ = load_sources([Path(__file__).parents[2] / "kb"])
    return [one for one in catalogue.signatures if "log" in one.where]


def write_log(path: Path, megabytes: int, examples: list[str], every: int = 2000) -> None:
    """Write a training log in which one line of `every` is one of a dozen failure messages."""
    rng = random.Random(7)  # noqa: S311
    examples = rng.sample(examples, min(12, len(examples)))
    shapes = (
        "2026-11-21 10:{m:02}:{s:02},{ms:03} [rank{r}] INFO step {n} loss={l:.4f} lr=3.0e-04 tokens/s={t}",
        "[rank{r}]:[W1121 10:{m:02}:{s:02}.{ms:03}456 Utils.hpp:136] Warning: NCCL_BLOCKING_WAIT is deprecated",
        "node{r}:{t}:{n} [{r}] NCCL INFO Channel {r:02}/0 : {r}[{r}000] -> 1[1000] via P2P/IPC/read",
        "Epoch {r}:  {r}3%|###4      | {n}/12500 [00:{m:02}<12:{s:02}, {l:.2f}it/s, loss={l:.3f}]",
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
    subprocess.run(["/usr/bin/rg", "-c", "-f", str(patterns), str(log)], capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, used


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
        size = log.stat().st_size / 1e6
        command = [sys.executable, "-c", _WORKER, str(stored), str(log), f"{directory}/cache"]
        ours, theirs = [], []
        for _ in range(ROUNDS + 1):
            ours.append(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
            theirs.append(_ripgrep(patterns, log))
    seconds = min(one["seconds"] for one in ours[1:])
    processor = min(one["processor"] for one in ours[1:])
    figures = {
        "log_mb": round(size),
        "patterns": len(wanted),
        "distkb_mb_s": round(size / seconds),
        "distkb_cold_cache_s": round(ours[0]["seconds"], 2),
        "rg_mb_s": round(size / min(wall for wall, _ in theirs[1:])),
        "ratio": round(min(wall for wall, _ in theirs[1:]) / seconds, 2),
        "ratio_processor_time": round(min(used for _, used in theirs[1:]) / processor, 2),
        "peak_rss_mb": round(max(one["peak_mb"] for one in ours)),
        "distkb_matches": ours[-1]["hits"],
    }
    sys.stdout.write(
        json.dumps(figures) + "\n" if options.json else "".join(f"{k:20} {v}\n" for k, v in figures.items())
    )


if __name__ == "__main__":
    main()
