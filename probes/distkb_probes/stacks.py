"""The stacks probe: takes the Python stacks of all ranks of a job, twice, without stopping or changing them.

Each rank is asked at its socket (`distkb_probes.serve`), else read with py-spy, else looked up in its tracer's file.
What the stacks mean is decided by distkb from these facts. Frames of the user's carry their line of code, read here
because this is the machine whose files they name. `distkb_probes.stack.nodes` runs this on every node of a job.
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
from distkb_probes.environment.processes import NoSuchProcessError, owner_of, user_name
from distkb_probes.environment.variables import mask_command
from distkb_probes.stack import nodes, permission, ranks, spy
from distkb_probes.stack.sources import with_sources
from distkb_probes.stack.take import STOPPED, Taken, again, recorders, take

APART_S = 1.0
"""Seconds between the two snapshots."""
_MOST_RANKS = 256
SCHEMA = "distkb.stacks/1"


def run(request: Mapping[str, Any], report: Report) -> None:
    """Take the stacks.

    `pids` name the job; without them all ranks of this user are taken, if they are of one job, inside a Slurm step
    those of its own. `via` (`slurm`, `pods`, `hosts`) asks every node of a job; there `every` takes all that is found.
    """
    deadline = time.monotonic() + float(request.get("deadline_s") or 30.0) - 1.0
    if request.get("via"):
        nodes.run(request, report, deadline)
        return
    report.stage("stacks.processes")
    table = Table()
    pids = tuple(int(pid) for pid in request.get("pids") or ())
    slurm = "" if pids else str(request.get("slurm") or os.environ.get("SLURM_JOB_ID") or "")
    try:
        found = ranks.find(pids, table, slurm)
    except NoSuchProcessError as missing:
        report.fail("no-such-process", str(missing.args[0]))
    if not pids:
        _hidden(ranks.unreadable(table, slurm), "stacks.environ-hidden", report)
        if not found:
            for pids_of_one in ranks.of_others(table).values():
                _hidden(pids_of_one, "stacks.others-ranks", report)
    if request.get("every"):
        found = [[rank for job in found for rank in job]] if found else []
    if len(found) > 1:
        listed = ", ".join(f"{job[0].pid} ({_script(table.words(job[0].pid))})" for job in found[:6])
        report.fail("stacks-several-jobs", listed)
    if not found:
        report.skip("stacks-no-ranks-in-job" if slurm else "stacks-no-ranks", slurm)
    job = found[0][:_MOST_RANKS]
    _missing(job, report)
    tool = spy.find_tool([str(path) for path in request.get("tools") or ()])
    report.fact("py_spy", tool)
    report.stage("stacks.dump", n=len(job))
    _take(job, tool, table, report, deadline, request)


def _script(words: list[str]) -> str:
    """Return the name of the script in a command, else what the command ends with."""
    return next((Path(word).name for word in words if word.endswith(".py")), mask_command(words)[-40:])[:60]


def _hidden(pids: Sequence[int], identity: str, report: Report) -> None:
    """Report processes that may be ranks and cannot be read."""
    if pids:
        owner = owner_of(pids[0])
        values = {"pids": " ".join(map(str, pids[:16])), "n": len(pids), "pid": pids[0], "host": socket.gethostname()}
        report.found(identity, values={**values, "owner": "?" if owner is None else user_name(owner)})


def _take(
    job: Sequence[ranks.Rank],
    tool: str | None,
    table: Table,
    report: Report,
    deadline: float,
    request: Mapping[str, Any],
) -> None:
    began = time.monotonic()
    before = {rank.pid: (ranks.cpu_seconds(rank.pid), ranks.queued_seconds(rank.pid)) for rank in job}
    found = take(job, tool, deadline)
    report.fact("capture_s", round(time.monotonic() - began, 3))
    left = APART_S - (time.monotonic() - began)
    live = any(one.way in ("socket", "ptrace") for one in found)
    if live and int(request.get("snapshots") or 2) > 1 and time.monotonic() + max(0.0, left) < deadline:
        time.sleep(max(0.0, left))
        again(found, tool, deadline)
    passed = time.monotonic() - began
    report.fact("seconds", round(passed, 2))
    known: dict[tuple[str, int], str] = {}
    dumps = []
    for one in found:
        if one.way is not None:
            one.snapshots = [with_sources(threads, one.rank.pid, known) for threads in one.snapshots]
            dumps.append(_document(one, _shares(one.rank.pid, *before[one.rank.pid], passed), table))
    report.fact("dumps", dumps)
    host = socket.gethostname()
    report.fact("taken", [_who(one.rank, host, way=one.way, passed=one.passed) for one in found if one.way])
    if request.get("recorders"):
        report.fact("recorders", [_who(rank, host, trace=trace) for rank, trace in recorders(found, deadline)])
    _say_unread([one for one in found if one.way is None], host, report)
    failed = {one.rank.pid: one.error for one in found if one.error}
    report.fact("failed", [{"pid": pid, "error": error} for pid, error in failed.items()])
    permission.report_failures(failed, report)
    lost = [one.rank.pid for one in found if one.way in (None, "trace")]
    if lost:
        permission.report_other_ways(lost, report)
        if tool is None:
            report.found("stacks.no-tool", values={"pid": lost[0]})
    if not dumps:
        report.skip("stacks-none-taken" if tool else "stacks-no-tool", next(iter(failed.values()), ""))


def _say_unread(lost: Sequence[Taken], host: str, report: Report) -> None:
    """Say of which ranks nothing is known, and of which of them it is that they are stopped."""
    report.fact("unread", [_who(one.rank, host, passed=one.passed) for one in lost])
    alike: dict[str, list[Taken]] = {}
    for one in lost:
        alike.setdefault(", ".join(one.passed), []).append(one)
        if ranks.state_of(one.rank.pid) in STOPPED:
            report.found("stacks.rank-stopped", values={"odd": _label(one.rank), "pids": one.rank.pid})
    for ways, some in alike.items():
        values = {"odd": ", ".join(_label(one.rank) for one in some), "host": host, "ways": ways}
        report.found("stacks.unread", values={**values, "pids": " ".join(str(one.rank.pid) for one in some)})


def _label(rank: ranks.Rank) -> str:
    return f"? (pid {rank.pid})" if rank.rank is None else str(rank.rank)


def _who(rank: ranks.Rank, host: str, **more: object) -> dict[str, Any]:
    return {"host": host, "pid": rank.pid, "rank": rank.rank, **more}


def _shares(pid: int, used: float | None, queued: float, seconds: float) -> dict[str, float | None]:
    """Return how much of one core a process used since, and how much it would have used alone on the machine."""
    share = ranks.share(used, ranks.cpu_seconds(pid), seconds)
    late = ranks.share(queued, ranks.queued_seconds(pid), seconds)
    return {"cpu": share, "wanted": None if share is None else round(share + (late or 0.0), 2)}


def _document(one: Taken, shares: Mapping[str, float | None], table: Table) -> dict[str, Any]:
    rank = one.rank
    return {
        "schema": SCHEMA,
        "rank": rank.rank,
        "pid": rank.pid,
        "host": socket.gethostname(),
        "world_size": rank.world_size,
        "local_world_size": rank.local_world_size,
        "job": rank.job,
        "command": mask_command(table.words(rank.pid)),
        "state": ranks.state_of(rank.pid),
        **shares,
        "written": ranks.written_bytes(rank.pid),
        "way": one.way,
        "time": round(time.time() if one.written is None else one.written, 3),
        "snapshots": one.snapshots,
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
