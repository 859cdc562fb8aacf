"""In which order the lines of a passage matter, as places in it: those come first that a small budget must not lose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from distkb.evidence.observation import Passage


def ends_first(passage: Passage) -> Sequence[int]:
    """Where a traceback begins, then from what was raised to the outermost frame."""
    return [0, *range(len(passage.rows) - 1, 0, -1)]


def latest_first(passage: Passage) -> Sequence[int]:
    """From the end of an output to its beginning."""
    return range(len(passage.rows) - 1, -1, -1)


def places_first(passage: Passage) -> Sequence[int]:
    """Lines where ranks stand, then those nearest to them."""
    marked = [row.number for row in passage.rows if row.ranks]
    near = [min((abs(row.number - at) for at in marked), default=0) for row in passage.rows]
    return sorted(range(len(passage.rows)), key=near.__getitem__)


def telling_first(passage: Passage) -> Sequence[int]:
    """Lines of a script that have to do with ranks, data, steps and files, then the others."""
    return sorted(range(len(passage.rows)), key=lambda index: _TELLING.search(passage.rows[index].text) is None)


_TELLING = re.compile(
    r"(?i)rank|dist\b|dist\.|world|sampler|seed|loader|dataset|\bstep\(|backward|zero_grad|save|load|epoch|group|ddp|fsdp"
    r"|fully_shard|parallel|no_sync|barrier|reduce|gather|broadcast|scatter|accum|scal|clip|\blr\b|timeout"
    r"|\b(?:if|for|while|def|try|except|continue|break|return)\b|environ|accelerat|deepspeed|trainer"
)
"""What the lines of a script name that decide how its ranks go."""
