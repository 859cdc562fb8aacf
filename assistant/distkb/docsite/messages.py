"""The index of error messages: one page for each of those who print them, since all on one would be too heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distkb.catalogue.records import Language
from distkb.docsite import views
from distkb.docsite.site import Page, at, make_page
from distkb.docsite.views import Library
from distkb.locale import Say

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("torch", ("torch",)),
    (
        "sharding",
        ("torch.ddp", "torch.fsdp", "torch.fsdp1", "torch.fsdp2", "torch.dtensor", "torch.mesh", "torch.join"),
    ),
    ("launch", ("torchrun", "elastic", "launcher", "slurm", "openmpi", "k8s", "mesh")),
    ("launch", ("torch.elastic", "torch.env", "torch.rendezvous", "torch.spawn", "torch.store")),
    ("network", ("torch.nccl", "nccl", "gloo", "ib", "ofi", "net")),
    ("deepspeed", ("deepspeed",)),
    ("trainers", ("accelerate", "transformers", "lightning", "hf", "hub", "tokenizers", "mmdet", "flash-attn")),
    ("rest", ()),
)
"""Names of pages, and beginnings of the signatures' ids that it shows; the longest decides."""


def group_of(identity: str) -> str:
    """Return the name of the page that shows a signature."""
    parts = identity.split(".")
    for size in (2, 1):
        for name, beginnings in GROUPS:
            if ".".join(parts[:size]) in beginnings:
                return name
    return "rest"


def address(group: str) -> str:
    """Return the address of a page below its language."""
    return "errors.html" if group == GROUPS[0][0] else f"errors-{group}.html"


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the first page, and each other that has a message."""
    say = Say(lang)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in GROUPS}
    for row in views.messages(library, at(library, lang, "errors.html"), say):
        rows[group_of(row["id"])].append(row)
    shown = [name for name in rows if rows[name] or name == GROUPS[0][0]]
    places = [(say(f"site.errors.{name}"), address(name), len(rows[name])) for name in shown]
    for name, (label, where, _) in zip(shown, places, strict=True):
        heading = say("site.errors.of", place=label)
        values = {"rows": rows[name], "places": places, "heading": heading}
        yield make_page(lang, where, "errors", heading, say("site.errors.lead"), values)
