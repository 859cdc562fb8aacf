"""The screen and the document of `distkb advise`: every strategy with its memory, the one to start from, its launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distkb.report.layout import pad, width
from distkb.report.page import Ink, Page, Role, plain
from distkb.report.sharding import number, size

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.sizing.advise import Advice
    from distkb.sizing.strategies import Strategy

NAMES = {
    "ddp": "DDP",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "zero3": "ZeRO-3",
    "shard_grad_op": "FSDP1 SHARD_GRAD_OP",
    "hybrid_shard": "FSDP1 HYBRID_SHARD",
    "full_shard": "FSDP1 FULL_SHARD",
    "fsdp2_no_reshard": "FSDP2 no reshard",
    "fsdp2_hybrid": "FSDP2 hybrid",
    "fsdp2": "FSDP2",
    "zero2_offload": "ZeRO-2 offload",
    "zero3_offload": "ZeRO-3 offload",
    "fsdp2_offload": "FSDP2 offload",
}
"""Proper names, the same in every language."""

OPTIMIZERS = {"adamw": "AdamW", "sgd-momentum": "SGD + momentum", "sgd": "SGD"}

_FSDP1 = ("shard_grad_op", "hybrid_shard", "full_shard")
"""Left out of the screen: they differ little from FSDP2's rows. The document has them."""

_COLUMNS = ("states", "working", "activations", "peak", "checkpointed", "sent")
_GIB = 1 << 30
_FIGURE = 10


