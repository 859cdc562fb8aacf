"""A draft needs one language, and is marked wherever its title stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from catalogue_samples import QUIET, change, sound

from distkb.catalogue.check import check_directories
from distkb.catalogue.load import load_sources

OTHERS = {"en": "ko", "ko": "en"}


def in_one_language(kb: Path, language: str) -> None:
    """Take the other language out of the entry's title and summary, with the program and its folder's other files."""
    path = kb / QUIET
    text = re.sub(
        rf"(?ms)^(title|summary):\n(.*?)^  {OTHERS[language]}:.*?(?=^ {{0,2}}\S)", r"\1:\n\2", path.read_text()
    )
    path.write_text(re.sub(r"(?ms)^repro:\n(?: .*\n)+", "", text), encoding="utf-8")
    (kb / QUIET).with_name("repro.py").unlink(missing_ok=True)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_draft_in_one_language_is_sound_and_marked(language: str, tmp_path: Path) -> None:
    """Its texts stand in for the missing ones; both titles say that it is a draft."""
    kb = sound(tmp_path)
    change(kb, "status: reviewed", "status: draft")
    in_one_language(kb, language)
    assert [str(one) for one in check_directories([kb]) if "repro" not in one.message] == []
    entry = next(one for one in load_sources([kb])[0].entries if one.id == "D2")
    assert entry.title.en.startswith("[draft] ")
    assert entry.title.ko.startswith("[초안] ")
    assert entry.summary.en == entry.summary.ko


def test_only_a_draft_may_leave_a_language_out(tmp_path: Path) -> None:
    """A reviewed entry with one language has a problem at the text."""
    kb = sound(tmp_path)
    in_one_language(kb, "ko")
    assert any("'en'" in one.message for one in check_directories([kb]))
