"""Tells what programs print from what a person writes."""

from __future__ import annotations

import re
from collections import Counter

from distkb.evidence.readers.report.report_reader import SPOKEN, take_apart

REPEATED = 3
"""Lines that differ in their numbers only: so many of them nobody wrote."""
PRINTED = 4
"""Lines of output that make a text a log where nobody says anything in it."""
_NUMBERS = re.compile(r"[\d.]+")
_HANGUL = re.compile(r"[가-힣]")
_ASKED = re.compile(r"\b(?:we|it|but|when|after|does|hangs?|training|please|why|how)\b", re.IGNORECASE)
_FOLLOWING = 2
"""Words after one of these that make a sentence of it."""


def is_output(text: str) -> bool:
    """Whether a text is what programs print, with nothing that a person says in it: its words describe nothing."""
    parts = take_apart(text)
    lines = [line for line in parts.prose.split("\n") if line.strip()]
    shapes = [_NUMBERS.sub("0", line) for line in lines]
    alike = Counter(shapes)
    others = [line for line, shape in zip(lines, shapes, strict=True) if alike[shape] < REPEATED]
    printed = sum(bool(line.strip()) for line in parts.output.split("\n")) + len(lines) - len(others)
    if printed < PRINTED or printed < len(others):
        return False
    return not any(map(_is_said, others))


def _is_said(line: str) -> bool:
    """Whether a person says something in a line."""
    if SPOKEN.search(line) or _HANGUL.search(line):
        return True
    word = _ASKED.search(line)
    return word is not None and len(line[word.end() :].split()) >= _FOLLOWING
