"""Makes untrusted log text fit to be shown: no control characters, no secrets, a readable length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from distkb.catalogue.places import cache_directory
from distkb.evidence.scanner.needs import Needs, digits_alike
from distkb_probes.secret_kinds import MASK, Kind, kinds, mask_kinds
from distkb_probes.secret_kinds import mask as _mask

WIDTH = 240
"""Characters of a quote."""

_CONTEXT = 2048
"""Characters around the match that are cleaned; the rest of a long line is dropped unread."""

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movement
    r"|\x1b[ -/]*[0-~]?"  # other escapes
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


_OURS = re.compile(rb"(?m)^(?:\d+: )?distkb:(?= |\r?$)[^\r\n]*")
OURS = "distkb:"
"""Begins each line that distkb writes where a job writes as well."""


def without_ours(data: bytes) -> bytes:
    """Empty the lines that distkb wrote into a log, also behind the label of `srun --label`."""
    return _OURS.sub(b"", data) if OURS.encode() in data else data


def is_ours(data: bytes | bytearray, start: int) -> bool:
    """Whether distkb wrote the line that starts here."""
    return _OURS.match(data, start) is not None


def strip_escapes(text: str) -> str:
    """Remove terminal escape sequences."""
    return _ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text else text


def plain(text: str) -> str:
    """Remove everything that a terminal, an editor or a reader's eye could be misled by.

    Escape sequences, control characters, bidirectional overrides and zero-width characters go;
    tabs and line breaks become blanks.
    """
    if text.isascii() and text.isprintable():
        return text
    return visible(strip_escapes(text).replace("\t", "    ").replace("\r", " ").replace("\n", " "))


def visible(text: str) -> str:
    """Remove the same from a text of several lines, whose breaks and tabs stay."""
    return _INVISIBLE.sub("", strip_escapes(text)).encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1 << 14)  # each rank's last line is quoted, and looked at once more when it leaves the readers
def mask(text: str) -> str:
    """Replace every secret with `***`: tokens, keys, passwords, credentials in addresses."""
    if not text.isascii():
        return _mask(text)
    wanted, sure = _worth(digits_alike(text))
    if sure or any(kind.pattern.search(text) for kind in wanted if not _any_digits(kind)):
        return mask_kinds(text, wanted)
    return text


@lru_cache(maxsize=4096)
def _worth(text: str) -> tuple[tuple[Kind, ...], bool]:
    """Kinds of secrets that a text of this shape, in which all digits are 0, may hold; whether it holds one anyhow."""
    wanted = tuple(kinds()[index] for index, _ in _needs().candidates([text]))
    return wanted, any(kind.pattern.search(text) for kind in wanted if _any_digits(kind))


_ALL_DIGITS = re.compile(r"0-9|\{\d{0,4},?\d{0,4}\}|\\u[1-9a-f][0-9a-f]{3}")
"""Parts of an expression whose digits stand for no certain one of the text."""


@cache
def _any_digits(kind: Kind) -> bool:
    """Whether it cannot matter to a kind which digits an ASCII text has."""
    return not any(map(str.isdigit, _ALL_DIGITS.sub("", kind.expression)))


@cache
def _needs() -> Needs:
    return Needs([kind.expression for kind in kinds()], cache_dir=cache_directory(), alike=True)


def mask_value(name: str, value: str) -> str:
    """Return the value of a setting as it may be shown: `***` where the name says that it is a secret."""
    shown = mask(f"{name}={value}")
    return shown[len(name) + 1 :] if shown.startswith(f"{name}=") else MASK


def mask_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that follow each other without secrets; of a key over several lines no line is left."""
    inside = False
    before = ""
    held: int | None = None
    for line in lines:
        shown = mask(before + line)
        shown = shown.partition("\n")[2] if before else shown
        before = f"{named[0].strip()}\n" if (named := _NAME_ALONE.search(line)) else ""
        if heading := _SECRETS.match(line):
            held = heading.end(1)
        elif held is not None and line.strip():
            indented = len(line) - len(line.lstrip())
            held = held if indented > held else None
            shown = shown if held is None else mask(f"secrets.{shown.lstrip()}").replace("secrets.", line[:indented], 1)
        body = _KEY_BODY.match(shown)
        if inside and body is not None:
            shown = f"{body[1]}{MASK}{shown[body.end() :]}"
        begins = "-----BEGIN" in line and "PRIVATE KEY" in line and "-----END" not in line
        goes_on = inside and (body is not None or not line.strip() or _KEY_HEADER.search(line) is not None)
        inside = begins or goes_on or (body is not None and body[2] == MASK and len(line) > len(shown) + 50)
        yield shown


_NAME_ALONE = re.compile(r"\bname[\"']?: {0,4}[\"']?[\w.-]{1,80}[\"']?,?\s{0,4}$")
"""Of a setting whose value stands in the line below."""
_SECRETS = re.compile(r"(\s{0,80})[\"']?(?:secrets?|credentials?|api_?keys|tokens|stringData)[\"']?:\s{0,4}\{?\s{0,4}$")
"""Of a mapping of YAML or JSON all of whose values are secrets."""
_KEY_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ")
_KEY_BODY = re.compile(
    r"((?:\[[^\]\n]{1,40}\]:?|[^\s:|=]{1,40}[:|=])?[\s\"'|>]{0,40})([A-Za-z0-9+/]{2,100}|\*\*\*)={0,2}(?=(?:\\n)?[\"',]{0,3}\s*$)"
)
"""A line of a key: the label or the quotes that stand before it, and letters of base64 to its end, masked or not."""


def quote_text(text: str, start: int = 0, end: int = 0, width: int = WIDTH) -> str:
    """Text of a quote: cleaned, masked, and cut to `width` characters around `text[start:end]`."""
    if len(text) > 2 * _CONTEXT:
        text, start, end = _window(text, start, end)
    shown = mask(plain(text)).strip()
    if len(shown) <= width:
        return shown
    core = plain(text[start:end])[: width // 2]
    at = shown.find(core) if core else 0
    if at < 0:
        at = round(len(shown) * start / max(1, len(text)))
    first = 0 if at + len(core) <= width else max(0, min(at - width // 4, len(shown) - width))
    last = min(len(shown), first + width)
    head = "…" if first else ""
    tail = "…" if last < len(shown) else ""
    return head + shown[first + len(head) : last - len(tail)] + tail


def _window(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Cut a long line near blanks, so that no secret loses the beginning by which it is recognised."""
    low = max(0, start - _CONTEXT)
    if low:
        blank = text.find(" ", low, start)
        low = blank + 1 if blank >= 0 else low
    high = min(len(text), max(end, start) + _CONTEXT)
    return text[low:high], start - low, min(end, high) - low
