"""`distkb probe network`: what would NCCL and Gloo use here, and do two hosts reach one another that way?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import CommonSettings, session
from distkb.probing import peers

if TYPE_CHECKING:
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter
    from distkb.probing.run import Stage

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
    if token is not None and len(token) < peers.LEAST_TOKEN:
        raise Failure("network.short-token", least=peers.LEAST_TOKEN)
    waits = ctx.get_parameter_source("deadline") is click.core.ParameterSource.DEFAULT
    request: dict[str, Any] = {"token": token}
    try:
        if listen is not None:
            deadline = peers.WAIT_S if waits else deadline
            address, named = ("", None) if listen == EVERYWHERE else peers.split(listen)
            request = peers.listen(address, named or port or peers.PORT, token)
            request["wait_s"] = max(1.0, deadline - peers.DEADLINE_S) if waits else deadline
            deadline += 0.0 if waits else peers.DEADLINE_S
        elif peer is not None:
            request = peers.connect(peer, port, token)
    except peers.NoPeerError as problem:
        raise Failure("network.peer", given=str(problem)) from problem
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    chosen = probe.interpreter(python)
    raw = _run(request, chosen, current, deadline, quiet=as_json)
    found = answer(raw, known.catalogue.findings, more=peers.of_the_environment(raw), interpreter=chosen)
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _run(
    request: dict[str, Any], python: Interpreter, current: CommonSettings, deadline_s: float, *, quiet: bool
) -> RawDocument:
    """Run the probe. A listener says on stderr how to start the other end, whatever else is shown."""
    if not request.get("listen"):
        return probe.run("network", request, python, current, deadline_s=deadline_s, quiet=quiet)
    from distkb.probing.run import ProbeRun

    def listener(event: Stage | str) -> None:
        start = peers.start_other(event, request)
        if start is not None:
            note(current.say("network.start-other", command=start), current.say)

    return ProbeRun("network", request, python.path, deadline_s=deadline_s, listener=listener).result()


def _body(found: ProbeAnswer, current: CommonSettings) -> str:
    from distkb.report import network

    return network.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
