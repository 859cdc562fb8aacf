"""The environment probe: collects what a distributed run on this machine would see, or what a live one sees.

Everything here is collected, nothing judged: what it means is decided by distkb from these facts.
"""

from __future__ import annotations

import getpass
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.environment import gpus, interfaces, machine, names, nccl_files, sockets, variables, versions
from distkb_probes.environment.launch import Table, find_launch, is_launcher
from distkb_probes.environment.processes import (
    HiddenProcessError,
    NoSuchProcessError,
    brief,
    describe,
    environment_of,
    user_name,
    waits_for_a_file,
    waits_in_the_kernel,
)

DEFAULT_PORT = 29500
"""The port of torchrun's static rendezvous and of accelerate where none is given."""
_MOST_RANKS = 256


def run(request: Mapping[str, Any], report: Report) -> None:
    """Collect the facts. `pids` looks at a live launch; without it, at the environment this process was given."""
    live = bool(request.get("pids"))
    report.stage("env.start")
    torch = versions.TorchAsked() if not live and _has_torch() else None
    devices = gpus.GpusAsked()
    report.fact("request", {key: request.get(key) for key in ("nproc", "nnodes", "script")})
    seen = _live_launch(request["pids"], report) if live else _own_environment(report)
    report.fact("host", _host())
    report.fact("machine", _machine())
    _network(seen.environment, report)
    if request.get("port", True):  # of the tasks on one node one tries it: they would be in each other's way
        report.fact("port", _port(seen, live=live))
    answer = devices.answer()
    report.fact("gpus", answer.pop("gpus"))
    report.fact("gpu_source", answer)
    if live:
        said, known = versions.of_process(seen.first)
    else:
        report.stage("env.torch")
        said = {"state": "missing"} if torch is None else torch.answer()
        known = versions.joined(versions.installed(), said)
    report.fact("torch", said)
    report.fact("versions", known)


@dataclass(frozen=True)
class _Seen:
    """The environment that is judged, and what belongs to its launch."""

    environment: dict[str, str]
    """Not masked: only for looking things up."""
    ours: frozenset[int]
    """Processes of the launch, its launchers included."""
    first: dict[str, Any] = field(default_factory=dict)
    """What is known of the first rank of a live launch."""
    net: Path | None = None
    """The /proc directory of the first rank's network, where that is not ours."""


def _has_torch() -> bool:
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def _own_environment(report: Report) -> _Seen:
    report.fact("environment", variables.select(os.environ))
    report.fact("environment_path", "environment")
    table = Table()
    above = [pid for pid in table.ancestors(os.getpid()) if is_launcher(table.words(pid))]
    ours = frozenset(below for pid in above for below in (pid, *table.below(pid)))
    return _Seen(environment=dict(os.environ), ours=ours)


def _live_launch(named: Sequence[int], report: Report) -> _Seen:
    pids = [int(pid) for pid in named]
    report.stage("env.processes", pids=" ".join(map(str, pids)))
    table = Table()
    try:
        launch = find_launch(pids, table)
    except NoSuchProcessError as missing:
        report.fail("no-such-process", str(missing.args[0]))
    described, hidden = _describe(launch.ranks[:_MOST_RANKS])
    first = described[0] if described else {}
    report.fact("processes", described)
    report.fact("unreadable", [{"pid": pid, **brief(pid)} for pid in dict.fromkeys((*launch.hidden, *hidden))])
    report.fact("launchers", [{"pid": pid, **brief(pid)} for pid in launch.launchers])
    report.fact("environment", first.get("environment", {}))
    report.fact("environment_path", f"/proc/{first['pid']}/environ" if first else None)
    ours = frozenset({*launch.ranks, *launch.launchers, *(pid for rank in launch.ranks for pid in table.below(rank))})
    if not first:
        return _Seen(environment={}, ours=ours)
    return _Seen(environment=table.environment(first["pid"]), ours=ours, first=first, net=_other_net(first))


