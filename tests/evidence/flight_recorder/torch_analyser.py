"""Runs torch's own analyser on folders of dumps and prints, as JSON, what it finds first in each."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any


def first_mismatch(folder: str) -> dict[str, Any]:
    """Return the ranks and the kind of the first collective that does not match."""
    from torch.distributed.flight_recorder.components.builder import build_db
    from torch.distributed.flight_recorder.components.config_manager import JobConfig
    from torch.distributed.flight_recorder.components.loader import read_dir

    args = JobConfig().parse_args([folder, "-p", "nccl_trace_rank_", "--allow-incomplete-ranks"])
    with contextlib.redirect_stdout(io.StringIO()):
        details, version = read_dir(args)
        database = build_db(details, args, version)
    for found in database.collectives:
        if found.missing_ranks:
            return {"ranks": sorted(found.missing_ranks), "kind": "missing"}
        if found.mismatch_collectives:
            kinds = {c.type_of_mismatch.state.name for c in found.mismatch_collectives.values() if c.type_of_mismatch}
            return {"ranks": sorted(found.mismatch_collectives), "kind": "/".join(sorted(kinds))}
    return {"ranks": [], "kind": "none"}


def main() -> None:
    """Print one object for all folders of the command line."""
    sys.stdout.write("RESULT " + json.dumps({folder: judged(folder) for folder in sys.argv[1:]}))


def judged(folder: str) -> dict[str, Any]:
    """Return the first mismatch, or how the analyser failed."""
    try:
        return first_mismatch(folder)
    except (AssertionError, KeyError, ValueError, IndexError) as crash:
        return {"ranks": [], "kind": f"crash {type(crash).__name__}"}


if __name__ == "__main__":
    main()
