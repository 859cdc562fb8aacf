"""What /proc tells of one process: its environment, command, place, limits, and what its threads do."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distkb_probes.environment.variables import mask_command, mask_text, parse_environ, select

PROC = Path("/proc")
_MAPPED = re.compile(r"(/\S*/(?:libtorch_cpu\.so|libtorch_python\.so|libnccl\.so[.\d]*))(?: \(deleted\))?$")
_WRITTEN = re.compile(r"^(__version__|cuda|hip)(?:\s*:[^=\n]*)?\s*=\s*(?:['\"]([^'\"\n]+)['\"]|None)", re.MULTILINE)
"""What `torch/version.py` says of its build."""
_MOST_BYTES = 4 << 20


class NoSuchProcessError(Exception):
    """The process is not there, or is gone."""


class HiddenProcessError(Exception):
    """The process is there and may not be looked into."""


@dataclass(frozen=True)
class Stat:
    """The part of `/proc/PID/stat` that places a process."""

    pid: int
    parent: int
    session: int
    state: str
    """One letter: R running, S sleeping, D in uninterruptible wait, T stopped, Z dead and not yet waited for."""


def stat_of(pid: int, proc: Path = PROC) -> Stat:
    """Return where a process stands. Raises NoSuchProcessError."""
    try:
        state, parent, _, session, *_ = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        raise NoSuchProcessError(pid) from None
    return Stat(pid=pid, parent=int(parent), session=int(session), state=state.decode())


def all_stats(proc: Path = PROC) -> dict[int, Stat]:
    """Return every process that is there now."""
    found: dict[int, Stat] = {}
    for name in os.listdir(proc):  # noqa: PTH208 - names only, many of them
        if name.isdigit():
            with contextlib.suppress(NoSuchProcessError):
                found[int(name)] = stat_of(int(name), proc)
    return found


def environment_of(pid: int, proc: Path = PROC) -> dict[str, str]:
    """Return the environment a process was started with, not masked: never let it leave this process as it is.

    What the program itself changed later (`os.environ[...] = ...`) is not in it.
    Raises NoSuchProcessError, HiddenProcessError.
    """
    return parse_environ(_read(pid, "environ", proc))


def words_of(pid: int, proc: Path = PROC) -> list[str]:
    """Return the command line as separate words; empty for kernel threads, zombies and hidden processes."""
    with contextlib.suppress(NoSuchProcessError, HiddenProcessError):
        return [word.decode("utf-8", "replace") for word in _read(pid, "cmdline", proc).split(b"\0") if word]
    return []


def describe(pid: int, environment: dict[str, str], proc: Path = PROC) -> dict[str, Any]:
    """Return all that is wanted of one process; `environment` is its own, and is masked here."""
    base = proc / str(pid)
    stat = stat_of(pid, proc)
    return {
        "pid": pid,
        "parent": stat.parent,
        "state": stat.state,
        "rank": _integer(environment.get("RANK")),
        "local_rank": _integer(environment.get("LOCAL_RANK")),
        "environment": select(environment),
        "command": mask_command(words_of(pid, proc)),
        "exe": _link(base / "exe"),
        "cwd": _link(base / "cwd"),
        "user": _owner(base),
        "cpus": _cpus(base),
        "threads": _threads(base),
        "limits": _limits(base),
        **_libraries(base),
        "net": _link(base / "ns" / "net"),
    }


def waits_in_the_kernel(pid: int, for_s: float = 0.3, proc: Path = PROC) -> bool:
    """Say whether a process stays in uninterruptible wait (state D): a disk, a network file system or a driver."""
    until = time.monotonic() + for_s
    while True:
        try:
            if stat_of(pid, proc).state != "D":
                return False
        except NoSuchProcessError:
            return False
        if time.monotonic() > until:
            return True
        time.sleep(0.02)


def waits_for_a_file(pid: int, proc: Path = PROC) -> bool:
    """Say whether the call in which a process stays is one on files: not a driver's ioctl, not the start of a child."""
    try:
        number = (proc / str(pid) / "syscall").read_text(encoding="ascii").split()[0]
    except (OSError, ValueError, IndexError):
        return False
    calls = _FILE_CALLS.get(os.uname().machine, ())
    return any(
        number == str(one) if isinstance(one, int) else number.isdecimal() and int(number) in one for one in calls
    )


