"""From how the smoke test ended to findings: which stage, which rank, and what that means."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from typing import Any

from distkb_probes._report import Report
from distkb_probes.communication.bandwidth import slow_rank
from distkb_probes.communication.known import first_error, is_echo, known, port_of
from distkb_probes.communication.marks import STAGES, Seen
from distkb_probes.communication.nodes import Nodes, listens, split
from distkb_probes.communication.plan import Plan
from distkb_probes.communication.watch import Outcome

_LINES = 3
"""Last lines of a rank's output that are quoted."""
_SILENT_S = 3.0
"""A rank that has shown no sign of life for so long, while others have, is stopped, cut off or stuck in the kernel."""
_SLOW_NETWORK_GBS, _SLOW_LINK_GBS = 0.15, 1.0
"""Bus bandwidth below which GPUs of several nodes talk over 1 Gbit/s Ethernet, and those of one over a broken path."""
_LARGE = 16 << 20

CLEARED = (
    "allreduce.hang",
    "allreduce.stuck-together",
    "allreduce.rank-missing",
    "allreduce.rank-stopped",
    "allreduce.rank-killed",
    "allreduce.rank-died",
    "allreduce.failed",
    "allreduce.launch-failed",
    "allreduce.wrong-result",
    "allreduce.address-in-use",
    "allreduce.unresolvable",
    "allreduce.unreachable",
    "allreduce.no-interface",
)
"""What a test that passed all stages has shown to be absent."""
_CLEARED_ON_GPUS = ("allreduce.duplicate-gpu", "allreduce.device-ordinal", "allreduce.too-few-gpus", "allreduce.no-gpu")
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit codes of a process under SIGKILL, seen by its parent and by a shell."""


def conclude(plan: Plan, outcome: Outcome, report: Report, nodes: Nodes | None = None) -> None:
    """Put the facts and the findings into the report."""
    _facts(plan, outcome, report, nodes)
    wrong = _wrong_results(outcome, report)
    if outcome.end == "done":
        _passed(plan, outcome, report, wrong=wrong)
        return
    if outcome.end == "late":
        report.fail("deadline", f"{plan.deadline_s:.0f}")
    if not _ended_by_error(outcome, report) and not _ended_by_death(outcome, report):
        if not outcome.board.ranks:
            _never_started(plan, outcome, report, nodes)
        elif outcome.end == "ended":
            _launcher_ended(outcome, report)
        else:
            _stands_still(outcome, report)


def _facts(plan: Plan, outcome: Outcome, report: Report, nodes: Nodes | None) -> None:
    board = outcome.board
    ranks = [seen for _, seen in sorted(board.ranks.items())]
    report.fact("world_size", max((seen.world for seen in ranks), default=plan.nproc * plan.nnodes))
    report.fact("stage", outcome.stage)
    for name in ("backend", "torch_version", "nccl_version", "correctness"):
        report.fact(name, board.said(name))
    report.fact("hosts", _once([*(seen.host for seen in ranks if seen.host), *(nodes.hosts if nodes else ())]))
    report.fact("devices", [seen.said.get("device", "") for seen in ranks if seen.local])
    report.fact("sizes", board.said("sizes") or [])


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _passed(plan: Plan, outcome: Outcome, report: Report, *, wrong: bool) -> None:
    if not wrong:
        report.clear(*CLEARED)
        if outcome.board.said("nccl_version"):
            report.clear(*_CLEARED_ON_GPUS)
        if plan.nnodes > 1:
            report.clear("allreduce.node-missing")
    world = max(seen.world for seen in outcome.board.ranks.values())
    if world == 1:
        report.found("allreduce.one-rank")
        return
    slow = slow_rank(outcome.board.said("entries") or [])
    if slow:
        report.found("allreduce.slow-rank", values={"rank": slow[0], "times": f"{slow[1]:.0f}"})
    else:
        report.clear("allreduce.slow-rank")
    _speed(outcome, report)


def _speed(outcome: Outcome, report: Report) -> None:
    """Judge bandwidth only where GPUs are tested and the figure is far outside of what hardware can explain."""
    board = outcome.board
    points = [p for p in board.said("sizes") or [] if p["op"] == "all_reduce" and p["bytes"] >= _LARGE]
    if not points or not board.said("nccl_version"):
        return
    best = max(float(point["busbw_gbs"]) for point in points)
    hosts = {seen.host for seen in board.ranks.values()}
    identity, limit = (
        ("allreduce.slow-network", _SLOW_NETWORK_GBS) if len(hosts) > 1 else ("allreduce.slow-link", _SLOW_LINK_GBS)
    )
    if best < limit:
        report.found(identity, values={"busbw": f"{best:.2f}"})
    else:
        report.clear(identity)


def _wrong_results(outcome: Outcome, report: Report) -> bool:
    """Report each operation with a wrong result once, by the rank whose contribution is wrong."""
    seen: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for rank, told in sorted(outcome.board.ranks.items()):
        for item in told.wrong:
            seen.setdefault((item["op"], item["contributor"]), []).append({**item, "rank": rank})
    for (op, contributor), items in seen.items():
        report.found(
            "allreduce.wrong-result",
            values={"op": op, "contributor": contributor, "ranks": _list(item["rank"] for item in items)},
            quotes=[{"text": f"{op}: {item['got']} != {item['expected']}", "rank": item["rank"]} for item in items[:4]],
        )
    return bool(seen)


def _ended_by_error(outcome: Outcome, report: Report) -> bool:
    """Report the first rank that raised an error of its own; errors about a rank that has gone are echoes."""
    if any(code in _KILLED for code in outcome.exits.values()):
        return False  # nothing of ours kills like this: whatever the others print came after it
    failed = [seen for seen in outcome.board.ranks.values() if seen.error]
    own = [seen for seen in failed if not is_echo(f"{seen.error} {' '.join(seen.trace)}")]
    if not own and (outcome.exits or not failed):
        return False
    first = min(own or failed, key=lambda seen: seen.failed_at or float("inf"))
    _report_error(first, outcome, report)
    return True


def _report_error(seen: Seen, outcome: Outcome, report: Report) -> None:
    lines = [seen.error, *seen.trace, *outcome.output.get(seen.rank, [])]
    values = {"rank": seen.rank, "stage": seen.stage, "host": seen.host, "error": seen.error, "port": port_of(lines)}
    found = known(lines)
    told = _once([found[1], seen.error]) if found else [*seen.trace[:4]]
    quotes = [{"text": line, "rank": seen.rank} for line in told]
    report.found(found[0] if found else "allreduce.failed", values=values, quotes=quotes)


def _ended_by_death(outcome: Outcome, report: Report) -> bool:
    """Report the ranks that ended without an error of their own."""
    for rank, code in sorted(outcome.exits.items()):
        seen = outcome.board.ranks[rank]
        values = {"rank": rank, "host": seen.host, "pid": seen.pid, "stage": seen.stage}
        quotes: list[dict[str, Any]] = [{"text": line, "rank": rank} for line in outcome.output.get(rank, [])[-_LINES:]]
        quotes += [{"text": line} for line in outcome.launcher if f"(pid: {seen.pid})" in line][:1]
        found = known(outcome.output.get(rank, []))
        if found:
            report.found(found[0], values={**values, "error": found[1], "port": port_of([found[1]])}, quotes=quotes)
        elif code in _KILLED:
            report.found("allreduce.rank-killed", values=values, quotes=quotes)
        else:
            report.found("allreduce.rank-died", values={**values, "how": _how(code)}, quotes=quotes)
    return bool(outcome.exits)


def _how(code: int | None) -> str:
    if code is None:
        return "exit code unknown"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _never_started(plan: Plan, outcome: Outcome, report: Report, nodes: Nodes | None) -> None:
    """Nothing of the job has run: the launcher failed, or the other nodes have not come."""
    found = known(outcome.launcher)
    error = first_error(outcome.launcher)
    quotes = [{"text": line} for line in outcome.launcher[-_LINES:] if line.strip() != error]
    if nodes is not None and 0 < len(nodes.hosts) < plan.nnodes:
        report.found(
            "allreduce.node-missing",
            values={
                "came": len(nodes.hosts),
                "nnodes": plan.nnodes,
                "hosts": ", ".join(nodes.hosts),
                "stage": "rendezvous",
                "endpoint": plan.endpoint or "",
                "nproc": plan.nproc,
                "id": plan.run,
            },
            quotes=quotes,
        )
        report.fact("stage", "rendezvous")
    elif plan.endpoint and nodes is not None and nodes.tried and not nodes.hosts:
        _no_store(plan.endpoint, known(outcome.launcher), report, quotes)
    elif found:
        values = {
            "rank": "-",
            "stage": "rendezvous",
            "host": "localhost",
            "error": found[1],
            "port": port_of([found[1]]),
        }
        report.found(found[0], values=values, quotes=[{"text": found[1]}, *quotes])
        report.fact("stage", "rendezvous")
    else:
        identity = "allreduce.launch-failed" if outcome.end == "ended" else "allreduce.launch-hang"
        report.found(identity, values={"error": error or "-", "seconds": f"{outcome.waited_s:.0f}"}, quotes=quotes)


def _no_store(endpoint: str, found: tuple[str, str] | None, report: Report, quotes: Sequence[dict[str, Any]]) -> None:
    """Say why the endpoint's store could not be used: somebody else listens there, nobody does, or a wrong name."""
    report.fact("stage", "rendezvous")
    problem = listens(endpoint)
    values = {"rank": "-", "stage": "rendezvous", "host": endpoint, "port": str(split(endpoint)[1])}
    if problem is None:
        values["host"] = split(endpoint)[0]
        report.found("allreduce.address-in-use", values={**values, "error": "-"}, quotes=quotes)
        return
    identity = (known([problem]) or found or ("", ""))[0]
    if identity != "allreduce.unresolvable":
        identity = "allreduce.endpoint-unreachable"
    report.found(identity, values={**values, "error": problem}, quotes=[{"text": problem}, *quotes])


