"""Several machines on one: network namespaces joined by a bridge, each with a hostname and an /etc/hosts of its own.

They see one another and nothing else: no packet leaves them. Programs share the machine's files and process ids.
"""

from __future__ import annotations

import functools
import json
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

_SWITCH = Path(__file__).with_name("_switch.py")
_START_S, _END_S = 30.0, 15.0
MOST_NODES = 16


class NodesUnavailableError(Exception):
    """Nodes cannot be made here.

    `code` says why: not-linux, no-iproute2, no-nsenter, no-namespaces (not permitted), no-network (no bridge or veth).
    """

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code, self.detail = code, detail


class Node(msgspec.Struct, frozen=True):
    """One machine: hostname `name`, interface eth0 with `address` (a /24 that all nodes share), `lo` up."""

    name: str
    address: str
    index: int
    pid: int
    """The process that is the node's namespaces."""
    user: bool
    """Whether they are below a user namespace, in which the caller is root."""

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` on this node, in the directory where the command is started.

        The process keeps its id and its parent: `nsenter` becomes the program.
        """
        whose = " --user --preserve-credentials" if self.user else ""
        # Entering another mount namespace leads to its root directory: the shell there goes back to where we were.
        back = """/bin/sh -c 'cd "$1" && shift && exec "$@"' sh"""
        enter = f'exec nsenter --target={self.pid} --net --uts --mount{whose} -- {back} "$(pwd -P)" "$@"'
        return ["/bin/sh", "-c", enter, "sh", *argv]

    def file(self, path: str) -> Path:
        """Return where this node's own copy of an absolute path (`/etc/hosts`) can be read and written from outside."""
        return Path(f"/proc/{self.pid}/root") / path.lstrip("/")


@contextmanager
def nodes(count: int, *, mtu: int = 1500) -> Iterator[tuple[Node, ...]]:
    """Make `count` nodes joined by a bridge; node i is `node<i>` with 10.77.0.<i+1>/24 on eth0.

    `mtu` is in bytes, for eth0 and the bridge. Needs root, or a kernel that allows unprivileged user namespaces; raises
    NodesUnavailableError elsewhere. When the context ends, or this process is killed, everything that runs on the nodes
    is killed and the nodes are gone.
    """
    if not 1 <= count <= MOST_NODES:
        message = f"1 to {MOST_NODES} nodes, not {count}"
        raise ValueError(message)
    if missing := _missing():
        raise NodesUnavailableError(missing)
    switch = subprocess.Popen(  # noqa: S603 - our own file
        [sys.executable, "-I", str(_SWITCH), str(count), str(mtu)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us: the switch ends when we have
        text=True,
    )
    try:
        answer = _answer(switch)
        yield tuple(
            Node(name=f"node{index}", address=f"10.77.0.{index + 1}", index=index, pid=pid, user=answer["user"])
            for index, pid in enumerate(answer["pids"])
        )
    finally:
        _end(switch)


def _answer(switch: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what the switch says once the nodes stand; raises NodesUnavailableError where they do not."""
    assert switch.stdout is not None  # noqa: S101 - a pipe was asked for
    if not select.select([switch.stdout], [], [], _START_S)[0]:
        raise NodesUnavailableError("no-network", "timeout")
    try:
        answer: dict[str, Any] = json.loads(switch.stdout.readline())
    except ValueError:
        raise NodesUnavailableError("no-namespaces", "ended") from None
    if "error" in answer:
        raise NodesUnavailableError(answer["error"], answer["detail"])
    return answer


def _end(switch: subprocess.Popen[str]) -> None:
    """Close the lifeline and wait until the switch has cleared up."""
    assert switch.stdin is not None  # noqa: S101
    assert switch.stdout is not None  # noqa: S101
    switch.stdin.close()
    try:
        switch.wait(_END_S)
    except subprocess.TimeoutExpired:
        switch.kill()
        switch.wait()
    switch.stdout.close()


def _missing() -> str | None:
    if not sys.platform.startswith("linux"):
        return "not-linux"
    if shutil.which("ip") is None:
        return "no-iproute2"
    return "no-nsenter" if shutil.which("nsenter") is None else None


@functools.cache
def unavailable() -> str | None:
    """Return why nodes cannot be made here, as the code of NodesUnavailableError, or None; tried out once."""
    try:
        with nodes(2) as pair:
            test = pair[0].command(["/bin/sh", "-c", "test -d /sys/class/net/eth0 || test -e /proc/net/dev"])
            done = subprocess.run(test, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=20)  # noqa: S603
            return None if done.returncode == 0 else "no-nsenter"
    except NodesUnavailableError as problem:
        return problem.code