def _other_net(process: Mapping[str, Any]) -> Path | None:
    """Return where the sockets of a process in another network namespace (a container) are listed."""
    try:
        same = process["net"] in (None, str(Path("/proc/self/ns/net").readlink()))
    except OSError:
        same = True
    return None if same else Path(f"/proc/{process['pid']}/net")


def _describe(pids: tuple[int, ...]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return what is known of the processes, and the pids that may not be looked into."""
    answers = {pid: _describe_one(pid) for pid in pids}
    described = [answer for answer in answers.values() if isinstance(answer, dict)]
    return described, [pid for pid, answer in answers.items() if answer == "hidden"]


def _describe_one(pid: int) -> dict[str, Any] | str:
    try:
        known = describe(pid, environment_of(pid))
        waits = known["state"] == "D" and waits_in_the_kernel(pid)
        return {**known, "waits_in_kernel": waits, "waits_for_file": waits and waits_for_a_file(pid)}
    except HiddenProcessError:
        return "hidden"
    except NoSuchProcessError:  # it ended while we looked
        return "gone"


def _host() -> dict[str, Any]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return {
        "hostname": socket.gethostname(),
        "user": user,
        "uid": os.getuid(),
        "system": sys.platform,
        "kernel": os.uname().release,
        "container": machine.container(),
    }


def _machine() -> dict[str, Any]:
    return {
        "cores": machine.cores(),
        "memory": machine.memory(),
        "shm": machine.shared_memory(),
        "limits": machine.limits(),
        "pids": machine.pids(),
        "infiniband": machine.infiniband(),
    }


def _network(environment: Mapping[str, str], report: Report) -> None:
    report.stage("env.network")
    report.fact("interfaces", interfaces.interfaces())
    report.fact("nccl_files", nccl_files.nccl_settings(environment))
    master = environment.get("MASTER_ADDR")
    report.fact(
        "names",
        {
            "hostname": names.resolve(socket.gethostname()),
            "master": names.resolve(master) if master and len(master) < 256 else None,
        },
    )


def _port(seen: _Seen, *, live: bool) -> dict[str, Any]:
    """Return the port a store would listen on: whether that works here, and who holds it."""
    text = seen.environment.get("MASTER_PORT")
    number = DEFAULT_PORT if not text else sockets.parse_port(text)
    known: dict[str, Any] = {
        "port": number,
        "source": "MASTER_PORT" if text else "default",
        "live": live,
        "foreign_net": seen.net is not None,
        **sockets.port_ranges(),
    }
    if number is None or not 0 < number < 1 << 16:
        return {**known, "listen": None, "holders": [], "unseen": False, "closing": False}
    known |= sockets.try_listen(number) if seen.net is None else {"listen": None, "family": None, "ipv6": None}
    if "taken" not in (known["listen"], known["ipv6"]) and not live:
        return {**known, "holders": [], "unseen": False, "closing": False}
    held = sockets.holders(number, seen.net or Path("/proc/net"))
    return {**known, **held, "holders": [_holder(holder, seen.ours) for holder in held["holders"]]}


def _holder(holder: dict[str, Any], ours: frozenset[int]) -> dict[str, Any]:
    known = {**holder, "owner": user_name(holder["uid"])}
    pid = holder["pid"]
    if pid is None:
        return known
    return {**known, **brief(pid), "ours": pid in ours, "launch": _in_a_launch(pid), "rank": _rank_of(pid)}


def _rank_of(pid: int) -> str | None:
    try:
        return environment_of(pid).get("RANK")
    except (HiddenProcessError, NoSuchProcessError):
        return None


def _in_a_launch(pid: int) -> bool:
    """Say whether the holder is a launcher, or a rank whose launcher still lives."""
    table = Table()
    lineage = [pid, *table.ancestors(pid)]
    return any(is_launcher(table.words(above)) for above in lineage)
