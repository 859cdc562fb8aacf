"""The search of the site answers as the program does: the same tokens, words, entries and scores."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from distkb.docsite.build import sources
from distkb.docsite.data import search as exported
from distkb.docsite.finding import names
from distkb.docsite.scripts import address, slim
from distkb.docsite.views import Library
from distkb.knowledge import open_knowledge
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.search.index import Index, load
from distkb.search.query import query_words, search
from distkb.search.tokens import pieces

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "search" / "golden"
SAME = 2e-6
"""Scores are rounded to six digits, and the browser's index keeps a little fewer bits."""


@dataclass(frozen=True)
class Both:
    """The questions, what the scripts answer, and what the program works on."""

    asked: dict[str, Any]
    answered: dict[str, Any]
    index: Index
    assets: Path
    library: Library


def pairs() -> list[list[str]]:
    """Language and words of every labelled query."""
    rows = [json.loads(line) for line in (GOLDEN / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    return [[lang, row[lang]] for row in rows for lang in ("en", "ko")]


def written() -> list[list[str]]:
    """Language and words of queries with particles, typos, ids, pasted lines and variables."""
    rows: list[list[str]] = json.loads((HERE / "vectors" / "queries.json").read_text(encoding="utf-8"))
    return rows


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Both answers to all questions."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    assets = tmp_path_factory.mktemp("assets")
    library = Library(catalogue, (), Meanings(catalogue), search=compiled.search_index())
    contents = dict(exported.scripts(library))
    contents["text.js"] = slim((sources() / "assets" / "text.js").read_text(encoding="utf-8")).encode()
    for name, content in contents.items():
        (assets / Path(address(name, content)).name).write_bytes(content)
    examples = [signature.example for signature in catalogue.signatures if signature.example]
    queries = [*written(), *pairs(), *(["en", line] for line in examples[::5])]
    inputs = [row["input"] for row in json.loads((GOLDEN / "tokens.json").read_text(encoding="utf-8"))]
    asked = {
        "texts": [*inputs, *(words for _, words in queries), *examples],
        "queries": queries,
        "loads": pairs()[::8],
    }
    done = subprocess.run(
        [node, str(HERE / "run_search.js"), str(assets)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Both(asked, json.loads(done.stdout), load(compiled.search_index()), assets, library)


def test_tokens_are_the_same(both: Both) -> None:
    """Pieces, tokens, their kinds and atoms agree on every text."""
    for text, answer in zip(both.asked["texts"], both.answered["tokens"], strict=True):
        found = pieces(text)
        assert answer == {
            "tokens": [list(token) for piece in found for token in piece.tokens],
            "atoms": [list(piece.atoms) for piece in found],
            "joined": [piece.joined for piece in found],
        }, text


def test_the_golden_tokens_hold_in_the_browser(both: Both) -> None:
    """What is written down of tokens holds for the scripts as well."""
    rows = json.loads((GOLDEN / "tokens.json").read_text(encoding="utf-8"))
    for row, answer in zip(rows, both.answered["tokens"], strict=False):
        assert (answer["tokens"], answer["atoms"]) == (row["tokens"], row["atoms"]), row["input"]


def test_words_of_queries_are_the_same(both: Both) -> None:
    """Concepts, corrected typos and weights agree on every query, in the same order."""
    for (_, query), answer in zip(both.asked["queries"], both.answered["hits"], strict=True):
        expected = query_words(both.index, query)
        assert [word for word, _ in answer["words"]] == list(expected), query
        assert [weight for _, weight in answer["words"]] == pytest.approx(list(expected.values()), abs=1e-9), query


def test_entries_come_in_the_same_order_with_the_same_scores(both: Both) -> None:
    """The first ten entries of every query are those of the program, and their scores agree."""
    for (lang, query), answer in zip(both.asked["queries"], both.answered["hits"], strict=True):
        expected = search(both.index, query, 10, lang)
        assert [identity for identity, _ in answer["hits"]] == [hit.id for hit in expected], query
        assert [score for _, score in answer["hits"]] == pytest.approx([h.score for h in expected], abs=SAME), query


def test_a_search_loads_little(both: Both) -> None:
    """Compressed, code and index that a query loads stay within 160 kB at the median, and the code within 11 kB."""
    texts = json.dumps(names(both.library, Say("ko")), ensure_ascii=False).encode()
    code = [slim((sources() / "assets" / name).read_text(encoding="utf-8")) for name in ("text.js", "search.js")]
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in both.assets.iterdir()}
    loaded = [sum(sizes[name] for name in names) for names in both.answered["loads"]]
    assert statistics.median(loaded) + len(gzip.compress(texts, 9)) <= 160_000
    assert sum(len(gzip.compress(one.encode(), 9)) for one in code) <= 11_000
