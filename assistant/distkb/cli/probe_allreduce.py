"""`distkb probe allreduce`: can the ranks of a job meet, communicate correctly, and how fast?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.probing.document import ProbeAnswer

NODES_DEADLINE_S = 120.0
"""Seconds for one machine, and where other machines have to come: people start those one after another."""


@click.command(
    "allreduce",
    cls=Command,
    help="probe.allreduce.help",
    examples=(
        "distkb probe allreduce",
        "distkb probe allreduce --nproc 2 --backend gloo",
        "distkb probe allreduce --nnodes 2 --nproc 8 --rdzv-endpoint node0:29400",
        "srun distkb probe allreduce",
        "torchrun --nproc-per-node 8 --no-python distkb probe allreduce",
    ),
)
@click.option("--nproc", type=click.IntRange(min=1), metavar="N", help="probe.allreduce.option.nproc")
@click.option("--nnodes", type=click.IntRange(min=1), default=1, metavar="N", help="option.nnodes")
@click.option("--rdzv-endpoint", metavar="HOST:PORT", help="probe.allreduce.option.rdzv-endpoint")
@click.option("--rdzv-id", metavar="ID", help="probe.allreduce.option.rdzv-id")
@click.option("--backend", type=click.Choice(["nccl", "gloo"]), metavar="NAME", help="probe.allreduce.option.backend")
@click.option("--min-bytes", metavar="SIZE", help="probe.allreduce.option.min-bytes")
@click.option("--max-bytes", metavar="SIZE", help="probe.allreduce.option.max-bytes")
@click.option(
    "--logs", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="probe.allreduce.option.logs"
)
@probe.probe_options("allreduce")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    nproc: int | None,
    nnodes: int,
    rdzv_endpoint: str | None,
    rdzv_id: str | None,
    backend: str | None,
    min_bytes: str | None,
    max_bytes: str | None,
    logs: Path | None,
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Start ranks, or be one of a job that a launcher has started, and print the verdict with the bandwidths."""
    from distkb.probing.judge import answer

    current = session(ctx)
    if nnodes > 1 and rdzv_endpoint is None:
        raise Failure("probe.allreduce.no-endpoint", nnodes=nnodes)
    if ctx.get_parameter_source("deadline") is click.core.ParameterSource.DEFAULT and (nnodes > 1 or _job_rank()):
        deadline = NODES_DEADLINE_S
    request: dict[str, Any] = {
        "nproc": nproc,
        "nnodes": nnodes,
        "rdzv_endpoint": rdzv_endpoint,
        "rdzv_id": rdzv_id,
        "backend": backend,
        "min_bytes": None if min_bytes is None else probe.parse_size(min_bytes),
        "max_bytes": None if max_bytes is None else probe.parse_size(max_bytes),
        "logs": None if logs is None else str(logs.absolute()),
    }
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    chosen = probe.interpreter(python)
    follows = _job_rank() not in (None, "0") and nproc is None
    raw = probe.run("allreduce", request, chosen, current, deadline_s=deadline, quiet=as_json or follows)
    found = answer(raw, known.catalogue.findings, interpreter=chosen)
    if found.status == "ok" and raw.facts.get("rank") and not as_json:
        return ExitCode.DONE  # one rank of a job speaks for all when nothing is wrong
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _job_rank() -> str | None:
    """Return the rank that a launcher has given this process, if one has."""
    return os.environ.get("RANK") or os.environ.get("SLURM_PROCID")


def _body(found: ProbeAnswer, current: CommonSettings) -> str:
    from distkb.report import bandwidth

    return bandwidth.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
