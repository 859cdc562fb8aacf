"""What people write and programs print, made from the knowledge base and the tests' own logs: nobody's real report."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from distkb.catalogue.model import Catalogue, Entry, Signature

TESTS = Path(__file__).parents[1]
LOGS = ("replay/recorded", "diagnosis/data/joint/recorded", "evidence/data", "healthy/logs")
LINES = 220
"""Of a log so many lines are pasted."""

ODD: dict[str, str] = json.loads(Path(__file__).with_name("vectors").joinpath("diagnose-odd.json").read_bytes())
"""What is read differently where a port errs: line ends, escapes, marks of Markdown, tracebacks of many kinds."""


def texts(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield name and text of every report."""
    yield from ODD.items()
    for entry in catalogue.entries:
        yield from _told(entry)
    examples = [signature for signature in catalogue.signatures if signature.example]
    for number in range(0, len(examples), 6):
        yield f"examples {number}", _pasted(number // 6, examples[number : number + 6])
    yield from _logs()


def _told(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield what somebody with this failure says, in each language and with the other names that people have for it."""
    yield f"{entry.id} en", " ".join(text.en for text in entry.symptoms)
    yield f"{entry.id} ko", "\n".join(text.ko for text in entry.symptoms)
    yield f"{entry.id} aliases", f"{', '.join(entry.aliases.en)}. {', '.join(entry.aliases.ko)}"


def _pasted(number: int, signatures: Sequence[Signature]) -> str:
    """Return lines as people paste them: fenced, wrapped by a terminal, quoted, or as they are."""
    lines = [signature.example or "" for signature in signatures]
    style = number % 4
    if style == 0:
        return "Training stops after this, on two nodes with torchrun:\n\n```\n" + "\n".join(lines) + "\n```\n"
    if style == 1:
        wrapped = "\n".join("\n".join(textwrap.wrap(line, 57)) for line in lines)
        return f"학습이 갑자기 죽습니다. 로그입니다.\n{wrapped}\n"
    if style == 2:
        return "".join(f"> [rank{n}]: {line}\n" for n, line in enumerate(lines)) + "\nany idea? we use FSDP\n"
    return "\r\n".join(lines)


def _logs() -> Iterator[tuple[str, str]]:
    for folder in LOGS:
        files = sorted(
            path for path in (TESTS / folder).rglob("*") if path.suffix in {".log", ".txt"} and path.is_file()
        )
        for path in files[:40]:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            yield str(path.relative_to(TESTS)), "".join(lines[:LINES])
