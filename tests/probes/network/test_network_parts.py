"""The parts of the network probe: what the facts mean, and how the two ends keep strangers out."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.locale import fill
from distkb_probes.netpath import between, listener, local, rdma, routes, wire
from distkb_probes.network import PEER_LOOKED_FOR

KEY = "the-token"


def interface(name: str, kind: str, address: str, **more: Any) -> dict[str, Any]:
    """One interface of a host."""
    given = {"name": name, "kind": kind, "addresses": [address], "networks": [f"{address}/24"], "running": True}
    return {**given, "mtu": 1500, "speed": None, "loopback": kind == "loopback", **more}


def host(name: str, address: str, **more: Any) -> dict[str, Any]:
    """The card of a host that would use eth0 for everything."""
    chosen = {"why": "other", "interfaces": [{"name": "eth0", "address": address}], "missing": []}
    return {
        "host": {"hostname": name, "boot": name, "versions": {"torch": "2.13.0", "nvidia-nccl-cu12": "2.28.9"}},
        "interfaces": [interface("eth0", "physical", address)],
        "nccl": chosen,
        "gloo": chosen,
        "ephemeral": [32768, 60999],
        **more,
    }


A, B = host("a", "10.0.0.1"), host("b", "10.0.0.2")
SEEN: dict[str, Any] = {"address": "10.0.0.1", "peer": "10.0.0.2", "seen_as": "10.0.0.1"}


def ids(*arguments: Any) -> list[str]:
    """The ids that the judge finds."""
    return [identity for identity, _ in between.judge(*arguments)]


def test_two_like_hosts_are_silent() -> None:
    """Nothing differs, nothing is said."""
    rows = [{"role": "door", "address": "10.0.0.2", "port": 40001, "outcome": "ok"}]
    assert ids(A, B, {**SEEN, "to": rows, "back": rows, "round_trip_s": 1e-4, "clock_s": 0.0}) == []


@pytest.mark.parametrize(
    ("other", "seen", "expected"),
    [
        (B, {"seen_as": "192.0.2.7"}, "network.nat"),
        (B, {"clock_s": 4.0, "round_trip_s": 0.001}, "network.clock-differs"),
        (B, {"round_trip_s": 0.02}, "network.latency-high"),
        (B, {"rates": {"up": 1e6, "down": 1e9}}, "network.slow"),
        (host("a", "10.0.0.2"), {}, "network.same-host-identity"),
        ({**host("a", "10.0.0.2"), "host": {**B["host"], "hostname": "a", "boot": "x"}}, {}, "network.same-hostname"),
        (host("b", "10.0.0.2", host={**B["host"], "versions": {"torch": "2.12.0"}}), {}, "network.torch-differs"),
        (
            host("b", "10.0.0.2", host={**B["host"], "versions": {"nvidia-nccl-cu12": "2.27"}}),
            {},
            "network.nccl-differs",
        ),
        (
            host("b", "10.0.0.2", nccl={"why": "other", "interfaces": [{"name": "eth0", "address": "fd00::2"}]}),
            {},
            "network.families-differ",
        ),
        (
            host("b", "10.0.0.2", interfaces=[interface("eth0", "physical", "10.0.0.2", mtu=9000)]),
            {},
            "network.mtu-differs",
        ),
    ],
)
def test_what_differs_between_two_hosts_is_said(other: dict[str, Any], seen: dict[str, Any], expected: str) -> None:
    """One difference, one finding."""
    assert expected in ids(A, other, {**SEEN, **seen})


def test_a_single_closed_port_is_no_one_way_street() -> None:
    """Some of the ports fail: they are counted; all in one direction and none in the other is one-way."""
    good = {"role": "door", "address": "10.0.0.2", "port": 40001, "outcome": "ok"}
    bad = {**good, "port": 40003, "outcome": "ETIMEDOUT"}
    found = dict(between.judge(A, B, {**SEEN, "to": [good, bad], "back": [good]}))
    assert found["network.ephemeral-closed"]["failed"] == 1
    assert list(dict(between.judge(A, B, {**SEEN, "to": [bad], "back": [good]}))) == ["network.one-way"]
    back = {**bad, "role": "port", "port": 29400}
    assert ids(A, B, {**SEEN, "to": [good], "back": [good, back]}) == ["network.back-closed"]


def rdma_facts(root: Path, environ: dict[str, str] | None = None) -> dict[str, Any]:
    """The facts of a host whose /sys and /dev are below `root`."""
    address = "10.0.0.1"
    chosen = {"why": "other", "interfaces": [{"name": "eth0", "address": address}]}
    return {
        "interfaces": [interface("eth0", "physical", address)],
        "nccl": chosen,
        "environment": environ or {},
        "rdma": rdma.collect(environ or {}, root),
    }


def device(root: Path, name: str, state: str, link: str, gids: dict[str, str] | None = None) -> None:
    """Lay out one RDMA device as the kernel does."""
    port = root / "sys/class/infiniband" / name / "ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs/types").mkdir(parents=True)
    (port / "state").write_text(f"{state}\n")
    (port / "rate").write_text("400 Gb/sec (4X NDR)\n")
    (port / "link_layer").write_text(f"{link}\n")
    for index, (gid, kind) in enumerate((gids or {}).items()):
        (port / "gids" / str(index)).write_text(f"{gid}\n")
        (port / "gid_attrs/types" / str(index)).write_text(f"{kind}\n")
    (root / "dev/infiniband").mkdir(parents=True, exist_ok=True)
    (root / "dev/infiniband/uverbs0").touch()


def library(root: Path, name: str) -> None:
    """Install a library."""
    (root / "usr/lib").mkdir(parents=True, exist_ok=True)
    (root / "usr/lib" / name).touch()


def found_by(facts: dict[str, Any]) -> set[str]:
    """The ids of what is wrong on a host, the limit of this very process left out."""
    return {identity for identity, _ in local.judge(facts)} - {"network.memlock-low"}


def test_rdma_devices_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Down, without device files, without library, switched off: each is a finding; a sound one is none."""
    device(tmp_path, "mlx5_0", "4: ACTIVE", "InfiniBand")
    library(tmp_path, "libibverbs.so.1")
    assert found_by(rdma_facts(tmp_path)) == set()
    assert found_by(rdma_facts(tmp_path, {"NCCL_IB_DISABLE": "1"})) == {"network.rdma-disabled"}
    (tmp_path / "usr/lib/libibverbs.so.1").unlink()
    (tmp_path / "dev/infiniband/uverbs0").unlink()
    expected = {"network.rdma-no-libibverbs", "network.rdma-no-device-files"}
    assert found_by(rdma_facts(tmp_path)) == expected
    (tmp_path / "sys/class/infiniband/mlx5_0/ports/1/state").write_text("1: DOWN\n")
    assert "network.rdma-no-active-port" in found_by(rdma_facts(tmp_path))


