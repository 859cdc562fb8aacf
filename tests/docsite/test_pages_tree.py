"""The question tree: bounded, complete, the engine's own belief, and usable without a script."""

from __future__ import annotations

import re

import built_in
import pytest
from pages import Read

from distkb.diagnosis.guide import Guide
from distkb.docsite.tree import PAGES, UNKNOWN, Node, called, grow, walk

pytest_plugins = ("built_site",)


@pytest.fixture(scope="module")
def guide() -> Guide:
    """The built-in catalogue, ready for questions."""
    return built_in.guide()


@pytest.fixture(scope="module")
def nodes(guide: Guide) -> list[Node]:
    """Every page of the tree."""
    return list(walk(grow(guide)))


def test_the_tree_keeps_its_budget(nodes: list[Node]) -> None:
    """There are at most `PAGES` pages, each with an address of its own, and most of the budget is used."""
    assert PAGES - 12 <= len(nodes) <= PAGES
    assert len({node.address for node in nodes}) == len(nodes)


def test_every_question_has_a_way_out(nodes: list[Node]) -> None:
    """Each question offers every option, and not knowing, and what leads on adds up to everybody who came."""
    for node in nodes:
        if node.answers and node.question is not None:
            values = [value for value, _ in node.answers]
            options = [option.value for option in node.question.options]
            assert values == [*options, *([""] if node.question.kind == "lines" else []), UNKNOWN]
            assert sum(child.mass for _, child in node.answers) == pytest.approx(node.mass)


def test_the_belief_is_the_sessions(guide: Guide, nodes: list[Node]) -> None:
    """What the tree believes after some answers is what a session with the same answers believes."""
    for node in nodes[::7]:
        assert node.belief == pytest.approx(guide.belief(guide.belief_after(node.events).posterior), abs=1e-9)


def test_the_tree_is_the_same_twice(guide: Guide, nodes: list[Node]) -> None:
    """The same catalogue gives the same questions in the same places."""
    again = list(walk(grow(Guide(guide.catalogue))))
    assert [node.address for node in again] == [node.address for node in nodes]


@pytest.mark.slow
def test_the_tree_leads_to_fixes(page_files: dict[str, bytes]) -> None:
    """By plain links every page of the tree is reached from its first, and every leaf links to a fix of an entry."""
    reads = {path: Read(path, content.decode()) for path, content in page_files.items() if path.startswith("ko/tree/")}
    reached, waiting = set[str](), ["ko/tree/index.html"]
    while waiting:
        path = waiting.pop()
        if path in reads and path not in reached:
            reached.add(path)
            waiting += [reads[path].target(link)[0] for link in reads[path].links]
    assert reached == set(reads)
    for path, page in reads.items():
        targets = [page.target(link) for link in page.links]
        asks = any(target.startswith(path.removesuffix(".html").removesuffix("index")) for target, _ in targets)
        fixes = [1 for target, fragment in targets if "/e/" in target and re.fullmatch(r"[a-z]-\d+", fragment)]
        assert fixes or asks, path


@pytest.mark.slow
def test_every_entry_is_at_most_three_clicks_away(page_files: dict[str, bytes]) -> None:
    """From the first page of a language every entry is reached in three clicks without a script."""
    reads = {path: Read(path, content.decode()) for path, content in page_files.items()}
    near = {"en/index.html"}
    for _ in range(3):
        near |= {
            page.target(link)[0] for path in near if path in reads for page in [reads[path]] for link in page.links
        }
    assert {path for path in reads if path.startswith("en/e/")} <= near


def test_words_for_how_likely() -> None:
    """Where one entry leads the others are less likely; where nothing leads, what is near the first is possible."""
    assert [called(p, 0.7) for p in (0.7, 0.2, 0.05)] == ["very-likely", "possible", "unlikely"]
    assert [called(p, 0.08) for p in (0.08, 0.05, 0.02)] == ["possible", "possible", "unlikely"]
