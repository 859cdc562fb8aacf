"""Particles that stand in texts are ones that can be chosen: another spelling would leave the whole text unfilled."""

from __future__ import annotations

import re
from pathlib import Path

from distkb.locale.particles import PARTICLES

ROOT = Path(__file__).parents[2]
WRITTEN = re.compile(r"\{([가-힣]+/[가-힣]+)\}")


def test_every_particle_in_a_text_is_known() -> None:
    """In the catalogue and in the locale files, `{과/와}` is written in that order and no other."""
    files = [*(ROOT / "kb").rglob("*.yaml"), *(ROOT / "assistant/distkb/locale").glob("*.json")]
    found = {(path.name, pair) for path in files for pair in WRITTEN.findall(path.read_text(encoding="utf-8"))}
    assert {one for one in found if one[1] not in PARTICLES} == set()
    assert found