def test_efa_needs_libfabric_and_the_plugin(tmp_path: Path) -> None:
    """NCCL reaches EFA through aws-ofi-nccl only; what is missing first is named."""
    device(tmp_path, "efa_0", "4: ACTIVE", "Unspecified")
    assert found_by(rdma_facts(tmp_path)) == {"network.efa-no-libfabric"}
    library(tmp_path, "libfabric.so.1")
    assert found_by(rdma_facts(tmp_path)) == {"network.efa-no-plugin"}
    library(tmp_path, "libnccl-net-ofi.so")
    assert found_by(rdma_facts(tmp_path)) == set()


def test_a_roce_port_needs_a_gid_of_version_2(tmp_path: Path) -> None:
    """Only RoCE v1 GIDs, or one of v2."""
    device(tmp_path, "mlx5_0", "4: ACTIVE", "Ethernet", {"fe80:0000:0000:0000:0000:0000:0000:0001": "IB/RoCE v1"})
    library(tmp_path, "libibverbs.so.1")
    assert found_by(rdma_facts(tmp_path)) == {"network.roce-no-v2-gid"}
    gid = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    (gid / "gids/1").write_text("0000:0000:0000:0000:0000:ffff:0a00:0001\n")
    (gid / "gid_attrs/types/1").write_text("RoCE v2\n")
    assert found_by(rdma_facts(tmp_path)) == set()


