"""The network probe: what NCCL and Gloo would use on this host, and whether two hosts reach one another that way.

Alone it reads this host. With `listen` it also waits for another host, with `peer` it connects to one: both run the
probe then and get the same findings. A peer without a token is only connected to, as a rank would to its store.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Mapping
from typing import Any

from distkb_probes._report import Report
from distkb_probes.environment import names
from distkb_probes.netpath import between, here, local, routes
from distkb_probes.netpath.caller import Caller, reach_listener
from distkb_probes.netpath.listener import Listener
from distkb_probes.netpath.reach import attempt
from distkb_probes.netpath.wire import BrokenTalkError

PEER_LOOKED_FOR = (
    "network.peer-unresolvable",
    "network.peer-refused",
    "network.peer-unreachable",
    "network.peer-silent",
)
_MOST_FOUND = 64
_MOST_ADDRESSES = 4


def run(request: Mapping[str, Any], report: Report) -> None:
    """Read this host, then meet the other one where the request names it (`listen`, or `peer` and `port`)."""
    report.stage("network.here")
    facts = here.collect(here.environment())
    for name, value in facts.items():
        report.fact(name, value)
    report.clear(*local.LOOKED_FOR, *(local.RDMA_LOOKED_FOR if facts["rdma"]["devices"] else ()))
    for identity, values in local.judge(facts):
        report.found(identity, values=values)
    if request.get("listen"):
        _listen(request, facts, report)
    elif request.get("peer"):
        _call(request, facts, report)


def _listen(request: Mapping[str, Any], facts: Mapping[str, Any], report: Report) -> None:
    address = str(request.get("address") or "")
    try:
        listener = Listener(int(request["port"]), str(request["token"]), facts, address)
    except OSError as problem:
        report.fail("network-port", f"{request['port']}: {routes.error_name(problem)}")
    try:
        report.stage("network.waiting", port=listener.port, addresses=address or " ".join(_shown(facts)))
        met = listener.wait(float(request["wait_s"]))
        report.fact("strangers", listener.strangers)
        if met is None:
            report.fail("network-nobody", f"{request['wait_s']:.0f}")
        channel, who = met
        report.stage("network.measuring", peer=who)
        try:
            said = listener.converse(channel, who)
        except BrokenTalkError as broken:
            report.fail("network-lost", str(broken))
        _take_over(said, who, report)
    finally:
        listener.close()


def _shown(facts: Mapping[str, Any]) -> list[str]:
    """Return the addresses by which another host could know this one, those of the default route's interface first."""
    ways = [route["interface"] for route in facts["routes"] if route["to"] == "0.0.0.0/0"]
    rows = sorted(facts["interfaces"], key=lambda row: row["name"] not in ways)
    found = [address for row in rows if not row["loopback"] for address in row["addresses"]]
    return [address for address in found if not address.startswith("fe80:")][:_MOST_ADDRESSES]


def _take_over(said: Mapping[str, Any], who: str, report: Report) -> None:
    """Report what the other end found, as far as it is of the kinds that there are."""
    known = {*between.LOOKED_FOR, "network.same-hostname", "network.clock-differs", "network.latency-high"}
    report.fact("peer", {"address": who, "role": "listener", "card": said.get("card"), "seen": said.get("seen")})
    report.clear(*between.LOOKED_FOR)
    with contextlib.suppress(TypeError, ValueError, AttributeError):
        for identity, values in list(said.get("found") or ())[:_MOST_FOUND]:
            if identity in known:
                report.found(identity, values=values)


def _call(request: Mapping[str, Any], facts: Mapping[str, Any], report: Report) -> None:
    peer, port = str(request["peer"]), int(request["port"])
    addresses = _resolve(peer, report)
    if not addresses:
        return
    ways = [routes.way_to(address) for address in addresses]
    report.fact("ways", ways)
    report.stage("network.calling", peer=peer, port=port)
    if not request.get("token"):
        rows = [attempt(address, port, None) for address in addresses]
        report.fact("peer", {"name": peer, "role": "port", "tries": rows})
        _not_reached(peer, port, rows, ways, report)
        return
    sock, rows = reach_listener(addresses, port)
    if sock is None:
        report.fact("peer", {"name": peer, "role": "caller", "tries": rows})
        _not_reached(peer, port, rows, ways, report)
        return
    with sock:
        _talk(request, facts, report, sock, rows)


def _talk(request: Mapping[str, Any], facts: Mapping[str, Any], report: Report, sock: Any, rows: list[Any]) -> None:
    lost = ""
    try:
        caller = Caller(sock, str(request["token"]), facts, lambda stage: report.stage(f"network.{stage}"))
    except BrokenTalkError as broken:
        report.fail(
            "network-token" if str(broken) == "token" else "network-foreign", f"{request['peer']}:{request['port']}"
        )
    try:
        caller.measure()
    except (BrokenTalkError, KeyError, TypeError, ValueError) as broken:
        lost = str(broken)
    found = list(between.judge(here.card(facts), caller.card, caller.seen)) if caller.card else []
    report.fact(
        "peer", {"name": request["peer"], "role": "caller", "tries": rows, "card": caller.card, "seen": caller.seen}
    )
    for identity, values in found:
        report.found(identity, values=values)
    if lost:
        report.fail("network-lost", lost)
    report.clear(*between.LOOKED_FOR, *PEER_LOOKED_FOR)
    with contextlib.suppress(BrokenTalkError):
        caller.end({"found": found, "card": here.card(facts), "seen": caller.seen})


def _resolve(peer: str, report: Report) -> list[str]:
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(peer.partition("%")[0])) + peer[len(peer.partition("%")[0]) :]]
    resolved = names.resolve(peer)
    report.fact("peer_name", resolved)
    if resolved["error"]:
        detail = "ETIMEDOUT" if resolved["error"] == "slow" else str(resolved.get("detail", ""))
        report.found("network.peer-unresolvable", values={"peer": peer, "how": detail})
    return [str(address) for address in resolved["addresses"]][:_MOST_ADDRESSES]


def _not_reached(peer: str, port: int, rows: list[Any], ways: list[Any], report: Report) -> None:
    """Say why nobody answered, where nobody did; one answer is enough."""
    report.clear(*PEER_LOOKED_FOR)
    if any(row["outcome"] == "ok" for row in rows):
        return
    row, way = rows[0], ways[0]
    values = {
        "peer": peer,
        "address": row["address"],
        "port": port,
        "how": row["outcome"],
        "source": way["source"] or "?",
    }
    kind = {"ECONNREFUSED": "refused", "ETIMEDOUT": "silent"}.get(row["outcome"], "unreachable")
    report.found(f"network.peer-{kind}", values=values)
