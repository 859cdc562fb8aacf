"""Two hosts of their own: what is broken between them is named, and a sound pair is left in peace."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from distkb.repro.nodes import Node

pytestmark = pytest.mark.slow

PROBES = Path(__file__).parents[3] / "probes" / "distkb_probes"
RIGHT, WRONG = "the-right-token", "not-the-token"
Pair = tuple[Node, ...]
Shell = Callable[[Node, str], str]

# Ports that bind() chooses are odd where the range begins with an even number, those of connect() even. Dropping what
# comes for odd ports closes those that are listened on and lets answers through, like a firewall with a memory.
_RANGE = "echo '40000 40063' > /proc/sys/net/ipv4/ip_local_port_range"
_FIRST = "ip rule add pref 100 lookup local; ip rule del pref 0"
DROP_IN = "\n".join(
    [
        _RANGE,
        _FIRST,
        "for port in $(seq 40001 2 40063); do ip rule add pref 50 iif eth0 ipproto tcp dport $port blackhole; done",
    ]
)
REFUSE_OUT = "for port in $(seq 40001 2 40063); do ip rule add pref 50 ipproto tcp dport $port prohibit; done"
# Without segmentation offload a packet is as large as it says, as on a real wire.
JUMBO = "ip link set dev eth0 mtu 9000; ip link set dev eth0 gso_max_segs 1"


def test_a_sound_pair_is_silent(pair: Pair, probe_both: Any) -> None:
    """Nothing is found on either end, both end well, and what was measured is there."""
    caller, listener = probe_both(*pair)
    assert caller.found == listener.found == {}
    assert caller.document["status"] == listener.document["status"] == "ok"
    seen = caller.document["facts"]["peer"]["seen"]
    assert {row["outcome"] for row in (*seen["to"], *seen["back"])} == {"ok"}
    assert seen["round_trip_s"] < 0.1
    assert abs(seen["clock_s"]) < 0.1
    assert min(seen["rates"].values()) > 1e7
    assert seen["datagrams"]["up"]["passed"][-1] == seen["datagrams"]["down"]["passed"][-1] == 1500
    assert listener.document["facts"]["peer"]["seen"] == seen
    assert "network.mtu-black-hole" in caller.document["clear"]
    assert caller.document["elapsed_s"] < 15


def test_ports_that_a_firewall_drops_in_both_directions(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """The store's port is open and the ports of NCCL and Gloo are not: both ends say so, within 15 seconds."""
    for node in pair:
        shell(node, DROP_IN)
    caller, listener = probe_both(*pair)
    values = [item["values"] for item in caller.document["found"]]
    assert {(item["from"], item["to"]) for item in values} == {("node0", "node1"), ("node1", "node0")}
    assert {(item["how"], item["failed"], item["tried"]) for item in values} == {("ETIMEDOUT", "5", "5")}
    assert set(caller.found) == set(listener.found) == {"network.ephemeral-closed"}
    assert caller.document["elapsed_s"] < 15


