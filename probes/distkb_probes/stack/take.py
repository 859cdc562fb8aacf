"""Takes the stacks of ranks: at their socket first, then with py-spy, then from what their tracers wrote."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from distkb_probes.environment.processes import own_number, owner_of
from distkb_probes.stack import ask, spy, written
from distkb_probes.stack.ranks import Rank, state_of

Way = Literal["socket", "ptrace", "trace"]
_MOST_AT_ONCE = 32
STOPPED = frozenset("Tt")


@dataclass
class Taken:
    """What was taken of one rank."""

    rank: Rank
    way: Way | None = None
    passed: list[str] = field(default_factory=list)
    """Ways that did not work, each `way:code`, in the order in which they were tried."""
    snapshots: list[list[dict[str, Any]]] = field(default_factory=list)
    written: float | None = None
    """When the tracer wrote it."""
    error: str = ""
    """What py-spy said."""
    seconds: float = 0.0
    """From the first question to the answer."""


def take(job: Sequence[Rank], tool: str | None, deadline: float) -> list[Taken]:
    """Take one snapshot of every rank; `deadline` is a moment of time.monotonic."""
    began = time.monotonic()
    found = [Taken(rank) for rank in job]
    _each(found, lambda one: _from_socket(one, deadline))
    silent = [one for one in found if one.way is None]
    if tool is None:
        for one in silent:
            one.passed.append("ptrace:no-tool")
    else:
        dumped = spy.dump_all(tool, [one.rank.pid for one in silent], deadline)
        for one in silent:
            _from_spy(one, dumped[one.rank.pid])
    for one in found:
        if one.way is None:
            _from_trace(one)
        one.seconds = one.seconds or time.monotonic() - began
    return found


def again(found: Sequence[Taken], tool: str | None, deadline: float) -> None:
    """Add a second snapshot where the first one was of this moment."""

    def ask_again(one: Taken) -> None:
        answer = ask.stacks(one.rank.pid, _owner(one), _left(deadline))
        if answer.threads is not None:
            one.snapshots.append(answer.threads)

    _each([one for one in found if one.way == "socket"], ask_again)
    spied = [one for one in found if one.way == "ptrace"]
    if tool is not None and spied:
        dumped = spy.dump_all(tool, [one.rank.pid for one in spied], deadline)
        for one in spied:
            threads = dumped[one.rank.pid].threads
            if threads is not None:
                one.snapshots.append(threads)


def recorders(found: Sequence[Taken], deadline: float) -> list[tuple[Rank, dict[str, Any]]]:
    """Return the flight recorders of the ranks that have a socket; larger ones than an answer can hold are left out."""
    kept: dict[int, dict[str, Any]] = {}
    most = ask.MOST_RECORDER // max(1, len(found))

    def ask_for_it(one: Taken) -> None:
        trace = ask.flight_recorder(one.rank.pid, _owner(one), _left(deadline), most)
        if trace is not None:
            kept[one.rank.pid] = trace

    _each([one for one in found if one.way == "socket" or "socket:gil" in one.passed], ask_for_it)
    return [(one.rank, kept[one.rank.pid]) for one in found if one.rank.pid in kept]


def _each(found: Sequence[Taken], action: Any) -> None:
    if found:
        with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(found))) as pool:
            list(pool.map(action, found))


def _from_socket(one: Taken, deadline: float) -> None:
    began = time.monotonic()
    if state_of(one.rank.pid) in STOPPED:
        one.passed.append("socket:stopped")
        return
    answer = ask.stacks(one.rank.pid, _owner(one), _left(deadline))
    if answer.threads is None:
        one.passed.append(f"socket:{answer.code}")
        return
    one.way = "socket"
    one.snapshots.append(answer.threads)
    one.seconds = time.monotonic() - began


def _from_spy(one: Taken, dumped: spy.Taken) -> None:
    if dumped.threads is not None:
        one.way = "ptrace"
        one.snapshots.append(dumped.threads)
        return
    one.error = dumped.error
    code = "denied" if spy.is_refusal(dumped.error) else "timeout" if dumped.error == "timeout" else "error"
    one.passed.append(f"ptrace:{code}")


def _from_trace(one: Taken) -> None:
    threads, moment, code = written.last_stacks(one.rank.pid, own_number(one.rank.pid))
    if threads is None:
        one.passed.append(f"trace:{code}")
        return
    one.way = "trace"
    one.snapshots.append(threads)
    one.written = moment


def _owner(one: Taken) -> int:
    owner = owner_of(one.rank.pid)
    return -1 if owner is None else owner


def _left(deadline: float) -> float:
    return max(0.05, min(ask.ANSWER_S, deadline - time.monotonic()))
