"""Reading one YAML file: values, places, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from distkb.catalogue.places import builtin
from distkb.catalogue.problem import Problem
from distkb.catalogue.source import INVALID, MAX_BYTES, MAX_DEPTH, MAX_NODES, Document, read, read_bytes


def parsed(text: str | bytes) -> tuple[Document, list[Problem]]:
    """Read a text as the file `x.yaml`."""
    return read_bytes(Path("x.yaml"), text.encode() if isinstance(text, str) else text)


def only(text: str | bytes) -> str:
    """Return the one problem of a text."""
    _, problems = parsed(text)
    assert len(problems) == 1, problems
    return str(problems[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: true", {"a": True}),
        ("a: false", {"a": False}),
        ("a: 12", {"a": 12}),
        ("a: -3", {"a": -3}),
        ("a: 0.5", {"a": 0.5}),
        ("a: 1.0e-3", {"a": 0.001}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: 'no'", {"a": "no"}),
        ('a: "2.10"', {"a": "2.10"}),
        ("a: 0.1.0", {"a": "0.1.0"}),
        ("a: 3 ranks", {"a": "3 ranks"}),
        ("a: -1 means all", {"a": "-1 means all"}),
        ("a: >-\n  one\n  two\n", {"a": "one two"}),
        ("a: |\n  one\n    two\n", {"a": "one\n  two\n"}),
        ("a: [b, {c: d}]", {"a": ["b", {"c": "d"}]}),
        ("\ufeffa: b", {"a": "b"}),
        ("a: b\r\nc: |\r\n  d\r\n", {"a": "b", "c": "d\n"}),
        ("a: 랭크 🚀", {"a": "랭크 🚀"}),
    ],
)
def test_plain_values_are_read_as_written(text: str, value: Any) -> None:
    """Text, whole numbers, decimals, true, false and nothing are the only plain values."""
    document, problems = parsed(text)
    assert problems == []
    assert document.value == value


@pytest.mark.parametrize(
    "trap",
    [
        *("yes", "Yes", "NO", "on", "off", "Off", "y", "n", "N", "True", "FALSE"),
        *("1_000", "12:30", "1:30:00.5", "010", "00", "0x1F", "0o17", "0b1", "1_0.5"),
        *("2026-11-21", "2026-11-21 10:00:00", "2026-1-2T10:00:00Z", ".5", "1.", ".inf", "-.INF", ".nan", "="),
    ],
)
def test_what_yaml_readers_disagree_about_is_refused(trap: str) -> None:
    """An unquoted trap is reported at its place with the quoted form, and the quoted form is text."""
    document, problems = parsed(f"a:\n  - {trap}\n")
    assert [(problem.line, problem.column) for problem in problems] == [(2, 5)]
    assert "quote it" in problems[0].message or f"'{trap}'" in problems[0].message
    assert document.value == {"a": [INVALID]}
    assert parsed(f"a:\n  - '{trap}'\n")[0].value == {"a": [trap]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", "x.yaml:3:1: 'a' is given twice, first on line 1"),
        ("a: {b: {c: 1, c: 2}}", "x.yaml:1:15: 'c' is given twice, first on line 1"),
        ("on: 1", "x.yaml:1:1: field name on is not text: quote it: 'on'"),
        ("5: 1", "x.yaml:1:1: field name 5 is not text: quote it: '5'"),
        ("a: {<<: {b: 1}}", "x.yaml:1:5: merge key '<<': write the fields out"),
        ("? [a]\n: b", "x.yaml:1:3: a field name must be plain text"),
        ("a: &x 1", "x.yaml:1:4: anchor '&x': write the value out where it is needed"),
        ("a: *x", "x.yaml:1:4: alias '*x': write the value out"),
        ("a: !!python/object:os.system x", "x.yaml:1:4: tag '!!python/object:os.system'"),
        ("a: !!int '3'", "x.yaml:1:4: tag '!!int'"),
        ("a: !mine {b: 1}", "x.yaml:1:4: tag '!mine'"),
        ("a:\n\tb: 1", "x.yaml:2:1: tab in the indentation: use spaces"),
        ("a: 1.0e+999", "x.yaml:1:4: 1.0e+999 is out of range for a number: quote it"),
        (f"a: {'9' * 40}", f"x.yaml:1:4: {'9' * 20} is out of range for a number: quote it"),
        ("a: b\n--- \na: c", "x.yaml:2:1: a second document starts here"),
        ("", "x.yaml:1:1: is empty"),
        ("# only a comment\n", "x.yaml:1:1: is empty"),
        ("a: [1, 2", "x.yaml:1:9: is not YAML"),
        ("a: 'b", "x.yaml:1:6: is not YAML"),
        ("a: b: c", "x.yaml:1:5: is not YAML"),
        ("- a\n b: 1", "x.yaml:2:3: is not YAML"),
        ("a: \x1b[31m", "x.yaml:1:4: control character U+001B"),
        ("a: b\u2028c", "x.yaml:1:5: control character U+2028"),
        ("a: b\rc: d", "x.yaml:1:5: control character U+000D"),
        (b"a: b\nc: caf\xe9", "x.yaml:2:7: byte 0xe9 is not UTF-8"),
        ("랭크: b\n값: 2026-11-21".encode("utf-16"), "x.yaml:1:1: byte 0xff is not UTF-8"),
    ],
)
def test_each_fault_is_reported_where_it_is(text: str | bytes, expected: str) -> None:
    """One fault gives one problem, with the line and column of the fault."""
    assert only(text).startswith(expected)


def test_all_faults_of_a_file_come_at_once() -> None:
    """Reading goes on after a fault."""
    _, problems = parsed("a: yes\nb: 010\na: 1\nc: &x [1_000]\nd: *x\n")
    assert [problem.line for problem in problems] == [1, 2, 3, 4, 4, 5]


def test_messages_cannot_command_a_terminal() -> None:
    """Whatever a file says is quoted in one line, without control characters, and not at any length."""
    name = '"\\e[2J\\n\\u202e"'
    message = only(f"{name}: 1\n{name}: 2")
    assert message == "x.yaml:2:1: '\\u001b[2J\\u000a\\u202e' is given twice, first on line 1"
    long = "a" * 900
    assert len(only(f"? {long}\n: 1\n? {long}\n: 2")) < 520


def test_columns_count_characters() -> None:
    """A Hangul syllable or an emoji is one column, as in an editor."""
    document, _ = parsed("랭크: {값: 🚀, b: 1}")
    assert document.keys["랭크", "b"] == (1, 12)


def test_places_of_values_and_names() -> None:
    """Every value knows its place, and a value that is not there has its parent's."""
    document, _ = parsed("a:\n  - b: 1\n    c: two\n")
    assert document.place(("a", 0, "c")) == (3, 8)
    assert document.place(("a", 0, "c"), of_name=True) == (3, 5)
    assert document.place(("a", 0, "missing")) == (2, 5)
    assert document.place(("nowhere", 1)) == (1, 1)


