"""Real dumps: three gloo ranks that part, dumped by torch itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder

JOB = """
import datetime, os, sys
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(
    "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=3, timeout=datetime.timedelta(seconds=2)
)
for _ in range(3):
    dist.all_reduce(torch.ones(4, 3))
try:
    if rank == 2:
        dist.broadcast(torch.ones(5), 0)  # the odd call
    else:
        dist.all_reduce(torch.ones(6))  # the others' call
except RuntimeError:
    pass
with open(f"{folder}/rank_{rank}", "wb") as out:
    out.write(_dump_fr_trace())
text = _dump_fr_trace_json()
with open(f"{folder}/json/rank_{rank}.json", "w") as out:
    out.write(text if isinstance(text, str) else text.decode())
os._exit(0)
"""


@pytest.mark.torchrun
def test_a_real_gloo_desync_is_named(tmp_path: Path) -> None:
    """Pickle and JSON of three ranks say which rank called what, and the pickle says from which line."""
    script = tmp_path / "job.py"
    script.write_text(JOB)
    (tmp_path / "json").mkdir()
    environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen([sys.executable, str(script), str(rank), str(tmp_path)], env=environment) for rank in range(3)
    ]
    assert [rank.wait(60) for rank in ranks] == [0, 0, 0]
    first = read_flight_recorder([tmp_path / f"rank_{rank}" for rank in range(3)]).observations[0]
    lines = {number for number, line in enumerate(JOB.splitlines(), 1) if "# the odd call" in line}
    assert first.id == "flight-recorder.ranks-called-different-ops"
    assert (first.values["ranks"], first.values["others"], first.values["seq"]) == ("2", "0, 1", "4")
    assert {first.quotes[0].line} == lines
    found = find_flight_recorder([tmp_path / "json"])
    assert read_flight_recorder(found).observations[0].values["ranks"] == "2"
