"""Carries out checks: collects on this rank, lets the ranks compare, returns and reports the result."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb_probes.live._check import Check
from distkb_probes.live._exchange import Judge, Meeting, Met, Sheet
from distkb_probes.live._output import publish
from distkb_probes.live._result import Findings, finding, received

COLLECTING = 0.5
"""Part of the time that reading this rank's own state may take; the rest is for the exchange."""
_HERE = str(Path(__file__).parent)
_stuck: threading.Thread | None = None
_one_at_a_time = threading.Lock()
MEETING_IDS = ("live.rank-missing", "live.came-late", "live.store-lost", "live.device-busy", "live.check-failed")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where this process stands."""

    rank: int
    ranks: tuple[int, ...]
    store: Any
    reason: str | None


def run(
    name: str,
    make: Callable[[float], Sequence[Check]],
    *,
    group: Any = None,
    timeout: float = 30.0,
    report: bool = True,
    save: str | Path | None = None,
) -> Findings:
    """Carry out checks among the ranks of a group and return what all of them see.

    `make` gets the time (`time.monotonic`) until which reading this rank's state may take. Never raises because of the
    job's state: what goes wrong is a finding or a reason.
    """
    began = time.monotonic()
    try:
        with _one_at_a_time:
            result, first = _carry_out(name, make, place_of(group), began, timeout)
    except Exception as error:  # noqa: BLE001 - a check is a guest in the job
        raw = finding("live.check-failed", values={"check": name, "error": f"{type(error).__name__}: {error}"})
        result, first = Findings(name, (received(raw),), reason="error"), True
    result = dataclasses.replace(result, elapsed_s=round(time.monotonic() - began, 3))
    publish(result, first=first, report=report, save=save)
    return result


def _carry_out(
    name: str, make: Callable[[float], Sequence[Check]], place: Place, began: float, timeout: float
) -> tuple[Findings, bool]:
    """Return the result, and whether this rank is the one to report it."""
    if place.reason == "not-in-group":
        return Findings(name, reason=place.reason), False
    limit = began + timeout * COLLECTING
    busy = _wait_for_device(limit)
    checks, sheets = _collected(make, limit, busy=busy)
    judge = _judge(checks)
    met = problem = None
    if place.store is not None and len(place.ranks) > 1:
        meeting = Meeting(place.store, name, place.rank, place.ranks, max(1.0, timeout - (time.monotonic() - began)))
        met, problem = _hold(meeting, sheets, judge, f"live.{name} at {_caller()}")
    if met is None:
        verdict = judge.verdict({place.rank: sheets.summary}, {place.rank: sheets.detail})
    else:
        verdict = met.verdict or {"findings": [], "facts": {}, "clear": []}
    result = _result(name, verdict, place, met, problem, timeout)
    return result, _reports(place, met, found=not result.ok)


def place_of(group: Any) -> Place:
    """Find out rank, members and store without starting anything."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is None or not c10d.is_initialized():
        rank = int(os.environ.get("RANK", "0")) if os.environ.get("RANK", "0").isdigit() else 0
        return Place(rank, (rank,), None, "not-initialised")
    rank = c10d.get_rank()
    if group is not None and c10d.get_rank(group) < 0:
        return Place(rank, (rank,), None, "not-in-group")
    ranks = tuple(c10d.get_process_group_ranks(group if group is not None else c10d.GroupMember.WORLD))
    if c10d.get_backend() == "fake":
        return Place(rank, (rank,), None, "fake-group")
    try:
        store = c10d._get_default_store()  # noqa: SLF001 - torch's own way to the store of the job
    except (RuntimeError, ValueError, KeyError):
        store = None
    return Place(rank, ranks, store, None if store is not None else "no-store")


def who(group: Any) -> tuple[int, int]:
    """Return this process's number among those that compare themselves, and how many these are."""
    place = place_of(group)
    return (place.ranks.index(place.rank) if len(place.ranks) > 1 else place.rank), len(place.ranks)


def _wait_for_device(limit: float) -> bool:
    """Wait until this rank's GPU has done the work queued so far. True where it has not by the limit, or is capturing.

    Reading a tensor behind a collective that never ends would block for good; an event can be asked instead.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return False
    try:
        if torch.cuda.is_current_stream_capturing():
            return True
        event = torch.cuda.Event()
        event.record()
        pause = 0.0005
        while not event.query():
            if time.monotonic() > limit:
                return True
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)
    except RuntimeError:  # an earlier CUDA error shows here; the job will meet it itself
        return True
    return False


def _collected(make: Callable[[float], Sequence[Check]], limit: float, *, busy: bool) -> tuple[list[Check], Sheet]:
    """Read this rank's state. What fails is noted, so that the other ranks are not left waiting."""
    sheets: dict[str, Sheet] = {}
    errors: dict[str, str] = {}
    checks: list[Check] = []
    try:
        checks = list(make(time.monotonic() if busy else limit))
    except Exception as error:  # noqa: BLE001 - whatever it is, the ranks must still meet
        errors["arguments"] = f"{type(error).__name__}: {error}"
    for check in checks:
        sheet = _attempt(check, errors)
        if sheet is not None:
            sheets[check.name] = sheet
    summary = {name: sheet.summary for name, sheet in sheets.items()}
    detail = {name: sheet.detail for name, sheet in sheets.items() if sheet.detail is not None}
    return checks, Sheet({"checks": summary, "errors": errors, "busy": busy}, detail)