def _launcher_ended(outcome: Outcome, report: Report) -> None:
    """The launcher ended and no rank has said why."""
    error = first_error(outcome.launcher)
    if outcome.code is not None and outcome.code < 0:
        error = f"torchrun: {_how(outcome.code)}"
    values = {"error": error or "-", "seconds": f"{outcome.waited_s:.0f}"}
    report.found(
        "allreduce.launch-failed", values=values, quotes=[{"text": line} for line in outcome.launcher[-_LINES:]]
    )


def _stands_still(outcome: Outcome, report: Report) -> None:
    """Nothing moves: say who waits where, and for whom."""
    ranks = outcome.board.ranks
    world = max((seen.world for seen in ranks.values()), default=len(ranks))
    absent = _absent(outcome, world)
    if outcome.stage == "store" and 0 not in ranks:
        _no_answer(outcome, report)
        return
    if absent and outcome.stage == "rendezvous":
        here = [rank for rank in range(world) if rank not in absent]
        if not set(absent) & set(ranks):
            values = {"missing": _list(absent), "world": world, "reached": _list(here), "stage": outcome.stage}
            report.found("allreduce.rank-missing", values=values)
            return
    front = max(seen.position for seen in ranks.values())
    stopped = [seen for seen in ranks.values() if _is_stopped(seen, outcome)]
    behind = sorted({*absent, *(seen.rank for seen in ranks.values() if seen.position < front)})
    missing = sorted({seen.rank for seen in stopped}) or behind
    reached = [rank for rank in sorted(ranks) if rank not in missing]
    values = {
        "stage": outcome.stage,
        "at": _last(max(ranks.values(), key=lambda seen: seen.position)),
        "missing": _list(missing),
        "reached": _list(reached) or "-",
        "last": _list(dict.fromkeys(_last(ranks.get(rank)) for rank in missing)),
        "seconds": f"{outcome.waited_s:.0f}",
        "world": world,
    }
    if missing:
        report.found("allreduce.hang", values=values, quotes=_quotes(outcome, [*missing, *reached[:1]]))
    else:
        report.found("allreduce.stuck-together", values=values, quotes=_quotes(outcome, reached))
    for seen in stopped:
        if outcome.states.get(seen.rank) in ("T", "t"):
            report.found("allreduce.rank-stopped", values={"rank": seen.rank, "pid": seen.pid, "host": seen.host})


