"""Data as classic scripts: a page without a server cannot fetch, but it can load a script."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

_NAME = re.compile(r"[a-z][A-Za-z0-9]*")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029", "\ufeff": "\\ufeff"}
)


def script(name: str, value: Any) -> bytes:
    """Return a script that puts a JSON-able value into the namespace, as `distkb.<name>`.

    The value goes through `JSON.parse`, which is faster than a literal and gives keys like `__proto__` no meaning.
    The same value gives the same bytes. Raises ValueError where the name is no plain identifier.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a name for a script's value: {name!r}")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    # Lone surrogates can be written in JSON but not in UTF-8.
    safe = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
    return f"var distkb=window.distkb||{{}};distkb.{name}=JSON.parse('{safe}');\n".encode()


def address(name: str, content: bytes) -> str:
    """Return where the site keeps an asset: below `assets`, with a digest in its name."""
    stem, dot, suffix = name.rpartition(".")
    return f"assets/{stem}.{hashlib.sha256(content).hexdigest()[:8]}{dot}{suffix}"


_COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n", re.DOTALL | re.MULTILINE)
_BLANK = re.compile(r"^[ \t]+|[ \t]+$|^\n", re.MULTILINE)


def slim(source: str) -> str:
    """Return a script without the block comments that have lines of their own, and without indentation.

    The script must have no template literal over several lines; the tests see to it.
    """
    return _BLANK.sub("", _COMMENT.sub("", source))
