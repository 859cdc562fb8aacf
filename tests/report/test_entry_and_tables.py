"""The entry view and the tables."""

from __future__ import annotations

import pytest
from report_samples import CATALOGUE, ENTRY, OTHER_ENTRY, assert_golden

from distkb.locale import Language, Say
from distkb.report import entry, tables
from distkb.report.layout import width
from distkb.report.meaning import Meanings


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_entry_is_as_recorded(lang: Language) -> None:
    """An entry shows symptoms, causes with how to tell, fixes with their code, what does not help, and sources."""
    assert_golden(f"entry.{lang}.txt", entry.write(ENTRY, Meanings(CATALOGUE), Say(lang)))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_entry_fits_a_narrow_page(lang: Language) -> None:
    """Everything but commands and addresses fits 50 columns."""
    for line in entry.write(ENTRY, Meanings(CATALOGUE), Say(lang), columns=50).splitlines():
        assert width(line) <= 50 or line.strip().startswith(("$ ", "https://"))


def test_tables_align_and_wrap_under_the_title() -> None:
    """Titles begin in one column, continuation lines too."""
    rows = [(e.id, e.title) for e in (OTHER_ENTRY, ENTRY)]
    lines = tables.titles(rows, Say("en"), columns=40).splitlines()
    assert lines[0] == "D9   Uneven inputs"
    assert lines[1].startswith("D21  A collective")
    assert all(line.startswith("     ") for line in lines[2:])


def test_figures_are_named_by_their_path() -> None:
    """Nested figures become one row each."""
    page = tables.figures({"cases": 3, "with_facts": {"all": {"top1": 0.5}}})
    assert page.splitlines() == ["cases                3", "with_facts.all.top1  0.500"]


def test_empty_tables_are_empty() -> None:
    """Nothing found prints nothing."""
    assert tables.titles([], Say("en")) == ""
    assert tables.families([], Say("ko")) == ""
