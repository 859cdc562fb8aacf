"""Python's regular expressions written as JavaScript's: every one is, and it matches the same spans."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import built_in
import pytest

from distkb.catalogue.model import Catalogue
from distkb.docsite.data.pieces import cover
from distkb.docsite.data.regex import translate
from distkb.evidence.scanner.literals import required_literals

HEALTHY = Path(__file__).parents[1] / "healthy" / "logs"
SPANS = """
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = asked.expressions.map(([source, flags, numbers]) => {
  const expression = new RegExp(source, flags);
  return numbers.map(number => {
    const match = expression.exec(asked.texts[number]);
    return match && [match.index, match.index + match[0].length];
  });
});
console.log(JSON.stringify(found));
"""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")]


@cache
def catalogue() -> Catalogue:
    """The built-in catalogue."""
    return built_in.catalogue()


def spans(expressions: list[tuple[str, str, list[int]]], texts: list[str]) -> list[list[list[int] | None]]:
    """Where the first match of each expression lies in each of its texts, according to node."""
    asked = json.dumps({"expressions": expressions, "texts": texts})
    done = subprocess.run(["node", "-e", SPANS], input=asked, capture_output=True, text=True, check=True)
    found: list[list[list[int] | None]] = json.loads(done.stdout)
    return found


def span(pattern: re.Pattern[str], text: str) -> list[int] | None:
    """Where the first match lies."""
    match = pattern.search(text)
    return None if match is None else list(match.span())


def corpus() -> list[str]:
    """Lines of examples, of recorded and healthy logs, and of what people say; none beyond the basic plane."""
    lines: dict[str, None] = {}
    for signature in catalogue().signatures:
        lines[signature.example or ""] = None
    for entry in catalogue().entries:
        for told in (*entry.symptoms, entry.summary):
            lines |= dict.fromkeys((told.en, told.ko))
    for path in sorted(HEALTHY.rglob("*.log")):
        lines |= dict.fromkeys(path.read_text(encoding="utf-8", errors="replace").splitlines()[:60])
    return [line for line in lines if line == re.sub("[\ud800-\udfff\U00010000-\U0010ffff\u017f\u212a]", "", line)]


def test_every_signature_matches_the_same_spans_in_both_languages() -> None:
    """On every line that its literals let through, and on a share of the others."""
    lines = corpus()
    expressions: list[tuple[str, str, list[int]]] = []
    expected: list[list[list[int] | None]] = []
    for place, signature in enumerate(catalogue().signatures):
        if "log" not in signature.where:
            continue
        pattern = re.compile(signature.pattern)
        needed = [literal.lower() for literal in required_literals(signature.pattern) or [""]]
        numbers = [
            number
            for number, line in enumerate(lines)
            if (number + place) % 97 == 0 or any(literal in line.lower() for literal in needed if literal)
        ]
        expressions.append((*translate(signature.pattern), numbers))
        expected.append([span(pattern, lines[number]) for number in numbers])
    assert sum(found is not None for row in expected for found in row) > 1000
    assert spans(expressions, lines) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"a.c$",
        r"^\s*\S+\s?$",
        r"\bword\b|\Bx\B",
        r"(?a)[\W_]+|[^\d\s]{2,3}?",
        r"[\W_]é",
        r"[\Sx]y|[^\S]z",
        r"(?a)[\Sx]y",
        r"(?i:ab[c-e])F",
        r"(?i)straße|[k-s]x",
        r"(?<![a-z])x(?!y)(?=z|$)",
        r"(a)(b)\2",
        r"[-\]^\\/]|\.\*",
        "\x00|\x7f|\u200b",
        r"(?:a|bc)*?d{2,}e{3}",
    ],
)
def test_what_the_languages_read_differently_is_spelled_out(pattern: str) -> None:
    """White space, words, case, and characters with a meaning of their own."""
    texts = [
        "abc",
        "word",
        "단word",
        "xé_é",
        " \x85",
        "\ufeffx",
        "yx",
        "xyz z",
        "abb",
        "-]^\\/",
        "y",
    ]
    texts += [
        "\x00",
        "\u200b",
        "aabcddeee",
        "ABDF",
        "abeF",
        "STRASSE",
        "strasse Straße",
        "Kx",
        "xz",
        "xy",
        "_",
        "a1 b",
        "\x1f\xa0z",
    ]
    found = spans([(*translate(pattern), list(range(len(texts))))], texts)
    assert found[0] == [span(re.compile(pattern), text) for text in texts]


@pytest.mark.parametrize("pattern", [r"(?m)^a", r"(?s).", r"(?x) a", r"[^\W\d]"])
def test_what_javascript_does_not_have_is_refused(pattern: str) -> None:
    """Better no site than one that reads differently."""
    with pytest.raises(ValueError, match="not translated"):
        translate(pattern)


def test_a_line_that_matches_holds_one_of_its_pieces() -> None:
    """Every literal that a pattern needs contains one of the pieces that the page looks for."""
    needed = [required_literals(signature.pattern) for signature in catalogue().signatures]
    pieces, chosen = cover(needed, {})
    for literals, numbers in zip(needed, chosen, strict=True):
        own = [pieces[number] for number in numbers]
        assert all(any(piece in literal.lower() for piece in own) for literal in literals or ())
        assert all(len(piece) >= 3 for piece in own)
