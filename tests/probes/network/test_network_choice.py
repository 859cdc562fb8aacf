"""What NCCL and Gloo would use, by their own rules; Gloo's are compared with what torch really does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from distkb.repro.nodes import Node, nodes
from distkb_probes.netpath import choice, links
from distkb_probes.netpath.links import Address


def row(name: str, address: str, prefix: int = 24, *, running: bool = True) -> Address:
    """One address of an interface that is up."""
    return Address(name, address, prefix, up=True, running=running, loopback=name == "lo")


LO = row("lo", "127.0.0.1", 8)
ETH0, ETH1 = row("eth0", "10.0.0.5"), row("eth1", "10.1.0.5")
IB0 = row("ib0", "10.9.0.5")
DOCKER0 = row("docker0", "172.17.0.1", 16)
BRIDGE = row("br-0123456789ab", "172.18.0.1", 16)
VIRBR = row("virbr0", "192.168.122.1")
SIX = [row("lo", "::1", 128), row("eth0", "fd00::5", 64), row("eth0", "fe80::5", 64)]


@pytest.mark.parametrize(
    ("known", "environ", "why", "names"),
    [
        ([LO, ETH0, ETH1], {}, "other", ["eth0", "eth1"]),
        ([LO, ETH0, IB0], {}, "ib", ["ib0"]),
        ([LO, DOCKER0, BRIDGE, ETH0, VIRBR], {}, "other", ["br-0123456789ab", "eth0"]),
        ([LO, DOCKER0], {}, "docker", ["docker0"]),
        ([LO, VIRBR], {}, "lo", ["lo"]),
        ([VIRBR], {}, "virbr", ["virbr0"]),
        ([LO, row("eth0", "10.0.0.5", running=False)], {}, "lo", ["lo"]),
        ([LO, ETH0, ETH1], {"NCCL_SOCKET_IFNAME": "eth1"}, "ifname", ["eth1"]),
        ([LO, ETH0, row("eth01", "10.2.0.5")], {"NCCL_SOCKET_IFNAME": "eth0"}, "ifname", ["eth0", "eth01"]),
        ([LO, ETH0, row("eth01", "10.2.0.5")], {"NCCL_SOCKET_IFNAME": "=eth0"}, "ifname", ["eth0"]),
        ([LO, ETH0, DOCKER0], {"NCCL_SOCKET_IFNAME": "^lo,docker"}, "ifname", ["eth0"]),
        ([LO, ETH0, ETH1], {"NCCL_SOCKET_IFNAME": "^=eth0,lo"}, "ifname", ["eth1"]),
        ([LO, ETH0, ETH1], {"NCCL_SOCKET_IFNAME": "eth1:1"}, "ifname", ["eth1"]),
        ([LO, ETH0], {"NCCL_SOCKET_IFNAME": "ens"}, "none", []),
        ([LO, ETH0], {"NCCL_SOCKET_IFNAME": "e"}, "other", ["eth0"]),
        ([LO, ETH0, ETH1], {"NCCL_COMM_ID": "10.1.0.9:1234"}, "comm-id", ["eth1"]),
        ([LO, ETH0, *SIX], {"NCCL_COMM_ID": "[fd00::9]:1234"}, "comm-id", ["eth0"]),
        ([LO, ETH0, IB0], {"NCCL_COMM_ID": "10.0.0.9:1"}, "ib", ["ib0"]),
        ([LO, ETH0, *SIX], {"NCCL_SOCKET_FAMILY": "AF_INET6"}, "other", ["eth0"]),
        ([], {}, "none", []),
    ],
)
def test_nccl_chooses_as_its_source_says(
    known: list[Address], environ: dict[str, str], why: str, names: list[str]
) -> None:
    """Prefixes, `^`, `=`, ib first, then the subnet of NCCL_COMM_ID, then all but docker, lo and virbr."""
    chosen = choice.nccl(known, environ)
    assert (chosen.why, [name for name, _ in chosen.interfaces]) == (why, names)


def test_nccl_takes_the_address_that_getifaddrs_names_first() -> None:
    """IPv4 before IPv6, unless the family is asked for; each interface once; IPv6 loopback never."""
    known = [LO, ETH0, *SIX]
    assert choice.nccl(known, {}).interfaces == (("eth0", "10.0.0.5"),)
    assert choice.nccl(known, {"NCCL_SOCKET_FAMILY": "AF_INET6"}).interfaces == (("eth0", "fd00::5"),)
    assert choice.nccl([SIX[0]], {}).why == "none"


def test_gloo_chooses_as_torch_says() -> None:
    """Whole names, all of which must exist; else the first address of the hostname that can be bound; else loopback."""
    known = [LO, ETH0, ETH1, *SIX]
    assert choice.gloo(known, {"GLOO_SOCKET_IFNAME": "eth1"}, []).interfaces == (("eth1", "10.1.0.5"),)
    assert choice.gloo(known, {"GLOO_SOCKET_IFNAME": "eth"}, []) == choice.Choice("none", (), ("eth",))
    assert choice.gloo(known, {"GLOO_SOCKET_IFNAME": "eth0,eth9"}, []).missing == ("eth9",)
    chosen = choice.gloo(known, {}, ["10.99.0.1", "10.0.0.5"], can_bind=lambda address: address != "10.99.0.1")
    assert (chosen.why, chosen.interfaces) == ("hostname", (("eth0", "10.0.0.5"),))
    assert choice.gloo(known, {}, ["127.0.1.1"], can_bind=lambda _: True).interfaces == (("lo", "127.0.1.1"),)
    assert choice.gloo(known, {}, []).why == "loopback"


@pytest.fixture(scope="module")
def node(allowed: None) -> Iterator[Node]:
    """One node with a second interface."""
    assert allowed is None
    with nodes(2) as made:
        add = "ip link add storage0 type veth peer name far; ip addr add 10.5.0.1/24 dev storage0"
        up = "ip link set storage0 up; ip link set far up"
        subprocess.run(made[0].command(["/bin/sh", "-ec", f"{add}; {up}"]), check=True)
        yield made[0]


_REAL = """
import os, socket, sys
import torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
def listening():
    rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/self/net/{name}").readlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A"}