def test_interfaces_that_are_a_poor_choice_are_named() -> None:
    """A bridge beside a real interface, and a slow one beside a fast one."""
    rows = [
        interface("br-0123456789ab", "docker", "172.18.0.1"),
        interface("eth0", "physical", "10.0.0.1", speed=1000),
        interface("eth1", "physical", "10.1.0.1", speed=100000),
    ]
    chosen = {"why": "other", "interfaces": [{"name": row["name"], "address": row["addresses"][0]} for row in rows]}
    routes_known = [{"interface": "eth1", "to": "0.0.0.0/0", "gateway": "10.1.0.254"}]
    found = dict(local.judge({"interfaces": rows, "nccl": chosen, "routes": routes_known}))
    assert found["network.nccl-virtual-interface"]["better"] == "eth1"
    chosen["interfaces"] = chosen["interfaces"][1:]
    found = dict(local.judge({"interfaces": rows, "nccl": chosen, "routes": routes_known}))
    assert found == {
        "network.interface-slow": {"interface": "eth0", "speed": 1000, "better": "eth1", "better_speed": 100000}
    }


def test_the_way_to_an_address_is_the_kernels_own(tmp_path: Path) -> None:
    """Loopback is reached from loopback; what is no address is an error, not a crash; the table is read."""
    assert routes.way_to("127.0.0.1")["source"] == "127.0.0.1"
    assert routes.way_to("not an address")["error"]
    table = tmp_path / "route"
    table.write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t0000A8C0\t00000000\t1\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    assert routes.routes(table) == [
        {"interface": "eth0", "to": "0.0.0.0/0", "gateway": "192.168.0.1"},
        {"interface": "eth0", "to": "192.168.0.0/24", "gateway": None},
    ]


def ends(token: str, serve: Callable[[socket.socket], object]) -> wire.Channel:
    """Connect two sockets and greet; the listener's side runs in a thread."""
    mine, theirs = socket.socketpair()
    tcp = socket.create_server(("127.0.0.1", 0))
    mine.close()
    theirs.close()
    made = socket.create_connection(tcp.getsockname())
    guest, _ = tcp.accept()
    tcp.close()
    threading.Thread(target=serve, args=(guest,), daemon=True).start()
    return wire.greet_listener(made, token, 5.0)


def test_both_ends_prove_that_they_know_the_token() -> None:
    """With the same token messages pass; with another one neither side gets a channel."""
    echoes: list[Any] = []

    def serve(guest: socket.socket) -> None:
        channel = wire.greet_caller(guest, KEY, 5.0)
        assert isinstance(channel, wire.Channel)
        echoes.append(channel.receive())
        channel.send({"back": True})

    channel = ends(KEY, serve)
    channel.send({"there": 1})
    assert channel.receive() == {"back": True}
    assert echoes == [{"there": 1}]
    refused: list[str] = []

    def refuse(guest: socket.socket) -> None:
        with pytest.raises(wire.BrokenTalkError) as broken:
            wire.greet_caller(guest, KEY, 5.0)
        refused.append(str(broken.value))
        guest.close()

    with pytest.raises(wire.BrokenTalkError, match="token"):
        ends("another-token", refuse)
    assert refused == ["token"]


def test_a_changed_or_repeated_message_is_not_taken() -> None:
    """Every frame has a code over its number: one that is changed, or sent again, ends the talk."""
    spoils: tuple[Callable[[bytes], bytes], ...] = (lambda frame: frame[:-1] + b"!", lambda frame: frame + frame)
    for spoil in spoils:
        heard: list[Any] = []
        done = threading.Event()

        def serve(guest: socket.socket, heard: list[Any] = heard, done: threading.Event = done) -> None:
            channel = wire.greet_caller(guest, KEY, 5.0)
            assert isinstance(channel, wire.Channel)
            try:
                heard.extend([channel.receive(), channel.receive()])
            except wire.BrokenTalkError as broken:
                heard.append(str(broken))
            done.set()

        channel = ends(KEY, serve)
        real, frames = channel.sock, _Recorder()
        channel.sock = frames  # type: ignore[assignment]
        channel.send({"n": 1})
        real.sendall(spoil(frames.data))
        assert done.wait(10)
        assert heard[-1] == "code"


