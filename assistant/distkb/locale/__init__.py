"""Every sentence of the interface, in English and Korean.

The sentences live in `en.json` and `ko.json`, those of the areas in `AREAS` in files of their own beside them:
flat keys to `str.format` templates.
A field of the form `{을/를}` is a Korean particle that agrees with what stands before it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from distkb.locale.particles import PARTICLES, particle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = ("en", "ko")


class Translated(Protocol):
    """Anything that carries the same text in both languages."""

    @property
    def en(self) -> str:
        """Return the English text."""

    @property
    def ko(self) -> str:
        """Return the Korean text."""


AREAS: tuple[str, ...] = (
    "advise",
    "agent",
    "digest",
    "network",
    "probe",
    "repro",
    "session",
    "setting",
    "site",
    "timer",
    "tui",
    "watch",
)
"""Keys that begin with one of these and a dot are read only when they are needed, from `<area>.<lang>.json`."""


@cache
def sentences(lang: Language, area: str | None = None) -> dict[str, str]:
    """Return the templates of one language by key: those of one area, or those of no area."""
    content = Path(__file__).with_name(f"{area}.{lang}.json" if area else f"{lang}.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, str])


def _area(key: str) -> str | None:
    name = key.partition(".")[0]
    return name if name in AREAS else None


def sentence(key: str, lang: Language, /, **values: object) -> str:
    """Return the sentence `key` in `lang` with `values` put in.

    Raises KeyError for a key or a field that does not exist: both are mistakes in the program.
    """
    return fill(sentences(lang, _area(key))[key], values)


def fill(template: str, values: Mapping[str, object]) -> str:
    """Return a template with `values` put in, and Korean particles that agree with them.

    Raises KeyError for a field without a value.
    """
    if not any(f"{{{pair}}}" in template for pair in PARTICLES):
        return template.format_map(values)
    import string  # only Korean sentences with a particle come this far

    out: list[str] = []
    for literal, field, spec, _ in string.Formatter().parse(template):
        out.append(literal)
        if field is None:
            continue
        if field in PARTICLES:
            out.append(particle("".join(out), field))
        else:
            out.append(format(values[field], spec or ""))
    return "".join(out)


class Say:
    """The interface's voice in one language."""

    def __init__(self, lang: Language) -> None:
        self.lang: Language = lang

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the sentence `key` with `values` put in."""
        return sentence(key, self.lang, **values)

    def knows(self, key: str) -> bool:
        """Whether there is a sentence `key`."""
        return key in sentences(self.lang, _area(key))

    def count(self, key: str, n: int, /, **values: object) -> str:
        """Return `key.one` for one thing and `key.many` for any other number; `{n}` is the number."""
        return self(f"{key}.{'one' if n == 1 else 'many'}", n=n, **values)

    def text(self, text: Translated) -> str:
        """Return the side of a two-language text that is in this language."""
        return text.ko if self.lang == "ko" else text.en


def as_language(name: str | None) -> Language | None:
    """Return the language that a setting such as `ko`, `ko_KR.UTF-8` or `en-US` means, if it is one of ours."""
    code = (name or "").replace("-", "_").split("_")[0].split(".")[0].lower()
    return next((lang for lang in LANGUAGES if lang == code), None)


def asked(args: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> bool:
    """Whether the language was asked for, by `--lang` or DISTKB_LANG, rather than taken from the system."""
    env = os.environ if environ is None else environ
    given = any(arg == "--lang" or arg.startswith("--lang=") for arg in args)
    return given or as_language(env.get("DISTKB_LANG")) is not None


def choose(args: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Language:
    """Return the language to speak: `--lang`, else DISTKB_LANG, else LC_ALL or LANG, else English.

    `args` is looked through before it is parsed, so that help and usage errors are in the right language too.
    """
    for position, arg in enumerate(args):
        if arg == "--":
            break
        if arg == "--lang" and position + 1 < len(args):
            wanted = as_language(args[position + 1])
        elif arg.startswith("--lang="):
            wanted = as_language(arg.partition("=")[2])
        else:
            continue
        if wanted:
            return wanted
    env = os.environ if environ is None else environ
    asked = as_language(env.get("DISTKB_LANG"))
    system = env.get("LC_ALL") or env.get("LANG")
    return asked or as_language(system) or "en"
