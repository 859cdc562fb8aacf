"""The stacks probe: takes the Python stacks of all ranks on this machine, twice, without stopping or changing them.

What they mean is decided by distkb from these facts. Frames of the user's carry their line of code, read here because
this is the machine whose files they name.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.environment.launch import Table
from distkb_probes.environment.processes import NoSuchProcessError
from distkb_probes.environment.variables import mask_command
from distkb_probes.stack import permission, ranks, spy
from distkb_probes.stack.sources import with_sources

APART_S = 1.0
"""Seconds between the two snapshots."""
_MOST_RANKS = 256
SCHEMA = "distkb.stacks/1"


def run(request: Mapping[str, Any], report: Report) -> None:
    """Take the stacks. `pids` name the job; without it all ranks of this user are taken, if they are of one job."""
    deadline = time.monotonic() + float(request.get("deadline_s") or 30.0) - 1.0
    report.stage("stacks.processes")
    table = Table()
    try:
        found = ranks.find(tuple(int(pid) for pid in request.get("pids") or ()), table)
    except NoSuchProcessError as missing:
        report.fail("no-such-process", str(missing.args[0]))
    if len(found) > 1:
        listed = ", ".join(f"{job[0].pid} ({_script(table.words(job[0].pid))})" for job in found[:6])
        report.fail("stacks-several-jobs", listed)
    if not found:
        report.skip("stacks-no-ranks")
    job = found[0][:_MOST_RANKS]
    _missing(job, report)
    tool = spy.find_tool([str(path) for path in request.get("tools") or ()])
    if tool is None:
        permission.report_other_ways([rank.pid for rank in job], report)
        report.found("stacks.no-tool", values={"pid": job[0].pid})
        report.skip("stacks-no-tool")
    report.fact("py_spy", tool)
    report.stage("stacks.dump", n=len(job))
    _take(job, tool, table, report, deadline)


def _script(words: list[str]) -> str:
    """Return the name of the script in a command, else what the command ends with."""
    return next((Path(word).name for word in words if word.endswith(".py")), mask_command(words)[-40:])[:60]


def _take(job: Sequence[ranks.Rank], tool: str, table: Table, report: Report, deadline: float) -> None:
    pids = [rank.pid for rank in job]
    began = time.monotonic()
    before = {pid: ranks.cpu_seconds(pid) for pid in pids}
    first = spy.dump_all(tool, pids, deadline)
    taken = [pid for pid in pids if first[pid].threads is not None]
    second: dict[int, spy.Taken] = {}
    left = APART_S - (time.monotonic() - began)
    if taken and time.monotonic() + max(0.0, left) < deadline:
        time.sleep(max(0.0, left))
        second = spy.dump_all(tool, taken, deadline)
    passed = time.monotonic() - began
    report.fact("seconds", round(passed, 2))
    known: dict[tuple[str, int], str] = {}
    dumps = []
    for rank in job:
        snapshots = [t.threads for t in (first.get(rank.pid), second.get(rank.pid)) if t is not None and t.threads]
        if snapshots:
            share = ranks.share(before[rank.pid], ranks.cpu_seconds(rank.pid), passed)
            dumps.append(_document(rank, [with_sources(s, rank.pid, known) for s in snapshots], share, table))
    report.fact("dumps", dumps)
    failed = {pid: one.error for pid, one in first.items() if one.threads is None}
    report.fact("failed", [{"pid": pid, "error": error} for pid, error in failed.items()])
    permission.report_failures(failed, report)
    if not dumps:
        permission.report_other_ways(pids, report)
        report.skip("stacks-none-taken", next(iter(failed.values()), ""))


def _document(rank: ranks.Rank, snapshots: list[Any], cpu: float | None, table: Table) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "rank": rank.rank,
        "pid": rank.pid,
        "host": socket.gethostname(),
        "world_size": rank.world_size,
        "local_world_size": rank.local_world_size,
        "command": mask_command(table.words(rank.pid)),
        "state": ranks.state_of(rank.pid),
        "cpu": cpu,
        "time": round(time.time(), 3),
        "snapshots": snapshots,
    }


def _missing(job: Sequence[ranks.Rank], report: Report) -> None:
    """Report ranks that torchrun started here and that are no longer there."""
    here = {rank.rank for rank in job if rank.rank is not None}
    expected = {number for rank in job for number in rank.expected}
    gone = sorted(expected - here)
    if gone and here:
        report.found(
            "stacks.rank-missing",
            values={"missing": ", ".join(map(str, gone)), "n": len(here), "of": len(expected)},
        )
    elif expected:
        report.clear("stacks.rank-missing")
    report.fact("own_pid", os.getpid())
