"""What a person types into a form, read into a model and a run; whatever cannot be read is named with its field."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast, get_args

from distkb.sizing.presets import PRESETS
from distkb.sizing.shape import Shape, ShapeError, from_config, typical
from distkb.sizing.strategies import Checkpointing, Precision, Workload
from distkb_probes.sharding.memory import Optimizer

CHOICES: dict[str, tuple[str, ...]] = {
    "optimizer": ("adamw", "sgd-momentum", "sgd"),
    "precision": get_args(Precision),
    "checkpointing": get_args(Checkpointing),
}
"""Fields that take one of a few words."""

WHOLE: dict[str, int] = {"gpus": 1 << 16, "per_node": 1 << 10, "seq": 1 << 24, "batch": 1 << 20, "lora": 1 << 12}
"""Fields that take a whole number, with the largest one."""

SIZES = ("memory", "host")
"""Fields that take a size in bytes."""

OPTIONAL = ("per_node", "host", "lora")
"""Fields that may be empty."""

OPTIONS = {
    "model": "--params",
    "memory": "--gpu-memory",
    "per_node": "--gpus-per-node",
    "host": "--host-memory",
}
"""The command line's options for the fields whose option is not their own name."""

_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([0-9]{1,2}))?"
_COUNT = re.compile(_NUMBER + r" *([kmbt]?)")
_SIZE = re.compile(_NUMBER + r" *([kmgt]?)i?b?")
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LARGEST_COUNT = 10**15
_LARGEST_SIZE = 1 << 60
_LONGEST = 40
"""Characters of what was typed that a message repeats."""


@dataclass(frozen=True)
class Form:
    """The fields as they are typed, with what stands in them at first."""

    model: str = "7B"
    """A number of parameters, or the name of a published model."""
    gpus: str = "8"
    memory: str = "80G"
    """Of one GPU."""
    per_node: str = ""
    host: str = ""
    """Main memory of one node; empty where it is not known."""
    seq: str = "2048"
    batch: str = "1"
    optimizer: str = "adamw"
    precision: str = "bf16"
    checkpointing: str = "auto"
    lora: str = ""


class FormError(ValueError):
    """A field that cannot be read; its text is a key of the interface's sentences."""

    def __init__(self, field: str, sentence: str, **values: Any) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence
        self.values = values


def read(form: Form, config: Mapping[str, Any] | None = None) -> tuple[Shape, Workload]:
    """Return the model and the run that a form describes; `config` is a `config.json` that stands for the model.

    Raises FormError for the first field that cannot be read.
    """
    try:
        shape = from_config(config) if config is not None else model(form.model)
    except ShapeError as problem:
        raise FormError("model", problem.sentence, **problem.values) from None
    given = asdict(form)
    number = {field: _whole(field, given[field].strip(), most) for field, most in WHOLE.items()}
    size = {field: _memory(field, given[field].strip()) for field in SIZES}
    for field, words in CHOICES.items():
        if given[field] not in words:
            raise FormError(field, "advise.error.choice", given=_repeated(given[field]), choices=", ".join(words))
    gpus = number["gpus"]
    per_node = number["per_node"] or min(8, gpus)
    if gpus > per_node and gpus % per_node:
        raise FormError("per_node", "advise.error.spread", gpus=gpus, per_node=per_node)
    run = Workload(
        gpus=gpus,
        per_node=min(per_node, gpus),
        gpu_memory=size["memory"],
        sequence=number["seq"],
        batch=number["batch"],
        optimizer=cast("Optimizer", given["optimizer"]),
        precision=cast("Precision", given["precision"]),
        checkpointing=cast("Checkpointing", given["checkpointing"]),
        lora=number["lora"],
        host_memory=size["host"] or None,
    )
    return shape, run


def model(text: str) -> Shape:
    """Return the shape for a number of parameters or a published model's name. Raises ShapeError for anything else."""
    named = PRESETS.get(text.strip().lower())
    return named if named is not None else typical(count(text))


def count(text: str) -> int:
    """Return a number of parameters such as `7B`, `350m` or `124439808`. Raises ShapeError for anything else."""
    match = _COUNT.fullmatch(text.strip().lower().replace("_", "").replace(",", ""))
    value = _scaled(match, _COUNTS) if match else 0.0
    if not 1 <= value < _LARGEST_COUNT:
        raise ShapeError("advise.error.count", given=_repeated(text))
    return round(value)


def command_line(form: Form, config: str | None = None) -> str:
    """Return the command that asks the same, without what stands there by default; `config` is a file's path."""
    words = ["distkb", "advise"]
    for field, given in asdict(form).items():
        value = given.strip()
        if field == "model" and config is not None:
            words += ["--config", config]
        elif value and (field in ("model", "gpus", "memory") or value != getattr(Form(), field)):
            words += [OPTIONS.get(field, f"--{field}"), value]
    return shlex.join(words)


def _whole(field: str, text: str, most: int) -> int:
    if not text and field in OPTIONAL:
        return 0
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        raise FormError(field, "advise.error.whole", given=_repeated(text), most=most)
    return int(text)


def _memory(field: str, text: str) -> int:
    if not text and field in OPTIONAL:
        return 0
    match = _SIZE.fullmatch(text.lower())
    value = _scaled(match, _BYTES) if match else 0.0
    if not 1 <= value < _LARGEST_SIZE:
        raise FormError(field, "advise.error.size", given=_repeated(text))
    return int(value)


def _repeated(text: str) -> str:
    """Return what was typed as a message repeats it: on one line, and not all of it where it is long."""
    return " ".join(text.split())[:_LONGEST]


def _scaled(match: re.Match[str], units: Mapping[str, int]) -> float:
    """Return a number in its unit; 0 where no float can hold it."""
    number, power, unit = match.groups()
    try:
        return float(f"{number}e{power or 0}") * units[unit]
    except OverflowError:
        return 0.0
