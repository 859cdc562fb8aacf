"""Names and interfaces: whether the ranks can find the master, and one another."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import msgspec

from distkb.evidence.observation import Quote
from distkb.probing.env.contract import is_placeholder
from distkb.probing.env.interfaces import parse_gloo, parse_nccl, usable
from distkb.probing.env.verdict import EnvVerdict, listed, quote, word
from distkb.probing.env.view import EnvProcess, View, integer, texts

SLOW_S = 2.0
"""Seconds after which a name's resolution is worth a word."""
_NOT_A_NAME = re.compile(r"://|@|/|\s|['\"]|^\[")


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge the names and the interfaces of the environment."""
    if view.part("port").get("foreign_net"):
        return
    _hostname(view, verdict)
    if view.here is not None:
        _master(view, view.here, verdict)
        if view.rows("interfaces"):
            for process in view.everyone:
                _nccl(view, process, verdict)
                _gloo(view, process, verdict)


def master_is_here(view: View) -> bool:
    """Say whether MASTER_ADDR is this machine; without one, or where it does not resolve, it is taken to be."""
    master = view.part("names", "master")
    addresses = _addresses(master)
    return not addresses or any(is_loopback(a) or a in _local_addresses(view) for a in addresses)


def is_loopback(address: str) -> bool:
    """Say whether an address reaches only its own machine."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _local_addresses(view: View) -> set[str]:
    return {str(address) for row in view.rows("interfaces") for address in texts(row.get("addresses"))}


def _addresses(resolved: dict[str, Any]) -> list[str]:
    return texts(resolved.get("addresses"))


def _hostname(view: View, verdict: EnvVerdict) -> None:
    resolved = view.part("names", "hostname")
    name = resolved.get("name")
    if not name:
        return
    verdict.look("env.hostname-unresolvable", "env.resolver-slow")
    addresses = _addresses(resolved)
    evidence = quote(f"{name} → {listed(addresses) or '?'}", "hostname")
    if resolved.get("error") == "unknown":
        detail = quote(f"getaddrinfo({name}): {resolved.get('detail') or '?'}", "hostname")
        verdict.find("env.hostname-unresolvable", [detail], {"hostname": name, "word": word(name)})
    _slow(resolved, verdict)
    nodes, said_by = view.nodes
    if nodes > 1 and addresses:
        verdict.look("env.hostname-loopback")
        if all(is_loopback(a) for a in addresses) and not (view.here and view.here.get("GLOO_SOCKET_IFNAME")):
            spans = view.here.quote(*said_by) if view.here else []
            verdict.find(
                "env.hostname-loopback",
                [evidence, *spans],
                {
                    "hostname": name,
                    "address": addresses[0],
                    "nodes": nodes,
                    "interface": _an_interface(view),
                    "word": word(name),
                },
            )


def _slow(resolved: dict[str, Any], verdict: EnvVerdict) -> None:
    seconds = resolved.get("seconds")
    if isinstance(seconds, (int, float)) and (seconds > SLOW_S or resolved.get("error") == "slow"):
        verdict.find(
            "env.resolver-slow",
            [quote(f"getaddrinfo({resolved.get('name')}): {seconds:.1f} s", "resolver")],
            {"name": resolved.get("name"), "seconds": f"{seconds:.1f}", "word": word(resolved.get("name"))},
        )


def _an_interface(view: View) -> str:
    """Return an interface that other machines could reach."""
    rows = [row for row in view.rows("interfaces") if not row.get("loopback")]
    return next(iter(usable(rows)), "eth0")


def _master(view: View, here: EnvProcess, verdict: EnvVerdict) -> None:
    value = here.get("MASTER_ADDR")
    if not value or is_placeholder(value):
        return
    verdict.look("env.master-addr-not-a-name", "env.master-addr-unresolvable")
    if _is_no_name(value):
        verdict.find(
            "env.master-addr-not-a-name", here.quote("MASTER_ADDR"), {"value": value, "word": word(_bare(value))}
        )
        return
    resolved = view.part("names", "master")
    addresses = _addresses(resolved)
    if resolved.get("error") == "unknown":
        verdict.find("env.master-addr-unresolvable", here.quote("MASTER_ADDR"), {"value": value, "word": word(value)})
    _slow(resolved, verdict)
    if addresses:
        _where(view, here, addresses, verdict)
        _family(view, here, addresses, verdict)


