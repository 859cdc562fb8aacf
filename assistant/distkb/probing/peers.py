"""The two ends of the network probe: what each is asked for, and how the other one is started."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from typing import TYPE_CHECKING, Any

from distkb.probing.registry import PROBES

if TYPE_CHECKING:
    from distkb.evidence.observation import Observation
    from distkb.probing.document import RawDocument
    from distkb.probing.run import Stage

DEADLINE_S, WAIT_S = PROBES["network"].deadline_s, 600.0
"""Seconds for this host and a conversation, and for which a listener waits until somebody starts the other end."""
PORT = 29400
"""torchrun's c10d rendezvous, the first port that a run over several machines needs."""
LEAST_TOKEN = 8


class NoPeerError(ValueError):
    """What was given names no host and port."""


def listen(address: str = "", port: int = PORT, token: str | None = None) -> dict[str, Any]:
    """Return the request of the end that waits, at one address or at all of this host's."""
    return {"listen": True, "address": address, "port": port, "token": token or secrets.token_hex(10)}


def connect(peer: str, port: int | None = None, token: str | None = None) -> dict[str, Any]:
    """Return the request of the end that connects; raises NoPeerError."""
    host, named = split(peer)
    return {"peer": host, "port": named or port or PORT, "token": token}


def typed(text: str) -> tuple[dict[str, Any], float]:
    """Return the request and its deadline for what was typed: nothing, or `HOST[:PORT] [TOKEN]`.

    Nothing waits for the other end; its whole command will do, too. Raises NoPeerError.
    """
    given = [word for word in text.split() if word not in ("distkb", "probe", "network", "--peer", "--token")]
    if not given:
        return {**listen(), "wait_s": WAIT_S - DEADLINE_S}, WAIT_S
    token = given[1] if len(given) > 1 else None
    if token is not None and len(token) < LEAST_TOKEN:
        raise NoPeerError(text)
    return connect(given[0], token=token), DEADLINE_S


def split(peer: str) -> tuple[str, int | None]:
    """Return host and port of `host`, `host:port`, `address`, `[address]:port`; else NoPeerError."""
    host, port = peer, ""
    try:
        ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        if peer.startswith("["):
            host, _, port = peer[1:].partition("]")
            port = port.removeprefix(":")
        else:
            host, _, port = peer.partition(":")
    if not host or len(host) > 255 or host.startswith("-") or (port and not _is_port(port)):
        raise NoPeerError(peer)
    return host, int(port) if port else None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16


def start_other(event: Stage | str, request: dict[str, Any]) -> str | None:
    """Return the command for the other host, as soon as this one listens."""
    if isinstance(event, str) or not event.stage.endswith(".waiting"):
        return None
    address = (str(event.values.get("addresses", "")).split() or [socket.gethostname()])[0]
    host = f"[{address}]" if ":" in address else address
    return f"distkb probe network --peer {host}:{event.values['port']} --token {request['token']}"


def of_the_environment(raw: RawDocument) -> list[Observation]:
    """Return what the rules of `probe env` say of names and interfaces: the same facts mean the same."""
    from distkb.evidence.observation import Observation
    from distkb.probing.env import network
    from distkb.probing.env.verdict import EnvVerdict
    from distkb.probing.env.view import View

    verdict = EnvVerdict()
    network.judge(View.of({**raw.facts, "environment_path": "environment"}), verdict)
    absent = [Observation(id=identity, source="probe", present=False) for identity in verdict.clear()]
    return [*verdict.found(), *absent]