def _no_answer(outcome: Outcome, report: Report) -> None:
    """The ranks of this node are trying to reach the store, and rank 0, which serves it, is not among them."""
    seen = next(seen for _, seen in sorted(outcome.board.ranks.items()) if seen.stage == "store")
    address = str(outcome.board.said("store"))
    error = f"no answer from {address} within {outcome.waited_s:.0f} s"
    values = {"rank": seen.rank, "host": seen.host, "stage": "store", "error": error, "port": port_of([address])}
    report.found("allreduce.unreachable", values=values, quotes=[{"text": error, "rank": seen.rank}])


def _absent(outcome: Outcome, world: int) -> list[int]:
    """Return the ranks that no rank has heard of, by the roll call and by who has a file."""
    named = [set(seen.absent) for seen in outcome.board.ranks.values() if seen.absent]
    if named and outcome.stage == "rendezvous":
        return sorted(set.intersection(*named))
    if all(seen.local for seen in outcome.board.ranks.values()) and len(outcome.board.ranks) < world:
        here = {seen.host for seen in outcome.board.ranks.values()}
        return [] if len(here) > 1 else [rank for rank in range(world) if rank not in outcome.board.ranks]
    return []


def _is_stopped(seen: Seen, outcome: Outcome) -> bool:
    if seen.local and outcome.states.get(seen.rank) in ("T", "t"):
        return True
    alive = max(other.alive_at for other in outcome.board.ranks.values())
    return alive - seen.alive_at > _SILENT_S and not seen.done


def _last(seen: Seen | None) -> str:
    if seen is None:
        return STAGES[0]
    return f"{seen.stage}: {seen.call}" if seen.call else seen.stage


def _quotes(outcome: Outcome, ranks: Sequence[int]) -> list[dict[str, Any]]:
    quotes: list[dict[str, Any]] = []
    for rank in ranks[:4]:
        if rank in outcome.stacks:
            quotes.append({"text": outcome.stacks[rank], "rank": rank})
        quotes += [{"text": line, "rank": rank} for line in outcome.output.get(rank, [])[-_LINES:]]
    return quotes


def _list(values: Iterable[object]) -> str:
    """Return things as people list them; more than eight numbers as the first eight and how many there are."""
    held = [str(value) for value in values]
    return ", ".join(held) if len(held) <= 8 else f"{', '.join(held[:8])}, … ({len(held)})"