def write(advice: Advice, say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the screen."""
    from distkb.sizing.launch import command

    page = Page(columns, ink)
    page.title(_verdict(advice, say))
    _assumed(page, advice, say)
    _table(page, advice, say)
    _notes(page, advice, say)
    if advice.chosen is not None:
        page.heading(say("advise.launch"))
        page.line(command(advice), "    ", "code")
        if advice.run.nodes > 1:
            page.paragraph(say("advise.launch.first-node"))
        page.paragraph(say("advise.launch.files"))
    return page.text()


def _verdict(advice: Advice, say: Say) -> str:
    run = advice.run
    values: dict[str, Any] = {"gpus": run.gpus, "memory": size(run.gpu_memory)}
    if advice.chosen is None:
        key = "advise.nothing-fits" if advice.enough is None else "advise.needs-more"
        return say(key, enough=advice.enough or 0, **values)
    values |= {
        "strategy": NAMES[advice.chosen.name],
        "peak": size(advice.chosen.peak(checkpointing=advice.checkpointing)),
    }
    return say("advise.start.checkpointing" if advice.checkpointing else "advise.start", **values)


def _assumed(page: Page, advice: Advice, say: Say) -> None:
    shape, run = advice.shape, advice.run
    page.paragraph(
        say(
            f"advise.shape.{shape.source}",
            parameters=number(shape.parameters),
            layers=shape.layers,
            hidden=shape.hidden,
            intermediate=shape.intermediate,
            vocab=shape.vocab,
        )
    )
    page.paragraph(
        say(
            "advise.run",
            precision=say(f"advise.precision.{run.precision}"),
            optimizer=OPTIMIZERS[run.optimizer],
            sequence=run.sequence,
            batch=run.batch,
            nodes=run.nodes,
            per_node=min(run.per_node, run.gpus),
        )
    )
    if run.lora:
        page.paragraph(say("advise.lora", rank=run.lora))


def _table(page: Page, advice: Advice, say: Say) -> None:
    """Add one row a strategy, in GiB a GPU: a tick where it fits, first as it is, then with checkpointing."""
    rows = [row for row in advice.rows if row.name not in _FSDP1]
    names = {row.name: NAMES[row.name] for row in rows}
    heads = [say(f"advise.column.{name}") for name in _COLUMNS]
    first = max(width(name) for name in names.values())
    page.heading(say("advise.table"))
    page.line(pad("", first + 2) + "".join(_right(head) for head in heads), "", "faint")
    for row in rows:
        chosen = advice.chosen is not None and row.name == advice.chosen.name
        plainly, saving = (_fits(row, advice, checkpointing=on) for on in (False, True))
        role: Role = "good" if plainly or saving else "bad"
        cells = "".join(
            _right(cell)
            for cell in (
                _figure(row.states),
                _figure(row.gathered),
                _figure(row.activations.peak(checkpointing=False)),
                _figure(row.peak(checkpointing=False)) + _mark(plainly),
                _figure(row.peak(checkpointing=True)) + _mark(saving),
                _figure(row.sent),
            )
        )
        page.line(f"{'▸ ' if chosen else '  '}{pad(names[row.name], first)}{cells}", "", role)


def _notes(page: Page, advice: Advice, say: Say) -> None:
    chosen, run = advice.chosen, advice.run
    page.heading(say("advise.notes"))
    if chosen is not None and chosen.host:
        local = size(chosen.host)
        page.item("-", say("advise.note.host", size=local))
        if advice.enough is not None:
            page.item("-", say("advise.note.enough", gpus=advice.enough))
    if chosen is not None and chosen.leaves_node:
        page.item("-", say("advise.note.leaves", size=size(chosen.leaves_node), seconds=_seconds(chosen)))
    if advice.checkpointing and chosen is not None:
        page.item("-", say("advise.note.checkpointing"))
    if chosen is None:
        if advice.enough is not None:
            page.item("-", say("advise.note.more-gpus", gpus=advice.enough))
        page.item("-", say("advise.note.shorter"))
        if not run.lora:
            page.item("-", say("advise.note.lora"))
    page.item("-", say("advise.note.counted"))


def _seconds(row: Strategy) -> str:
    """Return how long what leaves a node takes at 100 Gbit/s, in seconds."""
    return f"{row.leaves_node * 8 / 100e9:.2g}"


def _fits(row: Strategy, advice: Advice, *, checkpointing: bool) -> bool:
    from distkb.sizing.advise import fits

    return fits(row, advice.run, checkpointing=checkpointing)


def _mark(yes: bool) -> str:
    return " ✓" if yes else " ✗"


def _figure(count: int) -> str:
    value = count / _GIB
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def _right(text: str) -> str:
    return " " * max(1, _FIGURE - width(text)) + text


def document(advice: Advice) -> dict[str, Any]:
    """Return the answer as `distkb.advice/1`: sizes in bytes on one GPU, in the order of the screen."""
    from distkb.sizing.launch import command, files

    shape, run = advice.shape, advice.run
    return {
        "schema": "distkb.advice/1",
        "model": {
            "parameters": shape.parameters,
            "layers": shape.layers,
            "hidden": shape.hidden,
            "heads": shape.heads,
            "kv_heads": shape.kv_heads,
            "intermediate": shape.intermediate,
            "vocab": shape.vocab,
            "source": shape.source,
        },
        "run": {
            "gpus": run.gpus,
            "gpus_per_node": run.per_node,
            "nodes": run.nodes,
            "gpu_memory": run.gpu_memory,
            "sequence": run.sequence,
            "batch": run.batch,
            "optimizer": run.optimizer,
            "precision": run.precision,
            "lora": run.lora,
        },
        "strategies": [
            {
                "id": row.name,
                "name": NAMES[row.name],
                "parameters": row.params,
                "gradients": row.grads,
                "optimizer": row.optimizer,
                "working": row.gathered,
                "activations": row.activations.peak(checkpointing=False),
                "activations_checkpointed": row.activations.peak(checkpointing=True),
                "peak": row.peak(checkpointing=False),
                "peak_checkpointed": row.peak(checkpointing=True),
                "fits": _fits(row, advice, checkpointing=False),
                "fits_checkpointed": _fits(row, advice, checkpointing=True),
                "host_per_node": row.host,
                "sent_per_gpu": row.sent,
                "leaves_node": row.leaves_node,
            }
            for row in advice.rows
        ],
        "start": None
        if advice.chosen is None
        else {
            "strategy": advice.chosen.name,
            "activation_checkpointing": advice.checkpointing,
            "command": command(advice),
            "files": files(advice),
        },
        "enough_gpus": advice.enough,
    }
