"""Holds the network of `nodes`: run as a program, it makes the namespaces and keeps them until stdin closes.

`python -I _switch.py COUNT MTU` prints one line of JSON: `{"pids": [...], "user": bool}` with one process per node,
or `{"error": code, "detail": text}`. This process is the bridge's namespace, its children are the nodes. When stdin
closes, whatever still runs inside the nodes is killed and everything goes; the children die with this process.

Standard library only: it starts at once, and as a process of its own so that it outlives a killed caller just long
enough to clear up.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x04000000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1
_SWEEP_S = 10.0
_LIBC = ctypes.CDLL(None, use_errno=True)


class _FailedError(Exception):
    """Carries the reason's code and what the system said."""

    def __init__(self, code: str, detail: object) -> None:
        super().__init__(code)
        self.code, self.detail = code, str(detail)


def main(arguments: list[str]) -> int:
    """Make the nodes, say so, and wait for stdin to close."""
    count, mtu = int(arguments[0]), int(arguments[1])
    children: list[_Child] = []
    try:
        user = _enter()
        _ip("link add switch type bridge", "link set switch up", "link set lo up")
        children = [_Child(index, count, mtu) for index in range(count)]
        for child in children:
            child.connect(mtu)
        answer: dict[str, object] = {"pids": [child.pid for child in children], "user": user}
    except _FailedError as failed:
        answer = {"error": failed.code, "detail": failed.detail}
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        while os.read(0, 4096):
            pass
    _clear(children)
    return 0


def _enter() -> bool:
    """Enter namespaces of our own, below a user namespace where this user has no right otherwise; say whether so."""
    kinds = _CLONE_NEWNET | _CLONE_NEWNS | _CLONE_NEWUTS
    if os.geteuid() == 0 and _LIBC.unshare(kinds) == 0:
        user = False
    else:
        uid, gid = os.geteuid(), os.getegid()
        _call("unshare", kinds | _CLONE_NEWUSER)
        try:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
        except OSError as problem:
            raise _FailedError("no-namespaces", problem) from None
        user = True
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    return user


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise _FailedError("no-namespaces", f"{name}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    _call(
        "mount", source.encode(), target.encode(), None if kind is None else kind.encode(), ctypes.c_ulong(flags), None
    )


def _ip(*commands: str) -> None:
    try:
        subprocess.run(
            ["ip", "-batch", "-"],  # noqa: S607 - wherever the system has it
            input="\n".join(commands) + "\n",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
            timeout=20.0,
        )
    except FileNotFoundError as problem:
        raise _FailedError("no-iproute2", problem) from None
    except subprocess.TimeoutExpired as problem:
        raise _FailedError("no-network", problem) from None
    except subprocess.CalledProcessError as problem:
        raise _FailedError(
            "no-network", problem.stderr.strip().splitlines()[0] if problem.stderr else problem
        ) from None


class _Child:
    """One node: a process that does nothing but be in the node's namespaces."""

    def __init__(self, index: int, count: int, mtu: int) -> None:
        self.index = index
        mine, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            mine.close()
            _be_a_node(theirs, index, count, mtu)
        theirs.close()
        self._line = mine
        self._expect()
        # Held open, so that its number means this namespace and no later one for as long as we look for it.
        self._held = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.net = os.fstat(self._held).st_ino

    def connect(self, mtu: int) -> None:
        """Lay the cable from the node's eth0 to the bridge."""
        port = f"port{self.index}"
        _ip(
            f"link add {port} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {self.pid}",
            f"link set {port} master switch",
            f"link set {port} up",
        )
        self._line.sendall(b"connected\n")
        self._expect()

    def _expect(self) -> None:
        answer = json.loads(self._line.makefile().readline() or '{"error": "no-namespaces", "detail": "ended"}')
        if "error" in answer:
            raise _FailedError(answer["error"], answer["detail"])


def _be_a_node(line: socket.socket, index: int, count: int, mtu: int) -> NoReturn:
    try:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            _call("unshare", _CLONE_NEWNET | _CLONE_NEWNS | _CLONE_NEWUTS)
            socket.sethostname(f"node{index}")
            _own_files(count)
            line.sendall(b"{}\n")
            if line.recv(64):
                _calm_ipv6()
                address = f"10.77.0.{index + 1}/24"
                _ip("link set lo up", f"link set eth0 mtu {mtu} up", f"addr add {address} brd + dev eth0")
                line.sendall(b"{}\n")
        except _FailedError as failed:
            line.sendall(json.dumps({"error": failed.code, "detail": failed.detail}).encode() + b"\n")
        except OSError as problem:
            line.sendall(json.dumps({"error": "no-namespaces", "detail": str(problem)}).encode() + b"\n")
        line.close()
        # Neither the lifeline nor the answer's pipe may stay open because of us.
        for descriptor in (0, 1):
            os.close(descriptor)
        while True:
            signal.pause()
    finally:
        os._exit(1)


def _own_files(count: int) -> None:
    """Give the node an /etc/hosts of its own, no name server, and a /sys that shows its own interfaces."""
    names = "".join(f"10.77.0.{other + 1}\tnode{other}\n" for other in range(count))
    hosts = f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n{names}"
    _cover("/etc/hosts", hosts)
    with contextlib.suppress(_FailedError, OSError):
        # Without this a name that /etc/hosts does not know would wait for a server that cannot be reached from here.
        _cover("/etc/resolv.conf", "options timeout:1 attempts:1\n")
    with contextlib.suppress(_FailedError):  # containers that hide parts of /sys may not mount it anew
        _mount("sysfs", "/sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def _cover(path: str, text: str) -> None:
    """Put a file of this node's own over one of the machine's; it has no name anywhere else."""
    descriptor, name = tempfile.mkstemp(prefix="distkb-node-")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(name, 0o644)  # noqa: PTH101
        _mount(name, str(Path(path).resolve()), None, _MS_BIND)
    finally:
        os.unlink(name)  # noqa: PTH108


def _calm_ipv6() -> None:
    """Let link-local addresses be usable at once: nobody else is on this wire."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf/eth0/accept_dad").write_text("0", encoding="ascii")


def _clear(children: list[_Child]) -> None:
    """End the nodes, so that nobody can enter them any more, then kill what still runs in them."""
    for child in children:
        with contextlib.suppress(OSError):
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
    nets = {child.net for child in children}
    until = time.monotonic() + _SWEEP_S
    quiet = 0
    while nets and quiet < 2 and time.monotonic() < until:
        inside = [pid for pid in _inside(nets) if pid != os.getpid()]
        for pid in inside:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        # A second look finds a program that was on its way in during the first.
        quiet = 0 if inside else quiet + 1
        time.sleep(0.005)


def _inside(nets: set[int]) -> list[int]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names only, many of them
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}/ns/net").st_ino in nets:  # noqa: PTH116
                    found.append(int(name))
    return found


if __name__ == "__main__":
    for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(_number, signal.SIG_IGN)
    sys.exit(main(sys.argv[1:]))
