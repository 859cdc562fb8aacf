"""Nodes are machines that see one another and nothing else, and nothing of them is left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from distkb.repro import nodes as module
from distkb.repro.nodes import Node, NodesUnavailableError, nodes, unavailable

pytestmark = pytest.mark.slow

needs_nodes = pytest.mark.usefixtures("allowed")

_CALLER = """
import subprocess, sys
from distkb.repro.nodes import nodes
with nodes(2) as pair:
    sleeper = subprocess.Popen(pair[1].command(["sh", "-c", "echo in; exec sleep 600"]), stdout=subprocess.PIPE)
    sleeper.stdout.readline()
    print(*(node.pid for node in pair), sleeper.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def allowed() -> None:
    """Skips where this machine allows no namespaces."""
    if (reason := unavailable()) is not None:
        pytest.skip(f"no network namespaces: {reason}")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Node, ...]]:
    """Two nodes with an MTU of 9000."""
    with nodes(2, mtu=9000) as made:
        yield made


def _on(node: Node, *argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(node.command(argv), capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


def _gone(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.01)
    return False


@needs_nodes
def test_nodes_have_names_and_addresses_of_their_own(pair: tuple[Node, ...], tmp_path: Path) -> None:
    """Each node has its hostname, its address on eth0 with the MTU asked for, and knows the others by name."""
    for node in pair:
        assert _on(node, "hostname").stdout.strip() == node.name == f"node{node.index}"
        shown = _on(node, "ip", "-o", "addr", "show", "dev", "eth0").stdout
        assert f"inet {node.address}/24" in shown
        assert "mtu 9000" in _on(node, "ip", "link", "show", "dev", "eth0").stdout
        assert _on(node, "getent", "hosts", "node0").stdout.split()[0] == "10.77.0.1"
        assert _on(node, "pwd", cwd=tmp_path).stdout.strip() == str(tmp_path)
    assert os.uname().nodename not in ("node0", "node1")


@needs_nodes
def test_nodes_reach_one_another_and_nothing_else(pair: tuple[Node, ...]) -> None:
    """A connection between nodes carries data; there is no way to anywhere else, and names are refused at once."""
    serve = (
        "import socket\ns = socket.create_server(('', 0))\nprint(s.getsockname()[1], flush=True)\n"
        "s.accept()[0].send(b'hi')"
    )
    with subprocess.Popen(pair[1].command([sys.executable, "-c", serve]), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        ask = f"import socket; print(socket.create_connection(('node1', {port}), 5).recv(2))"
        assert _on(pair[0], sys.executable, "-c", ask).stdout.strip() == "b'hi'"
    away = "import socket; socket.create_connection(('192.0.2.1', 80), 5)"
    assert "unreachable" in _on(pair[0], sys.executable, "-c", away).stderr
    began = time.monotonic()
    assert _on(pair[0], "getent", "hosts", "example.org").returncode != 0
    assert time.monotonic() - began < 10.0


@needs_nodes
def test_hosts_of_one_node_can_differ(pair: tuple[Node, ...]) -> None:
    """What is written to a node's /etc/hosts is seen there only; the machine's own stays as it is."""
    own = Path("/etc/hosts").read_bytes()
    hosts = pair[0].file("/etc/hosts")
    before = hosts.read_text()
    hosts.write_text("127.0.1.1 node0\n10.77.0.2 node1\n")
    try:
        assert _on(pair[0], "getent", "ahostsv4", "node0").stdout.split()[0] == "127.0.1.1"
        assert _on(pair[1], "getent", "ahostsv4", "node0").stdout.split()[0] == "10.77.0.1"
    finally:
        hosts.write_text(before)
    assert Path("/etc/hosts").read_bytes() == own


@needs_nodes
def test_nothing_is_left_when_the_context_ends() -> None:
    """Programs that still run on a node are killed, one that is just entering too, and no namespace has a name."""
    named = sorted(Path("/run/netns").glob("*"))
    with nodes(2) as made:
        running = subprocess.Popen(made[0].command(["sh", "-c", "echo in; exec sleep 600"]), stdout=subprocess.PIPE)
        assert running.stdout is not None
        running.stdout.readline()
        entering = subprocess.Popen(made[1].command(["sleep", "600"]), stderr=subprocess.DEVNULL)
        assert sorted(Path("/run/netns").glob("*")) == named
    assert running.wait(5) == -signal.SIGKILL
    assert entering.wait(5) != 0
    running.stdout.close()
    assert _gone([node.pid for node in made])


@needs_nodes
def test_a_killed_caller_leaves_nothing() -> None:
    """When the process that asked is killed outright, nodes and what runs on them go too."""
    caller = subprocess.Popen([sys.executable, "-c", _CALLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    assert caller.stdin is not None
    assert select.select([caller.stdout], [], [], 30)[0]
    pids = [int(word) for word in caller.stdout.readline().split()]
    assert len(pids) == 3
    assert not _gone(pids, 0.05)
    caller.kill()
    caller.wait()
    assert _gone(pids)
    caller.stdin.close()
    caller.stdout.close()


@needs_nodes
def test_a_user_without_rights_gets_nodes_too() -> None:
    """Where the kernel allows user namespaces, nodes need no root, and the user is root on them."""
    try_it = (
        "import subprocess\nfrom distkb.repro.nodes import nodes\nwith nodes(2) as pair:\n"
        "    print(pair[0].user, flush=True)\n    pair[0].file('/etc/hosts').write_text('10.77.0.2 other\\n')\n"
        "    shown = 'ip link set eth0 mtu 1400 && hostname && getent hosts other'\n"
        "    subprocess.run(pair[0].command(['sh', '-c', shown]))"
    )
    unprivileged = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if subprocess.run([*unprivileged, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces are not allowed here")
    done = subprocess.run(
        [*unprivileged, sys.executable, "-c", try_it], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.split() == ["True", "node0", "10.77.0.2", "other"], done.stderr


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without iproute2 no process is started, and the reason is a code."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NodesUnavailableError) as refused, nodes(2):
        pass
    assert refused.value.code == ("no-iproute2" if sys.platform.startswith("linux") else "not-linux")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux")
def test_what_the_system_refuses_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine whose `ip` cannot make a bridge gives a reason and leaves no process."""
    for name, text in (
        ("ip", "#!/bin/sh\necho 'Error: Unknown device type.' >&2\nexit 2\n"),
        ("nsenter", "#!/bin/sh\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(NodesUnavailableError) as refused, nodes(2):
        pass
    assert refused.value.code in ("no-network", "no-namespaces")


@pytest.mark.parametrize("count", [0, module.MOST_NODES + 1])
def test_the_number_of_nodes_is_bounded(count: int) -> None:
    """Nobody gets a bridge without nodes, or hundreds of them."""
    with pytest.raises(ValueError, match="nodes"), nodes(count):
        pass
