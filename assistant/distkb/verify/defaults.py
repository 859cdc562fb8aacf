"""Reads from the sources of a package which values its settings and timers have where nobody sets one."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from distkb.catalogue.verified import as_value
from distkb.verify.look import COMPILED, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PARAMETER = re.compile(
    rb"""\b(NCCL|OFI_NCCL)_PARAM\w*\((?:[^()"]|\([^()]*\))*?"([A-Z0-9_]+)"\s*,\s*("[^"]*"|[^,;()]+)\)"""
)
"""A macro that puts a variable's name together, and its default behind it."""
_ENVIRONMENT = re.compile(
    rb"""(?:environ\.get|getenv)\(\s*["']([A-Z0-9_]+)["']\s*,\s*(?:default=)?(["'][^"']*["']|[\w.]+)\s*\)"""
)
_READ = re.compile(rb"""getCvar(?:Int|Bool)\(\s*\{([^{}]*)\}\s*,\s*(\w+)\)""")
"""How torch's C++ asks for a variable by one of its names, and the default behind them."""
_DURATION = re.compile(rb"""\b(k\w*Timeout)\s*=\s*std::chrono::(milliseconds|seconds)\(([\d *]+)\)""")
_UNITS: Final = {b"milliseconds": 0.001, b"seconds": 1.0}
_DURATIONS: Final = {
    ("Store.hpp", b"kDefaultTimeout"): ("torch.store.default", "python.TCPStore.timeout"),
    ("Backend.hpp", b"kBackendDefaultTimeout"): ("torch.monitored-barrier",),
    ("ProcessGroup.hpp", b"kProcessGroupDefaultTimeout"): (
        "torch.pg.gloo",
        "torch.pg.new-group.gloo",
        "torch.pg.no-backend",
    ),
    ("ProcessGroupNCCL.hpp", b"kProcessGroupNCCLDefaultTimeout"): ("torch.pg.nccl", "torch.pg.new-group.nccl"),
}
"""By header and constant of torch: the timers and settings that begin with it."""
_CONSTANT = re.compile(rb"""^([A-Z_0-9]+) = ["'](\w+)["']\n(?:.*\n){0,6}?\1_DEFAULT = ([^\s#]+)$""", re.MULTILINE)
_FIELDS: Final = {
    "training-arguments.": (
        re.compile(r"transformers/training_args\.py"),
        re.compile(rb"^    ([a-z]\w*): [^=\n]*=\s*(?:field\(\s*default=)?([^\s,()]+)", re.MULTILINE),
    ),
    "lightning.Trainer.": (
        re.compile(r"lightning/pytorch/trainer/trainer\.py"),
        re.compile(rb"^        ([a-z]\w*): [^=\n]* = ([^\n]+),$", re.MULTILINE),
    ),
    "deepspeed-config.zero_optimization.": (
        re.compile(r"(?:.*/)?deepspeed/runtime/zero/config\.py"),
        re.compile(
            rb"""^    ([a-z]\w*): [^=\n]*= (?:Field\()?(?:default=)?([^\s,()#]+)(?:[^\n]*\balias=["'](\w+)["'])?""",
            re.MULTILINE,
        ),
    ),
    "torchrun.": (
        re.compile(r"torch/distributed/run\.py"),
        re.compile(rb"""["'](--[a-z-]+)["'],\n(?:(?!add_argument)[^\n]*\n)*?\s+default=([^,\n]+),"""),
    ),
    "torchrun.rdzv-conf.": (
        re.compile(r"torch/distributed/elastic/rendezvous/dynamic_rendezvous\.py"),
        re.compile(rb"""["'](join|last_call|close|heartbeat)["']: timedelta\(seconds=(\d+)\)"""),
    ),
}
"""By how the ids of the settings begin: the file that declares them, and their names and defaults in it."""


def declared(path: Path) -> dict[str, str]:
    """Return the default of each setting and timer that a package declares with a plain value, and that one only."""
    found: dict[str, set[str]] = {}
    for name, content in members(path, lambda name: not COMPILED.match(name)):
        for identity, text in _declared(name, content):
            if (value := as_value(text.decode(errors="replace"))) is not None:
                found.setdefault(identity, set()).add(value)
    return {identity: values.pop() for identity, values in found.items() if len(values) == 1}


def _declared(file: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    if b"NCCL_PARAM" in content:
        for prefix, name, value in _PARAMETER.findall(content):
            yield f"{prefix.decode()}_{name.decode()}", value
    if b"env" in content:
        for name, value in _ENVIRONMENT.findall(content):
            yield name.decode(), value
    yield from _compiled(file.rpartition("/")[2], content)
    if file.endswith("deepspeed/runtime/constants.py"):
        for _, key, value in _CONSTANT.findall(content):
            yield f"deepspeed-config.{key.decode()}", value
    for prefix, (place, field) in _FIELDS.items():
        if place.fullmatch(file):
            for name, value, *aliases in field.findall(content):
                for one in (name, *filter(None, aliases)):
                    yield prefix + one.decode() + ("_timeout" if prefix.endswith("conf.") else ""), value


def _compiled(header: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what headers of torch declare of its compiled part."""
    for names, value in _READ.findall(content):
        for name in names.replace(b'"', b"").split(b","):
            yield name.strip().decode(), value
    for constant, unit, factors in _DURATION.findall(content):
        seconds = math.prod(int(factor) for factor in factors.split(b"*")) * _UNITS[unit]
        for identity in _DURATIONS.get((header, constant), ()):
            yield identity, f"{seconds:.12g}".encode()
