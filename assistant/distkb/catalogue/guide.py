"""Guides: long reading in Markdown, one file a language, `kb/guides/G1-fsdp-on-slurm.en.md` and `.ko.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from distkb.catalogue.problem import Problem
from distkb.catalogue.records import Text

LANGUAGES: Final = ("en", "ko")
MAX_BYTES: Final = 1 << 18
_NAME = re.compile(r"(G\d{1,3})-([a-z0-9]+(?:-[a-z0-9]+)*)\.(en|ko)\.md")
_ENTRY = re.compile(r"(?<![\w.#/-])((?:D|MN|M|U)\d{1,3})(?![\w-])")
_HEADING = re.compile(r"^(#{1,6}) +(.+)$")


class GuideText(msgspec.Struct, frozen=True, kw_only=True):
    """One guide in both languages."""

    id: str
    slug: str
    title: Text
    body: Text
    """Markdown, the title left out."""

    @property
    def entries(self) -> tuple[str, ...]:
        """Return the ids of entries that the text refers to, in the order in which they first come."""
        return tuple(dict.fromkeys(_ENTRY.findall(self.body.en)))


def load_guides(knowledge_bases: Sequence[Path]) -> tuple[list[GuideText], list[Problem]]:
    """Load the guides of knowledge bases, in order of number, with everything that is wrong with their files."""
    guides: list[GuideText] = []
    problems: list[Problem] = []
    for base in knowledge_bases:
        names: dict[tuple[str, str], dict[str, Path]] = {}
        for path in sorted((base / "guides").glob("*")):
            match = _NAME.fullmatch(path.name)
            if match is None:
                problems.append(Problem(str(path), 1, 1, "a guide is called like G1-what-it-is-about.en.md"))
                continue
            names.setdefault((match[1], match[2]), {})[match[3]] = path
        for (identity, slug), paths in names.items():
            faults, guide = _guide(identity, slug, paths)
            problems += faults
            if guide is not None:
                guides.append(guide)
    return sorted(guides, key=lambda guide: int(guide.id[1:])), problems


def _guide(identity: str, slug: str, paths: dict[str, Path]) -> tuple[list[Problem], GuideText | None]:
    problems: list[Problem] = []
    titles: dict[str, str] = {}
    bodies: dict[str, str] = {}
    for lang in LANGUAGES:
        path = paths.get(lang)
        if path is None:
            there = next(iter(paths.values()))
            problems.append(
                Problem(str(there), 1, 1, f"there is no {there.name.rsplit('.', 2)[0]}.{lang}.md beside it")
            )
            continue
        try:
            data = path.read_bytes()[: MAX_BYTES + 1]
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(str(path), 1, 1, f"cannot be read: {error}"))
            continue
        first, _, body = text.partition("\n")
        if len(data) > MAX_BYTES:
            problems.append(Problem(str(path), 1, 1, f"is larger than {MAX_BYTES >> 10} KiB"))
        elif not first.startswith("# "):
            problems.append(Problem(str(path), 1, 1, "must begin with its title: '# …'"))
        else:
            titles[lang], bodies[lang] = first[2:].strip(), body.strip() + "\n"
    if len(bodies) < len(LANGUAGES):
        return problems, None
    problems += _unlike(paths["ko"], *(_outline(bodies[lang]) for lang in LANGUAGES))
    title, text_of = (Text(en=texts["en"], ko=texts["ko"]) for texts in (titles, bodies))
    return problems, GuideText(id=identity, slug=slug, title=title, body=text_of)


def _outline(body: str) -> list[str]:
    """Return the structure that both languages share: heading levels and code blocks, in order."""
    out: list[str] = []
    fence = ""
    for line in body.splitlines():
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and (not fence or mark == fence):
            if not fence:
                out.append("a code block")
            fence = "" if fence else mark
        elif not fence and (match := _HEADING.match(line)):
            out.append(f"a heading of level {len(match[1])}")
    return out


def _unlike(path: Path, english: list[str], korean: list[str]) -> Iterator[Problem]:
    for number, (one, other) in enumerate(zip(english, korean, strict=False), 1):
        if one != other:
            yield Problem(str(path), 1, 1, f"part {number} is {other}; in English it is {one}")
            return
    if len(english) != len(korean):
        message = f"has {len(korean)} headings and code blocks, the English text {len(english)}"
        yield Problem(str(path), 1, 1, message)


def headings(body: str) -> list[tuple[int, str]]:
    """Return level and text of every heading of a body, code blocks left out."""
    out: list[tuple[int, str]] = []
    fenced = False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (match := _HEADING.match(line)):
            out.append((len(match[1]), match[2].strip()))
    return out
