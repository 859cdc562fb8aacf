"""The sentences of the interface: the same in both languages, all used, none in the code."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from distkb.locale import AREAS, LANGUAGES, Language, sentence, sentences
from distkb.locale.particles import PARTICLES

PACKAGE = Path(__file__).parents[2] / "assistant" / "distkb"
SPEAKING = ("cli", "report", "mcp", "report/digest", "sessions", "tui", "tui/screens", "tui/widgets")
FAMILIES_OF_KEYS = (
    "advise.choice.",
    "advise.column.",
    "advise.error.",
    "advise.field.",
    "advise.fit.",
    "advise.note.",
    "advise.precision.",
    "advise.shape.",
    "agent.prompt.",
    "cost.",
    "digest.section.",
    "error.new.",
    "family.",
    "help",
    "likelihood.",
    "network.gloo.",
    "network.kind.",
    "network.nccl.",
    "network.table.",
    "prior.",
    "probe.",
    "report.next.",
    "roll.",
    "report.or.",
    "report.source.",
    "repro.",
    "risk.",
    "roll.",
    "session.",
    "setting.",
    "site.",
    "skip.",
    "status.",
    "story.stood",
    "story.waited",
    "timer.",
    "tui.advise.",
    "tui.command.",
    "tui.key.",
    "tui.export.",
    "tui.fix.",
    "tui.help.",
    "tui.launch.",
    "tui.move.",
    "tui.probes.",
    "tui.repro.",
    "tui.start.",
    "tui.trail.fix.",
    "usage.no-",
    "verdict.",
)
"""Keys that the code puts together from a prefix and a value of the catalogue."""
CLICKS_OWN = ("does not take",)
"""What the code compares with messages of click."""
HANGUL = re.compile(r"[가-힣]")


def all_sentences(lang: Language) -> dict[str, str]:
    """The sentences of every area."""
    return {key: text for area in (None, *AREAS) for key, text in sentences(lang, area).items()}


def fields(template: str) -> set[str]:
    """Names of the values that a template takes, particles left out."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name and name not in PARTICLES}


def test_both_languages_have_the_same_keys_in_the_same_order() -> None:
    """A sentence that exists in one language exists in the other, at the same place of the file."""
    assert list(all_sentences("en")) == list(all_sentences("ko"))


@pytest.mark.parametrize("area", AREAS)
def test_the_sentences_of_an_area_begin_with_its_name(area: str) -> None:
    """A key says in which file its sentence is."""
    assert all(key.startswith(f"{area}.") for key in sentences("en", area))


@pytest.mark.parametrize("key", all_sentences("en"))
def test_both_languages_take_the_same_values(key: str) -> None:
    """A sentence says the same things in both languages."""
    assert fields(all_sentences("en")[key]) == fields(all_sentences("ko")[key])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_can_be_said(lang: Language) -> None:
    """Every template is well formed, particles included."""
    for key, template in all_sentences(lang).items():
        values = dict.fromkeys(fields(template), "rank 0")
        said = sentence(key, lang, **values)
        assert said.strip() == said
        assert "{" not in said, key


def test_korean_sentences_are_korean_in_one_register() -> None:
    """Korean sentences are written in 합니다체, requests in -세요; none ends in 해요체 and none is left in English."""
    for key, template in all_sentences("ko").items():
        assert not re.search(r"[가-힣](?<!세)요[.?)]?$", template), key
        words = re.sub(r"\{[^{}]*\}|`[^`]*`|--?\w+", "", template)
        latin_only = {"error.prefix", "note.prefix", "family.fsdp", "tui.key.language", "tui.command.language"}
        if re.search(r"[A-Za-z]{3}", words) and key not in latin_only:
            assert HANGUL.search(template), key


def test_errors_and_notes_in_english_are_lower_case_without_a_full_stop() -> None:
    """`distkb: error: …` reads on after the colon: no capital at its start, no full stop at its end."""
    for key, template in all_sentences("en").items():
        if key.startswith(("error.", "usage.", "skip.", "note.")):
            assert not template[0].isupper(), key
            assert not template.endswith("."), key


def literals(tree: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    """String constants of a module, docstrings left out."""
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node, node.value


def modules() -> list[Path]:
    """Modules that speak to the user."""
    return sorted(path for name in SPEAKING for path in (PACKAGE / name).glob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_sentence_is_written_in_the_code(path: Path) -> None:
    """A string in the code is a key, a format or a command to copy; sentences are in the locale files."""
    for node, text in literals(ast.parse(path.read_text(encoding="utf-8"))):
        if text.startswith("distkb ") or "distkb probe" in text:
            continue
        prose = re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", text) or HANGUL.search(text)
        if text in CLICKS_OWN:
            continue
        assert not prose, f"{path}:{node.lineno}: {text!r}"


def test_every_sentence_is_used_and_every_key_exists() -> None:
    """No sentence is left over, and no key in the code is misspelled."""
    used = {
        text
        for path in modules()
        for _, text in literals(ast.parse(path.read_text(encoding="utf-8")))
        if re.fullmatch(r"[a-z]+(\.[a-z-]+)+|help", text)
    }
    known = set(all_sentences("en"))
    plural = {key.rsplit(".", 1)[0] for key in known if key.endswith((".one", ".many"))}
    prefixes = {key.split(".")[0] for key in known}
    misspelled = {key for key in used if key.split(".")[0] in prefixes} - known - plural - _modules_named()
    assert not misspelled
    left_over = {
        key for key in known - used if key.rsplit(".", 1)[0] not in used and not key.startswith(FAMILIES_OF_KEYS)
    }
    assert not left_over


def _modules_named() -> set[str]:
    return {f"distkb.cli.{path.stem}" for path in (PACKAGE / "cli").glob("*.py")}