_FILE_CALLS: dict[str, tuple[int | range, ...]] = {
    "x86_64": (
        range(7),
        range(17, 22),
        range(72, 86),
        87,
        89,
        137,
        162,
        217,
        257,
        262,
        263,
        264,
        269,
        285,
        306,
        316,
        332,
    ),
    "aarch64": (25, 32, 34, 35, 38, 43, range(45, 49), 56, 57, range(61, 69), range(78, 84), 267, 276, 291),
}
"""Numbers of the calls that open, read, write, sync, list, name and remove files (Linux, unistd_64.h and unistd.h)."""


def brief(pid: int, proc: Path = PROC) -> dict[str, Any]:
    """Return the little that is said of a process that is not part of the run, such as the holder of a port."""
    known: dict[str, Any] = {"command": mask_command(words_of(pid, proc)), "user": _owner(proc / str(pid))}
    with contextlib.suppress(NoSuchProcessError):
        known["parent"] = stat_of(pid, proc).parent
    return known


def owner_of(pid: int, proc: Path = PROC) -> int | None:
    """Return the uid of a process, read in its status: /proc/PID itself is root's where a process is not dumpable."""
    return _status_number(pid, "Uid:", 1, proc)


def own_number(pid: int, proc: Path = PROC) -> int:
    """Return the pid that a process has for itself: in a container another one than here."""
    number = _status_number(pid, "NSpid:", -1, proc)
    return pid if number is None else number


def _status_number(pid: int, name: str, field: int, proc: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(name):
                return int(line.split()[field])
    return None


def user_name(uid: int) -> str:
    """Return the name of a user, or the number where there is no name for it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _read(pid: int, name: str, proc: Path) -> bytes:
    try:
        with (proc / str(pid) / name).open("rb") as file:
            return file.read(_MOST_BYTES)
    except PermissionError:
        raise HiddenProcessError(pid) from None
    except OSError:
        raise NoSuchProcessError(pid) from None


def _integer(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _link(path: Path) -> str | None:
    try:
        return mask_text(str(path.readlink()))
    except OSError:
        return None


def _owner(base: Path) -> str | None:
    try:
        return user_name(base.stat().st_uid)
    except OSError:
        return None


def _cpus(base: Path) -> str | None:
    with contextlib.suppress(OSError):
        for line in (base / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                return line.partition(":")[2].strip()
    return None


def _threads(base: Path) -> dict[str, int]:
    """Return how many threads are in each state."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for task in sorted((base / "task").iterdir()):
            with contextlib.suppress(OSError):
                state = (task / "stat").read_bytes().rpartition(b")")[2].split()[0].decode()
                found[state] = found.get(state, 0) + 1
    return found


def _limits(base: Path) -> dict[str, int | None]:
    """Return the soft limits that matter here; None is unlimited."""
    wanted = {"Max open files": "nofile", "Max locked memory": "memlock", "Max processes": "nproc"}
    found: dict[str, int | None] = {}
    with contextlib.suppress(OSError):
        for line in (base / "limits").read_text(encoding="ascii", errors="replace").splitlines():
            for label, name in wanted.items():
                if line.startswith(label):
                    soft = line[len(label) :].split()[0]
                    found[name] = int(soft) if soft.isdigit() else None
    return found


def _libraries(base: Path) -> dict[str, str | None]:
    """Return the torch and the NCCL library that a process has mapped: what it runs, whatever is installed."""
    found: dict[str, str | None] = {"torch": None, "cuda": None, "torch_path": None, "nccl_path": None}
    with contextlib.suppress(OSError), (base / "maps").open(encoding="utf-8", errors="replace") as maps:
        for line in maps:
            if (match := _MAPPED.search(line)) is None:
                continue
            path = Path(match[1])
            if path.name.startswith("libnccl"):
                found["nccl_path"] = str(path)
            elif found["torch_path"] is None and path.parent.name == "lib":
                found["torch_path"] = str(path.parent.parent)
                build = _torch_build(base, path.parent.parent)
                found["torch"], found["cuda"] = build.get("__version__"), build.get("cuda") or build.get("hip")
    return found


def _torch_build(base: Path, package: Path) -> dict[str, str]:
    """Return what is written next to a library, as the process sees its files (it may be in a container)."""
    for root in (Path("/"), base / "root"):
        with contextlib.suppress(OSError):
            text = (root / str(package).lstrip("/") / "version.py").read_text(encoding="utf-8", errors="replace")
            return {name: value for name, value in _WRITTEN.findall(text) if value}
    return {}
