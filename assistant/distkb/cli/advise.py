"""`distkb advise`: what a model of a given size needs on each GPU, what fits, and the launch to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.probe import parse_size
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.sizing.shape import Shape


@click.command(
    "advise",
    cls=Command,
    help="advise.help",
    examples=(
        "distkb advise --params 7B --gpus 8 --gpu-memory 80G",
        "distkb advise --config config.json --gpus 32 --gpu-memory 40G --seq 8192 --write launch/",
    ),
)
@click.option("--params", "parameters", metavar="COUNT", help="advise.option.params")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="advise.option.config")
@click.option("--gpus", type=click.IntRange(1, 1 << 16), required=True, metavar="N", help="advise.option.gpus")
@click.option("--gpu-memory", required=True, metavar="SIZE", help="advise.option.gpu-memory")
@click.option("--gpus-per-node", type=click.IntRange(1, 1 << 10), metavar="N", help="advise.option.gpus-per-node")
@click.option("--host-memory", metavar="SIZE", help="advise.option.host-memory")
@click.option("--seq", type=click.IntRange(1, 1 << 24), default=2048, metavar="N", help="advise.option.seq")
@click.option("--batch", type=click.IntRange(1, 1 << 20), default=1, metavar="N", help="advise.option.batch")
@click.option(
    "--optimizer", type=click.Choice(["adamw", "sgd-momentum", "sgd"]), default="adamw", help="advise.option.optimizer"
)
@click.option(
    "--precision",
    type=click.Choice(["bf16", "fp16", "pure-bf16", "fp32"]),
    default="bf16",
    help="advise.option.precision",
)
@click.option(
    "--checkpointing", type=click.Choice(["auto", "on", "off"]), default="auto", help="advise.option.checkpointing"
)
@click.option("--lora", type=click.IntRange(1, 1 << 12), metavar="RANK", help="advise.option.lora")
@click.option("--write", type=click.Path(path_type=Path), metavar="DIR", help="advise.option.write")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    parameters: str | None,
    config: Path | None,
    gpus: int,
    gpu_memory: str,
    gpus_per_node: int | None,
    host_memory: str | None,
    seq: int,
    batch: int,
    optimizer: Any,
    precision: Any,
    checkpointing: Any,
    lora: int | None,
    write: Path | None,
    as_json: bool,
) -> ExitCode:
    """Print the memory of every strategy, the one to start from, and its launch; exit code 1 where nothing fits."""
    from distkb.report import sizing as screen
    from distkb.report.json import encode
    from distkb.sizing.advise import advise
    from distkb.sizing.launch import files
    from distkb.sizing.strategies import Workload

    current = session(ctx)
    if (parameters is None) == (config is None):
        raise Failure("advise.error.one-of")
    per_node = gpus_per_node or min(8, gpus)
    if gpus > per_node and gpus % per_node:
        raise Failure("advise.error.nodes", gpus=gpus, per_node=per_node)
    run = Workload(
        gpus=gpus,
        per_node=min(per_node, gpus),
        gpu_memory=parse_size(gpu_memory),
        sequence=seq,
        batch=batch,
        optimizer=optimizer,
        precision=precision,
        checkpointing=checkpointing,
        lora=lora or 0,
        host_memory=None if host_memory is None else parse_size(host_memory),
    )
    advice = advise(_shape(parameters, config), run)
    if write is not None:
        _write(write, files(advice), current)
    if as_json:
        output.write(encode(screen.document(advice)))
    else:
        output.write(screen.write(advice, current.say, columns=output.columns(), ink=output.ink()))
    return ExitCode.DONE if advice.chosen is not None else ExitCode.FINDINGS


def _shape(parameters: str | None, config: Path | None) -> Shape:
    from distkb.sizing.config_file import load
    from distkb.sizing.form import model
    from distkb.sizing.shape import ShapeError, from_config

    try:
        return from_config(load(config)) if config is not None else model(parameters or "")
    except ShapeError as problem:
        raise Failure(problem.sentence, **problem.values) from None


def _write(folder: Path, files: dict[str, str], current: CommonSettings) -> None:
    """Write the files; one that is there already is not overwritten."""
    from distkb.cli.diagnostics import note

    taken = [name for name in files if (folder / name).exists()]
    if taken:
        raise Failure("advise.error.exists", path=str(folder / taken[0]))
    if files:
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        note(current.say("advise.wrote", path=str(folder / name)), current.say)
