"""Guides: both languages, the same outline, entries that exist; and their screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.catalogue.check import check_directories
from distkb.catalogue.guide import GuideText, headings, load_guides
from distkb.catalogue.places import builtin
from distkb.locale import LANGUAGES, Language, Say
from distkb.report.guide import write
from distkb.report.layout import width

EN = "# How to\n\nRead D1 first.\n\n## Steps\n\n1. One\n2. Two `code`\n\n```sh\nls # not a heading\n```\n"
KO = "# 방법\n\nD1을 먼저 읽으세요.\n\n## 순서\n\n1. 하나\n2. 둘 `code`\n\n```sh\nls # 제목이 아님\n```\n"


def knowledge_base(folder: Path, **files: str) -> Path:
    """A knowledge base with guides only; `en` and `ko` are the two files of G7."""
    (folder / "guides").mkdir(parents=True)
    for lang, text in files.items():
        (folder / "guides" / f"G7-how-to.{lang}.md").write_text(text)
    return folder


def problems(folder: Path) -> list[str]:
    """What the check says of the guides of a folder."""
    return [problem.message for problem in load_guides([folder])[1]]


def test_a_guide_in_both_languages_loads(tmp_path: Path) -> None:
    """Id and slug come from the file's name, the title from its first line."""
    (guide,), faults = load_guides([knowledge_base(tmp_path, en=EN, ko=KO)])
    assert faults == []
    assert (guide.id, guide.slug, guide.title.ko) == ("G7", "how-to", "방법")
    assert guide.entries == ("D1",)
    assert headings(guide.body.en) == [(2, "Steps")]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"en": EN}, "there is no G7-how-to.ko.md"),
        ({"en": EN, "ko": KO.replace("## 순서", "### 순서")}, "heading of level 3"),
        ({"en": EN, "ko": KO + "\n## 더\n"}, "headings and code blocks"),
        ({"en": EN, "ko": "제목 없음\n"}, "must begin with its title"),
        ({"en": EN, "ko": KO + "x" * (1 << 18)}, "is larger than"),
    ],
)
def test_what_is_wrong_with_a_guide_is_said(tmp_path: Path, files: dict[str, str], said: str) -> None:
    """A missing language, another outline, no title and too large a file are each one problem."""
    assert any(said in message for message in problems(knowledge_base(tmp_path, **files)))


def test_a_stray_file_is_named(tmp_path: Path) -> None:
    """A file that is no guide is not read silently."""
    knowledge_base(tmp_path, en=EN, ko=KO)
    (tmp_path / "guides" / "notes.txt").write_text("x")
    assert any("is called like" in message for message in problems(tmp_path))


def test_an_entry_that_does_not_exist_is_a_warning() -> None:
    """Every entry that our own guides name exists."""
    guides = [one for one in check_directories([builtin()]) if "/guides/" in one.path]
    assert [str(problem) for problem in guides] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_guide_fits_eighty_columns(lang: Language) -> None:
    """No line of a guide but code is wider than the screen, in either language."""
    for guide in load_guides([builtin()])[0]:
        for line in write(guide, Say(lang)).splitlines():
            assert width(line) <= 80 or line.startswith("  "), line


def test_hostile_markdown_reaches_the_terminal_as_text() -> None:
    """HTML is not interpreted and escape sequences are taken out."""
    from distkb.catalogue.records import Text

    body = "<script>alert(1)</script>\n\ntext \x1b[31mred\x1b[0m `\x1b]0;x\x07`\n\n    \x1b[2J\n"
    guide = GuideText(id="G9", slug="x", title=Text(en="T", ko="T"), body=Text(en=body, ko=body))
    shown = write(guide, Say("en"))
    assert "\x1b" not in shown
    assert "<script>" in shown
