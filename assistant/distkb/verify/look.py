"""Searches the sources and compiled parts of a package for many texts at once."""

from __future__ import annotations

import re
import tarfile
import zipfile
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from distkb.verify.claims import Claim

SOURCES = re.compile(r".*\.(?:py|pyx|c|h|hpp|cpp|cc|cu|cuh|go)$")
COMPILED = re.compile(r".*(?:/lib[^/]*\.(?:so[.\d]*|dylib)|/wandb-(?:core|service)|\.so)$")
_ASIDE = re.compile(r"(?:^|/)(?:tests?|testing|benchmarks?|examples?)/")
"""Parts of a package whose texts no training prints."""
_JOINED = re.compile(
    rb"""(["'])(?:(?:\s|\\\n|\+)*[rbfuRBFU]{0,2}\1|[ \t]*(?:\n|\\\n|\+)(?:\s|\\\n|\+)*[rbfuRBFU]{0,2}["'])"""
)
"""Where a text ends and the next begins, with nothing between them: one text to Python and C++. On one line, a quote of
the other kind beside one belongs to the text, as in `"'device' cannot be"`."""
_NAMED = re.compile(rb"\{([\w.]+\s*=\s*)\}")
"""Where a text of Python prints a value after the words of its expression: `f"{size=}"`."""
_WRITTEN_TWICE = re.compile(rb"\{\{|\}\}")
"""A brace of a text into which Python puts values."""
_ESCAPED = re.compile(rb"""\\(["'`])""")
_PARAMETER = re.compile(rb"""(NCCL|OFI_NCCL)_PARAM\w*\((?:[^()"]|\([^()]*\))*?"([A-Z0-9_]+)\"""")
_PROVIDER = re.compile(rb"""fi_param_define\(\s*(?:&?(\w+?)_prov\w*|NULL)\s*,\s*"(\w+)\"""")
"""Where a macro puts the name of a variable together."""
_FIELDS: Final = {
    re.compile(r"transformers/training_args\.py"): (
        "training-arguments",
        re.compile(rb"^    ([a-z]\w*): ", re.MULTILINE),
    ),
    re.compile(r"lightning/pytorch/trainer/trainer\.py"): (
        "lightning.Trainer",
        re.compile(rb"^        ([a-z]\w*): ", re.MULTILINE),
    ),
    re.compile(r"(?:.*/)?deepspeed/runtime/zero/config\.py"): (
        "deepspeed-config.zero_optimization",
        re.compile(rb"""(?:^    |\balias=["'])([a-z]\w*)(?:: |["'])""", re.MULTILINE),
    ),
}
"""Files that declare arguments or keys, one a line, and the id that a setting with the name has."""
_NEAR: Final = 600
"""Characters within which the pieces of one message stand in a source."""
_APART: Final = b"\n" + b" " * _NEAR + b"\n"
_CHUNK: Final = 1 << 26
_OVERLAP: Final = 1 << 10

Found = Literal["whole", "part"]
Wording = tuple[str, tuple[str, ...]]
"""The id of a claim, and one of its wordings."""


class Finder:
    """Finds the wordings of claims in packages."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        import hyperscan

        self._wanted = [(claim, wording) for claim in claims for wording in claim.wordings]
        pieces = {(piece, claim.any_case, claim.name) for claim, wording in self._wanted for piece in wording}
        self._pieces = {piece: number for number, piece in enumerate(sorted(pieces))}
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        expressions = [
            (rf"(?:^|[^\w-]){re.escape(text)}(?:[^\w-]|$)" if name else re.escape(text), number, any_case)
            for (text, any_case, name), number in self._pieces.items()
        ]
        # A compiler may put a name behind the end of another text: it is there, but not as a word.
        expressions += [
            (rf"[\w-]{re.escape(text)}[^\w-]", number + len(self._pieces), any_case)
            for (text, any_case, name), number in self._pieces.items()
            if name
        ]
        self._database.compile(
            expressions=[expression.encode() for expression, _, _ in expressions],
            ids=[number for _, number, _ in expressions],
            flags=[hyperscan.HS_FLAG_CASELESS if any_case else 0 for _, _, any_case in expressions],
        )

    def look(self, path: Path) -> dict[Wording, Found]:
        """Return the wordings of which a package holds all pieces, or the longest one."""
        found: dict[Wording, Found] = {}
        for compiled, content in parts(path):
            places = self._places(content)
            for claim, wording in self._wanted:
                numbers = [self._pieces[piece, claim.any_case, claim.name] for piece in wording]
                longest = numbers[max(range(len(wording)), key=lambda index: len(wording[index]))]
                inside = compiled and longest + len(self._pieces) in places
                if not (longest in places or inside) or found.get((claim.id, wording)) == "whole":
                    continue
                lists = [places.get(number, []) for number in numbers]
                whole = all(lists) if compiled else _in_order(lists)
                found[claim.id, wording] = "whole" if whole else "part"
        return found

    def _places(self, content: bytes) -> dict[int, list[int]]:
        places: dict[int, list[int]] = {}

        def hit(number: int, _start: int, end: int, *_: object) -> None:
            places.setdefault(number, []).append(offset + end)

        for offset in range(0, len(content), _CHUNK):
            self._database.scan(content[max(0, offset - _OVERLAP) : offset + _CHUNK], hit)
        return places


def _in_order(lists: list[list[int]]) -> bool:
    """Whether there is a place of each piece, each a little behind the one before."""
    reached = lists[0]
    for places in lists[1:]:
        reached = [place for place in places if any(0 < place - before <= _NEAR for before in reached)]
    return bool(reached)


def parts(path: Path) -> Iterator[tuple[bool, bytes]]:
    """Yield the compiled parts of a package one by one, and its sources together."""
    sources: list[bytes] = []
    for name, content in members(path):
        if COMPILED.match(name):
            yield True, content
        else:
            said = of_python(content) if name.endswith(".py") else _plain(content)
            sources += [said, _APART, f" {name} ".encode(), _APART]
            sources += [*_composed_names(name, content), _APART]
    yield False, b"".join(sources)


def of_python(text: bytes) -> bytes:
    """Return a text of Python, or a source with texts, as `parts` yields it: nearly as it is printed."""
    text = _NAMED.sub(rb"\1{}", _plain(text).replace(b"\\\n", b""))
    return _WRITTEN_TWICE.sub(lambda brace: brace[0][:1], text)


def _plain(text: bytes) -> bytes:
    return _ESCAPED.sub(rb"\1", _JOINED.sub(b"", text))


def _composed_names(file: str, content: bytes) -> Iterator[bytes]:
    for path, (place, field) in _FIELDS.items():
        if path.fullmatch(file):
            yield from (b" %s.%s \n" % (place.encode(), name) for name in field.findall(content))
    for prefix, name in _PARAMETER.findall(content):
        yield b" %s_%s \n" % (prefix, name)
    for provider, name in _PROVIDER.findall(content):
        yield b" %s \n" % b"_".join(part.upper() for part in (b"FI", provider, name) if part)


def members(path: Path, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a package that are read, with what they hold."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if is_read(name) and wanted(name):
                    yield name, wheel.read(name)
        return
    with tarfile.open(path) as archive:
        for member in archive:
            read = member.isfile() and is_read(member.name) and wanted(member.name)
            file = archive.extractfile(member) if read else None
            if file is not None:
                yield member.name, file.read()


def is_read(name: str) -> bool:
    """Whether a file of a package may hold what a training prints or reads."""
    return not _ASIDE.search(name) and bool(SOURCES.match(name) or COMPILED.match(name))
