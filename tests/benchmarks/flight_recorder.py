"""Reading the flight recorder's dumps of many ranks: distkb against torch's own analyser, and its peak memory.

Run by hand:  python tests/benchmarks/flight_recorder.py [--ranks 256] [--entries 2000] [--no-torch]

Dumps are written to a temporary folder in the bytes of torch's own pickler. One file is built for the ranks that go on
and one for the rank that stays behind; in every rank's copy all clocks and the thread id are its own. Both programs
run as commands, one after the other; the ratio is that of their wall times.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "flight_recorder"))

from recorder_dumps import T0, dump, entry, torch_pickle

_OPERATIONS = (
    ("all_reduce", (1024, 1024)),
    ("broadcast", (7,)),
    ("all_reduce", (25_000_000,)),
    ("all_reduce", (640,)),
    ("barrier", (1,)),
)


def write_dumps(folder: Path, ranks: int, entries: int, *, apart: bool = False) -> int:
    """Write one dump for each rank and return how many bytes they take together."""
    late = ranks // 3
    size = 0
    whole, short = (_template(ranks, entries, behind=behind) for behind in (False, True))
    for rank in range(ranks):
        template = short if rank == late else whole
        if apart:
            template = _template(ranks, entries, behind=rank == late, first=rank)
        own = _as_rank(*template, rank)
        (folder / f"nccl_trace_rank_{rank}").write_bytes(own)
        size += len(own)
    return size


def _as_rank(template: bytes, clocks: int, rank: int) -> bytes:
    """Return the dump of one rank: every clock of it is that rank's own, and so is its thread id."""
    moved = int.from_bytes(template, "little") + clocks * (rank * 977)
    data = moved.to_bytes(len(template), "little")
    return data.replace(b"140625882278784", b"%015d" % (140_000_000_000_000 + rank * 4096))


def _template(ranks: int, entries: int, *, behind: bool, first: int = 0) -> tuple[bytes, int]:
    made = []
    for i in range(first, entries - behind):
        op, shape = _OPERATIONS[i % len(_OPERATIONS)]
        state = "started" if i == entries - 1 else "completed"
        made.append(
            entry(op, seq=1001 + i, record=1000 + i, sizes=[shape], at=f"/app/train.py:{100 + i % 5}", state=state)
        )
    data = torch_pickle(dump(made, {"0": ("default_pg", range(ranks))}))
    ones = bytearray(len(data))
    upper = re.escape(struct.pack("<q", T0)[4:])
    for found in re.finditer(rb"\x8a\x08.{4}" + upper, data, re.DOTALL):
        ones[found.start() + 2] = 1
    return data, int.from_bytes(ones, "little")


def timed(command: list[str], log: Path) -> tuple[float, float, int]:
    """Run a command; return its wall seconds, CPU seconds and peak memory in MiB."""
    start = time.perf_counter()
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, _, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def main() -> None:
    """Write the dumps, run both, print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--apart", action="store_true", help="let every rank's ring buffer begin somewhere else")
    parser.add_argument("--no-torch", action="store_true", help="measure distkb alone")
    parser.add_argument("--directory", type=Path, help="where the temporary folder is made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        folder = Path(name) / "dumps"
        folder.mkdir()
        size = write_dumps(folder, given.ranks, given.entries, apart=given.apart)
        print(f"{given.ranks} ranks x {given.entries} entries, {size >> 20} MiB")
        ours = timed([sys.executable, "-m", "distkb", "probe", "flight-recorder", str(folder)], Path(name) / "ours")
        print(f"distkb          {ours[0]:7.2f} s wall {ours[1]:7.2f} s CPU {ours[2]:6d} MiB")
        print((Path(name) / "ours").read_text().strip().splitlines()[2])
        if given.no_torch:
            return
        analyser = "torch.distributed.flight_recorder.fr_trace"
        theirs = timed([sys.executable, "-m", analyser, str(folder), "-p", "nccl_trace_rank_"], Path(name) / "theirs")
        print(f"torchfrtrace    {theirs[0]:7.2f} s wall {theirs[1]:7.2f} s CPU {theirs[2]:6d} MiB")
        print(f"ratio           {theirs[0] / ours[0]:7.1f} wall {theirs[1] / ours[1]:7.1f} CPU")


if __name__ == "__main__":
    main()