def _attempt(check: Check, errors: dict[str, str]) -> Sheet | None:
    """Return what a check reads, or note why it could not: it reads private parts of every version of torch."""
    try:
        return check.collect()
    except Exception as error:  # noqa: BLE001 - one that fails must not take the others along
        errors[check.name] = f"{type(error).__name__}: {error}"
        return None


def _judge(checks: Sequence[Check]) -> Judge:
    def wants(summaries: dict[int, Any]) -> list[int]:
        wanted: set[int] = set()
        for check in checks:
            if mine := _of(check.name, summaries):
                wanted.update(check.wants(mine))
        return sorted(wanted)

    def verdict(summaries: dict[int, Any], details: dict[int, Any]) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        facts: dict[str, Any] = {}
        clear: list[str] = []
        errors = {f"{rank} {name}": text for rank, s in summaries.items() for name, text in s["errors"].items()}
        for check in checks:
            mine = _of(check.name, summaries)
            if not mine:
                continue
            told = {rank: detail[check.name] for rank, detail in details.items() if detail.get(check.name) is not None}
            try:
                items, facts[check.name] = check.judge(mine, told)
            except Exception as error:  # noqa: BLE001 - the other ranks wait for a verdict
                errors[f"{min(summaries)} {check.name}"] = f"{type(error).__name__}: {error}"
                continue
            found += items
            ids = {item["id"] for item in items}
            clear += [identity for identity in check.ids if identity not in ids]
        found += _failures(errors)
        busy = [rank for rank, summary in summaries.items() if summary["busy"]]
        if busy:
            found.append(finding("live.device-busy", ranks=busy, values={"others": len(summaries) - len(busy)}))
        return {"findings": found, "facts": facts, "clear": clear}

    return Judge(wants, verdict)


def _of(name: str, summaries: Mapping[int, Any]) -> dict[int, Any]:
    return {rank: summary["checks"][name] for rank, summary in summaries.items() if name in summary["checks"]}


def _failures(errors: Mapping[str, str]) -> list[dict[str, Any]]:
    if not errors:
        return []
    first = next(iter(errors))
    name = first.split(" ", 1)[1]
    evidence = [f"rank {where}: {text}" for where, text in list(errors.items())[:8]]
    ranks = {int(where.split(" ", 1)[0]) for where in errors}
    values = {"check": name, "error": errors[first]}
    return [finding("live.check-failed", ranks=ranks, evidence=evidence, values=values)]


def _hold(meeting: Meeting, sheet: Sheet, judge: Judge, where: str) -> tuple[Met | None, str | None]:
    """Hold the meeting in a thread of its own: a store that does not answer must not stop the job."""
    global _stuck  # noqa: PLW0603 - one store, one connection: a second thread would wait for the first
    if _stuck is not None and _stuck.is_alive():
        return None, "an earlier request to the store has not come back"
    done: list[Met] = []
    failed: list[str] = []

    def work() -> None:
        try:
            done.append(meeting.hold(sheet, judge, where))
        except Exception as error:  # noqa: BLE001 - every kind of store has errors of its own
            failed.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=work, name="distkb-live", daemon=True)
    thread.start()
    thread.join(meeting.timeout + 0.2)
    if done:
        return done[0], None
    if thread.is_alive():
        _stuck = thread
        return None, f"the store has not answered for {meeting.timeout:.0f} s"
    return None, failed[0]


def _result(
    name: str, verdict: Mapping[str, Any], place: Place, met: Met | None, problem: str | None, timeout: float
) -> Findings:
    found = [received(item) for item in verdict["findings"]]
    reason = place.reason
    if met is not None and met.verdict is None and not met.late and not met.missing:
        problem = "no rank has given a verdict"
    if problem is not None:
        reason = "store-lost"
        found.insert(0, received(finding("live.store-lost", ranks=[place.rank], values={"error": problem})))
    if met is not None and met.late:
        reason = "came-late"
        found.insert(0, received(finding("live.came-late", ranks=[place.rank], values={"check": name})))
    elif met is not None and met.missing:
        reason = "ranks-missing"
        evidence = [f"rank {rank}: last called {where}" for rank, where in met.last_seen.items()]
        others = len(place.ranks) - len(met.missing)
        values = {"check": name, "timeout": f"{timeout:g}", "others": others}
        found.insert(0, received(finding("live.rank-missing", ranks=met.missing, evidence=evidence, values=values)))
    ids = {item.id for item in found}
    clear = (*verdict["clear"], *(identity for identity in MEETING_IDS if identity not in ids))
    return Findings(name, tuple(found), verdict["facts"], clear, reason)


def _reports(place: Place, met: Met | None, *, found: bool) -> bool:
    """True on the one rank that prints and saves: the first of the group, or the leader where that one is missing.

    Ranks that could not compare speak for themselves.
    """
    if met is None:
        return found or place.rank == 0
    if met.late:
        return False
    return place.rank == (met.leader if place.ranks[0] in met.missing else place.ranks[0])


def _caller() -> str:
    """Return file and line of the user's code that called the check."""
    frame = sys._getframe()  # noqa: SLF001 - inspect costs much more
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