before = listening()
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
for new in sorted(listening() - before):
    words = new.split(":")[0]
    if len(words) == 8:
        print(socket.inet_ntoa(bytes.fromhex(words)[::-1]))
"""
_OURS = """
import os, socket
from distkb_probes.environment import names
from distkb_probes.netpath import choice, links
addresses = names.resolve(socket.gethostname())["addresses"]
print(choice.gloo(links.addresses(), os.environ, addresses).interfaces[0][1])
"""


@pytest.mark.torchrun
@pytest.mark.parametrize(
    ("hosts", "named", "expected"),
    [
        ("10.77.0.1 node0\n", None, "10.77.0.1"),
        ("127.0.1.1 node0\n", None, "127.0.1.1"),
        ("10.77.0.99 node0\n", None, "127.0.0.1"),
        ("127.0.1.1 node0\n", "storage0", "10.5.0.1"),
    ],
)
def test_gloo_really_does_what_the_probe_says(node: Node, hosts: str, named: str | None, expected: str) -> None:
    """The address on which torch's Gloo listens is the one that the probe names, for every kind of /etc/hosts."""
    node.file("/etc/hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
    prefix = ["env", "OMP_NUM_THREADS=1", *([f"GLOO_SOCKET_IFNAME={named}"] if named else [])]

    def printed(code: str) -> list[str]:
        command = node.command([*prefix, sys.executable, "-c", code])
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()

    assert printed(_OURS) == [expected]
    assert expected in printed(_REAL)


def test_the_kinds_of_interfaces_are_told_apart(node: Node) -> None:
    """A bridge, a veth and the loopback are named for what they are; the MTU is the node's own."""
    script = (
        "import json; from distkb_probes.netpath import links\nrows = links.interfaces(links.addresses())\n"
        "print(json.dumps({row['name']: [row['kind'], row['mtu'], row['running']] for row in rows}))"
    )
    setup = "ip link add br0 type bridge; ip link add docker0 type bridge; ip link set eth0 mtu 1400"
    subprocess.run(node.command(["/bin/sh", "-ec", setup]), check=True)
    command = node.command([sys.executable, "-c", script])
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert found["eth0"] == ["veth", 1400, True]
    assert found["lo"][0] == "loopback"
    assert found["br0"][0] == "bridge"
    assert found["docker0"] == ["docker", 1500, False]


def test_the_own_addresses_are_read() -> None:
    """Getifaddrs gives the loopback address with its flags and prefix."""
    found = [address for address in links.addresses() if address.address == "127.0.0.1"]
    if not sys.platform.startswith("linux"):
        pytest.skip("Linux")
    assert found[0].loopback
    assert found[0].prefix == 8
