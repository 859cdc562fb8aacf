"""Makes untrusted log text fit to be shown: no control characters, no secrets, a readable length."""

from __future__ import annotations

import re

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
_SECRETS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|glpat-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|nvapi-[\w-]{16,}"
    r"|wandb_v\d_\w{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_AUTHORIZATION = re.compile(
    r"(?i)((?:proxy-)?authorization[\"']?\s*[:=]\s*)[\"']?(?:(?:bearer|basic|token)\s+)?[^\s\"',;]+"
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{8,}")
_URL_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@")
_LOGIN_KEY = re.compile(r"(?i)(\b(?:wandb|login|api[ _-]?key)\b[^\n]{0,40}?)\b[0-9a-f]{40}\b")
_NAMED = re.compile(
    r"(?i)((?:^|[\s,;({\[\"'&?-]|\b)[\w.-]{0,40}?(?:api[_-]?key|secret(?:[_-]?\w+)?|passw(?:or)?d|passphrase|access[_-]?key(?:[_-]?id)?"
    r"|private[_-]?key|credentials?|auth[_-]?key|(?:^|[_\W])token)[\"']?(?:\s*[=:]\s*|\s+(?=\S{12,}))[\"']?)"
    r"(?![\"']?(?:None|null|true|false)\b)(?!\d{1,9}(?:\D|$))[^\s\"',;&)}\]]{4,}"
)
_TELLTALE = re.compile(r"(?i)key|secret|passw|passphrase|credential|token|authoriz|bearer|login|wandb")
"""Cheap test that comes before the costly ones."""
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*")


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
    text = strip_escapes(text).replace("\t", "    ")
    text = _INVISIBLE.sub("", text.replace("\r", " ").replace("\n", " "))
    return text.encode("utf-8", "replace").decode("utf-8")


def mask(text: str) -> str:
    """Replace tokens, keys, passwords and credentials in URLs with `***`."""
    if "://" in text and "@" in text:
        text = _URL_CREDENTIALS.sub(r"\1***@", text)
    text = _SECRETS.sub("***", text)
    if _TELLTALE.search(text) is None:
        return text
    text = _AUTHORIZATION.sub(r"\1***", text)
    text = _BEARER.sub(r"\1***", text)
    text = _LOGIN_KEY.sub(r"\1***", text)
    text = _NAMED.sub(r"\1***", text)
    return _PRIVATE_KEY.sub(r"\1 ***", text)


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
