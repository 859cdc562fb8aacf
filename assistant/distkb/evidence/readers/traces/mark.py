"""One checkpoint that a rank printed, and what kind of work its name speaks of."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Kind = Literal["start", "env", "mark", "enter", "leave", "fail", "quiet", "end", "trouble"]
Wording = Literal["tracer", "numbered", "words", "step"]
"""How the line is written: by the tracer, with a number, in words like `before`, or as a training step."""
Operation = Literal["", "init", "wrap", "forward", "backward", "step", "barrier", "save", "logger", "eval", "data"]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A line that says how far a rank has come."""

    wording: Wording
    kind: Kind
    name: str
    """Cleaned, as the user wrote it."""
    rank: int | None
    path: str
    line: int
    text: str
    """The whole line, cleaned."""
    number: int | None = None
    operation: Operation = ""
    time: float | None = None
    """Seconds since the epoch, or since midnight where no date is printed."""
    clock: str = ""
    """`HH:MM:SS` as printed."""
    world: int | None = None
    pid: int | None = None
    host: str = ""
    run: str = ""
    restart: int = 0
    error: str = ""
    steps: int | None = None
    """Optimizer steps done, where the line counts them."""
    seconds: float = 0.0
    """How long nothing had happened, for `quiet`."""

    @property
    def is_place(self) -> bool:
        """Whether the line is a place in the program, and not a remark about it."""
        return self.kind in ("mark", "enter", "leave", "fail")

    @property
    def key(self) -> tuple[str, str]:
        """What the same place is called on every rank: the number somebody gave it, or its words without numbers.

        Numbers in words (`loaded 75123 samples`) may differ by rank; places that differ in them alone are told apart
        by how many times a rank has come to one.
        """
        name = re.sub(r"\d+(?:[.,]\d+)*", "#", self.name).strip()
        if self.wording == "tracer":
            return self.kind, name
        if self.number is not None:
            return self.wording, str(self.number)
        return self.wording, name.lower()

    @property
    def shown(self) -> str:
        """Short name for people: `enter barrier`, `7: before FSDP wrap`."""
        if self.wording == "tracer":
            return self.name if self.kind == "mark" else f"{self.kind} {self.name}"
        word = "step " if self.wording == "step" else ""
        if self.number is None:
            return self.name
        return f"{word}{self.number}: {self.name}" if self.name and not word else f"{word}{self.number}"


_OPERATIONS: tuple[tuple[Operation, str], ...] = (
    ("barrier", r"barrier|wait_for_everyone|synchroni[sz]"),
    ("init", r"init_process_group|process[ _-]?group|rendezvous|dist(?:ributed)?[ ._-]init"),
    ("logger", r"wandb|tensorboard|summary ?writer|mlflow|logger|tracker"),
    ("backward", r"backward"),
    ("forward", r"forward"),
    ("save", r"\bsav(?:e|es|ed|ing)\b|state_dict|checkpoint(?:ing)? (?:to|write)|_save|save_"),
    ("eval", r"\beval|validat"),
    ("wrap", r"\bfsdp|\bddp\b|fully_shard|distributeddataparallel|\bwrap|\bprepare|\btrainer\b|deepspeed"),
    ("step", r"optimi[sz]er|\bstep\b"),
    ("data", r"data ?loader|data ?set|data ?module|\bdata\b|batch|tokeni[sz]|download"),
)
_COMPILED: list[tuple[Operation, re.Pattern[str]]] = [
    (name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _OPERATIONS
]
_TRACER_OPERATIONS: dict[str, Operation] = {
    "init": "init", "wrap": "wrap", "fully_shard": "wrap", "forward": "forward", "backward": "backward",
    "step": "step", "barrier": "barrier", "save": "save", "logger": "logger",
}  # fmt: skip
_BEFORE = re.compile(
    r"\b(?:before|about to|starting|start|begin(?:ning)?|entering|enter|calling|reaching|waiting|moving|creating"
    r"|loading|wrapping|initiali[sz]ing|saving|running)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:after|done|complete[d]?|finish(?:ed)?|ready|passed|left|leaving|created|loaded|wrapped|moved|saved"
    r"|initiali[sz]ed|returned|reached)\b",
    re.IGNORECASE,
)
_FINISHED = re.compile(
    r"\b(?:training|train|job|run|script|program|all|main)\b.{0,20}\b(?:finished|done|complete[d]?|ended|exit(?:ed|ing)?)\b"
    r"|\b(?:exiting|the end|destroy_process_group)\b",
    re.IGNORECASE,
)


def operation_of(kind: str, name: str, stated: str = "") -> Operation:
    """Return what a rank is inside of after this line; empty where it has just come out of it, or nobody can tell."""
    if kind == "enter" and stated in _TRACER_OPERATIONS:
        return _TRACER_OPERATIONS[stated]
    if kind == "enter":
        return _named(name)
    begins, ends = _BEFORE.search(name), _AFTER.search(name)
    if kind != "mark" or (begins is None and ends is not None) or begins is None:
        return ""
    # `data moved to device, starting forward pass`: what begins is what the rank is in.
    if ends is not None and ends.start() > begins.start():
        return ""
    return _named(name[begins.start() :])


def _named(name: str) -> Operation:
    return next((operation for operation, pattern in _COMPILED if pattern.search(name)), "")


def is_final(name: str) -> bool:
    """Whether a checkpoint written by hand says that the program has come to its end."""
    return _FINISHED.search(name) is not None
