"""What records of every kind share: texts in both languages, versions, and primary sources."""

from __future__ import annotations

from typing import Literal

import msgspec

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = ("en", "ko")

How = Literal["run", "source", "wheel", "report", "docs"]
"""How a text was seen: printed by a run of ours, read in the source, found in a released package by a machine,
printed in a public report, or quoted by the documentation."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Immutable record that refuses fields it does not know."""


class Text(Record, frozen=True, kw_only=True):
    """One text, written in both languages."""

    en: str
    ko: str


class Words(Record, frozen=True, kw_only=True):
    """Lists of words or phrases in both languages; the lists need not pair up."""

    en: tuple[str, ...] = ()
    ko: tuple[str, ...] = ()


class Version(Record, frozen=True, kw_only=True):
    """A component and the range of its versions that something holds for."""

    component: str
    """Distribution name in lower case: torch, nccl, gloo, accelerate, transformers, deepspeed, python, linux, slurm."""
    since: str | None = None
    """First version, inclusive; None when older versions were not looked at."""
    until: str | None = None
    """Last version, inclusive; None when it still holds in the newest version looked at."""
    how: How = "source"


class Reference(Record, frozen=True, kw_only=True):
    """A primary source: documentation, source code, or a maintainer's word."""

    url: str
    title: str
    accessed: str
    """Date on which it was read, YYYY-MM-DD."""
    supports: str
    """What it is cited for, in English, in a few words."""
