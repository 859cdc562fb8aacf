"""What the advisor's script computes with: the constants of the arithmetic, and the sentences of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Any

from distkb.docsite.scripts import script
from distkb.locale import LANGUAGES, sentences
from distkb.locale import particles as korean
from distkb.report import sizing as report
from distkb.sizing import activations, advise, form, launch, presets, shape, strategies
from distkb_probes.sharding import memory

if TYPE_CHECKING:
    from distkb.docsite.views import Library
    from distkb.sizing.shape import Shape

_SPOKEN = (
    "choice.",
    "error.",
    "field.",
    "fit.",
    "lora",
    "needs-more",
    "note.",
    "nothing-fits",
    "precision.",
    "run",
    "shape.",
    "start",
)
"""Beginnings of the keys below `advise.` whose sentences the page says; the others are the command line's."""


def scripts(_: Library) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the script with the advisor's data."""
    yield "sizing-data.js", script("sizingData", values())


def values() -> dict[str, Any]:
    """Return everything that the script needs beside what it computes."""
    return {
        "typical": [_plain(one) for one in shape.TYPICAL],
        "presets": {name: _plain(one) for name, one in presets.PRESETS.items()},
        "multiple": shape.MULTIPLE,
        "configKeys": {name: list(keys) for name, keys in shape.KEYS.items()},
        "experts": list(shape.EXPERTS),
        "ungated": sorted(shape.UNGATED),
        "context": strategies.CONTEXT,
        "slack": strategies.SLACK,
        "lossSaved": activations.LOSS_SAVED,
        "lossWorking": activations.LOSS_WORKING,
        "states": dict(memory.STATES),
        "liveParameters": memory.ZERO3_LIVE_PARAMETERS,
        "bucket": memory.ZERO_BUCKET,
        "ladder": [list(rung) for rung in advise.LADDER],
        "mostGpus": advise.MOST_GPUS,
        "names": dict(report.NAMES),
        "computed": dict(report.COMPUTED),
        "optimizers": dict(report.OPTIMIZERS),
        "hidden": list(strategies.FSDP1),
        "stages": dict(launch.STAGES),
        "port": launch.PORT,
        "firstNode": launch.FIRST_NODE,
        "cores": launch.CORES_A_GPU,
        "form": asdict(form.Form()),
        "choices": {field: list(words) for field, words in form.CHOICES.items()},
        "whole": dict(form.WHOLE),
        "sizes": list(form.SIZES),
        "optional": list(form.OPTIONAL),
        "options": dict(form.OPTIONS),
        "particles": {pair: list(both) for pair, both in korean.PARTICLES.items()},
        "digits": dict(korean.DIGITS),
        "letters": dict(korean.LETTER_NAMES),
        "spoken": dict(korean.SPOKEN),
        "spokenLength": korean.SPOKEN_LENGTH,
        "sentences": {lang: _sentences(sentences(lang, "advise")) for lang in LANGUAGES},
    }


def _plain(one: Shape) -> list[int | bool | str]:
    """Return a shape's fields in their order."""
    return list(astuple(one))


def _sentences(every: dict[str, str]) -> dict[str, str]:
    """Return the sentences of the answer, by their keys without the area."""
    short = {key.partition(".")[2]: text for key, text in every.items()}
    return {key: text for key, text in short.items() if key.startswith(_SPOKEN)}
