"""Scripts of data hold their values whatever these are, and what is left out of a script changes nothing in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.docsite.build import sources
from distkb.docsite.data.packed import ALPHABET, fronts, number, numbers, signed, steps
from distkb.docsite.data.regex import Expression
from distkb.docsite.data.search import lighter
from distkb.docsite.scripts import script, slim

TEXTS = (
    "</script><script>alert(1)</script>",
    "<!-- ' \" \\ \\u003c \\n",
    "line\nline\r\n\u2028\u2029\ufeff\x00\x7f",
    "배리어 🙂 \ud83d",
)


def evaluated(*scripts: bytes, show: str) -> Any:
    """What an expression is after scripts ran in a page."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    code = ["var window = globalThis;", *(one.decode() for one in scripts), f"console.log(JSON.stringify({show}))"]
    done = subprocess.run([node, "-"], input="\n".join(code), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_value_arrives_as_it_was() -> None:
    """Markup, quotes, line separators and lone surrogates come through, and keys have no meaning of their own."""
    value = {"texts": TEXTS, "__proto__": {"hidden": 1}, "constructor": [1, 2.5, None, True], "배리어": {}}
    written = script("one", value)
    assert b"</script" not in written
    assert b"<!--" not in written
    assert not {"\u2028", "\u2029", "\ufeff"} & set(written.decode())
    assert evaluated(written, show="distkb.one") == json.loads(json.dumps(value))
    assert evaluated(written, show="Object.keys(distkb.one)") == list(value)


def test_scripts_come_in_any_order() -> None:
    """Each script of data makes the namespace where there is none, and keeps what is in it."""
    scripts = (script("one", 1), script("two", [2]))
    assert evaluated(*scripts, show="distkb") == evaluated(*scripts[::-1], show="distkb") == {"one": 1, "two": [2]}


@pytest.mark.parametrize("name", ["", "one.two", "one-two", "__proto__", "One", "one;alert(1)"])
def test_a_value_has_a_plain_name(name: str) -> None:
    """A name that is no plain identifier is refused."""
    with pytest.raises(ValueError, match="not a name"):
        script(name, 1)


def test_a_number_that_is_none_is_refused() -> None:
    """JSON has no infinity, and a page should not learn of one while it loads."""
    with pytest.raises(ValueError, match="JSON"):
        script("one", float("inf"))


def test_only_lines_of_comment_and_blanks_are_left_out() -> None:
    """Comments on lines of their own and indentation go; what stands beside or looks like a comment stays."""
    source = (
        '/* a\n * b */\n(() => {\n\n  /* c */\n  const a = "/* no */"; /* d */\n  /* e */ run(a);\n  /* f */\n})();\n'
    )
    assert slim(source) == '(() => {\nconst a = "/* no */"; /* d */\n/* e */ run(a);\n})();\n'


@pytest.mark.parametrize("path", sorted((sources() / "assets").glob("*.js")), ids=lambda path: path.name)
def test_scripts_may_be_slimmed(path: Path) -> None:
    """No script has a template literal over several lines, and each is still a script without its comments."""
    source = path.read_text(encoding="utf-8")
    without_patterns = re.sub(r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])+/", "", source)
    assert not [line for line in without_patterns.splitlines() if line.count("`") % 2]
    assert evaluated(slim(f"function unused() {{\n{source}\n}}\n").encode(), show="1") == 1


@given(st.integers(0, 2**40))
def test_numbers_are_read_back(value: int) -> None:
    """A packed number ends at its first low digit, and reads as what it was."""
    text = number(value)
    digits = [ALPHABET.index(char) for char in text]
    assert [digit < 57 for digit in digits] == [False] * (len(digits) - 1) + [True]
    read = 0
    for digit in digits[:-1]:
        read = read * 32 + digit - 57
    assert read * 57 + digits[-1] == value


def test_steps_and_signs() -> None:
    """Rising numbers become the gaps between them, numbers near 0 small ones, sorted words what differs."""
    assert steps([0, 1, 5, 6]) == [0, 0, 3, 0]
    assert [signed(value) for value in (0, -1, 1, -2, 2)] == [0, 1, 2, 3, 4]
    assert numbers([1, 2]) == number(1) + number(2)
    assert fronts(["barrier", "barriers", "base"]) == f"{ALPHABET[0]}barrier\n{ALPHABET[7]}s\n{ALPHABET[2]}se"


@pytest.mark.parametrize(
    ("text", "matches"),
    [("hang", True), ("a hang.", True), ("hangs", False), ("행hang", False), ("hang이", False), ("éhang", False)],
)
def test_a_lighter_pattern_matches_the_same(text: str, matches: bool) -> None:
    """Words end where Python says that they end, also beside Hangul and letters with accents."""
    border = r"(?:(?<=[\p{L}\p{N}_])(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}_])(?=[\p{L}\p{N}_]))"
    before = Expression(f"(?:x?some|{border}hang{border})", "iu")
    after = lighter(before)
    assert after.flags == "i"
    assert len(after.source) < 2 * len(before.source)
    for one in (before, after):
        call = f"new RegExp({json.dumps(one.source)}, '{one.flags}').test({json.dumps(text)})"
        assert evaluated(show=call) is matches
