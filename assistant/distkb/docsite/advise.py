"""The sizing advisor's page: the form that a script answers, and tables of common sizes for those without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from distkb.docsite.site import Page, named
from distkb.locale import Say
from distkb.report import sizing as report
from distkb.report.sharding import number, size
from distkb.sizing.advise import advise
from distkb.sizing.form import CHOICES, WHOLE, Form, model, read
from distkb.sizing.presets import PRESETS
from distkb.sizing.strategies import GIB, Workload

if TYPE_CHECKING:
    from distkb.catalogue.records import Language
    from distkb.docsite.views import Library
    from distkb.sizing.advise import Advice

COMMON = ("350M", "1B", "3B", "7B", "13B", "34B", "70B")
"""Sizes of the tables, smallest first."""
MEMORIES = (80, 40, 24)
"""GiB of one GPU, one table each."""
GPUS = 8
COLUMNS = ("ddp", "zero1", "zero2", "zero3", "fsdp2", "zero2_offload", "fsdp2_offload")
"""Strategies of the tables: those of one node."""
PIECES = ("torchrun", "accelerate.yaml", "ds_config.json", "train.sbatch", "distkb")
"""What there is to copy: the command, files by their names, and the question as a command of this program."""

_ABOUT = {"model": "params", "memory": "gpu-memory", "per_node": "gpus-per-node", "host": "host-memory"}
"""The fields that are explained by the sentence of an option of another name."""


def pages(_: Library, lang: Language) -> Iterator[Page]:
    """Yield the page in one language."""
    say = Say(lang)
    values: dict[str, Any] = {
        "fields": [_field(name, say) for name in Form.__dataclass_fields__],
        "verdict": report.verdict(advise(*read(Form())), say),
        "presets": list(PRESETS),
        "columns": [(name, say(f"advise.column.{name}")) for name in report.COLUMNS],
        "fits": [(fit, say(f"advise.fit.{fit}")) for fit in ("plain", "checkpointing", "no")],
        "pieces": PIECES,
        "gpus": GPUS,
        "strategies": [report.NAMES[name] for name in COLUMNS],
        "tables": [_table(memory, say) for memory in MEMORIES],
    }
    yield named(lang, "advise", values)


def _field(name: str, say: Say) -> dict[str, Any]:
    """Return what the template needs of one field of the form."""
    words = CHOICES.get(name, ())
    spoken = f"site.advise.about.{name}"
    return {
        "name": name,
        "label": say(f"advise.field.{name}"),
        "about": say(spoken) if say.knows(spoken) else say(f"advise.option.{_ABOUT.get(name, name)}"),
        "value": getattr(Form(), name),
        "words": [(word, say(f"advise.choice.{word}") if name == "checkpointing" else word) for word in words],
        "numeric": name in WHOLE,
    }


def _table(memory: int, say: Say) -> dict[str, Any]:
    """Return one table of common sizes: for each strategy whether it fits, and the one to start with."""
    rows = []
    for text in COMMON:
        advice = _advice(text, memory)
        by_name = {row.name: row for row in advice.rows}
        cells = []
        for name in COLUMNS:
            fit = report.fit(by_name[name], advice.run)
            need = size(by_name[name].peak(checkpointing=fit != "plain"))
            cells.append({"fit": fit, "word": say(f"advise.fit.{fit}"), "need": need})
        rows.append({"name": number(advice.shape.parameters), "cells": cells, "start": _start(advice, say)})
    return {"memory": f"{memory} GiB", "id": f"m{memory}", "rows": rows}


def _start(advice: Advice, say: Say) -> str:
    """Return the strategy to start with in a few words."""
    if advice.chosen is None:
        return say("site.advise.none") if advice.enough is None else say("site.advise.more", gpus=advice.enough)
    name = report.NAMES[advice.chosen.name]
    return say("site.advise.with-checkpointing", strategy=name) if advice.checkpointing else name


@cache
def _advice(text: str, memory: int) -> Advice:
    """Return the advice for a common size; both languages tell the same."""
    return advise(model(text), Workload(GPUS, GPUS, memory * GIB))
