"""Answers as elements of a page: texts stay texts, code and ids are marked, and changes keep their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.model import CodeChange
from distkb.report.elements import ElementPage, inline

KNOWN = frozenset({"D2", "D21"})


@pytest.mark.parametrize(
    ("text", "children"),
    [
        ("plain", ["plain"]),
        ("see D21", ["see ", ["a", "", "D21"]]),
        ("D21.a.1: `if rank == 0`", [["a", "", "D21.a.1"], ": ", ["code", "", "if rank == 0"]]),
        ("`D21` and D99", [["code", "", "D21"], " and D99"]),
        ("원인은 D2입니다", ["원인은 ", ["a", "", "D2"], "입니다"]),
        ("<b>&", ["<b>&"]),
    ],
)
def test_code_and_known_ids_are_marked(text: str, children: list[object]) -> None:
    """An id of the catalogue is a link, also before a particle; one that it does not have, or in code, is none."""
    assert inline(text, KNOWN) == children


@given(st.text())
def test_no_letter_is_lost_or_added(text: str) -> None:
    """All children together are the text without the marks of code."""
    shown = "".join(child if isinstance(child, str) else child[2] for child in inline(text, KNOWN))
    assert shown.replace("`", "") == text.replace("`", "")


def test_what_a_terminal_lays_out_is_marked_for_a_browser() -> None:
    """Title, item, place, quote, command and change, each with its step to the right; nothing is wrapped or cut."""
    page = ElementPage(KNOWN)
    page.title("A title", first="D21  ")
    page.item("+++", "long " * 60, "  ")
    page.line("logs/a.log:3", "    ", "label")
    page.quote("\x1b[31m<script>" + "x" * 300, "    ")
    page.command("srun a\n")
    page.change(CodeChange(before="a\nb", after="a\nc"))
    assert page.elements[0] == ["p", "title", ["a", "", "D21"], " ", "A title"]
    assert page.elements[1] == ["p", "item in1", ["b", "", "+++"], " ", "long " * 60]
    assert page.elements[2] == ["p", "line in2 label", "logs/a.log:3"]
    assert page.elements[3] == ["q", "in2", "<script>" + "x" * 300]
    assert page.elements[4] == ["pre", "cmd", "srun a"]
    assert page.elements[5][2:] == [["span", "", " a"], "\n", ["del", "", "-b"], "\n", ["ins", "", "+c"], "\n"]
