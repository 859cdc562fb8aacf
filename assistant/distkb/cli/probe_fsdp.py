"""`distkb probe fsdp`: configurations of sharded training, and what a sharded model costs on every rank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe, probe_launch
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.probing.document import ProbeAnswer

STRATEGIES = (
    "ddp",
    "zero1",
    "zero2",
    "zero3",
    "shard_grad_op",
    "hybrid_shard",
    "full_shard",
    "fsdp2_no_reshard",
    "fsdp2_hybrid",
    "fsdp2",
)


@click.command(
    "fsdp",
    cls=Command,
    help="help.probe.fsdp",
    examples=(
        "distkb probe fsdp accelerate.yaml ds_config.json train.sbatch",
        "distkb probe fsdp --model my_project.model:build --world-size 64 --gpu-memory 80G",
    ),
)
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--model", metavar="MODULE:CALLABLE", help="option.model")
@click.option("--world-size", type=click.IntRange(min=1), default=8, metavar="N", help="option.world-size")
@click.option("--gpu-memory", metavar="SIZE", help="option.gpu-memory")
@click.option("--wrap", multiple=True, metavar="CLASS", help="option.wrap")
@click.option("--optimizer", metavar="NAME", default="adamw", help="option.optimizer")
@click.option(
    "--precision", type=click.Choice(["fp32", "bf16", "fp16", "pure-bf16"]), metavar="NAME", help="option.precision"
)
@click.option("--strategy", type=click.Choice(STRATEGIES), metavar="NAME", help="option.strategy")
@click.option("--gpus-per-node", type=click.IntRange(min=1), metavar="N", help="option.gpus-per-node")
@probe.format_options
@probe.probe_options("fsdp", with_json=False)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    configs: tuple[Path, ...],
    model: str | None,
    world_size: int,
    gpu_memory: str | None,
    wrap: tuple[str, ...],
    optimizer: str,
    precision: str | None,
    strategy: str | None,
    gpus_per_node: int | None,
    python: Path | None,
    deadline: float,
    form: str | None,
    as_json: bool,
) -> ExitCode:
    """Print what is wrong with the configurations given, and how the model given is sharded."""
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.readers.configs import find_configs, find_launches, read_configs
    from distkb.probing.versions import versions_of

    current = session(ctx)
    configs = tuple(file for path in configs for file in (find_configs([path]) if path.is_dir() else [path]))
    if not configs and model is None:
        raise Failure("error.nothing-to-inspect")
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    if model is None and len(find_launches(configs)) == len(set(configs)):
        return probe_launch.answer(configs, known, current, form=form, as_json=as_json)
    chosen = probe.interpreter(python)
    reading = (
        read_configs(configs, known.catalogue.settings, versions_of(chosen.path), refusals=known.catalogue.refusals)
        if configs
        else None
    )
    if model is None and reading is not None:
        return probe.finish_reading("fsdp", reading, known, current, form=form, as_json=as_json)
    if reading is not None:
        say_skipped(reading.skipped, current)
    request: dict[str, Any] = {
        "model": model,
        "world_size": world_size,
        "gpu_memory": None if gpu_memory is None else probe.parse_size(gpu_memory),
        "wrap": list(wrap),
        "optimizer": optimizer,
        "precision": precision,
        "strategy": strategy,
        "gpus_per_node": gpus_per_node,
        "directory": str(Path.cwd()),
    }
    from distkb.probing.judge import answer

    raw = probe.run("fsdp", request, chosen, current, deadline_s=deadline, quiet=as_json or form not in (None, "text"))
    facts = {**raw.facts, **({} if reading is None else reading.facts)}
    more = () if reading is None else reading.said()
    found = answer(raw, known.catalogue.findings, more=more, facts=facts, interpreter=chosen)
    return probe.finish(found, current, form=form, as_json=as_json, body="" if as_json else _body(found, current))


def _body(found: ProbeAnswer, current: CommonSettings) -> str:
    if "per_rank" not in found.facts:
        return ""
    from distkb.report import sharding

    return sharding.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