class _Recorder:
    """A socket that keeps what would be sent."""

    def __init__(self) -> None:
        self.data = b""

    def settimeout(self, _seconds: float) -> None:
        """Take no notice."""

    def sendall(self, data: bytes) -> None:
        """Keep the data."""
        self.data += data


def test_a_stranger_cannot_keep_the_listener_busy() -> None:
    """Silence, noise and oversized frames end after a moment, while the right one is served."""
    facts = {**A, "rdma": {"devices": []}, "environment": {}}
    waiting = listener.Listener(0, KEY, facts)
    try:
        silent = [socket.create_connection(("127.0.0.1", waiting.port)) for _ in range(8)]
        noisy = socket.create_connection(("127.0.0.1", waiting.port))
        noisy.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(200))
        right = wire.greet_listener(socket.create_connection(("127.0.0.1", waiting.port)), KEY, 5.0)
        met = waiting.wait(5.0)
        assert met is not None
        right.sock.close()
        until = time.monotonic() + 10
        while waiting.strangers < 9 and time.monotonic() < until:
            time.sleep(0.02)
        assert waiting.strangers == 9
        for sock in (*silent, noisy):
            sock.close()
    finally:
        waiting.close()


def test_the_listener_connects_to_nobody_but_the_caller() -> None:
    """Even who knows the token cannot send it elsewhere: addresses that are not the caller's end the talk."""
    waiting = listener.Listener(0, KEY, {**A, "rdma": {"devices": []}, "environment": {}})
    try:
        channel = wire.greet_listener(socket.create_connection(("127.0.0.1", waiting.port)), KEY, 5.0)
        met = waiting.wait(5.0)
        assert met is not None
        problem: list[str] = []

        def converse() -> None:
            try:
                waiting.converse(*met)
            except wire.BrokenTalkError as broken:
                problem.append(str(broken))

        talk = threading.Thread(target=converse, daemon=True)
        talk.start()
        channel.send({"do": "try", "targets": [["192.0.2.1", 22, "00" * 16]]})
        talk.join(10)
        assert problem == ["order: address"]
    finally:
        waiting.close()


def test_every_finding_of_the_probe_has_its_sentences() -> None:
    """What the code can find is in the catalogue, with a repair in both languages; nothing there is left over."""
    catalogue = built_in.catalogue()
    held = {finding.id: finding for finding in catalogue.findings if finding.id.startswith("network.")}
    named = {*local.LOOKED_FOR, *local.RDMA_LOOKED_FOR, *between.LOOKED_FOR, *PEER_LOOKED_FOR}
    assert set(held) == named | {"network.same-hostname", "network.clock-differs", "network.latency-high"}
    for finding in held.values():
        assert finding.says is not None
        assert finding.fix is not None


def test_every_value_that_a_sentence_needs_is_there() -> None:
    """The findings of every case above can be said in both languages."""
    catalogue = built_in.catalogue()
    held = {finding.id: finding for finding in catalogue.findings}
    loop = {"why": "hostname", "interfaces": [{"name": "lo", "address": "127.0.1.1"}]}
    far = {"why": "other", "interfaces": [{"name": "eth9", "address": "10.9.9.9"}]}
    bad = {"role": "door", "address": "10.0.0.2", "port": 1, "outcome": "ETIMEDOUT"}
    tries = [
        bad,
        *({"role": name, "address": "10.9.9.9", "port": 1, "outcome": "EHOSTUNREACH"} for name in ("nccl", "gloo")),
    ]
    seen = {
        **SEEN, "to": tries, "back": [bad], "streams": [{"way": "up", "small": True, "large": False}],
    }  # fmt: skip
    cases = [(A, host("b", "10.0.0.2", gloo=loop), SEEN), (A, host("b", "10.0.0.2", nccl=far, gloo=far), seen)]
    for case in cases:
        found = list(between.judge(*case))
        assert found
        for identity, values in found:
            finding = held[identity]
            texts = [finding.says, finding.fix]
            for text in texts:
                assert text is not None
                assert "{" not in fill(text.en, values) + fill(text.ko, values)
            for command in finding.commands:
                assert "{" not in fill(command, values)
