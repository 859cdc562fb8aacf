"""The screen and the document of `distkb advise`: every strategy with its memory, the one to start from, its launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from distkb.report.layout import pad, width
from distkb.report.page import Ink, Page, Role, plain
from distkb.report.sharding import number, size
from distkb.sizing.advise import fits
from distkb.sizing.strategies import FSDP1

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.sizing.advise import Advice
    from distkb.sizing.strategies import Strategy, Workload

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

COMPUTED = {"bf16": "bfloat16", "pure-bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""The dtype of a precision: with LoRA all that it means, for the frozen model has no float32 master weights."""

OPTIMIZERS = {"adamw": "AdamW", "sgd-momentum": "SGD + momentum", "sgd": "SGD"}

Fit = Literal["plain", "checkpointing", "no"]

COLUMNS = ("states", "working", "activations", "peak", "checkpointed", "sent")
_GIB = 1 << 30
_FIGURE = 10


def write(advice: Advice, say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the screen."""
    from distkb.sizing.launch import command

    page = Page(columns, ink)
    page.title(verdict(advice, say))
    for line in assumed(advice, say):
        page.paragraph(line)
    _table(page, advice, say)
    page.heading(say("advise.notes"))
    for note in notes(advice, say):
        page.item("-", note)
    if advice.chosen is not None:
        page.heading(say("advise.launch"))
        page.line(command(advice), "    ", "code")
        if advice.run.nodes > 1:
            page.paragraph(say("advise.launch.first-node"))
        page.paragraph(say("advise.launch.files"))
    return page.text()


def verdict(advice: Advice, say: Say) -> str:
    """Return the answer in one sentence."""
    run = advice.run
    values: dict[str, Any] = {"gpus": run.gpus, "memory": size(run.gpu_memory)}
    if advice.chosen is None:
        more = "advise.needs-more.off" if run.checkpointing == "off" else "advise.needs-more"
        return say("advise.nothing-fits" if advice.enough is None else more, enough=advice.enough or 0, **values)
    values |= {
        "strategy": NAMES[advice.chosen.name],
        "peak": size(advice.chosen.peak(checkpointing=advice.checkpointing)),
    }
    return say("advise.start.checkpointing" if advice.checkpointing else "advise.start", **values)


def assumed(advice: Advice, say: Say, *, form: bool = False) -> list[str]:
    """Return what the figures hold for; `form` where the reader has a form instead of a command line."""
    shape, run = advice.shape, advice.run
    key = "advise.shape.typical.form" if form and shape.source == "typical" else f"advise.shape.{shape.source}"
    lines = [
        say(
            key,
            parameters=number(shape.parameters),
            layers=shape.layers,
            hidden=shape.hidden,
            intermediate=shape.intermediate,
            vocab=shape.vocab,
        ),
        say(
            "advise.run",
            precision=COMPUTED[run.precision] if run.lora else say(f"advise.precision.{run.precision}"),
            optimizer=OPTIMIZERS[run.optimizer],
            sequence=run.sequence,
            batch=run.batch,
            nodes=run.nodes,
            per_node=min(run.per_node, run.gpus),
        ),
    ]
    return [*lines, say("advise.lora", rank=run.lora)] if run.lora else lines


def shown(advice: Advice) -> list[Strategy]:
    """Return the strategies of the screen: FSDP1's differ little from FSDP2's, and are in the document only."""
    return [row for row in advice.rows if row.name not in FSDP1]


def figures(row: Strategy, run: Workload) -> tuple[str, ...]:
    """Return the figures of one strategy in GiB, in the order of `COLUMNS`; a tick or a cross behind both peaks."""
    peaks = (figure(row.peak(checkpointing=on)) + mark(yes=fits(row, run, checkpointing=on)) for on in (False, True))
    activations = row.activations.peak(checkpointing=False)
    return (figure(row.states), figure(row.working), figure(activations), *peaks, figure(row.sent))


def fit(row: Strategy, run: Workload) -> Fit:
    """Return whether a strategy fits as it is, with activation checkpointing only, or not at all."""
    if fits(row, run, checkpointing=False):
        return "plain"
    return "checkpointing" if fits(row, run, checkpointing=True) else "no"


def _table(page: Page, advice: Advice, say: Say) -> None:
    """Add one row a strategy, in GiB a GPU: a tick where it fits, first as it is, then with checkpointing."""
    rows = shown(advice)
    names = {row.name: NAMES[row.name] for row in rows}
    heads = [say(f"advise.column.{name}") for name in COLUMNS]
    first = max(width(name) for name in names.values())
    page.heading(say("advise.table"))
    page.line(pad("", first + 2) + "".join(_right(head) for head in heads), "", "faint")
    for row in rows:
        chosen = advice.chosen is not None and row.name == advice.chosen.name
        role: Role = "bad" if fit(row, advice.run) == "no" else "good"
        cells = "".join(_right(cell) for cell in figures(row, advice.run))
        page.line(f"{'▸ ' if chosen else '  '}{pad(names[row.name], first)}{cells}", "", role)


def notes(advice: Advice, say: Say, *, form: bool = False) -> list[str]:
    """Return what to know about the choice; `form` where the reader has a form instead of a command line."""
    chosen, run = advice.chosen, advice.run
    ending = ".form" if form else ""
    out = [] if chosen is None else _about(chosen, advice, say)
    if chosen is None:
        if advice.enough is not None:
            out.append(say("advise.note.more-gpus", gpus=advice.enough))
        if run.checkpointing == "off":
            out.append(say("advise.note.allow-checkpointing"))
        out.append(say(f"advise.note.shorter{ending}"))
        if not run.lora:
            out.append(say(f"advise.note.lora{ending}"))
    return [*out, say("advise.note.counted")]


def _about(chosen: Strategy, advice: Advice, say: Say) -> list[str]:
    """Return what the strategy to start from costs beside memory."""
    out = []
    if chosen.host:
        out.append(say("advise.note.host", size=size(chosen.host)))
        if advice.enough is not None:
            out.append(say("advise.note.enough", gpus=advice.enough))
    if chosen.leaves_node:
        out.append(say("advise.note.leaves", size=size(chosen.leaves_node), seconds=_seconds(chosen)))
    if advice.checkpointing:
        out.append(say("advise.note.checkpointing"))
        if not chosen.name.startswith("fsdp2"):
            out.append(say("advise.note.checkpointing-call"))
    return out


def _seconds(row: Strategy) -> str:
    """Return how long what leaves a node takes at 100 Gbit/s, in seconds."""
    return f"{row.leaves_node * 8 / 100e9:.2g}"


def mark(*, yes: bool) -> str:
    """Return the sign behind a figure that says whether it fits."""
    return " ✓" if yes else " ✗"


def figure(count: int) -> str:
    """Return bytes in GiB without their unit, as the table's cells have them."""
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
            "checkpointing": run.checkpointing,
            "lora": run.lora,
        },
        "strategies": [
            {
                "id": row.name,
                "name": NAMES[row.name],
                "parameters": row.params,
                "gradients": row.grads,
                "optimizer": row.optimizer,
                "working": row.working,
                "activations": row.activations.peak(checkpointing=False),
                "activations_checkpointed": row.activations.peak(checkpointing=True),
                "peak": row.peak(checkpointing=False),
                "peak_checkpointed": row.peak(checkpointing=True),
                "fits": fits(row, run, checkpointing=False),
                "fits_checkpointed": fits(row, run, checkpointing=True),
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
