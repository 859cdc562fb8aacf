"""Says what forbids looking into a process, and which other ways there are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from distkb_probes._report import Report
from distkb_probes.environment.machine import container
from distkb_probes.environment.processes import PROC, owner_of, user_name
from distkb_probes.stack.spy import is_refusal

_CAP_SYS_PTRACE = 19
_SIGUSR1 = 10
DEBUG_PORT = 25999
"""Where torch.distributed.debug.start_debug_server listens on rank 0 by default (torch 2.13)."""
_LISTEN = "0A"
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def report_failures(failed: Mapping[int, str], report: Report) -> None:
    """Report why processes could not be looked into: the one setting that forbids it, where that can be told."""
    if not failed:
        report.clear("stacks.no-permission", "stacks.no-permission-user", "stacks.no-permission-yama")
        return
    denied = [pid for pid, error in failed.items() if is_refusal(error)]
    other = {pid: error for pid, error in failed.items() if pid not in denied}
    if denied:
        _report_denied(denied, report)
    if other:
        values = {"pids": _listed(other), "error": next(iter(other.values()))}
        report.found("stacks.not-taken", values=values)


def _report_denied(pids: Sequence[int], report: Report) -> None:
    values: dict[str, object] = {"pids": _listed(pids), "pid": pids[0], "n": len(pids)}
    owner = owner_of(pids[0])
    if owner is not None and owner != os.getuid() and os.getuid() != 0:
        values |= {"owner": user_name(owner), "user": user_name(os.getuid())}
        report.found("stacks.no-permission-user", values=values)
        return
    scope = yama()
    if scope not in (None, 0) and os.getuid() != 0:
        identity = "stacks.no-permission-yama-off" if scope == 3 else "stacks.no-permission-yama"
        report.found(identity, values={**values, "scope": scope or 0})
        return
    inside = container()
    report.fact("container", inside)
    report.fact("cap_sys_ptrace", has_capability())
    report.found("stacks.no-permission", values=values)


def report_other_ways(pids: Sequence[int], report: Report) -> None:
    """Report ways to the stacks without ptrace that these processes seem to have."""
    handling = [pid for pid in pids if os.getuid() in (0, owner_of(pid)) and handles(pid, _SIGUSR1)]
    if handling:
        report.found("stacks.signal-handler", values={"pids": " ".join(map(str, handling[:16]))})
    if listens(DEBUG_PORT):
        report.found("stacks.debug-server", values={"port": DEBUG_PORT})


def yama() -> int | None:
    """Return kernel.yama.ptrace_scope, None where the kernel has no Yama."""
    try:
        return int(YAMA.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def has_capability() -> bool | None:
    """Return whether this process has CAP_SYS_PTRACE."""
    effective = _status(os.getpid(), "CapEff")
    return None if effective is None else bool(effective >> _CAP_SYS_PTRACE & 1)


def handles(pid: int, number: int) -> bool:
    """Return whether a process has a handler of its own for a signal: the signal would not end it."""
    caught = _status(pid, "SigCgt")
    return caught is not None and bool(caught >> (number - 1) & 1)


def listens(port: int) -> bool:
    """Return whether someone listens on a TCP port of this machine (proc(5), /proc/net/tcp)."""
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), (PROC / "net" / name).open(encoding="ascii", errors="replace") as table:
            for line in table:
                fields = line.split()
                if len(fields) > 3 and fields[1].endswith(wanted) and fields[3] == _LISTEN:
                    return True
    return False


def _status(pid: int, name: str) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1], 16)
    return None


def _listed(pids: Iterable[int]) -> str:
    return " ".join(str(pid) for pid in list(pids)[:16])
