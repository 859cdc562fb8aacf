"""The digest for people and for language models: short lines, each with its place."""

from __future__ import annotations

from distkb.locale import Say
from distkb.report.digest.model import Digest, DigestLine, Section
from distkb.report.digest.tokens import tokens


def write(digest: Digest, say: Say) -> str:
    """Return a digest as text."""
    lines = [say("digest.base", path=digest.base)] if digest.base.strip("/") else []
    for section in digest.sections:
        lines += ["", f"[{section.name}] {say(f'digest.section.{section.name}')}"]
        lines += _lines(section)
        if section.left_out:
            key = "digest.left-out.plain" if digest.part else "digest.left-out"
            lines.append(say(key, n=section.left_out, name=section.name, tokens=2 * digest.budget))
    return "\n".join(lines).lstrip("\n") + "\n"


def _lines(section: Section) -> list[str]:
    shown: list[str] = []
    path: str | None = None
    for item in section.items:
        shown.append(line(item, same=item.within and item.quoted and item.path is not None and item.path == path))
        path = item.path
    return shown


def line(item: DigestLine, *, same: bool = False) -> str:
    """Return one line; `same`: it stands in the file of the line before it, whose name is not repeated."""
    place = f":{item.line}" if same else item.place
    ranks = f" [{item.ranks}]" if item.ranks else ""
    if item.quoted:
        return f"{'  ' if item.within else ''}{place}{ranks} {item.text}".rstrip()
    head = "  " if item.within else "- "
    return f"{head}{item.text}" + (f" ({place}{ranks})" if place else "")


def cost(item: DigestLine) -> int:
    """Return how many tokens a line may cost."""
    return tokens(line(item, same=item.within and item.quoted)) + 1
