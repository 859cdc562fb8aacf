"""`distkb probe network`: what would NCCL and Gloo use here, and do two hosts reach one another that way?"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import Session, session
from distkb.probing.registry import PROBES

if TYPE_CHECKING:
    from distkb.evidence.observation import Observation
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter
    from distkb.probing.run import Stage

DEADLINE_S, WAIT_S = PROBES["network"].deadline_s, 600.0
"""Seconds for this host and a conversation, and for which a listener waits until somebody starts the other end."""
PORT = 29400
"""torchrun's c10d rendezvous, the first port that a run over several machines needs."""
LEAST_TOKEN = 8
EVERYWHERE = "*"
"""Stands for all addresses of this host."""


@click.command(
    "network",
    cls=Command,
    help="network.help",
    examples=(
        "distkb probe network",
        "distkb probe network --listen 10.0.0.4",
        "distkb probe network --peer node0:29400 --token TOKEN",
        "distkb probe network --peer node0:29500",
    ),
)
@click.option("--listen", is_flag=False, flag_value=EVERYWHERE, metavar="[ADDRESS]", help="network.option.listen")
@click.option("--port", type=click.IntRange(1, 65535), metavar="PORT", help="network.option.port")
@click.option("--peer", metavar="HOST[:PORT]", help="network.option.peer")
@click.option("--token", metavar="TOKEN", help="network.option.token")
@probe.probe_options("network")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    listen: str | None,
    port: int | None,
    peer: str | None,
    token: str | None,
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Read this host's network, and measure the way to another host where one is named."""
    from distkb.probing.judge import answer

    current = session(ctx)
    if listen is not None and peer is not None:
        raise Failure("network.listen-or-peer")
    if token is not None and len(token) < LEAST_TOKEN:
        raise Failure("network.short-token", least=LEAST_TOKEN)
    waits = ctx.get_parameter_source("deadline") is click.core.ParameterSource.DEFAULT
    request: dict[str, Any] = {"token": token}
    if listen is not None:
        deadline = WAIT_S if waits else deadline
        address = "" if listen == EVERYWHERE else _split(listen)[0]
        request |= {"listen": True, "address": address, "port": port or PORT, "token": token or secrets.token_hex(10)}
        request["wait_s"] = max(1.0, deadline - DEADLINE_S) if waits else deadline
        deadline += 0.0 if waits else DEADLINE_S
    elif peer is not None:
        host, named = _split(peer)
        request |= {"peer": host, "port": named or port or PORT}
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    chosen = probe.interpreter(python)
    raw = _run(request, chosen, current, deadline, quiet=as_json)
    found = answer(raw, known.catalogue.findings, more=_of_the_environment(raw), interpreter=chosen)
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _split(peer: str) -> tuple[str, int | None]:
    """Return host and port of `host`, `host:port`, `address`, `[address]:port`; raises Failure for anything else."""
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
        raise Failure("network.peer", given=peer)
    return host, int(port) if port else None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16


def _run(
    request: dict[str, Any], python: Interpreter, current: Session, deadline_s: float, *, quiet: bool
) -> RawDocument:
    """Run the probe. A listener says on stderr how to start the other end, whatever else is shown."""
    if not request.get("listen"):
        return probe.run("network", request, python, current, deadline_s=deadline_s, quiet=quiet)
    from distkb.probing.run import ProbeRun

    def listener(event: Stage | str) -> None:
        if not isinstance(event, str) and event.stage.endswith(".waiting"):
            address = (str(event.values.get("addresses", "")).split() or [socket.gethostname()])[0]
            host = f"[{address}]" if ":" in address else address
            start = f"distkb probe network --peer {host}:{event.values['port']} --token {request['token']}"
            note(current.say("network.start-other", command=start), current.say)

    return ProbeRun("network", request, python.path, deadline_s=deadline_s, listener=listener).result()


def _of_the_environment(raw: RawDocument) -> list[Observation]:
    """Return what the rules of `probe env` say of names and interfaces: the same facts mean the same."""
    from distkb.evidence.observation import Observation
    from distkb.probing.env import network
    from distkb.probing.env.verdict import Verdict
    from distkb.probing.env.view import View

    verdict = Verdict()
    network.judge(View.of({**raw.facts, "environment_path": "environment"}), verdict)
    absent = [Observation(id=identity, source="probe", present=False) for identity in verdict.clear()]
    return [*verdict.found(), *absent]


def _body(found: ProbeAnswer, current: Session) -> str:
    from distkb.report import network

    return network.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