def _is_no_name(value: str) -> bool:
    try:
        ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return _NOT_A_NAME.search(value) is not None or re.search(r":\d+$", value) is not None
    return False


def _bare(value: str) -> str:
    """Return the host in what is a URL, a `user@host` or a `host:port`."""
    name = re.sub(r"^\w+://", "", value.strip(" \t'\"")).rpartition("@")[2].partition("/")[0].strip("[]")
    return re.sub(r"\]?:\d+$", "", name) or "?"


def _where(view: View, here: EnvProcess, addresses: list[str], verdict: EnvVerdict) -> None:
    nodes, said_by = view.nodes
    in_pod = view.part("host").get("container") == "kubernetes"
    values = {"value": here.get("MASTER_ADDR") or "", "address": addresses[0]}
    if nodes > 1 and not (in_pod and here.rank == 0):
        verdict.look("env.master-addr-loopback")
        if all(is_loopback(address) for address in addresses):
            quotes = here.quote("MASTER_ADDR", *said_by)
            verdict.find("env.master-addr-loopback", quotes, {**values, "nodes": nodes})
    # A Service's address is no pod's own, nor is a host's address that a bridge forwards to a container.
    if here.rank == 0 and view.part("host").get("container") is None and view.rows("interfaces"):
        verdict.look("env.master-addr-elsewhere")
        if not master_is_here(view):
            own = [a for a in sorted(_local_addresses(view)) if not is_loopback(a)]
            verdict.find(
                "env.master-addr-elsewhere", here.quote("RANK", "MASTER_ADDR"), {**values, "own": listed(own) or "?"}
            )


def _family(view: View, here: EnvProcess, addresses: list[str], verdict: EnvVerdict) -> None:
    port = view.part("port")
    if port.get("ipv6") != "unavailable" or here.rank not in (None, 0):
        return
    verdict.look("env.master-addr-ipv6")
    if all(":" in address for address in addresses):
        verdict.find(
            "env.master-addr-ipv6",
            here.quote("MASTER_ADDR"),
            {"value": here.get("MASTER_ADDR") or "", "address": addresses[0]},
        )


def _nccl(view: View, process: EnvProcess, verdict: EnvVerdict) -> None:
    value, quotes = _nccl_value(view, process)
    choice = parse_nccl(value)
    if choice is None:
        return
    verdict.look("env.nccl-interface-none", "env.nccl-interface-loopback")
    rows = view.rows("interfaces")
    taken = [name for name in usable(rows) if choice.takes(name)]
    known = [str(row.get("name")) for row in rows if choice.takes(str(row.get("name")))]
    values = {"value": value, "usable": listed(usable(rows)) or "?", "interface": _an_interface(view)}
    if not taken:
        if known and not choice.exclude:
            verdict.find("env.nccl-interface-down", quotes, {**values, "down": listed(known)})
        else:
            verdict.find("env.nccl-interface-none", quotes, values)
    elif view.nodes[0] > 1 and all(row.get("loopback") for row in rows if row.get("name") in taken):
        spans = process.quote(*view.nodes[1])
        verdict.find("env.nccl-interface-loopback", [*quotes, *spans], {**values, "nodes": view.nodes[0]})


def _nccl_value(view: View, process: EnvProcess) -> tuple[str, list[Quote]]:
    """Return NCCL_SOCKET_IFNAME as NCCL sees it: of the environment, else of the files that NCCL reads."""
    name = "NCCL_SOCKET_IFNAME"
    if name in process:
        return process.get(name) or "", process.quote(name)
    for row in view.rows("nccl_files"):
        if row.get("name") == name:
            text = quote(f"{name}={row.get('value')}", str(row.get("path")))
            return str(row.get("value")), [msgspec.structs.replace(text, line=integer(row.get("line")))]
    return "", []


def _gloo(view: View, process: EnvProcess, verdict: EnvVerdict) -> None:
    value = process.get("GLOO_SOCKET_IFNAME")
    if not value:
        return
    verdict.look("env.gloo-interface-missing")
    rows = view.rows("interfaces")
    missing = [name for name in parse_gloo(value) if name not in usable(rows)]
    if missing:
        verdict.find(
            "env.gloo-interface-missing",
            process.quote("GLOO_SOCKET_IFNAME"),
            {
                "value": value,
                "missing": listed(repr(name) if name != name.strip() or not name else name for name in missing),
                "usable": listed(usable(rows)) or "?",
                "interface": _an_interface(view),
            },
        )