def test_connections_in_one_direction_only(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """One host takes no new connections on such ports: the finding names the direction."""
    shell(pair[0], DROP_IN)
    caller, listener = probe_both(*pair)
    for done in (caller, listener):
        assert set(done.found) == {"network.one-way"}
        values = done.found["network.one-way"]
        assert (values["from"], values["to"], values["how"]) == ("node1", "node0", "ETIMEDOUT")


def test_a_rule_of_the_own_host_is_told_from_a_firewall(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """What this host itself does not let out fails at once, with another errno."""
    shell(pair[1], _RANGE)
    shell(pair[0], REFUSE_OUT)
    caller, _ = probe_both(*pair)
    assert caller.found["network.one-way"]["how"] == "EACCES"
    assert caller.found["network.one-way"]["from"] == "node0"


def test_large_packets_that_vanish(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """Jumbo frames on both hosts and a switch that carries 1500 bytes: the black hole, and what passes."""
    for node in pair:
        shell(node, JUMBO)
    caller, listener = probe_both(*pair)
    assert set(caller.found) == set(listener.found) == {"network.mtu-black-hole"}
    values = caller.found["network.mtu-black-hole"]
    assert (values["mtu"], values["passes"], values["interface"]) == ("9000", "1500", "eth0")
    assert caller.document["elapsed_s"] < 15


def test_large_packets_that_vanish_in_one_direction(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """Only the host with the larger MTU sends too much; TCP would settle on the smaller, were it not told otherwise."""
    shell(pair[0], JUMBO)
    caller, _ = probe_both(*pair)
    assert set(caller.found) == {"network.mtu-differs"}
    assert caller.found["network.mtu-differs"] == {
        "a": "node0",
        "b": "node1",
        "mtu_a": "9000",
        "mtu_b": "1500",
    }


def test_a_host_whose_name_is_loopback(pair: Pair, probe_both: Any) -> None:
    """With `127.0.1.1 node1` in /etc/hosts Gloo would hand out the loopback address; naming the interface helps."""
    pair[1].file("/etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 node1\n10.77.0.1 node0\n")
    caller, listener = probe_both(*pair)
    for done in (caller, listener):
        assert set(done.found) == {"network.advertises-loopback"}
        values = done.found["network.advertises-loopback"]
        assert (values["library"], values["host"], values["address"]) == ("Gloo", "node1", "127.0.1.1")
        assert (values["variable"], values["better"]) == ("GLOO_SOCKET_IFNAME", "eth0")
    caller, _ = probe_both(*pair, on_b={"GLOO_SOCKET_IFNAME": "eth0"})
    assert caller.found == {}


def test_an_interface_that_leads_nowhere(pair: Pair, shell: Shell, probe_both: Any) -> None:
    """NCCL takes the bridge of containers along: its address cannot be reached, and the right interface is named."""
    bridge = "br-0123456789ab"
    shell(
        pair[1],
        f"ip link add {bridge} type bridge; ip link add port type veth peer name guest;"
        f"ip link set port master {bridge}; ip link set guest up; ip link set port up;"
        f"ip addr add 172.18.0.1/16 dev {bridge}; ip link set {bridge} up;"
        # The kernel tells of a carrier up to a second later, and without one NCCL leaves the interface out.
        f"timeout 20 sh -c 'until ip link show {bridge} | grep -q \"state UP\"; do sleep 0.1; done'",
    )
    caller, listener = probe_both(*pair)
    for done in (caller, listener):
        values = done.found["network.nccl-address-unreachable"]
        assert (values["host"], values["interface"], values["address"]) == ("node1", bridge, "172.18.0.1")
        assert values["better"] == "eth0"
    shell(pair[0], "ip link add dock0 type bridge; ip addr add 172.18.0.1/16 dev dock0; ip link set dock0 up")
    caller, _ = probe_both(*pair)
    assert caller.found["network.address-on-both"]["address"] == "172.18.0.1"
    caller, _ = probe_both(*pair, on_a={"NCCL_SOCKET_IFNAME": "eth0"}, on_b={"NCCL_SOCKET_IFNAME": "eth0"})
    assert caller.found == {}


def test_a_port_without_a_listener_of_ours_is_only_connected_to(pair: Pair, probe_one: Any) -> None:
    """Any server counts, such as a store; a closed port, a silent host and a missing route are three findings."""
    serve = "import socket; s=socket.create_server(('', 29500)); print(1, flush=True); s.accept()[0].recv(1)"
    with subprocess.Popen(pair[1].command([sys.executable, "-c", serve]), stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        assert probe_one(pair[0], peer="node1", port=29500).found == {}
        server.wait(10)
    refused = probe_one(pair[0], peer="node1", port=29500)
    assert refused.found["network.peer-refused"]["address"] == "10.77.0.2"
    away = probe_one(pair[0], peer="192.0.2.1", port=29500)
    assert away.found["network.peer-unreachable"]["how"] == "ENETUNREACH"
    nobody = probe_one(pair[0], peer="node7", port=29400)
    assert set(nobody.found) == {"network.peer-unresolvable"}


def test_a_host_that_does_not_answer(pair: Pair, shell: Shell, probe_one: Any) -> None:
    """Packets that are dropped on the other side: no answer, after a bounded wait."""
    shell(pair[1], f"{_FIRST}; ip rule add pref 50 iif eth0 ipproto tcp dport 29500 blackhole")
    done = probe_one(pair[0], peer="node1", port=29500)
    assert done.found["network.peer-silent"]["source"] == "10.77.0.1"
    assert done.document["elapsed_s"] < 8


def test_a_wrong_token_is_refused_and_the_right_one_still_comes_through(pair: Pair, probe_one: Any) -> None:
    """The one with another token learns nothing, is counted, and does not use up the listener's one conversation."""
    port = 29444
    with ThreadPoolExecutor() as pool:
        listening = pool.submit(probe_one, pair[1], listen=True, port=port, token=RIGHT, wait_s=60.0)
        wrong = probe_one(pair[0], peer="node1", port=port, token=WRONG)
        while wrong.document["reason"] is None and "network.peer-refused" in wrong.found:  # it is not there yet
            wrong = probe_one(pair[0], peer="node1", port=port, token=WRONG)
        assert (wrong.document["status"], wrong.document["reason"]) == ("error", "network-token")
        assert "card" not in wrong.document["facts"].get("peer", {})
        assert probe_one(pair[0], peer="node1", port=port, token=RIGHT).found == {}
        answer = listening.result(60)
    assert answer.found == {}
    assert answer.document["facts"]["strangers"] == 1


def test_what_is_no_listener_of_ours_is_told_apart(pair: Pair, probe_one: Any) -> None:
    """With a token and a port where something else answers, the reason is said and nothing is sent there."""
    serve = (
        "import socket\ns = socket.create_server(('', 29500))\nprint(1, flush=True)\nc = s.accept()[0]\n"
        "c.sendall(b'SSH-2.0-OpenSSH_9.6'.ljust(48))\nprint(c.recv(100), flush=True)"
    )
    with subprocess.Popen(pair[1].command([sys.executable, "-c", serve]), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        done = probe_one(pair[0], peer="node1", port=29500, token=RIGHT)
        assert done.document["reason"] == "network-foreign"
        assert server.stdout.readline().strip() == "b''"


def test_a_listener_that_nobody_finds_ends(pair: Pair, probe_one: Any) -> None:
    """It says after its time that nobody came, and a port that is taken is refused at once."""
    done = probe_one(pair[1], listen=True, port=29400, token=RIGHT, wait_s=0.5)
    assert (done.document["status"], done.document["reason"]) == ("error", "network-nobody")
    taken = socket.create_server(("127.0.0.1", 0))
    with taken:
        port = taken.getsockname()[1]
        command = [sys.executable, str(PROBES), "network", json.dumps({"listen": True, "port": port, "token": "t" * 8})]
        held = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert json.loads(held.stdout)["reason"] == "network-port"