def test_deep_nesting_is_refused_before_it_is_built() -> None:
    """A file of brackets costs nothing."""
    assert f"nested deeper than {MAX_DEPTH}" in only("[" * 100_000)
    assert parsed("[" * 100 + "]" * 100)[0].value is INVALID


def test_aliases_never_multiply() -> None:
    """A bomb of aliases is reported line by line and expands to nothing."""
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    document, problems = parsed("\n".join(lines))
    assert len(problems) == 60 + 59 * 2
    assert len(document.values) < 400


def test_a_file_with_too_many_values_is_refused() -> None:
    """The number of values is limited."""
    assert f"more than {MAX_NODES} values" in only("[" + "1," * (MAX_NODES + 10) + "]")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    """The size is looked at before the content."""
    path = tmp_path / "large.yaml"
    path.write_bytes(b"a" * (MAX_BYTES + 1))
    document, problems = read(path)
    assert document.value is INVALID
    assert [problem.message for problem in problems] == ["is larger than 1 MiB"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A FIFO and a link to a device in an overlay are a problem each, and nobody waits for them."""
    os.mkfifo(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").symlink_to("/dev/zero")
    for name in ("a.yaml", "b.yaml"):
        assert [problem.message for problem in read(tmp_path / name)[1]] == ["cannot be read: no regular file"]


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    """A missing file or a directory is reported, not raised."""
    assert "cannot be read" in read(tmp_path / "missing.yaml")[1][0].message
    assert "cannot be read" in read(tmp_path)[1][0].message


def test_the_pure_parser_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without libyaml the same values, places and problems come out."""
    import yaml

    text = "a: yes\nb: [1, {c: 2.5}]\nd: >-\n  랭크가\n  멈춥니다\nb: &x 1\n"
    fast, fast_problems = parsed(text)
    monkeypatch.delattr(yaml, "CSafeLoader")
    slow, slow_problems = parsed(text)
    assert (slow.value, slow.values, slow_problems) == (fast.value, fast.values, fast_problems)


@pytest.mark.slow
def test_every_file_is_yaml_without_libyaml_too() -> None:
    """Where PyYAML comes without its library in C, its own parser reads the catalogue: it takes less than that one."""
    import yaml

    for path in sorted(builtin().rglob("*.yaml")):
        with path.open(encoding="utf-8") as file:
            for _ in yaml.parse(file, Loader=yaml.SafeLoader):
                pass
